#include "penstock/kernel/spgemm/spgemm_scan.hpp"

#include <bit>
#include <cstring>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"

namespace penstock {
namespace {

template <class T>
std::int64_t baseline(const ScanArgs<T>& p) {
  auto* columns = p.columns;
  auto* values = p.values;
  for (std::int64_t g = 0; g < p.count; ++g) {
    if (!p.all && !p.groups[g]) continue;
    p.groups[g] = 0;
    for (std::int64_t at = g * 64; at < g * 64 + 64; at += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, p.flags + at, 8);
      if (eight == 0) continue;
      std::memset(p.flags + at, 0, 8);
      for (; eight != 0; eight &= eight - 1) {  // a flag is one bit of its byte
        const auto i = at + std::countr_zero(eight) / 8;
        *columns++ = p.first + static_cast<Index>(i);
        if constexpr (!std::same_as<T, std::uint8_t>) {
          *values++ = p.sums[i];
          p.sums[i] = p.zero;
        }
      }
    }
  }
  return columns - p.columns;
}

template <class T>
inline constexpr bool has_avx512 =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::uint8_t>;

}  // namespace

template <class T>
ScanKernel<T> scan_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86 && has_avx512<T>)
    if (simd_level() == Simd::avx512) return avx512::scan<T>;
  return baseline<T>;
}

template ScanKernel<float> scan_kernel<float>();
template ScanKernel<double> scan_kernel<double>();
template ScanKernel<Complex64> scan_kernel<Complex64>();
template ScanKernel<Complex128> scan_kernel<Complex128>();
template ScanKernel<std::uint8_t> scan_kernel<std::uint8_t>();

}  // namespace penstock
