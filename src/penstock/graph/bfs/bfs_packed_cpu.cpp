// A plain breadth-first search over packed lists: a queue, and every list once.
#include "penstock/graph/bfs/bfs_packed.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {

Array<Index> bfs_packed(const PackedLists& lists, Index source) {
  require(source >= 0 && source < lists.vertices, "bfs: source " + std::to_string(source) +
                                                      " is outside a graph of " +
                                                      std::to_string(lists.vertices) + " vertices");
  const auto view = lists.view();
  const auto levels = allocate<Index>(lists.vertices);
  std::fill_n(levels.data, lists.vertices, kUnreached);
  std::vector<Index> queue{source};
  levels.data[source] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const Index v = queue[at];
    each_packed(view, v, [&](Index u) {
      if (levels.data[u] == kUnreached) levels.data[u] = levels.data[v] + 1, queue.push_back(u);
      return false;
    });
    if (at % 4096 == 0) poll_interrupt();
  }
  return levels;
}

}  // namespace penstock
