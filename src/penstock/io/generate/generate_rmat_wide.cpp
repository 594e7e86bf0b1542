// R-MAT graphs with more vertices than 32 bits count: an edge is a function of its number (io/generate/rmat_edges.hpp), and
// each rank draws an equal share of the numbers.
#include "penstock/io/generate/generate_rmat_wide.hpp"

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/rmat_edges.hpp"
#include "penstock/io/random.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kDrawnAtOnce = 1 << 16;

}  // namespace

template <class V>
void append_rmat(std::vector<Coordinate<V>>& entries, const RmatOptions& options, int ranks, int rank) {
  const RmatTables tables(options);
  const RmatEdges edge(options, tables);
  if (ranks == 0) return;
  const EntryValues value(options.seed, options.undirected);
  const auto add = [&](GlobalIndex i, GlobalIndex j) {
    if constexpr (is_pattern<V>) entries.push_back({i, j, {}});
    else entries.push_back({i, j, value.template of_wide<V>(i, j)});
  };
  const auto first = partition::share(edge.units(), ranks, rank),
             last = partition::share(edge.units(), ranks, rank + 1);
  const auto most = (last - first) * (edge.mirrored() ? 2 : 1);
  entries.reserve(entries.size() + at(most));
  for (auto e = first; e < last; ++e) {
    if (e % kDrawnAtOnce == 0) poll_interrupt();
    const auto [i, j] = edge(e);
    if (i < 0) continue;
    add(i, j);
    if (edge.mirrored() && i != j) add(j, i);
  }
}

#define X(V) template void append_rmat(std::vector<Coordinate<V>>&, const RmatOptions&, int, int);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
