#pragma once
#include <algorithm>

#include "penstock/kernel/structure/steps.hpp"

namespace penstock {

/// Memory of the stream's device for `count` entries.
template <class T>
Array<T> memory_on(std::int64_t count, Stream stream) {
  return allocate<T>(std::max<std::int64_t>(count, 1), device_place(stream.where)).slice(0, count);
}

/// A matrix whose rows have been counted, and the entries that it will have.
template <class V>
struct Counted {
  Csr<V> matrix;  // no entries yet
  Offset nnz = 0;
};

/// count(out) writes the lengths of the rows, and 0 behind them. It waits for the stream.
template <class V, class F>
Counted<V> counted_on(std::int64_t rows, std::int64_t cols, Stream stream, F&& count) {
  const auto indptr = memory_on<Offset>(rows + 1, stream);
  count(indptr.data);
  prefix_sums(indptr.data, rows + 1, stream);
  return {{rows, cols, indptr, {}, {}}, fetch(indptr.data + rows, stream)};
}

}  // namespace penstock
