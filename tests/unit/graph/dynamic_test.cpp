// Changes of a graph against a map of edges; searches over the rows that they touch against those over the changed matrix.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/dynamic/growing_components.hpp"
#include "penstock/graph/dynamic/patch.hpp"
#include "support.hpp"

namespace penstock {
namespace {

using Edge = std::pair<Index, Index>;
using Edges = std::map<Edge, double>;

Csr<double> matrix_of(std::int64_t n, const Edges& edges) {
  std::vector<Offset> offsets(std::size_t(n) + 1);
  std::vector<Index> columns;
  std::vector<double> values;
  for (const auto& [e, w] : edges)
    ++offsets[std::size_t(e.first) + 1], columns.push_back(e.second), values.push_back(w);
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return {n, n, test::array_of(offsets), test::array_of(columns), test::array_of(values)};
}

/// Random edges, half of which leave one of four hubs.
struct Batch {
  std::vector<std::int64_t> rows, cols;
  std::vector<double> values;

  Batch(std::mt19937& random, std::int64_t n, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      rows.push_back(std::int64_t(random() % (i % 2 && n > 4 ? 4 : std::uint32_t(n))));
      cols.push_back(std::int64_t(random() % std::uint32_t(n)));
      values.push_back(double(random() % 1000));
    }
  }
  CooView<double> view(std::int64_t n) const {
    return {n, n, std::ssize(rows), {rows.data(), true}, {cols.data(), true}, values.data()};
  }
};

void change(Edges& edges, const Batch& b, bool remove) {
  for (std::size_t i = 0; i < b.rows.size(); ++i) {
    const Edge e(Index(b.rows[i]), Index(b.cols[i]));
    if (remove) edges.erase(e);
    else edges[e] = b.values[i];
  }
}

void expect_same(const Csr<double>& a, const Csr<double>& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_TRUE(std::ranges::equal(a.indptr.span(), b.indptr.span()));
  ASSERT_TRUE(std::ranges::equal(a.indices.span(), b.indices.span()));
  ASSERT_TRUE(std::ranges::equal(a.values.span(), b.values.span()));
}

CsrView<One> edges_only(const Csr<double>& a) {
  return {
      .rows = a.rows, .cols = a.cols, .indptr = a.indptr.data, .indices = a.indices.data, .count = a.nnz()};
}

void expect_searches(const Csr<double>& base, const Patch<double>& patch, const Csr<double>& changed) {
  const auto rows = rows_of(base, patch);
  const auto view = edges_only(changed);
  const auto lists = pack_lists(edges_only(base));
  const auto packed = rows_of(base, patch, lists);
  BfsPlan mine, other;
  for (Index source = 0; source < changed.rows; source += Index(1 + changed.rows / 5)) {
    const auto a = bfs(PatchedGraph{rows, nullptr}, source, mine, {.predecessors = true});
    const auto b = bfs(BfsGraph{view, nullptr}, source, other, {.predecessors = true});
    ASSERT_TRUE(std::ranges::equal(a.levels.span(), b.levels.span()));
    ASSERT_TRUE(std::ranges::equal(a.predecessors.span(), b.predecessors.span()));
    const auto c = bfs(PatchedPackedGraph{packed, nullptr}, source, mine, {.predecessors = true});
    ASSERT_TRUE(std::ranges::equal(c.levels.span(), b.levels.span()));
    ASSERT_TRUE(std::ranges::equal(c.predecessors.span(), b.predecessors.span()));
  }
  const auto a = connected_components(PatchedGraph{rows, nullptr}, mine);
  components_verify(view, a.count, a.labels.span());
  const auto b = connected_components(PatchedPackedGraph{packed, nullptr}, mine);
  EXPECT_EQ(a.count, b.count);
  ASSERT_TRUE(std::ranges::equal(a.labels.span(), b.labels.span()));
}

TEST(Dynamic, ChangesAreThoseOfAMap) {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    std::mt19937 random{unsigned(threads)};
    for (const auto& [n, count] : {std::pair<std::int64_t, std::size_t>{1, 3}, {9, 20}, {3000, 60'000}}) {
      Edges edges;
      change(edges, Batch(random, n, count / 2), false);
      const auto base = matrix_of(n, edges);
      Delta<double> all;
      for (int step = 0; step < 4; ++step) {
        const Batch b(random, n, count >> step);
        const bool remove = step % 2 == 1;
        change(edges, b, remove);
        all = merge(all, make_delta(b.view(n), {.vertices = n, .remove = remove}));
      }
      check_keys(all.keys.span(), n);
      const auto patch = make_patch(base, all, n + 2);
      const auto changed = apply_patch(base, patch);
      expect_same(changed, matrix_of(n + 2, edges));
      EXPECT_EQ(patch.edges, changed.nnz());
      expect_searches(base, patch, changed);
      const auto found = has_edges(base, {all}, all.keys.span());
      for (std::int64_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(found.data[i] != 0,
                  edges.contains({row_of(all.keys.data[i]), column_of(all.keys.data[i])}));
      const auto back = transpose(transpose(all));
      ASSERT_TRUE(std::ranges::equal(back.keys.span(), all.keys.span()));
      ASSERT_TRUE(std::ranges::equal(back.values.span(), all.values.span()));
    }
  }
  set_num_threads(before);
}

TEST(Dynamic, TheLastOfAnEdgeCountsInBothDirections) {
  const std::vector<std::int64_t> rows{0, 1, 2}, cols{1, 0, 2};
  const std::vector<double> values{1, 2, 3};
  const CooView<double> batch{3, 3, 3, {rows.data(), true}, {cols.data(), true}, values.data()};
  const auto d = make_delta(batch, {.vertices = 3, .mirror = true});
  ASSERT_EQ(d.size(), 3);
  EXPECT_EQ(d.values.data[0], 2);
  EXPECT_EQ(d.values.data[1], 2);
  EXPECT_EQ(d.values.data[2], 3);
}

TEST(Dynamic, RefusesEndsOutsideAndKeysOutOfOrder) {
  const std::vector<std::int64_t> rows{0, 3}, cols{1, 0};
  const CooView<double> batch{3, 3, 2, {rows.data(), true}, {cols.data(), true}, nullptr};
  EXPECT_THROW(make_delta(batch, {.vertices = 3}), Error);
  EXPECT_NO_THROW(make_delta(batch, {.vertices = 4}));
  const std::vector<EdgeKey> keys{edge_key(1, 0, false), edge_key(0, 1, true), edge_key(1, 0, true)};
  EXPECT_THROW(check_keys(keys, 3), Error);
  EXPECT_THROW(check_keys(std::span(keys).subspan(1), 1), Error);
  EXPECT_NO_THROW(check_keys(std::span(keys).subspan(1), 2));
  EXPECT_THROW(check_keys(std::vector<EdgeKey>{keys[0], keys[2]}, 2), Error);
}

TEST(Dynamic, ComponentsGrowWithTheEdges) {
  std::mt19937 random(5);
  const std::int64_t n = 2000;
  Edges edges;
  change(edges, Batch(random, n, 300), false);
  BfsPlan first;
  const auto base = matrix_of(n, edges);
  const auto begin = connected_components(BfsGraph{edges_only(base), nullptr}, first);
  GrowingComponents grown(begin.labels.span());
  for (int step = 0; step < 5; ++step) {
    const auto size = n + 10 * step;
    grown.grow(size);
    const Batch b(random, size, 200);
    grown.unite({b.rows.data(), true}, {b.cols.data(), true}, std::ssize(b.rows));
    change(edges, b, false);
    const auto now = grown.components();
    components_verify(edges_only(matrix_of(size, edges)), now.count, now.labels.span());
  }
}

}  // namespace
}  // namespace penstock
