// What is known of a partition, from the edges alone.
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/community/community.hpp"
#include "penstock/graph/community/level.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsOfASum = 4 << 10;

template <class G>
double modularity_of(const G& a, std::span<const Index> labels, double resolution) {
  // Of each range of rows, so that the sums have one order whatever the threads.
  const auto ranges = (a.rows + kRowsOfASum - 1) / kRowsOfASum;
  std::vector<double> inner(at(ranges)), degree(at(a.rows)), total(at(a.rows));
  parallel_ranges(a.rows, kRowsOfASum, [&](std::int64_t first, std::int64_t last) {
    double sum = 0;
    for (auto v = first; v < last; ++v) {
      double of_vertex = 0;
      community::each_entry(a, v, [&](Index u, double weight) {
        const auto w = weight * (u == v ? 2 : 1);
        of_vertex += w;
        if (labels[at(u)] == labels[at(v)]) sum += w;
      });
      degree[at(v)] = of_vertex;
    }
    inner[at(first / kRowsOfASum)] = sum;
  });
  double within = 0, all = 0, squares = 0;
  for (const auto sum : inner) within += sum;
  for (std::int64_t v = 0; v < a.rows; ++v) {
    all += degree[at(v)];
    total[at(labels[at(v)])] += degree[at(v)];
  }
  if (!(all > 0)) return 0;
  for (const auto t : total) squares += t / all * (t / all);
  return within / all - resolution * squares;
}

}  // namespace

template <class G>
Array<Index> community::parts_of(const G& a, std::span<const Index> labels) {
  const auto part = allocate<Index>(a.rows);
  std::ranges::fill(part.span(), -1);
  std::vector<Index> stack;
  Index parts = 0;
  for (std::int64_t start = 0; start < a.rows; ++start) {
    if (part.data[start] >= 0) continue;
    part.data[start] = parts;
    stack.push_back(static_cast<Index>(start));
    while (!stack.empty()) {
      const auto v = stack.back();
      stack.pop_back();
      community::each_entry(a, v, [&](Index u, double weight) {
        if (part.data[u] >= 0 || labels[at(u)] != labels[at(v)] || !(weight > 0)) return;
        part.data[u] = parts;
        stack.push_back(u);
      });
    }
    ++parts;
  }
  return part;
}

template <class V>
double modularity(const Csr<V>& a, std::span<const Index> labels, double resolution) {
  return modularity_of(a.view(), labels, resolution);
}
double modularity(const PackedLists& lists, std::span<const Index> labels, double resolution) {
  const community::PackedBase base(lists);
  return modularity_of(base.edges(), labels, resolution);
}

template <class V>
Array<Index> connected_parts(const CsrView<V>& a, std::span<const Index> labels) {
  return community::parts_of(a, labels);
}
Array<Index> connected_parts(const PackedLists& lists, std::span<const Index> labels) {
  const community::PackedBase base(lists);
  return community::parts_of(base.edges(), labels);
}

#define PENSTOCK_PARTS(G) template Array<Index> community::parts_of<G>(const G&, std::span<const Index>);
PENSTOCK_FOR_EACH_COMMUNITY_GRAPH(PENSTOCK_PARTS)
#undef PENSTOCK_PARTS

#define PENSTOCK_MODULARITY(V)                                                  \
  template double modularity<V>(const Csr<V>&, std::span<const Index>, double); \
  template Array<Index> connected_parts<V>(const CsrView<V>&, std::span<const Index>);
PENSTOCK_MODULARITY(One) PENSTOCK_MODULARITY(float) PENSTOCK_MODULARITY(double)
#undef PENSTOCK_MODULARITY

}  // namespace penstock
