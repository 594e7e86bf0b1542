#pragma once
#include <bit>
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/io/random.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"

// Says of most pairs of vertices that there is no edge between them, by one read of device memory, where a search of a row takes
// a chain of reads, over the link if edges are in pinned memory. What it cannot rule out is searched. (A Bloom filter in blocks:
// Putze, Sanders, Singler 2007.)
namespace penstock::graph {

struct EdgeFilter {
  static constexpr int kBitsAnEdge =
      8;  // at least; two of them are set, so that a twentieth of other pairs is not ruled out
  const std::uint32_t* words = nullptr;  // null: nothing is ruled out
  std::uint64_t mask = 0;                // their number, a power of two, less one

  static constexpr std::int64_t words_for(std::int64_t edges) {
    constexpr int kWordBits = 32;
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(edges * kBitsAnEdge / kWordBits + 1)));
  }
  static constexpr std::uint64_t hash(Index from, Index to) {
    return mix64(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to));
  }
  static constexpr std::uint32_t bits(std::uint64_t hash) {
    return std::uint32_t{1} << (hash >> 59) | std::uint32_t{1} << (hash >> 54 & 31);
  }
  constexpr bool may_hold(Index from, Index to) const {
    if (!words) return true;
    const auto h = hash(from, to);
    return (words[h & mask] & bits(h)) == bits(h);
  }
};

/// Puts entry k into the filter's words.
template <class Atomics>
struct FillFilter {
  const Offset* offsets;
  std::int64_t rows;
  const Index* edges;
  std::uint32_t* words;
  std::uint64_t mask;
  constexpr void operator()(std::int64_t k) const {
    const auto from = static_cast<Index>(row_of_entry(offsets, rows, k));
    const auto h = EdgeFilter::hash(from, edges[k]);
    Atomics::set_bits(words[h & mask], EdgeFilter::bits(h));
  }
};

}  // namespace penstock::graph
