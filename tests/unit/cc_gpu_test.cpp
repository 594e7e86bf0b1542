// How lists are cut for connected components on a GPU.
#include <gtest/gtest.h>

#include "penstock/graph/cc_gpu_state.hpp"

namespace penstock::gpu {
namespace {

TEST(ComponentPieces, CoverAListOnceAndBreakAtMultiples) {
  for (const Offset begin : {Offset(0), Offset(1), kCcPiece - 1, kCcPiece, Offset(5'000'000'001)})
    for (const Offset size : {Offset(0), Offset(1), kCcPiece, kCcPiece + 1, kCcLong + 1, 10 * kCcPiece + 77}) {
      const auto end = begin + size;
      auto at = begin;
      for (Index i = 0; i < cc_pieces(begin, end); ++i) {
        const auto [first, last] = cc_piece(begin, end, i);
        EXPECT_EQ(first, at);
        EXPECT_LT(first, last);
        EXPECT_LE(last - first, kCcPiece);
        if (i > 0) {
          EXPECT_EQ(first % kCcPiece, 0);
        }
        at = last;
      }
      EXPECT_EQ(at, end) << begin << " and " << size;
    }
}

TEST(ComponentPieces, HaveRoomForAllLongLists) {
  // The worst case: lists just long enough to be cut, each with one entry before a multiple.
  for (const Offset lists : {0, 1, 2, 7, 1000, 999'999}) {
    const Offset size = kCcLong + 1;
    std::int64_t pieces = 0;
    for (Offset i = 0; i < lists; ++i) {
      const auto begin = i * size;
      pieces += cc_pieces(begin, begin + size);
    }
    EXPECT_LE(pieces, most_cc_pieces(lists * size)) << lists;
  }
  EXPECT_LE(cc_pieces(kCcPiece - 1, kCcPiece + kCcLong), most_cc_pieces(kCcLong + 1));
}

}  // namespace
}  // namespace penstock::gpu
