#pragma once
#include <concepts>
#include <cstdint>
#include <vector>

#include "penstock/core/parallel.hpp"

namespace penstock {

/// x . y in double, in eight lanes that compilers turn into vectors: the order of the sum is part of the result.
template <class T>
double dot(const T* x, const T* y, std::int64_t n) {
  double s[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) s[l] += static_cast<double>(x[i + l]) * static_cast<double>(y[i + l]);
  double rest = 0;
  for (; i < n; ++i) rest += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])) + rest;
}

/// w . y and y . y of a product y = A x, taken block by block of rows while they are in the cache of the thread that
/// computed them. The blocks are the kernel's own, which depend on the matrix alone, and so do the sums.
template <class T>
class ProductDots {
 public:
  explicit ProductDots(const T* w) : w_(w) {}
  void start(std::int64_t blocks) { parts_.assign(static_cast<std::size_t>(2 * blocks), 0.0); }
  void add(std::int64_t block, const T* y, std::int64_t first, std::int64_t last) {
    if constexpr (std::floating_point<T>) {
      auto* part = &parts_[static_cast<std::size_t>(2 * block)];
      part[0] = dot(w_ + first, y + first, last - first);
      part[1] = dot(y + first, y + first, last - first);
    }
  }
  /// All rows in a pass of their own, for kernels that finish no block of rows before the end.
  void pass(const T* y, std::int64_t rows) {
    constexpr std::int64_t kRows = 16 << 10;
    start((rows + kRows - 1) / kRows);
    parallel_ranges(rows, kRows,
                    [&](std::int64_t first, std::int64_t last) { add(first / kRows, y, first, last); });
  }
  double wy() const { return sum(0); }
  double yy() const { return sum(1); }

 private:
  double sum(std::size_t which) const {
    double total = 0;
    for (auto i = which; i < parts_.size(); i += 2) total += parts_[i];
    return total;
  }
  const T* w_;
  std::vector<double> parts_;
};

}  // namespace penstock
