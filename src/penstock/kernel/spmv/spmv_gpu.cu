// y = alpha A x + beta y on a GPU, balanced whatever the row lengths are.
//
// The nonzeros and the ends of rows, merged into one list, are cut into tiles with equally many items (merge path: Merrill and
// Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016). So neither a hub nor a run of empty rows
// makes a tile larger. A block reads its tile's nonzeros coalesced, and writes the products to shared memory; then it adds up
// the rows from there, with as many lanes for a row as leave no thread idle. A row that the edge of a tile cuts leaves its
// parts in the `head` and `tail` cells of the tiles, and a last pass adds them in order. There are no atomics, and the cut
// depends on the shape alone, so the result has the same bits in every run.
//
// If no row is long, a plan makes a tile a fixed number of whole rows instead; then nothing is searched, cut or joined. Small
// matrices are multiplied without tiles (spmv_rows_gpu.cuh).
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/merge_path_gpu.cuh"
#include "penstock/kernel/spmv/complex_gpu.cuh"
#include "penstock/kernel/spmv/spmv_gpu.hpp"
#include "penstock/kernel/spmv/spmv_rows_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kLine = 32;         // indices in 128 bytes: reads begin at such a line, as zero-copy needs it
constexpr int kLaneSteps = 32;    // a row with more entries for each lane is left to a whole warp
constexpr int kSerialTiles = 16;  // up to so many cells of a row are added by one thread

/// How much one block takes. It keeps products of type T in shared memory, at most 28 KB, and the same on every GPU because
/// sums depend on it. This memory is taken from the first-level cache, where every gather from x that is under way holds a
/// line. On an H200 (4e6 rows of 21 scattered columns, float64), 8 blocks a multiprocessor took 0.877 ms with 8 items a thread
/// (60 KB of cache left) and 0.766 ms with 7 (92 KB). Fewer items are slower on stencils (6: 0.486 ms, 7: 0.474). float32,
/// with half the shared memory, is best at 8, and at 12 if tiles are whole rows (a stencil of 256^3: 0.344 ms with 8, 0.327
/// with 12, and 0.340 with 12 and 12 loads in flight instead of 6).
template <class T, bool whole_rows>
struct TileShape {
  static constexpr int kItems = sizeof(T) > 4 ? 7 : whole_rows ? 12 : 8;  // items of a thread
  static constexpr int kBatch = sizeof(T) > 4 ? 7 : kItems / 2;  // loads in flight for each thread and array
  static constexpr int kSpan = kItems * kThreads;  // entries that a block reads, from a line's start
  static constexpr int kTile = kSpan - kLine;      // merged items of a tile
};

/// Finds the length of the longest row. A maximum does not depend on the order in which it is taken.
__global__ void find_longest(const Offset* __restrict__ indptr, std::int64_t rows,
                             unsigned long long* __restrict__ longest) {
  unsigned long long mine = 0;
  const auto step = std::int64_t(gridDim.x) * kThreads;
  for (auto r = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; r < rows; r += step) {
    const auto length = static_cast<unsigned long long>(indptr[r + 1] - indptr[r]);
    if (length > mine) mine = length;
  }
  for (int d = 16; d > 0; d /= 2) {
    const auto other = shuffle_down(mine, d, 32);
    if (other > mine) mine = other;
  }
  if (threadIdx.x % 32 == 0) atomicMax(longest, mine);
}

