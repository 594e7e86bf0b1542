#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/io/random.hpp"

// Matrices whose rows are known one at a time are written straight into CSR, without triples.
namespace penstock {

/// Where one row's entries go, in ascending order of columns.
template <class V>
class RowWriter {
 public:
  RowWriter(Index* cols, V* values) : cols_(cols), values_(values) {}
  void operator()(std::int64_t column, [[maybe_unused]] double value = 1) {
    *cols_++ = static_cast<Index>(column);
    if constexpr (!is_pattern<V>) *values_++ = static_cast<V>(value);
  }

 private:
  Index* cols_;
  V* values_;
};

/// count(row) returns how many entries a row has, and write(row, writer) writes as many.
template <class V, class Count, class Write>
Csr<V> fill_rows(std::int64_t rows, std::int64_t cols, Count&& count, Write&& write) {
  constexpr std::int64_t kRows = 1 << 14;
  auto indptr = allocate<Offset>(rows + 1);
  std::vector<Offset> part(static_cast<std::size_t>((rows + kRows - 1) / kRows) + 1);
  parallel_ranges(rows, kRows, [&](std::int64_t first, std::int64_t last) {
    Offset sum = 0;
    for (auto r = first; r < last; ++r) indptr.data[r + 1] = sum += count(r);
    part[static_cast<std::size_t>(first / kRows) + 1] = sum;
  });
  for (std::size_t p = 1; p < part.size(); ++p) part[p] += part[p - 1];
  auto indices = allocate<Index>(part.back());
  auto values = allocate<V>(is_pattern<V> ? 0 : part.back());
  indptr.data[0] = 0;
  parallel_ranges(rows, kRows, [&](std::int64_t first, std::int64_t last) {
    const auto begin = part[static_cast<std::size_t>(first / kRows)];
    RowWriter<V> writer(indices.data + begin, is_pattern<V> ? nullptr : values.data + begin);
    for (auto r = first; r < last; ++r) {
      indptr.data[r + 1] += begin;
      write(r, writer);
    }
  });
  return {rows, cols, indptr, indices, values};
}

/// The pattern with the values that EntryValues gives.
template <class V>
Csr<V> with_uniform_values(const Csr<One>& a, std::uint64_t seed, bool symmetric) {
  if constexpr (is_pattern<V>) return a;
  else {
    auto values = allocate<V>(a.nnz());
    const EntryValues value(seed, symmetric);
    parallel_ranges(a.rows, 1 << 12, [&](std::int64_t first, std::int64_t last) {
      for (auto r = first; r < last; ++r)
        for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
          values.data[k] = value.template of<V>(r, a.indices.data[k]);
    });
    return {a.rows, a.cols, a.indptr, a.indices, values};
  }
}

}  // namespace penstock
