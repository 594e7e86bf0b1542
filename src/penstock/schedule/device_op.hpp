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
  /// The device in whose memory x and y are. The CPU is a device, too; where it has apply_host, methods for host vectors use
  /// that.
  Where where = {};
  /// y = A x, ordered on the stream, which is of `where`.
  std::function<void(const T* x, T* y, Stream stream)> apply = {};
  /// Whether apply waits for the stream and returns when y is complete: nothing is gained by queueing more.
  bool waits = false;
  /// The same for vectors in host memory. Where it is empty, they travel to the device and back.
  std::function<void(std::span<const T> x, std::span<T> y)> apply_host = {};
  /// y = A x to more precision, ordered on the stream: what residuals are computed by, where apply is of a rounded A.
  std::function<void(const T* x, T* y, Stream stream)> exact = {};
  /// Conjugate gradients compute the residual anew whenever it has come down to this part of the last one.
  double exact_at = 1e-2;
  /// The least bytes that one application reads from now on, x not counted. It may be empty.
  std::function<std::int64_t()> matrix_bytes = {};
};

/// The product in core: on the GPU that holds the matrix, or on the CPU where it is in host memory. Throws Error{not_accessible} where its
/// arrays are not all within reach of one of them.
template <class T, class V>
DeviceOp<T> device_op(const Csr<V>& a);

/// A function that computes y = A x for vectors in host memory: apply_host, or one that copies them through device memory,
/// which is taken once.
template <class T>
std::function<void(std::span<const T>, std::span<T>)> staged(const DeviceOp<T>& a);

}  // namespace penstock
