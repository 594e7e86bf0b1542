// How long lists are cut for the warps of a GPU.
#include <gtest/gtest.h>

#include "penstock/graph/gpu/list_pieces.hpp"

namespace penstock::gpu {
namespace {

TEST(ListPieces, CoverAListOnceAndBreakAtMultiples) {
  for (const Offset begin : {Offset(0), Offset(1), kPiece - 1, kPiece, Offset(5'000'000'001)})
    for (const Offset size : {Offset(0), Offset(1), kPiece, kPiece + 1, kLongList + 1, 10 * kPiece + 77}) {
      const auto end = begin + size;
      auto at = begin;
      for (Index i = 0; i < count_pieces(begin, end); ++i) {
        const auto [first, last] = piece_of(begin, end, i);
        EXPECT_EQ(first, at);
        EXPECT_LT(first, last);
        EXPECT_LE(last - first, kPiece);
        if (i > 0) {
          EXPECT_EQ(first % kPiece, 0);
        }
        at = last;
      }
      EXPECT_EQ(at, end) << begin << " and " << size;
    }
}

TEST(ListPieces, HaveRoomForAllLongLists) {
  // The worst case: lists just long enough to be cut, each with one entry before a multiple.
  for (const Offset lists : {0, 1, 2, 7, 1000, 999'999}) {
    const Offset size = kLongList + 1;
    std::int64_t pieces = 0;
    for (Offset i = 0; i < lists; ++i) {
      const auto begin = i * size;
      pieces += count_pieces(begin, begin + size);
    }
    EXPECT_LE(pieces, most_pieces(lists * size)) << lists;
  }
  EXPECT_LE(count_pieces(kPiece - 1, kPiece + kLongList), most_pieces(kLongList + 1));
}

}  // namespace
}  // namespace penstock::gpu
