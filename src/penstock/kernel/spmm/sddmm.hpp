#pragma once
#include "penstock/kernel/spmm/spmm.hpp"

namespace penstock {

/// out[k] = alpha a_k (X Y^T)[i, j] + beta out[k] for every stored entry k = (i, j) of A, on the CPU: the sampled dense-dense
/// product (SDDMM). X has a.rows rows and Y has a.cols, of equally many columns; a_k is one in a pattern. `out` has an entry for
/// each of A's, is not read where beta is 0, and overlaps neither X nor Y. The bits are the same for any number of threads and
/// any layout of X and Y.
template <class T, class V>
void sddmm(CsrView<V> a, DenseView<const T> x, DenseView<const T> y, T* out, T alpha, T beta);

}  // namespace penstock

#define PENSTOCK_FOR_EACH_SDDMM(X) \
  X(float, One)                    \
  X(float, float)                  \
  X(double, One)                   \
  X(double, float)                 \
  X(double, double)                \
  X(Complex64, One)                \
  X(Complex64, float)              \
  X(Complex64, Complex64)          \
  X(Complex128, One)               \
  X(Complex128, float) X(Complex128, double) X(Complex128, Complex64) X(Complex128, Complex128)
