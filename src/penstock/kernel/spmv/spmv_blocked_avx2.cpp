// The product of a block: segments four entries at a time, with 16-bit columns, and single entries one by one.
#include "penstock/kernel/quads_avx2.hpp"
#include "penstock/kernel/spmv/spmv_blocked.hpp"

namespace penstock::avx2 {
namespace {

// How many bytes ahead a block's entries, which are read once, are prefetched.
constexpr std::size_t kAhead = 2048;

}  // namespace

template <class T, class V>
void block(const BlockArgs<T, V>& p) {
  T* __restrict y = p.y;
  const T* __restrict x = p.x;
  const auto* c = p.cols;
  const V* v = p.values;
  for (std::int64_t s = 0; s < p.segment_count; ++s) {
    const int n = p.segments[2 * s + 1];
    __builtin_prefetch(c + kAhead / sizeof(*c));
    if constexpr (!is_pattern<V>)
      for (int k = 0; k < n; k += 64 / int(sizeof(V))) __builtin_prefetch(v + k + kAhead / sizeof(V));
    y[p.segments[2 * s]] += dot<T, V>(c, v, x, n);
    c += n;
    if constexpr (!is_pattern<V>) v += n;
  }
  constexpr std::int64_t kStep = 16;  // single entries in a cache line
  for (std::int64_t first = 0; first < p.single_count; first += kStep) {
    __builtin_prefetch(p.singles + first + kAhead / sizeof(std::uint32_t));
    if constexpr (!is_pattern<V>)
      for (std::int64_t k = 0; k < kStep; k += 64 / std::int64_t(sizeof(V)))
        __builtin_prefetch(p.single_values + first + k + kAhead / sizeof(V));
    const auto last = first + kStep < p.single_count ? first + kStep : p.single_count;
    for (auto k = first; k < last; ++k) {
      const auto at = p.singles[k];
      if constexpr (is_pattern<V>) y[at >> 16] += x[at & 0xffff];
      else y[at >> 16] += p.single_values[k] * x[at & 0xffff];
    }
  }
}

#define X(T, V) template void block<T, V>(const BlockArgs<T, V>&);
PENSTOCK_FOR_EACH_PLANNED(X)
#undef X

}  // namespace penstock::avx2
