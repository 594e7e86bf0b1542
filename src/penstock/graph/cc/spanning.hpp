#pragma once
#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// The edges of a forest, as entries of the matrix that it was found in, in an order that depends on the matrix alone.
template <class V>
struct SpanningForest {
  Array<Index> row, col;
  Array<V> values;  // empty when V is One
};

/// A minimum spanning forest: an entry (i, j) joins i and j with its value, parallel and mirrored entries are edges of their
/// own, and entries of the diagonal are none. Of equal values the first stored entry counts as smaller, so that there is one
/// forest, whatever the number of threads. `mirrored` says that for each (i, j) there is a (j, i) of the same value: half of
/// the entries are enough then. Throws Error{invalid_argument} that names the first value that is NaN.
template <class V>
SpanningForest<V> minimum_spanning_forest(const Csr<V>& a, bool mirrored);

/// Throws Error{invalid_argument} that says what is wrong where, unless `forest` holds entries of `a`, no cycle, and joins
/// the ends of every entry of `a` by entries that are no larger. Independent of minimum_spanning_forest().
template <class V>
void minimum_spanning_forest_verify(const Csr<V>& a, const Csr<V>& forest);

}  // namespace penstock
