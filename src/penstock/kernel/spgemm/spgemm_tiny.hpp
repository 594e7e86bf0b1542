#pragma once
#include <limits>

#include "penstock/format/csr.hpp"

// Rows of C with at most kTiny products: these are written down, and each one's place among the different columns in
// ascending order is found by comparing every pair, without a branch.
namespace penstock {

inline constexpr int kTiny = 16;
inline constexpr Index kNoColumn = std::numeric_limits<Index>::max();

/// Among n <= kTiny columns, the place of each one's column when all different columns are listed in ascending order;
/// returns how many there are. `columns` has kTiny entries, the rest of them kNoColumn.
int unique_ranks(const Index* columns, int n, Index* places);

/// One such row, from A's entries and the rows of B that they name. Null `values` are ones.
template <class T>
struct TinyArgs {
  const Index* a_columns;
  const T* a_values;
  Offset count;  // of A's entries
  const Offset* b_indptr;
  const Index* b_columns;  // moved, so that b_columns[b_indptr[r]] is row r's first
  const T* b_values;
  Index* columns;  // out
  T* values;
};
/// The row over plus_times, all of it in vector registers; returns its number of entries.
template <class T>
using TinyKernel = Offset (*)(const TinyArgs<T>&);
/// Null where this CPU has none. T is float or double.
template <class T>
TinyKernel<T> tiny_kernel();

namespace avx512 {
template <class T>
Offset tiny(const TinyArgs<T>&);
}

}  // namespace penstock
