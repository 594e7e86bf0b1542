// Copies oriented edges to one run of sorted lists.
#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/triangles/triangles_gpu.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {

Csr<One> oriented_lists(const OrientedEdges& e) {
  constexpr std::int64_t kGrain = 16 << 10;
  const auto n = e.size();
  const auto offsets = allocate<Offset>(n + 1);
  parallel_ranges(n, kGrain, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) offsets.data[u + 1] = e.length.data[u];
  });
  lengths_to_offsets(offsets);
  const auto ends = allocate<Index>(offsets.data[n]);
  for_row_ranges(
      n, [&](std::int64_t u) { return offsets.data[u] + u; },
      [&](std::int64_t first, std::int64_t last) {
        for (auto u = first; u < last; ++u) {
          auto* const to = ends.data + offsets.data[u];
          std::copy_n(e.ends.data + e.first.data[u], e.length.data[u], to);
          if (e.vertex.size > 0) std::sort(to, to + e.length.data[u]);
        }
        poll_interrupt();
      });
  return {n, n, offsets, ends, {}};
}

}  // namespace penstock
