// The first steps of SpGEMM on a GPU: they count the products of every row, sort rows into bins of about one size, and count
// the entries that every row of C will have, so that C can be allocated. The ways to count entries are those of
// spgemm_group.hpp: a warp or a block for each row, with a list, a hash table or a bitmap in shared memory.
#include "penstock/kernel/spgemm/spgemm_group_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kLanes = 8;                    // lanes that count the products of a row of A
constexpr Offset kLong = 1024;               // a row with more entries is counted by a block
constexpr int kLongBlocks = 512;             // blocks that share the long rows
constexpr std::int64_t kManyRows = 1 << 17;  // from so many on a thread puts several rows into bins
constexpr int kRowsEach = 4;
constexpr std::int64_t kLeaders = 32;  // of so many rows the first repeats none

__device__ Offset products_of(const CsrView<One>& a, const CsrView<One>& b, Offset begin, Offset end,
                              int from, int step) {
  Offset sum = 0;
  for (Offset i = begin + from; i < end; i += step) {
    const Index k = a.indices[i];
    sum += b.indptr[k + 1] - b.indptr[k];
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    products_short(CsrView<One> a, CsrView<One> b, std::int64_t first, std::int64_t rows, Offset* products,
                   std::uint8_t* repeats, Index* longs, int* count) {
  const auto thread = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto r = thread / kLanes;
  const int lane = int(thread % kLanes);
  Offset begin = 0, end = 0;
  if (r < rows) begin = a.indptr[first + r] - a.first_nnz, end = a.indptr[first + r + 1] - a.first_nnz;
  const bool put_off = end - begin > kLong;
  if (put_off && lane == 0) longs[atomicAdd(count, 1)] = Index(r);
  Offset sum = put_off ? 0 : products_of(a, b, begin, end, lane, kLanes);
#pragma unroll
  for (int d = kLanes / 2; d > 0; d /= 2) sum += __shfl_down_sync(kAll, sum, d, kLanes);
  if (r < rows && lane == 0 && !put_off) products[r] = sum;
  if (!repeats) return;
  bool same = r < rows && r % kLeaders != 0 && !put_off && end > begin &&
              end - begin == begin + a.first_nnz - a.indptr[first + r - 1];
  for (Offset i = begin + lane; same && i < end; i += kLanes)
    same = a.indices[i] == a.indices[i - (end - begin)];
  const unsigned differ = __ballot_sync(kAll, !same) >> (threadIdx.x & 31 & ~(kLanes - 1));
  if (r < rows && lane == 0) repeats[r] = (differ & ((1u << kLanes) - 1)) == 0;
}

/// counts[r] of rows that repeat the row above: that of the last row before them which does not.
__global__ void __launch_bounds__(kThreads)
    repeat_counts_kernel(const std::uint8_t* repeats, std::int64_t rows, Offset* counts) {
  const auto r = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rows || !repeats[r]) return;
  auto leader = r - 1;
  while (repeats[leader]) --leader;
  counts[r] = counts[leader];
}

__global__ void __launch_bounds__(kThreads)
    products_long(CsrView<One> a, CsrView<One> b, std::int64_t first, Offset* products, const Index* longs,
                  const int* count) {
  __shared__ Offset sums[kThreads / 32];
  for (int l = int(blockIdx.x); l < *count; l += int(gridDim.x)) {
    const auto row = first + longs[l];
    Offset sum = products_of(a, b, a.indptr[row] - a.first_nnz, a.indptr[row + 1] - a.first_nnz,
                             int(threadIdx.x), kThreads);
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(kAll, sum, d);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < kThreads / 32; ++w) sum += sums[w];
      products[longs[l]] = sum;
    }
    __syncthreads();
  }
}

using Counter = unsigned long long;
__device__ Counter* as_counter(std::uint64_t* p) { return reinterpret_cast<Counter*>(p); }

