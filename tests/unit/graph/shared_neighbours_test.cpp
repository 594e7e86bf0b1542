// Shared neighbours and trusses with 1, 2 and 8 threads: a skewed random graph, against plain loops over its rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/similarity/similarity.hpp"
#include "penstock/graph/truss/truss.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr Index kVertices = 600;

/// Each end is the smallest of three draws, so that small numbers are hubs.
Csr<One> skewed_graph() {
  std::mt19937 random(7);
  const auto one = [&] { return static_cast<Index>(random() % kVertices); };
  const auto draw = [&] { return std::min({one(), one(), one()}); };
  std::vector<std::set<Index>> rows(kVertices);
  for (int i = 0; i < 12 * kVertices; ++i)
    if (const auto u = draw(), v = draw(); u != v) rows[at(u)].insert(v), rows[at(v)].insert(u);
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (const auto& row : rows) {
    indices.insert(indices.end(), row.begin(), row.end());
    indptr.push_back(std::ssize(indices));
  }
  return {kVertices, kVertices, test::array_of(indptr), test::array_of(indices), {}};
}

template <class T>
std::vector<T> vector_of(const Array<T>& a) {
  return {a.data, a.data + a.size};
}

/// f() with 1, 2 and 8 threads, whose results must be the same.
template <class F>
auto with_threads(F&& f) {
  const auto before = num_threads();
  set_num_threads(1);
  const auto one = f();
  for (const int threads : {2, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(f(), one) << threads << " threads";
  }
  set_num_threads(before);
  return one;
}

TEST(SharedNeighbours, PairsAgreeWithCommonEntries) {
  const auto a = skewed_graph();
  std::vector<Index> u, v;
  for (Index x = 0; x < kVertices; x += 3)
    for (Index y = 0; y < kVertices; y += 7) u.push_back(x), v.push_back(y);
  const auto found =
      with_threads([&] { return vector_of(similarity(a.view(), u, v, Measure::common_neighbors)); });
  for (std::size_t i = 0; i < u.size(); ++i) {
    const auto* const ends = a.indices.data;
    std::vector<Index> both;
    std::set_intersection(ends + a.indptr.data[u[i]], ends + a.indptr.data[u[i] + 1],
                          ends + a.indptr.data[v[i]], ends + a.indptr.data[v[i] + 1],
                          std::back_inserter(both));
    ASSERT_EQ(found[i], static_cast<double>(both.size())) << u[i] << " " << v[i];
  }
}

TEST(SharedNeighbours, TheBestHaveTheScoresOfTheirPairs) {
  const auto a = skewed_graph();
  std::vector<Index> all(kVertices);
  for (Index v = 0; v < kVertices; ++v) all[at(v)] = v;
  constexpr std::int64_t kBest = 5;
  for (const auto measure : {Measure::jaccard, Measure::adamic_adar}) {
    const MostSimilarOptions options{.measure = measure, .k = kBest};
    const auto best = with_threads([&] { return vector_of(most_similar(a.view(), all, options).vertices); });
    const auto scores = vector_of(most_similar(a.view(), all, options).scores);
    for (Index u = 0; u < kVertices; u += 11) {
      const auto each = vector_of(similarity(a.view(), std::vector<Index>(kVertices, u), all, measure));
      auto order = all;
      std::erase_if(order, [&](Index v) { return v == u || each[at(v)] == 0; });
      std::ranges::stable_sort(order, std::greater{}, [&](Index v) { return each[at(v)]; });
      for (std::int64_t i = 0; i < kBest; ++i) {
        const bool there = i < std::ssize(order);
        ASSERT_EQ(best[at(u * kBest + i)], there ? order[at(i)] : -1) << u;
        ASSERT_EQ(scores[at(u * kBest + i)], there ? each[at(order[at(i)])] : 0) << u;
      }
    }
  }
}

TEST(Truss, EveryEdgeHasItsTrianglesAndNoLargerTrussExists) {
  const auto a = skewed_graph();
  const auto number = with_threads([&] { return vector_of(truss_numbers(a.view())); });
  EXPECT_GT(*std::ranges::max_element(number), 5);
  std::vector<std::set<Index>> left(kVertices);
  for (Index v = 0; v < kVertices; ++v)
    left[at(v)] = {a.indices.data + a.indptr.data[v], a.indices.data + a.indptr.data[v + 1]};
  for (Index k = 3; std::ranges::any_of(left, [](const auto& row) { return !row.empty(); }); ++k) {
    for (bool changed = true; changed;) {
      changed = false;
      for (Index u = 0; u < kVertices; ++u)
        for (const auto v : std::set(left[at(u)])) {
          const auto shared =
              std::ranges::count_if(left[at(u)], [&](Index w) { return left[at(v)].contains(w); });
          if (shared >= k - 2) continue;
          left[at(u)].erase(v), left[at(v)].erase(u);
          changed = true;
        }
    }
    for (Index u = 0; u < kVertices; ++u)
      for (auto i = a.indptr.data[u]; i < a.indptr.data[u + 1]; ++i)
        ASSERT_EQ(number[at(i)] >= k, left[at(u)].contains(a.indices.data[i])) << k << " " << u;
  }
}

}  // namespace
}  // namespace penstock
