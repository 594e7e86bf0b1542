#include "penstock/kernel/spgemm/spgemm_few.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"

namespace penstock {

FewSort few_sort() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx2) return avx2::sort_few;
  return nullptr;
}

template <class T>
FewRowsKernel<T> few_rows_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx2) return avx2::few_rows<T>;
  return nullptr;
}

template FewRowsKernel<float> few_rows_kernel<float>();
template FewRowsKernel<double> few_rows_kernel<double>();

}  // namespace penstock
