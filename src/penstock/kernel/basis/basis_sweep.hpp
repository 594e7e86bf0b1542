#pragma once
#include <algorithm>
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/kernel/basis/basis_rows.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

// Passes over a basis in the memory of a GPU. T is float or double.
namespace penstock::gpu {

/// The blocks of a sweep over n columns. They do not depend on the chip, so that sums have the same bits on every GPU.
inline constexpr std::int64_t basis_blocks(std::int64_t n) {
  return std::clamp<std::int64_t>((n + 255) / 256, 1, kSweepBlocks);
}

/// v -= the sum over i of f[i] taken_i; then h[i] = the inner product of met_i and v, and h[met.count] that of v and v. Either
/// basis may be empty. f and h are in the memory of the GPU.
template <class T>
struct BasisSweep {
  VectorRows<const T> taken;
  const double* f;
  VectorRows<const T> met;
  double* h;
  T* v;
};

/// `parts` has (met.count + 1) basis_blocks(n) numbers, and `arrived` is 0 before and after.
template <class T>
void basis_sweep(const BasisSweep<T>& sweep, double* parts, unsigned* arrived, Stream stream);

inline constexpr std::int64_t kTurned = 8;  // results of a thread

/// rows_c = the sum over i of y[i * columns + c] rows_i for the first q rows, in place. `columns` is q rounded up to a multiple of
/// kTurned, and y has zeros beyond q. `scratch` has `columns` rows of at least one entry each: that many columns of the basis are
/// turned at a time.
template <class T>
void turn_rows(const VectorRows<T>& rows, const T* y, std::int64_t q, const VectorRows<T>& scratch,
               Stream stream);

}  // namespace penstock::gpu
