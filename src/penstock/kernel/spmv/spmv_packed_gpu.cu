// y = alpha A x + beta y on a GPU, straight from packed blocks (format/packed_view.hpp has the layout).
//
// A warp takes a tile of 1024 nonzeros, 32 at a time. Each lane reads its gap from the words; a prefix sum over the warp makes
// columns of the gaps, and from it the prefix at the last row start before the lane is subtracted. Four such steps are decoded
// before the warp waits for the first of their entries of x. Sums of rows are written to scratch memory by rank, which is the
// row's number among the rows with entries. The parts of rows that the edge of a tile cuts go to the tile's head and tail. A
// second kernel adds these in order, and writes every row of y, with or without entries, once. There are no atomics on sums,
// and everything depends on the matrix alone: the result has the same bits in every run.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/format/bits.hpp"
#include "penstock/format/short_floats.hpp"
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spmv/complex_gpu.cuh"
#include "penstock/kernel/spmv/spmv_packed.hpp"

namespace penstock::gpu {
namespace {

constexpr int kWarps = kThreads / 32;

constexpr int kAhead = 4;         // steps whose entries of x are under way at once
constexpr int kMostBlocks = 128;  // blocks of one launch: their places are arguments of the kernel

/// The blocks of one launch.
struct Blocks {
  const std::byte* base;
  std::int64_t first_row;
  std::uint32_t most_tiles;            // the most tiles that one of the blocks has
  std::uint32_t at[kMostBlocks];       // where each block begins, in units of 128 bytes
  std::uint32_t sums_at[kMostBlocks];  // where each block's part of `sums` begins
};

/// A packed block in the GPU's memory.
struct View {
  const std::byte* base;

  __device__ View(const Blocks& blocks, unsigned i)
      : base(blocks.base + std::int64_t(blocks.at[i]) * kPackedAlign) {}
  template <class U>
  __device__ const U* at(std::uint32_t offset) const {
    return reinterpret_cast<const U*>(base + offset);
  }
  __device__ const PackedHeader& header() const { return *at<PackedHeader>(0); }
};

/// Where a block's values are, and how they are stored.
template <class V>
struct Values {
  ValueKind kind;
  const V* dictionary;
  const std::byte* packed;
  __device__ Values(const View& block, const PackedHeader& h)
      : kind(h.kind), dictionary(block.at<V>(h.dictionary_at)), packed(block.base + h.values_at) {}
  template <class U>
  __device__ U stored(std::uint32_t k) const {
    return read_once(reinterpret_cast<const U*>(packed) + k);
  }
};

template <class T>
struct Scratch {
  T *sums, *heads, *tails;  // a sum for each row with entries; a head and a tail for each tile
};

/// The number of `width` bits that begins at bit `at`; width < 32.
__device__ std::uint32_t cut_bits(const std::uint32_t* words, std::uint32_t at, int width) {
  const auto low = read_once(words + at / 32), high = read_once(words + at / 32 + 1);
  return __funnelshift_r(low, high, at % 32) & low_bits(width);
}

/// A word for each lane, in which bit p is set if a row begins at nonzero 32 * lane + p of the tile.
__device__ std::uint32_t start_marks(const std::uint32_t* words, int starts, int lane,
                                     std::uint32_t* shared) {
  if (starts > kMostListed) return read_once(words + lane);
  shared[lane] = 0;
  __syncwarp();
  for (int i = lane; i < starts; i += 32) {
    const auto p = cut_bits(words, std::uint32_t(i * kStartBits), kStartBits);
    atomicOr(shared + p / 32, 1u << (p % 32));
  }
  __syncwarp();
  return shared[lane];
}

/// Reads the values of `kAhead` steps for this lane, of which nonzero k0 is the first. Those from `end` on are not read.
template <class S, class V>
__device__ void read_entries(const Values<V>& values, std::uint32_t k0, std::uint32_t end,
                             typename S::value_type (&out)[kAhead]) {
  using T = typename S::value_type;
  const auto each = [&](auto&& value_at) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const auto k = k0 + std::uint32_t(32 * i);
      const V value = k < end ? V(value_at(k)) : V();
      out[i] = entry<S>(&value, 0);
    }
  };
  if constexpr (is_pattern<V>) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) out[i] = T(1);
  } else {
    switch (values.kind) {
      case ValueKind::none: return;
      case ValueKind::constant: return each([&](std::uint32_t) { return *values.dictionary; });
      case ValueKind::dictionary4:
        return each([&](std::uint32_t k) {
          return values.dictionary[values.template stored<std::uint8_t>(k / 2) >> (k % 2 * 4) & 15];
        });
      case ValueKind::dictionary8:
        return each(
            [&](std::uint32_t k) { return values.dictionary[values.template stored<std::uint8_t>(k)]; });
      case ValueKind::raw: return each([&](std::uint32_t k) { return values.template stored<V>(k); });
      case ValueKind::int8:
      case ValueKind::int16:
      case ValueKind::bfloat16:
      case ValueKind::float16:
      case ValueKind::float32: break;
    }
    if constexpr (std::is_arithmetic_v<V>) {
      if (values.kind == ValueKind::int8)
        each([&](std::uint32_t k) { return values.template stored<std::int8_t>(k); });
      else if (values.kind == ValueKind::int16)
        each([&](std::uint32_t k) { return values.template stored<std::int16_t>(k); });
      else if (values.kind == ValueKind::bfloat16)
        each([&](std::uint32_t k) { return float(Bfloat16::of(values.template stored<std::uint16_t>(k))); });
      else if (values.kind == ValueKind::float16)
        each([&](std::uint32_t k) { return float(Float16::of(values.template stored<std::uint16_t>(k))); });
      else each([&](std::uint32_t k) { return values.template stored<float>(k); });
    }
  }
}

