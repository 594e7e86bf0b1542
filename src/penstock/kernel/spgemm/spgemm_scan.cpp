#include "penstock/kernel/spgemm/spgemm_scan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"

namespace penstock {
namespace {

/// Whether any of 64 groups was hit.
bool any_of_64(const std::uint8_t* groups) {
  std::uint64_t words[8];
  std::memcpy(words, groups, 64);
  return ((words[0] | words[1] | words[2] | words[3]) | (words[4] | words[5] | words[6] | words[7])) != 0;
}

template <class T>
std::int64_t baseline(const ScanArgs<T>& p) {
  auto* columns = p.columns;
  auto* values = p.values;
  const auto group = [&](std::int64_t g) {
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
  };
  for (std::int64_t begin = 0; begin < p.count; begin += 64) {
    if (!p.all && !any_of_64(p.groups + begin)) continue;  // most of a wide window of a short row
    const auto end = std::min(begin + 64, p.count);
    for (auto g = begin; g < end; ++g)
      if (p.all || p.groups[g]) group(g);
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
