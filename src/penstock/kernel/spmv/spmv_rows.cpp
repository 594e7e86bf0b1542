#include "penstock/kernel/spmv/spmv_rows.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"

namespace penstock {
namespace {

/// Four sums are computed side by side: the baseline instruction set needs that many to keep its adders busy.
template <class T, class V>
void baseline(const RowsArgs<T, V>& p) {
  const auto product = [&](Offset k) {
    if constexpr (is_pattern<V>) return p.x[p.indices[k]];
    else return static_cast<T>(p.values[k]) * p.x[p.indices[k]];
  };
  for (auto r = p.first; r < p.last; ++r) {
    T a = 0, b = 0, c = 0, d = 0;
    Offset k = p.indptr[r];
    const Offset end = p.indptr[r + 1];
    for (; k + 4 <= end; k += 4)
      a += product(k), b += product(k + 1), c += product(k + 2), d += product(k + 3);
    for (; k < end; ++k) a += product(k);
    p.out[r - p.first] = (a + b) + (c + d);
    read_ahead(p, p.indptr[r], end);
  }
}

}  // namespace

template <class T, class V>
RowsKernel<T, V> rows_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86) {
    if (simd_level() == Simd::avx512) return avx512::rows<T, V>;
    if (simd_level() == Simd::avx2) return avx2::rows<T, V>;
  }
  return baseline<T, V>;
}

#define X(T, V) template RowsKernel<T, V> rows_kernel<T, V>();
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock
