// Searches over packed lists, against those over the lists as they are; and lists that are broken, which are refused.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/cc/cc.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"
#include "support.hpp"

namespace penstock {
namespace {

class ThreadsOf {
 public:
  explicit ThreadsOf(int n) : old_(num_threads()) { set_num_threads(n); }
  ~ThreadsOf() { set_num_threads(old_); }

 private:
  int old_;
};

Csr<One> search_graph(std::int64_t n, std::vector<std::pair<Index, Index>> edges, bool mirrored) {
  if (mirrored)
    for (std::size_t i = 0, end = edges.size(); i < end; ++i)
      if (edges[i].first != edges[i].second) edges.emplace_back(edges[i].second, edges[i].first);
  std::vector<Offset> offsets(std::size_t(n) + 1);
  for (const auto& [u, v] : edges) ++offsets[std::size_t(u) + 1];
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  auto next = offsets;
  std::vector<Index> columns(edges.size());
  for (const auto& [u, v] : edges) columns[std::size_t(next[std::size_t(u)]++)] = v;
  return {n, n, test::array_of(offsets), test::array_of(columns), {}};
}

/// A hub whose list takes several pieces, random edges, repeats and loops, and a quarter of the vertices without edges.
Csr<One> mixed(std::int64_t n, unsigned seed, bool mirrored) {
  std::mt19937 random(seed);
  const auto used = std::uint32_t(n - n / 4);
  std::vector<std::pair<Index, Index>> edges;
  for (std::int64_t i = 0; i < 2 * n; ++i) edges.emplace_back(Index(random() % used), Index(random() % used));
  for (std::uint32_t v = 0; v < used; v += 2) edges.emplace_back(Index(used / 3), Index(v));
  edges.emplace_back(0, 0), edges.emplace_back(0, 0);
  return search_graph(n, std::move(edges), mirrored);
}

TEST(PackedSearch, FindsWhatRawListsGive) {
  for (const std::int64_t n : {5, 64, 700, 30'000})
    for (const bool mirrored : {false, true}) {
      const auto a = mixed(n, unsigned(n), mirrored);
      const auto raw = a.view();
      const auto packed = pack_lists(raw);
      check_packed(packed);
      check_lists_of(packed, raw);
      const auto rows = graph::rows_of(packed);
      for (const int threads : {1, 3}) {
        const ThreadsOf set(threads);
        for (const bool both : {false, true}) {
          if (both && !mirrored) continue;
          BfsPlan one, other;
          for (const Index source : {Index(0), Index(n / 3), Index(n - 1)}) {
            const auto want = bfs({raw, both ? &raw : nullptr}, source, one, {.predecessors = true});
            const auto got =
                bfs(PackedGraph{rows, both ? &rows : nullptr}, source, other, {.predecessors = true});
            EXPECT_TRUE(std::ranges::equal(got.levels.span(), want.levels.span()));
            EXPECT_TRUE(std::ranges::equal(got.predecessors.span(), want.predecessors.span()));
            EXPECT_EQ(got.reached, want.reached);
          }
          const auto want = connected_components({raw, both ? &raw : nullptr}, one);
          const auto got = connected_components(PackedGraph{rows, both ? &rows : nullptr}, other);
          EXPECT_EQ(got.count, want.count);
          EXPECT_TRUE(std::ranges::equal(got.labels.span(), want.labels.span()));
        }
      }
    }
}

TEST(PackedSearch, EdgesComeOnceInPiecesAndStopEarly) {
  const auto a = mixed(9000, 4, true);
  const auto packed = pack_lists(a.view());
  const auto rows = graph::rows_of(packed);
  for (Index v = 0; v < 9000; ++v) {
    std::vector<Index> want, got;
    each_packed(packed.view(), v, [&](Index u) { return want.push_back(u), false; });
    const auto [first, last] = range_of(rows, v);
    ASSERT_EQ(last - first, std::ssize(want));
    for (Offset k = first; k < last; k += 2048)
      each_edge(rows, v, k, std::min(last, k + 2048), [&](Index u, Offset at) {
        EXPECT_EQ(at, std::ssize(got));
        got.push_back(u);
      });
    EXPECT_EQ(got, want);
    std::size_t met = 0;
    const auto stop = want.size() / 2;
    const bool stopped = any_end(rows, v, [&](Index u) {
      EXPECT_EQ(u, want[met]);
      return met++ == stop;
    });
    EXPECT_EQ(stopped, !want.empty());
    EXPECT_EQ(met, want.empty() ? 0 : stop + 1);
  }
}

/// A copy whose arrays may be written.
struct Copy {
  explicit Copy(const PackedLists& p)
      : lists(p),
        bases(p.bases.span().begin(), p.bases.span().end()),
        heads(p.heads.span().begin(), p.heads.span().end()),
        words(p.words.span().begin(), p.words.span().end()) {
    lists.bases = {bases.data(), std::ssize(bases), {}, {}};
    lists.heads = {heads.data(), std::ssize(heads), {}, {}};
    lists.words = {words.data(), std::ssize(words), {}, {}};
  }
  PackedLists lists;
  std::vector<std::uint64_t> bases;
  std::vector<std::uint32_t> heads, words;
};

TEST(PackedSearch, BrokenListsAreRefused) {
  const auto a = mixed(5000, 9, false);
  const auto good = pack_lists(a.view());
  EXPECT_NO_THROW(check_packed(good));
  {
    Copy c(good);
    c.heads[7] += 1u << kAtBits;  // one entry more
    EXPECT_THROW(check_packed(c.lists), Error);
  }
  {
    Copy c(good);
    c.bases.back() += 1;
    EXPECT_THROW(check_sizes(c.lists), Error);
  }
  {
    Copy c(good);
    c.lists.table_bits = 4;
    EXPECT_THROW(check_sizes(c.lists), Error);
  }
  {
    Copy c(good);
    c.lists.edges += 1;
    EXPECT_THROW(check_packed(c.lists), Error);
  }
  const auto other = mixed(5000, 10, false);
  EXPECT_THROW(check_lists_of(pack_lists(other.view()), a.view()), Error);
}

TEST(PackedSearch, WhatPassesTheCheckStaysInside) {
  const auto a = mixed(4000, 11, true);
  const auto good = pack_lists(a.view());
  std::mt19937 random(12);
  int passed = 0, refused = 0;
  for (int i = 0; i < 400; ++i) {
    Copy c(good);
    const auto bit = 1u << random() % 32;
    if (i % 2 == 0) c.words[random() % (c.words.size() - kPackedPad)] ^= bit;
    else c.heads[random() % c.heads.size()] ^= bit;
    try {
      check_packed(c.lists);
    } catch (const Error&) {
      ++refused;
      continue;
    }
    ++passed;
    const auto rows = graph::rows_of(c.lists);
    for (Index v = 0; v < 4000; ++v)
      any_end(rows, v, [](Index u) {
        EXPECT_TRUE(0 <= u && u < 4000);
        return false;
      });
  }
  EXPECT_GT(passed, 20);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace penstock
