#pragma once
#include <atomic>
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock::graph {

using Word = std::uint64_t;

inline std::int64_t words_of(std::int64_t vertices) { return (vertices + 63) / 64; }
inline Word bit_of(Index v) { return Word(1) << (static_cast<std::uint32_t>(v) & 63U); }
inline std::size_t word_of(Index v) { return static_cast<std::uint32_t>(v) >> 6; }

inline bool test_bit(const Word* bits, Index v) { return (bits[word_of(v)] & bit_of(v)) != 0; }

/// Sets v's bit, and returns whether it was clear. Only one caller gets true. `Shared`: several threads set bits at once.
template <bool Shared>
bool claim_bit(Word* bits, Index v) {
  Word& word = bits[word_of(v)];
  const Word bit = bit_of(v);
  if constexpr (Shared) {
    const std::atomic_ref<Word> cell(word);
    if (cell.load(std::memory_order_relaxed) & bit) return false;  // most edges lead to visited vertices
    return (cell.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  } else {
    const bool clear = (word & bit) == 0;
    word |= bit;
    return clear;
  }
}

}  // namespace penstock::graph
