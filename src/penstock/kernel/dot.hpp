#pragma once
#include <concepts>
#include <cstdint>
#include <vector>

#include "penstock/core/parallel.hpp"

namespace penstock {

/// x . y in double precision, in eight sums that compilers turn into vectors. Every build adds in this order, so that the
/// result has the same bits.
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

/// The sums w . y and y . y of a product y = A x; of complex vectors the real parts. They are computed for each block of rows while its part of y is in the cache
/// of the thread that computed it. The blocks are those of the kernel; they depend on the matrix alone, so the sums have the
/// same bits for any number of threads.
template <class T>
class ProductDots {
 public:
  explicit ProductDots(const T* w) : w_(w) {}
  void start(std::int64_t blocks) { parts_.assign(static_cast<std::size_t>(2 * blocks), 0.0); }
  void add(std::int64_t block, const T* y, std::int64_t first, std::int64_t last) {
    auto* part = &parts_[static_cast<std::size_t>(2 * block)];
    if constexpr (std::floating_point<T>) {
      part[0] = dot(w_ + first, y + first, last - first);
      part[1] = dot(y + first, y + first, last - first);
    } else if constexpr (requires { typename T::value_type; }) {
      using Real = typename T::value_type;
      const auto* w = reinterpret_cast<const Real*>(w_ + first);
      const auto* parts = reinterpret_cast<const Real*>(y + first);
      part[0] = dot(w, parts, 2 * (last - first));
      part[1] = dot(parts, parts, 2 * (last - first));
    }
  }
  /// Computes the sums of all rows in a pass over y, for kernels that finish no block of rows before the end.
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
