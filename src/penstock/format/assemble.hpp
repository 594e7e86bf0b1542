#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/bucket_sort.hpp"
#include "penstock/format/csr.hpp"

// Makes a CSR matrix with sorted rows from a stream of entries in any order, in parallel.
//
// The source is walked twice. The first walk counts entries per granule of rows; from the counts come buckets
// of consecutive rows with about kBucketEntries each. The second walk drops every entry into its bucket, in
// the very arrays that the matrix will keep, with two bytes more for the row within the bucket. Then each
// bucket is sorted and merged while it sits in the cache, and the buckets close ranks. Beside the source and
// the matrix this needs two bytes an entry and a few MB a thread. The matrix is the same bit for bit whatever
// the number of threads.
namespace penstock {

/// A source gives its entries on demand, and gives the same ones every time: visit(first, last, emit) calls emit(row,
/// column, value) at most max_per_unit() times for each unit in [first, last). Rows and columns must lie in the matrix.
template <class S, class V>
concept EntrySource = requires(const S source, void (*emit)(std::int64_t, std::int64_t, V)) {
  { source.units() } -> std::convertible_to<std::int64_t>;
  { source.max_per_unit() } -> std::convertible_to<std::int64_t>;
  source.visit(std::int64_t{}, std::int64_t{}, emit);
};

namespace detail {

inline constexpr std::int64_t kBucketEntries = 1 << 16;  // its keys, twice, and values fit a 2 MiB L2
inline constexpr std::int64_t kMaxBuckets = 4096;        // more write streams than this miss the TLB
inline constexpr std::int64_t kMaxGranules = 1 << 16;
inline constexpr std::int64_t kChunk = 1 << 16;  // units walked at a time

/// Scratch objects that tasks borrow. There are as many of them as tasks that ran at the same time.
template <class T>
class Lent {
 public:
  template <class F>
  void with(F&& f) {
    std::unique_ptr<T> mine;
    {
      const std::lock_guard guard(lock_);
      if (!free_.empty()) mine = std::move(free_.back()), free_.pop_back();
    }
    if (!mine) mine = std::make_unique<T>();
    f(*mine);
    const std::lock_guard guard(lock_);
    free_.push_back(std::move(mine));
  }
  const std::vector<std::unique_ptr<T>>& all() const { return free_; }

