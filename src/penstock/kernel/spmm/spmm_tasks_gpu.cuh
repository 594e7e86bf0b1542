#pragma once
#include "penstock/kernel/architecture_gpu.cuh"
#include "penstock/kernel/spmm/row_sum_gpu.cuh"

// Y = alpha A X + beta Y on a GPU by a list of rows (spmm_tasks.hpp): a group of lanes takes a short row, all groups of a warp
// a medium one, and those of a block a long one. Rows of a warp have about one length, so that no entry is asked whether its row ends
// there, and the sum of a short or medium row stays in registers. Entries are dealt out in batches, so the order of a sum is fixed, but
// not that of the matrix. Real matrices on an H100, float32: 1.05 to 2.1 times as fast
// as the groups of spmm_gpu.cuh, which need no list.
namespace penstock::gpu {

namespace {

/// Rows of X that a group asks for together. Eight were slower on most matrices, since fewer warps have registers then.
inline constexpr int kTaskAhead = 4;
template <class Sh>
inline constexpr int kTaskBlocks = Sh::kReps == 1 ? 4 : 3;

/// Adds up the entries of a task which are for group `part` of `parts`, a batch of kLanes after the other.
template <class S, class V, class Sh>
__device__ __forceinline__ void add_entries(const CsrView<V>& a, const Panel<typename S::value_type>& p,
                                            const SpmmTask& task, int part, int parts, Index* columns,
                                            V* values, RowSum<S, Sh>& sum) {
  constexpr int kLanes = Sh::kLanes, kAhead = kTaskAhead;
  const int lane = int(threadIdx.x) % kLanes;
  const unsigned mask = group_mask<Sh>();
  const auto begin = task.begin - a.first_nnz;
  Index my_column = 0;
  V my_value{};
  // Lanes behind the last entry read that one again.
  const auto fetch = [&](int from) {
    if (from >= task.count) return;
    const auto q = begin + min(from + lane, task.count - 1);
    my_column = read_once(a.indices + q);
    if constexpr (!is_pattern<V>) my_value = read_once(a.values + q);
  };
  sum.clear();
  const int step = parts * kLanes;
  fetch(part * kLanes);
  for (int from = part * kLanes; from < task.count; from += step) {
    columns[lane] = my_column;
    if constexpr (!is_pattern<V>) values[lane] = my_value;
    __syncwarp(mask);
    fetch(from + step);
    const int count = min(kLanes, task.count - from);
#pragma unroll 1
    for (int u = 0; u < count; u += kAhead) {
      const auto column = *reinterpret_cast<const Ahead<Index, kAhead>*>(columns + u);
      RowSum<S, Sh> x[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) x[i].load(p.x + column.v[i] * p.x_step, lane, p.cols);
      Ahead<V, kAhead> value;
      if constexpr (!is_pattern<V>) value = *reinterpret_cast<const Ahead<V, kAhead>*>(values + u);
#pragma unroll
      for (int i = 0; i < kAhead; ++i)
        if (u + i < count) sum.add_product(entry<S>(value.v, i), x[i]);
    }
    __syncwarp(mask);  // all lanes have read these entries before the next ones are written
  }
}

/// The sum over all groups of a warp, in every group.
template <class S, class Sh>
__device__ __forceinline__ void add_groups(RowSum<S, Sh>& sum) {
  __syncwarp();
#pragma unroll
  for (int apart = Sh::kLanes; apart < 32; apart *= 2)
#pragma unroll
    for (int i = 0; i < Sh::kReps; ++i)
#pragma unroll
      for (int j = 0; j < Sh::kVec; ++j)
        sum.part[i].v[j] = S::add(sum.part[i].v[j], __shfl_xor_sync(kAll, sum.part[i].v[j], apart));
}

/// The sum over all warps of the block, each of which has its own in every group; the first group gets it.
template <class S, class Sh>
__device__ __forceinline__ void add_warps(RowSum<S, Sh>& sum, typename S::value_type* cells) {
  const int lane = int(threadIdx.x) % Sh::kLanes, warp = int(threadIdx.x) / 32;
  if (int(threadIdx.x) % 32 < Sh::kLanes) sum.store_cell(cells + warp * Sh::kColumns, lane);
  __syncthreads();
  if (int(threadIdx.x) < Sh::kLanes) add_cells<S, Sh>(sum, cells, 0, kThreads / 32, lane);
}

/// Where the tasks of each kind begin: pieces, long rows, medium ones, short ones.
struct TaskList {
  const SpmmTask *pieces, *rows;
  int piece_blocks, long_blocks, medium_blocks;
  int mediums, shorts;
};

template <class S, class V, class Sh>
__global__ void __launch_bounds__(kThreads, kTaskBlocks<Sh>)
    multiply_tasks(CsrView<V> a, Panel<typename S::value_type> p, Scale<S> scale, TaskList list) {
  using T = typename S::value_type;
  alignas(16) __shared__ Index some_columns[kThreads];
  alignas(16) __shared__ std::byte value_bytes_of[is_pattern<V> ? 16 : kThreads * sizeof(V)];
  alignas(16) __shared__ std::byte cell_bytes[kThreads / 32 * Sh::kColumns * sizeof(T)];
  follow();
  const int lane = int(threadIdx.x) % Sh::kLanes, local = int(threadIdx.x) / Sh::kLanes;
  Index* const columns = some_columns + local * Sh::kLanes;
  V* const values = reinterpret_cast<V*>(value_bytes_of) + (is_pattern<V> ? 0 : local * Sh::kLanes);
  RowSum<S, Sh> sum;
  const auto store = [&](Index row) { sum.store(p.y + row * p.y_step, lane, p.cols, scale); };
  int block = int(blockIdx.x);
  const auto* rows = list.rows;
  if (block < list.piece_blocks + list.long_blocks) {
    const bool piece = block < list.piece_blocks;
    const auto task = piece ? list.pieces[block] : rows[block - list.piece_blocks];
    add_entries<S, V, Sh>(a, p, task, local, Sh::kGroups, columns, values, sum);
    add_groups<S, Sh>(sum);
    add_warps<S, Sh>(sum, reinterpret_cast<T*>(cell_bytes));
    if (local > 0) return;
    if (piece) sum.store_cell(p.heads + std::int64_t(task.row) * Sh::kColumns, lane);
    else store(task.row);
    return;
  }
  block -= list.piece_blocks + list.long_blocks;
  rows += list.long_blocks;
  if (block < list.medium_blocks) {
    const int i = block * (kThreads / 32) + int(threadIdx.x) / 32;
    if (i >= list.mediums) return;
    constexpr int kParts = 32 / Sh::kLanes;
    add_entries<S, V, Sh>(a, p, rows[i], local % kParts, kParts, columns, values, sum);
    add_groups<S, Sh>(sum);
    if (int(threadIdx.x) % 32 < Sh::kLanes) store(rows[i].row);
    return;
  }
  rows += list.mediums;
  const auto i = std::int64_t(block - list.medium_blocks) * Sh::kGroups + local;
  if (i >= list.shorts) return;
  const auto task = rows[i];
  add_entries<S, V, Sh>(a, p, task, 0, 1, columns, values, sum);
  store(task.row);
}

/// Adds up the cells of a row that was cut into pieces. A block takes a row.
template <class S, class Sh>
__global__ void __launch_bounds__(kThreads)
    join_pieces(Panel<typename S::value_type> p, Scale<S> scale, const SpmmJoin* __restrict__ joins) {
  using T = typename S::value_type;
  alignas(16) __shared__ std::byte cell_bytes[kThreads / 32 * Sh::kColumns * sizeof(T)];
  follow();
  const int lane = int(threadIdx.x) % Sh::kLanes, local = int(threadIdx.x) / Sh::kLanes;
  const auto join = joins[blockIdx.x];
  const auto share = (std::int64_t(join.count) + Sh::kGroups - 1) / Sh::kGroups;
  const auto end = [&](std::int64_t parts) {
    return join.first + min(std::int64_t(join.count), parts * share);
  };
  RowSum<S, Sh> sum;
  add_cells<S, Sh>(sum, p.heads, end(local), end(local + 1), lane);
  add_groups<S, Sh>(sum);
  add_warps<S, Sh>(sum, reinterpret_cast<T*>(cell_bytes));
  if (local == 0) sum.store(p.y + join.row * p.y_step, lane, p.cols, scale);
}

template <class D, class W, class Sh>
void run_tasks(const CsrView<W>& a, const Panel<typename D::value_type>& panel, const Scale<D>& scale,
               const SpmmTasks& tasks, Stream stream) {
  const auto whole = tasks.longs - tasks.split, shorts = tasks.rows.size - tasks.longs - tasks.mediums;
  const auto mediums = (tasks.mediums + kThreads / 32 - 1) / (kThreads / 32);
  const TaskList list{.pieces = tasks.pieces.data,
                      .rows = tasks.rows.data + tasks.split,
                      .piece_blocks = int(tasks.pieces.size),
                      .long_blocks = int(whole),
                      .medium_blocks = int(mediums),
                      .mediums = int(tasks.mediums),
                      .shorts = int(shorts)};
  const auto blocks = tasks.pieces.size + whole + mediums + (shorts + Sh::kGroups - 1) / Sh::kGroups;
  launch_following(multiply_tasks<D, W, Sh>, blocks, stream, a, panel, scale, list);
  if (tasks.joins.size > 0)
    launch_following(join_pieces<D, Sh>, tasks.joins.size, stream, panel, scale, tasks.joins.data);
}

/// The columns of the shape that takes a panel by tasks, or 0 where none does: a lane has 16 bytes of a row, twice where a row has
/// more than 256.
template <class T>
int task_columns(std::int64_t cols, bool packs) {
  constexpr int kWide = 16 / int(sizeof(T));
  const auto lanes = (cols + kWide - 1) / kWide;
  if (!packs || !tasks_serve(cols * std::int64_t(sizeof(T))) || lanes > 32) return 0;
  return kWide * (lanes <= 4 ? 4 : lanes <= 8 ? 8 : lanes <= 16 ? 16 : 32);
}

template <class D, class W>
void run_tasks_of(int columns, const CsrView<W>& a, const Panel<typename D::value_type>& panel,
                  const Scale<D>& scale, const SpmmTasks& tasks, Stream stream) {
  constexpr int kWide = 16 / int(sizeof(typename D::value_type));
  if (columns == 4 * kWide) run_tasks<D, W, Shape<4, kWide, 1>>(a, panel, scale, tasks, stream);
  else if (columns == 8 * kWide) run_tasks<D, W, Shape<8, kWide, 1>>(a, panel, scale, tasks, stream);
  else if (columns == 16 * kWide) run_tasks<D, W, Shape<16, kWide, 1>>(a, panel, scale, tasks, stream);
  else run_tasks<D, W, Shape<16, kWide, 2>>(a, panel, scale, tasks, stream);
}

}  // namespace

}  // namespace penstock::gpu
