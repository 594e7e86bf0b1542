#include "penstock/kernel/vectors/accumulate.hpp"

#include <atomic>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"

namespace penstock {

template <class T>
void accumulate(T* sums, const T* values, std::int64_t count, Stream stream) {
  if (count == 0) return;
  if (!stream.where.is_gpu()) {
    for (std::int64_t i = 0; i < count; ++i)
      std::atomic_ref(sums[i]).fetch_add(values[i], std::memory_order_relaxed);
    return;
  }
  if constexpr (have_cuda) gpu::accumulate(sums, values, count, stream);
  else no_cuda("accumulate on a GPU");
}

template void accumulate<float>(float*, const float*, std::int64_t, Stream);
template void accumulate<double>(double*, const double*, std::int64_t, Stream);

}  // namespace penstock
