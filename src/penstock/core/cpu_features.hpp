#pragma once
#include <string_view>

namespace penstock {

/// The widest vectors that a kernel may use, decided once at run time. Each level of a kernel is a file of its own.
enum class Simd { scalar, avx2, avx512, neon };

/// What this CPU and its operating system support, lowered by PENSTOCK_SIMD=scalar|avx2|avx512|neon if that is set.
Simd simd_level();
std::string_view name(Simd);

}  // namespace penstock
