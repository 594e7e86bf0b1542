// Counts triangles over oriented edges: each triangle is found once, at its vertex of largest number. The ends of that vertex
// are marked in a bitmap, and the lists of those ends are looked up in it (Latapy 2008, section 3). Numbers fall with the
// degree, so the bits that are read most often lie together. As far as memory allows, each thread has its own counts of
// vertices, those of hubs first.
#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/triangles/triangles.hpp"

namespace penstock {
namespace graph {
namespace {

constexpr std::int64_t kChunk = 64;  // vertices that a thread claims at once
constexpr std::int64_t kAhead = 4;   // lists between a prefetch and its use
constexpr Index kTiny = 4;           // ends that are compared instead of marked
constexpr Index kSlow = 512;         // lists between two calls of poll_interrupt()
// How many counts of vertices the threads have for themselves, all threads together.
constexpr std::int64_t kOwnCells = 32 << 20;

std::int64_t marked(const std::uint32_t* bits, const Index* list, std::int64_t count, Index* found) {
  const auto bit = [&](Index w) {
    return static_cast<std::int64_t>(
        bits[static_cast<std::uint32_t>(w) >> 5] >> (static_cast<std::uint32_t>(w) & 31) & 1);
  };
  std::int64_t n = 0;
  if (!found) {
    for (std::int64_t k = 0; k < count; ++k) n += bit(list[k]);
    return n;
  }
  for (std::int64_t k = 0; k < count; ++k) found[n] = list[k], n += bit(list[k]);
  return n;
}

Marked best_marked() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx512) return avx512::marked;
  return marked;
}

/// A count for each number. For small numbers each thread has its own, the others are shared.
class Cells {
 public:
  Cells(std::int64_t size, std::int64_t lanes)
      : size_(size),
        own_(std::min(size, std::max<std::int64_t>(kOwnCells / lanes, 1))),
        lanes_(static_cast<std::size_t>(lanes)),
        shared_(static_cast<std::size_t>(size - own_)) {}

  class Lane {
   public:
    void add(Index u, std::int64_t n) {
      if (u < own_) mine_[u] += n;
      else std::atomic_ref(shared_[u - own_]).fetch_add(n, std::memory_order_relaxed);
    }

   private:
    friend Cells;
    std::int64_t own_;
    std::int64_t *mine_, *shared_;
  };
  Lane lane(std::int64_t i) {
    auto& mine = lanes_[static_cast<std::size_t>(i)];
    mine.resize(static_cast<std::size_t>(own_));
    Lane l;
    l.own_ = own_, l.mine_ = mine.data(), l.shared_ = shared_.data();
    return l;
  }
  Array<std::int64_t> sums(const Array<Index>& vertex) const {
    const auto out = allocate<std::int64_t>(size_);
    parallel_ranges(size_, 16 << 10, [&](std::int64_t first, std::int64_t last) {
      for (auto u = first; u < last; ++u) {
        const auto at = static_cast<std::size_t>(u);
        std::int64_t sum = u < own_ ? 0 : shared_[at - static_cast<std::size_t>(own_)];
        for (const auto& mine : lanes_)
          if (at < mine.size()) sum += mine[at];
        out.data[vertex.size ? vertex.data[u] : u] = sum;
      }
    });
    return out;
  }

 private:
  std::int64_t size_, own_;
  std::vector<std::vector<std::int64_t>> lanes_;
  std::vector<std::int64_t> shared_;
};

/// What one thread counts with. `Each`: it also counts the triangles of each vertex.
template <bool Each>
class Counter {
 public:
  Counter(const OrientedEdges& e, Marked marked, Cells::Lane cells)
      : first_(e.first.data),
        length_(e.length.data),
        ends_(e.ends.data),
        last_whole_(ends_ + (e.ends.size - kTiny)),
        smallest_first_(e.vertex.size == 0),
        marked_(marked),
        cells_(cells),
        bits_(static_cast<std::size_t>(e.size() / 32 + 1)) {}

  /// Counts the triangles whose largest number is in [from, to).
  std::int64_t count(std::int64_t from, std::int64_t to) {
    std::int64_t sum = 0;
    for (auto u = from; u < to; ++u) {
      const auto n = length_[u];
      if (n < 2) continue;
      const auto own = n <= kTiny ? compared(ends_ + first_[u], n) : looked_up(ends_ + first_[u], n);
      if constexpr (Each)
        if (own) cells_.add(static_cast<Index>(u), own);
      sum += own;
    }
    return sum;
  }

