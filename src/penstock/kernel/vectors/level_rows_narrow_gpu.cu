#include "penstock/kernel/vectors/level_rows_gpu.cuh"

// One block walks levels that have at most a task for each warp. The data of a level are read while the level before is
// solved. A level has four reads that depend on each other, and two of them are done beforehand in this way.
namespace penstock::gpu {
namespace {

static_assert(kNarrowTasks == kThreads / kWarp);

template <class T>
__global__ void __launch_bounds__(kThreads)
    narrow_kernel(LevelRows<T> rows, std::int64_t first_level, std::int64_t levels, LevelVectors<T> v) {
  const int warp = threadIdx.x / kWarp;
  const Index* marks = rows.levels + first_level;
  // This warp's task of a level; if it has none, a task without rows.
  const auto task_of = [&](Index first, Index last) {
    return first + warp < last ? rows.tasks[first + warp] : RowTask{};
  };
  const auto mark = [&](std::int64_t level) { return marks[level < levels ? level : levels]; };
  LaneRow next = lane_row(rows, task_of(mark(0), mark(1)));
  RowTask after = task_of(mark(1), mark(2));
  Index from = mark(2), to = mark(3);
  for (std::int64_t level = 0; level < levels; ++level) {
    const LaneRow mine = next;
    next = lane_row(rows, after);  // of the next level
    after = task_of(from, to);     // of the one after it
    from = to, to = mark(level + 4);
    solve_task<T, false>(rows, mine, v);
    __syncthreads();  // the block can read z now
  }
}

}  // namespace

template <class T>
void solve_narrow_levels(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v,
                         Stream stream) {
  const UseDevice use(stream.where);
  launch(narrow_kernel<T>, 1, stream, rows, run.first_level, run.levels, v);
}

template void solve_narrow_levels(const LevelRows<float>&, const LevelRun&, const LevelVectors<float>&,
                                  Stream);
template void solve_narrow_levels(const LevelRows<double>&, const LevelRun&, const LevelVectors<double>&,
                                  Stream);

}  // namespace penstock::gpu
