#include "penstock/kernel/spmm/spmm_rows.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/kernel/spmm/push_rows_loops.hpp"
#include "penstock/kernel/spmm/sddmm_loops.hpp"
#include "penstock/kernel/spmm/spmm_rows_loops.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock {
namespace {

/// Four entries, which compilers turn into vectors of the baseline instruction set. A mask is a range of them.
template <class T>
struct Four {
  struct Vec {
    T v[4];
  };
  struct Mask {
    int from, to;
  };
  static constexpr int kWidth = 4;
  template <class F>
  static Vec each(F f) {
    Vec r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = f(i);
    return r;
  }
  static Mask mask(int from, int to) { return {from, to}; }
  static Vec zero() { return {}; }
  static Vec all(T v) { return {v, v, v, v}; }
  static Vec load(const T* p) { return {p[0], p[1], p[2], p[3]}; }
  static Vec load(Mask m, const T* p) {
    return each([&](int i) { return i >= m.from && i < m.to ? p[i] : T(0); });
  }
  static Vec add(Vec a, Vec b) {
    return each([&](int i) { return a.v[i] + b.v[i]; });
  }
  static Vec mul(Vec a, Vec b) {
    return each([&](int i) { return a.v[i] * b.v[i]; });
  }
  static Vec fma(Vec a, Vec b, Vec c) {
    return each([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
  }
  static void store(T* p, Vec v) { store({0, kWidth}, p, v); }
  static void store(Mask m, T* p, Vec v) {
    for (int i = m.from; i < m.to; ++i) p[i] = v.v[i];
  }
  static void stream(T* p, Vec v) { store(p, v); }
  static Vec blend(Mask m, Vec a, Vec b) {
    return each([&](int i) { return i >= m.from && i < m.to ? b.v[i] : a.v[i]; });
  }
  static void fence() {}
  /// p[i] = the sum of the lanes of s[i], for i < 4.
  static void store_sums(T* p, const Vec* s) {
    for (int i = 0; i < kWidth; ++i) p[i] = (s[i].v[0] + s[i].v[1]) + (s[i].v[2] + s[i].v[3]);
  }
};

}  // namespace

template <class T, class V>
SpmmKernels<T, V> spmm_kernels() {
  if constexpr (kSimdFamily == SimdFamily::x86) {
    if (simd_level() == Simd::avx512)
      return {avx512::spmm_rows<T, V>, avx512::spmm_scatter<T, V>, avx512::spmm_copy<T>};
    if (simd_level() == Simd::avx2)
      return {avx2::spmm_rows<T, V>, avx2::spmm_scatter<T, V>, avx2::spmm_copy<T>};
  }
  return {spmm_loops::spmm_rows<Four<T>, 4, 4, T, V>, spmm_loops::spmm_scatter<Four<T>, 4, 4, T, V>,
          spmm_loops::spmm_copy<Four<T>, T>};
}

template <class T>
DotsKernel<T> dots_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86) {
    if (simd_level() == Simd::avx512) return avx512::dots<T>;
    if (simd_level() == Simd::avx2) return avx2::dots<T>;
  }
  return spmm_loops::dots<Four<T>, T>;
}
PushKernel push_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86) {
    if (simd_level() == Simd::avx512) return avx512::push_rows;
    if (simd_level() == Simd::avx2) return avx2::push_rows;
  }
  return push_loops::Lanes<Four<float>>::push;
}

template DotsKernel<float> dots_kernel<float>();
template DotsKernel<double> dots_kernel<double>();

#define X(T, V) template SpmmKernels<T, V> spmm_kernels<T, V>();
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock
