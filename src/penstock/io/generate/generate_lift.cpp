// Random lifts (Amit and Linial 2002): copies of a graph, of whose edges a few lead from copy to copy. Degrees and nearly all
// triangles stay, and so does the order of the vertices.
//
// Only the rows of copy 0 are hashed and sorted. All others are these, moved on and turned around (lift_rows.hpp), which is a
// pass at the speed of memory.
#include "penstock/io/generate/generate_lift.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/generate_check.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRows = 1 << 12;  // of A, hashed at a time
constexpr Offset kEntries = 1 << 16;     // of a copy, written at a time
constexpr std::int64_t kMostRows = 1 << 14;

template <class V>
void check(const Csr<V>& a, const LiftOptions& o) {
  constexpr std::int64_t kMax = std::numeric_limits<Index>::max();
  require(a.rows == a.cols, "A is " + std::to_string(a.rows) + " x " + std::to_string(a.cols) +
                                ": only square matrices have lifts");
  require(o.copies >= 1, "copies = " + std::to_string(o.copies) + ": give at least 1");
  require(a.rows == 0 || o.copies <= kMax / a.rows,
          "copies = " + std::to_string(o.copies) + " of " + std::to_string(a.rows) +
              " rows exceed 2^31 - 1, and column indices have 32 bits: give at most " +
              std::to_string(kMax / std::max<std::int64_t>(a.rows, 1)));
  require_between("mix", o.mix, 0, 1, "it is the share of the edges that lead to another copy");
  require(o.copies <= std::numeric_limits<Offset>::max() / 32 / std::max<std::int64_t>(a.nnz(), 1),
          "copies = " + std::to_string(o.copies) + " make too many entries: give fewer");
}

/// Entries of a row that must be sorted.
struct Placed {
  Index column;
  Offset k;
  bool operator<(const Placed& o) const { return column != o.column ? column < o.column : k < o.k; }
};

/// Pieces of whole rows with about kEntries entries each.
std::vector<std::int64_t> pieces(const LiftView& a) {
  std::vector<std::int64_t> cuts{0};
  while (cuts.back() < a.rows) {
    const auto first = cuts.back(), most = std::min(a.rows, first + kMostRows);
    const auto* end = std::upper_bound(a.indptr + first + 1, a.indptr + most + 1, a.indptr[first] + kEntries);
    cuts.push_back(std::max<std::int64_t>(first + 1, end - a.indptr - 1));
  }
  return cuts;
}

/// Writes rows [first, last) of a copy to where the copy begins.
template <class V>
void write_rows(const LiftView& a, const V* from, std::int64_t copy, std::int64_t first, std::int64_t last,
                Index* indices, V* values) {
  const auto move = [&](Offset begin, Offset end, Offset to, std::int64_t add) {
    const auto add32 = static_cast<Index>(add);
    for (Offset k = 0; k < end - begin; ++k) indices[to + k] = a.columns[begin + k] + add32;
    if constexpr (!is_pattern<V>) std::copy(from + begin, from + end, values + to);
  };
  auto plain = a.indptr[first];  // entries from here on stay in their order
  for (auto r = first; r < last; ++r) {
    const LiftedRow row(a, copy, r);
    if (row.turn() == row.end()) continue;
    move(plain, row.begin(), plain, row.added());
    move(row.turn(), row.end(), row.begin(), row.wrapped());
    move(row.begin(), row.turn(), row.place(row.begin()), row.added());
    plain = row.end();
  }
  move(plain, a.indptr[last], plain, copy * a.rows);
}

}  // namespace

template <class V>
Csr<V> first_copy(const Csr<V>& a, const LiftOptions& o) {
  check(a, o);
  const LiftShift shift(o.copies, o.mix, o.seed);
  auto indices = allocate<Index>(a.nnz());
  auto values = allocate<V>(is_pattern<V> ? 0 : a.nnz());
  parallel_ranges(a.rows, kRows, [&](std::int64_t first, std::int64_t last) {
    std::vector<Placed> row;
    for (auto r = first; r < last; ++r) {
      const auto begin = a.indptr.data[r], end = a.indptr.data[r + 1];
      bool sorted = true;
      for (auto k = begin; k < end; ++k) {
        const auto column = a.indices.data[k];
        indices.data[k] = static_cast<Index>(column + shift(r, column) * a.rows);
        sorted = sorted && (k == begin || indices.data[k - 1] <= indices.data[k]);
        if constexpr (!is_pattern<V>) values.data[k] = a.values.data[k];
      }
      if (sorted) continue;
      row.clear();
      for (auto k = begin; k < end; ++k) row.push_back({indices.data[k], k});
      std::sort(row.begin(), row.end());
      for (auto k = begin; k < end; ++k) {
        const auto& from = row[static_cast<std::size_t>(k - begin)];
        indices.data[k] = from.column;
        if constexpr (!is_pattern<V>) values.data[k] = a.values.data[from.k];
      }
    }
  });
  return {a.rows, a.rows * o.copies, a.indptr, indices, values};
}

template <class V>
Csr<V> generate_lift(const Csr<V>& a, const LiftOptions& o) {
  check(a, o);
  const auto rows = a.rows * o.copies, nnz = a.nnz();
  constexpr auto kEntryBytes = static_cast<std::int64_t>(sizeof(Index)) + value_bytes<V>;
  require_bytes("this lift", static_cast<double>(8 * (rows + 1) + kEntryBytes * nnz * (o.copies + 1)),
                "copies");
  const auto base = first_copy(a, o);
  const LiftView view{a.rows, o.copies, base.indptr.data, base.indices.data};
  auto indptr = allocate<Offset>(rows + 1);
  auto indices = allocate<Index>(nnz * o.copies);
  auto values = allocate<V>(is_pattern<V> ? 0 : nnz * o.copies);
  const auto cuts = pieces(view);
  const auto each = static_cast<std::int64_t>(cuts.size()) - 1;
  indptr.data[0] = 0;
  parallel_for(each * o.copies, [&](std::int64_t task) {
    const auto copy = task / each;
    const auto first = cuts[at(task % each)], last = cuts[at(task % each + 1)];
    const auto begin = copy * nnz;
    for (auto r = first; r < last; ++r) indptr.data[copy * a.rows + r + 1] = begin + view.indptr[r + 1];
    write_rows<V>(view, base.values.data, copy, first, last, indices.data + begin,
                  is_pattern<V> ? nullptr : values.data + begin);
  });
  return {rows, rows, indptr, indices, values};
}

#define X(V)                                                     \
  template Csr<V> first_copy(const Csr<V>&, const LiftOptions&); \
  template Csr<V> generate_lift(const Csr<V>&, const LiftOptions&);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
