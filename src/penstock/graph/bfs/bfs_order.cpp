// The order in which a queue visits vertices, as in the textbook's search. Unlike levels, it depends on which vertex came
// first, so one thread computes it. A bitmap says which vertices have been reached.
#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {

BfsOrder bfs_order(const CsrView<One>& out, const CsrView<One>* also, Index source) {
  const auto n = out.rows;
  require(out.cols == n && (!also || (also->rows == n && also->cols == n)),
          "breadth_first_order needs a square adjacency matrix, this one is " + std::to_string(n) + " x " +
              std::to_string(out.cols));
  require(0 <= source && source < n, "breadth_first_order: source " + std::to_string(source) +
                                         " is outside a graph of " + std::to_string(n) + " vertices");
  BfsOrder r{allocate<Index>(n), allocate<Index>(n)};
  Index *const order = r.vertices.data, *const before = r.predecessors.data;
  std::fill_n(before, n, kNoPredecessor);
  std::vector<graph::Word> seen(static_cast<std::size_t>(graph::words_of(n)));
  const auto walk = [&](const CsrView<One>& a, Index u) {
    for (auto k = a.indptr[u], end = a.indptr[u + 1]; k < end; ++k) {
      const auto v = a.indices[k - a.first_nnz];
      if (!graph::claim_bit<false>(seen.data(), v)) continue;
      before[v] = u;
      order[r.reached++] = v;
      __builtin_prefetch(a.indptr + v);
    }
  };
  graph::claim_bit<false>(seen.data(), source);
  order[r.reached++] = source;
  for (std::int64_t i = 0; i < r.reached; ++i) {
    walk(out, order[i]);
    if (also) walk(*also, order[i]);
    if (i % 4096 == 0) poll_interrupt();
  }
  return r;
}

}  // namespace penstock
