#pragma once
#include <algorithm>

#include "penstock/kernel/structure/steps.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {

/// Memory of the stream's device for `count` entries.
template <class T>
Array<T> memory_on(std::int64_t count, Stream stream) {
  return allocate<T>(std::max<std::int64_t>(count, 1), device_place(stream.where)).slice(0, count);
}

/// The same for what does not outlive the stream: taken and given back in its order.
template <class T>
Array<T> scratch_on(std::int64_t count, Stream stream) {
  const auto owner = allocate_scratch(std::max<std::int64_t>(count, 1) * std::int64_t{sizeof(T)}, stream);
  return {static_cast<T*>(owner.get()), count, device_place(stream.where), owner};
}

/// Such vectors of n entries, which begin where passes can read them.
template <class T>
class ScratchVectors {
 public:
  ScratchVectors(std::int64_t n, int vectors, Stream stream)
      : stride_((n + kEntries - 1) / kEntries * kEntries),
        memory_(scratch_on<T>(stride_ * vectors, stream)) {}
  T* operator[](int i) const { return memory_.data + i * stride_; }

 private:
  static constexpr std::int64_t kEntries = 64;
  std::int64_t stride_;
  Array<T> memory_;
};

/// Sums that passes leave where the host reads them.
class HostSums {
 public:
  explicit HostSums(Stream stream)
      : sums_(allocate<double>(kMostSums, stream.where.is_gpu() ? Place{Memory::pinned} : Place{})),
        stream_(stream) {}
  double* out() const { return sums_.data; }
  const double* get() const { return get(stream_); }
  /// Of passes on another stream.
  const double* get(Stream stream) const {
    synchronize(stream);
    return sums_.data;
  }

 private:
  Array<double> sums_;
  Stream stream_;
};

/// A matrix whose rows have been counted, and the entries that it will have.
template <class V>
struct Counted {
  Csr<V> matrix;  // no entries yet
  Offset nnz = 0;
};

/// count(out) writes the lengths of the rows, and 0 behind them. It waits for the stream. The offsets are scratch memory.
template <class V, class F>
Counted<V> counted_on(std::int64_t rows, std::int64_t cols, Stream stream, F&& count) {
  const auto indptr = scratch_on<Offset>(rows + 1, stream);
  count(indptr.data);
  prefix_sums(indptr.data, rows + 1, stream);
  return {{rows, cols, indptr, {}, {}}, fetch(indptr.data + rows, stream)};
}

}  // namespace penstock
