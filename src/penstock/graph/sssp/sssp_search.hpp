#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/sssp/sssp.hpp"
#include "penstock/graph/sssp/sssp_buckets.hpp"

// One search for shortest paths on the CPU, by delta-stepping; sssp_cpu.cpp says the idea and the papers. Every thread (lane)
// has buckets of its own. A round takes the current bucket of all lanes as a list of visits, which threads claim in chunks;
// rows with many edges are shared. It relaxes their edges, and puts the vertices that were lowered into the lane's buckets.
namespace penstock::graph {
namespace detail {

inline constexpr std::int64_t kVisitsAtOnce = 64;     // visits that a thread claims at once
inline constexpr std::int64_t kPiece = 1 << 10;       // edges filtered at once
inline constexpr std::int64_t kLongVisit = 16 << 10;  // more edges than this are shared out among the threads
inline constexpr std::int64_t kFused = 2 << 10;  // visits of the current bucket that a thread relaxes alone
inline constexpr std::int64_t kAloneEdges = 4 << 10;  // a bucket with fewer is not worth waking the pool
inline constexpr std::int64_t kAloneVisits = kAloneEdges / 4;  // with more visits, edges are not even counted
inline constexpr std::int64_t kShortRow = 8;     // for shorter rows a scalar loop is faster than a call
inline constexpr std::int64_t kVisitsAhead = 8;  // visits between a prefetch and its use
inline constexpr std::int64_t kPoll = 1 << 10;   // visits between two calls of poll_interrupt()
inline constexpr std::int64_t kDistancesAtOnce = 32 << 10;

template <class D, class W>
std::int64_t shortening(const RowArgs<D, W>& p) {
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < p.count; ++k) {
    D far = p.from;
    if constexpr (is_pattern<W>) far += 1;
    else far += static_cast<D>(p.weights[k]);
    p.out_v[n] = p.to[k], p.out_d[n] = far;
    n += far < std::atomic_ref<D>(const_cast<D&>(p.distances[p.to[k]])).load(std::memory_order_relaxed);
  }
  return n;
}

template <class D, class W>
Shortening<D, W> best_shortening() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx512) return avx512::shortening<D, W>;
  return shortening<D, W>;
}

}  // namespace detail

/// One search. D is the type of distances, W the type in which weights are stored.
template <class D, class W>
class PathSearch {
 public:
  static constexpr D kInfinity = std::numeric_limits<D>::has_infinity ? std::numeric_limits<D>::infinity()
                                                                      : std::numeric_limits<D>::max();

  PathSearch(const CsrView<One>& a, const W* weights, double delta, D limit, bool limit_is_range)
      : a_(a),
        weights_(weights),
        bucket_of_(delta),
        limit_(limit),
        limit_is_range_(limit_is_range),
        distances_(allocate<D>(a.rows)),
        lanes_(static_cast<std::size_t>(num_threads())) {
    parallel_ranges(a.rows, detail::kDistancesAtOnce, [&](std::int64_t first, std::int64_t last) {
      std::fill(distances_.data + first, distances_.data + last, kInfinity);
    });
    for (auto& lane : lanes_) lane = std::make_unique<Lane>();
  }

  /// Returns false if a distance left the range of D.
  bool run(std::span<const Index> sources) {
    for (const auto s : sources)
      if (distances_.data[s] != D(0)) distances_.data[s] = D(0), lanes_[0]->buckets.push(0, {s, D(0)});
    while (!out_of_range_.load(std::memory_order_relaxed)) {
      auto bucket = Buckets<D>::kNone;
      for (const auto& lane : lanes_) bucket = std::min(bucket, lane->buckets.next());
      if (bucket == Buckets<D>::kNone) return true;
      for (auto& lane : lanes_) lane->buckets.advance(bucket, bucket_of_);
      current_ = bucket;
      take(bucket);
      if (lanes_.size() == 1 || few_edges()) {
        for (auto& lane : lanes_) {
          for_each_visit(lane->work, [&](const Visit<D>& v) { relax<false>(*lanes_[0], v); });
          lane->work.clear();
        }
        poll_interrupt();
      } else {
        together();
      }
    }
    return false;
  }
  const Array<D>& distances() const { return distances_; }

 private:
  struct LongRow {
    D from;
    Offset first, last;
  };
  struct alignas(128) Lane {
    Buckets<D> buckets;
    std::vector<Visit<D>> work;
    std::vector<LongRow> long_rows;
    Index out_v[detail::kPiece + 16];
    D out_d[detail::kPiece + 16];
  };

  /// Moves the current bucket of every lane to its work list. Far visits may belong to that bucket since `advance`.
  void take(std::int64_t bucket) {
    for (auto& lane : lanes_) lane->work.swap(lane->buckets.at(bucket));
  }
  bool few_edges() const {
    std::int64_t visits = 0, edges = 0;
    for (const auto& lane : lanes_) visits += std::ssize(lane->work);
    if (visits > detail::kAloneVisits) return false;
    for (const auto& lane : lanes_)
      for (const auto& visit : lane->work) edges += a_.indptr[visit.v + 1] - a_.indptr[visit.v];
    return edges < detail::kAloneEdges;
  }

  D load(Index v) const { return std::atomic_ref<D>(distances_.data[v]).load(std::memory_order_relaxed); }

