// Sums of sparse tiles of a device, with the CPU as the device: against those of the CPU, whole and through pieces.
#include <gtest/gtest.h>

#include <vector>

#include "penstock/dist/tile/tile_gpu.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// A tile's blob and what the directory says of it.
template <class V>
struct Tile {
  explicit Tile(const Csr<V>& m)
      : at{0, m.rows, m.cols, m.nnz()},
        blob(static_cast<std::size_t>(blob_bytes(true, tile_value<V>(), m.rows, m.cols, m.nnz()))) {
    write_csr(m.view(), blob.data());
  }
  TileView view() const { return {blob.data(), at}; }
  TileAt at;
  std::vector<std::byte> blob;
};

template <class P>
std::vector<std::byte> taken(TileSum& sum, const TileAt& tile) {
  const auto bytes = blob_bytes(true, tile_value<P>(), tile.rows, tile.cols, sum.finish());
  std::vector<std::byte> blob(static_cast<std::size_t>(bytes));
  sum.take(blob.data());
  return blob;
}

template <class VA, class VB, class P>
void same_as_on_the_cpu(const char* semiring) {
  const TileAt c{0, 70, 90, 0};
  const auto ours = local_spgemm_gpu(semiring, tile_value<VA>(), tile_value<VB>(), Where{});
  const auto theirs = local_spgemm(semiring, tile_value<VA>(), tile_value<VB>());
  ASSERT_TRUE(ours && theirs);
  ASSERT_EQ(ours->result(), theirs->result());
  const auto sum = ours->start(c, nullptr), expected = theirs->start(c, nullptr),
             owner = ours->start(c, nullptr);
  for (unsigned k = 0; k < 5; ++k) {
    const auto shape = test::kShapes[k];
    const Tile<VA> a(test::matrix_of<VA>(60, test::indptr_of(shape, 70, k), k));
    const Tile<VB> b(test::matrix_of<VB>(90, test::indptr_of(test::Rows::powers, 60, k + 9), k + 5));
    for (auto* s : {sum.get(), expected.get()}) s->multiply_add(a.view(), b.view());
  }
  int pieces = 0, last = 0;
  sum->pieces(1024, [&](std::int64_t bytes, const TileSum::Write& write, bool is_last) {
    EXPECT_LE(bytes, 1024);
    std::vector<std::byte> piece(static_cast<std::size_t>(bytes));
    write(piece.data());
    owner->add_piece(piece.data(), bytes);
    ++pieces, last += is_last;
  });
  EXPECT_GT(pieces, 5);
  EXPECT_EQ(last, 1);
  const auto want = taken<P>(*expected, c);
  EXPECT_EQ(taken<P>(*sum, c), want) << semiring;
  EXPECT_EQ(taken<P>(*owner, c), want) << semiring << ": through pieces";
}

TEST(TileSpgemmGpu, SameAsOnTheCpu) {
  same_as_on_the_cpu<double, double, double>("plus_times");
  same_as_on_the_cpu<One, float, float>("plus_times");
  same_as_on_the_cpu<double, One, double>("plus_times");
  same_as_on_the_cpu<One, One, One>("or_and");
  EXPECT_EQ(local_spgemm_gpu("min_plus", TileValue::float64, TileValue::float64, Where{}), nullptr);
}

TEST(TileSpgemmGpu, SumsOfNothingAndOfOnePiece) {
  const TileAt c{0, 12, 9, 0};
  const auto local = local_spgemm_gpu("plus_times", TileValue::float64, TileValue::float64, Where{});
  const auto none = local->start(c, nullptr), some = local->start(c, nullptr),
             owner = local->start(c, nullptr);
  const Tile<double> a(test::matrix_of<double>(5, {0, 0, 0, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4}, 1));
  const Tile<double> b(test::matrix_of<double>(9, {0, 2, 4, 6, 8, 9}, 2));
  some->multiply_add(a.view(), b.view());
  const auto send = [&](TileSum& from) {
    int pieces = 0;
    from.pieces(1 << 20, [&](std::int64_t bytes, const TileSum::Write& write, bool last) {
      std::vector<std::byte> piece(static_cast<std::size_t>(bytes));
      write(piece.data());
      owner->add_piece(piece.data(), bytes);
      pieces += last;
    });
    EXPECT_EQ(pieces, 1);
  };
  send(*none), send(*some), send(*none);
  EXPECT_EQ(none->finish(), 0);
  EXPECT_GT(some->finish(), 0);
  EXPECT_EQ(taken<double>(*owner, c), taken<double>(*some, c));
  EXPECT_EQ(taken<double>(*none, c), std::vector<std::byte>(13 * 8));
}

}  // namespace
}  // namespace penstock
