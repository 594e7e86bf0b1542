#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// y = A x for vectors that live with a device: all that an iterative method with its vectors there asks of a matrix,
/// wherever the matrix is.
template <class T>
struct DeviceOp {
  std::int64_t rows = 0, cols = 0;
  /// Whose memory x and y are in. The CPU is a device, too; one with apply_host is asked by methods for host vectors.
  Where where = {};
  /// Ordered on the stream, which is of `where`.
  std::function<void(const T* x, T* y, Stream stream)> apply = {};
  /// Whether apply waits for the stream and returns when y is complete: nothing is gained by queueing more.
  bool waits = false;
  /// The same for vectors in host memory; may be empty: they then travel to the device and back.
  std::function<void(std::span<const T> x, std::span<T> y)> apply_host = {};
  /// Least bytes that one application reads besides x, from now on; may be empty.
  std::function<std::int64_t()> matrix_bytes = {};
};

/// In core on the GPU that holds the matrix; on the CPU where it is in host memory. Throws Error{not_accessible} where its
/// arrays are not all within reach of one of them.
template <class T, class V>
DeviceOp<T> device_op(const Csr<V>& a);

/// An application to vectors in host memory: by apply_host, or staged through memory that is taken once.
template <class T>
std::function<void(std::span<const T>, std::span<T>)> staged(const DeviceOp<T>& a);

}  // namespace penstock
