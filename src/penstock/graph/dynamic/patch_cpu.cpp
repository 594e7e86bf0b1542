// Rows are counted and then filled, each by one thread, in ranges of about equal work.
#include "penstock/graph/dynamic/patch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {
namespace {

/// A row of the base and the changes [i, end) of it, in ascending order: keep(k) for an entry k of the base that stays, put(i)
/// for a change that is an entry afterwards.
template <class V, class Keep, class Put>
void merge_row(const Csr<V>& base, const Delta<V>& d, std::int64_t row, std::int64_t i, std::int64_t end,
               Keep&& keep, Put&& put) {
  const bool known = row < base.rows;
  auto k = known ? base.indptr.data[row] : 0;
  const auto last = known ? base.indptr.data[row + 1] : 0;
  for (; i < end; ++i) {
    const auto key = d.keys.data[i];
    for (; k < last && base.indices.data[k] < column_of(key); ++k) keep(k);
    k += k < last && base.indices.data[k] == column_of(key);
    if (!is_removed(key)) put(i);
  }
  for (; k < last; ++k) keep(k);
}

template <class V>
Array<V> values_for(Offset nnz) {
  if constexpr (is_pattern<V>) return {};
  else return allocate<V>(nnz);
}

/// Where the changes of each row begin, for the rows that have some and all beyond the base.
struct Touched {
  std::vector<Index> rows;
  std::vector<std::int64_t> begins;
};
template <class V>
Touched touched_by(const Csr<V>& base, const Delta<V>& d, std::int64_t vertices) {
  Touched t;
  const auto add = [&](std::int64_t row, std::int64_t begin) {
    t.rows.push_back(Index(row)), t.begins.push_back(begin);
  };
  auto next = base.rows;  // the first new vertex that is not listed
  for (std::int64_t i = 0; i < d.size();) {
    const auto row = row_of(d.keys.data[i]);
    for (; next < row; ++next) add(next, i);
    if (next == row) ++next;
    add(row, i);
    while (i < d.size() && row_of(d.keys.data[i]) == row) ++i;
  }
  for (; next < vertices; ++next) add(next, d.size());
  t.begins.push_back(d.size());
  return t;
}

}  // namespace

template <class V>
Patch<V> make_patch(const Csr<V>& base, const Delta<V>& d, std::int64_t vertices) {
  require(base.rows == base.cols && base.rows <= vertices,
          "a matrix of " + std::to_string(base.rows) + " x " + std::to_string(base.cols) +
              " has no graph of " + std::to_string(vertices) + " vertices");
  const auto t = touched_by(base, d, vertices);
  const auto count = std::ssize(t.rows);
  const auto rows = allocate<Index>(count), slots = allocate<Index>(vertices);
  const auto indptr = allocate<Offset>(count + 1);
  std::copy(t.rows.begin(), t.rows.end(), rows.data);
  std::fill_n(slots.data, vertices, Index(-1));
  for (std::int64_t s = 0; s < count; ++s) slots.data[rows.data[s]] = Index(s);
  std::vector<std::int64_t> costs(at(count) + 1);
  Offset replaced = 0;
  for (std::int64_t s = 0; s < count; ++s) {
    const auto r = rows.data[s];
    const auto degree = r < base.rows ? base.indptr.data[r + 1] - base.indptr.data[r] : 0;
    replaced += degree;
    costs[at(s) + 1] = costs[at(s)] + degree + t.begins[at(s) + 1] - t.begins[at(s)] + 4;
  }
  const auto for_rows = [&](auto&& f) {
    for_row_ranges(
        count, [&](std::int64_t s) { return costs[at(s)]; },
        [&](std::int64_t first, std::int64_t last) {
          for (auto s = first; s < last; ++s) f(s);
          poll_interrupt();
        });
  };
  for_rows([&](std::int64_t s) {
    Offset length = 0;
    const auto one = [&](auto) { ++length; };
    merge_row(base, d, rows.data[s], t.begins[at(s)], t.begins[at(s) + 1], one, one);
    indptr.data[s + 1] = length;
  });
  const auto nnz = lengths_to_offsets(indptr);
  const auto indices = allocate<Index>(nnz);
  const auto values = values_for<V>(nnz);
  for_rows([&](std::int64_t s) {
    auto to = indptr.data[s];
    const auto keep = [&](Offset k) {
      indices.data[to] = base.indices.data[k];
      if constexpr (!is_pattern<V>) values.data[to] = base.values.data[k];
      ++to;
    };
    const auto put = [&](std::int64_t i) {
      indices.data[to] = column_of(d.keys.data[i]);
      if constexpr (!is_pattern<V>) values.data[to] = d.values.data[i];
      ++to;
    };
    merge_row(base, d, rows.data[s], t.begins[at(s)], t.begins[at(s) + 1], keep, put);
  });
  return {rows, {count, vertices, indptr, indices, values}, slots, base.nnz() - replaced + nnz};
}

template <class V>
Csr<V> apply_patch(const Csr<V>& base, const Patch<V>& patch) {
  const auto n = patch.vertices();
  const auto slots = patch.slots.data;
  const auto source = [&](std::int64_t v) -> std::pair<const Csr<V>&, std::int64_t> {
    if (slots[v] < 0) return {base, v};
    return {patch.lists, slots[v]};
  };
  const auto indptr = allocate<Offset>(n + 1);
  parallel_ranges(n, 1 << 15, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) {
      const auto& [from, r] = source(v);
      indptr.data[v + 1] = from.indptr.data[r + 1] - from.indptr.data[r];
    }
  });
  const auto nnz = lengths_to_offsets(indptr);
  const auto indices = allocate<Index>(nnz);
  const auto values = values_for<V>(nnz);
  const Csr<V> made{n, n, indptr, indices, values};
  for_row_ranges(made, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last;) {
      const auto& [from, r] = source(v);
      auto end = v + 1;  // rows of the base side by side are copied at once
      if (slots[v] < 0)
        while (end < last && slots[end] < 0) ++end;
      const auto begin = from.indptr.data[r], size = from.indptr.data[r + end - v] - begin;
      std::copy_n(from.indices.data + begin, size, indices.data + indptr.data[v]);
      if constexpr (!is_pattern<V>) std::copy_n(from.values.data + begin, size, values.data + indptr.data[v]);
      v = end;
    }
    poll_interrupt();
  });
  return made;
}

#define X(V)                                                                  \
  template Patch<V> make_patch(const Csr<V>&, const Delta<V>&, std::int64_t); \
  template Csr<V> apply_patch(const Csr<V>&, const Patch<V>&);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