/// A fall from an entry to the next one counts, unless a row begins there: so all falls are counted, less those at row ends.
__global__ void __launch_bounds__(kThreads)
    count_falls_kernel(CsrView<One> b, std::int64_t entries, RowCounters* counters) {
  const auto step = std::int64_t(gridDim.x) * kThreads,
             thread = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto falls = [&](Offset i) { return b.indices[i] <= b.indices[i - 1]; };
  int mine = 0;
  for (Offset i = thread + 1; i < entries; i += step) mine += falls(i);
  for (std::int64_t r = thread; r < b.rows; r += step) {
    const Offset begin = b.indptr[r] - b.first_nnz, end = b.indptr[r + 1] - b.first_nnz;
    if (begin > 0 && begin < end) mine -= falls(begin);
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(kAll, mine, d);
  if ((threadIdx.x & 31) == 0 && mine != 0)
    atomicAdd(as_counter(&counters->falls), Counter(std::int64_t(mine)));
}

template <int Each>
__global__ void __launch_bounds__(kThreads)
    count_bins_kernel(RowSizes sizes, std::int64_t rows, std::int64_t cols, const Offset* total,
                      RowCounters* counters) {
  __shared__ unsigned mine[kBins];
  const int lane = int(threadIdx.x & 31);
  if (threadIdx.x < kBins) mine[threadIdx.x] = 0;
  __syncthreads();
  if (total && blockIdx.x == 0 && threadIdx.x == 0) counters->entries = std::uint64_t(*total);
  const bool merging = merges(sizes);
  Counter sum = 0, bound = 0;
  int repeated = 0;
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const auto r = (std::int64_t(blockIdx.x) * Each + i) * kThreads + threadIdx.x;
    const int bin = r < rows ? bin_of(sizes, r, merging) : -1;
    const Offset size = r < rows ? size_of(sizes, r) : 0;
    repeated += bin < 0 && size > 0;
    sum += Counter(size), bound += Counter(size < cols ? size : cols);
    const unsigned same = __match_any_sync(kAll, bin);
    if (bin >= 0 && lane == __ffs(int(same)) - 1) atomicAdd(&mine[bin], unsigned(__popc(same)));
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_down_sync(kAll, sum, d);
    bound += __shfl_down_sync(kAll, bound, d);
    repeated += __shfl_down_sync(kAll, repeated, d);
  }
  if (lane == 0 && sum != 0) {
    atomicAdd(as_counter(&counters->sizes), sum);
    atomicAdd(as_counter(&counters->bound), bound);
    if (repeated > 0) atomicAdd(as_counter(&counters->repeated), Counter(repeated));
  }
  __syncthreads();
  if (threadIdx.x < kBins && mine[threadIdx.x] != 0)
    atomicAdd(as_counter(&counters->rows[threadIdx.x]), Counter(mine[threadIdx.x]));
}

struct BinStarts {
  Counter of[kBins];
};
/// Writes the rows of every bin to its part of the list. Rows of a warp that share a bin stay in their order.
template <int Each>
__global__ void __launch_bounds__(kThreads)
    list_bins_kernel(RowSizes sizes, std::int64_t rows, BinStarts starts, RowCounters* counters,
                     Index* list) {
  __shared__ int count[kBins];
  __shared__ Counter start[kBins];
  const int lane = int(threadIdx.x & 31);
  if (threadIdx.x < kBins) count[threadIdx.x] = 0;
  __syncthreads();
  const bool merging = merges(sizes);
  int bin[Each], place[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const auto r = (std::int64_t(blockIdx.x) * Each + i) * kThreads + threadIdx.x;
    bin[i] = r < rows ? bin_of(sizes, r, merging) : -1;
    const unsigned same = __match_any_sync(kAll, bin[i]);
    const int first = __ffs(int(same)) - 1;
    int before = 0;
    if (bin[i] >= 0 && lane == first) before = atomicAdd(&count[bin[i]], __popc(same));
    place[i] = __shfl_sync(kAll, before, first) + __popc(same & ((1u << lane) - 1));
  }
  __syncthreads();
  if (threadIdx.x < kBins && count[threadIdx.x] > 0)
    start[threadIdx.x] = starts.of[threadIdx.x] +
                         atomicAdd(as_counter(&counters->listed[threadIdx.x]), Counter(count[threadIdx.x]));
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const auto r = (std::int64_t(blockIdx.x) * Each + i) * kThreads + threadIdx.x;
    if (bin[i] >= 0) list[start[bin[i]] + Counter(place[i])] = Index(r);
  }
}

