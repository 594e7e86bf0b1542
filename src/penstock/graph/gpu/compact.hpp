#pragma once
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// Sets of vertices on a GPU: bitmaps, and lists that are made of them in the order of the vertices. Neighbour lists that are
// read from host memory in ascending order come at the speed of the link; in any other order they come at a quarter of it,
// because of address translation.
namespace penstock::gpu {

using Bits = std::uint32_t;

/// Words of a bitmap that one thread block takes: one for each thread. With eight times as many, a level of 17 M vertices kept
/// a quarter of an H100's warps busy.
inline constexpr std::int64_t kBlockWords = 256;

constexpr std::int64_t bit_words(std::int64_t vertices) { return (vertices + 31) / 32; }
constexpr std::int64_t compact_blocks(std::int64_t words) { return (words + kBlockWords - 1) / kBlockWords; }

/// Writes the numbers of the bits that are set in `bits` to list[0, *count), in ascending order. `starts` is scratch memory
/// for compact_blocks(words) numbers. Bits beyond the last vertex must be clear.
void compact(const Bits* bits, std::int64_t words, Index* list, Index* starts, Index* count, Stream stream);

/// Replaces each number by the sum of all numbers before it. *total = the sum of all, if `total` is not null.
void scan(Index* numbers, std::int64_t n, Index* total, Stream stream);
void scan(Offset* numbers, std::int64_t n, Offset* total, Stream stream);

}  // namespace penstock::gpu