/// Where the sums of a warp's tile are written. All lanes hold the same.
template <class S>
struct RowSums {
  using T = typename S::value_type;
  T *sums, *head;        // the sums of the block, and the head of the tile
  std::int64_t rank;     // of the row that has begun and not ended; -1 before the block's first row
  bool entered;          // that row began in an earlier tile
  bool nothing = false;  // there is no such row, because the tile begins with one

  /// Ends the row that has begun; `part` is each lane's part of it. Sums begin with zero(), as max_times of negative numbers
  /// is 0.
  __device__ void finish(T part, int lane) {
    const T sum = sum_lanes<S>(part, 32);
    if (lane == 0 && !nothing) *(entered ? head : sums + rank) = S::add(S::zero(), sum);
    entered = nothing = false;
  }
};

/// Adds one step: the products of 32 nonzeros, where rows begin at `marks`. `mine` is each lane's part of the row that has
/// begun and not ended.
template <class S>
__device__ void add_step(RowSums<S>& rows, typename S::value_type& mine, typename S::value_type product,
                         std::uint32_t marks, int lane) {
  if (marks == 0) {
    mine = S::add(mine, product);
    return;
  }
  const int first = __ffs(int(marks)) - 1, last = 31 - __clz(int(marks)), begun = __popc(marks);
  rows.finish(lane < first ? S::add(mine, product) : mine, lane);
  mine = lane >= last ? product : S::zero();
  // Rows that begin and end in this step: the first lane of each gets the sum of the lanes up to the next start.
  if (begun > 1) {
    const auto later = marks & (0xfffffffeu << lane);
    const int end = later != 0 ? __ffs(int(later)) - 1 : 32;
    auto sum = product;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const auto other = shuffle_down(sum, d, 32);
      if (lane + d < end) sum = S::add(sum, other);
    }
    const int before = __popc(marks & ((1u << lane) - 1));
    if ((marks >> lane & 1) != 0 && lane != last) rows.sums[rows.rank + 1 + before] = S::add(S::zero(), sum);
  }
  rows.rank += begun;
}