/// Writes the products of `count` nonzeros, from number `first` of the arrays on, to `products` in shared memory. Every thread
/// asks for kBatch columns and values before it needs the first of them.
template <class S, class V, class Shape>
__device__ __forceinline__ void multiply_nonzeros(const CsrView<V>& a,
                                                  const typename S::value_type* __restrict__ x, Offset first,
                                                  int count, typename S::value_type* products) {
  using T = typename S::value_type;
  constexpr int kBatch = Shape::kBatch, kSpan = Shape::kSpan;
  const int skew = int(reinterpret_cast<std::uintptr_t>(a.indices + first) / sizeof(Index) % kLine);
#pragma unroll
  for (int batch = 0; batch < kSpan; batch += kBatch * kThreads) {
    Index column[kBatch];
    T product[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int p = batch + i * kThreads + int(threadIdx.x) - skew;
      const bool mine = p >= 0 && p < count;
      column[i] = mine ? read_once(a.indices + first + p) : -1;
      if constexpr (is_pattern<V>) {
        product[i] = entry<S>(a.values, 0);
      } else {
        const V value = mine ? read_once(a.values + first + p) : V();
        product[i] = entry<S>(&value, 0);
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (column[i] >= 0) product[i] = S::mul(product[i], x[column[i]]);
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (column[i] >= 0) products[batch + i * kThreads + int(threadIdx.x) - skew] = product[i];
  }
}

/// Adds up the products of a tile's rows, and calls finish(r, sum) in one thread for each row r in [0, rows]: row r ends
/// before product ends[r], and row number `rows` is the part of the row that goes on behind the tile. Each row gets as many
/// lanes as leave no thread idle; rows that are too long for them get a warp each afterwards.
template <class S, int kTile, class Finish>
__device__ __forceinline__ void sum_rows(const typename S::value_type* products, const std::uint16_t* ends,
                                         int rows, const Finish& finish) {
  using T = typename S::value_type;
  int lanes = 32;
  while (lanes > 1 && (rows + 1) * lanes > kThreads) lanes /= 2;
  const int lane = int(threadIdx.x) % lanes;
  const int longest = lanes == 32 ? kTile : kLaneSteps * lanes;
  bool found_long = false;
  for (int r0 = 0; r0 <= rows; r0 += kThreads / lanes) {
    const int r = r0 + int(threadIdx.x) / lanes;
    const int begin = r > 0 && r <= rows ? ends[r - 1] : 0, end = r <= rows ? ends[r] : 0;
    const bool whole_warp = end - begin > longest;
    T sum = S::zero();
    if (!whole_warp)
      for (int k = begin + lane; k < end; k += lanes) sum = S::add(sum, products[k]);
    sum = sum_lanes<S>(sum, lanes);
    if (lane == 0 && r <= rows && !whole_warp) finish(r, sum);
    found_long |= whole_warp;
  }
  if (!__syncthreads_or(found_long)) return;

  const int in_warp = int(threadIdx.x) % 32;
  for (int r0 = int(threadIdx.x) / 32 * 32; r0 <= rows; r0 += kThreads) {
    const int r = r0 + in_warp;
    const int begin = r > 0 && r <= rows ? ends[r - 1] : 0, end = r <= rows ? ends[r] : 0;
    for (auto left = __ballot_sync(kAll, end - begin > longest); left != 0; left &= left - 1) {
      const int owner = __ffs(int(left)) - 1;
      const int from = __shfl_sync(kAll, begin, owner), to = __shfl_sync(kAll, end, owner);
      T sum = S::zero();
      for (int k = from + in_warp; k < to; k += 32) sum = S::add(sum, products[k]);
      sum = sum_lanes<S>(sum, 32);
      if (in_warp == 0) finish(r0 + owner, sum);
    }
  }
}

/// The product of one tile a block. `first_rows` is null if a tile is `rows_per_tile` whole rows.
template <class S, class V, bool whole_rows>
__global__ void __launch_bounds__(kThreads)
    multiply_tiles(CsrView<V> a, const typename S::value_type* __restrict__ x,
                   typename S::value_type* __restrict__ y, Scale<S> scale,
                   const std::int64_t* __restrict__ first_rows, std::int64_t rows_per_tile,
                   typename S::value_type* __restrict__ heads, typename S::value_type* __restrict__ tails) {
  using T = typename S::value_type;
  using Shape = TileShape<T, whole_rows>;
  constexpr int kTile = Shape::kTile;
  __shared__ T products[kTile];
  // The ends of the rows that end in the tile, then of the part of the next row; the tile's first product is number 0.
  __shared__ std::uint16_t ends[kTile + 1];
  follow();
  const std::int64_t tile = blockIdx.x;
  std::int64_t row0;
  Offset k0;        // the tile's first nonzero, as indptr counts
  int rows, count;  // rows that end in the tile, and its nonzeros
  if constexpr (whole_rows) {
    row0 = tile * rows_per_tile;
    rows = int(a.rows - row0 < rows_per_tile ? a.rows - row0 : rows_per_tile);
    k0 = a.indptr[row0];
    count = int(a.indptr[row0 + rows] - k0);
  } else {
    const auto total = a.rows + a.count;
    const auto item = tile * kTile;
    row0 = first_rows[tile];
    rows = int(first_rows[tile + 1] - row0);
    count = int(total - item < kTile ? total - item : kTile) - rows;
    k0 = a.indptr[0] + item - row0;
  }
  // These are asked for before the nonzeros, and used after them.
  const auto my_end = int(threadIdx.x) < rows ? a.indptr[row0 + threadIdx.x + 1] : 0;
  const auto first_begin = !whole_rows && rows > 0 ? a.indptr[row0] : k0;

  multiply_nonzeros<S, V, Shape>(a, x, k0 - a.first_nnz, count, products);
  if (int(threadIdx.x) < rows) ends[threadIdx.x] = std::uint16_t(my_end - k0);
  for (int r = int(threadIdx.x) + kThreads; r < rows; r += kThreads)
    ends[r] = std::uint16_t(a.indptr[row0 + r + 1] - k0);
  if (threadIdx.x == 0) ends[rows] = std::uint16_t(count);
  __syncthreads();

  const bool cut = first_begin < k0;  // the first row began in an earlier tile
  const auto finish = [&](int r, T sum) {
    if (r == rows) {
      if constexpr (!whole_rows) tails[tile] = sum;
    } else if (r == 0 && cut) {
      heads[tile] = sum;
    } else {
      y[row0 + r] = scale(sum, y[row0 + r]);
    }
  };
  sum_rows<S, kTile>(products, ends, rows, finish);
}

/// For each tile whose first row began in an earlier tile and ends in it: adds up the row's parts in order, and writes its
/// entry of y.
template <class S>
__global__ void __launch_bounds__(kThreads)
    join_rows(const Offset* __restrict__ indptr, typename S::value_type* __restrict__ y, Scale<S> scale,
              const std::int64_t* __restrict__ first_rows, const typename S::value_type* __restrict__ heads,
              const typename S::value_type* __restrict__ tails, std::int64_t tiles) {
  using T = typename S::value_type;
  constexpr int kTile = TileShape<T, false>::kTile;
  follow();
  const auto tile = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  std::int64_t row = 0, from = 0, parts = 0;  // tails[from .. from + parts) precede this tile's head
  if (tile < tiles) {
    row = first_rows[tile];
    const auto begin = indptr[row] - indptr[0];
    if (row < first_rows[tile + 1] && begin < tile * kTile - row)
      from = (begin + row) / kTile, parts = tile - from;
  }
  if (parts > 0 && parts <= kSerialTiles) {
    T sum = tails[from];
    for (std::int64_t i = 1; i < parts; ++i) sum = S::add(sum, tails[from + i]);
    y[row] = scale(S::add(sum, heads[tile]), y[row]);
  }
  const int lane = int(threadIdx.x) % 32;
  for (auto left = __ballot_sync(kAll, parts > kSerialTiles); left != 0; left &= left - 1) {
    const int owner = __ffs(int(left)) - 1;
    const auto start = __shfl_sync(kAll, from, owner), many = __shfl_sync(kAll, parts, owner);
    T sum = S::zero();
#pragma unroll 4
    for (std::int64_t i = lane; i < many; i += 32) sum = S::add(sum, tails[start + i]);
    sum = sum_lanes<S>(sum, 32);
    const auto its_row = __shfl_sync(kAll, row, owner), its_tile = __shfl_sync(kAll, tile, owner);
    if (lane == 0) y[its_row] = scale(S::add(sum, heads[its_tile]), y[its_row]);
  }
}

template <bool whole_rows>
constexpr std::int64_t tile_items(std::int64_t entry_bytes) {
  return entry_bytes > 4 ? TileShape<double, whole_rows>::kTile : TileShape<float, whole_rows>::kTile;
}

/// Where the tiles of a product begin, and where the parts of rows that tiles cut are written.
template <class T>
struct Tiles {
  std::int64_t count, rows_per_tile;
  const std::int64_t* first_rows;
  T *heads, *tails;
};

template <class D, class W>
void run(const CsrView<W>& a, const typename D::value_type* x, typename D::value_type* y,
         const Scale<D>& scale, const Tiles<typename D::value_type>& t, Stream stream) {
  require(t.count <= 0x7fffffff, "spmv on a GPU: " + std::to_string(a.rows + a.count) +
                                     " rows and nonzeros are too many for one launch: use Streamed");
  if (t.rows_per_tile > 0)
    return launch_following(multiply_tiles<D, W, true>, t.count, stream, a, x, y, scale, nullptr,
                            t.rows_per_tile, nullptr, nullptr);
  launch_following(multiply_tiles<D, W, false>, t.count, stream, a, x, y, scale, t.first_rows, 0, t.heads,
                   t.tails);
  if (t.count > 1)
    launch_following(join_rows<D>, blocks_for(t.count), stream, a.indptr, y, scale, t.first_rows, t.heads,
                     t.tails, t.count);
}

template <class V>
CsrView<on_device<V>> device_view(const CsrView<V>& a) {
  return {.rows = a.rows,
          .cols = a.cols,
          .first_nnz = a.first_nnz,
          .indptr = a.indptr,
          .indices = a.indices,
          .values = for_kernel(a.values),
          .count = a.count};
}

}  // namespace

template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream) {
  using D = on_device<S>;
  using T = typename D::value_type;
  if (a.rows == 0) return;
  require(a.count >= 0,
          "spmv on a GPU: the view does not state its count of nonzeros, and the host cannot read it");
  constexpr int kTile = TileShape<T, false>::kTile;
  const auto tiles = (a.rows + a.count + kTile - 1) / kTile;
  const UseDevice use(stream.where);
  const Scale<D> gpu_scale{for_kernel_value(scale.alpha), for_kernel_value(scale.beta)};
  if (tiles == 1)
    return run<D>(device_view(a), for_kernel(x), for_kernel(y), gpu_scale,
                  {1, a.rows, nullptr, nullptr, nullptr}, stream);
  const auto first_row_bytes = (tiles + 1) * static_cast<std::int64_t>(sizeof(std::int64_t)) / 16 * 16 + 16;
  const auto scratch =
      allocate_scratch(first_row_bytes + 2 * tiles * static_cast<std::int64_t>(sizeof(T)), stream);
  auto* first_rows = static_cast<std::int64_t*>(scratch.get());
  auto* heads = reinterpret_cast<T*>(static_cast<std::byte*>(scratch.get()) + first_row_bytes);
  launch(find_tiles, blocks_for(tiles + 1), stream, a.indptr, a.rows, tiles, kTile, first_rows);
  run<D>(device_view(a), for_kernel(x), for_kernel(y), gpu_scale,
         {tiles, 0, first_rows, heads, heads + tiles}, stream);
}

