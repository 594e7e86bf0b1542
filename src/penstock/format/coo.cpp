// COO to CSR: checks the indices and the diagonal, then assembles rows (format/assemble.hpp), the mirror images of a
// symmetric matrix included. Entries that are in order already are copied, and only the row offsets are computed.
#include "penstock/format/coo.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/format/faults.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kEntriesOfATask = 1 << 18;

/// The smallest k in [0, n) for which bad(k) holds, or n. any_bad(first, last) says whether a range has one.
template <class AnyBad, class Bad>
std::int64_t first_bad(std::int64_t n, AnyBad&& any_bad, Bad&& bad) {
  std::atomic<std::int64_t> found = n;
  parallel_ranges(n, kEntriesOfATask, [&](std::int64_t first, std::int64_t last) {
    if (first > found.load(std::memory_order_relaxed) || !any_bad(first, last)) return;
    while (first < last && !bad(first)) ++first;
    auto known = found.load();
    while (first < known && !found.compare_exchange_weak(known, first)) {}
  });
  return found;
}

void check_indices(const CooIndices& indices, std::int64_t n, std::int64_t extent, const char* what) {
  const auto outside = [&](std::int64_t i) {
    return static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(extent);
  };
  const auto any_outside = [&]<class T>(const T* data, std::int64_t first, std::int64_t last) {
    T low = 0, high = -1;  // no early exit: this way it vectorises
    for (auto k = first; k < last; ++k) low = std::min(low, data[k]), high = std::max(high, data[k]);
    return low < 0 || high >= extent;
  };
  const auto k = first_bad(
      n,
      [&](std::int64_t first, std::int64_t last) {
        return indices.wide ? any_outside(static_cast<const std::int64_t*>(indices.data), first, last)
                            : any_outside(static_cast<const std::int32_t*>(indices.data), first, last);
      },
      [&](std::int64_t i) { return outside(indices[i]); });
  if (k < n) refuse_entry(what, k, indices[k], extent);
}

/// Throws unless the diagonal is its own mirror image: zero in a skew-symmetric matrix, real in a hermitian one.
template <class V>
void check_diagonal(const CooView<V>& coo, Mirror mirror) {
  const bool skew = mirror == Mirror::skew;
  if constexpr (is_pattern<V>) {
    if (skew)
      throw Error(Errc::invalid_argument,
                  "mirror \"skew\" needs values: a pattern has no sign to turn; use \"symmetric\"");
  } else {
    // A NaN with a real value counts as its own mirror image.
    const auto differs = [&](V v) {
      if (skew) return v != V{};
      if constexpr (std::same_as<V, Complex64> || std::same_as<V, Complex128>) return v.imag() != 0;
      return false;
    };
    const auto bad = [&](std::int64_t k) { return coo.row[k] == coo.col[k] && differs(coo.values[k]); };
    const auto any_bad = [&](std::int64_t first, std::int64_t last) {
      while (first < last && !bad(first)) ++first;
      return first < last;
    };
    const auto k = first_bad(coo.entries, any_bad, bad);
    if (k == coo.entries) return;
    throw Error(Errc::invalid_argument, "entry " + std::to_string(k) + " is " +
                                            (skew ? "a nonzero" : "not real and") +
                                            " on the diagonal, at row " + std::to_string(coo.row[k]) +
                                            (skew ? ": a skew-symmetric matrix has zeros there; "
                                                  : ": a hermitian matrix has real numbers there; ") +
                                            "correct the entry or read the matrix as general");
  }
}

template <class V>
void check(const CooView<V>& coo, Mirror mirror) {
  constexpr std::int64_t kMaxCols = std::numeric_limits<Index>::max();
  const auto shape = std::to_string(coo.rows) + " x " + std::to_string(coo.cols);
  require(coo.rows >= 0 && coo.cols >= 0,
          "a shape of " + shape + " is negative: give the number of rows and columns");
  require(
      coo.cols <= kMaxCols,
      std::to_string(coo.cols) + " columns exceed 2^31 - 1: split the matrix by columns, or distribute it");
  require(mirror == Mirror::none || coo.rows == coo.cols,
          "a symmetric, skew or hermitian matrix is square, this one is " + shape +
              ": correct the shape or use mirror \"none\"");
  check_indices(coo.row, coo.entries, coo.rows, "row");
  check_indices(coo.col, coo.entries, coo.cols, "column");
  if (mirror == Mirror::skew || mirror == Mirror::hermitian) check_diagonal(coo, mirror);
}

