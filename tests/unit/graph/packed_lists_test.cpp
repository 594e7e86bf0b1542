// Packed lists against the lists that they were made of.
#include "penstock/graph/gpu/packed_lists.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/bfs_packed.hpp"
#include "penstock/graph/gpu/graph_room.hpp"
#include "penstock/graph/gpu/pack_gpu.hpp"
#include "penstock/graph/gpu/packed_tables.hpp"

namespace penstock {
namespace {

struct ListGraph {
  std::vector<Offset> offsets;
  std::vector<Index> columns;
  std::int64_t rows() const { return std::int64_t(offsets.size()) - 1; }
  CsrView<One> view() const {
    return {.rows = rows(),
            .cols = rows(),
            .indptr = offsets.data(),
            .indices = columns.data(),
            .count = Offset(columns.size())};
  }
};
ListGraph graph_of(const std::vector<std::vector<Index>>& lists) {
  ListGraph g{.offsets = {0}, .columns = {}};
  for (const auto& list : lists) {
    g.columns.insert(g.columns.end(), list.begin(), list.end());
    g.offsets.push_back(Offset(g.columns.size()));
  }
  return g;
}

void expect_round_trip(ListGraph g) {
  const auto packed = pack_lists(g.view());
  std::vector<Offset> offsets(g.offsets.size());
  std::vector<Index> columns(g.columns.size());
  unpack_lists(packed, offsets.data(), columns.data());
  EXPECT_EQ(offsets, g.offsets);
  for (std::int64_t v = 0; v < g.rows(); ++v)
    std::sort(g.columns.begin() + g.offsets[std::size_t(v)],
              g.columns.begin() + g.offsets[std::size_t(v) + 1]);
  EXPECT_EQ(columns, g.columns);
}

/// Lists of all lengths about the ends of chunks, pieces and whole lists, near their vertex and anywhere.
ListGraph of_all_lengths(std::uint32_t seed, bool repeats) {
  std::mt19937 random(seed);
  std::vector<std::vector<Index>> lists(70'000);
  const std::vector<int> lengths{0,  1,   2,   3,    7,    8,    9,    31,   32,   33,   63,   64,
                                 65, 127, 512, 1021, 1022, 1023, 1024, 1025, 2047, 2048, 2049, 40'000};
  std::size_t v = 3;
  for (const int length : lengths)
    for (const int spread : {1, 40, 70'000}) {
      auto& list = lists[v];
      v += 1 + random() % 500;
      if (spread == 1) {
        list.resize(std::size_t(length));
        std::iota(list.begin(), list.end(), Index(random() % 20'000));
      } else {
        const auto reach =
            std::uint32_t(std::min<std::int64_t>(70'000, std::int64_t(spread) * std::max(1, length)));
        for (int i = 0; i < length; ++i) list.push_back(Index(random() % reach));
        std::sort(list.begin(), list.end());
        if (!repeats) list.erase(std::unique(list.begin(), list.end()), list.end());
      }
    }
  return graph_of(lists);
}

TEST(PackedLists, GiveBackListsOfAllLengths) {
  expect_round_trip(of_all_lengths(1, false));
  expect_round_trip(of_all_lengths(2, true));
}

TEST(PackedLists, GiveBackRangesOfRows) {
  const auto g = of_all_lengths(3, false);
  for (const auto& [first, count] :
       {std::pair<std::int64_t, std::int64_t>{0, 6400}, {6400, 20'000}, {64, 0}, {26'400, -1}}) {
    const auto packed = pack_lists(g.view(), first, count);
    const auto rows = count < 0 ? g.rows() - first : count;
    EXPECT_EQ(packed.vertices, rows);
    std::vector<Offset> offsets(std::size_t(rows) + 1);
    std::vector<Index> columns(std::size_t(packed.edges));
    unpack_lists(packed, offsets.data(), columns.data());
    const auto begin = g.offsets[std::size_t(first)];
    for (std::int64_t v = 0; v <= rows; ++v)
      ASSERT_EQ(offsets[std::size_t(v)], g.offsets[std::size_t(first + v)] - begin) << v;
    EXPECT_TRUE(std::equal(columns.begin(), columns.end(), g.columns.begin() + begin));
  }
  EXPECT_THROW(pack_lists(g.view(), 60'000, 10'001), Error);
}

TEST(PackedLists, GiveBackTheSmallestGraphs) {
  expect_round_trip(graph_of({}));
  expect_round_trip(graph_of({{}}));
  expect_round_trip(graph_of({{0}}));
  expect_round_trip(graph_of({{0, 0, 0, 0}}));
  expect_round_trip(graph_of(std::vector<std::vector<Index>>(129)));
}

TEST(PackedLists, SortWhatIsNotSorted) {
  const auto g = graph_of({{3, 0, 2}, {}, {1, 0, 1}, {2}});
  EXPECT_FALSE(pack_lists(g.view()).sorted);
  EXPECT_TRUE(pack_lists(g.view()).repeats);
  expect_round_trip(g);
  EXPECT_TRUE(pack_lists(graph_of({{1}, {0}}).view()).sorted);
}

TEST(PackedLists, RefuseColumnsOutside) {
  EXPECT_THROW(pack_lists(graph_of({{1}}).view()), Error);
  EXPECT_THROW(pack_lists(graph_of({{-1}, {}}).view()), Error);
}

TEST(PackedLists, AreTheSameForAnyNumberOfThreads) {
  const auto g = of_all_lengths(3, true);
  const auto one = [&] {
    const ThreadsHere alone(1);
    return pack_lists(g.view());
  }();
  const ThreadsHere several(5);
  const auto five = pack_lists(g.view());
  const auto same = [](const auto& a, const auto& b) {
    return a.size == b.size && std::equal(a.data, a.data + a.size, b.data);
  };
  EXPECT_TRUE(same(one.words, five.words) && same(one.heads, five.heads) && same(one.bases, five.bases));
  EXPECT_TRUE(same(one.long_ends, five.long_ends));
}

/// As a GPU packs, with the CPU as the device.
void expect_the_same_in_pieces(const ListGraph& g, std::int64_t piece_bytes) {
  const auto want = pack_lists(g.view());
  const Array<const Offset> offsets{g.offsets.data(), std::int64_t(g.offsets.size()), {}, {}};
  const Array<const Index> columns{g.columns.data(), std::int64_t(g.columns.size()), {}, {}};
  std::string why;
  const Stream stream{nullptr, Where{}};
  const auto there = pack_lists_on(offsets, columns, stream,
                                   {.memory = std::int64_t(1) << 32, .piece_bytes = piece_bytes}, &why);
  ASSERT_TRUE(there) << why;
  const auto found = to_host(*there, stream);
  EXPECT_EQ(there->bytes(), want.bytes());
  const auto same = [](const auto& a, const auto& b) {
    return a.size == b.size && std::equal(a.data, a.data + a.size, b.data);
  };
  EXPECT_TRUE(same(found.words, want.words) && same(found.heads, want.heads));
  EXPECT_TRUE(same(found.bases, want.bases) && same(found.long_ends, want.long_ends));
  EXPECT_TRUE(std::equal(found.tables, found.tables + kPackedTables, want.tables));
  EXPECT_EQ(found.repeats, want.repeats);
  // Long lists are apart, and searches read them there.
  std::size_t at = 0;
  for (std::int64_t v = 0; v < g.rows(); ++v)
    each_packed(there->view(), Index(v), [&](Index u) { return u != g.columns[at++]; });
  EXPECT_EQ(at, g.columns.size());
}

TEST(PackedLists, AreTheSameFromPieces) {
  const ThreadsHere several(4);
  for (const std::int64_t piece : {4, 100'000, 0}) {
    expect_the_same_in_pieces(of_all_lengths(7, false), piece);
    expect_the_same_in_pieces(of_all_lengths(8, true), piece);
    expect_the_same_in_pieces(graph_of({}), piece);
    expect_the_same_in_pieces(graph_of(std::vector<std::vector<Index>>(129)), piece);
  }
}

/// What does not fit comes back to the host: the block is a prefix of the same words, which ends between two groups.
TEST(PackedLists, GoToTheHostBehindAFullBlock) {
  const ThreadsHere several(4);
  const auto g = of_all_lengths(7, false);
  const auto want = pack_lists(g.view());
  const Array<const Offset> offsets{g.offsets.data(), std::int64_t(g.offsets.size()), {}, {}};
  const Array<const Index> columns{g.columns.data(), std::int64_t(g.columns.size()), {}, {}};
  const Stream stream{nullptr, Where{}};
  const auto longs = std::int64_t(want.long_ends.data[want.long_ends.size - 1]);
  const auto all = want.words.size - kPackedPad;
  for (const std::int64_t piece : {4, 100'000, 0})
    for (const auto near : {longs + (all - longs) / 3, longs + 5 * (all - longs) / 6}) {
      std::string why;
      const auto there = pack_lists_on(
          offsets, columns, stream,
          {.memory = std::int64_t(1) << 32, .words = 4 * near + 4096, .piece_bytes = piece, .far = true},
          &why);
      ASSERT_TRUE(there) << why;
      ASSERT_TRUE(there->far);
      EXPECT_LE(there->word_bytes(), 4 * near + 4096);
      EXPECT_GT(there->near_words, longs);
      EXPECT_LE(there->near_words, near + 1024);
      EXPECT_EQ(there->far_bytes(), 4 * (all - there->near_words));
      EXPECT_NE(
          std::find(want.bases.data, want.bases.data + want.bases.size, std::uint64_t(there->near_words)),
          want.bases.data + want.bases.size);
      const auto found = to_host(*there, stream);
      EXPECT_TRUE(std::equal(found.words.data, found.words.data + found.words.size, want.words.data));
      EXPECT_EQ(found.words.size, want.words.size);
      std::size_t at = 0;
      for (std::int64_t v = 0; v < g.rows(); ++v) {
        const auto list = packed_list(there->view(), Index(v));
        EXPECT_TRUE(list.near || !list.in_pieces);
        each_packed(there->view(), Index(v), [&](Index u) { return u != g.columns[at++]; });
      }
      EXPECT_EQ(at, g.columns.size());
    }
}

/// The room is less than what their sample promises with its spare. To give that back would take room for a second copy.
TEST(PackedLists, TravelOnceWhereTheyJustFit) {
  ListGraph g{.offsets = {0}, .columns = {}};
  for (Index v = 0; v < 60'000; ++v) {
    for (Index i = 0; i < 20; ++i)
      g.columns.push_back(Index((v * 7919LL + i * 3001LL * (1 + v % 5)) % 60'000));
    std::sort(g.columns.end() - 20, g.columns.end());
    g.offsets.push_back(Offset(g.columns.size()));
  }
  const auto want = pack_lists(g.view());
  const Stream stream{nullptr, Where{}};
  const auto words = 4 * (want.words.size + want.words.size / 200), edges = std::int64_t(g.columns.size());
  const auto heads = 4 * g.rows() + 8 * (g.rows() / 64 + 2);
  std::string why;
  const auto there = pack_lists_on(
      {g.offsets.data(), std::int64_t(g.offsets.size()), {}, {}}, {g.columns.data(), edges, {}, {}}, stream,
      {.memory = heads + words + words / 2, .words = words, .piece_bytes = 4, .far = true}, &why);
  ASSERT_TRUE(there) << why;
  EXPECT_EQ(there->far_bytes(), 0);
  EXPECT_LE(there->word_bytes(), words + 4 * kPackedPad);
  EXPECT_LE(there->link_bytes, 4 * edges + 2 * g.rows());
  const auto found = to_host(*there, stream);
  EXPECT_TRUE(std::equal(found.words.data, found.words.data + found.words.size, want.words.data));
}

TEST(PackedLists, AreLeftToTheCpuWhereTheyDoNotAscend) {
  const auto g = graph_of({{1, 0}, {}});
  std::string why;
  EXPECT_FALSE(pack_lists_on({g.offsets.data(), 3, {}, {}}, {g.columns.data(), 2, {}, {}}, {nullptr, Where{}},
                             {.memory = 1 << 24, .piece_bytes = 0}, &why));
  EXPECT_NE(why.find("does not ascend"), std::string::npos);
  EXPECT_FALSE(pack_lists_on({g.offsets.data(), 3, {}, {}}, {g.columns.data(), 2, {}, {}}, {nullptr, Where{}},
                             {.memory = 100, .piece_bytes = 0}, &why));
  EXPECT_NE(why.find("no room"), std::string::npos);
  const auto more = of_all_lengths(9, false);
  const auto bytes = 4 * (pack_lists(more.view()).words.size + kPackedPad);  // two blocks
  for (const std::int64_t less : {0, 4})
    EXPECT_EQ(
        pack_lists_on({more.offsets.data(), std::int64_t(more.offsets.size()), {}, {}},
                      {more.columns.data(), std::int64_t(more.columns.size()), {}, {}}, {nullptr, Where{}},
                      {.memory = std::int64_t(1) << 32, .words = bytes - less, .piece_bytes = 0}, &why)
            .has_value(),
        less == 0);
  EXPECT_NE(why.find("exceed"), std::string::npos);
}

/// Searches of lists that do not all fit have room for a sample of four, if it is a small part of them.
TEST(PackedLists, LeaveRoomForASample) {
  EXPECT_EQ(packed_near_room(1000, 100'000, 90'000), 90'000 - 16'000);
  EXPECT_EQ(packed_near_room(1000, 100'000, 100'000), 100'000);  // all fit
  EXPECT_EQ(packed_near_room(1000, 63'000, 50'000), 50'000);     // a sample is more than a quarter
  EXPECT_EQ(packed_near_room(1000, 100'000, 10'000), 10'000);    // there is none for it
  const std::int64_t n = 1'000'000, edges = 100 * n, heads = 4 * n + 8 * (n / 64 + 1), lists = 130 * n;
  GraphRoomRequest request{.vertices = n,
                           .edges = edges,
                           .budget = heads + (18 + 100) * n + kPackedRoom + cut_list_bytes(edges),
                           .placement = EdgePlacement::packed,
                           .packed_bytes = heads + lists,
                           .head_bytes = heads,
                           .sample = 4};
  const auto room = graph_room(request);
  EXPECT_EQ(room.sample, 4);
  EXPECT_EQ(room.list_bytes, (100 - 16) * n);
  EXPECT_EQ(room.far_bytes, lists - room.list_bytes);
  EXPECT_LE(room.used(), request.budget);
  request.budget += 30 * n;
  EXPECT_EQ(graph_room(request).far_bytes, 0);
  request.distance_bytes = 4, request.budget -= 50 * n;  // shortest paths ask no sample
  const auto paths = graph_room(request).list_bytes;
  EXPECT_EQ(paths, packed_path_room(n, edges, request.budget - heads, 4 + 9));
  request.predecessors = false;
  EXPECT_EQ(graph_room(request).list_bytes, paths + 4 * n);
}

/// Widths of a table hold every gap if only some were counted.
TEST(PackedTables, HoldTheWidestGap) {
  GapCounts counts;
  counts.lists[2] = 100, counts.lists[5] = 100;
  counts.at(2, 1) = 500, counts.at(2, 3) = 300, counts.at(5, 5) = 700, counts.at(5, 9) = 20;
  for (const int widest : {0, 12, 31}) {
    const auto code = choose_tables(counts, widest);
    for (int level = 0; level < kGapWidths; ++level)
      for (int bits = 0; bits <= std::max(9, widest); ++bits) {
        const auto table = code.tables[table_for(code, level, bits)];
        ASSERT_GE(stored_width(table, bits), bits) << level << " " << widest;
      }
    EXPECT_EQ(table_width(code.tables[code.table_of[2]], 3),
              code.table_of[2] < code.table_of[5] ? 3 : std::max(9, widest));
  }
}

/// A list by itself, packed by hand: columns that a test cannot have as many rows for.
TEST(PackedForm, HoldsTheLargestColumns) {
  EXPECT_EQ(unzigzag(zigzag(0x7ffffffe)), 0x7ffffffeu);
  EXPECT_EQ(unzigzag(zigzag(-0x7ffffffe)), std::uint32_t(-0x7ffffffe));
  EXPECT_EQ(unzigzag(zigzag(0)), 0u);
  // Vertex 5, of one list: no table bits, columns 2^31 - 2 - 2^30 and 2^31 - 2.
  const Index far = 0x7ffffffe, near = far - (1 << 30);
  const auto first = zigzag(near - 5);
  std::uint32_t words[8] = {};
  int at = 0;
  const auto put = [&](std::uint32_t x, int width) {
    for (int i = 0; i < width; ++i, ++at) words[at / 32] |= (x >> i & 1u) << (at % 32);
  };
  put(31, 5), put(first, 32), put(1, 1), put(1, 1), put((1u << 30) - 1, 31);
  PackedListsView p{.near = words, .far = words, .near_words = 6, .tables = {0x1f1f1f1fu}};
  const auto start = packed_start(p, words, 0, 5);
  EXPECT_EQ(start.first, std::uint32_t(near));
  const auto chunk = packed_chunk(words, start.at, 1);
  EXPECT_EQ(Index(start.first + packed_gap(words, chunk, start.table, 0, CountOnes{}) + 1), far);
  EXPECT_EQ(chunk_end(chunk, start.table, CountOnes{}), at);
}

TEST(PackedForm, FindsEachGapByItself) {
  const auto g = of_all_lengths(4, false);
  const auto packed = pack_lists(g.view());
  const auto p = packed.view();
  for (std::int64_t v = 0; v < g.rows(); ++v) {
    const auto list = packed_list(p, Index(v));
    ASSERT_EQ(list.size(), g.offsets[std::size_t(v) + 1] - g.offsets[std::size_t(v)]);
    ASSERT_EQ(list.size(), packed_degree(p, Index(v)));
    if (list.size() < 2) continue;
    // The last gap of the first chunk: as a lane reads it.
    const auto start = packed_start(p, list.words, piece_place(list, 0), Index(v));
    const auto gaps = int(std::min<Offset>(32, list.size())) - 1;
    const auto chunk = packed_chunk(list.words, start.at, gaps);
    const auto* columns = g.columns.data() + g.offsets[std::size_t(v)];
    EXPECT_EQ(Index(start.first), columns[0]);
    EXPECT_EQ(Index(packed_gap(list.words, chunk, start.table, gaps - 1, CountOnes{}) + p.step),
              columns[gaps] - columns[gaps - 1]);
  }
}

TEST(PackedLists, PrefixesEndBetweenLists) {
  const auto g = of_all_lengths(5, false);
  const auto packed = pack_lists(g.view());
  const auto all = packed.words.bytes();
  EXPECT_EQ(packed.prefix(all), packed.words.size - kPackedPad);
  EXPECT_EQ(packed.prefix(1 << 30), packed.words.size - kPackedPad);
  EXPECT_EQ(packed.prefix(0), 0);
  EXPECT_LT(packed.prefix(all - 1), packed.words.size - kPackedPad);
  for (auto room = all; room > 0; room = room * 2 / 3) {
    const auto words = packed.prefix(room);
    EXPECT_LE(4 * (words + kPackedPad), std::max<std::int64_t>(room, 4 * kPackedPad));
    // Every list is on one side: its first and its last bit.
    auto p = packed.view();
    p.near_words = words;
    std::vector<std::uint32_t> near(packed.words.data, packed.words.data + words + kPackedPad);
    p.near = near.data();
    Offset edges = 0;
    for (std::int64_t v = 0; v < g.rows(); ++v) {
      const auto* columns = g.columns.data() + g.offsets[std::size_t(v)];
      each_packed(p, Index(v), [&](Index u) {
        EXPECT_EQ(u, *columns++);
        ++edges;
        return false;
      });
    }
    EXPECT_EQ(edges, g.offsets.back());
  }
}

TEST(PackedLists, AreEstimated) {
  std::mt19937 random(6);
  std::vector<std::vector<Index>> lists(600'000);  // 9375 groups, of which every ninth one is looked at
  for (Index v = 0; v < 600'000; ++v)
    for (int i = 0; i < 5; ++i)
      lists[std::size_t(v)].push_back(std::min<Index>(599'999, v + Index(random() % 99)));
  const auto g = graph_of(lists);
  const auto exact = pack_lists(g.view()).bytes();
  const auto estimate = [](const CsrView<One>& view) {
    return sample_lists(view, 0, view.rows).bytes(view.rows);
  };
  EXPECT_NEAR(double(estimate(g.view())), double(exact), 0.02 * double(exact));
  EXPECT_GE(estimate(graph_of({}).view()), 0);
}

TEST(PackedLists, AreSearched) {
  // A ring of 1000, and a vertex alone.
  std::vector<std::vector<Index>> lists(1001);
  for (Index v = 0; v < 1000; ++v) lists[std::size_t(v)] = {(v + 999) % 1000, (v + 1) % 1000};
  const auto levels = bfs_packed(pack_lists(graph_of(lists).view()), 10);
  for (Index v = 0; v < 1000; ++v) EXPECT_EQ(levels.data[v], std::min((v + 990) % 1000, (1010 - v) % 1000));
  EXPECT_EQ(levels.data[1000], kUnreached);
  EXPECT_THROW(bfs_packed(pack_lists(graph_of({{0}}).view()), 1), Error);
}

}  // namespace
}  // namespace penstock
