#pragma once
#include <bit>
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

/// The natural logarithm of the number in (0, 1] that 64 random bits are, to about 1e-15, with the same bits wherever sums and
/// products are rounded one by one.
constexpr double log_of_unit(std::uint64_t random_bits) {
  constexpr int kFraction = 52, kBias = 1023;
  const auto bits = std::bit_cast<std::uint64_t>(unit<double>(random_bits));
  auto exponent = static_cast<int>(bits >> kFraction) - kBias;
  auto m = std::bit_cast<double>((bits & ((std::uint64_t{1} << kFraction) - 1)) | std::uint64_t{kBias}
                                                                                      << kFraction);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // log m = 2 (f + f^3 / 3 + f^5 / 5 + ...), |f| < 0.172
  const double f = (m - 1) / (m + 1), square = f * f;
  double sum = 0;
  for (int odd = 21; odd > 1; odd -= 2) sum = (sum + 1.0 / odd) * square;
  return exponent * 0.6931471805599453 + 2 * (f + f * sum);
}
/// What an entry of weight w > 0 is sorted by: of several entries, the k smallest are k draws in proportion to what is left. It
/// ascends as E / w does, E exponential. That quotient may exceed a float64, so these are the bits of one with an exponent of 12
/// bits in place of 11 and a sign.
constexpr std::uint64_t draw_key(std::uint64_t random_bits, double w) {
  constexpr int kFraction = 52, kLift = 54;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << kFraction, kLargestExponent = 2046;
  const bool subnormal = w < 0x1p-1022;
  const auto bits = std::bit_cast<std::uint64_t>(subnormal ? w * 0x1p54 : w);
  // The weight is m 2^e, 1 <= m < 2. The exponent of E / m is above 2^-55, so no key is negative.
  const auto m = std::bit_cast<double>((bits & ((std::uint64_t{1} << kFraction) - 1)) | kOne);
  const auto quotient = -log_of_unit(random_bits) / m;
  if (!(quotient > 0)) return 0;
  const auto steps = kLargestExponent + (subnormal ? kLift : 0) - (bits >> kFraction);
  return std::bit_cast<std::uint64_t>(quotient) + (steps << kFraction);
}

/// What weights of one vertex are multiplied by before one is drawn, of which the largest, or the sum, is `most`: parts of
/// subnormal numbers would be rounded to few bits, and to zero.
constexpr double lift_of(double most) { return most < 0x1p-900 ? 0x1p800 : 1; }

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
