#include "penstock/kernel/spgemm/spgemm_tiny.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"

namespace penstock {
namespace {

/// Width is a constant so that the inner loops become a few vector instructions.
template <int Width>
int ranks_of(const Index* columns, int n, Index* places) {
  Index place[Width] = {};
  int different = 0;
  for (int i = 0; i < n; ++i) {
    const auto c = columns[i];
    Index earlier = 0;
    for (int j = 0; j < Width; ++j) earlier += (columns[j] == c) & (j < i);
    const Index first = earlier == 0;
    different += first;
    for (int j = 0; j < Width; ++j) place[j] += (c < columns[j]) & first;
  }
  for (int j = 0; j < Width; ++j) places[j] = place[j];
  return different;
}

}  // namespace

int unique_ranks(const Index* columns, int n, Index* places) {
  return n <= 8 ? ranks_of<8>(columns, n, places) : ranks_of<kTiny>(columns, n, places);
}

template <class T>
TinyKernel<T> tiny_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx512) return avx512::tiny<T>;
  return nullptr;
}

template TinyKernel<float> tiny_kernel<float>();
template TinyKernel<double> tiny_kernel<double>();

}  // namespace penstock
