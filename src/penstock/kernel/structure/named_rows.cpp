#include "penstock/kernel/structure/named_rows.hpp"

#include <algorithm>
#include <cstring>

#include "penstock/core/reuse.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kMarkedAtOnce = 1 << 16, kRowsAtOnce = 256;

void mark(std::uint32_t* marks, std::int64_t n) {
  const std::atomic_ref word(marks[n / kMarks]);
  const auto bit = std::uint32_t(1) << (n % kMarks);
  if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
}

template <class T>
T* scratch(std::shared_ptr<void>& keep, std::int64_t n, Stream stream) {
  keep = allocate_scratch(n * static_cast<std::int64_t>(sizeof(T)), stream);
  return static_cast<T*>(keep.get());
}

template <class Mark>
Array<const Index> marked(std::int64_t n, const Mark& write, Stream stream) {
  std::shared_ptr<void> keep;
  auto* const marks = scratch<std::uint32_t>(keep, mark_words(n), stream);
  fill_async(marks, 0, mark_words(n) * kMarks / 8, stream);
  write(marks);
  return named_by(marks, n, stream);
}

}  // namespace

void mark_columns(const Index* indices, Offset count, std::uint32_t* marks, Stream stream) {
  if (count == 0) return;
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) gpu::mark_columns(indices, count, marks, stream);
    return;
  }
  parallel_ranges(count, kMarkedAtOnce, [&](std::int64_t e, std::int64_t last) {
    for (; e < last; ++e) mark(marks, indices[e]);
  });
}

void mark_named(const Index* names, std::int64_t count, std::uint32_t* marks, Stream stream) {
  mark_columns(names, count, marks, stream);
}

void mark_rows(const Offset* indptr, std::int64_t rows, std::uint32_t* marks, Stream stream) {
  if (rows == 0) return;
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) gpu::mark_rows(indptr, rows, marks, stream);
    return;
  }
  parallel_ranges(rows, kMarkedAtOnce, [&](std::int64_t r, std::int64_t last) {
    for (; r < last; ++r)
      if (indptr[r] < indptr[r + 1]) mark(marks, r);
  });
}

Array<const Index> named_by(const std::uint32_t* marks, std::int64_t n, Stream stream) {
  const auto place = device_place(stream.where);
  const auto words = mark_words(n);
  std::shared_ptr<void> keep;
  auto* const ends = scratch<Offset>(keep, words + 1, stream);
  fill_async(ends + words, 0, sizeof(Offset), stream);
  each(words, steps::CountMarks{marks, ends}, stream);
  prefix_sums(ends, words + 1, stream);
  const auto count = fetch(ends + words, stream);
  const auto memory = reuse_bytes(count * static_cast<std::int64_t>(sizeof(Index)), place);
  const Array<Index> list{static_cast<Index*>(memory.get()), count, place, memory};
  each(count > 0 ? words : 0, steps::ListMarks{marks, ends, list.data}, stream);
  synchronize(stream);
  return list;
}

Array<const Index> named_columns(const Index* indices, Offset count, std::int64_t columns, Stream stream) {
  return marked(
      columns, [&](std::uint32_t* marks) { mark_columns(indices, count, marks, stream); }, stream);
}

Array<const Index> named_rows(const Offset* indptr, std::int64_t rows, Stream stream) {
  return marked(
      rows, [&](std::uint32_t* marks) { mark_rows(indptr, rows, marks, stream); }, stream);
}

void copy_rows(std::byte* to, const std::byte* from, std::int64_t row_bytes, const Index* names,
               std::int64_t count, Stream stream) {
  if (count == 0 || row_bytes == 0) return;
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) gpu::copy_rows(to, from, row_bytes, names, count, stream);
    return;
  }
  parallel_ranges(count, kRowsAtOnce, [&](std::int64_t n, std::int64_t last) {
    for (; n < last; ++n)
      std::memcpy(to + names[n] * row_bytes, from + names[n] * row_bytes,
                  static_cast<std::size_t>(row_bytes));
  });
}

void ends_of_named(const Index* names, std::int64_t count, const Offset* from, std::int64_t rows,
                   Offset* ends, Stream stream) {
  fill_async(ends, 0, (rows + 1) * static_cast<std::int64_t>(sizeof(Offset)), stream);
  each(count, steps::NamedLengths{names, from, ends, true}, stream);
  prefix_sums(ends, rows + 1, stream);
}

Offset entries_of_named(const Index* names, std::int64_t count, const Offset* from, Stream stream) {
  if (count == 0) return 0;
  std::shared_ptr<void> keep;
  auto* const ends = scratch<Offset>(keep, count + 1, stream);
  fill_async(ends + count, 0, sizeof(Offset), stream);
  each(count, steps::NamedLengths{names, from, ends, false}, stream);
  prefix_sums(ends, count + 1, stream);
  return fetch(ends + count, stream);
}

void copy_entries(const Index* names, std::int64_t count, const Offset* from_ends, const std::byte* from,
                  const Offset* to_ends, std::byte* to, int each, Stream stream) {
  if (count == 0 || each == 0) return;
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) gpu::copy_entries(names, count, from_ends, from, to_ends, to, each, stream);
    return;
  }
  parallel_ranges(count, kRowsAtOnce, [&](std::int64_t n, std::int64_t last) {
    for (; n < last; ++n) {
      const auto row = names[n];
      const auto entries = from_ends[row + 1] - from_ends[row];
      if (entries > 0)
        std::memcpy(to + to_ends[row] * each, from + from_ends[row] * each,
                    static_cast<std::size_t>(entries * each));
    }
  });
}

}  // namespace penstock
