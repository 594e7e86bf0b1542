// Takes eight doubles or sixteen floats of consecutive rows at a time. The end of a run is masked.
#include "penstock/kernel/lanes_avx512.hpp"
#include "penstock/kernel/spmv/spmv_blocked.hpp"
#include "penstock/kernel/spmv/spmv_stencil.hpp"

namespace penstock::avx512 {
namespace {

template <class T>
constexpr std::int64_t kWidth = Lanes<T>::kWidth;

/// A run with the same coefficients in all rows (1 for a pattern): four vectors of rows share each coefficient.
template <class T, class V>
void shared(const StencilArgs<T, V>& p) {
  using L = Lanes<T>;
  constexpr auto w = kWidth<T>;
  auto row = p.first;
  const auto step = [&](typename L::Vec sum, typename L::Vec c, typename L::Vec x) {
    if constexpr (is_pattern<V>) return L::add(sum, x);
    else return L::fma(c, x, sum);
  };
  const auto coefficient = [&]([[maybe_unused]] std::int64_t j) {
    if constexpr (is_pattern<V>) return L::zero();
    else return L::all(p.values[j]);
  };
  constexpr auto all = static_cast<typename L::Mask>(~0u);
  for (; row + 4 * w <= p.last; row += 4 * w) {
    auto a = L::zero(), b = a, c = a, d = a;
    for (std::int64_t j = 0; j < p.length; ++j) {
      const T* x = p.x + p.columns[j] + row;
      const auto k = coefficient(j);
      a = step(a, k, L::load(x)), b = step(b, k, L::load(x + w));
      c = step(c, k, L::load(x + 2 * w)), d = step(d, k, L::load(x + 3 * w));
    }
    T* out = p.out + (row - p.first);
    L::store(all, out, a), L::store(all, out + w, b), L::store(all, out + 2 * w, c),
        L::store(all, out + 3 * w, d);
  }
  for (; row < p.last; row += w) {
    const auto left = p.last - row;
    const auto m = left >= w ? all : static_cast<typename L::Mask>((1u << left) - 1);
    auto sum = L::zero();
    for (std::int64_t j = 0; j < p.length; ++j)
      sum = step(sum, coefficient(j), L::load(m, p.x + p.columns[j] + row));
    L::store(m, p.out + (row - p.first), sum);
  }
}

// How many bytes ahead values are prefetched, which are read once from memory. With 2 KB, a band of 33 diagonals and 1 M rows
// ran at 7.3 GFLOP/s, without prefetching at 5.6, and with 4 and 8 KB at 6.6.
constexpr std::size_t kAhead = 2048;

template <class T>
void own(const StencilArgs<T, T>& p) {
  using L = Lanes<T>;
  constexpr auto w = kWidth<T>;
  for (auto row = p.first; row < p.last; row += w) {
    const auto left = p.rows - row;
    const auto count = left >= w ? w : left;
    const auto m = static_cast<typename L::Mask>(count == w ? ~0u : (1u << count) - 1);
    const T* v = p.values + row * p.length;
    auto sum = L::zero();
    if (count == w) {
      for (std::int64_t j = 0; j < p.length; ++j, v += w) {
        __builtin_prefetch(v + kAhead / sizeof(T));
        sum = L::fma(L::load(v), L::load(p.x + p.columns[j] + row), sum);
      }
    } else {
      for (std::int64_t j = 0; j < p.length; ++j, v += count)
        sum = L::fma(L::load(m, v), L::load(m, p.x + p.columns[j] + row), sum);
    }
    L::store(m, p.out + (row - p.first), sum);
  }
}

}  // namespace

template <class T, class V>
void stencil(const StencilArgs<T, V>& p) {
  if constexpr (is_pattern<V>) shared(p);
  else if (p.shared) shared(p);
  else own<T>(p);
}

#define X(T, V) template void stencil<T, V>(const StencilArgs<T, V>&);
PENSTOCK_FOR_EACH_PLANNED(X)
#undef X

}  // namespace penstock::avx512
