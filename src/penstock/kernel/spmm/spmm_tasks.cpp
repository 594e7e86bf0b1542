#include "penstock/kernel/spmm/spmm_tasks.hpp"

#include <limits>
#include <vector>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

template <class T>
Array<const T> on_device(const std::vector<T>& numbers, Stream stream) {
  const auto out = allocate<T>(std::int64_t(numbers.size()), device_place(stream.where));
  copy_async(out.data, numbers.data(), out.bytes(), stream);
  return out;
}

/// Cuts the rows of these tasks into pieces.
void cut(SpmmTasks& tasks, Stream stream) {
  std::vector<SpmmTask> rows(static_cast<std::size_t>(tasks.split)), pieces;
  copy_async(rows.data(), tasks.rows.data, tasks.split * std::int64_t(sizeof(SpmmTask)), stream);
  synchronize(stream);
  std::vector<SpmmJoin> joins;
  for (const auto& t : rows) {
    const auto first = Index(pieces.size());
    for (Index begin = 0; begin < t.count;) {
      const auto count = Index(std::min<Offset>(kTaskPiece, t.count - begin));
      pieces.push_back({t.begin + begin, Index(pieces.size()), count});
      begin += count;
    }
    joins.push_back({t.row, first, Index(pieces.size()) - first});
  }
  tasks.pieces = on_device(pieces, stream);
  tasks.joins = on_device(joins, stream);
  synchronize(stream);  // before the vectors go
}

SpmmTasks tasks_of(const Offset* indptr, std::int64_t rows, Stream stream) {
  const Place here = device_place(stream.where);
  SpmmTasks tasks;
  const auto out = allocate<SpmmTask>(rows, here);
  Buffers<std::uint64_t> keys(rows, stream);
  Buffers<Index> order(rows, stream);
  each(rows, TaskKeys{indptr, keys.first.data, order.first.data}, stream);
  sort_pairs(keys, order, kTaskKeyBits, stream);
  each(rows, TasksInOrder{indptr, order.first.data, out.data}, stream);
  const auto bounds = allocate<std::int64_t>(3, here);
  each(3, TaskBounds{keys.first.data, rows, bounds.data}, stream);
  std::int64_t below[3] = {};
  std::uint64_t least = 0;
  copy_async(below, bounds.data, sizeof below, stream);
  copy_async(&least, keys.first.data, sizeof least, stream);
  synchronize(stream);
  if (least == 0) return {};  // a row has more entries than a task can count
  tasks.rows = out;
  tasks.split = below[0], tasks.longs = below[1], tasks.mediums = below[2] - below[1];
  if (tasks.split > 0) cut(tasks, stream);
  return tasks;
}

}  // namespace

SpmmTasks spmm_tasks(const Offset* indptr, std::int64_t rows, Stream stream) {
  if (rows == 0 || rows > std::numeric_limits<Index>::max()) return {};
  const UseDevice use(stream.where);
  try {
    return tasks_of(indptr, rows, stream);
  } catch (const Error& e) {
    if (e.code() != Errc::out_of_memory) throw;
    return {};
  }
}

}  // namespace penstock
