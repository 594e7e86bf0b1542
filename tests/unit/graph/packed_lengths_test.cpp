// Packed lists with lengths against the arrays that they were made of.
#include "penstock/graph/sssp/packed_lengths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/graph_room.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/sssp/packed_paths.hpp"
#include "penstock/graph/sssp/sssp.hpp"

namespace penstock {
namespace {

struct Weighted {
  std::vector<Offset> offsets{0};
  std::vector<Index> columns;
  std::vector<std::uint32_t> lengths;

  std::int64_t rows() const { return std::int64_t(offsets.size()) - 1; }
  CsrView<One> view() const {
    return {.rows = rows(),
            .cols = rows(),
            .indptr = offsets.data(),
            .indices = columns.data(),
            .count = Offset(columns.size())};
  }
  std::vector<std::pair<Index, std::uint32_t>> row(std::int64_t v) const {
    std::vector<std::pair<Index, std::uint32_t>> out;
    for (auto k = offsets[std::size_t(v)]; k < offsets[std::size_t(v) + 1]; ++k)
      out.emplace_back(columns[std::size_t(k)], lengths[std::size_t(k)]);
    return out;
  }
};

/// Lists of all sizes about the ends of chunks, pieces and whole lists. Lengths are at random, up to `largest`, with both ends.
Weighted of_all_sizes(std::uint32_t seed, bool sorted, bool repeats, std::uint32_t least,
                      std::uint32_t largest) {
  std::mt19937 random(seed);
  Weighted g;
  const std::vector<int> sizes{0,  1,  2,   3,   7,    8,    9,    31,   32,   33,   63,   64,
                               65, 96, 127, 512, 1021, 1022, 1023, 1024, 1025, 2048, 2049, 9'000};
  const Index n = 20'000;
  std::vector<Index> row;
  for (Index v = 0; v < n; ++v) {
    row.clear();
    if (v % 7 == 0) {
      const auto size = sizes[std::size_t(v / 7) % sizes.size()];
      const auto reach = v % 2 ? std::uint32_t(n) : std::uint32_t(2 * size + 1);
      if (v / 7 < 200 || size < 130)
        for (int i = 0; i < size; ++i) row.push_back(Index(random() % std::min(reach, std::uint32_t(n))));
      if (!repeats || sorted) std::sort(row.begin(), row.end());
      if (!repeats) row.erase(std::unique(row.begin(), row.end()), row.end());
      if (!sorted) std::shuffle(row.begin(), row.end(), random);
    }
    for (const auto u : row) {
      g.columns.push_back(u);
      g.lengths.push_back(least + std::uint32_t(random() % (std::uint64_t(largest) - least + 1)));
    }
    g.offsets.push_back(Offset(g.columns.size()));
  }
  g.lengths.front() = least, g.lengths.back() = largest;
  return g;
}

template <class N>
void expect_lengths(const Weighted& g, std::uint32_t least, std::uint32_t largest) {
  const std::vector<N> lengths(g.lengths.begin(), g.lengths.end());
  const auto plain = pack_lists(g.view());
  const auto packed = with_lengths(plain, g.view(), lengths.data(), least, largest);
  EXPECT_TRUE(packed.lengths);
  EXPECT_EQ(packed.length_bits, length_bits(least, largest));
  // What the lengths take, and less than a word for each group and piece.
  const auto most = bytes_with_lengths(plain.bytes(), plain.edges, packed.length_bits);
  EXPECT_GE(packed.bytes(), most - 4);
  EXPECT_LE(packed.bytes(),
            most + 4 * (plain.bases.size + plain.edges / kPackedPiece + plain.long_ends.size));
  const auto p = packed.view();
  const auto rows = graph::rows_of(packed);
  for (std::int64_t v = 0; v < g.rows(); ++v) {
    std::vector<std::pair<Index, std::uint32_t>> found;
    each_packed_edge(p, Index(v), [&](Index u, std::uint32_t length) {
      found.emplace_back(u, length);
      return false;
    });
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), [](auto a, auto b) { return a.first < b.first; }));
    auto expected = g.row(v);
    std::vector<Index> ends;
    graph::any_end(rows, v, [&](Index u) { return ends.push_back(u), false; });
    ASSERT_EQ(ends.size(), found.size());
    for (std::size_t i = 0; i < ends.size(); ++i) ASSERT_EQ(ends[i], found[i].first);
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected) << "vertex " << v;
  }
}

