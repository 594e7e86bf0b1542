// R-MAT graphs (Chakrabarti, Zhan, Faloutsos 2004): each edge falls through `scale` levels of the adjacency
// matrix, into one of four quadrants with probabilities a, b, c, d at each.
//
// Six levels are drawn at once, from an alias table over their 4^6 cells: one random number and one look into
// the L1 cache instead of six of each. Edges are made twice, once to count and once to place them
// (format/assemble.hpp): making them again is cheaper than keeping them.
#include "penstock/io/generate/generate_rmat.hpp"

#include "penstock/format/assemble.hpp"
#include "penstock/io/generate/generate_check.hpp"
#include "penstock/io/generate/rmat_edges.hpp"

namespace penstock {
namespace {

struct RmatSource {
  RmatEdges edge;

  std::int64_t units() const { return edge.units(); }
  std::int64_t max_per_unit() const { return edge.mirrored() ? 2 : 1; }

  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    for (auto e = first; e < last; ++e) {
      const auto [row, column] = edge(e);
      if (row < 0) continue;
      emit(row, column, One{});
      if (edge.mirrored() && row != column) emit(column, row, One{});
    }
  }
};

}  // namespace

Csr<One> generate_rmat(const RmatOptions& options) {
  const RmatTables tables(options);
  const RmatSource source{RmatEdges(options, tables)};
  const auto vertices = std::int64_t{1} << options.scale;
  require_memory("this R-MAT", vertices, source.units() * source.max_per_unit());
  return assemble<One>(vertices, vertices, source);
}

Csr<One> generate_rmat(const RmatOptions& options, const KeptRows& keep) {
  const RmatTables tables(options);
  const RmatSource source{RmatEdges(options, tables)};
  // Nothing is kept: the options have been checked, and no edge is drawn.
  if (keep.count == 0) return assemble_walked<One>(0, std::int64_t{1} << options.scale, [](auto&&) {});
  return assemble<One>(keep.count, std::int64_t{1} << options.scale, KeptSource<RmatSource>{source, keep});
}

}  // namespace penstock
