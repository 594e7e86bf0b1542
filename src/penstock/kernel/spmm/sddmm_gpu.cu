// X Y^T at the stored entries of A on a GPU.
//
// A block takes a fixed number of items of the merge path (rows and nonzeros), so that hubs and empty rows cost alike, and
// notes the row and the column of each of its nonzeros in shared memory. Groups of lanes then take kTogether nonzeros at a
// time: they ask for all these rows of Y at once, 16 bytes a lane where rows are aligned, and for one row of X if the nonzeros
// share it, which they do in long rows. The sums of the lanes are joined by exchanging halves, in which every nonzero's sum
// is added up in the same order, wherever it stands. There are no atomics, so every run gives the same bits.
//
// The rows of Y bind: an entry needs one, of which 4 or more bytes of each column come from the caches or from memory. The
// rows of X are read once a block, in order; an entry's column, value and result are 8 to 12 bytes more (float32).
#include "penstock/kernel/spmm/sddmm_gpu.hpp"
#include "penstock/kernel/spmm/spmm_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kSampleItems = 4;                       // of the merge path, each thread
constexpr int kSampleTile = kSampleItems * kThreads;  // each block
constexpr int kTogether = 8;                          // nonzeros that a group takes at once

/// How a group reads a row: its lanes side by side, `kVec` entries each.
template <int lanes_, int vec_>
struct SampleShape {
  static constexpr int kLanes = lanes_, kVec = vec_;
  static constexpr int kGroups = kThreads / kLanes;
  static constexpr int kLeft = std::max(1, kTogether / kLanes);  // sums that a lane has at the end
  static constexpr int kSame = std::max(1, kLanes / kTogether);  // lanes that have the same sum then
};

/// The type of A's values is known when it runs: a kernel for each would be the same but for one line.
enum class SampleValues { ones, float32, float64, complex64, complex128 };
template <class V>
constexpr SampleValues sample_values() {
  if constexpr (is_pattern<V>) return SampleValues::ones;
  else if constexpr (std::same_as<V, float>) return SampleValues::float32;
  else if constexpr (std::same_as<V, double>) return SampleValues::float64;
  else if constexpr (std::same_as<V, Complex64>) return SampleValues::complex64;
  else return SampleValues::complex128;
}

template <class T>
struct Sample {
  std::int64_t rows, count;
  Offset first_nnz;
  const Offset* indptr;
  const Index* indices;
  const void* values;
  SampleValues kind;
  const T *x, *y;
  std::int64_t x_step, y_step, width;
  T* out;
  T alpha, beta;
  const std::int64_t* first_rows;  // rows that end before each tile

  __device__ T by_value(T v, Offset k) const {
    switch (kind) {
      case SampleValues::ones: return v;
      case SampleValues::float32: return v * T(read_once(static_cast<const float*>(values) + k));
      case SampleValues::float64: return v * T(read_once(static_cast<const double*>(values) + k));
      default: break;
    }
    if constexpr (!std::is_floating_point_v<T>) {
      if (kind == SampleValues::complex64) return v * T(static_cast<const Complex<float>*>(values)[k]);
      return v * T(static_cast<const Complex<double>*>(values)[k]);
    }
    return v;
  }
  __device__ void write(Offset k, T sum) const {
    const T v = by_value(alpha * sum, k);
    out[k] = beta == T(0) ? v : v + beta * out[k];
  }
};

