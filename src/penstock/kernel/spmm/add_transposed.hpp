#pragma once
#include "penstock/core/device.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

// Products with A^T of the rows at hand, added to Y: what a matrix in row blocks needs where each block is seen once.
namespace penstock {

/// Entries of X and Y, and values of the matrix.
#define PENSTOCK_FOR_EACH_REAL_BLOCK(X) \
  X(float, One)                         \
  X(float, float)                       \
  X(double, One)                        \
  X(double, float)                      \
  X(double, double)

namespace gpu {

/// Y += alpha A^T X, queued on the stream. X has a.rows rows and Y has a.cols, both row-major with any row step; the GPU can read X
/// and A, and write Y. a.count must be stated. Sums are atomic, so the last bits may differ from run to run.
template <class T, class V>
void add_transposed(CsrView<V> a, DenseView<const T> x, DenseView<T> y, T alpha, Stream stream);

}  // namespace gpu

/// Y += alpha A^T X on the calling thread, for row-major X and Y; a column is added up in the order of A's rows.
template <class T, class V>
void add_transposed(const CsrView<V>& a, DenseView<const T> x, DenseView<T> y, T alpha);

/// The product on any stream. Throws Error{not_compiled} for a GPU in a build without CUDA. T is float or double.
template <class T, class V>
void add_transposed_on(const CsrView<V>& a, DenseView<const T> x, DenseView<T> y, T alpha, Stream stream);

}  // namespace penstock
