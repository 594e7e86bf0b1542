// From complex matrices to those of real and imaginary parts, and back: rows, which threads share.
#include "penstock/solver/complex_form.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsOfATask = 4096;

}  // namespace

template <class R>
Csr<R> matrix_of_parts(const Csr<std::complex<R>>& a) {
  require(2 * a.cols <= std::numeric_limits<Index>::max(),
          "the real form of a complex matrix has twice its " + std::to_string(a.cols) +
              " columns, and columns are numbered in 32 bits: split the problem");
  const auto indptr = allocate<Offset>(2 * a.rows + 1);
  const auto indices = allocate<Index>(std::max<Offset>(4 * a.nnz(), 1));
  const auto values = allocate<R>(std::max<Offset>(4 * a.nnz(), 1));
  indptr.data[0] = 0;
  parallel_ranges(a.rows, kRowsOfATask, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      const auto begin = a.indptr.data[r], count = a.indptr.data[r + 1] - begin;
      auto re = 4 * begin, im = re + 2 * count;
      indptr.data[2 * r + 1] = im, indptr.data[2 * r + 2] = im + 2 * count;
      for (auto k = begin; k < begin + count; ++k, re += 2, im += 2) {
        const auto column = 2 * a.indices.data[k];
        const auto v = a.values.data[k];
        indices.data[re] = indices.data[im] = column;
        indices.data[re + 1] = indices.data[im + 1] = column + 1;
        values.data[re] = v.real(), values.data[re + 1] = -v.imag();
        values.data[im] = v.imag(), values.data[im + 1] = v.real();
      }
    }
  });
  return {2 * a.rows, 2 * a.cols, indptr, indices.slice(0, 4 * a.nnz()), values.slice(0, 4 * a.nnz())};
}

template <class R>
Csr<std::complex<R>> complex_of_parts(const Csr<R>& a) {
  const auto rows = a.rows / 2, nnz = a.nnz() / 4;
  const auto indptr = allocate<Offset>(rows + 1);
  const auto indices = allocate<Index>(std::max<Offset>(nnz, 1));
  const auto values = allocate<std::complex<R>>(std::max<Offset>(nnz, 1));
  indptr.data[0] = 0;
  parallel_ranges(rows, kRowsOfATask, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      indptr.data[r + 1] = a.indptr.data[2 * r + 2] / 4;
      auto to = a.indptr.data[2 * r] / 4;
      // The first column of a block has its real and its imaginary part, in the two rows.
      for (auto re = a.indptr.data[2 * r], im = a.indptr.data[2 * r + 1]; re < a.indptr.data[2 * r + 1];
           re += 2, im += 2, ++to) {
        indices.data[to] = a.indices.data[re] / 2;
        values.data[to] = {a.values.data[re], a.values.data[im]};
      }
    }
  });
  return {rows, a.cols / 2, indptr, indices.slice(0, nnz), values.slice(0, nnz)};
}

#define X(R)                                                    \
  template Csr<R> matrix_of_parts(const Csr<std::complex<R>>&); \
  template Csr<std::complex<R>> complex_of_parts(const Csr<R>&);
X(float)
X(double)
#undef X

}  // namespace penstock
