#include "penstock/solver/multigrid/nonsymmetric.hpp"

#include <algorithm>
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
Csr<T> locally_smoothed(const Csr<T>& a, const Csr<T>& t, const Array<const T>& inverse,
                        const RowsElsewhere<T>& elsewhere) {
  using S = PlusTimes<T>;
  const auto wide = [&](const Csr<T>& own) {
    return elsewhere.with_ghosts ? elsewhere.with_ghosts(own) : own;
  };
  const auto product = spgemm<S, T>(a.view(), wide(t).view(), {.ascending = true});
  const auto scaled = allocate<T>(std::max<Offset>(product.nnz(), 1));
  for_row_ranges(product, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r)
      for (auto k = product.indptr.data[r]; k < product.indptr.data[r + 1]; ++k)
        scaled.data[k] = inverse.data[r] * product.values.data[k];
  });
  auto q = product;
  q.values = scaled.slice(0, product.nnz());
  // Of each column the sums (A t, A q) and (A q, A q). Over ranks those of the columns that are met here.
  std::vector<Index> columns;
  std::vector<double> sums;
  const auto place = [&](Index column) {
    if (!elsewhere.add) return at(column);
    return at(std::lower_bound(columns.begin(), columns.end(), column) - columns.begin());
  };
  {
    const auto aq = spgemm<S, T>(a.view(), wide(q).view(), {.ascending = true});
    if (elsewhere.add) {
      for (const auto* met : {&product, &aq})
        columns.insert(columns.end(), met->indices.data, met->indices.data + met->nnz());
      std::sort(columns.begin(), columns.end());
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    }
    sums.resize(2 * (elsewhere.add ? columns.size() : at(t.cols)));
    // Row after row: the same bits for any number of threads.
    for (std::int64_t r = 0; r < a.rows; ++r)
      merged_row(product, aq, r, [&](Index column, T x, T y) {
        auto* two = &sums[2 * place(column)];
        two[0] += static_cast<double>(x) * static_cast<double>(y);
        two[1] += static_cast<double>(y) * static_cast<double>(y);
      });
  }
  if (elsewhere.add) elsewhere.add(columns, sums);
  const auto damping = [&](Index column) {
    const auto* two = &sums[2 * place(column)];
    return two[1] > 0 ? std::max(0.0, two[0] / two[1]) : 0;
  };
  return rows_in_ranges<T>(
      a.rows, t.cols, [&](std::int64_t r) { return q.indptr.data[r] + r; },
      [&](std::int64_t r, RowPiece<T>& piece) {
        const auto first = q.indptr.data[r], last = q.indptr.data[r + 1];
        double w = first < last ? damping(q.indices.data[first]) : 0;
        for (auto k = first; k < last; ++k) w = std::min(w, damping(q.indices.data[k]));
        merged_row(t, q, r, [&](Index column, T x, T y) {
          piece.indices.push_back(column);
          piece.values.push_back(static_cast<T>(static_cast<double>(x) - w * static_cast<double>(y)));
        });
      });
}

#define X(T)                                                                            \
  template Csr<T> mean_magnitude(const Csr<T>&, const Csr<T>&);                         \
  template Csr<T> locally_smoothed(const Csr<T>&, const Csr<T>&, const Array<const T>&, \
                                   const RowsElsewhere<T>&);
X(float)
X(double)
#undef X

}  // namespace penstock
