// Orders of vertices. Reverse Cuthill-McKee (Cuthill and McKee 1969; reversed by George 1971) numbers each component by a
// breadth-first search that takes the neighbours of a vertex by ascending degree, and then reverses the whole order. The
// search starts at a pseudo-peripheral vertex (George and Liu 1979), which further searches find: the first one begins at a
// vertex of least degree, the next one at a vertex of least degree in the last level of the search before, and so on, as long
// as a search is not less deep than the one before and its widest level is narrower. A search that becomes as wide is given
// up.
#include "penstock/graph/reorder.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kLook = 1 << 14;  // vertices between two calls of poll_interrupt()

void require_vertices(const Csr<One>& a) {
  require(a.rows == a.cols && a.rows <= std::numeric_limits<Index>::max(),
          "an order of vertices needs a square matrix, this one is " + std::to_string(a.rows) + " x " +
              std::to_string(a.cols));
}

/// Every search gives an order of its component, so the search that is kept need not be repeated.
class CuthillMckee {
 public:
  explicit CuthillMckee(const Csr<One>& a)
      : a_(a),
        order_(allocate<Index>(a.rows)),
        other_(allocate<Index>(a.rows)),
        vertices_(allocate<Vertex>(a.rows)) {
    parallel_ranges(a.rows, 1 << 15, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) {
        const auto degree = std::min<Offset>(a.indptr.data[v + 1] - a.indptr.data[v], kMost);
        vertices_.data[v] = {0, static_cast<Index>(degree)};
      }
    });
  }

  Array<Index> run() {
    const auto starts = degree_order(a_, false);
    for (const auto v : starts.span()) {
      if (vertices_.data[v].seen == kDone) continue;
      if (vertices_.data[v].degree > 0) number(v, 0);
      // These are alone in their component, or have edges out but none in.
      if (vertices_.data[v].seen != kDone) number(v, kMost);
    }
    std::reverse(order_.data, order_.data + a_.rows);
    return order_;
  }

 private:
  struct Vertex {
    std::uint32_t seen;  // the number of the search that saw it last, or kDone
    Index degree;
  };
  struct Search {
    std::int64_t size = 0, levels = 0, widest = 0;
    Index far = 0;  // the vertex of least degree in the last level
  };
  static constexpr std::int64_t kMost = std::numeric_limits<Index>::max();
  static constexpr std::uint32_t kDone = std::numeric_limits<std::uint32_t>::max();

  /// Numbers the component of v, from the best start that `most` attempts find; 0: as many attempts as help.
  void number(Index v, std::int64_t most) {
    auto* const mine = order_.data + numbered_;
    auto best = search(v, mine, kMost);
    if (most == 0) {
      for (auto tried = v; best.far != tried;) {
        tried = best.far;
        const auto next = search(tried, other_.data, best.widest);
        if (next.size == 0 || next.levels < best.levels) break;
        std::copy_n(other_.data, next.size, mine);
        best = next;
      }
    }
    for (std::int64_t i = 0; i < best.size; ++i) vertices_.data[mine[i]].seen = kDone;
    numbered_ += best.size;
  }

  /// Writes the vertices that `start` reaches to `queue`. Gives up, and returns size 0, if a level has `too_wide` vertices.
  Search search(Index start, Index* queue, std::int64_t too_wide) {
    Search found;
    auto* const vertex = vertices_.data;
    if (++stamp_ == kDone) {  // the numbers of searches begin again, and old ones would look new
      for (std::int64_t v = 0; v < a_.rows; ++v)
        if (vertex[v].seen != kDone) vertex[v].seen = 0;
      stamp_ = 1;
    }
    queue[0] = start;
    vertex[start].seen = stamp_;
    std::int64_t end = 1;
    for (std::int64_t first = 0, last = 1; first < last; ++found.levels) {
      if (last - first >= too_wide) return {};
      found.widest = std::max(found.widest, last - first);
      found.far = *std::min_element(queue + first, queue + last,
                                    [&](Index v, Index w) { return vertex[v].degree < vertex[w].degree; });
      for (auto i = first; i < last; ++i) {
        const auto row = queue[i];
        keys_.clear();
        for (auto k = a_.indptr.data[row]; k < a_.indptr.data[row + 1]; ++k) {
          const auto w = a_.indices.data[k];
          if (vertex[w].seen == stamp_ || vertex[w].seen == kDone) continue;
          vertex[w].seen = stamp_;
          keys_.push_back(static_cast<std::uint64_t>(vertex[w].degree) << 32 | static_cast<std::uint32_t>(w));
        }
        std::sort(keys_.begin(), keys_.end());
        for (const auto key : keys_) queue[end++] = static_cast<Index>(key & 0xffffffffu);
        if (i % kLook == 0) poll_interrupt();
      }
      first = last, last = end;
    }
    found.size = end;
    return found;
  }

  const Csr<One>& a_;
  Array<Index> order_, other_;
  Array<Vertex> vertices_;
  std::vector<std::uint64_t> keys_;  // (degree, vertex) of the new neighbours of one vertex
  std::uint32_t stamp_ = 0;
  std::int64_t numbered_ = 0;
};

}  // namespace

Array<Index> reverse_cuthill_mckee(const Csr<One>& a) {
  require_vertices(a);
  return CuthillMckee(a).run();
}

Array<Index> degree_order(const Csr<One>& a, bool descending) {
  require(a.rows <= std::numeric_limits<Index>::max(),
          "an order of " + std::to_string(a.rows) + " rows: at most 2^31 - 1 have numbers of 32 bits");
  const auto length = [&](std::int64_t v) { return a.indptr.data[v + 1] - a.indptr.data[v]; };
  const auto order = allocate_apart<Index>(a.rows);
  Offset longest = 0;
  for (std::int64_t v = 0; v < a.rows; ++v) longest = std::max(longest, length(v));
  const auto place = [&](std::int64_t v) { return descending ? longest - length(v) : length(v); };
  // With longer rows than this, a count for each length would take more memory than it is worth.
  if (longest > 4 * a.rows + 1024) {
    for (std::int64_t v = 0; v < a.rows; ++v) order.data[v] = static_cast<Index>(v);
    std::stable_sort(order.data, order.data + a.rows, [&](Index v, Index w) { return place(v) < place(w); });
    return order;
  }
  std::vector<std::int64_t> next(static_cast<std::size_t>(longest) + 2);
  for (std::int64_t v = 0; v < a.rows; ++v) ++next[static_cast<std::size_t>(place(v)) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  for (std::int64_t v = 0; v < a.rows; ++v)
    order.data[next[static_cast<std::size_t>(place(v))]++] = static_cast<Index>(v);
  return order;
}

std::int64_t bandwidth(const Csr<One>& a) {
  std::atomic<std::int64_t> widest = 0;
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    std::int64_t here = 0;
    for (auto r = first; r < last; ++r)
      for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
        here = std::max(here, std::abs(r - a.indices.data[k]));
    auto known = widest.load(std::memory_order_relaxed);
    while (here > known && !widest.compare_exchange_weak(known, here)) {}
  });
  return widest;
}

}  // namespace penstock
