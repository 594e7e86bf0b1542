#include "penstock/format/csr.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSamples = 1024;
constexpr std::int64_t kMappedSamples = 64;  // each may wait for the disk
constexpr std::int64_t kGrain = 1 << 18;

[[noreturn]] void fault(const std::string& what) { throw Error(Errc::invalid_argument, what); }

void check_row(std::span<const Offset> indptr, std::int64_t row) {
  const auto r = static_cast<std::size_t>(row);
  if (indptr[r + 1] < indptr[r])
    fault("indptr falls from " + std::to_string(indptr[r]) + " to " + std::to_string(indptr[r + 1]) +
          " at row " + std::to_string(row) + ": row offsets must not decrease");
}

void check_index(std::span<const Index> indices, std::int64_t k, std::int64_t cols) {
  const auto column = indices[static_cast<std::size_t>(k)];
  if (column < 0 || column >= cols)
    fault("column index " + std::to_string(column) + " at position " + std::to_string(k) +
          " is outside [0, " + std::to_string(cols) +
          "): " + (column == cols ? "are the indices one-based?" : "the shape or the indices are wrong"));
}

}  // namespace

template <class V>
void validate(const Csr<V>& a, bool every_index) {
  constexpr std::int64_t kMaxCols = std::numeric_limits<Index>::max();
  if (a.rows < 0 || a.cols < 0)
    fault("a shape of " + std::to_string(a.rows) + " x " + std::to_string(a.cols) + " is negative");
  if (a.cols > kMaxCols)
    fault(std::to_string(a.cols) + " columns exceed 2^31 - 1: split the matrix by columns, or distribute it");
  const auto indptr = a.indptr.span();
  const auto indices = a.indices.span();
  if (a.indptr.size != a.rows + 1)
    fault("indptr has " + std::to_string(a.indptr.size) + " entries, a matrix of " + std::to_string(a.rows) +
          " rows needs " + std::to_string(a.rows + 1));
  if (indptr.front() != 0) fault("indptr starts at " + std::to_string(indptr.front()) + ", not at 0");
  if (indptr.back() != a.nnz())
    fault("indptr ends at " + std::to_string(indptr.back()) + ", but there are " + std::to_string(a.nnz()) +
          " indices");
  if (!is_pattern<V> && a.values.size != a.nnz())
    fault("there are " + std::to_string(a.values.size) + " values for " + std::to_string(a.nnz()) +
          " indices");
  if (every_index) {
    parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (auto r = first; r < last; ++r) check_row(indptr, r);
    });
    parallel_ranges(a.nnz(), kGrain, [&](std::int64_t first, std::int64_t last) {
      const auto part =
          indices.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
      std::uint32_t largest = 0;  // a negative index is a huge unsigned one
      for (const auto column : part) largest = std::max(largest, static_cast<std::uint32_t>(column));
      if (static_cast<std::int64_t>(largest) >= a.cols)
        for (auto k = first; k < last; ++k) check_index(indices, k, a.cols);
    });
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

template void validate(const Csr<One>&, bool);
template void validate(const Csr<float>&, bool);
template void validate(const Csr<double>&, bool);
template void validate(const Csr<Complex64>&, bool);
template void validate(const Csr<Complex128>&, bool);

}  // namespace penstock