 private:
  std::int64_t compared(const Index* ends, Index n) {
    std::array<Index, kTiny> mine;
    mine.fill(-1);
    std::copy_n(ends, n, mine.data());
    std::int64_t own = 0;
    for (Index i = smallest_first_ ? 1 : 0; i < n; ++i) {
      const auto v = mine[static_cast<std::size_t>(i)];
      const auto here = compare(mine, ends_ + first_[v], length_[v]);
      if constexpr (Each)
        if (here) cells_.add(v, here);
      own += here;
    }
    return own;
  }

  std::int64_t compare(const std::array<Index, kTiny>& mine, const Index* list, Index n) {
    std::int64_t here = 0;
    // Without a branch on the end of a tiny list, which could not be predicted. Entries behind it are masked.
    if (!Each && n <= kTiny && list <= last_whole_) {
      std::int32_t same = 0;
      for (Index k = 0; k < kTiny; ++k)
        for (const auto w : mine) same += (w == list[k]) & (k < n);
      return same;
    }
    for (Index k = 0; k < n; ++k) {
      std::int64_t same = 0;
      for (const auto w : mine) same += w == list[k];
      if constexpr (Each)
        if (same) cells_.add(list[k], 1);
      here += same;
    }
    return here;
  }

  std::int64_t looked_up(const Index* ends, Index n) {
    for (Index i = 0; i < n; ++i) word(ends[i]) |= 1U << (static_cast<std::uint32_t>(ends[i]) & 31U);
    std::int64_t own = 0;
    for (Index i = 0; i < n; ++i) {
      if (i + 2 * kAhead < n)
        __builtin_prefetch(first_ + ends[i + 2 * kAhead]), __builtin_prefetch(length_ + ends[i + 2 * kAhead]);
      if (i + kAhead < n) __builtin_prefetch(ends_ + first_[ends[i + kAhead]]);
      own += look_up(ends[i]);
      if (n > kSlow && i % kSlow == 0) poll_interrupt();
    }
    for (Index i = 0; i < n; ++i) word(ends[i]) = 0;
    return own;
  }

  std::int64_t look_up(Index v) {
    const auto n = length_[v];
    if constexpr (Each) {
      if (std::ssize(found_) < n + kFoundSlack) found_.resize(static_cast<std::size_t>(2 * n + kFoundSlack));
      const auto here = marked_(bits_.data(), ends_ + first_[v], n, found_.data());
      if (here) cells_.add(v, here);
      for (std::int64_t i = 0; i < here; ++i) cells_.add(found_[static_cast<std::size_t>(i)], 1);
      return here;
    } else {
      return marked_(bits_.data(), ends_ + first_[v], n, nullptr);
    }
  }

  std::uint32_t& word(Index v) { return bits_[static_cast<std::uint32_t>(v) >> 5]; }

  const Offset* first_;
  const Index *length_, *ends_, *last_whole_;
  bool smallest_first_;  // ends ascend
  Marked marked_;
  Cells::Lane cells_;
  std::vector<std::uint32_t> bits_;
  std::vector<Index> found_;
};

template <bool Each>
std::int64_t count_all(const OrientedEdges& e, Cells* cells, std::int64_t lanes) {
  const auto marked = best_marked();
  std::atomic<std::int64_t> total = 0, claimed = 0;
  parallel_for(lanes, [&](std::int64_t lane) {
    if (claimed.load(std::memory_order_relaxed) >= e.size()) return;
    Counter<Each> counter(e, marked, cells ? cells->lane(lane) : Cells::Lane{});
    std::int64_t sum = 0;
    for (;;) {
      const auto from = claimed.fetch_add(kChunk, std::memory_order_relaxed);
      if (from >= e.size()) break;
      sum += counter.count(from, std::min(e.size(), from + kChunk));
      poll_interrupt();
    }
    total += sum;
  });
  return total;
}

}  // namespace
}  // namespace graph

Triangles count_triangles(const OrientedEdges& edges, bool of_vertex) {
  constexpr std::int64_t kAlone = 4 << 10;  // graphs with fewer edges stay on one thread
  const auto lanes = edges.ends.size < kAlone ? std::int64_t(1) : num_threads();
  if (!of_vertex) return {graph::count_all<false>(edges, nullptr, lanes), {}};
  graph::Cells cells(edges.size(), lanes);
  const auto total = graph::count_all<true>(edges, &cells, lanes);
  return {total, cells.sums(edges.vertex)};
}

}  // namespace penstock
