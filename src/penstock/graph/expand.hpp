#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/rows.hpp"

// The expansion of a frontier: visit every edge out of a set of vertices and collect the vertices that the visitor
// accepts. Traversals are a visitor and a loop; who walks the edges is decided here, and how a list is read by its rows
// (rows.hpp).
namespace penstock::graph {

/// The policy by which threads of the CPU read edges where they lie.
struct Direct {};

/// A set of vertices, each once, and the number of edges that leave them. It has memory for every vertex of the graph.
class Frontier {
 public:
  /// One place more than there are vertices: walk() writes every end, and keeps it only if it is accepted.
  explicit Frontier(std::int64_t vertices) : data_(allocate<Index>(vertices + 1)) {}

  std::span<const Index> vertices() const { return {data_.data, static_cast<std::size_t>(size())}; }
  std::int64_t size() const { return size_.load(std::memory_order_relaxed); }
  std::int64_t edges() const { return edges_.load(std::memory_order_relaxed); }
  void clear() { size_ = 0, edges_ = 0; }

  /// Returns room for `count` vertices, which have `edges` edges together. Any thread may call it.
  Index* append(std::int64_t count, std::int64_t edges) {
    edges_.fetch_add(edges, std::memory_order_relaxed);
    return data_.data + size_.fetch_add(count, std::memory_order_relaxed);
  }
  /// Where the next vertex goes; what is written there counts once it is appended.
  Index* end() { return data_.data + size(); }

 private:
  Array<Index> data_;
  std::atomic<std::int64_t> size_ = 0, edges_ = 0;
};

namespace detail {

inline constexpr std::int64_t kChunk = 64;         // vertices that a thread claims at once
inline constexpr std::int64_t kLongRow = 2 << 10;  // more edges than this are shared out among the threads
inline constexpr std::int64_t kAhead = 16;         // vertices between a prefetch and its use

/// Follows edges and writes the ends that are accepted, without a branch: whether a vertex is new cannot be predicted.
template <class Rows, class Visit>
Index* walk(const Rows& a, Index u, Offset first, Offset last, Index* out, Visit& visit) {
  each_edge(a, u, first, last, [&](Index v, Offset k) {
    *out = v;
    out += visit(u, v, k);
  });
  return out;
}

template <class Visit>
Index* take(Index v, Index* out, Visit& visit) {
  *out = v;
  return out + visit(v);
}

/// The same for a visitor that only needs the reached vertex. Short rows are copied one behind the other before their vertices
/// are looked at: the end of a row of a road network cannot be predicted either, and costs more than the row.
template <class V, class Visit>
Index* walk_all(const CsrView<V>& a, std::span<const Index> from, Index* out, Visit& visit) {
  constexpr std::int64_t kShort = 4;
  std::array<Index, 256 + kShort> met;
  std::int64_t count = 0;
  const Index* to = a.indices - a.first_nnz;
  const auto last_full = a.indptr[a.rows] - kShort;
  for (const auto u : from) {
    const auto first = a.indptr[u], last = a.indptr[u + 1];
    if (last - first > kShort || first > last_full) {
      for (auto k = first; k < last; ++k) out = take(to[k], out, visit);
      continue;
    }
    // Entries of other rows are overwritten by the next copy.
    std::copy_n(to + first, kShort, met.data() + count);
    count += last - first;
    if (count < std::ssize(met) - kShort) continue;
    for (std::int64_t i = 0; i < count; ++i) out = take(met[static_cast<std::size_t>(i)], out, visit);
    count = 0;
  }
  for (std::int64_t i = 0; i < count; ++i) out = take(met[static_cast<std::size_t>(i)], out, visit);
  return out;
}

template <class Rows, class Visit>
Index* walk_all(const Rows& a, std::span<const Index> from, Index* out, Visit& visit) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto r = range_of(a, from[i]);
    each_edge(a, from[i], r.first, r.last, [&](Index v, Offset) { out = take(v, out, visit); });
  }
  return out;
}

/// Calls `arrive` for the vertices that have come, and prefetches their rows for the next step. Returns the number of their
/// edges.
template <class Rows, class Arrive>
std::int64_t settle(const Rows& a, const Index* some, std::int64_t count, Arrive& arrive) {
  std::int64_t edges = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) prefetch_range(a, some[i + kAhead]);
    const auto r = range_of(a, some[i]);
    edges += r.last - r.first;
    prefetch_list(a, some[i]);
    arrive(some[i]);
  }
  return edges;
}

