#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

// The expansion of a frontier: visit every edge out of a set of vertices and collect the vertices that the visitor
// accepts. Traversals are a visitor and a loop; where the edges are and who walks them is decided here.
namespace penstock::graph {

/// The edges are read where they lie, by the CPU's threads. Other policies are other backends' business.
struct Direct {};

/// A set of vertices, each once, and the number of edges that leave them. Memory for every vertex of the graph.
class Frontier {
 public:
  explicit Frontier(std::int64_t vertices) : data_(allocate<Index>(vertices)) {}

  std::span<const Index> vertices() const { return {data_.data, static_cast<std::size_t>(size())}; }
  std::int64_t size() const { return size_.load(std::memory_order_relaxed); }
  std::int64_t edges() const { return edges_.load(std::memory_order_relaxed); }
  void clear() { size_ = 0, edges_ = 0; }

  /// From any thread: room for `count` vertices with `edges` edges between them.
  Index* append(std::int64_t count, std::int64_t edges) {
    edges_.fetch_add(edges, std::memory_order_relaxed);
    return data_.data + size_.fetch_add(count, std::memory_order_relaxed);
  }

 private:
  Array<Index> data_;
  std::atomic<std::int64_t> size_ = 0, edges_ = 0;
};

namespace detail {

// A frontier below this many edges is walked by the calling thread alone: waking the others costs as much as some
// thousand edges, and the frontiers of a road network never get there.
inline constexpr std::int64_t kAloneEdges = 8 << 10;
inline constexpr std::int64_t kChunk = 128;          // vertices that a thread claims at once
inline constexpr std::int64_t kLongRow = 4 << 10;    // more edges than this are shared out among the threads
inline constexpr std::int64_t kAhead = 8;            // vertices between a prefetch and its use

/// What one thread collects before it asks for room in the next frontier.
class Collector {
 public:
  Collector(Frontier& next, const Offset* indptr) : next_(next), indptr_(indptr) {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  void add(Index v) {
    if (count_ == std::ssize(buffer_)) flush();
    buffer_[static_cast<std::size_t>(count_++)] = v;
    edges_ += indptr_[v + 1] - indptr_[v];
  }
  void flush() {
    if (count_) std::copy_n(buffer_.data(), count_, next_.append(count_, edges_));
    count_ = 0, edges_ = 0;
  }

 private:
  Frontier& next_;
  const Offset* indptr_;
  std::int64_t count_ = 0, edges_ = 0;
  std::array<Index, 1024> buffer_;
};

template <bool Shared, class V, class Visit>
void walk(const CsrView<V>& a, Index u, Offset first, Offset last, Collector& out, Visit& visit) {
  const Index* to = a.indices - a.first_nnz;
  for (auto k = first; k < last; ++k)
    if (visit(u, to[k], k, std::bool_constant<Shared>{})) out.add(to[k]);
}

template <class V>
void announce(const CsrView<V>& a, std::span<const Index> some, std::size_t i) {
  if (i + 2 * kAhead < some.size()) __builtin_prefetch(a.indptr + some[i + 2 * kAhead]);
  if (i + kAhead < some.size())
    __builtin_prefetch(a.indices + (a.indptr[some[i + kAhead]] - a.first_nnz));
}

}  // namespace detail

/// visit(u, v, k, shared) -> bool for every edge k from u to v with u in `frontier`; the v for which it says true are
/// added to `next` (the visitor says it once for each v: Frontier holds every vertex once). `shared` is
/// std::true_type where other threads visit at the same time. The order of edges and of `next` is not determined.
template <class V, class Visit>
void expand(Direct, const CsrView<V>& a, const Frontier& frontier, Frontier& next, Visit&& visit) {
  const auto from = frontier.vertices();
  if (frontier.edges() < detail::kAloneEdges || num_threads() == 1) {
    detail::Collector out(next, a.indptr);
    for (std::size_t i = 0; i < from.size(); ++i) {
      detail::announce(a, from, i);
      const auto u = from[i];
      detail::walk<false>(a, u, a.indptr[u], a.indptr[u + 1], out, visit);
    }
    out.flush();
    poll_interrupt();
    return;
  }
  struct Piece {
    Index u;
    Offset first, last;
  };
  std::vector<Piece> pieces;
  std::mutex lock;
  parallel_ranges(std::ssize(from), detail::kChunk, [&](std::int64_t begin, std::int64_t end) {
    const auto chunk = from.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    detail::Collector out(next, a.indptr);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      detail::announce(a, chunk, i);
      const auto u = chunk[i];
      const auto first = a.indptr[u], last = a.indptr[u + 1];
      if (last - first <= detail::kLongRow) {
        detail::walk<true>(a, u, first, last, out, visit);
        continue;
      }
      const std::lock_guard guard(lock);
      for (auto k = first; k < last; k += detail::kLongRow)
        pieces.push_back({u, k, std::min(k + detail::kLongRow, last)});
    }
    out.flush();
  });
  parallel_for(std::ssize(pieces), [&](std::int64_t i) {
    const auto& p = pieces[static_cast<std::size_t>(i)];
    detail::Collector out(next, a.indptr);
    detail::walk<true>(a, p.u, p.first, p.last, out, visit);
    out.flush();
  });
}

}  // namespace penstock::graph
