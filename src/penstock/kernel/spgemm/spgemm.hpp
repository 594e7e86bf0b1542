#pragma once
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "penstock/format/csr.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// How the products of a row of C are added up; `automatic` chooses row by row (kernel/spgemm_row.hpp). The sums have
/// the same bits whichever it is.
enum class Accumulator { automatic, merge, hash, dense };
Accumulator accumulator(std::string_view name);  // throws Error{invalid_argument} listing the names

struct SpgemmOptions {
  Accumulator accumulator = Accumulator::automatic;
  const CsrView<One>* mask = nullptr;  // only the entries of C that the mask has too are computed
  bool ascending = false;              // whether the caller knows that ascending_rows(b) holds
  /// Bytes that C may take; below 0: what the machine has available. If the upper bound is more, nnz(C) is estimated first,
  /// and what would not fit is refused with Error{out_of_memory}, which has the numbers and the remedy.
  std::int64_t memory = -1;
};

/// The same entries without their values.
template <class V>
CsrView<One> pattern_of(const CsrView<V>& a) {
  return {.rows = a.rows,
          .cols = a.cols,
          .first_nnz = a.first_nnz,
          .indptr = a.indptr,
          .indices = a.indices,
          .count = a.count};
}

/// Values of C: none (a pattern) over a boolean semiring, else the semiring's numbers.
template <Semiring S>
using ProductValue = std::conditional_t<BooleanSemiring<S>, One, typename S::value_type>;

/// C = A B, or the part of it on a mask. C has an entry wherever there is a product, also if products cancel. Columns ascend
/// in each row; duplicates in A and B add up. If A's `values` are null, every entry is one. Over a boolean semiring only the
/// patterns count, and C stores the entries that are 1. Sums are taken in the order of A's row, so the bits are the same for any number of threads.
template <Semiring S, class V>
Csr<ProductValue<S>> spgemm(const CsrView<typename S::value_type>& a, const CsrView<V>& b,
                            const SpgemmOptions& options = {});

/// Whether the columns of every row strictly ascend. It reads all columns, so callers may want to remember the answer.
bool ascending_rows(const CsrView<One>& a);

/// Offsets of products: entry r + 1 minus entry r is the number of products of row r. C's row r has at most as many entries,
/// and at most `cols`.
Array<Offset> product_offsets(const CsrView<One>& a, const Offset* b_indptr);

struct SpgemmEstimate {
  Offset products = 0;
  Offset bound = 0;  // an upper bound of nnz: the sum over rows of min(products, columns)
  Offset nnz = 0;    // counted, or estimated
  bool exact = false;
  Offset sampled_products = 0;
};

/// nnz(C), before C is computed. With `exact` it is counted by a product of patterns. Otherwise it is estimated from rows that
/// are drawn in proportion to their products, with at most about a fiftieth of the work.
SpgemmEstimate estimate_spgemm(const CsrView<One>& a, const CsrView<One>& b, bool exact);

}  // namespace penstock

// The closed list of what is compiled: the semiring, and the values of B.
#define PENSTOCK_FOR_EACH_SPGEMM_PLUS(X) \
  X(PlusTimes<float>, One)               \
  X(PlusTimes<float>, float)             \
  X(PlusTimes<double>, One)              \
  X(PlusTimes<double>, double)
#define PENSTOCK_FOR_EACH_SPGEMM_OTHER(X)                   \
  X(PlusTimes<Complex64>, Complex64)                        \
  X(PlusTimes<Complex128>, Complex128)                      \
  PENSTOCK_REAL_SEMIRINGS(PENSTOCK_WITH_NUMBERS, X, float)  \
  PENSTOCK_REAL_SEMIRINGS(PENSTOCK_WITH_NUMBERS, X, double) \
  PENSTOCK_BOOLEAN_SEMIRINGS(PENSTOCK_BOOLEAN_WITH_PATTERNS, X)
#define PENSTOCK_FOR_EACH_SPGEMM(X) \
  PENSTOCK_FOR_EACH_SPGEMM_PLUS(X)  \
  PENSTOCK_FOR_EACH_SPGEMM_OTHER(X)