template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream, const SpmvGpuPlan& plan) {
  using D = on_device<S>;
  using T = typename D::value_type;
  if (a.rows == 0) return;
  require(plan.entry_bytes == std::int64_t(sizeof(T)) && a.count >= 0,
          "spmv on a GPU: the plan is for entries of " + std::to_string(plan.entry_bytes) + " bytes, x has " +
              std::to_string(sizeof(T)));
  const UseDevice use(stream.where);
  const Scale<D> gpu_scale{for_kernel_value(scale.alpha), for_kernel_value(scale.beta)};
  if (plan.lanes > 0) {
    const auto rows_of_block = kThreads / plan.lanes;
    const auto blocks = plan.long_rows.size + (a.rows + rows_of_block - 1) / rows_of_block;
    return launch_following(multiply_rows<D, on_device<V>>, blocks, stream, device_view(a), for_kernel(x),
                            for_kernel(y), gpu_scale, plan.lanes, plan.long_rows.data,
                            Index(plan.long_rows.size));
  }
  std::shared_ptr<void> scratch;
  auto* heads = reinterpret_cast<T*>(plan.cells.data);
  if (plan.cells.size == 0 && plan.first_rows.size > 0) {
    scratch = allocate_scratch(2 * plan.tiles * std::int64_t(sizeof(T)), stream);
    heads = static_cast<T*>(scratch.get());
  }
  run<D>(device_view(a), for_kernel(x), for_kernel(y), gpu_scale,
         {plan.tiles, plan.rows_per_tile, plan.first_rows.data, heads, heads + plan.tiles}, stream);
}

