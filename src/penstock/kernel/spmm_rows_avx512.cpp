// Rows of Y in up to 16 vectors of 8 doubles or 16 floats; the last one masked.
#include "penstock/kernel/lanes_avx512.hpp"
#include "penstock/kernel/spmm_rows_loops.hpp"
#include "penstock/kernel/spmv_rows.hpp"

namespace penstock::avx512 {
namespace {

struct Doubles : Double {
  static Mask mask(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_pd(a, b); }
  using Double::store;
  static void store(double* p, Vec v) { _mm512_storeu_pd(p, v); }
  static void stream(double* p, Vec v) { _mm512_stream_pd(p, v); }
  static void fence() { _mm_sfence(); }
};

struct Floats : Float {
  static Mask mask(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  using Float::store;
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static void stream(float* p, Vec v) { _mm512_stream_ps(p, v); }
  static void fence() { _mm_sfence(); }
};

}  // namespace

template <class T, class V>
void spmm_rows(const SpmmArgs<T, V>& p) {
  spmm_loops::spmm_rows<std::conditional_t<sizeof(T) == 8, Doubles, Floats>, 16>(p);
}

template <class T, class V>
void spmm_scatter(const SpmmArgs<T, V>& p) {
  spmm_loops::spmm_scatter<std::conditional_t<sizeof(T) == 8, Doubles, Floats>, 16>(p);
}

#define X(T, V)                                       \
  template void spmm_rows<T, V>(const SpmmArgs<T, V>&); \
  template void spmm_scatter<T, V>(const SpmmArgs<T, V>&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock::avx512
