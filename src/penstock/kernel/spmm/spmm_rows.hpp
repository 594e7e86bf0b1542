#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Rows [first, last) of a view times a row-major X: out[r - first, c] = alpha * sum + beta * out, for `columns` columns. It
/// is the innermost loop of the product with several vectors, with one version for each instruction set. It has raw pointers
/// only, for the reason that RowsArgs gives.
template <class T, class V>
struct SpmmArgs {
  const Offset* indptr;
  const Index* indices;  // moved by first_nnz, and so are the values: indices[indptr[r]] is row r's first
  const V* values;
  const T* x;
  std::int64_t x_step;  // entries from one row to the next
  T* out;
  std::int64_t out_step;
  std::int64_t first, last, columns;
  T alpha = T(1), beta = T(0);
  // Writes around the cache: then beta is 0, out_step a multiple of a line, and `peels` true.
  bool streams = false;
  bool peels = false;  // tiles begin where a line of `out` begins
  int sums = 1;        // 1, 2 or 4: the order in which a row's entries are added up
  Offset ahead = 0;    // rows of X are prefetched so many entries before they are needed; 0: no prefetch
  Offset known = 0;    // indices below this position may be read ahead of their row
};

/// `rows` is the product above. `scatter` is the transposed product: out[indices[k]] += alpha * values[k] * x[r] for the
/// entries k of rows [first, last), where row r of X is at x + r * x_step; beta and streams are not used. `copy` writes rows
/// side by side and around the cache: `to` begins with a line, and `columns` entries are whole lines.
template <class T, class V>
struct SpmmKernels {
  void (*rows)(const SpmmArgs<T, V>&);
  void (*scatter)(const SpmmArgs<T, V>&);
  void (*copy)(const T* from, std::int64_t from_step, T* to, std::int64_t rows, std::int64_t columns);
};

/// The best versions for this CPU; (T, V) as for rows_kernel.
template <class T, class V>
SpmmKernels<T, V> spmm_kernels();

namespace avx2 {
template <class T, class V>
void spmm_rows(const SpmmArgs<T, V>&);
template <class T, class V>
void spmm_scatter(const SpmmArgs<T, V>&);
template <class T>
void spmm_copy(const T* from, std::int64_t from_step, T* to, std::int64_t rows, std::int64_t columns);
}  // namespace avx2
namespace avx512 {
template <class T, class V>
void spmm_rows(const SpmmArgs<T, V>&);
template <class T, class V>
void spmm_scatter(const SpmmArgs<T, V>&);
template <class T>
void spmm_copy(const T* from, std::int64_t from_step, T* to, std::int64_t rows, std::int64_t columns);
}  // namespace avx512

}  // namespace penstock
