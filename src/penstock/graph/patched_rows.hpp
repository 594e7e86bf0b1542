#pragma once
#include <cstdint>

#include "penstock/graph/rows.hpp"

// A matrix some of whose rows are replaced, as searches on the CPU read it (rows.hpp): each vertex has one list, from here or from
// there, so that a changed graph is walked as fast as an unchanged one but for a look at where the list is.
namespace penstock::graph {

struct PatchedRows {
  std::int64_t rows = 0, cols = 0;
  Offset edges = 0;
  CsrView<One> base, lists;
  const Index* slots = nullptr;  // of each vertex its row in `lists`, or -1: the base's

  Offset nnz() const { return edges; }
};

namespace detail {

inline const CsrView<One>& matrix_of(const PatchedRows& a, std::int64_t v) {
  return a.slots[v] < 0 ? a.base : a.lists;
}
inline std::int64_t row_in(const PatchedRows& a, std::int64_t v) { return a.slots[v] < 0 ? v : a.slots[v]; }

}  // namespace detail

/// Edges are numbered within each list.
inline EdgeRange range_of(const PatchedRows& a, std::int64_t v) {
  return {0, degree_of(detail::matrix_of(a, v), detail::row_in(a, v))};
}
inline void prefetch_range(const PatchedRows& a, Index v) {
  __builtin_prefetch(a.slots + v);
  if (v < a.base.rows) __builtin_prefetch(a.base.indptr + v);
}
inline void prefetch_list(const PatchedRows& a, Index v) {
  prefetch_list(detail::matrix_of(a, v), Index(detail::row_in(a, v)));
}

template <class F>
void each_edge(const PatchedRows& a, std::int64_t v, Offset first, Offset last, F&& f) {
  const auto& m = detail::matrix_of(a, v);
  const Index* to = m.indices + m.indptr[detail::row_in(a, v)];
  for (auto k = first; k < last; ++k) f(to[k], k);
}
template <class F>
bool any_end(const PatchedRows& a, std::int64_t v, F&& f) {
  return any_end(detail::matrix_of(a, v), detail::row_in(a, v), f);
}

inline bool same_lists(const PatchedRows& a, const PatchedRows& b) {
  return a.slots == b.slots && same_lists(a.base, b.base);
}

/// Those of a matrix, and a look at the slot.
constexpr ReadCost read_cost(const PatchedRows&) { return {12, 1.2, 1.5}; }

}  // namespace penstock::graph