/// Calls f with how many rows a thread takes: one where rows are few, so that all multiprocessors have some.
template <class F>
void with_rows_each(std::int64_t rows, const F& f) {
  if (rows >= kManyRows) f(std::integral_constant<int, kRowsEach>{});
  else f(std::integral_constant<int, 1>{});
}

// ---- entries of C ----

using Pattern = group::Factors<One>;

// This kernel is a template, as are the others: otherwise nvcc takes the functions that they call for host functions.
template <int threads>
__global__ void __launch_bounds__(kThreads) count_tiny_kernel(Pattern f, RowList list, Offset* counts) {
  using G = DeviceGroup<threads>;
  __shared__ group::TinySpace<One> spaces[G::kPerBlock];
  const auto row = row_of<32>(list);
  if (row < 0) return;
  const G g;
  const int n = group::count_tiny(g, f, f.begin(row), f.begin(row + 1), spaces[threadIdx.x / 32]);
  if (g.rank() == 0) counts[row] = n;
}

template <int threads>
__global__ void __launch_bounds__(kThreads)
    count_hash_warp_kernel(Pattern f, RowList list, TableSize size, Retries retries, Offset* counts) {
  static_assert(threads == 32);
  const auto row = row_of<threads>(list);
  if (row < 0) return;
  const DeviceGroup<threads> g;
  const group::Table table{reinterpret_cast<Index*>(space_of<threads>(std::int64_t(4) << size.log_slots)),
                           log_slots_of<threads>(size)};
  const int n = group::count_hash_warp(g, f, f.begin(row), f.begin(row + 1), table);
  if (g.rank() != 0) return;
  if (n >= 0) counts[row] = n;
  else retries.list[atomicAdd(retries.count, 1)] = Index(row - list.first);
}

template <int threads>
__global__ void __launch_bounds__(threads)
    count_hash_kernel(Pattern f, RowList list, int log_slots, Offset* counts) {
  __shared__ group::LongRows longs;
  const auto row = row_of<threads>(list);
  if (row < 0) return;
  const DeviceGroup<threads> g;
  const group::Table table{reinterpret_cast<Index*>(space_of<threads>(0)), log_slots};
  const int n = group::count_hash(g, f, f.begin(row), f.begin(row + 1), longs, table);
  if (g.rank() == 0) counts[row] = n;
}

template <int threads>
__global__ void __launch_bounds__(threads)
    count_again_kernel(Pattern f, std::int64_t first, Retries retries, Offset* counts) {
  __shared__ group::LongRows longs;
  __shared__ Index keys[1 << kRetrySlots];
  const DeviceGroup<threads> g;
  for (int i = int(blockIdx.x); i < *retries.count; i += int(gridDim.x)) {
    const auto row = first + retries.list[i];
    const int n = group::count_hash(g, f, f.begin(row), f.begin(row + 1), longs, {keys, kRetrySlots});
    if (g.rank() == 0) counts[row] = n;
    g.sync();
  }
}

template <int threads>
__global__ void __launch_bounds__(threads)
    count_bitmap_kernel(Pattern f, RowList list, std::int64_t window, Offset* counts) {
  __shared__ group::LongRows longs;
  const auto row = row_of<threads>(list);
  if (row < 0) return;
  const DeviceGroup<threads> g;
  const group::Bitmap map{reinterpret_cast<group::Word*>(space_of<threads>(0)), nullptr, window};
  const Offset n = group::count_bitmap(g, f, f.begin(row), f.begin(row + 1), longs, map);
  if (g.rank() == 0) counts[row] = n;
}

}  // namespace

void row_products(const CsrView<One>& a, const CsrView<One>& b, std::int64_t first, std::int64_t rows,
                  Offset* products, std::uint8_t* repeats, Index* list, int* longs, Stream stream) {
  if (rows == 0) return;
  const UseDevice use(stream.where);
  launch(products_short, blocks_for(rows * kLanes), stream, a, b, first, rows, products, repeats, list,
         longs);
  if (a.count > kLong) launch(products_long, kLongBlocks, stream, a, b, first, products, list, longs);
}