template <class S, class V>
__global__ void __launch_bounds__(kThreads)
    multiply_packed_tiles(const __grid_constant__ Blocks blocks, const typename S::value_type* __restrict__ x,
                          Scratch<typename S::value_type> scratch) {
  using T = typename S::value_type;
  __shared__ std::uint32_t shared_marks[kThreads];
  const int lane = int(threadIdx.x) % 32;
  const auto number = blockIdx.x * kWarps + threadIdx.x / 32;
  const View block(blocks, blockIdx.y);
  const auto& h = block.header();
  if (number >= h.tiles) return;  // the whole warp returns
  const auto tile = block.at<PackedTile>(h.tiles_at)[number];
  const int starts = tile.starts();
  const auto* const widths = block.at<std::uint32_t>(h.words_at) + tile.at;
  const auto* const gaps = widths + kWidthWords + start_words(starts);

  // Lane l has the widths of groups 2l and 2l + 1, which are step l, and the number of half words before them.
  const auto pair = cut_bits(widths, std::uint32_t(lane * 2 * kWidthBits), 2 * kWidthBits);
  const auto both = (pair & 31) + (pair >> kWidthBits);
  auto before = both;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const auto other = __shfl_up_sync(kAll, before, d);
    if (lane >= d) before += other;
  }
  const auto my_step = (before - both) << 10 | pair;
  const auto my_marks = start_marks(widths + kWidthWords, starts, lane, shared_marks + (threadIdx.x & ~31u));

  const auto k0 = number * kTileNnz, end = h.nnz;
  const auto mask = h.column_mask;
  const Values<V> values(block, h);
  const int steps = int(min(end - k0, std::uint32_t(kTileNnz)) + 31) / 32;
  const auto tile_number = std::int64_t(blockIdx.y) * blocks.most_tiles + number;
  RowSums<S> rows{scratch.sums + blocks.sums_at[blockIdx.y], scratch.heads + tile_number,
                  std::int64_t(tile.rank) - 1, true};
  rows.nothing = (__shfl_sync(kAll, my_marks, 0) & 1) != 0;
  T mine = S::zero();
  auto carry = tile.carry;
  for (int step = 0; step < steps; step += kAhead) {
    std::uint32_t marks[kAhead], column[kAhead];
    T product[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const auto two = __shfl_sync(kAll, my_step, step + i);
      marks[i] = __shfl_sync(kAll, my_marks, step + i);
      const auto w0 = two & 31, w1 = two >> kWidthBits & 31;
      const auto width = lane < 16 ? w0 : w1;
      const auto half_word = (two >> 10) + (lane < 16 ? 0 : w0);
      column[i] = cut_bits(gaps, half_word * 16 + std::uint32_t(lane % 16) * width, int(width)) + 1;
    }
    read_entries<S, V>(values, k0 + std::uint32_t(step * 32 + lane), end, product);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      auto sum = column[i];
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        const auto other = __shfl_up_sync(kAll, sum, d);
        if (lane >= d) sum += other;
      }
      const auto begun = marks[i] & (0xffffffffu >> (31 - lane));  // rows that begin at or before this lane
      const int start = 31 - __clz(int(begun));                    // the last such lane; -1: there is none
      const auto off = __shfl_sync(kAll, sum, start > 0 ? start - 1 : 0);
      if (start > 0) sum -= off;
      if (start < 0) sum += carry;
      carry = __shfl_sync(kAll, sum, 31);
      column[i] = (sum - 1) & mask;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      product[i] =
          k0 + std::uint32_t((step + i) * 32 + lane) < end ? S::mul(product[i], x[column[i]]) : S::zero();
