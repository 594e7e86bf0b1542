#include <algorithm>

#include "penstock/kernel/vectors/level_rows_gpu.cuh"

// The warps of a grid claim tasks in the order of levels, and wait for each entry of z until it is there. An entry that is not
// there is a special NaN (kNotYet), and one read of 4 or 8 bytes brings the value and says whether it is there, so that
// nothing else has to be ordered. A task needs only tasks that were claimed before it, and a warp ends its tasks in the order
// of its claims. So the first task that is not done waits for no other task, however few blocks of the grid are running.
namespace penstock::gpu {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads)
    wide_kernel(LevelRows<T> rows, std::int64_t first_task, std::int64_t tasks, LevelVectors<T> v,
                unsigned* ticket) {
  const auto claim = [&] { return threadIdx.x % kWarp == 0 ? atomicAdd(ticket, 1u) : 0u; };
  const RowTask* mine = rows.tasks + first_task;
  unsigned next = claim();
  for (;;) {
    const std::int64_t task = __shfl_sync(kAll, next, 0);
    if (task >= tasks) return;
    next = claim();  // the answer comes while this task is solved
    solve_task<T, true>(rows, lane_row(rows, mine[task]), v);
  }
}

}  // namespace

template <class T>
void solve_wide_levels(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v,
                       unsigned* ticket, Stream stream) {
  const UseDevice use(stream.where);
  constexpr std::int64_t kWarps = kThreads / kWarp;
  const auto level = (run.tasks + run.levels - 1) / run.levels;  // tasks of a level on average
  const auto most = kMostWideEach * gpu_facts(stream.where).multiprocessors;
  const auto blocks = std::clamp<std::int64_t>((kLevelsAtOnce * level + kWarps - 1) / kWarps, 1, most);
  launch(wide_kernel<T>, blocks, stream, rows, run.first_task, run.tasks, v, ticket);
}

template void solve_wide_levels(const LevelRows<float>&, const LevelRun&, const LevelVectors<float>&,
                                unsigned*, Stream);
template void solve_wide_levels(const LevelRows<double>&, const LevelRun&, const LevelVectors<double>&,
                                unsigned*, Stream);

}  // namespace penstock::gpu
