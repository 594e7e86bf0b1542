// Computes X Y^T at the stored entries of A, row after row: a row of X stays in the first-level cache and meets the rows of Y
// that A's row names, four at a time (sddmm_loops.hpp). The cost is in bringing these rows: they are prefetched, across the ends
// of A's rows. Every entry is an inner product of its own, so rows are cut at any entry.
#include "penstock/kernel/spmm/sddmm.hpp"

#include <algorithm>
#include <concepts>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmm/sddmm_rows.hpp"
#include "penstock/kernel/spmm/spmm_blocks.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBuffer = 256;  // inner products between two passes over `out`

/// The same for complex numbers, in four sums of products of reals: no test for NaN after each product.
template <class T>
void complex_dots(const DotsArgs<T>& p) {
  using R = typename T::value_type;
  for (std::int64_t k = 0; k < p.count; ++k) {
    const T* row = p.y + p.columns[k] * p.y_step;
    R re = 0, im = 0;
    for (std::int64_t c = 0; c < p.width; ++c) {
      const auto a = p.x[c], b = row[c];
      re += a.real() * b.real() - a.imag() * b.imag();
      im += a.real() * b.imag() + a.imag() * b.real();
    }
    p.out[k] = {re, im};
  }
}

template <class T, class V>
void sample_block(const CsrView<V>& a, DenseView<const T> x, DenseView<const T> y, T* out, T alpha, T beta,
                  DotsKernel<T> kernel) {
  T buffer[kBuffer];
  const bool plain = is_pattern<V> && alpha == T(1) && beta == T(0);
  const Offset all = a.indptr[a.rows] - a.first_nnz;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const Offset end = a.indptr[r + 1] - a.first_nnz;
    for (Offset k = a.indptr[r] - a.first_nnz; k < end;) {
      const auto count = plain ? end - k : std::min<Offset>(end - k, kBuffer);
      kernel({x.data + r * x.row_step, y.data, y.row_step, x.cols, a.indices + k, count, all - k,
              plain ? out + k : buffer});
      if (!plain)
        for (Offset i = 0; i < count; ++i) {
          T v = alpha * buffer[i];
          if constexpr (!is_pattern<V>) v *= static_cast<T>(a.values[k + i]);
          out[k + i] = beta == T(0) ? v : v + beta * out[k + i];
        }
      k += count;
    }
  }
}

}  // namespace

template <class T, class V>
void sddmm(CsrView<V> a, DenseView<const T> x, DenseView<const T> y, T* out, T alpha, T beta) {
  Array<T> x_memory, y_memory;
  const auto xs = packed(x, x_memory), ys = packed(y, y_memory);
  DotsKernel<T> kernel;
  if constexpr (std::floating_point<T>) kernel = dots_kernel<T>();
  else kernel = complex_dots<T>;
  const auto budget = spmm_block_cost(a.rows, a.nnz(), x.cols);
  const auto blocks = row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = budget});
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    const auto& b = blocks[static_cast<std::size_t>(i)];
    Offset piece_ptr[2];
    sample_block<T, V>(block_view(a, b, piece_ptr), xs.from_row(b.first_row), ys, out, alpha, beta, kernel);
  });
}

#define X(T, V) template void sddmm<T, V>(CsrView<V>, DenseView<const T>, DenseView<const T>, T*, T, T);
PENSTOCK_FOR_EACH_SDDMM(X)
#undef X

}  // namespace penstock
