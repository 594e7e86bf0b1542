// A triangular solve in levels: a row belongs to the level after the latest of the rows that it needs, so all rows of a level
// can be solved at once. Rows are put in the order of their levels and cut into tasks of a warp. Neighbouring levels of few
// tasks become one run, which one block of threads walks, because starting a kernel for each of them costs more.
#include "penstock/solver/precondition/level_triangle.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/solver/precondition/device_form.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kTriangleRows = 4096;  // rows of a task

template <class T>
Array<T> some(std::int64_t count) {
  return allocate<T>(std::max<std::int64_t>(1, count)).slice(0, count);
}

template <class T>
Array<T> array_of(const std::vector<T>& v) {
  const auto a = some<T>(std::ssize(v));
  std::copy(v.begin(), v.end(), a.data);
  return a;
}

/// Cuts the levels into runs: of narrow levels, and of all others.
std::vector<LevelRun> runs_of(const std::vector<Index>& first_tasks) {
  std::vector<LevelRun> runs;
  const auto levels = std::ssize(first_tasks) - 1;
  const auto mark = [&](std::int64_t l) {
    return static_cast<std::int64_t>(first_tasks[static_cast<std::size_t>(l)]);
  };
  const auto narrow = [&](std::int64_t l) { return mark(l + 1) - mark(l) <= kNarrowTasks; };
  for (std::int64_t l = 0; l < levels;) {
    const auto first = l;
    const bool wide = !narrow(l);
    while (l < levels && narrow(l) == !wide) ++l;
    const bool joins = !runs.empty() && runs.back().wide && (wide || l - first < kLeastNarrow);
    if (!joins) runs.push_back({.first_level = first, .first_task = mark(first), .wide = wide});
    runs.back().levels = l - runs.back().first_level;
    runs.back().tasks = mark(l) - runs.back().first_task;
  }
  return runs;
}

}  // namespace

template <class T>
std::vector<Index> levels_of(const HostTriangle<T>& t) {
  std::vector<Index> level(static_cast<std::size_t>(t.rows));
  for (std::int64_t p = 0; p < t.rows; ++p) {
    Index mine = 0;
    for (auto k = t.starts[p]; k < t.starts[p + 1]; ++k) {
      const auto needed = t.backward ? t.rows - 1 - t.indices[k] : std::int64_t(t.indices[k]);
      require(needed >= 0 && needed < p,
              [&] { return "a triangle's row at position " + std::to_string(p) + " needs a later one"; });
      mine = std::max(mine, level[static_cast<std::size_t>(needed)] + 1);
    }
    level[static_cast<std::size_t>(p)] = mine;
  }
  return level;
}

std::int64_t level_count(const std::vector<Index>& levels) {
  return levels.empty() ? 0 : std::int64_t(*std::max_element(levels.begin(), levels.end())) + 1;
}