/// The vertices that one thread collects before it asks for room in the next frontier.
template <class Rows, class Arrive>
class Collector {
 public:
  Collector(const Rows& a, Frontier& next, Arrive& arrive) : a_(a), next_(next), arrive_(arrive) {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  template <class Visit>
  void walk(Index u, Offset first, Offset last, Visit& visit) {
    if (count_ + last - first >= std::ssize(buffer_)) flush();
    count_ = detail::walk(a_, u, first, last, buffer_.data() + count_, visit) - buffer_.data();
  }
  void flush() {
    if (count_ == 0) return;
    std::copy_n(buffer_.data(), count_, next_.append(count_, settle(a_, buffer_.data(), count_, arrive_)));
    count_ = 0;
  }

 private:
  const Rows& a_;
  Frontier& next_;
  Arrive& arrive_;
  std::int64_t count_ = 0;
  std::array<Index, 2 * kLongRow> buffer_;
};

}  // namespace detail

/// Calls row(lane, u, first, last) for the edges [first, last) out of every u in `from`, on all threads. Long rows come in
/// pieces. A lane is a number below num_threads(); two calls with the same lane never overlap, so a lane may have a place to
/// write to without atomics.
template <class Rows, class Row>
void expand_rows(Direct, const Rows& a, std::span<const Index> from, Row&& row) {
  struct Piece {
    Index u;
    Offset first, last;
  };
  std::vector<Piece> pieces;
  std::mutex lock;
  const auto size = std::ssize(from);
  const auto lanes = std::min<std::int64_t>(num_threads(), (size + detail::kChunk - 1) / detail::kChunk);
  std::atomic<std::int64_t> claimed = 0;
  parallel_for(lanes, [&](std::int64_t lane) {
    for (;;) {
      const auto begin = claimed.fetch_add(detail::kChunk, std::memory_order_relaxed);
      if (begin >= size) return;
      for (auto i = begin; i < std::min(begin + detail::kChunk, size); ++i) {
        const auto ahead = [&](std::int64_t n) {
          return from[static_cast<std::size_t>(std::min(i + n, size - 1))];
        };
        prefetch_range(a, ahead(2 * detail::kAhead));
        prefetch_list(a, ahead(detail::kAhead));
        const auto u = ahead(0);
        const auto [first, last] = range_of(a, u);
        if (last - first < detail::kLongRow) {
          row(lane, u, first, last);
          continue;
        }
        const std::lock_guard guard(lock);
        for (auto k = first; k < last; k += detail::kLongRow)
          pieces.push_back({u, k, std::min(k + detail::kLongRow, last)});
      }
      poll_interrupt();
    }
  });
  const auto helpers = std::min<std::int64_t>(num_threads(), std::ssize(pieces));
  claimed = 0;
  parallel_for(helpers, [&](std::int64_t lane) {
    for (;;) {
      const auto i = claimed.fetch_add(1, std::memory_order_relaxed);
      if (i >= std::ssize(pieces)) return;
      const auto& p = pieces[static_cast<std::size_t>(i)];
      row(lane, p.u, p.first, p.last);
    }
  });
}

/// Calls f(u, v, k, lane) for every edge k from u to v with u in `from`, on all threads.
template <class Rows, class F>
void expand(Direct policy, const Rows& a, std::span<const Index> from, F&& f) {
  expand_rows(policy, a, from, [&](std::int64_t lane, Index u, Offset first, Offset last) {
    each_edge(a, u, first, last, [&](Index v, Offset k) { f(u, v, k, lane); });
  });
}

/// Calls visit(u, v, k) -> bool for every edge k from u to v with u in `from`. `next` gets v once for each call that returned
/// true, and arrive(v) is called for each of them afterwards. Their order is not determined.
template <class Rows, class Visit, class Arrive>
void advance(Direct policy, const Rows& a, std::span<const Index> from, Frontier& next, Visit&& visit,
             Arrive&& arrive) {
  std::vector<std::unique_ptr<detail::Collector<Rows, std::remove_reference_t<Arrive>>>> out(
      static_cast<std::size_t>(num_threads()));
  for (auto& o : out)
    o = std::make_unique<detail::Collector<Rows, std::remove_reference_t<Arrive>>>(a, next, arrive);
  expand_rows(policy, a, from, [&](std::int64_t lane, Index u, Offset first, Offset last) {
    out[static_cast<std::size_t>(lane)]->walk(u, first, last, visit);
  });
  for (auto& o : out) o->flush();
}

/// The same on the calling thread alone, for frontiers that are so small that waking other threads costs more. The visitor may
/// also be visit(v).
template <class Rows, class Visit, class Arrive>
void advance_alone(Direct, const Rows& a, std::span<const Index> from, Frontier& next, Visit&& visit,
                   Arrive&& arrive) {
  Index* const begin = next.end();
  Index* end = begin;
  if constexpr (std::is_invocable_v<Visit, Index>) {
    end = detail::walk_all(a, from, end, visit);
  } else {
    for (const auto u : from) {
      const auto [first, last] = range_of(a, u);
      end = detail::walk(a, u, first, last, end, visit);
    }
  }
  next.append(end - begin, detail::settle(a, begin, end - begin, arrive));
  poll_interrupt();
}

}  // namespace penstock::graph
