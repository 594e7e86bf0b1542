// Rows of C = A B that one thread merges (spgemm_merge.hpp): counted, and written.
#include "penstock/kernel/spgemm/spgemm_group_gpu.cuh"
#include "penstock/kernel/spgemm/spgemm_merge.hpp"

namespace penstock::gpu {
namespace {

namespace merge = spgemm_merge;

/// A row of this thread, or none, and the most entries of A that a row of its warp has.
struct MergedRow {
  std::int64_t row = -1;
  Offset begin = 0, end = 0;
  int most = 0;
};
template <class V>
__device__ MergedRow merged_row(const group::Factors<V>& f, const RowList& list) {
  MergedRow m;
  const auto number = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (number < list.count) {
    m.row = list.first + list.rows[number];
    m.begin = f.begin(m.row), m.end = f.begin(m.row + 1);
  }
  m.most = int(m.end - m.begin);
#pragma unroll
  for (int d = 16; d > 0; d /= 2) m.most = max(m.most, __shfl_xor_sync(kAll, m.most, d));
  return m;
}

template <int K>
__global__ void __launch_bounds__(kThreads)
    count_merge_kernel(group::Factors<One> f, RowList list, Offset* counts) {
  const auto m = merged_row(f, list);
  const int n = merge::count<K>(f, m.begin, m.end, m.most);
  if (m.row >= 0) counts[m.row] = n;
}

inline constexpr int kStaged =
    8;  // entries of each row that are kept in shared memory before they are written

/// Each thread computes a row. After kStaged entries of all rows eight lanes write those of one row together, because neighbouring
/// entries that one instruction writes share a request to memory.
template <class S, int K, class P = ProductValue<S>>
__global__ void __launch_bounds__(kThreads)
    write_merge_kernel(group::FactorsOf<S> f, RowList list, Target<P> c) {
  __shared__ Index columns[kThreads][kStaged + 1];
  __shared__ P sums[is_pattern<P> ? 1 : kThreads][kStaged + 1];
  const auto m = merged_row(f, list);
  const int thread = int(threadIdx.x), lane = thread & 31, warp = thread - lane;
  Offset to = m.row >= 0 ? c.indptr[m.row] : 0;
  merge::Merge<K> rows{};
  [[maybe_unused]] merge::Products<S, K> products{};
  rows.open(f, m.begin, m.end, m.most);
  if constexpr (!is_pattern<P>) products.open(f, m.begin, m.end, m.most);
  Index column = rows.least();
  while (__any_sync(kAll, column != merge::kNone)) {
    int count = 0;
    for (; count < kStaged && column != merge::kNone; ++count, column = rows.least()) {
      columns[thread][count] = column;
      if constexpr (is_pattern<P>) rows.take(f, column, m.most, [](int, Offset) {});
      else sums[thread][count] = products.take(f, rows, column, m.most);
    }
    __syncwarp();
#pragma unroll
    for (int pass = 0; pass < kStaged; ++pass) {
      const int from = pass * (32 / kStaged) + lane / kStaged, entry = lane % kStaged;
      const Offset at = __shfl_sync(kAll, (long long)(to), from) + entry;
      if (entry < __shfl_sync(kAll, count, from)) {
        c.indices[at] = columns[warp + from][entry];
        if constexpr (!is_pattern<P>) c.values[at] = sums[warp + from][entry];
      }
    }
    to += count;
    __syncwarp();
  }
}

/// Calls f<K>() with the entries of A for which a class of rows is made.
template <class F>
void with_lists(const RowClass& which, const F& f) {
  if (which.lists <= merge::kFewLists) f.template operator()<merge::kFewLists>();
  else f.template operator()<merge::kMostLists>();
}

}  // namespace

void count_merged(const RowClass& which, const CsrView<One>& a, const CsrView<One>& b, std::int64_t first,
                  const Index* list, Offset* counts, Stream stream) {
  const RowList rows{list + which.begin, which.count, first};
  with_lists(which, [&]<int K>() {
    launch(count_merge_kernel<K>, blocks_for(rows.count), stream, group::Factors<One>{a, b}, rows, counts);
  });
}

template <Semiring S>
void write_merged(const RowClass& which, const CsrView<typename S::value_type>& a,
                  const CsrView<typename S::value_type>& b, std::int64_t first, const Index* list,
                  const Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream) {
  const RowList rows{list + which.begin, which.count, first};
  const Target<ProductValue<S>> c{indptr, indices, values};
  with_lists(which, [&]<int K>() {
    launch(write_merge_kernel<S, K>, blocks_for(rows.count), stream, group::FactorsOf<S>{a, b}, rows, c);
  });
}

#define X(S)                                                                                              \
  template void write_merged<S>(const RowClass&, const CsrView<S::value_type>&,                           \
                                const CsrView<S::value_type>&, std::int64_t, const Index*, const Offset*, \
                                Index*, ProductValue<S>*, Stream);
PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X

}  // namespace penstock::gpu
