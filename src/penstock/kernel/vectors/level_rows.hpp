#pragma once
#include <bit>
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// Sparse triangular solves on a device, by level sets (Anderson & Saad 1989): the rows of a level need only rows of earlier
// levels. A run of levels is one launch. If the levels are narrow (a chain has levels of one row), one block solves one after
// the other, with a barrier in between. If they are wide, the warps of a grid claim tasks in the order of levels, and wait for
// the entries that they need (Liu, Li, Hogg, Duff & Vinter 2016). So there is no launch for each level.
namespace penstock {

/// The rows of one level that a warp solves at once, with 2^shift lanes for each.
struct alignas(8) RowTask {
  Index first = 0;  // the position of its first row
  std::uint16_t rows = 0, shift = 0;
};

/// A unit triangle in the order of its levels. Its vector z is in the same order, so that rows that are solved together read
/// and write side by side. All arrays are on the device.
template <class T>
struct LevelRows {
  const Offset* starts = nullptr;  // where the row at each position begins, and the end of the last
  const Index* indices = nullptr;  // columns as positions
  const T* values = nullptr;
  const T* scale = nullptr;     // for each position; may be null
  const Index* from = nullptr;  // for each position its place in `in`
  const Index* to = nullptr;    // for each position its place in `out`
  const RowTask* tasks = nullptr;
  const Index* levels = nullptr;  // the first task of each level, and the end of the last
};

/// The levels, and their tasks, that one launch solves.
struct LevelRun {
  std::int64_t first_level = 0, levels = 0, first_task = 0, tasks = 0;
  bool wide = false;
};

inline constexpr int kWarp = 32;
inline constexpr int kEntriesAtOnce = 4;  // entries of a lane whose reads are under way together
/// The tasks of a narrow level at most: one for each warp of the block that solves it.
inline constexpr std::int64_t kNarrowTasks = 8;
/// If there are fewer narrow levels than this between wide ones, they are solved with the wide ones: a launch takes as long.
inline constexpr std::int64_t kLeastNarrow = 8;
/// The blocks of a wide run are as many as have the rows of kLevelsAtOnce levels under way, and at most kMostWideEach for each
/// multiprocessor. Reading what a row needs besides z takes as long as several levels; more blocks would only wait, and
/// waiting is traffic.
inline constexpr std::int64_t kLevelsAtOnce = 4, kMostWideEach = 4;

/// log2 of the number of lanes for a row with so many entries.
constexpr int lanes_shift(Offset entries) {
  const auto lanes = (entries + kEntriesAtOnce - 1) / kEntriesAtOnce;
  if (lanes <= 1) return 0;
  if (lanes >= kWarp) return 5;
  return std::bit_width(static_cast<std::uint64_t>(lanes - 1));
}

/// The vectors that a solve reads and writes.
template <class T>
struct LevelVectors {
  const T* in = nullptr;
  T* z = nullptr;    // in the order of positions
  T* out = nullptr;  // gets the entries of z at the places `to`; may be null
};

/// z[p] = scale[p] in[from[p]] - (row p) . z for the positions p of a run, in the order of the stream, after the runs before
/// it. For a wide run, `*ticket` is zero, and z is kNotYet wherever no run has written. The three vectors do not overlap. The
/// sum of each row has a fixed order, so the bits are the same in every run.
template <class T>
void solve_levels(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v, unsigned* ticket,
                  Stream stream);

/// Entries of z that are not there yet are filled with this byte. It makes a NaN that solve_levels never writes.
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
