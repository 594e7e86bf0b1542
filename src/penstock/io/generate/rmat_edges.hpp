#pragma once
#include <cstdint>

#include "penstock/io/generate/edge.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/io/random.hpp"

// The edges of an R-MAT graph as functions of their numbers, for threads of the CPU and of a GPU.
namespace penstock {

/// Alias tables over the cells that six levels of quadrants lead to, and over those of the levels that remain.
struct RmatTables {
  explicit RmatTables(const RmatOptions& options);
  AliasTable full, rest;
};

class RmatEdges {
 public:
  static constexpr int kLevels = 6;
  static constexpr int kCells = (1 << 2 * kLevels) + (1 << 2 * (kLevels - 1));  // both tables, at most

  /// `tables` must outlive it. Throws Error{invalid_argument} that names a bad option.
  RmatEdges(const RmatOptions& options, const RmatTables& tables);
  RmatEdges(const RmatOptions& options, const RmatTables&& tables) = delete;

  constexpr std::int64_t units() const { return edges_; }
  constexpr bool mirrored() const { return undirected_; }
  constexpr std::int64_t cells() const { return full_table_.size + rest_table_.size; }
  constexpr const AliasCell* first_cell() const { return full_table_.cells; }

  /// The same edges with a copy of both tables at `cells`, the full one first.
  constexpr RmatEdges with_cells(const AliasCell* cells) const { return {*this, cells}; }

  constexpr Edge operator()(std::int64_t e) const {
    auto counter = static_cast<std::uint64_t>(e) * static_cast<std::uint64_t>(full_ + (rest_ > 0));
    Edge edge{0, 0};
    for (int i = 0; i < full_; ++i) descend(edge, full_table_(random_(counter++)), kLevels);
    if (rest_ > 0) descend(edge, rest_table_(random_(counter)), rest_);
    if (edge.row == edge.column && !self_loops_) return {-1, 0};
    return {scramble_(edge.row), scramble_(edge.column)};
  }

 private:
  constexpr RmatEdges(const RmatEdges& same, const AliasCell* cells) : RmatEdges(same) {
    full_table_.cells = cells;
    rest_table_.cells = cells + full_table_.size;
  }

  /// A cell's number is its row bits, then its column bits.
  static constexpr void descend(Edge& edge, std::int64_t cell, int levels) {
    edge.row = edge.row << levels | cell >> levels;
    edge.column = edge.column << levels | (cell & ((std::int64_t{1} << levels) - 1));
  }

  std::int64_t edges_;
  int full_, rest_;  // draws of kLevels levels, then one of `rest_`
  bool undirected_, self_loops_;
  AliasView full_table_, rest_table_;
  Random random_;
  Scramble scramble_;
};

}  // namespace penstock
