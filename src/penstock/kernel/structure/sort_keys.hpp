#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

// Sorts 64-bit keys on a GPU: entries of a matrix as row << bits | column, or vertices by their degree. All pointers are to the
// memory of the stream's GPU, which must be current.
namespace penstock::gpu {

/// Bytes of `scratch` that the functions below need for so many keys.
std::int64_t sort_bytes(std::int64_t keys);

/// Two buffers with room for all keys, which are both overwritten, and scratch memory of sort_bytes().
struct SortBuffers {
  std::uint64_t *keys = nullptr, *other = nullptr;
  void* scratch = nullptr;
  std::int64_t scratch_bytes = 0;
};

/// Sorts the `count` keys of buffers.keys by their bits [first_bit, last_bit), and leaves keys that are equal there in their
/// order. The result is in the buffer that is returned.
std::uint64_t* sort_keys(const SortBuffers& buffers, std::int64_t count, int first_bit, int last_bit,
                         Stream stream);

/// Sorts keys, which differ in the low `bits` only, and removes duplicates. The result is in the buffer that is returned, and
/// *unique, on the GPU, is its length.
const std::uint64_t* sort_unique(const SortBuffers& buffers, std::int64_t count, int bits,
                                 std::int64_t* unique, Stream stream);

/// The same for pairs of a key that is not negative and a value: two buffers of each, and scratch memory of
/// pair_sort_bytes().
struct PairBuffers {
  std::int32_t *keys = nullptr, *other_keys = nullptr;
  std::uint64_t *values = nullptr, *other_values = nullptr;
  void* scratch = nullptr;
  std::int64_t scratch_bytes = 0;
};
std::int64_t pair_sort_bytes(std::int64_t pairs);
struct SortedPairs {
  std::int32_t* keys;
  std::uint64_t* values;
};
/// Sorts pairs by the low `bits` of their keys; pairs of one key stay in their order. Says in which buffers they are.
SortedPairs sort_pairs(const PairBuffers& buffers, std::int64_t count, int bits, Stream stream);

}  // namespace penstock::gpu
