// Graphs of communities. Rows hold what their vertices meet, in the order in which they meet it.
#include <algorithm>
#include <numeric>

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
  std::vector<std::int64_t> first = {0};  // of tasks
  Offset entries = 0;
  for (std::int64_t c = 0; c < communities; ++c) {
    for (auto i = members.first[at(c)]; i < members.first[at(c + 1)]; ++i) {
      const auto v = members.vertex[at(i)];
      entries += a.indptr[v + 1] - a.indptr[v] + 1;
    }
    if (entries >= kEntriesOfAnAggregation || c + 1 == communities) {
      first.push_back(c + 1);
      entries = 0;
    }
  }
  std::vector<Piece> pieces(first.size() - 1);
  spaces.share(static_cast<std::int64_t>(pieces.size()), [&](Workspace& w, std::int64_t task) {
    poll_interrupt();
    auto& piece = pieces[at(task)];
    Slot* const slots = w.slots.data;
    for (auto c = first[at(task)]; c < first[at(task + 1)]; ++c) {
      const auto begin = piece.indices.size();
      double degree = 0;
      for (auto i = members.first[at(c)]; i < members.first[at(c + 1)]; ++i) {
        const auto v = members.vertex[at(i)];
        degree += level.degree[v];
        each_entry(a, v, [&](Index u, double met) {
          const auto d = labels[at(u)];
          if (d == c || !(met > 0)) return;
          if (slots[d].weight == 0) piece.indices.push_back(d);
          slots[d].weight += met;
        });
      }
      for (auto i = begin; i < piece.indices.size(); ++i) {
        auto& sum = slots[piece.indices[i]].weight;
        piece.values.push_back(sum);
        sum = 0;
      }
      coarse.degree.data[c] = degree;
      indptr.data[c + 1] = static_cast<Offset>(piece.indices.size() - begin);
    }
  });
  indptr.data[0] = 0;
  std::partial_sum(indptr.data, indptr.data + communities + 1, indptr.data);
  const auto indices = allocate<Index>(indptr.data[communities]);
  const auto values = allocate<double>(indptr.data[communities]);
  parallel_for(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t task) {
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
