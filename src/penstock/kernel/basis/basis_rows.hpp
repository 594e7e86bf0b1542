#pragma once
#include <cstdint>

namespace penstock {

/// `count` vectors of n entries, a row each, which begin `stride` entries apart. They are in host memory.
template <class T>
struct VectorRows {
  T* data;
  std::int64_t count, stride, n;
  T* row(std::int64_t i) const { return data + i * stride; }
};

/// h[i * v.count + c] = the inner product of q_i, conjugated, and v_c. Both are read once. Sums have the same bits for any
/// number of threads. T is float, double, Complex64 or Complex128.
template <class T>
void basis_dots(const VectorRows<const T>& q, const VectorRows<const T>& v, T* h);

/// v_c -= the sum over i of h[i * v.count + c] q_i
template <class T>
void basis_subtract(const VectorRows<const T>& q, const T* h, const VectorRows<T>& v);

/// Of a norm: where a pass takes more away, the result is not orthogonal enough yet.
inline constexpr double kBasisKept = 0.5;

/// Makes v orthogonal to q's rows, which are orthonormal, by classical Gram-Schmidt: v_c as it was is the sum over i of
/// h[i * v.count + c] q_i and v_c as it is. The first pass is over the rows from `near` on, the second over all, the third
/// only where the second halved a norm ("twice is enough": Daniel, Gragg, Kaufman, Stewart 1976). `before` and `after`
/// receive the sums of squares of each v_c; where one of `before` is not finite, nothing else is done. Sums have the same
/// bits for any number of threads.
template <class T>
void basis_orthogonalise(const VectorRows<const T>& q, std::int64_t near, const VectorRows<T>& v, T* h,
                         double* before, double* after);

}  // namespace penstock