void repeat_counts(const std::uint8_t* repeats, std::int64_t rows, Offset* counts, Stream stream) {
  const UseDevice use(stream.where);
  launch(repeat_counts_kernel, blocks_for(rows), stream, repeats, rows, counts);
}

void count_falls(const CsrView<One>& b, RowCounters* counters, Stream stream) {
  const UseDevice use(stream.where);
  constexpr std::int64_t kEach = 8;  // entries of a thread, at least
  const auto blocks =
      std::min(full_grid(stream), blocks_for((std::max(b.count, b.rows) + kEach - 1) / kEach));
  if (blocks > 0) launch(count_falls_kernel, blocks, stream, b, b.count, counters);
}

void count_bins(const RowSizes& sizes, std::int64_t rows, std::int64_t cols, const Offset* total,
                RowCounters* counters, Stream stream) {
  const UseDevice use(stream.where);
  if (rows == 0) return;
  with_rows_each(rows, [&]<int Each>(std::integral_constant<int, Each>) {
    launch(count_bins_kernel<Each>, blocks_for((rows + Each - 1) / Each), stream, sizes, rows, cols, total,
           counters);
  });
}

RowBins read_bins(const RowCounters* counters, Stream stream) {
  RowCounters here{};
  copy_async(&here, counters, sizeof here, stream);
  synchronize(stream);
  RowBins bins;
  for (std::size_t b = 0; b < kBins; ++b) bins.rows[b] = static_cast<std::int64_t>(here.rows[b]);
  bins.sizes = static_cast<std::int64_t>(here.sizes);
  bins.bound = static_cast<std::int64_t>(here.bound);
  bins.entries = static_cast<std::int64_t>(here.entries);
  bins.repeated = static_cast<std::int64_t>(here.repeated);
  bins.ascends = here.falls == 0;
  return bins;
}

void list_bins(const RowSizes& sizes, std::int64_t rows, const RowBins& bins, RowCounters* counters,
               Index* list, Stream stream) {
  if (rows == 0) return;
  const UseDevice use(stream.where);
  BinStarts starts{};  // an argument of the launch, because a copy of it would have to be waited for
  Counter before = 0;
  for (std::size_t b = kBins; b-- > 0; before += static_cast<Counter>(bins.rows[b])) starts.of[b] = before;
  with_rows_each(rows, [&]<int Each>(std::integral_constant<int, Each>) {
    launch(list_bins_kernel<Each>, blocks_for((rows + Each - 1) / Each), stream, sizes, rows, starts,
           counters, list);
  });
}

void count_rows(const RowClass& which, const CsrView<One>& a, const CsrView<One>& b, std::int64_t first,
                const Index* list, Retries retries, Offset* counts, Stream stream) {
  const UseDevice use(stream.where);
  const Pattern f{a, b};
  const RowList rows{list + which.begin, which.count, first};
  if (which.method == RowMethod::merge) return count_merged(which, a, b, first, list, counts, stream);
  if (which.method == RowMethod::tiny)
    return launch_groups<32>(count_tiny_kernel<32>, rows.count, 0, stream, f, rows, counts);
  if (which.method == RowMethod::hash) {
    const auto bytes = std::int64_t(sizeof(Index)) << which.log_slots;
    if (may_retry(which))
      return launch_groups<32>(count_hash_warp_kernel<32>, rows.count, bytes, stream, f, rows,
                               table_size(which), retries, counts);
    return with_threads<512>(which.threads, [&]<int threads>() {
      launch_groups<threads>(count_hash_kernel<threads>, rows.count, bytes, stream, f, rows, which.log_slots,
                             counts);
    });
  }
  const auto bytes = which.window / group::kWordBits * group::bytes_per_word(false);
  with_threads<256, 1024>(which.threads, [&]<int threads>() {
    launch_groups<threads>(count_bitmap_kernel<threads>, rows.count, bytes, stream, f, rows, which.window,
                           counts);
  });
}

void count_again(const CsrView<One>& a, const CsrView<One>& b, std::int64_t first, Retries retries,
                 Offset* counts, Stream stream) {
  const UseDevice use(stream.where);
  launch(count_again_kernel<kThreads>, full_grid(stream), stream, Pattern{a, b}, first, retries, counts);
}

}  // namespace penstock::gpu
