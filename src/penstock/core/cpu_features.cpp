#include "penstock/core/cpu_features.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::string_view kNames[] = {"scalar", "avx2", "avx512", "neon"};

Simd detect() {
#if defined(__x86_64__)  // rules: ok, the compiler's own macro: __builtin_cpu_supports exists there alone
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return Simd::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Simd::avx2;
  return Simd::scalar;
#elif defined(__aarch64__)  // rules: ok
  return Simd::neon;
#else
  return Simd::scalar;
#endif
}

Simd lowered(Simd found) {
  const char* set = std::getenv("PENSTOCK_SIMD");
  const std::string_view wish = set ? set : "";
  if (wish.empty()) return found;
  require(std::ranges::find(kNames, wish) != std::end(kNames),
          "PENSTOCK_SIMD=" + std::string(wish) + " is unknown: choose scalar, avx2, avx512 or neon");
  if (wish == kNames[0]) return Simd::scalar;
  if (wish == kNames[1] && found == Simd::avx512) return Simd::avx2;
  return found;  // PENSTOCK_SIMD asks for more than this CPU has: it gets what there is
}

}  // namespace

Simd simd_level() {
  static const Simd level = lowered(detect());
  return level;
}
std::string_view name(Simd level) { return kNames[static_cast<int>(level)]; }

}  // namespace penstock
