#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>

#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spmm/spmm_gpu.hpp"

// A row of Y that a group of lanes holds in registers, a few columns a lane, for the kernels of SpMM.
namespace penstock::gpu {

namespace {

/// Neighbouring entries of a row, which one instruction moves if they are 16 bytes or less.
template <class T, int n>
struct alignas(n == 1 ? alignof(T) : std::min<std::size_t>(16, n * sizeof(T))) Pack {
  T v[n];
};
template <class T, int n>
struct alignas(16) Ahead {
  T v[n];
};

template <class T, int n>
// Y must not push X out of the caches.
__device__ void store_once(T* to, const Pack<T, n>& p) {
  if constexpr (std::same_as<T, float> && n == 4)
    __stcs(reinterpret_cast<float4*>(to), make_float4(p.v[0], p.v[1], p.v[2], p.v[3]));
  else if constexpr (std::same_as<T, float> && n == 2)
    __stcs(reinterpret_cast<float2*>(to), make_float2(p.v[0], p.v[1]));
  else if constexpr (std::same_as<T, double> && n == 2)
    __stcs(reinterpret_cast<double2*>(to), make_double2(p.v[0], p.v[1]));
  else if constexpr (std::is_floating_point_v<T> && n == 1) __stcs(to, p.v[0]);
  else *reinterpret_cast<Pack<T, n>*>(to) = p;
}

/// Which columns of the panel a lane of a group holds: `kReps` packs of `kVec` neighbouring columns. The packs of the lanes of
/// a group lie side by side.
template <int lanes_, int vec_, int reps_>
struct Shape {
  static constexpr int kLanes = lanes_, kVec = vec_, kReps = reps_;
  static constexpr int kColumns = kLanes * kVec * kReps;
  static constexpr int kGroups = kThreads / kLanes;
};

/// The lanes of the calling thread's group, within its warp.
template <class Sh>
__device__ __forceinline__ unsigned group_mask() {
  constexpr int kLanes = Sh::kLanes;
  return kLanes == 32 ? kAll : ((1u << kLanes) - 1) << (int(threadIdx.x) % 32 / kLanes * kLanes);
}

/// The sum of one row in a group.
template <class S, class Sh>
struct RowSum {
  using T = typename S::value_type;
  Pack<T, Sh::kVec> part[Sh::kReps];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < Sh::kReps; ++i)
#pragma unroll
      for (int j = 0; j < Sh::kVec; ++j) part[i].v[j] = S::zero();
  }
  __device__ void add(const RowSum& other) {
#pragma unroll
    for (int i = 0; i < Sh::kReps; ++i)
#pragma unroll
      for (int j = 0; j < Sh::kVec; ++j) part[i].v[j] = S::add(part[i].v[j], other.part[i].v[j]);
  }
  __device__ void add_product(typename S::value_type value, const RowSum& x) {
#pragma unroll
    for (int i = 0; i < Sh::kReps; ++i)
#pragma unroll
      for (int j = 0; j < Sh::kVec; ++j) part[i].v[j] = S::add(part[i].v[j], S::mul(value, x.part[i].v[j]));
  }
  /// Reads this lane's columns of a row. Columns from `cols` on are not touched.
  __device__ void load(const T* row, int lane, int cols) {
#pragma unroll
    for (int i = 0; i < Sh::kReps; ++i) {
      const int j = (i * Sh::kLanes + lane) * Sh::kVec;
      if (j < cols) part[i] = *reinterpret_cast<const Pack<T, Sh::kVec>*>(row + j);
    }
  }
  __device__ void store(T* row, int lane, int cols, const Scale<S>& scale) const {
#pragma unroll
    for (int i = 0; i < Sh::kReps; ++i) {
      const int j = (i * Sh::kLanes + lane) * Sh::kVec;
      if (j >= cols) continue;
      Pack<T, Sh::kVec> out;
      if (!(scale.beta == S::zero())) out = *reinterpret_cast<const Pack<T, Sh::kVec>*>(row + j);
#pragma unroll
      for (int v = 0; v < Sh::kVec; ++v) out.v[v] = scale(part[i].v[v], out.v[v]);
      store_once(row + j, out);
    }
  }
  /// A cell holds a row's whole panel.
  __device__ void load_cell(const T* cell, int lane) { load(cell, lane, Sh::kColumns); }
  __device__ void store_cell(T* cell, int lane) const {
#pragma unroll
    for (int i = 0; i < Sh::kReps; ++i)
      *reinterpret_cast<Pack<T, Sh::kVec>*>(cell + (i * Sh::kLanes + lane) * Sh::kVec) = part[i];
  }
};

/// X and Y of one panel, and the cells of blocks.
template <class T>
struct Panel {
  const T* x;
  T* y;
  std::int64_t x_step, y_step;
  int cols;
  // Two cells of each block: the part of its first row, if that row began in an earlier block, and the part of its last row,
  // if that row goes on in a later block. Of listed rows `heads` has a cell for each piece.
  T *heads, *tails;
};

/// The group's sum of cells [from, to), one after the other. The loads of eight cells are under way together.
template <class S, class Sh>
__device__ void add_cells(RowSum<S, Sh>& sum, const typename S::value_type* cells, std::int64_t from,
                          std::int64_t to, int lane) {
  sum.clear();
#pragma unroll 8
  for (auto i = from; i < to; ++i) {
    RowSum<S, Sh> part;
    part.load_cell(cells + i * Sh::kColumns, lane);
    sum.add(part);
  }
}

}  // namespace

}  // namespace penstock::gpu
