#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/kernel/vectors/level_rows.hpp"

namespace penstock {

/// A unit triangle as the host solves it: position p has row p, or rows - 1 - p where it goes `backward`, and a row needs rows
/// at earlier positions.
template <class T>
struct HostTriangle {
  std::int64_t rows = 0;
  bool backward = false;
  const Offset* starts = nullptr;  // where the row at each position begins, and the end
  const Index* indices = nullptr;
  const T* values = nullptr;
};

/// The same in the order of levels, with the tasks and the launches that solve it, in host memory or on a device.
template <class T>
struct LevelTriangle {
  Array<Index> order;  // the row at each position
  /// Where the entry of each position is in the vector that a solve is given; empty: as `order`.
  Array<Index> from;
  Array<Offset> starts;
  Array<Index> indices;    // positions
  Array<T> values, scale;  // scale: by position, or empty
  Array<RowTask> tasks;
  Array<Index> levels;
  std::vector<LevelRun> runs;  // in their order

  std::int64_t bytes() const {
    return order.bytes() + from.bytes() + starts.bytes() + indices.bytes() + values.bytes() + scale.bytes() +
           tasks.bytes() + levels.bytes();
  }
  LevelRows<T> view() const {
    return {.starts = starts.data,
            .indices = indices.data,
            .values = values.data,
            .scale = scale.size > 0 ? scale.data : nullptr,
            .from = from.size > 0 ? from.data : order.data,
            .to = order.data,
            .tasks = tasks.data,
            .levels = levels.data};
  }
};

/// Levels of the rows, by position: 0 for a row that needs no other, else one more than the highest level that it needs.
template <class T>
std::vector<Index> levels_of(const HostTriangle<T>& t);

/// The number of levels.
std::int64_t level_count(const std::vector<Index>& levels);

/// `scale` is by row, or empty. `first`, which may be null, is the triangle that is solved before this one: then the vector
/// that a solve is given has the order of that triangle. Throws Error{invalid_argument} where a row needs itself or a later one.
template <class T>
LevelTriangle<T> by_levels(const HostTriangle<T>& t, std::span<const T> scale = {},
                           const LevelTriangle<T>* first = nullptr);

/// A copy on the stream's device, complete when it returns.
template <class T>
LevelTriangle<T> on_device(const LevelTriangle<T>& t, Stream stream);

}  // namespace penstock
