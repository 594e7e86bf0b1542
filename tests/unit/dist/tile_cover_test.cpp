// Covers of tiles: every entry is covered, and no cover is smaller than the largest matching.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "penstock/dist/tile/tile_cover.hpp"

namespace penstock {
namespace {

struct CoverTile {
  std::vector<Offset> ends{0};
  std::vector<Index> indices;
  std::int64_t cols = 0;
  CsrView<One> view() const {
    CsrView<One> a{
        .rows = std::ssize(ends) - 1, .cols = cols, .indptr = ends.data(), .indices = indices.data()};
    a.count = std::ssize(indices);
    return a;
  }
};

CoverTile random_tile(std::int64_t rows, std::int64_t cols, double share, unsigned seed) {
  std::mt19937 random(seed);
  std::bernoulli_distribution there(share);
  CoverTile out;
  out.cols = cols;
  for (std::int64_t r = 0; r < rows; ++r) {
    const bool hub = r % 7 == 0;
    for (std::int64_t c = 0; c < cols; ++c)
      if (there(random) || (hub && c % 3 == 0)) out.indices.push_back(static_cast<Index>(c));
    out.ends.push_back(std::ssize(out.indices));
  }
  return out;
}

/// The size of a largest matching, by one augmenting path after another.
int largest_matching(const CsrView<One>& a) {
  std::vector<int> mate(static_cast<std::size_t>(a.cols), -1);
  std::set<Index> seen;
  const auto augment = [&](auto& self, std::int64_t r) -> bool {
    for (auto e = a.indptr[r]; e < a.indptr[r + 1]; ++e) {
      const auto c = a.indices[e];
      if (!seen.insert(c).second) continue;
      auto& had = mate[static_cast<std::size_t>(c)];
      if (had >= 0 && !self(self, had)) continue;
      had = static_cast<int>(r);
      return true;
    }
    return false;
  };
  int size = 0;
  for (std::int64_t r = 0; r < a.rows; ++r) seen.clear(), size += augment(augment, r);
  return size;
}

TEST(TileCover, IsOneAndTheSmallest) {
  unsigned seed = 0;
  for (const auto& [rows, cols] :
       std::vector<std::pair<int, int>>{{1, 1}, {40, 40}, {5, 90}, {90, 5}, {64, 63}})
    for (const double share : {0.0, 0.01, 0.05, 0.3, 1.0}) {
      const auto tile = random_tile(rows, cols, share, ++seed);
      const auto a = tile.view();
      const auto cover = cover_of(a);
      std::set<Index> columns;
      std::int64_t in_rows = 0;
      for (std::int64_t r = 0; r < a.rows; ++r) {
        const bool row = cover[static_cast<std::size_t>(r)] != 0;
        in_rows += row;
        EXPECT_FALSE(row && a.indptr[r] == a.indptr[r + 1]);
        for (auto e = a.indptr[r]; e < a.indptr[r + 1] && !row; ++e) columns.insert(a.indices[e]);
      }
      EXPECT_EQ(in_rows + std::ssize(columns), largest_matching(a)) << rows << " x " << cols << ", " << share;
    }
}

}  // namespace
}  // namespace penstock
