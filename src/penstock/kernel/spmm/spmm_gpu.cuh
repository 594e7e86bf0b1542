#pragma once
#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/merge_path_gpu.cuh"
#include "penstock/kernel/spmm/row_sum_gpu.cuh"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/kernel/spmm/spmm_tasks_gpu.cuh"
#include "penstock/kernel/spmv/complex_gpu.cuh"

// Y = alpha A X + beta Y on a GPU.
//
// A group of lanes (a warp, or less for few columns) takes a fixed number of items of the merge path, and holds one row of Y
// in registers, a few columns a lane. It reads column indices and values once, coalesced, and passes them to all lanes through
// shared memory. The rows of X that several nonzeros need are asked for together, also across the end of a row, so that short
// rows leave no gaps. A row that several groups of one block share is joined in shared memory; a row that several blocks share
// is joined by a last pass over their cells. There are no atomics, and sums of groups are added in the order of the matrix, so every run
// gives the same bits.
//
// Where the plan lists the rows, spmm_tasks_gpu.cuh takes the panels whose rows have packs of 16 bytes.
//
// The columns are divided into panels, and each panel is a pass over A.
namespace penstock::gpu {

namespace {

/// The cut into groups: unit u begins after first_rows[u] rows. A group takes `step` units, which have `items` items.
struct Cut {
  const std::int64_t* first_rows;
  std::int64_t units;
  int step, items;
  __device__ std::int64_t first_row(std::int64_t group) const {
    const auto u = group * step;
    return first_rows[u < units ? u : units];
  }
};

/// kBlocks is how many blocks a multiprocessor has, which bounds the registers (at most 1024 threads, so that it holds for
/// every architecture). kAheadOf is how many rows of X a group asks for together. It gives 25 to 64 KB in flight on a
/// multiprocessor, where 41 GB/s (its share of an H100's second-level cache) times 700 ns is 29 KB. Smaller GPUs need less.
template <class T, class Sh>
inline constexpr int kLaneBytes = Sh::kVec* Sh::kReps* int(sizeof(T));
/// Groups of part of a warp with 16 bytes a lane ask for fewer rows, so that four blocks have registers: then X of small
/// matrices, which is in the second-level cache, is waited for by more warps.
template <class T, class Sh>
inline constexpr bool kPartOfWarp = Sh::kLanes < 32 && kLaneBytes<T, Sh> == 16;
template <class T, class Sh>
inline constexpr int kBlocks = kLaneBytes<T, Sh> <= 4 || kPartOfWarp<T, Sh> ? 4
                               : kLaneBytes<T, Sh> <= 16                    ? 3
                                                                            : 2;
template <class T, class Sh>
inline constexpr int kAheadOf =
    std::min(Sh::kLanes, kLaneBytes<T, Sh> <= 16 && Sh::kReps == 1 && !kPartOfWarp<T, Sh> ? 8 : 4);

/// What one group takes: the rows that end in it, and its nonzeros.
struct GroupItems {
  std::int64_t row;    // the first row
  int rows, count;     // rows that end in the group, and its nonzeros
  Offset k;            // the first nonzero, as indptr counts
  bool began_earlier;  // whether the first row did
};

template <class V>
__device__ __forceinline__ GroupItems items_of_group(const CsrView<V>& a, const Cut& cut,
                                                     std::int64_t group) {
  GroupItems g;
  g.row = cut.first_row(group);
  g.rows = int(cut.first_row(group + 1) - g.row);
  const auto total = a.rows + a.count;
  const auto item = std::min(group * cut.items, total), item_end = std::min(item + cut.items, total);
  g.count = int(item_end - item) - g.rows;
  g.k = a.indptr[0] + item - g.row;
  g.began_earlier = g.row < a.rows && a.indptr[g.row] < g.k;
  return g;
}

/// Joins the rows that several groups of the block share, when all groups have written their cells `heads` and `tails`. The
/// group in which a row ends adds up its parts. `row` is the first row of the calling group, of which `rows` end in the group;
/// `sum` is scratch memory.
template <class S, class V, class Sh>
__device__ __forceinline__ void join_groups(const CsrView<V>& a, const Panel<typename S::value_type>& p,
                                            const Scale<S>& scale, const Cut& cut,
                                            const typename S::value_type* heads,
                                            const typename S::value_type* tails, RowSum<S, Sh>& sum,
                                            std::int64_t row, int rows, bool began_earlier) {
  const int lane = int(threadIdx.x) % Sh::kLanes, local = int(threadIdx.x) / Sh::kLanes;
  const auto first_group = std::int64_t(blockIdx.x) * Sh::kGroups;
  const auto group = first_group + local;
  const auto total = a.rows + a.count;
  if (group * cut.items >= total) return;
  const auto add_tails = [&](std::int64_t from, int to) {
    sum.clear();
    RowSum<S, Sh> part;
    for (int g = int(std::max(from, first_group) - first_group); g < to; ++g) {
      part.load_cell(tails + g * Sh::kColumns, lane);
      sum.add(part);
    }
  };
  if (rows > 0 && began_earlier) {
    // The group of the row's first nonzero.
    const auto from = (a.indptr[row] - a.indptr[0] + row) / cut.items;
    add_tails(from, local);
    RowSum<S, Sh> head;
    head.load_cell(heads + local * Sh::kColumns, lane);
    sum.add(head);
    if (from >= first_group) sum.store(p.y + row * p.y_step, lane, p.cols, scale);
    else sum.store_cell(p.heads + std::int64_t(blockIdx.x) * Sh::kColumns, lane);
  }
  if (const auto last = row + rows; local == Sh::kGroups - 1 && last < a.rows) {
    const auto begin = a.indptr[last] - a.indptr[0] + last;
    if (begin >= (group + 1) * cut.items) return;
    add_tails(begin / cut.items, Sh::kGroups);
    sum.store_cell(p.tails + std::int64_t(blockIdx.x) * Sh::kColumns, lane);
  }
}

/// One panel of Y. A group walks its items; rows that begin and end in it are written, and the parts of others go to the cells
/// of the group.
template <class S, class V, class Sh>
__global__ void __launch_bounds__(kThreads, kBlocks<typename S::value_type, Sh>)
    multiply_groups(CsrView<V> a, Panel<typename S::value_type> p, Scale<S> scale, Cut cut) {
  using T = typename S::value_type;
  constexpr int kLanes = Sh::kLanes;
  constexpr int kAhead = kAheadOf<T, Sh>;
  alignas(16) __shared__ Index some_columns[kThreads];
  alignas(16) __shared__ std::byte value_bytes_of[is_pattern<V> ? 16 : kThreads * sizeof(V)];
  alignas(16) __shared__ std::byte cell_bytes[2 * Sh::kGroups * Sh::kColumns * sizeof(T)];
  T* const heads = reinterpret_cast<T*>(cell_bytes);
  T* const tails = heads + Sh::kGroups * Sh::kColumns;
  follow();

  const int lane = int(threadIdx.x) % kLanes, local = int(threadIdx.x) / kLanes;
  const unsigned mask = group_mask<Sh>();
  Index* const columns = some_columns + local * kLanes;
  V* const values = reinterpret_cast<V*>(value_bytes_of) + (is_pattern<V> ? 0 : local * kLanes);

  const auto first_group = std::int64_t(blockIdx.x) * Sh::kGroups;
  const auto group = first_group + local;
  const auto [row, rows, count, k, began_earlier] = items_of_group(a, cut, group);
  const auto* const ends_of_rows = a.indptr + row + 1;
  const auto end_of = [&](int r) { return r < rows ? int(ends_of_rows[r] - k) : 0x7fffffff; };
  int ends = end_of(lane), later_ends = end_of(kLanes + lane);  // ends of the rows with r % kLanes == lane
  int end = __shfl_sync(mask, ends, 0, kLanes);                 // the end of row r, counted from k
  int r = 0;
  T* out = p.y + row * p.y_step;
  RowSum<S, Sh> sum;
  sum.clear();
  const auto finish = [&] {
    if (r == 0 && began_earlier) sum.store_cell(heads + local * Sh::kColumns, lane);
    else sum.store(out, lane, p.cols, scale);
    sum.clear();
    out += p.y_step;
    if (++r % kLanes == 0) ends = later_ends, later_ends = end_of(r + kLanes + lane);
    end = __shfl_sync(mask, ends, r % kLanes, kLanes);
  };

  Index my_column = 0;
  V my_value{};
  const Index* const my_indices = a.indices + (k - a.first_nnz);
  // Lanes behind the last nonzero read that one again.
  const auto fetch = [&](int from) {
    if (from >= count) return;
    const int q = std::min(from + lane, count - 1);
    my_column = read_once(my_indices + q);
    if constexpr (!is_pattern<V>) my_value = read_once(a.values + (k - a.first_nnz) + q);
  };
  fetch(0);
  for (int from = 0; from < count; from += kLanes) {
    columns[lane] = my_column;
    if constexpr (!is_pattern<V>) values[lane] = my_value;
    __syncwarp(mask);
    fetch(from + kLanes);
#pragma unroll 1
    for (int u = 0; u < kLanes && from + u < count; u += kAhead) {
      const auto column = *reinterpret_cast<const Ahead<Index, kAhead>*>(columns + u);
      RowSum<S, Sh> x[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) x[i].load(p.x + column.v[i] * p.x_step, lane, p.cols);
      Ahead<V, 4> value;
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (from + u + i >= count) break;
        if constexpr (!is_pattern<V>)
          if (i % 4 == 0) value = *reinterpret_cast<const Ahead<V, 4>*>(values + u + i);
        while (from + u + i == end) finish();
        sum.add_product(entry<S>(value.v, i % 4), x[i]);
      }
    }
    __syncwarp(mask);  // all lanes have read these nonzeros before the next ones are written
  }
  while (r < rows) finish();
  sum.store_cell(tails + local * Sh::kColumns, lane);
  __syncthreads();
  join_groups<S, V, Sh>(a, p, scale, cut, heads, tails, sum, row, rows, began_earlier);
}

// Bytes of each row of X that one pass over A takes: 64 columns of float64, 128 of float32. R-MAT 22 with 128 columns on an
// H200: panels of 32, 64 and 128 columns gave 1123, 1723 and 1456 GFLOP/s in float64, and 1591, 3082 and 3456 in float32.
constexpr std::int64_t kPanelBytes = 512;
constexpr int kSerialParts = 32;  // a row of so many blocks or fewer is joined by one group

/// For each block whose first row began in an earlier block and ends in it: adds up the row's parts in order, and writes the
/// row of Y. A group takes a block of `cut`; rows of very many blocks are left to all groups together.
template <class S, class Sh>
__global__ void __launch_bounds__(kThreads)
    join_blocks(const Offset* __restrict__ indptr, Panel<typename S::value_type> p, Scale<S> scale, Cut cut,
                std::int64_t blocks) {
  using T = typename S::value_type;
  alignas(16) __shared__ std::byte cell_bytes[Sh::kGroups * Sh::kColumns * sizeof(T)];
  __shared__ std::int64_t long_row[Sh::kGroups], long_from[Sh::kGroups];
  T* const cells = reinterpret_cast<T*>(cell_bytes);
  follow();
  const int lane = int(threadIdx.x) % Sh::kLanes, local = int(threadIdx.x) / Sh::kLanes;
  const auto first = std::int64_t(blockIdx.x) * Sh::kGroups, block = first + local;
  RowSum<S, Sh> sum, head;
  const auto write = [&](std::int64_t row, std::int64_t at) {
    head.load_cell(p.heads + at * Sh::kColumns, lane);
    sum.add(head);
    sum.store(p.y + row * p.y_step, lane, p.cols, scale);
  };
  std::int64_t row = 0, from = 0;
  bool shared = false;
  if (block < blocks) {
    row = cut.first_row(block);
    if (row < cut.first_row(block + 1)) {
      const auto item = indptr[row] - indptr[0] + row;
      from = item / cut.items;
      shared = item < block * cut.items;
    }
  }
  const bool is_long = shared && block - from > kSerialParts;
  if (shared && !is_long) {
    add_cells<S, Sh>(sum, p.tails, from, block, lane);
    write(row, block);
  }
  if (lane == 0) long_row[local] = is_long ? row : -1, long_from[local] = from;
  __syncthreads();
  for (int w = 0; w < Sh::kGroups; ++w) {
    if (long_row[w] < 0) continue;
    const auto begin = long_from[w], parts = first + w - begin;
    const auto share = (parts + Sh::kGroups - 1) / Sh::kGroups;
    add_cells<S, Sh>(sum, p.tails, begin + std::min(parts, local * share),
                     begin + std::min(parts, (local + 1) * share), lane);
    sum.store_cell(cells + local * Sh::kColumns, lane);
    __syncthreads();
    if (local == 0) {
      add_cells<S, Sh>(sum, cells, 0, Sh::kGroups, lane);
      write(long_row[w], first + w);
    }
    __syncthreads();
  }
}

/// One panel: its columns and the shape that walks them.
struct Choice {
  int lanes, vec, reps;
  std::int64_t cols;
  int columns() const { return lanes * vec * reps; }
  int groups() const { return kThreads / lanes; }
};

/// Products over plus_times of real numbers, which are the most frequent ones, have all shapes; others have two.
template <class S>
inline constexpr bool has_all_shapes =
    std::same_as<S, PlusTimes<typename S::value_type>>&& std::is_floating_point_v<typename S::value_type>;

/// Whether packs of n neighbours begin at multiples of their size.
template <class T>
bool has_packs(int n, std::int64_t cols, const T* x, std::int64_t x_step, const T* y, std::int64_t y_step) {
  const auto bytes = std::uintptr_t(n) * sizeof(T);
  return cols % n == 0 && reinterpret_cast<std::uintptr_t>(x) % bytes == 0 &&
         reinterpret_cast<std::uintptr_t>(y) % bytes == 0 && x_step % n == 0 && y_step % n == 0;
}

template <class T>
Choice choose(bool all, std::int64_t left, const T* x, std::int64_t x_step, const T* y, std::int64_t y_step) {
  const auto fits = [&](int n) { return has_packs(n, left, x, x_step, y, y_step); };
  constexpr int kWide = sizeof(T) == 4 ? 4 : 2;  // 16 bytes
  if (!all) return left <= 8 ? Choice{8, 1, 1, left} : Choice{32, 1, 1, std::min<std::int64_t>(left, 32)};
  // A lane with 16 bytes of a row has as many bytes under way for each instruction as it can. So few columns are walked by few
  // lanes, and a warp walks several places of A at once.
  const int lanes = int((left + kWide - 1) / kWide);
  if (left <= 32 && fits(kWide) && lanes > 2) return {lanes <= 4 ? 4 : lanes <= 8 ? 8 : 16, kWide, 1, left};
  if (left <= 16) return {left <= 4 ? 4 : left <= 8 ? 8 : 16, 1, 1, left};
  if (left <= 32) return {32, 1, 1, left};
  // For 64 columns of float32, a warp with 8 bytes a lane took as long as one with 16 bytes a lane for 128 columns, so here
  // half a warp takes a row.
  if (left <= 64 && sizeof(T) == 4 && fits(4)) return {16, 4, 1, left};
  if (left <= 64) return fits(2) ? Choice{32, 2, 1, left} : Choice{32, 1, 2, left};
  left = std::min<std::int64_t>(left, 128);
  return fits(kWide) ? Choice{32, kWide, 4 / kWide, left} : Choice{32, 1, 4, left};
}

template <class D, class W, class Sh>
void run_panel(const CsrView<W>& a, const Panel<typename D::value_type>& panel, const Scale<D>& scale,
               Cut cut, Stream stream) {
  const auto groups = (a.rows + a.count + cut.items - 1) / cut.items;
  const auto blocks = (groups + Sh::kGroups - 1) / Sh::kGroups;
  launch_following(multiply_groups<D, W, Sh>, blocks, stream, a, panel, scale, cut);
  if (blocks == 1) return;
  cut.step *= Sh::kGroups, cut.items *= Sh::kGroups;
  launch_following(join_blocks<D, Sh>, (blocks + Sh::kGroups - 1) / Sh::kGroups, stream, a.indptr, panel,
                   scale, cut, blocks);
}

template <class D, class W>
void run_choice(const Choice& c, const CsrView<W>& a, const Panel<typename D::value_type>& panel,
                const Scale<D>& scale, const Cut& cut, Stream stream) {
  const auto is = [&](int lanes, int vec, int reps) {
    return c.lanes == lanes && c.vec == vec && c.reps == reps;
  };
  using T = typename D::value_type;
  if (is(8, 1, 1)) return run_panel<D, W, Shape<8, 1, 1>>(a, panel, scale, cut, stream);
  if (is(32, 1, 1)) return run_panel<D, W, Shape<32, 1, 1>>(a, panel, scale, cut, stream);
  if constexpr (has_all_shapes<D>) {
    if (is(4, 1, 1)) return run_panel<D, W, Shape<4, 1, 1>>(a, panel, scale, cut, stream);
    if (is(16, 1, 1)) return run_panel<D, W, Shape<16, 1, 1>>(a, panel, scale, cut, stream);
    if (is(32, 1, 2)) return run_panel<D, W, Shape<32, 1, 2>>(a, panel, scale, cut, stream);
    if (is(32, 1, 4)) return run_panel<D, W, Shape<32, 1, 4>>(a, panel, scale, cut, stream);
    if (is(32, 2, 1)) return run_panel<D, W, Shape<32, 2, 1>>(a, panel, scale, cut, stream);
    constexpr int kWide = sizeof(T) == 4 ? 4 : 2;
    if (is(4, kWide, 1)) return run_panel<D, W, Shape<4, kWide, 1>>(a, panel, scale, cut, stream);
    if (is(8, kWide, 1)) return run_panel<D, W, Shape<8, kWide, 1>>(a, panel, scale, cut, stream);
    if (is(16, kWide, 1)) return run_panel<D, W, Shape<16, kWide, 1>>(a, panel, scale, cut, stream);
    if (is(32, kWide, 4 / kWide))
      return run_panel<D, W, Shape<32, kWide, 4 / kWide>>(a, panel, scale, cut, stream);
  }
  throw Error(Errc::not_compiled, "spmm on a GPU: no kernel of shape " + std::to_string(c.lanes) + ", " +
                                      std::to_string(c.vec) + ", " + std::to_string(c.reps));
}

}  // namespace

