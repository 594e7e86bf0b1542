#pragma once
#include <algorithm>
#include <cstdint>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"

// A list of the rows of a matrix, for products with several columns on a GPU (spmm_tasks_gpu.cuh). A short row is for one group of
// lanes, a medium one for a warp, a long one for a block; of a row that is longer still, each block takes a piece. Rows side by
// side in the list have about the same length, so that no group of a warp waits for others; but a row moves by few places, so that
// rows which share rows of X stay together. The idea of sorting in windows is from SELL-C-sigma (Kreutzer et al. 2014).
namespace penstock {

/// Entries [begin, begin + count) of a row, as indptr counts. Of a piece `row` is the number of its cell.
struct alignas(16) SpmmTask {
  Offset begin;
  Index row, count;
};

/// A row of pieces: their cells are [first, first + count).
struct SpmmJoin {
  Index row, first, count;
};

/// Bounds of lengths. Real matrices of 0.2 to 3.2 M entries and 32 columns of float32 on an H100: short rows of at most 16, 32 and 64
/// entries took 1.14, 1.05 and 1 of the time (geometric means); medium rows of at most 1024 took up to 1.5 of those of 512.
inline constexpr Offset kShortTask = 64, kMediumTask = 512, kTaskPiece = 4096;
inline constexpr int kTaskWindowBits = 8;  // rows are sorted within windows of 256

/// Empty where there are no tasks: for a matrix of 2^31 rows or more, for one with a row of so many entries, or where the memory for
/// them was not there.
struct SpmmTasks {
  Array<const SpmmTask> rows;  // longs, mediums, and the rest
  std::int64_t longs = 0, mediums = 0;
  std::int64_t split = 0;  // so many of the longs are cut into pieces
  Array<const SpmmTask> pieces;
  Array<const SpmmJoin> joins;  // one for each row that is cut
  bool empty() const { return rows.size == 0; }
};

/// Whether the kernels of tasks take rows of X of so many bytes: a lane has a pack of 16, and two lanes are too few.
constexpr bool tasks_serve(std::int64_t row_bytes) { return row_bytes > 32 && row_bytes % 16 == 0; }

/// What rows are sorted by. Long rows come first, the longest one before the others; then medium and short ones, in windows of
/// neighbouring rows, by the steps that a warp or a group takes, which the longer ones begin.
constexpr int kTaskClassBit = 31, kTaskKeyBits = kTaskClassBit + 2;
constexpr std::uint64_t task_key(Index row, Offset count) {
  constexpr std::uint64_t kLongest = (std::uint64_t(1) << kTaskClassBit) - 1;
  if (count > kMediumTask) return kLongest - std::min(std::uint64_t(count), kLongest);
  const std::uint64_t window = std::uint64_t(row) >> kTaskWindowBits << 5;
  if (count > kShortTask)
    return std::uint64_t(1) << kTaskClassBit | window | std::uint64_t(16 - (count + 31) / 32);
  return std::uint64_t(2) << kTaskClassBit | window | std::uint64_t(16 - (count + 3) / 4);
}

/// The steps that make the list (steps.hpp).
struct TaskKeys {
  const Offset* indptr;
  std::uint64_t* keys;
  Index* rows;
  constexpr void operator()(std::int64_t r) const {
    keys[r] = task_key(Index(r), indptr[r + 1] - indptr[r]);
    rows[r] = Index(r);
  }
};
struct TasksInOrder {
  const Offset* indptr;
  const Index* order;
  SpmmTask* out;
  constexpr void operator()(std::int64_t i) const {
    const auto row = order[i];
    out[i] = {indptr[row], row, Index(indptr[row + 1] - indptr[row])};
  }
};
/// How many keys are below each of three bounds: those of rows that are cut, of long ones, and of long and medium ones.
struct TaskBounds {
  const std::uint64_t* keys;
  std::int64_t n;
  std::int64_t* out;
  constexpr void operator()(std::int64_t i) const {
    constexpr std::uint64_t kOne = std::uint64_t(1) << kTaskClassBit;
    const auto bound = i == 0 ? kOne - 1 - std::uint64_t(kTaskPiece) : kOne * std::uint64_t(i);
    out[i] = first_at_least(keys, n, bound);
  }
};
#define PENSTOCK_FOR_EACH_TASK_STEP(X) X(TaskKeys) X(TasksInOrder) X(TaskBounds)

/// The tasks of a matrix, in the memory of the stream's device, which must be able to read `indptr` of rows + 1 offsets. Takes 16
/// bytes a row, and 24 more while it works. Waits for the stream.
SpmmTasks spmm_tasks(const Offset* indptr, std::int64_t rows, Stream stream);

}  // namespace penstock
