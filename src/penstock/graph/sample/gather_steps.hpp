#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "penstock/kernel/structure/steps.hpp"

// The steps of gather_gpu.cpp, which the CPU and nvcc compile.
namespace penstock::graph {

/// Whether a number is no vertex, or no row.
template <class Id>
struct IsOutside {
  const Id* ids;
  std::int64_t size;
  constexpr bool operator()(std::int64_t i) const { return ids[i] < 0 || ids[i] >= size; }
};

struct alignas(16) Word16 {
  std::uint64_t low, high;
};

/// Where a device has copies of some rows: a slot for each row, or -1.
template <class Word>
struct RowSlots {
  const std::int32_t* slot_of = nullptr;  // null: no row has a copy
  const Word* rows = nullptr;             // side by side
  constexpr std::int64_t slot(std::int64_t row) const { return slot_of ? slot_of[row] : -1; }
};

/// Threads share a row: there is a power of two of them, so that neighbours read words that lie side by side, in whole lines
/// of the link where a row has them.
template <class Word, class Id>
struct CopyRowWords {
  const Word* from;
  std::int64_t stride, words;  // of a row, in words
  int log_threads;
  const Id* ids;
  const std::uint32_t* order;  // of the rows; null: as they stand
  RowSlots<Word> hot;
  Word* out;

  constexpr void operator()(std::int64_t i) const {
    const auto row = order ? std::int64_t{order[i >> log_threads]} : i >> log_threads;
    const auto threads = std::int64_t{1} << log_threads;
    const auto id = static_cast<std::int64_t>(ids[row]);
    const auto slot = hot.slot(id);
    const auto* const source = slot >= 0 ? hot.rows + slot * words : from + id * stride;
    auto* const target = out + row * words;
    for (auto w = i & (threads - 1); w < words; w += threads) target[w] = source[w];
  }
};

/// The number of each row, and the stretch of memory that it begins in. Rows of which there are copies come last.
template <class Id>
struct NumberRows {
  const Id* ids;
  std::int64_t stride;
  int log_stretch;
  RowSlots<std::byte> hot;
  std::uint32_t last;
  std::uint32_t *stretches, *rows;
  constexpr void operator()(std::int64_t i) const {
    const auto id = static_cast<std::int64_t>(ids[i]);
    stretches[i] = hot.slot(id) >= 0 ? last : static_cast<std::uint32_t>(id * stride >> log_stretch);
    rows[i] = static_cast<std::uint32_t>(i);
  }
};

/// Adds to `found` how many of the ids have copies. A call looks at ids i, i + calls, i + 2 calls, ...
template <class Id>
struct CountHotRows {
  template <class Atomics>
  struct Step {
    const Id* ids;
    std::int64_t n, calls;
    const std::int32_t* slot_of;
    std::int64_t* found;
    constexpr void operator()(std::int64_t i) const {
      std::int64_t some = 0;
      for (; i < n; i += calls) some += slot_of[ids[i]] >= 0;
      if (some > 0) Atomics::add(*found, some);
    }
  };
};
/// slot_of[rows[slot]] = slot
struct PlaceSlots {
  const std::int64_t* rows;
  std::int32_t* slot_of;
  constexpr void operator()(std::int64_t slot) const {
    slot_of[rows[slot]] = static_cast<std::int32_t>(slot);
  }
};

/// The threads of a row of so many words: as many as it has words, and one warp at most.
constexpr int log_threads_of(std::int64_t words) {
  constexpr int kLogWarp = 5;
  const auto log = std::bit_width(static_cast<std::uint64_t>(words > 0 ? words - 1 : 0));
  return log < kLogWarp ? static_cast<int>(log) : kLogWarp;
}

}  // namespace penstock::graph

#define PENSTOCK_FOR_EACH_ROW_WORD(X, Id)                       \
  X(penstock::graph::CopyRowWords<penstock::graph::Word16, Id>) \
  X(penstock::graph::CopyRowWords<std::uint64_t, Id>)           \
  X(penstock::graph::CopyRowWords<std::uint32_t, Id>)           \
  X(penstock::graph::CopyRowWords<std::uint16_t, Id>) X(penstock::graph::CopyRowWords<std::uint8_t, Id>)
