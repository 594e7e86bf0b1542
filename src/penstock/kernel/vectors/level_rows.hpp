#pragma once
#include <bit>
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// Sparse triangular solves on a device, by level sets (Anderson & Saad 1989): the rows of a level need rows of earlier levels
// alone. Levels that follow one another are one launch. Where they are narrow (a chain has levels of one row), one block
// walks them and waits for itself between two; where they are wide, the warps of a grid claim tasks in the order of levels
// and wait for the entries that they need (Liu, Li, Hogg, Duff & Vinter 2016): either way no launch for each level.
namespace penstock {

/// The rows that a warp solves at once, of one level: 2^shift lanes for each.
struct alignas(8) RowTask {
  Index first = 0;  // position
  std::uint16_t rows = 0, shift = 0;
};

/// A unit triangle in the order of its levels: its vector z is in that order, too, in which rows that are solved together read
/// and write side by side. All arrays are on the device.
template <class T>
struct LevelRows {
  const Offset* starts = nullptr;  // of the row at each position; one more
  const Index* indices = nullptr;  // positions
  const T* values = nullptr;
  const T* scale = nullptr;     // by position; may be null
  const Index* from = nullptr;  // where the entry of each position is in `in`
  const Index* to = nullptr;    // and in `out`
  const RowTask* tasks = nullptr;
  const Index* levels = nullptr;  // the first task of each level; one more
};

/// Levels, and their tasks, that one launch solves.
struct LevelRun {
  std::int64_t first_level = 0, levels = 0, first_task = 0, tasks = 0;
  bool wide = false;
};

inline constexpr int kWarp = 32;
inline constexpr int kEntriesAtOnce = 4;  // of a lane, whose reads are under way together
/// Tasks of a level that one block solves in one step: its warps.
inline constexpr std::int64_t kNarrowTasks = 8;
/// Narrow levels between wide ones are solved with these, where there are fewer: a launch takes as long as they do.
inline constexpr std::int64_t kLeastNarrow = 8;
/// Blocks of a wide run: as many as have the rows of so many levels under way, and so many of a multiprocessor at most. What
/// is read of a row before z takes as long as several levels; more would wait, and their waiting is traffic.
inline constexpr std::int64_t kLevelsAtOnce = 4, kMostWideEach = 4;

/// log2 of the lanes that a row of so many entries gets.
constexpr int lanes_shift(Offset entries) {
  const auto lanes = (entries + kEntriesAtOnce - 1) / kEntriesAtOnce;
  if (lanes <= 1) return 0;
  if (lanes >= kWarp) return 5;
  return std::bit_width(static_cast<std::uint64_t>(lanes - 1));
}

/// What a solve reads and writes.
template <class T>
struct LevelVectors {
  const T* in = nullptr;
  T* z = nullptr;    // by position
  T* out = nullptr;  // what z has, where `to` says; may be null
};

/// z[p] = scale[p] in[from[p]] - (row p) . z for the positions of a run, after the runs before it. `ticket`, for a wide run, is
/// zero; z then is kNotYet wherever no run has written. The three vectors do not overlap. Ordered on the stream. Each row's
/// sum has a fixed order: the same bits in every run.
template <class T>
void solve_levels(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v, unsigned* ticket,
                  Stream stream);

/// The byte that a z which is not there yet is filled with: a NaN that solve_levels never writes.
inline constexpr int kNotYet = 0xff;

namespace gpu {
template <class T>
void solve_narrow_levels(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v,
                         Stream stream);
template <class T>
void solve_wide_levels(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v,
                       unsigned* ticket, Stream stream);
}  // namespace gpu

}  // namespace penstock
