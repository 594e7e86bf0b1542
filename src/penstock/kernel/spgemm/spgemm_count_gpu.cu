// The first steps of SpGEMM on a GPU: they count the products of every row, sort rows into bins of about one size, and count
// the entries that every row of C will have, so that C can be allocated. The ways to count entries are those of
// spgemm_group.hpp: a warp or a block for each row, with a list, a hash table or a bitmap in shared memory.
#include "penstock/kernel/spgemm/spgemm_group_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kLanes = 8;         // lanes that count the products of a row of A
constexpr Offset kLong = 1024;    // a row with more entries is counted by a block
constexpr int kLongBlocks = 512;  // blocks that share the long rows
constexpr int kRowsEach = 4;      // rows that a thread puts into lists
constexpr int kRowsCounted = 16;  // rows that a thread counts the sizes of

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
                   Index* longs, int* count) {
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

__global__ void __launch_bounds__(kThreads)
    count_bins_kernel(RowSizes sizes, std::int64_t rows, std::int64_t cols, Counter* counters) {
  __shared__ Counter mine[kBins + 2];
  if (threadIdx.x < kBins + 2) mine[threadIdx.x] = 0;
  __syncthreads();
  Counter sum = 0, bound = 0;
  for (int i = 0; i < kRowsCounted; ++i) {
    const auto r = (std::int64_t(blockIdx.x) * kRowsCounted + i) * kThreads + threadIdx.x;
    if (r >= rows) break;
    const Offset size = size_of(sizes, r);
    if (size == 0) continue;
    sum += Counter(size), bound += Counter(size < cols ? size : cols);
    atomicAdd(&mine[bin_of(size)], Counter(1));
  }
  __syncwarp();
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_down_sync(kAll, sum, d);
    bound += __shfl_down_sync(kAll, bound, d);
  }
  if ((threadIdx.x & 31) == 0) {
    atomicAdd(&mine[kBins], sum);
    atomicAdd(&mine[kBins + 1], bound);
  }
  __syncthreads();
  if (threadIdx.x < kBins + 2 && mine[threadIdx.x] != 0) atomicAdd(&counters[threadIdx.x], mine[threadIdx.x]);
}

struct BinStarts {
  Counter of[kBins];
};
__global__ void set_counters_kernel(BinStarts starts, Counter* counters) {
  if (threadIdx.x < kBins) counters[threadIdx.x] = starts.of[threadIdx.x];
}

/// Writes the rows of every bin to its part of the list. `counters` say where the next row of each bin goes.
__global__ void __launch_bounds__(kThreads)
    list_bins_kernel(RowSizes sizes, std::int64_t rows, Counter* counters, Index* list) {
  __shared__ int count[kBins];
  __shared__ Counter start[kBins];
  if (threadIdx.x < kBins) count[threadIdx.x] = 0;
  __syncthreads();
  int bin[kRowsEach], place[kRowsEach];
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
    const auto r = (std::int64_t(blockIdx.x) * kRowsEach + i) * kThreads + threadIdx.x;
    const Offset size = r < rows ? size_of(sizes, r) : 0;
    bin[i] = size > 0 ? bin_of(size) : -1;
    place[i] = size > 0 ? atomicAdd(&count[bin[i]], 1) : 0;
  }
  __syncthreads();
  if (threadIdx.x < kBins && count[threadIdx.x] > 0)
    start[threadIdx.x] = atomicAdd(&counters[threadIdx.x], Counter(count[threadIdx.x]));
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
    const auto r = (std::int64_t(blockIdx.x) * kRowsEach + i) * kThreads + threadIdx.x;
    if (bin[i] >= 0) list[start[bin[i]] + Counter(place[i])] = Index(r);
  }
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
__global__ void __launch_bounds__(DeviceGroup<threads>::kBlock)
    count_hash_kernel(Pattern f, RowList list, int log_slots, Offset* counts) {
  using G = DeviceGroup<threads>;
  __shared__ group::LongRows longs[G::kPerBlock];
  const auto row = row_of<threads>(list);
  if (row < 0) return;
  const G g;
  const group::Table table{reinterpret_cast<Index*>(space_of<threads>(std::int64_t(4) << log_slots)),
                           log_slots};
  const int n =
      group::count_hash(g, f, f.begin(row), f.begin(row + 1), longs[G::kWarp ? threadIdx.x / 32 : 0], table);
  if (g.rank() == 0) counts[row] = n;
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
                  Offset* products, Index* list, int* counter, Stream stream) {
  if (rows == 0) return;
  const UseDevice use(stream.where);
  fill_async(counter, 0, sizeof(int), stream);
  launch(products_short, blocks_for(rows * kLanes), stream, a, b, first, rows, products, list, counter);
  launch(products_long, kLongBlocks, stream, a, b, first, products, list, counter);
}

RowBins count_bins(RowSizes sizes, std::int64_t rows, std::int64_t cols, std::uint64_t* counters,
                   Stream stream) {
  RowBins bins;
  if (rows == 0) return bins;
  const UseDevice use(stream.where);
  std::array<std::uint64_t, kBins + 2> here{};
  fill_async(counters, 0, sizeof here, stream);
  launch(count_bins_kernel, blocks_for((rows + kRowsCounted - 1) / kRowsCounted), stream, sizes, rows, cols,
         reinterpret_cast<Counter*>(counters));
  copy_async(here.data(), counters, sizeof here, stream);
  synchronize(stream);
  for (std::size_t b = 0; b < kBins; ++b) bins.rows[b] = static_cast<std::int64_t>(here[b]);
  bins.sizes = static_cast<std::int64_t>(here[kBins]);
  bins.bound = static_cast<std::int64_t>(here[kBins + 1]);
  return bins;
}

void list_bins(RowSizes sizes, std::int64_t rows, const RowBins& bins, std::uint64_t* counters, Index* list,
               Stream stream) {
  if (rows == 0) return;
  const UseDevice use(stream.where);
  BinStarts starts{};  // an argument of the launch, because a copy of it would have to be waited for
  Counter before = 0;
  for (std::size_t b = kBins; b-- > 0; before += static_cast<Counter>(bins.rows[b])) starts.of[b] = before;
  launch(set_counters_kernel, 1, stream, starts, reinterpret_cast<Counter*>(counters));
  launch(list_bins_kernel, blocks_for((rows + kRowsEach - 1) / kRowsEach), stream, sizes, rows,
         reinterpret_cast<Counter*>(counters), list);
}

void count_rows(const RowClass& which, const CsrView<One>& a, const CsrView<One>& b, std::int64_t first,
                const Index* list, Offset* counts, Stream stream) {
  const UseDevice use(stream.where);
  const Pattern f{a, b};
  const RowList rows{list + which.begin, which.count, first};
  if (which.method == RowMethod::tiny)
    return launch_groups<32>(count_tiny_kernel<32>, rows.count, 0, stream, f, rows, counts);
  if (which.method == RowMethod::hash) {
    const auto bytes = std::int64_t(sizeof(Index)) << which.log_slots;
    return with_threads<32, 128, 256, 512>(which.threads, [&]<int threads>() {
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

}  // namespace penstock::gpu