/// The numbers of the rows that are longer than `limit`.
template <class V>
Array<const Index> long_rows(const CsrView<V>& a, Offset limit, Offset longest, Stream stream) {
  if (longest <= limit) return {};
  const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
  const auto list = allocate<Index>(std::min<std::int64_t>(a.rows, a.count / limit), here);
  const auto counter = allocate<Index>(1, here);
  Index count = 0;
  copy_async(counter.data, &count, sizeof count, stream);
  launch(list_long_rows, blocks_for(a.rows), stream, a.indptr, a.rows, limit, list.data, counter.data);
  copy_async(&count, counter.data, sizeof count, stream);
  synchronize(stream);
  return list.slice(0, count);
}

template <class V>
SpmvGpuPlan plan_spmv(const CsrView<V>& a, std::int64_t entry_bytes, Stream stream, bool tiles) {
  SpmvGpuPlan plan{.entry_bytes = entry_bytes};
  if (a.rows == 0) return plan;
  require(a.count >= 0 && entry_bytes > 0, "plan_spmv: the view states its count of nonzeros");
  const UseDevice use(stream.where);
  const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
  const auto found = allocate<unsigned long long>(1, here);
  unsigned long long longest = 0;
  copy_async(found.data, &longest, sizeof longest, stream);
  launch(find_longest, std::min<std::int64_t>(blocks_for(a.rows), 1024), stream, a.indptr, a.rows,
         found.data);
  copy_async(&longest, found.data, sizeof longest, stream);
  synchronize(stream);
  plan.longest = static_cast<Offset>(longest);
  if (!tiles)
    plan.lanes = lanes_of_rows(a.rows, a.count, plan.longest, is_pattern<V> ? 0 : std::int64_t(sizeof(V)),
                               gpu_facts(stream.where).cache);
  if (plan.lanes > 0) {
    plan.tiles = (a.rows + kThreads / plan.lanes - 1) / (kThreads / plan.lanes);
    plan.long_rows = long_rows(a, row_limit(plan.lanes), plan.longest, stream);
    return plan;
  }
  plan.rows_per_tile = rows_of_tile(a.rows, a.count, plan.longest, tile_items<true>(entry_bytes));
  if (plan.rows_per_tile > 0) {
    plan.tiles = (a.rows + plan.rows_per_tile - 1) / plan.rows_per_tile;
    return plan;
  }
  const auto tile = tile_items<false>(entry_bytes);
  plan.tiles = (a.rows + a.count + tile - 1) / tile;
  const auto first_rows = allocate<std::int64_t>(plan.tiles + 1, here);
  plan.first_rows = first_rows;
  plan.cells = allocate<std::byte>(2 * plan.tiles * entry_bytes, here);
  launch(find_tiles, blocks_for(plan.tiles + 1), stream, a.indptr, a.rows, plan.tiles, int(tile),
         first_rows.data);
  synchronize(stream);
  return plan;
}

#define X(S, V)                                                                                 \
  template void spmv<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>, Stream); \
  template void spmv<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>, Stream,  \
                           const SpmvGpuPlan&);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X
#define X(V) template SpmvGpuPlan plan_spmv(const CsrView<V>&, std::int64_t, Stream, bool);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock::gpu
