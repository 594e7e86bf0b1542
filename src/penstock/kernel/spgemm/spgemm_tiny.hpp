#pragma once
#include <limits>

#include "penstock/format/csr.hpp"

// Rows of C with at most kTiny products. The products are listed, and for each one the place of its column in the row of C is
// found by comparing every pair, without a branch.
namespace penstock {

inline constexpr int kTiny = 16;
inline constexpr Index kNoColumn = std::numeric_limits<Index>::max();

/// For each of n <= kTiny columns: its place in the ascending list of the distinct columns. Returns the length of that list.
/// `columns` has kTiny entries; those from n on are kNoColumn.
int unique_ranks(const Index* columns, int n, Index* places);

/// One such row: A's entries and the rows of B that they name. If values are null, entries are ones.
template <class T>
struct TinyArgs {
  const Index* a_columns;
  const T* a_values;
  Offset count;  // how many entries A's row has
  const Offset* b_indptr;
  const Index* b_columns;  // moved, so that b_columns[b_indptr[r]] is row r's first
  const T* b_values;
  Index* columns;  // out
  T* values;
};
/// Computes the row over plus_times in vector registers, and returns the number of its entries.
template <class T>
using TinyKernel = Offset (*)(const TinyArgs<T>&);
/// The kernel for this CPU, or null if there is none. T is float or double.
template <class T>
TinyKernel<T> tiny_kernel();

namespace avx512 {
template <class T>
Offset tiny(const TinyArgs<T>&);
}

}  // namespace penstock
