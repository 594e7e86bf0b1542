#include "penstock/format/csr.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/faults.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSamples = 1024;
constexpr std::int64_t kMappedSamples = 64;  // each may wait for the disk
constexpr std::int64_t kCheckedAtOnce = 1 << 18;

[[noreturn]] void fault(const std::string& what) { throw Error(Errc::invalid_argument, what); }

void check_row(std::span<const Offset> indptr, std::int64_t row) {
  const auto r = static_cast<std::size_t>(row);
  if (indptr[r + 1] < indptr[r]) refuse_offsets(row, indptr[r], indptr[r + 1]);
}

void check_index(std::span<const Index> indices, std::int64_t k, std::int64_t cols) {
  const auto column = indices[static_cast<std::size_t>(k)];
  if (column < 0 || column >= cols) refuse_column(k, column, cols);
}

}  // namespace

void refuse_offsets(std::int64_t row, Offset first, Offset last) {
  if (first < 0)
    fault("indptr holds " + std::to_string(first) + " at row " + std::to_string(row) +
          ": row offsets are 0 or more");
  fault("indptr falls from " + std::to_string(first) + " to " + std::to_string(last) + " at row " +
        std::to_string(row) + ": row offsets must not decrease");
}

void refuse_column(Offset k, std::int64_t column, std::int64_t cols) {
  fault("column index " + std::to_string(column) + " at position " + std::to_string(k) + " is outside [0, " +
        std::to_string(cols) +
        "): " + (column == cols ? "are the indices one-based?" : "the shape or the indices are wrong"));
}

template <class V>
void validate_offsets(const Csr<V>& a, std::int64_t first, std::int64_t last) {
  const auto* const at = a.indptr.data;
  if (at[first] < 0 || at[last] > a.nnz())
    fault("the offsets of rows " + std::to_string(first) + " to " + std::to_string(last) + " in indptr are " +
          std::to_string(at[first]) + " and " + std::to_string(at[last]) + ", outside the " +
          std::to_string(a.nnz()) + " entries");
  parallel_ranges(last - first, kCheckedAtOnce, [&](std::int64_t r, std::int64_t end) {
    // All numbers that must not be negative are combined by OR, whose sign bit then says whether there is a fault: a loop that
    // becomes vector code. Up to the first fault offsets are 0 or more, so that the differences are exact.
    std::uint64_t signs = static_cast<std::uint64_t>(at[first + r]);
    for (auto i = first + r; i < first + end; ++i) {
      const auto low = static_cast<std::uint64_t>(at[i]), high = static_cast<std::uint64_t>(at[i + 1]);
      signs |= high | (high - low);
    }
    if (signs >> 63 != 0) {
      for (auto i = first + r; i < first + end; ++i) check_row(a.indptr.span(), i);
      fault("indptr holds " + std::to_string(at[first + r]) + " at row " + std::to_string(first + r) +
            ": row offsets are 0 or more");
    }
    poll_interrupt();
  });
}

template <class V>
void validate_indices(const Csr<V>& a, Offset first, Offset last) {
  const auto* const columns = a.indices.data;
  const auto largest = static_cast<std::uint32_t>(a.cols - 1);
  parallel_ranges(last - first, kCheckedAtOnce, [&](Offset k, Offset end) {
    std::uint32_t signs = static_cast<std::uint32_t>(a.cols - 1);  // set where there is no column at all
    for (auto i = first + k; i < first + end; ++i) {
      const auto column = static_cast<std::uint32_t>(columns[i]);
      signs |= column | (largest - column);
    }
    if (signs >> 31 != 0)
      for (auto i = first + k; i < first + end; ++i) check_index(a.indices.span(), i, a.cols);
    poll_interrupt();
  });
}

template <class V>
void validate_sizes(const Csr<V>& a, Offset first, Offset last) {
  constexpr std::int64_t kMaxCols = std::numeric_limits<Index>::max();
  if (a.rows < 0 || a.cols < 0)
    fault("a shape of " + std::to_string(a.rows) + " x " + std::to_string(a.cols) + " is negative");
  if (a.cols > kMaxCols)
    fault(std::to_string(a.cols) + " columns exceed 2^31 - 1: split the matrix by columns, or distribute it");
  if (a.indptr.size != a.rows + 1)
    fault("indptr has " + std::to_string(a.indptr.size) + " entries, a matrix of " + std::to_string(a.rows) +
          " rows needs " + std::to_string(a.rows + 1));
  if (first != 0) fault("indptr starts at " + std::to_string(first) + ", not at 0");
  if (last != a.nnz())
    fault("indptr ends at " + std::to_string(last) + ", but there are " + std::to_string(a.nnz()) +
          " indices");
  if (!is_pattern<V> && a.values.size != a.nnz())
    fault("there are " + std::to_string(a.values.size) + " values for " + std::to_string(a.nnz()) +
          " indices");
}

template <class V>
void validate(const Csr<V>& a, bool every_index) {
  const auto indptr = a.indptr.span();
  const auto indices = a.indices.span();
  validate_sizes(a, indptr.empty() ? 0 : indptr.front(), indptr.empty() ? 0 : indptr.back());
  if (every_index) {
    validate_offsets(a, 0, a.rows);
    validate_indices(a, 0, a.nnz());
    return;
  }
  const ReadsAlone few_rows(a.indptr), few_indices(a.indices);
  const auto samples = a.indices.place.memory == Memory::mapped ? kMappedSamples : kSamples;
  for (std::int64_t i = 0; i < samples; ++i) {
    if (a.rows > 0) few_rows.announce(&indptr[static_cast<std::size_t>(i * a.rows / samples)]);
    if (a.nnz() > 0) few_indices.announce(&indices[static_cast<std::size_t>(i * a.nnz() / samples)]);
  }
  for (std::int64_t i = 0; i < samples && a.rows > 0; ++i) check_row(indptr, i * a.rows / samples);
  for (std::int64_t i = 0; i < samples && a.nnz() > 0; ++i)
    check_index(indices, i * a.nnz() / samples, a.cols);
}

#define X(V)                                                                 \
  template void validate(const Csr<V>&, bool);                               \
  template void validate_sizes(const Csr<V>&, Offset, Offset);               \
  template void validate_offsets(const Csr<V>&, std::int64_t, std::int64_t); \
  template void validate_indices(const Csr<V>&, Offset, Offset);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
