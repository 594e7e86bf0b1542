// Graphs of communities. Rows hold what their vertices meet, in the order in which they meet it.
#include <algorithm>
#include <numeric>

#include "penstock/core/reuse.hpp"
#include "penstock/graph/community/level.hpp"

namespace penstock::community {
namespace {

constexpr Offset kEntriesOfAnAggregation = 64 << 10;

struct Piece {
  std::vector<Index> indices;
  std::vector<double> values;
};

}  // namespace

std::int64_t renumber(std::span<Index> labels) {
  std::vector<Index> number(labels.size(), -1);
  Index count = 0;
  for (auto& label : labels) {
    auto& n = number[at(label)];
    if (n < 0) n = count++;
    label = n;
  }
  return count;
}

Members members_of(std::span<const Index> labels, std::int64_t communities) {
  Members m{std::vector<std::int64_t>(at(communities + 1)), std::vector<Index>(labels.size())};
  for (const auto label : labels) ++m.first[at(label)];
  std::int64_t sum = 0;
  for (auto& f : m.first) {
    sum += f;
    f = sum;
  }
  for (auto v = static_cast<std::int64_t>(labels.size()) - 1; v >= 0; --v)
    m.vertex[at(--m.first[at(labels[at(v)])])] = static_cast<Index>(v);
  return m;
}

template <class G>
Coarse aggregate(const Level<G>& level, std::span<const Index> labels, std::int64_t communities,
                 Workspaces& spaces) {
  const auto& a = level.a;
  const auto members = members_of(labels, communities);
  Coarse coarse;
  coarse.degree = allocate<double>(communities);
  const auto indptr = allocate<Offset>(communities + 1);
  std::vector<std::int64_t> first = {0};  // of tasks,
  std::vector<Offset> entries = {0};      // and what they read, in all
  for (std::int64_t c = 0, all = 0; c < communities; ++c) {
    for (auto i = members.first[at(c)]; i < members.first[at(c + 1)]; ++i) {
      const auto v = members.vertex[at(i)];
      all += a.indptr[v + 1] - a.indptr[v];
    }
    if (all - entries.back() + members.first[at(c + 1)] - members.first[at(first.back())] >=
            kEntriesOfAnAggregation ||
        c + 1 == communities) {
      first.push_back(c + 1);
      entries.push_back(all);
    }
  }
  const auto tasks = std::ssize(first) - 1;
  std::vector<Piece> pieces(at(tasks));
  spaces.share(tasks, [&](Workspace& w, std::int64_t task) {
    poll_interrupt();
    // A community is met at most twice, by either sum; before the last of the task are few entries.
    const auto most =
        std::min(entries[at(task + 1)] - entries[at(task)], kEntriesOfAnAggregation + 2 * communities) + 1;
    const auto met_indices = reuse<Index>(most);
    const auto met_values = reuse<double>(most);
    Index* indices = met_indices.data;
    double* values = met_values.data;
    Slot* const slots = w.slots.data;
    for (auto c = first[at(task)]; c < first[at(task + 1)]; ++c) {
      double degree = 0;
      std::int64_t count = 0, kept = 0;
      std::size_t turn = 0;
      for (auto i = members.first[at(c)]; i < members.first[at(c + 1)]; ++i) {
        const auto v = members.vertex[at(i)];
        degree += level.degree[v];
        each_entry(a, v, [&](Index u, double met) {
          const auto d = labels[at(u)];
          auto& sum = slots[d].sums[turn];
          turn ^= 1;
          indices[count] = d;
          count += !(sum > 0) & (met > 0);
          sum += met;
        });
      }
      slots[c] = {};
      for (std::int64_t i = 0; i < count; ++i) {
        const auto d = indices[i];
        const auto sum = slots[d].weight();
        slots[d] = {};
        indices[kept] = d;
        values[kept] = sum;
        kept += sum > 0;
      }
      indices += kept;
      values += kept;
      coarse.degree.data[c] = degree;
      indptr.data[c + 1] = kept;
    }
    pieces[at(task)] = {{met_indices.data, indices}, {met_values.data, values}};
  });
  indptr.data[0] = 0;
  std::partial_sum(indptr.data, indptr.data + communities + 1, indptr.data);
  const auto indices = reuse<Index>(indptr.data[communities]);
  const auto values = reuse<double>(indptr.data[communities]);
  parallel_for(tasks, [&](std::int64_t task) {
    const auto to = indptr.data[first[at(task)]];
    std::ranges::copy(pieces[at(task)].indices, indices.data + to);
    std::ranges::copy(pieces[at(task)].values, values.data + to);
  });
  coarse.a = {communities, communities, indptr, indices, values};
  return coarse;
}

#define PENSTOCK_AGGREGATE(G) \
  template Coarse aggregate<G>(const Level<G>&, std::span<const Index>, std::int64_t, Workspaces&);
PENSTOCK_FOR_EACH_COMMUNITY_GRAPH(PENSTOCK_AGGREGATE)
#undef PENSTOCK_AGGREGATE

}  // namespace penstock::community
