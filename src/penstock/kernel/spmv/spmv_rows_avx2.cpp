// Takes four entries at a time, and the last entries of a row one by one, by branches that can be predicted if rows are
// regular.
#include "penstock/kernel/quads_avx2.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock::avx2 {

template <class T, class V>
void rows(const RowsArgs<T, V>& p) {
  const RowsArgs<T, V> q = p;  // a copy: no store into out can change it
  T* out = q.out;
  Offset k = q.indptr[q.first];
  for (auto r = q.first; r < q.last; ++r) {
    const Offset end = q.indptr[r + 1];
    if constexpr (is_pattern<V>) *out++ = dot<T, V>(q.indices + k, nullptr, q.x, end - k);
    else *out++ = dot<T, V>(q.indices + k, q.values + k, q.x, end - k);
    read_ahead(q, k, end);
    k = end;
  }
}

#define X(T, V) template void rows<T, V>(const RowsArgs<T, V>&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock::avx2