template <Semiring S, class V>
void spmm(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale, Stream stream, const SpmmGpuOptions& options) {
  using D = on_device<S>;
  using T = typename D::value_type;
  using W = on_device<V>;
  if (a.rows == 0 || x.cols == 0) return;
  require(a.count >= 0 && x.row_major() && y.row_major() && x.cols == y.cols && options.panel >= 0,
          "spmm on a GPU: the view states its count of nonzeros, X and Y are row-major and equally wide");
  const UseDevice use(stream.where);
  const CsrView<W> view{.rows = a.rows,
                        .cols = a.cols,
                        .first_nnz = a.first_nnz,
                        .indptr = a.indptr,
                        .indices = a.indices,
                        .values = for_kernel(a.values),
                        .count = a.count};
  const Scale<D> gpu_scale{for_kernel_value(scale.alpha), for_kernel_value(scale.beta)};
  const auto* xs = for_kernel(x.data);
  auto* ys = for_kernel(y.data);
  const auto& gpu = gpu_facts(stream.where);
  const auto total = a.rows + a.count;
  const auto* plan = options.plan;
  const int unit = plan ? plan->items : unit_items(total, gpu);
  const auto units = (total + unit - 1) / unit;
  const std::int64_t widest = options.panel > 0 ? options.panel : kPanelBytes / std::int64_t(sizeof(T));
  const auto choice_at = [&](std::int64_t j) {
    return choose(has_all_shapes<D>, std::min(widest, x.cols - j), xs + j, x.row_step, ys + j, y.row_step);
  };
  const auto items_of = [&](const Choice& c) { return group_items(total, c.lanes, unit, gpu); };
  const auto blocks_of = [&](const Choice& c) {
    return (total + std::int64_t(items_of(c)) * c.groups() - 1) / (std::int64_t(items_of(c)) * c.groups());
  };
  const SpmmTasks* tasks = has_all_shapes<D> && plan && !plan->tasks.empty() ? &plan->tasks : nullptr;
  const auto tasks_take = [&](const Choice& c, std::int64_t j) {  // as many columns, or 0
    return tasks ? task_columns<T>(
                       c.cols, has_packs(16 / int(sizeof(T)), c.cols, xs + j, x.row_step, ys + j, y.row_step))
                 : 0;
  };
  std::int64_t cells = 0;
  for (std::int64_t j = 0; j < x.cols;) {
    const auto c = choice_at(j);
    j += c.cols;
    if (const auto wide = tasks_take(c, j - c.cols)) {
      cells = std::max(cells, tasks->pieces.size * wide);
      continue;
    }
    require(blocks_of(c) <= 0x7fffffff, "spmm on a GPU: " + std::to_string(total) +
                                            " rows and nonzeros are too many for one launch: use Streamed");
    if (blocks_of(c) > 1) cells = std::max(cells, blocks_of(c) * c.columns());
  }
  const auto row_bytes = plan ? 0 : (units + 1) * std::int64_t(sizeof(std::int64_t)) / 16 * 16 + 16;
  const auto scratch_bytes = row_bytes + 2 * cells * std::int64_t(sizeof(T));
  const auto scratch = scratch_bytes > 0 ? allocate_scratch(scratch_bytes, stream) : nullptr;
  auto* found = static_cast<std::int64_t*>(scratch.get());
  if (!plan) launch(find_tiles, blocks_for(units + 1), stream, a.indptr, a.rows, units, unit, found);
  auto* heads = reinterpret_cast<T*>(static_cast<std::byte*>(scratch.get()) + row_bytes);
  for (std::int64_t j = 0; j < x.cols;) {
    const auto c = choice_at(j);
    const Panel<T> panel{xs + j, ys + j, x.row_step, y.row_step, int(c.cols), heads, heads + cells};
    if (const auto wide = tasks_take(c, j)) {
      if constexpr (has_all_shapes<D>) run_tasks_of<D, W>(wide, view, panel, gpu_scale, *tasks, stream);
    } else {
      const int items = items_of(c);
      run_choice<D, W>(c, view, panel, gpu_scale,
                       {plan ? plan->first_rows.data : found, units, items / unit, items}, stream);
    }
    j += c.cols;
  }
}

}  // namespace penstock::gpu

#define PENSTOCK_SPMM(S, V)                                                                                \
  template void spmm<S, V>(CsrView<V>, DenseView<const S::value_type>, DenseView<S::value_type>, Scale<S>, \
                           Stream, const SpmmGpuOptions&);
