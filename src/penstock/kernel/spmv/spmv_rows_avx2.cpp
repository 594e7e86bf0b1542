// Takes four entries at a time, and the last entries of a row one by one, by branches that can be predicted if rows are
// regular. There is a loop with prefetches and one without, and both go along the row offsets by a pointer: with short rows the
// few instructions of a loop count. Before, one loop with row numbers looked in each row whether to prefetch; where a cache holds
// the matrix this one takes 0.84 of the time for half of G2_circuit (4.4 entries a row) and for 2-D and 3-D Laplacians, 0.89 for
// rows of 5 to 7 entries whose lengths are random and for half of t2dah_e (Zen 5).
#include "penstock/kernel/basis/basis_loops.hpp"
#include "penstock/kernel/quads_avx2.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock::avx2 {
namespace {

template <bool kAhead, class T, class V>
void each_row(const RowsArgs<T, V>& p) {
  const RowsArgs<T, V> q = p;  // a copy: no store into out can change it
  const Offset *row = q.indptr + q.first, *const last = q.indptr + q.last;
  T* out = q.out;
  for (Offset k = *row; row < last;) {
    const Offset end = *++row;
    if constexpr (is_pattern<V>) *out++ = dot<T, V>(q.indices + k, nullptr, q.x, end - k);
    else *out++ = dot<T, V>(q.indices + k, q.values + k, q.x, end - k);
    if constexpr (kAhead) read_ahead(q, k, end);
    k = end;
  }
}

}  // namespace

template <class T, class V>
void rows(const RowsArgs<T, V>& p) {
  if (p.ahead_indices) each_row<true>(p);
  else each_row<false>(p);
}

#define X(T, V) template void rows<T, V>(const RowsArgs<T, V>&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

namespace {
struct Avx2 {};
}  // namespace
template <class T>
BasisKernels<T> basis_kernels() {
  return {basis_loops::dots<Avx2, T>, basis_loops::subtract<Avx2, T>};
}
template BasisKernels<float> basis_kernels<float>();
template BasisKernels<double> basis_kernels<double>();

}  // namespace penstock::avx2
