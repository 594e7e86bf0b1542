#pragma once
#include <cstdint>
#include <functional>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/kernel/basis/basis_rows.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/kernel/vectors/sweep.hpp"
#include "penstock/schedule/device_op.hpp"

namespace penstock {

/// Vectors of a Krylov method in the memory of a device, as rows: products, orthogonalisation and changes of the basis without
/// a vector that travels. T is float or double. Calls return when their results are there; the device may still work on rows.
template <class T>
class DeviceBasis {
 public:
  DeviceBasis(std::int64_t rows, std::int64_t n, Where where);
  ~DeviceBasis();
  DeviceBasis(const DeviceBasis&) = delete;
  DeviceBasis& operator=(const DeviceBasis&) = delete;

  std::int64_t rows() const { return rows_.count; }
  std::int64_t columns() const { return rows_.n; }
  Where where() const { return stream_.get().where; }
  /// Device memory that so many rows take, with what sums need.
  static std::int64_t bytes(std::int64_t rows, std::int64_t n);

  /// From and to host memory, whose rows lie side by side.
  void put(std::int64_t first, std::int64_t count, const T* from);
  void get(std::int64_t first, std::int64_t count, T* to);
  /// Row `to` becomes factor A times row `from`.
  void multiply(const DeviceOp<T>& a, std::int64_t from, std::int64_t to, double factor);
  /// Rows to, ... become factor times what `apply` makes of the `count` rows from `from` on; they may be the same rows. It gets
  /// X and Y with a vector a column, row-major, and has done its work on the basis' stream when it returns.
  void multiply_block(std::int64_t from, std::int64_t to, std::int64_t count, double factor,
                      const std::function<void(DenseView<const T> x, DenseView<T> y, Stream stream)>& apply);
  /// apply(X, stream) for the `count` rows from `from` on as columns of a row-major X, where Y goes elsewhere.
  void beside_one_another(std::int64_t from, std::int64_t count,
                          const std::function<void(DenseView<const T> x, Stream stream)>& apply);
  /// Device memory that multiply_block takes beside the basis.
  static std::int64_t block_bytes(std::int64_t count, std::int64_t n) {
    return 2 * count * n * std::int64_t{sizeof(T)};
  }
  /// As basis_orthogonalise, of row `at` against the first `count` rows: h has `count` numbers, squares those before and after.
  void orthogonalise(std::int64_t count, std::int64_t near, std::int64_t at, double* h, double* squares);
  void scale(std::int64_t at, double by);
  void copy(std::int64_t from, std::int64_t to);
  /// row first + c = the sum over i of y[i * q + c] row first + i, of `size` rows, for c below q; y is in host memory.
  void rotate(std::int64_t first, std::int64_t size, std::int64_t q, const T* y);

 private:
  struct Owned : OwnedStream {
    using OwnedStream::OwnedStream;
    Stream get() const { return *this; }
  };
  struct Part {
    std::int64_t first = 0, end = 0;
  };
  /// Row `at` less the rows `taken` by f; then h has its products with the rows `met`, and with itself. f, h: of the GPU.
  void sweep(Part taken, const double* f, Part met, double* h, std::int64_t at);
  /// Brings all sums to where the host reads them, and waits.
  void tell();

  Owned stream_;
  SumParts no_sums_;
  Array<T> memory_;
  VectorRows<T> rows_;
  Array<double> parts_, sums_, here_;  // of a GPU: parts of sums, sums, and sums where the host reads them
};

}  // namespace penstock