template <class T>
LevelTriangle<T> by_levels(const HostTriangle<T>& t, std::span<const T> scale,
                           const LevelTriangle<T>* first) {
  const auto level = levels_of(t);
  const auto length = [&](std::int64_t p) { return t.starts[p + 1] - t.starts[p]; };
  const auto levels = level_count(level);
  std::vector<Index> ends(static_cast<std::size_t>(levels) + 1);
  for (const auto l : level) ++ends[static_cast<std::size_t>(l) + 1];
  for (std::size_t l = 1; l < ends.size(); ++l) ends[l] += ends[l - 1];
  std::vector<Index> source(level.size());  // the position on the host of each position here
  for (std::int64_t p = 0; p < t.rows; ++p)
    source[static_cast<std::size_t>(ends[static_cast<std::size_t>(level[static_cast<std::size_t>(p)])]++)] =
        static_cast<Index>(p);

  // In each level, rows for tasks of equally many lanes are side by side, and keep their order otherwise. `ends` now has the
  // ends of the levels.
  std::vector<RowTask> tasks;
  std::vector<Index> first_tasks;
  const auto shift = [&](Index p) { return lanes_shift(length(p)); };
  auto at = source.begin();
  for (std::int64_t l = 0; l < levels; ++l) {
    first_tasks.push_back(static_cast<Index>(tasks.size()));
    const auto end = source.begin() + ends[static_cast<std::size_t>(l)];
    const auto fewer = [&](Index p, Index q) { return shift(p) < shift(q); };
    if (!std::is_sorted(at, end, fewer)) std::stable_sort(at, end, fewer);
    while (at < end) {
      const auto lanes = shift(*at);
      RowTask task{.first = static_cast<Index>(at - source.begin()),
                   .rows = 0,
                   .shift = static_cast<std::uint16_t>(lanes)};
      for (; at < end && task.rows < kWarp >> lanes && shift(*at) == lanes; ++at) ++task.rows;
      tasks.push_back(task);
    }
  }
  first_tasks.push_back(static_cast<Index>(tasks.size()));

  LevelTriangle<T> out;
  out.tasks = array_of(tasks), out.levels = array_of(first_tasks);
  out.runs = runs_of(first_tasks);
  std::vector<Index> position(source.size());  // the position of each row
  const auto row = [&](std::int64_t p) { return t.backward ? t.rows - 1 - p : p; };
  for (std::int64_t to = 0; to < t.rows; ++to)
    position[static_cast<std::size_t>(row(source[static_cast<std::size_t>(to)]))] = static_cast<Index>(to);
  const auto from = [&](std::int64_t to) {
    return static_cast<std::int64_t>(source[static_cast<std::size_t>(to)]);
  };
  const auto entries = t.starts[t.rows] - t.starts[0];
  out.order = some<Index>(t.rows), out.starts = some<Offset>(t.rows + 1);
  out.indices = some<Index>(entries), out.values = some<T>(entries);
  if (!scale.empty()) out.scale = some<T>(t.rows);
  out.starts.data[0] = 0;
  for (std::int64_t to = 0; to < t.rows; ++to)
    out.starts.data[to + 1] = out.starts.data[to] + length(from(to));
  parallel_ranges(t.rows, kTriangleRows, [&](std::int64_t first, std::int64_t last) {
    for (auto to = first; to < last; ++to) {
      const auto p = from(to);
      const auto i = row(p);
      out.order.data[to] = static_cast<Index>(i);
      if (!scale.empty()) out.scale.data[to] = scale[static_cast<std::size_t>(i)];
      auto* indices = out.indices.data + out.starts.data[to];
      for (auto k = t.starts[p]; k < t.starts[p + 1]; ++k)
        *indices++ = position[static_cast<std::size_t>(t.indices[k])];
      std::copy_n(t.values + t.starts[p], length(p), out.values.data + out.starts.data[to]);
    }
  });
  if (first) {
    require(first->order.size == t.rows, "by_levels: two triangles of other sizes");
    for (std::int64_t q = 0; q < t.rows; ++q)
      position[static_cast<std::size_t>(first->order.data[q])] = static_cast<Index>(q);
    out.from = some<Index>(t.rows);
    for (std::int64_t to = 0; to < t.rows; ++to)
      out.from.data[to] = position[static_cast<std::size_t>(out.order.data[to])];
  }
  return out;
}

template <class T>
LevelTriangle<T> on_device(const LevelTriangle<T>& t, Stream stream) {
  LevelTriangle<T> out;
  const auto copied = [&]<class U>(const Array<U>& a) {
    return copy_to_device(std::span<const U>(a.data, static_cast<std::size_t>(a.size)), stream);
  };
  out.order = copied(t.order), out.from = copied(t.from), out.starts = copied(t.starts);
  out.indices = copied(t.indices), out.values = copied(t.values), out.scale = copied(t.scale);
  out.tasks = copied(t.tasks), out.levels = copied(t.levels);
  out.runs = t.runs;
  synchronize(stream);
  return out;
}

#define X(T)                                                                                                \
  template std::vector<Index> levels_of(const HostTriangle<T>&);                                            \
  template LevelTriangle<T> by_levels(const HostTriangle<T>&, std::span<const T>, const LevelTriangle<T>*); \
  template LevelTriangle<T> on_device(const LevelTriangle<T>&, Stream);
X(float)
X(double)
#undef X

}  // namespace penstock
