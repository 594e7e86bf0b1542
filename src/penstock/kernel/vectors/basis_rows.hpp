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

}  // namespace penstock
