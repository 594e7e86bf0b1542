#pragma once
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/level_rows.hpp"
#include "penstock/semiring/plus_times.hpp"

// The functions that the narrow and the wide kernel share: they read a task for its lanes, and compute the results of its
// rows.
namespace penstock::gpu {

inline __device__ bool not_yet(double v) { return __double_as_longlong(v) == -1; }
inline __device__ bool not_yet(float v) { return __float_as_int(v) == -1; }
inline __device__ double other_nan(double) { return __longlong_as_double(0x7ff8000000000000); }
inline __device__ float other_nan(float) { return __int_as_float(0x7fc00000); }

/// Reads memory each time, and not the first-level cache, which may hold an old value.
template <class T>
__device__ T read_shared(const T* p) {
  return *static_cast<const volatile T*>(p);
}
/// Writes a value in one piece.
template <class T>
__device__ void write_shared(T* p, T v) {
  *static_cast<volatile T*>(p) = v;
}

/// A lane's share of a task: if a row has n lanes, every n-th entry of the row from `first` on.
struct LaneRow {
  Index position = -1;  // of the row; -1: the lane has none
  Index from = 0;       // where the row's entry of `in` is
  bool leads = false;
  int lanes = 1;
  Offset first = 0, end = 0;
};

template <class T>
__device__ LaneRow lane_row(const LevelRows<T>& rows, RowTask task) {
  const int lane = threadIdx.x % kWarp, at = lane >> task.shift, part = lane & ((1 << task.shift) - 1);
  LaneRow mine;
  mine.leads = part == 0, mine.lanes = 1 << task.shift;
  if (at >= task.rows) return mine;
  mine.position = task.first + at;
  const auto* starts = rows.starts + mine.position;
  mine.first = starts[0] + part, mine.end = starts[1];
  if (mine.leads) mine.from = read_once(rows.from + mine.position);
  return mine;
}

/// Solves the rows of a task. All lanes of the warp call it. `kWaits`: entries of z may not be there yet. The rows of a task
/// do not need each other, so no lane waits for its own warp.
template <class T, bool kWaits>
__device__ void solve_task(const LevelRows<T>& rows, const LaneRow& mine, const LevelVectors<T>& v) {
  T given = 0;
  Index to = 0;
  const bool writes = mine.position >= 0 && mine.leads;
  if (writes) {
    given = v.in[mine.from];
    if (rows.scale) given *= read_once(rows.scale + mine.position);
    if (v.out) to = read_once(rows.to + mine.position);
  }
  T sum = 0;
  for (auto first = mine.first; first < mine.end; first += kEntriesAtOnce * mine.lanes) {
    Index at[kEntriesAtOnce];
    T values[kEntriesAtOnce], got[kEntriesAtOnce];
#pragma unroll
    for (int i = 0; i < kEntriesAtOnce; ++i) {
      const auto k = first + i * mine.lanes;
      const bool there = k < mine.end;
      at[i] = there ? read_once(rows.indices + k) : -1;
      values[i] = there ? read_once(rows.values + k) : T(0);
    }
#pragma unroll
    for (int i = 0; i < kEntriesAtOnce; ++i)
      if constexpr (kWaits) got[i] = at[i] >= 0 ? read_shared(v.z + at[i]) : T(0);
      else got[i] = at[i] >= 0 ? v.z[at[i]] : T(0);
    if constexpr (kWaits) {
      for (;;) {
        bool waits = false;
#pragma unroll
        for (int i = 0; i < kEntriesAtOnce; ++i)
          if (not_yet(got[i])) {
            got[i] = read_shared(v.z + at[i]);
            waits = true;
          }
        if (!waits) break;
      }
    }
#pragma unroll
    for (int i = 0; i < kEntriesAtOnce; ++i) sum += values[i] * got[i];
  }
  __syncwarp();
  sum = sum_lanes<PlusTimes<T>>(sum, mine.lanes);
  if (!writes) return;
  const T result = given - sum;
  const T told = not_yet(result) ? other_nan(result) : result;  // never the NaN that means "not there yet"
  if constexpr (kWaits) write_shared(v.z + mine.position, told);
  else v.z[mine.position] = told;
  if (v.out) v.out[to] = told;
}

}  // namespace penstock::gpu
