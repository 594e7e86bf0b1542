#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "penstock/core/array.hpp"

namespace penstock {

/// w . y and y . y over the rows that this process owns.
struct LocalDots {
  double wy = 0, yy = 0;
};

/// All that a Krylov method asks of a matrix or of a preconditioner: y = A x. One process may own a part of the rows
/// only: then `apply` exchanges what it needs, and `Space` adds up inner products.
template <class T>
struct LinearOp {
  std::int64_t rows = 0;  // owned here
  std::function<void(std::span<const T> x, std::span<T> y)> apply;
  /// `apply` that also takes inner products of y while it is in the cache; may be empty.
  std::function<LocalDots(std::span<const T> x, std::span<T> y, const T* w)> apply_dots = {};
  /// Several vectors at once, one after the other in x and in y; may be empty.
  std::function<void(std::span<const T> x, std::span<T> y, std::int64_t columns)> apply_many = {};
  /// Not empty: the operator is this diagonal matrix, and methods fold it into their own passes.
  Array<const T> diagonal = {};
  /// Least bytes that one application reads besides x, from now on; may be empty.
  std::function<std::int64_t()> matrix_bytes = {};
};

/// Where the vectors live: inner products are sums over all who own rows. Several of them travel in one reduction,
/// which a method may start, work, and then finish. Empty functions: this process owns every row.
struct Space {
  std::function<void(std::span<double> sums)> start_sum = {};
  std::function<void()> finish_sum = {};
  std::function<void(std::span<double> sums)> sum_now =
      {};                      // both at once, where that is quicker; may be empty
  std::int64_t all_rows = -1;  // of all who own any; negative: as many as here

  void start(std::span<double> sums) const {
    if (start_sum) start_sum(sums);
  }
  void finish() const {
    if (finish_sum) finish_sum();
  }
  void sum(std::span<double> sums) const {
    if (sum_now) return sum_now(sums);
    start(sums);
    finish();
  }
};

}  // namespace penstock
