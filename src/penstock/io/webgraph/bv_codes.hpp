#pragma once
#include "penstock/core/error.hpp"
#include "penstock/io/webgraph/bv_reader.hpp"

namespace penstock {

enum class BvCode : std::uint8_t { gamma, delta, unary, zeta, nibble };

/// What a .properties file says of a graph, checked by whoever read it.
struct BvParameters {
  std::int64_t nodes = 0, arcs = 0;
  std::int64_t window = 7, min_interval = 4;  // 0: neither references, nor intervals
  int zeta_k = 3;                             // 1 to 8
  BvCode outdegrees = BvCode::gamma, blocks = BvCode::gamma, residuals = BvCode::zeta,
         references = BvCode::unary, block_counts = BvCode::gamma, offsets = BvCode::gamma;

  bool usual() const {
    return zeta_k == 3 && outdegrees == BvCode::gamma && blocks == BvCode::gamma &&
           residuals == BvCode::zeta && references == BvCode::unary && block_counts == BvCode::gamma;
  }
};

inline std::uint64_t read_code(BvReader& in, BvCode code, int zeta_k) {
  switch (code) {
    case BvCode::gamma: return in.gamma();
    case BvCode::delta: return in.delta();
    case BvCode::unary: return in.unary();
    case BvCode::zeta: return in.zeta(zeta_k);
    case BvCode::nibble: break;
  }
  return in.nibble();
}

/// The codes of nearly all graphs, which a compiler sees.
struct UsualBvCodes {
  explicit UsualBvCodes(const BvParameters&) {}
  std::uint64_t outdegree(BvReader& in) const { return in.gamma(); }
  std::uint64_t block(BvReader& in) const { return in.gamma(); }
  std::uint64_t block_count(BvReader& in) const { return in.gamma(); }
  std::uint64_t reference(BvReader& in) const { return in.unary(); }
  std::uint64_t residual(BvReader& in) const { return in.zeta(3); }
};

struct AnyBvCodes {
  explicit AnyBvCodes(const BvParameters& p) : p(p) {}
  std::uint64_t outdegree(BvReader& in) const { return read_code(in, p.outdegrees, p.zeta_k); }
  std::uint64_t block(BvReader& in) const { return read_code(in, p.blocks, p.zeta_k); }
  std::uint64_t block_count(BvReader& in) const { return read_code(in, p.block_counts, p.zeta_k); }
  std::uint64_t reference(BvReader& in) const { return read_code(in, p.references, p.zeta_k); }
  std::uint64_t residual(BvReader& in) const { return read_code(in, p.residuals, p.zeta_k); }
  const BvParameters& p;
};

/// Integers of both signs are written as 0, -1, 1, -2, 2 ...
constexpr std::int64_t bv_signed(std::uint64_t n) {
  return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
}

}  // namespace penstock