  template <class F>
  void for_each_visit(std::span<const Visit<D>> visits, F&& f) const {
    const auto n = std::ssize(visits);
    const auto* v = visits.data();
    for (std::int64_t i = 0; i < n; ++i) {
      if (i + 2 * detail::kVisitsAhead < n) {
        __builtin_prefetch(a_.indptr + v[i + 2 * detail::kVisitsAhead].v);
        __builtin_prefetch(distances_.data + v[i + 2 * detail::kVisitsAhead].v);
      }
      if (i + detail::kVisitsAhead < n) {
        const auto k = a_.indptr[v[i + detail::kVisitsAhead].v] - a_.first_nnz;
        __builtin_prefetch(a_.indices + k);
        if constexpr (!is_pattern<W>) __builtin_prefetch(weights_ + k);
      }
      f(v[i]);
      if (i % detail::kPoll == detail::kPoll - 1) poll_interrupt();
    }
  }

  void together() {
    std::vector<std::int64_t> start(1, 0);
    for (const auto& lane : lanes_) start.push_back(start.back() + std::ssize(lane->work));
    std::atomic<std::int64_t> claimed = 0;
    parallel_for(std::ssize(lanes_), [&](std::int64_t i) {
      auto& lane = *lanes_[static_cast<std::size_t>(i)];
      std::size_t list = 0;
      for (;;) {
        auto begin = claimed.fetch_add(detail::kVisitsAtOnce, std::memory_order_relaxed);
        const auto end = std::min(begin + detail::kVisitsAtOnce, start.back());
        if (begin >= end) break;
        while (begin < end) {  // a chunk may have parts of several lists
          while (begin >= start[list + 1]) ++list;
          const auto last = std::min(end, start[list + 1]);
          for_each_visit(std::span<const Visit<D>>(lanes_[list]->work)
                             .subspan(static_cast<std::size_t>(begin - start[list]),
                                      static_cast<std::size_t>(last - begin)),
                         [&](const Visit<D>& v) { relax<true>(lane, v); });
          begin = last;
        }
        poll_interrupt();
      }
      fuse(lane);
    });
    for (auto& lane : lanes_) lane->work.clear();
    std::vector<LongRow> pieces;
    for (auto& lane : lanes_) {
      for (const auto& row : lane->long_rows)
        for (auto k = row.first; k < row.last; k += detail::kLongVisit)
          pieces.push_back({row.from, k, std::min(k + detail::kLongVisit, row.last)});
      lane->long_rows.clear();
    }
    claimed = 0;
    parallel_for(std::min(std::ssize(lanes_), std::ssize(pieces)), [&](std::int64_t i) {
      for (;;) {
        const auto p = claimed.fetch_add(1, std::memory_order_relaxed);
        if (p >= std::ssize(pieces)) return;
        const auto& piece = pieces[static_cast<std::size_t>(p)];
        relax_edges<true>(*lanes_[static_cast<std::size_t>(i)], piece.from, piece.first, piece.last);
      }
    });
  }

  void fuse(Lane& lane) {
    std::vector<Visit<D>> own;
    for (;;) {
      auto& list = lane.buckets.at(current_);
      if (list.empty() || std::ssize(list) > detail::kFused) return;
      own.clear();
      own.swap(list);
      for_each_visit(own, [&](const Visit<D>& v) { relax<true>(lane, v); });
    }
  }

  template <bool Shared>
  void relax(Lane& lane, const Visit<D>& visit) {
    if (load(visit.v) != visit.d) return;
    const auto first = a_.indptr[visit.v] - a_.first_nnz, last = a_.indptr[visit.v + 1] - a_.first_nnz;
    if (Shared && last - first > detail::kLongVisit) lane.long_rows.push_back({visit.d, first, last});
    else relax_edges<Shared>(lane, visit.d, first, last);
  }

  template <bool Shared>
  void relax_edges(Lane& lane, D from, Offset first, Offset last) {
    if (last - first <= detail::kShortRow) {
      for (auto k = first; k < last; ++k) {
        D far = from;
        if constexpr (is_pattern<W>) far += 1;
        else far += static_cast<D>(weights_[k]);
        if (far < load(a_.indices[k])) lower<Shared>(lane, a_.indices[k], far);
      }
      return;
    }
    for (auto k = first; k < last; k += detail::kPiece) {
      const auto n =
          shortening_({a_.indices + k, is_pattern<W> ? nullptr : weights_ + k,
                       std::min(detail::kPiece, last - k), from, distances_.data, lane.out_v, lane.out_d});
      for (std::int64_t i = 0; i < n; ++i) lower<Shared>(lane, lane.out_v[i], lane.out_d[i]);
    }
  }

  template <bool Shared>
  void lower(Lane& lane, Index v, D to) {
    if (to > limit_) {
      if (limit_is_range_) out_of_range_.store(true, std::memory_order_relaxed);
      return;
    }
    D now = load(v);
    if constexpr (Shared) {
      const std::atomic_ref<D> cell(distances_.data[v]);
      do {
        if (!(to < now)) return;
      } while (!cell.compare_exchange_weak(now, to, std::memory_order_relaxed));
    } else {
      if (!(to < now)) return;
      distances_.data[v] = to;
    }
    lane.buckets.push(bucket_of_(to), {v, to});
  }

  CsrView<One> a_;
  const W* weights_;
  BucketOf<D> bucket_of_;
  D limit_;
  bool limit_is_range_;
  Array<D> distances_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::int64_t current_ = 0;
  std::atomic<bool> out_of_range_ = false;
  Shortening<D, W> shortening_ = detail::best_shortening<D, W>();
};

}  // namespace penstock::graph
