#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <set>
#include <tuple>

#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/bitmap.hpp"
#include "penstock/graph/cc/cc.hpp"
#include "penstock/graph/cc/scc.hpp"
#include "penstock/graph/expand.hpp"
#include "penstock/graph/kcore.hpp"
#include "support.hpp"
#include "threads.hpp"

namespace penstock {
namespace {

using test::indptr_of;
using test::matrix_of;
using test::Rows;
using test::Threads;

/// Rows of all lengths, one of them longer than a thread takes at once.
Csr<One> skewed(std::int64_t rows, unsigned seed = 1) {
  return matrix_of<One>(rows, indptr_of(Rows::one_long, rows, seed), seed);
}

Csr<One> reversed(const Csr<One>& a) {
  std::vector<Offset> indptr(static_cast<std::size_t>(a.cols) + 1);
  for (const auto c : a.indices.span()) ++indptr[static_cast<std::size_t>(c) + 1];
  for (std::size_t i = 1; i < indptr.size(); ++i) indptr[i] += indptr[i - 1];
  std::vector<Index> indices(static_cast<std::size_t>(a.nnz()));
  auto next = indptr;
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
      indices[static_cast<std::size_t>(next[static_cast<std::size_t>(a.indices.data[k])]++)] =
          static_cast<Index>(r);
  return {a.cols, a.rows, test::array_of(indptr), test::array_of(indices), {}};
}

std::vector<Index> levels_by_queue(const Csr<One>& a, Index source) {
  std::vector<Index> levels(static_cast<std::size_t>(a.rows), kUnreached);
  std::deque<Index> queue{source};
  levels[static_cast<std::size_t>(source)] = 0;
  for (; !queue.empty(); queue.pop_front())
    for (auto k = a.indptr.data[queue.front()]; k < a.indptr.data[queue.front() + 1]; ++k) {
      auto& level = levels[static_cast<std::size_t>(a.indices.data[k])];
      if (level != kUnreached) continue;
      level = levels[static_cast<std::size_t>(queue.front())] + 1;
      queue.push_back(a.indices.data[k]);
    }
  return levels;
}

TEST(Expand, EveryEdgeOnceAndLanesApart) {
  const auto a = skewed(3000);
  std::vector<Index> from;
  Offset wanted = 0;
  for (Index v = 0; v < 3000; v += 2) from.push_back(v), wanted += a.indptr.data[v + 1] - a.indptr.data[v];
  for (const int threads : {1, 2, 5}) {
    const Threads set(threads);
    std::vector<std::vector<Offset>> seen(static_cast<std::size_t>(threads));  // one a lane, without a lock
    graph::expand(graph::Direct{}, a.view(), from, [&](Index u, Index v, Offset k, std::int64_t lane) {
      EXPECT_TRUE(a.indptr.data[u] <= k && k < a.indptr.data[u + 1] && a.indices.data[k] == v);
      seen[static_cast<std::size_t>(lane)].push_back(k);
    });
    std::set<Offset> all;
    for (const auto& s : seen) all.insert(s.begin(), s.end());
    EXPECT_EQ(std::ssize(all), wanted);
  }
}

TEST(Expand, AdvanceFindsWhatOneThreadFinds) {
  const auto a = skewed(3000);
  const auto view = a.view();
  std::vector<Index> from(1000);
  for (Index i = 0; i < 1000; ++i) from[static_cast<std::size_t>(i)] = 3 * i;
  const auto run = [&](auto&& advance) {
    std::vector<graph::Word> seen(static_cast<std::size_t>(graph::words_of(a.rows)));
    graph::Frontier next(a.rows);
    std::vector<char> arrived(static_cast<std::size_t>(a.rows));
    advance(seen, next, [&](Index v) { ++arrived[static_cast<std::size_t>(v)]; });
    std::set<Index> found(next.vertices().begin(), next.vertices().end());
    EXPECT_EQ(std::ssize(found), next.size());
    Offset edges = 0;
    for (const auto v : found) {
      edges += a.indptr.data[v + 1] - a.indptr.data[v];
      EXPECT_EQ(arrived[static_cast<std::size_t>(v)], 1);
    }
    EXPECT_EQ(edges, next.edges());
    return found;
  };
  const auto alone = run([&](auto& seen, auto& next, auto arrive) {
    graph::advance_alone(
        graph::Direct{}, view, from, next,
        [&](Index, Index v, Offset) { return graph::claim_bit<false>(seen.data(), v); }, arrive);
  });
  for (const int threads : {1, 4}) {
    const Threads set(threads);
    const auto shared = run([&](auto& seen, auto& next, auto arrive) {
      graph::advance(
          graph::Direct{}, view, from, next,
          [&](Index, Index v, Offset) { return graph::claim_bit<true>(seen.data(), v); }, arrive);
    });
    EXPECT_EQ(alone, shared);
  }
}

TEST(Traverse, SearchesComponentsAndCores) {
  for (const std::int64_t n : {1, 63, 64, 65, 5000}) {
    const auto a = skewed(n, 3), back = reversed(a);
    const auto out = a.view(), in = back.view();
    for (const int threads : {1, 3}) {
      const Threads set(threads);
      BfsPlan plan, one_way;
      for (const Index source : {Index(0), static_cast<Index>(n / 3), static_cast<Index>(n - 1)}) {
        const auto wanted = levels_by_queue(a, source);
        const auto both = bfs({out, &in}, source, plan, {.predecessors = true});
        const auto down = bfs({out, nullptr}, source, one_way, {.predecessors = true});
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), both.levels.data));
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), down.levels.data));
        EXPECT_TRUE(std::equal(both.predecessors.data, both.predecessors.data + n, down.predecessors.data));
        bfs_verify(out, source, both.levels.span(), both.predecessors.span());
      }
      for (const auto* edges : {&in, static_cast<const CsrView<One>*>(nullptr)}) {
        const auto weak = connected_components({out, edges}, edges ? plan : one_way);
        components_verify(out, weak.count, weak.labels.span());
        const auto strong = strong_components({out, edges}, edges ? plan : one_way);
        strong_components_verify(out, strong.count, strong.labels.span());
        const auto finished = strong_components_as_finished({out, edges}, edges ? plan : one_way);
        EXPECT_EQ(finished.count, strong.count);
        strong_components_verify(out, finished.count, finished.labels.span());
        for (std::int64_t u = 0; u < n; ++u)
          for (auto k = out.indptr[u]; k < out.indptr[u + 1]; ++k)
            EXPECT_LE(finished.labels.data[out.indices[k]], finished.labels.data[u]);
      }
    }
  }
}

TEST(Traverse, CoresOfCliques) {
  // Cliques of 1, 2, ..., 40 vertices, side by side.
  std::vector<Offset> indptr{0};
  std::vector<Index> indices, wanted;
  for (Index size = 1, first = 0; size <= 40; first += size, ++size)
    for (Index i = 0; i < size; ++i) {
      for (Index j = 0; j < size; ++j)
        if (i != j) indices.push_back(first + j);
      indptr.push_back(std::ssize(indices));
      wanted.push_back(size - 1);
    }
  const Csr<One> a{
      std::ssize(wanted), std::ssize(wanted), test::array_of(indptr), test::array_of(indices), {}};
  EXPECT_TRUE(is_simple(a.view()));
  for (const int threads : {1, 4}) {
    const Threads set(threads);
    const auto cores = core_number(a.view());
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), cores.data));
    core_verify(a.view(), cores.span());
    ++cores.data[7];
    EXPECT_EQ(test::code_of([&] { core_verify(a.view(), cores.span()); }), Errc::invalid_argument);
    cores.data[7] -= 2;
    EXPECT_EQ(test::code_of([&] { core_verify(a.view(), cores.span()); }), Errc::invalid_argument);
  }
}

}  // namespace
}  // namespace penstock
