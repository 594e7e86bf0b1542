#pragma once
#include "penstock/format/csr.hpp"

// How threads of the CPU read the list of a vertex. Searches are templates over what has lists ("rows"), and reach them by these
// functions alone: those of a matrix are here, those of a changed matrix in patched_rows.hpp, those of packed
// lists in gpu/packed_rows.hpp.
namespace penstock::graph {

/// The edges of a vertex, by number. Rows may number them within each list, or through the graph.
struct EdgeRange {
  Offset first = 0, last = 0;
};

template <class V>
EdgeRange range_of(const CsrView<V>& a, std::int64_t v) {
  return {a.indptr[v], a.indptr[v + 1]};
}
template <class Rows>
Offset degree_of(const Rows& a, std::int64_t v) {
  const auto r = range_of(a, v);
  return r.last - r.first;
}

/// Prefetches what range_of() reads, and what the others read, for which the range should be there.
template <class V>
void prefetch_range(const CsrView<V>& a, Index v) {
  __builtin_prefetch(a.indptr + v);
}
template <class V>
void prefetch_list(const CsrView<V>& a, Index v) {
  __builtin_prefetch(a.indices + (a.indptr[v] - a.first_nnz));
}

/// Calls f(u, k) for the edges k in [first, last) of v's range, which lead to u. `first` is the begin of the range, or a
/// multiple of 2048 edges after it.
template <class V, class F>
void each_edge(const CsrView<V>& a, std::int64_t, Offset first, Offset last, F&& f) {
  const Index* to = a.indices - a.first_nnz;
  for (auto k = first; k < last; ++k) f(to[k], k);
}

/// Calls f(u) for the ends of v's edges until it returns true. Returns whether it did.
template <class V, class F>
bool any_end(const CsrView<V>& a, std::int64_t v, F&& f) {
  const Index* to = a.indices - a.first_nnz;
  for (auto k = a.indptr[v], end = a.indptr[v + 1]; k < end; ++k)
    if (f(to[k])) return true;
  return false;
}

/// Whether two have the same lists, because they are the same arrays.
template <class V>
bool same_lists(const CsrView<V>& a, const CsrView<V>& b) {
  return a.indices == b.indices;
}

/// Approximate nanoseconds of one thread: for looking at a vertex and its row, for a probe of one neighbour, and for an edge that
/// is followed.
struct ReadCost {
  double look = 0, probe = 0, edge = 0;
};
/// Measured on R-MAT and uniform graphs of 2^18 and 2^20 vertices.
template <class V>
constexpr ReadCost read_cost(const CsrView<V>&) {
  return {10, 1.2, 1.5};
}

}  // namespace penstock::graph