 private:
  std::mutex lock_;
  std::vector<std::unique_ptr<T>> free_;
};

/// Consecutive rows whose entries are sorted together; at most 65536 of them.
struct RowBucket {
  std::int64_t first_row, rows;
  Offset begin, size;  // where its entries are before merging
};

struct BucketMap {
  int shift = 0;  // row >> shift is the granule
  std::vector<std::uint32_t> of_granule;
  std::vector<RowBucket> buckets;
  Offset entries = 0;
};

/// Cuts the rows into buckets. `counts` has the number of entries in each granule of 2^shift rows.
BucketMap make_buckets(std::int64_t rows, int shift, const std::vector<Offset>& counts);
int granule_shift(std::int64_t rows);

/// Adds the source's entries to those in each granule of 2^shift rows.
template <class V, class Source>
void count_entries(int shift, const Source& source, std::vector<Offset>& sum) {
  const auto granules = sum.size();
  Lent<std::vector<Offset>> counters;
  parallel_ranges(source.units(), kChunk, [&](std::int64_t first, std::int64_t last) {
    counters.with([&](std::vector<Offset>& counts) {
      counts.resize(granules);
      auto* count = counts.data();
      source.visit(first, last, [&](std::int64_t row, std::int64_t, V) { ++count[row >> shift]; });
    });
  });
  for (const auto& counts : counters.all())
    for (std::size_t g = 0; g < granules; ++g) sum[g] += (*counts)[g];
}

template <class V>
struct Staged {
  std::uint32_t bucket;
  Index column;
  std::uint16_t local;
  [[no_unique_address]] V value;
};

template <class V>
struct Stage {
  std::vector<Staged<V>> entries;
  std::vector<Offset> next;  // per bucket: a count, then the place of its next entry
};

/// Writes every entry of the source into its bucket. `cursors` says where the next entry of each bucket goes.
template <class V, class Source>
void fill_buckets(const Source& source, const BucketMap& map, std::vector<std::atomic<Offset>>& cursors,
                  std::uint16_t* local, Index* cols, V* values) {
  Lent<Stage<V>> stages;
  parallel_ranges(source.units(), kChunk, [&](std::int64_t first, std::int64_t last) {
    stages.with([&](Stage<V>& stage) {
      stage.entries.resize(static_cast<std::size_t>(kChunk * source.max_per_unit()));
      stage.next.assign(cursors.size(), 0);
      auto* const next = stage.next.data();
      auto* end = stage.entries.data();
      source.visit(first, last, [&](std::int64_t row, std::int64_t column, V value) {
        const auto b = map.of_granule[static_cast<std::size_t>(row >> map.shift)];
        *end++ = {b, static_cast<Index>(column), static_cast<std::uint16_t>(row - map.buckets[b].first_row),
                  value};
        ++next[b];
      });
      for (std::size_t b = 0; b < cursors.size(); ++b)
        if (next[b] > 0) next[b] = cursors[b].fetch_add(next[b], std::memory_order_relaxed);
      for (const auto* e = stage.entries.data(); e != end; ++e) {
        const auto at = next[e->bucket]++;
        local[at] = e->local;
        cols[at] = e->column;
        if constexpr (!is_pattern<V>) values[at] = e->value;
      }
    });
  });
}

/// Moves the entries of every bucket b down to `to[b]`. Buckets move in ascending order, so that nothing is overwritten
/// before it has moved.
template <class T>
void close_ranks(T* data, const BucketMap& map, const std::vector<Offset>& to) {
  for (std::size_t b = 0; b < map.buckets.size(); ++b) {
    const auto begin = map.buckets[b].begin, count = to[b + 1] - to[b];
    if (begin != to[b] && count > 0)
      std::memmove(data + to[b], data + begin, static_cast<std::size_t>(count) * sizeof(T));
    poll_interrupt();
  }
}

template <class T>
Array<T> trimmed(const Array<T>& a, std::int64_t count) {
  forget_bytes(a.data + count, (a.size - count) * static_cast<std::int64_t>(sizeof(T)));
  return a.slice(0, count);
}

/// What a task needs to sort a bucket.
template <class V>
struct Sorting {
  BucketSorter<V> sorter;
  std::vector<std::uint16_t> local;
};

/// Sorts and merges each bucket where it lies, then moves the buckets together, and writes the row offsets.
/// local_of(bucket, scratch) returns the rows within the bucket of its entries.
template <class V, class Local>
Csr<V> merged(std::int64_t rows, std::int64_t cols, const BucketMap& map, const Array<Offset>& indptr,
              const Array<Index>& indices, const Array<V>& values, bool merge, Local&& local_of) {
  std::vector<Offset> begin(map.buckets.size() + 1);
  {
    Lent<Sorting<V>> lent;
    const auto bits = [](std::int64_t n) {
      return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1) - 1)));
    };
    parallel_for(static_cast<std::int64_t>(map.buckets.size()), [&](std::int64_t b) {
      const auto& bucket = map.buckets[static_cast<std::size_t>(b)];
      lent.with([&](Sorting<V>& mine) {
        auto* const local = local_of(bucket, mine.local);
        auto* counts = indptr.data + bucket.first_row + 1;
        std::fill_n(counts, bucket.rows, 0);
        const Bucket<V> part{
            local,       indices.data + bucket.begin, is_pattern<V> ? nullptr : values.data + bucket.begin,
            bucket.size, bits(bucket.rows),           bits(cols)};
        begin[static_cast<std::size_t>(b) + 1] = mine.sorter.run(part, counts, merge);
      });
    });
  }
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) begin[b + 1] += begin[b];
  indptr.data[0] = 0;
  parallel_for(static_cast<std::int64_t>(map.buckets.size()), [&](std::int64_t b) {
    const auto& bucket = map.buckets[static_cast<std::size_t>(b)];
    auto sum = begin[static_cast<std::size_t>(b)];
    for (auto r = bucket.first_row + 1; r <= bucket.first_row + bucket.rows; ++r)
      indptr.data[r] = sum += indptr.data[r];
  });
  close_ranks(indices.data, map, begin);
  if constexpr (!is_pattern<V>) close_ranks(values.data, map, begin);
  Csr<V> a{rows, cols, indptr, trimmed(indices, begin.back()), {}};
  if constexpr (!is_pattern<V>) a.values = trimmed(values, begin.back());
  return a;
}

}  // namespace detail

/// The matrix of the entries of several sources: walk(take) calls take(source) for one after the other, and for the same ones
/// when it is called again. Rows are sorted by column, equal entries are summed (without `merge` all are kept, ordered by the
/// bits of their values), and explicit zeros are kept. `cols` is at most 2^31 - 1.
template <class V, class Walk>
Csr<V> assemble_walked(std::int64_t rows, std::int64_t cols, Walk&& walk, bool merge = true) {
  const int shift = detail::granule_shift(rows);
  std::vector<Offset> granules(static_cast<std::size_t>(rows == 0 ? 0 : ((rows - 1) >> shift) + 1));
  walk([&](const auto& source) { detail::count_entries<V>(shift, source, granules); });
  const auto map = detail::make_buckets(rows, shift, granules);
  auto indptr = allocate<Offset>(rows + 1);
  auto indices = allocate<Index>(map.entries);
  auto values = allocate<V>(is_pattern<V> ? 0 : map.entries);
  const auto local = allocate<std::uint16_t>(map.entries);
  std::vector<std::atomic<Offset>> cursors(map.buckets.size());
  for (std::size_t b = 0; b < cursors.size(); ++b)
    cursors[b].store(map.buckets[b].begin, std::memory_order_relaxed);
  walk([&](const auto& source) {
    detail::fill_buckets<V>(source, map, cursors, local.data, indices.data, values.data);
  });
  return detail::merged<V>(rows, cols, map, indptr, indices, values, merge,
                           [&](const detail::RowBucket& bucket, auto&) { return local.data + bucket.begin; });
}

/// The matrix of the entries of one source.
template <class V, EntrySource<V> Source>
Csr<V> assemble(std::int64_t rows, std::int64_t cols, const Source& source, bool merge = true) {
  return assemble_walked<V>(
      rows, cols, [&](auto&& take) { take(source); }, merge);
}

}  // namespace penstock
