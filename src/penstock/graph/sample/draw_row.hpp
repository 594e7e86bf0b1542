#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/sample/draws.hpp"
#include "penstock/io/random.hpp"

// Draws some of the entries 0, 1, ..., n - 1 of one row. It holds the memory that one row after the other needs.
namespace penstock::graph {

class RowDraw {
 public:
  /// Any k of n entries, k <= n, all subsets alike. Calls take(i) for each.
  template <class Take>
  void subset(std::int64_t n, std::int64_t k, const Random& random, Take take) {
    if (k == n) {
      for (std::int64_t i = 0; i < n; ++i) take(i);
      return;
    }
    chosen_.clear();
    const bool marks = k > kScanned;
    if (marks && std::ssize(marks_) * 64 < n) marks_.resize(at((n + 63) / 64));
    draw_subset(
        n, k, random,
        [&](std::int64_t j) {
          return marks ? (marks_[at(j / 64)] >> (j % 64) & 1) != 0
                       : std::ranges::find(chosen_, j) != chosen_.end();
        },
        [&](std::int64_t j) {
          if (marks) marks_[at(j / 64)] |= std::uint64_t{1} << (j % 64);
          chosen_.push_back(j);
          take(j);
        });
    if (marks)
      for (const auto j : chosen_) marks_[at(j / 64)] = 0;
  }

  /// k entries, each of them any of n.
  template <class Take>
  static void repeated(std::int64_t n, std::int64_t k, const Random& random, Take take) {
    for (std::int64_t i = 0; i < k; ++i) take(draw_again(n, i, random));
  }

  /// The same with probabilities weight(i) over their sum, by the sums up to each entry. Nothing where the sum is zero.
  template <class Weight, class Take>
  void repeated_weighted(std::int64_t n, std::int64_t k, const Random& random, Weight weight, Take take) {
    sums_.resize(at(n));
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sums_[at(i)] = sum += weight(i);
    require(std::isfinite(sum), "the weights of a row add up to more than a float64 holds: scale them");
    if (sum == 0) return;
    if (const auto lift = lift_of(sum); lift != 1) {
      for (auto& s : sums_) s *= lift;
      sum *= lift;
    }
    for (std::int64_t i = 0; i < k; ++i) {
      // unit() is above zero, so the first sum that is not below the draw belongs to a weight above zero.
      const auto draw = unit<double>(random(static_cast<std::uint64_t>(i))) * sum;
      take(std::ranges::lower_bound(sums_, draw) - sums_.begin());
    }
  }

  /// k entries of positive weight, drawn one after the other in proportion to what is left; all of them where there are
  /// fewer. The k smallest keys are taken.
  template <class Weight, class Take>
  void subset_weighted(std::int64_t n, std::int64_t k, const Random& random, Weight weight, Take take) {
    keys_.clear();
    for (std::int64_t i = 0; i < n; ++i) {
      const double w = weight(i);
      if (w == 0) continue;
      const auto key = draw_key(random(static_cast<std::uint64_t>(i)), w);
      if (std::ssize(keys_) < k) {
        keys_.emplace_back(key, i);
        std::ranges::push_heap(keys_);
      } else if (k > 0 && std::pair(key, i) < keys_.front()) {
        std::ranges::pop_heap(keys_);
        keys_.back() = {key, i};
        std::ranges::push_heap(keys_);
      }
    }
    std::ranges::sort(keys_, {}, &std::pair<std::uint64_t, std::int64_t>::second);
    for (const auto& [key, i] : keys_) take(i);
  }

 private:
  static constexpr std::int64_t kScanned = 48;  // entries that are searched one by one
  std::vector<std::int64_t> chosen_;
  std::vector<std::uint64_t> marks_;
  std::vector<double> sums_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> keys_;
};

}  // namespace penstock::graph
