#pragma once
#include <algorithm>

#include "penstock/format/bits.hpp"
#include "penstock/format/packed_view.hpp"

namespace penstock {

/// One tile of a packed block as the CPU sees it: its columns, and where rows begin in it.
struct DecodedTile {
  int count = 0;   // nonzeros
  int starts = 0;  // rows that begin in the tile
  std::uint32_t rank = 0;
  bool open = false;
  std::uint16_t start[kTileNnz];
  Index columns[kTileNnz];
};

/// The length of the tile's gaps in half words.
inline int gap_half_words(const std::uint32_t* words) {
  int sum = 0;
  for (int g = 0; g < kTileGroups; ++g) sum += static_cast<int>(read_bits(words, g * kWidthBits, kWidthBits));
  return sum;
}

inline int nonzeros_of(const PackedHeader& h, std::int64_t tile) {
  return static_cast<int>(std::min<std::int64_t>(kTileNnz, h.nnz - tile * kTileNnz));
}

inline void decode_starts(const std::uint32_t* words, int starts, std::uint16_t* out) {
  if (starts <= kMostListed) {
    for (int i = 0; i < starts; ++i)
      out[i] = static_cast<std::uint16_t>(read_bits(words, i * kStartBits, kStartBits));
    return;
  }
  for (int w = 0; w < kTileNnz / 32; ++w)
    for (auto left = words[w]; left != 0; left &= left - 1)
      *out++ = static_cast<std::uint16_t>(w * 32 + std::countr_zero(left));
}

/// Decodes a tile of a block that `validate` has checked.
inline void decode_tile(const PackedView& block, std::int64_t number, DecodedTile& out) {
  const auto& h = block.header();
  const auto& tile = block.tiles()[number];
  out.count = nonzeros_of(h, number);
  out.starts = tile.starts(), out.rank = tile.rank, out.open = tile.open();
  const auto* words = block.words() + tile.at;
  decode_starts(words + kWidthWords, out.starts, out.start);

  std::uint32_t steps[kTileNnz];  // gap + 1
  const auto* gaps = reinterpret_cast<const unsigned char*>(words + kWidthWords + start_words(out.starts));
  std::int64_t half_words = 0;
  for (int g = 0; g * kGroupNnz < out.count; ++g) {
    const int width = static_cast<int>(read_bits(words, g * kWidthBits, kWidthBits));
    const auto* from = gaps + half_words * 2;
    for (int i = 0; i < kGroupNnz; ++i) {
      std::uint64_t bits;  // little-endian; at most 7 + 31 bits of it are used
      std::memcpy(&bits, from + i * width / 8, sizeof(bits));
      steps[g * kGroupNnz + i] = (static_cast<std::uint32_t>(bits >> (i * width % 8)) & low_bits(width)) + 1;
    }
    half_words += width;
  }
  auto sum = tile.carry;
  for (int i = 0, next = 0; i < out.count;) {
    if (next < out.starts && out.start[next] == i) sum = 0, ++next;
    const int end = next < out.starts ? out.start[next] : out.count;
    for (; i < end; ++i) out.columns[i] = static_cast<Index>(((sum += steps[i]) - 1) & h.column_mask);
  }
}

}  // namespace penstock
