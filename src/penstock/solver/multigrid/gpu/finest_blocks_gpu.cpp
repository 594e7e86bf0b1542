// The prolongator and the coarse matrix of a finest level that stays in host memory: sums of products of blocks of its rows.
#include "penstock/solver/multigrid/gpu/finest_blocks_gpu.hpp"

#include <utility>
#include <vector>

#include "penstock/kernel/spgemm/spgemm_gpu.hpp"
#include "penstock/kernel/structure/transpose_gpu.hpp"
#include "penstock/solver/multigrid/gpu/made_on.hpp"
#include "penstock/solver/multigrid/gpu/prolongate_steps.hpp"
#include "penstock/solver/multigrid/gpu/staged_rows.hpp"

namespace penstock {
namespace {

/// Rows [range] as a matrix of their own, with row offsets from 0 in scratch memory; the entries are shared.
template <class T>
Csr<T> rows_on(const Csr<T>& a, const RowRange& range, Stream stream) {
  const auto indptr = scratch_on<Offset>(range.rows + 1, stream);
  const auto from = fetch(a.indptr.data + range.first, stream);
  each(range.rows + 1, MoveOffsets{a.indptr.data + range.first, -from, indptr.data}, stream);
  const auto nnz = fetch(indptr.data + range.rows, stream);
  return {range.rows, a.cols, indptr, a.indices.slice(from, nnz), a.values.slice(from, nnz)};
}

/// One below the other, in memory that stays.
template <class T>
Csr<T> stacked_on(const std::vector<Csr<T>>& parts, std::int64_t rows, std::int64_t cols, Stream stream) {
  Offset nnz = 0;
  for (const auto& part : parts) nnz += part.nnz();
  const auto indptr = memory_on<Offset>(rows + 1, stream);
  const auto indices = memory_on<Index>(nnz, stream);
  const auto values = memory_on<T>(nnz, stream);
  std::int64_t row = 0;
  Offset at = 0;
  for (const auto& part : parts) {
    each(part.rows + 1, MoveOffsets{part.indptr.data, at, indptr.data + row}, stream);
    copy_async(indices.data + at, part.indices.data, part.indices.bytes(), stream);
    copy_async(values.data + at, part.values.data, part.values.bytes(), stream);
    row += part.rows, at += part.nnz();
  }
  synchronize(stream);
  return {rows, cols, indptr, indices, values};
}

}  // namespace

template <class T>
Csr<T> smoothed_in_blocks(const Csr<T>& a, const Csr<T>& t, const Array<const T>& inverse, double omega,
                          const Strength<T>* strong, Offset block_nnz, Stream stream) {
  std::vector<Csr<T>> parts;
  for_rows(a, block_nnz, stream, [&](const CsrView<T>& view, const RowRange& range) {
    const Smoother<T> smoother{view, inverse.data, strong ? strong->view() : StrengthView<T>{},
                               strong != nullptr, omega};
    auto made = counted_on<T>(range.rows, a.cols, stream, [&](Offset* out) {
      each(range.rows + 1, FromRow<CountSmoother<T>>{{smoother, out - range.first}, range.first}, stream);
    });
    const auto indices = scratch_on<Index>(made.nnz, stream);
    const auto values = scratch_on<T>(made.nnz, stream);
    const FillSmoother<T> fill{smoother, made.matrix.indptr.data - range.first, indices.data, values.data};
    each(range.rows, FromRow<FillSmoother<T>>{fill, range.first}, stream);
    made.matrix.indices = indices, made.matrix.values = values;
    parts.push_back(spgemm_on<PlusTimes<T>>(made.matrix.view(), t.view(), stream, {.pooled = true}));
  });
  return stacked_on(parts, a.rows, t.cols, stream);
}

template <class T>
Csr<T> galerkin_in_blocks(const Csr<T>& a, const Csr<T>& p, Offset block_nnz, Stream stream) {
  Csr<T> sum;
  for_rows(a, block_nnz, stream, [&](const CsrView<T>& view, const RowRange& range) {
    auto rows = view;
    rows.rows = range.rows, rows.indptr += range.first;
    const auto ap = spgemm_on<PlusTimes<T>>(rows, p.view(), stream, {.pooled = true});
    const auto r = transpose_on(rows_on(p, range, stream), stream);
    auto part = spgemm_on<PlusTimes<T>>(r.view(), ap.view(), stream);
    sum =
        range.first == 0 ? std::move(part) : add_on<PlusTimes<T>>({sum.view(), 0}, {part.view(), 0}, stream);
  });
  return sum;
}

#define X(T)                                                                                      \
  template Csr<T> smoothed_in_blocks(const Csr<T>&, const Csr<T>&, const Array<const T>&, double, \
                                     const Strength<T>*, Offset, Stream);                         \
  template Csr<T> galerkin_in_blocks(const Csr<T>&, const Csr<T>&, Offset, Stream);
X(float)
X(double)
#undef X

}  // namespace penstock
