#include "penstock/dist/tile/tile_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace penstock {
namespace {

/// A dense piece with `value` for every entry of rows [0, 8) of two columns, as another rank sends it.
std::vector<std::byte> piece_of(double value) {
  std::vector<std::byte> piece(8 + 16 * sizeof(double));
  const std::vector<double> entries(16, value);
  std::memcpy(piece.data() + 8, entries.data(), 16 * sizeof(double));
  return piece;
}

TEST(TileSum, PiecesWaitOnlyWhilePartsOfAProductAreUnderWay) {
  // A is diagonal with 2, B has ones: each row of a product is 2.
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values(8, 2.0);
  for (Index r = 0; r < 8; ++r) indptr.push_back(r + 1), indices.push_back(r);
  CsrView<double> a;
  a.rows = a.cols = 8, a.indptr = indptr.data(), a.indices = indices.data(), a.values = values.data();
  const auto f64 = TileValue::float64;
  std::vector<double> blob(static_cast<std::size_t>(blob_bytes(true, f64, 8, 8, 8)) / 8 + 1), b(16, 1.0),
      c(16, -9.0);
  write_csr(a, reinterpret_cast<std::byte*>(blob.data()));
  TileView left{reinterpret_cast<std::byte*>(blob.data()), {.rows = 8, .cols = 8, .nnz = 8}};
  const TileView right{reinterpret_cast<std::byte*>(b.data()), {.rows = 8, .cols = 2, .nnz = 16}};

  const auto local = local_spmm("plus_times", f64, f64);
  const auto sum = local->start({.rows = 8, .cols = 2, .nnz = 16}, reinterpret_cast<std::byte*>(c.data()));
  left.product = 3, left.tile.in_rows = {0, 4};
  sum->multiply_add(left, right);
  const auto piece = piece_of(100);
  sum->add_piece(piece.data(), std::ssize(piece));
  EXPECT_EQ(std::vector<double>(c.begin(), c.begin() + 8), std::vector<double>(8, 2.0));
  EXPECT_EQ(c[8], -9) << "rows that a part may still be written to";
  sum->end_parts();
  EXPECT_EQ(std::vector<double>(c.begin(), c.begin() + 8), std::vector<double>(8, 102.0))
      << "the piece waits on";
  EXPECT_EQ(std::vector<double>(c.begin() + 8, c.end()), std::vector<double>(8, 100.0));
  sum->add_piece(piece.data(), std::ssize(piece));
  EXPECT_EQ(c[0], 202) << "no product is under way, and the piece waits";
  left.product = -1, left.tile.in_rows = {};
  sum->multiply_add(left, right);
  EXPECT_EQ(sum->finish(), 16);
  EXPECT_EQ(c[0], 204);
  EXPECT_EQ(c[15], 202);
}

}  // namespace
}  // namespace penstock