#pragma unroll
    for (int i = 0; i < kAhead; ++i) add_step<S>(rows, mine, product[i], marks[i], lane);
  }
  if (tile.open() && starts > 0) {
    const T sum = sum_lanes<S>(mine, 32);
    if (lane == 0) scratch.tails[tile_number] = S::add(S::zero(), sum);
  } else {
    rows.finish(mine, lane);
  }
}

/// The sum of the row that goes on behind tile `t`: the tile's tail, and the heads of the tiles that the row goes through. All
/// lanes call it.
template <class S>
__device__ typename S::value_type sum_cut_row(const PackedTile* tiles, std::uint32_t count, std::uint32_t t,
                                              const typename S::value_type* heads,
                                              const typename S::value_type* tails, int lane) {
  using T = typename S::value_type;
  T sum = lane == 0 ? tails[t] : S::zero();
  for (auto first = t + 1;; first += 32) {
    const auto other = first + std::uint32_t(lane);
    const bool last = other >= count || !tiles[other].passed();
    const auto ends = __ballot_sync(kAll, last);
    // The row's last tile; 32: it is none of these tiles.
    const int stop = ends != 0 ? __ffs(int(ends)) - 1 : 32;
    if (lane <= stop && other < count) sum = S::add(sum, heads[other]);
    if (ends != 0) break;
  }
  return sum_lanes<S>(sum, 32);
}

/// Each block of threads first joins those of its 1024 rows that the edges of tiles cut, and then writes all of them to y.
template <class S>
__global__ void __launch_bounds__(kThreads)
    finish_packed_rows(const __grid_constant__ Blocks blocks, typename S::value_type* y, Scale<S> scale,
                       Scratch<typename S::value_type> scratch) {
  using T = typename S::value_type;
  constexpr int kWords = kChunkRows / 32;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const View block(blocks, blockIdx.y);
  const auto& h = block.header();
  const auto first_row = blockIdx.x * kChunkRows;
  if (first_row >= h.rows) return;  // all threads return
  const auto* const chunks = block.at<PackedChunk>(h.chunks_at);
  const auto* const tiles = block.at<PackedTile>(h.tiles_at);
  const auto here = chunks[blockIdx.x], next = chunks[blockIdx.x + 1];
  T* const sums = scratch.sums + blocks.sums_at[blockIdx.y];
  const auto first_tile = std::int64_t(blockIdx.y) * blocks.most_tiles;
  for (auto t = here.tile + std::uint32_t(warp); t < h.tiles && t <= next.tile; t += kWarps) {
    const auto tile = tiles[t];
    if (!tile.open() || tile.starts() == 0) continue;
    const auto rank = tile.rank + std::uint32_t(tile.starts()) - 1;
    if (rank < here.rank || rank >= next.rank) continue;
    const T sum =
        sum_cut_row<S>(tiles, h.tiles, t, scratch.heads + first_tile, scratch.tails + first_tile, lane);
    if (lane == 0) sums[rank] = sum;
  }
  __syncthreads();

  const auto word =
      h.present_at != 0 ? block.at<std::uint32_t>(h.present_at)[first_row / 32 + std::uint32_t(lane)] : kAll;
  static_assert(kWords == 32);
  auto before = std::uint32_t(__popc(word));
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const auto other = __shfl_up_sync(kAll, before, d);
    if (lane >= d) before += other;
  }
  before += here.rank - std::uint32_t(__popc(word));
#pragma unroll
  for (int i = 0; i < kWords / kWarps; ++i) {
    const int w = warp * (kWords / kWarps) + i;
    const auto bits = __shfl_sync(kAll, word, w), rank = __shfl_sync(kAll, before, w);
    const auto row = first_row + std::uint32_t(w * 32 + lane);
    if (row >= h.rows) continue;
    T* const out = y + (h.first_row - blocks.first_row) + row;
    const bool present = (bits >> lane & 1) != 0;
    const T sum = present ? sums[rank + std::uint32_t(__popc(bits & ((1u << lane) - 1)))] : S::zero();
    *out = scale(sum, *out);
  }
}

