#pragma once
#include <cstddef>
#include <cstdint>

#include "penstock/format/csr.hpp"

// The bytes of a packed block, as kernels on any device read them. All numbers are little-endian, all offsets count
// from the block's first byte, so that one copy moves a block anywhere.
//
//   header | tiles | chunks of rows | which rows have entries | words | dictionary | values
//
// The block's nonzeros, in the order of the matrix, are cut into tiles of 1024, which are decoded independently of each
// other. A tile is cut into groups of 16. Of each nonzero its gap is stored, column - column before in the row - 1
// (modulo column_mask + 1, so rows need not be sorted), or the column where a row begins; those of a group in as many
// bits as its widest needs. A tile's words are: the 64 widths, 5 bits each; where rows begin in the tile, 10 bits a row,
// or one bit a nonzero where that is shorter; the gaps.
namespace penstock {

inline constexpr int kTileNnz = 1024;
inline constexpr int kGroupNnz = 16;
inline constexpr int kTileGroups = kTileNnz / kGroupNnz;
inline constexpr int kWidthBits = 5;
inline constexpr int kWidthWords = kTileGroups * kWidthBits / 32;
inline constexpr int kStartBits = 10;
// With more row starts than this in a tile, one bit a nonzero is shorter than a list.
inline constexpr int kMostListed = kTileNnz / kStartBits;
inline constexpr int kChunkRows = 1024;
inline constexpr std::int64_t kPackedAlign = 128;

/// How the values are stored: the shortest way that gives back every bit. The numbers are those of files.
enum class ValueKind : std::uint8_t {
  none,
  constant,
  dictionary4,
  dictionary8,
  int8,
  int16,
  float32,
  raw,
  bfloat16,
  float16
};
inline constexpr int kValueKinds = 10;

struct alignas(16) PackedTile {
  std::uint32_t at;    // the tile's first word
  std::uint32_t rank;  // rows with entries that begin before the tile
  // 1 + the column of the entry before the tile's first one. It is used where a row goes on into the tile.
  std::uint32_t carry;
  std::uint32_t info;  // rows that begin here; kOpen is set where the last one goes on in the next tile
  static constexpr std::uint32_t kOpen = 1u << 31;

  constexpr int starts() const { return static_cast<int>(info & ~kOpen); }
  constexpr bool open() const { return (info & kOpen) != 0; }
  constexpr bool passed() const { return info == kOpen; }  // one row enters, fills the tile and leaves
};
static_assert(sizeof(PackedTile) == 16);

/// How many words it takes to say where `starts` rows begin.
constexpr int start_words(int starts) {
  return starts <= kMostListed ? (starts * kStartBits + 31) / 32 : kTileNnz / 32;
}

/// For each 1024 rows: how many rows with entries come before them, and the tile in which the first of their own entries
/// lies. A last one behind them counts all rows and all tiles.
struct PackedChunk {
  std::uint32_t rank, tile;
};

struct PackedHeader {
  std::uint32_t magic, version;
  std::int64_t bytes, first_row, first_nnz;
  std::uint32_t rows, nnz, tiles, ranks;  // ranks: rows that have entries
  std::uint32_t column_mask;
  ValueKind kind;
  std::uint8_t type, piece, unused_byte;  // type: the type of the values, by its number in AnyPacked
  std::uint32_t tiles_at, chunks_at;
  std::uint32_t present_at;  // one bit a row; 0 where every row has entries
  std::uint32_t words_at, words;
  std::uint32_t dictionary_at, values_at;  // 0 where there are none
  std::uint32_t unused[11];

  static constexpr std::uint32_t kMagic = 0x4b435350, kVersion = 1;  // "PSCK"
};
static_assert(sizeof(PackedHeader) == kPackedAlign);

struct PackedView {
  const std::byte* base;

  const PackedHeader& header() const { return *reinterpret_cast<const PackedHeader*>(base); }
  const PackedTile* tiles() const { return at<PackedTile>(header().tiles_at); }
  const PackedChunk* chunks() const { return at<PackedChunk>(header().chunks_at); }
  const std::uint32_t* present() const { return at<std::uint32_t>(header().present_at); }
  const std::uint32_t* words() const { return at<std::uint32_t>(header().words_at); }
  template <class V>
  const V* dictionary() const {
    return at<V>(header().dictionary_at);
  }
  template <class U>
  const U* values() const {
    return at<U>(header().values_at);
  }
  template <class U>
  const U* at(std::uint32_t offset) const {
    return reinterpret_cast<const U*>(base + offset);
  }
};

}  // namespace penstock
