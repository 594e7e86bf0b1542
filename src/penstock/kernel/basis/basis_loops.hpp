#pragma once
#include <cstdint>

// The innermost loops of passes over a basis of real numbers, compiled once for each instruction set.
namespace penstock {

template <class T>
struct BasisKernels {
  /// out[i * step] = <q_i, v>, for `rows` rows of n entries
  void (*dots)(const T* q, std::int64_t stride, std::int64_t rows, const T* v, std::int64_t n, T* out,
               std::int64_t step);
  /// v -= the sum of f[i * step] q_i
  void (*subtract)(const T* q, std::int64_t stride, std::int64_t rows, const T* f, std::int64_t step, T* v,
                   std::int64_t n);
};

namespace basis_loops {

inline constexpr int kRows = 4;  // that meet a piece of v at once, so that it is read and written less often

/// `Set` names the instruction set: functions of the same name must not be shared between them.
template <class Set, class T, int R>
void some_dots(const T* q, std::int64_t stride, const T* v, std::int64_t n, T* out, std::int64_t step) {
  constexpr int kLanes = 64 / int(sizeof(T));
  T sums[R][kLanes] = {};
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (int r = 0; r < R; ++r)
      for (int l = 0; l < kLanes; ++l) sums[r][l] += q[r * stride + j + l] * v[j + l];
  for (int r = 0; r < R; ++r) {
    T sum = 0;
    for (auto i = j; i < n; ++i) sum += q[r * stride + i] * v[i];
    for (const T part : sums[r]) sum += part;
    out[r * step] = sum;
  }
}

template <class Set, class T>
void dots(const T* q, std::int64_t stride, std::int64_t rows, const T* v, std::int64_t n, T* out,
          std::int64_t step) {
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows)
    some_dots<Set, T, kRows>(q + i * stride, stride, v, n, out + i * step, step);
  for (; i < rows; ++i) some_dots<Set, T, 1>(q + i * stride, stride, v, n, out + i * step, step);
}

template <class Set, class T, int R>
void subtract_some(const T* q, std::int64_t stride, const T* f, std::int64_t step, T* __restrict v,
                   std::int64_t n) {
  T by[R];
  for (int r = 0; r < R; ++r) by[r] = -f[r * step];
  for (std::int64_t j = 0; j < n; ++j) {
    T sum = v[j];
    for (int r = 0; r < R; ++r) sum += by[r] * q[r * stride + j];
    v[j] = sum;
  }
}

template <class Set, class T>
void subtract(const T* q, std::int64_t stride, std::int64_t rows, const T* f, std::int64_t step, T* v,
              std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows)
    subtract_some<Set, T, kRows>(q + i * stride, stride, f + i * step, step, v, n);
  for (; i < rows; ++i) subtract_some<Set, T, 1>(q + i * stride, stride, f + i * step, step, v, n);
}

}  // namespace basis_loops

namespace avx2 {
/// Compiled with the rows of A x (spmv_rows_avx2.cpp).
template <class T>
BasisKernels<T> basis_kernels();
}  // namespace avx2

}  // namespace penstock
