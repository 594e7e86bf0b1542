#pragma once
#include "penstock/core/error.hpp"
#include "penstock/graph/dynamic/delta.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/patched_rows.hpp"

namespace penstock {

/// The rows of a matrix that changes touch, whole, as they are afterwards. The other rows are those of the matrix.
template <class V>
struct Patch {
  Array<const Index> rows;   // that are replaced, ascending; all beyond the matrix are
  Csr<V> lists;              // their entries, ascending
  Array<const Index> slots;  // of each vertex its row in `lists`, or -1
  std::int64_t edges = 0;    // of the changed graph

  std::int64_t vertices() const { return slots.size; }
};

/// `base` is square, its rows ascend without repeats, and it has at most so many vertices. Changes of edges that are there
/// already, or are not, are no errors.
template <class V>
Patch<V> make_patch(const Csr<V>& base, const Delta<V>& d, std::int64_t vertices);

/// The changed matrix.
template <class V>
Csr<V> apply_patch(const Csr<V>& base, const Patch<V>& patch);

/// The lists alone, as searches read them.
template <class V>
graph::PatchedRows rows_of(const Csr<V>& base, const Patch<V>& patch) {
  const auto view = [](const Csr<V>& a) {
    return CsrView<One>{.rows = a.rows, .cols = a.cols, .indptr = a.indptr.data, .indices = a.indices.data};
  };
  return {patch.vertices(), patch.vertices(), patch.edges, view(base), view(patch.lists), patch.slots.data};
}
/// The same, where the base's lists are read packed. Throws Error{invalid_argument} unless these are as many lists.
template <class V>
graph::Patched<graph::PackedRows> rows_of(const Csr<V>& base, const Patch<V>& patch,
                                          const PackedLists& lists) {
  require(lists.vertices == base.rows && lists.edges == base.nnz(), "the packed lists are of another matrix");
  const auto raw = rows_of(base, patch);
  return {raw.rows, raw.cols, raw.edges, graph::rows_of(lists), raw.lists, raw.slots};
}

}  // namespace penstock