TEST(PackedLengths, AreThoseOfTheRows) {
  expect_lengths<std::uint8_t>(of_all_sizes(1, true, false, 8, 72), 8, 72);
  expect_lengths<std::uint8_t>(of_all_sizes(2, false, false, 0, 255), 0, 255);
  expect_lengths<std::uint16_t>(of_all_sizes(3, true, true, 0, 65'535), 0, 65'535);
  expect_lengths<std::uint16_t>(of_all_sizes(4, false, true, 5, 6), 5, 6);
  expect_lengths<std::uint32_t>(of_all_sizes(5, true, false, 2'147'000'000, 2'147'065'535), 2'147'000'000,
                                2'147'065'535);
}

TEST(PackedLengths, OfOneValueShareTheArrays) {
  const auto g = of_all_sizes(6, true, false, 9, 9);
  const auto plain = pack_lists(g.view());
  const auto packed = with_lengths(plain, g.view(), g.lengths.data(), 9, 9);
  EXPECT_EQ(packed.words.data, plain.words.data);
  expect_lengths<std::uint32_t>(g, 9, 9);
}

TEST(PackedLengths, AreTheSameForAnyNumberOfThreads) {
  const auto g = of_all_sizes(7, false, true, 8, 72);
  const auto plain = pack_lists(g.view());
  const auto one = [&] {
    const ThreadsHere alone(1);
    return with_lengths(plain, g.view(), g.lengths.data(), 8, 72);
  }();
  const ThreadsHere several(5);
  const auto five = with_lengths(plain, g.view(), g.lengths.data(), 8, 72);
  const auto same = [](const auto& a, const auto& b) {
    return a.size == b.size && std::equal(a.data, a.data + a.size, b.data);
  };
  EXPECT_TRUE(same(one.words, five.words) && same(one.heads, five.heads) && same(one.bases, five.bases));
  EXPECT_TRUE(same(one.long_ends, five.long_ends));
}

TEST(PackedLengths, PrefixesEndBetweenLists) {
  const auto g = of_all_sizes(8, true, false, 8, 72);
  const auto packed = with_lengths(pack_lists(g.view()), g.view(), g.lengths.data(), 8, 72);
  int sizes_far = 0, sizes_near = 0;  // of lists in pieces
  for (auto room = packed.words.bytes(); room > 0; room = room / 2) {
    auto p = packed.view();
    p.near_words = packed.prefix(room);
    std::vector<std::uint32_t> near(packed.words.data, packed.words.data + p.near_words + kPackedPad);
    p.near = near.data();
    std::size_t k = 0;
    for (Index v = 0; v < g.rows(); ++v) {
      const auto list = packed_list(p, v);
      if (list.size() > 0 && !list.in_pieces) {
        EXPECT_EQ(packed_far(p, v), !list.near);
      }
      if (list.in_pieces && !packed_far(p, v)) {
        EXPECT_TRUE(list.near);
      }
      const bool beside = list.in_pieces && packed_place(p, v) / 32 >= p.near_words && !p.all_near;
      EXPECT_EQ(packed_degree_near(p, v), beside ? Offset(kInPieces) : packed_degree(p, v));
      sizes_far += beside, sizes_near += list.in_pieces && !beside;
      each_packed_edge(p, v, [&](Index u, std::uint32_t length) {
        EXPECT_EQ(u, g.columns[k]);
        EXPECT_EQ(length, g.lengths[k++]);
        return false;
      });
    }
    EXPECT_EQ(k, g.columns.size());
  }
  EXPECT_GT(sizes_far, 0);
  EXPECT_GT(sizes_near, 0);
}

TEST(PackedLengths, AreRefused) {
  const auto g = of_all_sizes(9, true, false, 0, 65'536);
  const auto plain = pack_lists(g.view());
  EXPECT_THROW(with_lengths(plain, g.view(), g.lengths.data(), 0, 65'536), Error);  // 17 bits
  EXPECT_THROW(with_lengths(plain, g.view(), g.lengths.data(), 2, 1), Error);
  const auto other = of_all_sizes(10, true, false, 0, 1);
  EXPECT_THROW(with_lengths(pack_lists(other.view()), g.view(), g.lengths.data(), 0, 1), Error);
  const auto once = with_lengths(plain, g.view(), g.lengths.data(), 0, 60'000);
  EXPECT_THROW(with_lengths(once, g.view(), g.lengths.data(), 0, 60'000), Error);
}

TEST(PackedPaths, LeaveRoomForTheirArrays) {
  GraphRoomRequest asked{.vertices = 1'000'000,
                         .edges = 10'000'000,
                         .budget = 60'000'000,
                         .placement = EdgePlacement::packed,
                         .packed_bytes = 40'000'000,
                         .head_bytes = 4'125'008,
                         .distance_bytes = 4};
  const auto four = graph_room(asked);
  EXPECT_EQ(four.vertex_bytes, 13'000'000);
  EXPECT_EQ(four.used() + kPathRoom + 8 * most_packed_pieces(asked.edges), asked.budget);
  EXPECT_EQ(four.list_bytes + four.far_bytes, 40'000'000 - 4'125'008);
  asked.distance_bytes = 8;
  const auto eight = graph_room(asked);
  EXPECT_EQ(eight.list_bytes, four.list_bytes - 4'000'000);
  asked.budget = 1 << 30;
  EXPECT_EQ(graph_room(asked).far_bytes, 0);
}

TEST(PackedPaths, PiecesAreBounded) {
  for (const Offset size : {1023, 1024, 1025, 2048, 2049, 3073, 1'000'000}) {
    const auto pieces = (size + kPackedPiece - 1) / kPackedPiece;
    for (const Offset lists : {1, 2, 1000}) EXPECT_LE(lists * pieces, most_packed_pieces(lists * size));
  }
}

TEST(PackedPaths, ReadTheWeightsOfAMatrix) {
  const auto g = of_all_sizes(11, false, true, 3, 77);
  Csr<double> a{g.rows(), g.rows(), allocate<Offset>(g.rows() + 1), allocate<Index>(std::ssize(g.columns)),
                allocate<double>(std::ssize(g.columns))};
  std::copy(g.offsets.begin(), g.offsets.end(), const_cast<Offset*>(a.indptr.data));
  std::copy(g.columns.begin(), g.columns.end(), const_cast<Index*>(a.indices.data));
  std::copy(g.lengths.begin(), g.lengths.end(), const_cast<double*>(a.values.data));
  const auto weights = path_weights(a);
  ASSERT_EQ(packed_weight_bits(weights), 7);
  const auto packed = pack_weights(pack_lists(g.view()), g.view(), weights);
  const auto view = packed.view();
  // Dijkstra's algorithm over packed lists, against the search of the matrix.
  const Index source = 161;  // of 9000 edges
  std::vector<double> far(std::size_t(g.rows()), std::numeric_limits<double>::infinity());
  using Entry = std::pair<double, Index>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  far[std::size_t(source)] = 0;
  next.emplace(0, source);
  while (!next.empty()) {
    const auto [d, v] = next.top();
    next.pop();
    if (d > far[std::size_t(v)]) continue;
    each_packed_edge(view, v, [&](Index u, std::uint32_t length) {
      if (d + length < far[std::size_t(u)]) next.emplace(far[std::size_t(u)] = d + length, u);
      return false;
    });
  }
  const auto expected = sssp(a, weights, std::vector<Index>{source});
  std::int64_t reached = 0;
  for (std::int64_t v = 0; v < g.rows(); ++v) {
    ASSERT_EQ(far[std::size_t(v)], expected.distances.data[v]) << "vertex " << v;
    reached += far[std::size_t(v)] < 1e9;
  }
  EXPECT_GT(reached, 1000);
}

TEST(PackedPaths, RefuseWeightsThatAreNotWhole) {
  PathWeights fractions{.smallest = 0.5, .largest = 1};
  EXPECT_EQ(packed_weight_bits(fractions), std::nullopt);
  EXPECT_THROW(require_packed_weights(fractions), Error);
  PathWeights wide{.smallest = 1, .largest = 65'537, .whole = Array<std::uint32_t>{}};
  EXPECT_THROW(require_packed_weights(wide), Error);
  wide.smallest = 2;
  EXPECT_EQ(packed_weight_bits(wide), 16);
}

}  // namespace
}  // namespace penstock
