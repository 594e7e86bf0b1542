#pragma once
#include <cstdint>
#include <utility>

#include "penstock/format/csr.hpp"

// Long lists are cut, so that many warps of a GPU share them.
namespace penstock::gpu {

inline constexpr Offset kPiece = 4096;           // entries that one warp walks of a list that is cut
inline constexpr Offset kLongList = 2 * kPiece;  // longer lists are cut

struct ListPiece {
  Index vertex, number;
};
/// Pieces of the list at [begin, end), cut at multiples of kPiece: no line of the edges is read for two of them.
constexpr Index count_pieces(Offset begin, Offset end) {
  return begin < end ? Index((end - 1) / kPiece - begin / kPiece + 1) : 0;
}
constexpr std::pair<Offset, Offset> piece_of(Offset begin, Offset end, Index number) {
  const Offset first = (begin / kPiece + number) * kPiece, last = first + kPiece;
  return {first > begin ? first : begin, last < end ? last : end};
}
/// An upper bound of the pieces of all lists above kLongList: a list of s entries has at most s / kPiece + 2.
constexpr std::int64_t most_pieces(Offset edges) { return edges / kPiece + 2 * (edges / kLongList) + 1; }

}  // namespace penstock::gpu
