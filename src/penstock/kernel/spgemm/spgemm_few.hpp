#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

// Rows of C with few products: each is a key, its column above its number, and the keys are sorted in vector registers.
namespace penstock {

inline constexpr int kFew = 64;
inline constexpr int kFewBits = 6;  // of a product's number
/// Columns of a row, counted from its lowest, that a key has room for; the largest key is not one.
inline constexpr std::int64_t kFewColumns = (std::int64_t{1} << (32 - kFewBits)) - 1;

inline constexpr int kListed = 512;  // keys that can be sorted in this way at most

/// Sorts n <= kListed keys. There is room for a power of two, and at least eight; from 65 keys on, it begins at a multiple of 32
/// bytes.
using FewSort = void (*)(std::uint32_t* keys, int n);
/// The sort for this CPU, or null where the other ways are as fast.
FewSort few_sort();

/// Consecutive rows of C = A B over plus_times, for a B of at most kFewColumns columns. If values are null, entries are ones.
template <class T>
struct FewRows {
  const Offset* a_indptr;
  const Index* a_columns;  // moved, so that a_columns[a_indptr[r]] is row r's first
  const T* a_values;
  const Offset* b_indptr;
  const Index* b_columns;  // moved in the same way
  const T* b_values = nullptr;
  Offset a_end, b_end;     // where the entries of A and B end
  const Offset* products;  // products[r + 1] is the number of products up to and with row r
  bool scattered;          // prefetch the rows of B
  Index* columns;          // out
  T* values;
  Offset* ends;  // where each row ends, counted from `columns`; ends[r] is that of row r
};
/// Computes rows from `row` on, until it meets `last` or a row of more than kFew products, and returns the row that comes next.
/// `before` products come before `row`, and `count` entries are already in `columns`; both are updated.
template <class T>
using FewRowsKernel = std::int64_t (*)(const FewRows<T>&, std::int64_t row, std::int64_t last, Offset& before,
                                       Offset& count);
/// The kernel for this CPU, or null. T is float or double.
template <class T>
FewRowsKernel<T> few_rows_kernel();

namespace avx2 {
void sort_few(std::uint32_t* keys, int n);
template <class T>
std::int64_t few_rows(const FewRows<T>&, std::int64_t row, std::int64_t last, Offset& before, Offset& count);
}  // namespace avx2

}  // namespace penstock