template <class T>
__device__ T shuffle_xor(unsigned mask, T v, int distance) {
  constexpr int kWords = sizeof(T) / sizeof(unsigned);
  unsigned words[kWords];
  memcpy(words, &v, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(mask, words[i], distance);
  memcpy(&v, words, sizeof(T));
  return v;
}

/// Adds up `n` sums over 2 * distance lanes. While there are several, each of two lanes gives half of them to the other one,
/// so that a lane ends with the sums from lane / kSame * kLeft on.
template <int distance, int n, class T>
__device__ __forceinline__ void join_lanes(T (&sum)[kTogether], int lane, unsigned mask) {
  if constexpr (distance > 0 && n > 1) {
    const bool upper = (lane & distance) != 0;
#pragma unroll
    for (int i = 0; i < n / 2; ++i) {
      const T given = upper ? sum[i] : sum[i + n / 2], kept = upper ? sum[i + n / 2] : sum[i];
      sum[i] = kept + shuffle_xor(mask, given, distance);
    }
    join_lanes<distance / 2, n / 2>(sum, lane, mask);
  } else if constexpr (distance > 0) {
    sum[0] = sum[0] + shuffle_xor(mask, sum[0], distance);
    join_lanes<distance / 2, 1>(sum, lane, mask);
  }
}

/// This lane's part of kTogether inner products. `x` is the tile's first row of X.
template <class Sh, bool one_row, class T>
__device__ __forceinline__ void add_products(const Sample<T>& p, const T* x, const Ahead<int, kTogether>& row,
                                             const Ahead<Index, kTogether>& column, int lane,
                                             T (&sum)[kTogether]) {
  using P = Pack<T, Sh::kVec>;
  constexpr int kRows = one_row ? 1 : kTogether;
  for (std::int64_t c = lane * Sh::kVec; c < p.width; c += Sh::kLanes * Sh::kVec) {
    P xs[kRows], ys[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) ys[i] = *reinterpret_cast<const P*>(p.y + column.v[i] * p.y_step + c);
#pragma unroll
    for (int i = 0; i < kRows; ++i) xs[i] = *reinterpret_cast<const P*>(x + row.v[i] * p.x_step + c);
#pragma unroll
    for (int i = 0; i < kTogether; ++i)
#pragma unroll
      for (int v = 0; v < Sh::kVec; ++v) sum[i] = sum[i] + xs[one_row ? 0 : i].v[v] * ys[i].v[v];
  }
}

/// The row of each nonzero of a tile, counted from the tile's first. Every thread walks kSampleItems items of the merge path.
/// `ends[r]` says how many of the tile's nonzeros stand before the end of row r.
__device__ inline void find_rows(const int* ends, int rows, int count, int* rows_of) {
  const int item = int(threadIdx.x) * kSampleItems, items = rows + count;
  int low = max(item - count, 0), high = min(item, rows);
  while (low < high) {
    const int mid = (low + high) / 2;
    if (ends[mid] + mid < item) low = mid + 1;
    else high = mid;
  }
  int r = low, q = item - low;
  for (int i = item; i < min(item + kSampleItems, items); ++i) {
    if (r < rows && ends[r] <= q) ++r;
    else rows_of[q++] = r;
  }
}

template <class T, class Sh>
__global__ void __launch_bounds__(kThreads, 2) sample_tiles(Sample<T> p) {
  constexpr int kLanes = Sh::kLanes;
  alignas(16) __shared__ Index columns[kSampleTile + kTogether];
  alignas(16) __shared__ int rows_of[kSampleTile + kTogether];
  __shared__ int ends[kSampleTile];
  const auto tile = std::int64_t(blockIdx.x), item = tile * kSampleTile;
  const auto first_row = p.first_rows[tile];
  const int rows = int(p.first_rows[tile + 1] - first_row);
  const int count = int(std::min<std::int64_t>(kSampleTile, p.rows + p.count - item)) - rows;
  if (count == 0) return;
  const auto first = p.indptr[0], k = item - first_row;  // the tile's first nonzero
  const auto at = k + first - p.first_nnz;               // in the arrays
  for (int i = int(threadIdx.x); i < rows; i += kThreads)
    ends[i] = int(p.indptr[first_row + i + 1] - first - k);
  // Behind the last nonzero stand others that may be read and are not written: column 0, and a row that is no earlier.
  for (int i = int(threadIdx.x); i < count + kTogether; i += kThreads)
    columns[i] = i < count ? read_once(p.indices + at + i) : 0;
  if (threadIdx.x < kTogether)
    rows_of[count + threadIdx.x] = int(std::min<std::int64_t>(rows, p.rows - 1 - first_row));
  __syncthreads();
  find_rows(ends, rows, count, rows_of);
  __syncthreads();

  const int lane = int(threadIdx.x) % kLanes, group = int(threadIdx.x) / kLanes;
  const unsigned mask =
      kLanes == 32 ? kAll : ((1u << kLanes % 32) - 1) << (int(threadIdx.x) % 32 / kLanes * kLanes);
  const T* const x = p.x + first_row * p.x_step;
  for (int b = group * kTogether; b < count; b += Sh::kGroups * kTogether) {
    const auto column = *reinterpret_cast<const Ahead<Index, kTogether>*>(columns + b);
    const auto row = *reinterpret_cast<const Ahead<int, kTogether>*>(rows_of + b);
    T sum[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) sum[i] = T(0);
    if (row.v[0] == row.v[kTogether - 1]) add_products<Sh, true>(p, x, row, column, lane, sum);
    else add_products<Sh, false>(p, x, row, column, lane, sum);
    __syncwarp(mask);
    join_lanes<kLanes / 2, kTogether>(sum, lane, mask);
    const int mine = b + lane / Sh::kSame * Sh::kLeft;
    if (lane % Sh::kSame != 0) continue;
#pragma unroll
    for (int i = 0; i < Sh::kLeft; ++i)
      if (mine + i < count) p.write(at + mine + i, sum[i]);
  }
}

template <class Sh, class T>
void run_sample(const Sample<T>& p, std::int64_t tiles, Stream stream) {
  launch(sample_tiles<T, Sh>, tiles, stream, p);
}

/// Rows of at most 32 bytes take two lanes each, so that a warp has many under way; rows of more than 256 take a warp, which
/// asks for 512 bytes of one at once, as memory likes it.
template <class T>
void choose_sample(const Sample<T>& p, std::int64_t tiles, Stream stream) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int kWide = 16 / int(sizeof(T));
    const auto begins = [](const T* z) { return reinterpret_cast<std::uintptr_t>(z) % 16 == 0; };
    if (p.width % kWide == 0 && p.x_step % kWide == 0 && p.y_step % kWide == 0 && begins(p.x) &&
        begins(p.y)) {
      const auto bytes = p.width * std::int64_t(sizeof(T));
      if (bytes <= 32) return run_sample<SampleShape<2, kWide>>(p, tiles, stream);
      if (bytes <= 256) return run_sample<SampleShape<8, kWide>>(p, tiles, stream);
      return run_sample<SampleShape<32, kWide>>(p, tiles, stream);
    }
  }
  if (p.width <= 16) return run_sample<SampleShape<8, 1>>(p, tiles, stream);
  run_sample<SampleShape<32, 1>>(p, tiles, stream);
}

}  // namespace

