// Rank r draws edges [units r / ranks, units (r + 1) / ranks), which are functions of their numbers (io/rmat_edges.hpp). What
// arrives in a round goes straight into the buckets of format/assemble.hpp, so that no list of entries is ever kept.
#include "penstock/io/generate/generate_rmat_among.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/io/generate/rmat_edges.hpp"
#include "penstock/io/rounds.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRoundEdges = 1 << 17;  // of all ranks in a round: at most 2 MB arrive at any rank
constexpr std::int64_t kLeastEdges = 1 << 13;  // of a rank in a round: with fewer, calls cost more than edges

/// A rank's edges, of which each round gets some.
class EdgesOfRank {
 public:
  EdgesOfRank(const Comm& comm, const RmatEdges& edge)
      : edge_(edge), per_round_(std::max(kLeastEdges, kRoundEdges / comm.size())) {
    last_ = partition::share(edge.units(), comm.size(), comm.rank());
    end_ = partition::share(edge.units(), comm.size(), comm.rank() + 1);
  }
  Turn next() {
    first_ = last_;
    last_ = std::min(first_ + per_round_, end_);
    return last_ < end_ ? Turn::more : Turn::last;
  }
  std::int64_t units() const { return last_ - first_; }
  template <class F>
  void visit(std::int64_t first, std::int64_t last, F&& f) const {
    for (auto e = first_ + first; e < first_ + last; ++e) {
      const auto [row, column] = edge_(e);
      if (row < 0) continue;
      const auto i = static_cast<Index>(row), j = static_cast<Index>(column);
      f(i, j, One{});
      if (edge_.mirrored() && i != j) f(j, i, One{});
    }
  }

 private:
  const RmatEdges& edge_;
  std::int64_t per_round_;
  std::int64_t first_ = 0, last_ = 0;  // the edges of this round
  std::int64_t end_ = 0;               // behind the last edge of the rank
};

}  // namespace

Csr<One> generate_rmat_among(Comm& comm, const RmatOptions& options, const Partition& p,
                             const KeptRows& keep) {
  const RmatTables tables(options);
  const RmatEdges edge(options, tables);
  const auto vertices = std::int64_t{1} << options.scale;
  require(p.parts == comm.size() && p.rows == vertices && p.cols == vertices,
          "R-MAT among ranks: a partition of " + std::to_string(p.rows) + " x " + std::to_string(p.cols) +
              " into " + std::to_string(p.parts) + " parts, but there are " + std::to_string(vertices) +
              " vertices and " + std::to_string(comm.size()) + " ranks");
  Rounds<One> rounds(comm, p);
  return assemble_walked<One>(keep.count, vertices, [&](auto&& take) {
    EdgesOfRank mine(comm, edge);
    rounds.each(mine, [&](auto entries) { take(Arrived<One>{entries, keep}); });
  });
}

}  // namespace penstock
