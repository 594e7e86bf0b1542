#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "penstock/format/csr.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/kernel/spmv/spmv_gpu.hpp"

namespace penstock {

/// A matrix in one GPU's memory, for products with vectors that are there too. A product queues its kernels on the caller's
/// stream and returns; nothing waits, and no memory but stream-ordered scratch is taken, so it can be captured into a CUDA
/// graph. Any number of threads and streams may use it at once. What depends on the matrix alone is found out at the first
/// product with entries of a size, which waits for the GPU. With the CPU as the device all is done when the call returns.
template <class V>
class DeviceProduct {
 public:
  /// Throws Error{not_accessible} unless all of the matrix's arrays are in the memory of `where`; with `in_place`, unless it reads
  /// them, which may be over the link.
  DeviceProduct(Csr<V> a, Where where, bool in_place = false);
  /// Waits for what is queued: the arrays may be freed next.
  ~DeviceProduct();
  DeviceProduct(const DeviceProduct&) = delete;
  DeviceProduct& operator=(const DeviceProduct&) = delete;

  const Csr<V>& matrix() const { return a_; }
  Where where() const { return where_; }

  /// y = alpha A x + beta y; the vectors do not overlap.
  template <Semiring S>
  void multiply(const typename S::value_type* x, typename S::value_type* y, Scale<S> scale, Stream stream);
  /// Y = alpha A X + beta Y; of any steps. What is not row-major is copied, some columns at a time.
  template <Semiring S>
  void multiply(DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
                Scale<S> scale, Stream stream);

 private:
  const SpmvGpuPlan& vector_plan(std::int64_t entry_bytes, Stream stream);
  const SpmmGpuPlan& columns_plan(Stream stream);

  Csr<V> a_;
  Where where_;
  std::mutex making_;
  std::array<std::atomic<const SpmvGpuPlan*>, 17> by_size_{};  // by bytes of an entry
  std::array<std::unique_ptr<const SpmvGpuPlan>, 17> plans_;
  std::atomic<const SpmmGpuPlan*> known_columns_ = nullptr;
  std::unique_ptr<const SpmmGpuPlan> columns_;
  std::atomic<bool> queued_ = false;
};

}  // namespace penstock