template <class T, class V>
void sddmm(CsrView<V> a, DenseView<const T> x, DenseView<const T> y, T* out, T alpha, T beta, Stream stream) {
  require(a.count >= 0 && x.row_major() && y.row_major() && x.rows == a.rows && y.rows == a.cols &&
              x.cols == y.cols,
          "sddmm on a GPU: the view states its count of nonzeros, X and Y are row-major, fit it and are "
          "equally wide");
  if (a.count == 0) return;
  const auto total = a.rows + a.count, tiles = (total + kSampleTile - 1) / kSampleTile;
  require(tiles <= 0x7fffffff, "sddmm on a GPU: " + std::to_string(total) +
                                   " rows and nonzeros are too many for one launch: take row ranges");
  const UseDevice use(stream.where);
  const auto scratch = allocate_scratch((tiles + 1) * std::int64_t(sizeof(std::int64_t)), stream);
  auto* first_rows = static_cast<std::int64_t*>(scratch.get());
  launch(find_tiles, blocks_for(tiles + 1), stream, a.indptr, a.rows, tiles, kSampleTile, first_rows);
  choose_sample(Sample<on_device<T>>{.rows = a.rows,
                                     .count = a.count,
                                     .first_nnz = a.first_nnz,
                                     .indptr = a.indptr,
                                     .indices = a.indices,
                                     .values = a.values,
                                     .kind = sample_values<V>(),
                                     .x = for_kernel(x.data),
                                     .y = for_kernel(y.data),
                                     .x_step = x.row_step,
                                     .y_step = y.row_step,
                                     .width = x.cols,
                                     .out = for_kernel(out),
                                     .alpha = for_kernel_value(alpha),
                                     .beta = for_kernel_value(beta),
                                     .first_rows = first_rows},
                tiles, stream);
}

#define X(T, V) \
  template void sddmm<T, V>(CsrView<V>, DenseView<const T>, DenseView<const T>, T*, T, T, Stream);
PENSTOCK_FOR_EACH_SDDMM(X)
#undef X

}  // namespace penstock::gpu
