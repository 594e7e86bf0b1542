#pragma once
#include <functional>
#include <span>

#include "penstock/format/csr.hpp"

// What smoothed aggregation needs where A is not symmetric (Sala and Tuminaro 2008): R comes of A^T as P comes of A.
namespace penstock {

/// (|A| + |A^T|) / 2, whose strong entries are those that aggregates follow. Columns of A and of `transposed` ascend.
template <class T>
Csr<T> mean_magnitude(const Csr<T>& a, const Csr<T>& transposed);

/// What the rows of other ranks add where A's rows are shared out; empty functions: this process has all.
template <class T>
struct RowsElsewhere {
  /// Rows of which each rank has those it owns, and behind them those of A's ghosts. Collective.
  std::function<Csr<T>(const Csr<T>& own)> with_ghosts = {};
  /// Two sums for each of these columns, which ascend: those of all ranks in place of this one's. Collective.
  std::function<void(std::span<const Index> columns, std::span<double> sums)> add = {};
};

/// P = (1 - W D^-1 A) T. Of each column t of T, w = (A t, A q) / (A q, A q) with q = D^-1 A t makes the 2-norm of A p smallest
/// (Sala and Tuminaro 2008); a row takes the smallest w of its columns, and none below 0. `inverse`: of A's diagonal. T has the rows here,
/// and P, too.
template <class T>
Csr<T> locally_smoothed(const Csr<T>& a, const Csr<T>& t, const Array<const T>& inverse,
                        const RowsElsewhere<T>& elsewhere = {});

}  // namespace penstock
