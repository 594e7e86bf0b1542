#pragma once
#include <cstdint>

#include "penstock/io/random.hpp"

// What is drawn of the edges 0, 1, ..., n - 1 of one vertex, as the CPU and GPUs draw it.
namespace penstock::graph {

/// The random numbers for vertex `number` of a sample.
constexpr Random draws_of(std::uint64_t seed, std::uint64_t relation, std::int64_t number) {
  return {seed + 0x9e3779b97f4a7c15 * relation, static_cast<std::uint64_t>(number)};
}

/// How many of n edges are drawn for a fanout; below zero it stands for all.
constexpr std::int64_t drawn_of(std::int64_t n, std::int64_t fanout, bool replace) {
  if (n == 0) return 0;
  return fanout < 0 || (!replace && fanout > n) ? n : fanout;
}

/// Entry i of k that are drawn of n, each of them any of n.
constexpr std::int64_t draw_again(std::int64_t n, std::int64_t i, const Random& random) {
  return below(random(static_cast<std::uint64_t>(i)), n);
}

/// Any k of n entries, k < n, all subsets alike, by Floyd's method: each of the last k entries draws one up to itself, and
/// takes itself if that is taken. take(j) is called for each; is_taken(j) says whether it was.
template <class IsTaken, class Take>
constexpr void draw_subset(std::int64_t n, std::int64_t k, const Random& random, const IsTaken& is_taken,
                           const Take& take) {
  for (auto i = n - k; i < n; ++i) {
    const auto j = draw_again(i + 1, i - (n - k), random);
    take(is_taken(j) ? i : j);
  }
}

}  // namespace penstock::graph
