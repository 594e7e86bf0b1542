#pragma once
#include <bit>
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

/// Threads share a row: there is a power of two of them, so that neighbours read words that lie side by side, in whole lines
/// of the link where a row has them.
template <class Word, class Id>
struct CopyRowWords {
  const Word* from;
  std::int64_t stride, words;  // of a row, in words
  int log_threads;
  const Id* ids;
  const std::uint32_t* order;  // of the rows; null: as they stand
  Word* out;

  constexpr void operator()(std::int64_t i) const {
    const auto row = order ? std::int64_t{order[i >> log_threads]} : i >> log_threads;
    const auto threads = std::int64_t{1} << log_threads;
    const auto* const source = from + static_cast<std::int64_t>(ids[row]) * stride;
    auto* const target = out + row * words;
    for (auto w = i & (threads - 1); w < words; w += threads) target[w] = source[w];
  }
};

/// The number of each row, and the stretch of memory that it begins in.
template <class Id>
struct NumberRows {
  const Id* ids;
  std::int64_t stride;
  int log_stretch;
  std::uint32_t *stretches, *rows;
  constexpr void operator()(std::int64_t i) const {
    stretches[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(ids[i]) * stride >> log_stretch);
    rows[i] = static_cast<std::uint32_t>(i);
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
