#pragma once
#include <cstdint>

#include "penstock/core/parallel.hpp"
#include "penstock/core/ranked_bits.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/io/random.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock {

/// Some rows, and a range of columns, of a matrix that is never made as a whole. The kept rows are numbered from 0 in
/// ascending order; columns keep their numbers.
struct KeptRows {
  GlobalIndex first = 0;
  std::int64_t count = 0;                 // rows first, first + 1, ... where `numbers` is empty
  Array<const GlobalIndex> numbers = {};  // the rows, ascending
  RankedBits among = {};                  // the same rows as a set; goes with `numbers`
  GlobalIndex first_col = 0, last_col = GlobalIndex{1} << 31;

  GlobalIndex row(std::int64_t place) const { return numbers.data ? numbers.data[place] : first + place; }
  bool has_column(GlobalIndex j) const { return j >= first_col && j < last_col; }
  /// The number of the entry's row among the kept ones; -1 if the entry is not kept.
  std::int64_t place(GlobalIndex row, GlobalIndex column) const {
    if (!has_column(column)) return -1;
    if (among.given()) return among.has(row) ? among.below(row) : -1;
    return row >= first && row < first + count ? row - first : -1;
  }
};

/// The rows that `part` owns or has a piece of.
KeptRows kept_rows(const Partition& p, Index part);

/// An EntrySource (format/assemble.hpp) that gives only the entries that are kept.
template <class Source>
struct KeptSource {
  const Source& source;
  const KeptRows& keep;

  std::int64_t units() const { return source.units(); }
  std::int64_t max_per_unit() const { return source.max_per_unit(); }
  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    source.visit(first, last, [&](std::int64_t row, std::int64_t column, auto value) {
      if (const auto at = keep.place(row, column); at >= 0) emit(at, column, value);
    });
  }
};

/// The pattern of kept rows with the values that EntryValues gives them in the whole matrix.
template <class V>
Csr<V> with_uniform_values(const Csr<One>& a, std::uint64_t seed, bool symmetric, const KeptRows& keep) {
  if constexpr (is_pattern<V>) return a;
  else {
    auto values = allocate<V>(a.nnz());
    const EntryValues value(seed, symmetric);
    parallel_ranges(a.rows, 1 << 12, [&](std::int64_t first, std::int64_t last) {
      for (auto r = first; r < last; ++r)
        for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
          values.data[k] = value.template of<V>(keep.row(r), a.indices.data[k]);
    });
    return {a.rows, a.cols, a.indptr, a.indices, values};
  }
}

}  // namespace penstock