template <class S>
__global__ void __launch_bounds__(kThreads)
    join_packed_cells(const typename S::value_type* __restrict__ cells, std::int64_t count,
                      typename S::value_type* y, Scale<S> scale) {
  if (threadIdx.x >= 32) return;  // one warp adds all of them
  auto sum = S::zero();
  for (std::int64_t i = threadIdx.x; i < count; i += 32) sum = S::add(sum, cells[i]);
  sum = sum_lanes<S>(sum, 32);
  if (threadIdx.x == 0) *y = scale(sum, *y);
}

}  // namespace

template <Semiring S, class V>
void spmv_packed(const PackedRun& run, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale, Stream stream) {
  using D = on_device<S>;
  using T = typename D::value_type;
  using W = on_device<V>;
  const UseDevice use(stream.where);
  const Scale<D> gpu_scale{for_kernel_value(scale.alpha), for_kernel_value(scale.beta)};
  const auto& all = run.blocks;
  for (std::size_t first = 0; first < all.size(); first += kMostBlocks) {
    const auto part = all.subspan(first, std::min<std::size_t>(kMostBlocks, all.size() - first));
    Blocks blocks{};
    blocks.base = run.bytes + (part[0].at - all[0].at);
    blocks.first_row = part[0].first_row;
    std::int64_t ranks = 0, tiles = 0, rows = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      blocks.at[i] = static_cast<std::uint32_t>((part[i].at - part[0].at) / kPackedAlign);
      blocks.sums_at[i] = static_cast<std::uint32_t>(ranks);
      ranks += part[i].ranks;
      tiles = std::max(tiles, part[i].tiles());
      rows = std::max(rows, part[i].rows);
    }
    blocks.most_tiles = static_cast<std::uint32_t>(tiles);
    const auto cells = tiles * std::ssize(part);
    const auto memory = allocate_scratch((ranks + 2 * cells) * std::int64_t(sizeof(T)) + 16, stream);
    auto* const sums = static_cast<T*>(memory.get());
    const Scratch<T> scratch{sums, sums + ranks, sums + ranks + cells};
    const auto many = static_cast<unsigned>(part.size());
    if (tiles > 0)
      launch_layers(multiply_packed_tiles<D, W>, (tiles + kWarps - 1) / kWarps, many, stream, blocks,
                    for_kernel(x), scratch);
    launch_layers(finish_packed_rows<D>, (rows + kChunkRows - 1) / kChunkRows, many, stream, blocks,
                  for_kernel(y + (part[0].first_row - all[0].first_row)), gpu_scale, scratch);
  }
}

template <Semiring S>
void join_cells(const typename S::value_type* cells, std::int64_t count, typename S::value_type* y,
                Scale<S> scale, Stream stream) {
  using D = on_device<S>;
  const UseDevice use(stream.where);
  const Scale<D> gpu_scale{for_kernel_value(scale.alpha), for_kernel_value(scale.beta)};
  launch(join_packed_cells<D>, 1, stream, for_kernel(cells), count, for_kernel(y), gpu_scale);
}

#define X(S, V) \
  template void spmv_packed<S, V>(const PackedRun&, const S::value_type*, S::value_type*, Scale<S>, Stream);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

#define X(S) \
  template void join_cells<S>(const S::value_type*, std::int64_t, S::value_type*, Scale<S>, Stream);
X(PlusTimes<float>)
X(PlusTimes<double>)
X(PlusTimes<Complex64>)
X(PlusTimes<Complex128>)
PENSTOCK_REAL_SEMIRINGS(PENSTOCK_ALONE, X, float)
PENSTOCK_REAL_SEMIRINGS(PENSTOCK_ALONE, X, double)
PENSTOCK_BOOLEAN_SEMIRINGS(PENSTOCK_BOOLEAN_ALONE, X)
#undef X

}  // namespace penstock::gpu