template <class V>
struct CooSource {
  const CooView<V>& coo;
  Mirror mirror;

  std::int64_t units() const { return coo.entries; }
  std::int64_t max_per_unit() const { return mirror == Mirror::none ? 1 : 2; }

  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    if (coo.row.wide || coo.col.wide) return walk(coo.row, coo.col, first, last, emit);
    walk(static_cast<const std::int32_t*>(coo.row.data), static_cast<const std::int32_t*>(coo.col.data),
         first, last, emit);
  }

 private:
  template <class R, class C, class Emit>
  void walk(R row, C col, std::int64_t first, std::int64_t last, Emit& emit) const {
    for (auto k = first; k < last; ++k) {
      V value{};
      if constexpr (!is_pattern<V>) value = coo.values[k];
      const std::int64_t i = row[k], j = col[k];
      emit(i, j, value);
      if (mirror != Mirror::none && i != j) emit(j, i, mirrored(mirror, value));
    }
  }
};

/// Whether the entries come row by row, with ascending columns, and none twice. Most files and libraries write them so.
template <class V>
bool in_order(const CooView<V>& coo) {
  if (coo.row.wide || coo.col.wide) return false;
  const auto* row = static_cast<const std::int32_t*>(coo.row.data);
  const auto* col = static_cast<const std::int32_t*>(coo.col.data);
  const auto after = [&](std::int64_t k) {
    return row[k] > row[k - 1] || (row[k] == row[k - 1] && col[k] > col[k - 1]);
  };
  std::atomic<bool> ordered = true;
  parallel_ranges(coo.entries, kEntriesOfATask, [&](std::int64_t first, std::int64_t last) {
    for (auto k = std::max<std::int64_t>(first, 1); k < last; ++k)
      if (!after(k)) return ordered.store(false, std::memory_order_relaxed);
  });
  return ordered;
}

/// The matrix of entries that are in order: columns and values are copied, row offsets are computed.
template <class V>
Csr<V> from_ordered(const CooView<V>& coo) {
  const auto* row = static_cast<const std::int32_t*>(coo.row.data);
  const auto* col = static_cast<const std::int32_t*>(coo.col.data);
  const auto indptr = allocate<Offset>(coo.rows + 1);
  const auto indices = allocate<Index>(coo.entries);
  Csr<V> out{coo.rows, coo.cols, indptr, indices, {}};
  Array<V> values;
  if constexpr (!is_pattern<V>) out.values = values = allocate<V>(coo.entries);
  parallel_ranges(coo.entries, kEntriesOfATask, [&](std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k)
      for (auto r = k == 0 ? 0 : std::int64_t{row[k - 1]} + 1; r <= row[k]; ++r) indptr.data[r] = k;
    std::copy(col + first, col + last, indices.data + first);
    if constexpr (!is_pattern<V>) std::copy(coo.values + first, coo.values + last, values.data + first);
  });
  const auto behind = coo.entries == 0 ? 0 : std::int64_t{row[coo.entries - 1]} + 1;
  std::fill(indptr.data + behind, indptr.data + coo.rows + 1, coo.entries);
  return out;
}

}  // namespace

void refuse_entry(const char* what, std::int64_t entry, std::int64_t index, std::int64_t extent) {
  throw Error(Errc::invalid_argument,
              std::string(what) + " index " + std::to_string(index) + " at entry " + std::to_string(entry) +
                  " is outside [0, " + std::to_string(extent) + "): " +
                  (index == extent ? "are the indices one-based?" : "the shape or the indices are wrong"));
}

template <class V>
Csr<V> coo_to_csr(const CooView<V>& coo, const CooOptions& options) {
  check(coo, options.mirror);
  if (options.mirror == Mirror::none && in_order(coo)) return from_ordered(coo);
  return assemble<V>(coo.rows, coo.cols, CooSource<V>{coo, options.mirror}, options.sum_duplicates);
}

template Csr<One> coo_to_csr(const CooView<One>&, const CooOptions&);
template Csr<float> coo_to_csr(const CooView<float>&, const CooOptions&);
template Csr<double> coo_to_csr(const CooView<double>&, const CooOptions&);
template Csr<Complex64> coo_to_csr(const CooView<Complex64>&, const CooOptions&);
template Csr<Complex128> coo_to_csr(const CooView<Complex128>&, const CooOptions&);

}  // namespace penstock
