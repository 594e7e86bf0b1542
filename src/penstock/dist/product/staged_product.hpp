#pragma once
#include "penstock/dist/product/device_stage.hpp"
#include "penstock/dist/product/dist_product_gpu.hpp"

namespace penstock {

/// DistProductGpu for vectors that are anywhere: what the rank's device cannot use in place is copied there and back. A
/// product is complete on return. One thread at a time.
template <class V>
class StagedProduct {
 public:
  /// Throws what DistProductGpu throws. Collective.
  StagedProduct(DistCsr<V> a, DistGpuOptions options, Staging staging = Staging::where_needed)
      : stage_(options.where, staging), on_device_(std::move(a), std::move(options)) {}

  /// y = alpha A x + beta y over S, or with A^T where `transposed`, of `columns` vectors, row-major; `times` such products
  /// are queued one after the other. Throws Error{comm} where another rank fails or does not come; then no product is
  /// possible afterwards, and nobody uses x and y any more. Collective.
  template <Semiring S>
  void multiply_columns(const typename S::value_type* x, typename S::value_type* y, std::int64_t columns,
                        Scale<S> scale, bool transposed = false, int times = 1);

  DistProductGpu<V>& on_device() { return on_device_; }
  const DistProductGpu<V>& on_device() const { return on_device_; }
  const DistCsr<V>& matrix() const { return on_device_.matrix(); }
  DeviceStage& stage() { return stage_; }

 private:
  DeviceStage stage_;
  DistProductGpu<V> on_device_;
};

}  // namespace penstock
