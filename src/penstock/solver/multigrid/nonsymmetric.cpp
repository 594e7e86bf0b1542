#include "penstock/solver/multigrid/nonsymmetric.hpp"

#include <cmath>
#include <vector>

#include "penstock/kernel/spgemm/spgemm.hpp"
#include "penstock/solver/multigrid/rows_in_ranges.hpp"

namespace penstock {
namespace {

/// f(column, x, y) for the columns of row r in either matrix, ascending; 0 where one has none.
template <class T, class F>
void merged_row(const Csr<T>& x, const Csr<T>& y, std::int64_t r, F&& f) {
  auto i = x.indptr.data[r], j = y.indptr.data[r];
  const auto i_end = x.indptr.data[r + 1], j_end = y.indptr.data[r + 1];
  while (i < i_end || j < j_end) {
    const bool from_x = j == j_end || (i < i_end && x.indices.data[i] <= y.indices.data[j]);
    const bool from_y = i == i_end || (j < j_end && y.indices.data[j] <= x.indices.data[i]);
    const auto column = from_x ? x.indices.data[i] : y.indices.data[j];
    f(column, from_x ? x.values.data[i] : T(0), from_y ? y.values.data[j] : T(0));
    i += from_x, j += from_y;
  }
}

}  // namespace

template <class T>
Csr<T> mean_magnitude(const Csr<T>& a, const Csr<T>& transposed) {
  return rows_in_ranges<T>(
      a.rows, a.cols, [&](std::int64_t r) { return a.indptr.data[r] + transposed.indptr.data[r] + r; },
      [&](std::int64_t r, RowPiece<T>& piece) {
        merged_row(a, transposed, r, [&](Index column, T x, T y) {
          piece.indices.push_back(column), piece.values.push_back((std::abs(x) + std::abs(y)) / 2);
        });
      });
}

template <class T>
Csr<T> locally_smoothed(const Csr<T>& a, const Csr<T>& t, const Array<const T>& inverse) {
  using S = PlusTimes<T>;
  const auto product = spgemm<S, T>(a.view(), t.view(), {.ascending = true});
  const auto scaled = allocate<T>(std::max<Offset>(product.nnz(), 1));
  for_row_ranges(product, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r)
      for (auto k = product.indptr.data[r]; k < product.indptr.data[r + 1]; ++k)
        scaled.data[k] = inverse.data[r] * product.values.data[k];
  });
  auto q = product;
  q.values = scaled.slice(0, product.nnz());
  std::vector<double> up(at(t.cols)), down(at(t.cols));
  {
    const auto aq = spgemm<S, T>(a.view(), q.view(), {.ascending = true});
    // Row after row: the same bits for any number of threads.
    for (std::int64_t r = 0; r < a.rows; ++r)
      merged_row(product, aq, r, [&](Index column, T x, T y) {
        up[at(column)] += static_cast<double>(x) * static_cast<double>(y);
        down[at(column)] += static_cast<double>(y) * static_cast<double>(y);
      });
  }
  for (std::size_t c = 0; c < up.size(); ++c) up[c] = down[c] > 0 ? std::max(0.0, up[c] / down[c]) : 0;
  return rows_in_ranges<T>(
      t.rows, t.cols, [&](std::int64_t r) { return q.indptr.data[r] + r; },
      [&](std::int64_t r, RowPiece<T>& piece) {
        const auto first = q.indptr.data[r], last = q.indptr.data[r + 1];
        double w = first < last ? up[at(q.indices.data[first])] : 0;
        for (auto k = first; k < last; ++k) w = std::min(w, up[at(q.indices.data[k])]);
        merged_row(t, q, r, [&](Index column, T x, T y) {
          piece.indices.push_back(column);
          piece.values.push_back(static_cast<T>(static_cast<double>(x) - w * static_cast<double>(y)));
        });
      });
}

#define X(T)                                                    \
  template Csr<T> mean_magnitude(const Csr<T>&, const Csr<T>&); \
  template Csr<T> locally_smoothed(const Csr<T>&, const Csr<T>&, const Array<const T>&);
X(float)
X(double)
#undef X

}  // namespace penstock
