// Truss numbers by peeling (Cohen 2008): for k = 0, 1, ..., edges that are in at most k triangles of those left are removed, and
// get truss number k + 2; the other two edges of each of their triangles are in one triangle less. The edges of one step are a frontier,
// which threads share (Kabir, Madduri 2017). Where two edges of a triangle are removed at once, the one of smaller number tells
// the third. Lists of neighbours are shortened as edges go. Edges in fewer triangles than a limit are on a list, which is looked through for each k below the limit.
#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/truss/truss.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kEdgesAtOnce = 64;  // of a frontier
constexpr std::int64_t kRowsAtATime = 1 << 12;
constexpr std::int64_t kGoneShare = 8;            // lists are shortened when one in so many edges is gone
constexpr std::int64_t kListedAtOnce = 64 << 10;  // of a list
constexpr std::int64_t kShorter = 32;  // the shorter list is searched for in one so many times longer

class TrussPeeling {
 public:
  /// The order of the edges of `edges.of_entry` is lost.
  TrussPeeling(const CsrView<One>& a, const graph::NumberedEdges& edges, Array<Index> left)
      : a_(a),
        edges_(edges),
        left_(left.data),
        state_(at(edges.size()), State::there),
        end_(allocate<Index>(2 * edges.size())),
        last_(allocate<Offset>(a.rows)),
        kept_(edges.size()) {
    std::copy_n(a.indices, end_.size, end_.data);
    for (std::int64_t v = 0; v < a.rows; ++v) last_.data[v] = first(static_cast<Index>(v + 1));
  }

  /// left_ becomes the truss numbers less 2.
  void run() {
    for (Offset e = 0; e < edges_.size(); ++e) waiting_.push_back(e);
    for (Index k = 0; !waiting_.empty();) {
      k = std::max(k, least(waiting_));
      limit_ = k + std::max<Index>(k, 1);
      near_ = select(waiting_, [&](Offset e) { return left_[e] < limit_; });
      for (; k < limit_; ++k) {
        auto now = select(near_, [&](Offset e) { return there(e) && left_[e] <= k; });
        while (!now.empty()) {
          now = peel(now, k);
          shorten();
        }
        near_ = select(near_, [&](Offset e) { return there(e); });
        if (near_.empty()) break;
      }
      k = limit_;
      waiting_ = select(waiting_, [&](Offset e) { return there(e); });
    }
  }

 private:
  enum class State : std::uint8_t { there, leaving, gone };
  using Edges = std::vector<Offset>;

  bool there(Offset e) const { return state_[at(e)] == State::there; }

  Index least(const Edges& some) const {
    Index found = std::numeric_limits<Index>::max();
    for (const auto e : some) found = std::min(found, left_[e]);
    return found;
  }

  /// Those that pass, in the order of the list.
  template <class F>
  static Edges select(const Edges& some, F&& passes) {
    std::vector<Edges> parts(at((std::ssize(some) + kListedAtOnce - 1) / kListedAtOnce));
    parallel_ranges(std::ssize(some), kListedAtOnce, [&](std::int64_t first, std::int64_t last) {
      auto& part = parts[at(first / kListedAtOnce)];
      for (auto i = first; i < last; ++i)
        if (passes(some[at(i)])) part.push_back(some[at(i)]);
    });
    if (parts.size() == 1) return std::move(parts[0]);
    Edges out;
    for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  }

  /// Removes these edges. Returns those that are in k triangles now.
  Edges peel(const Edges& now, Index k) {
    for (const auto e : now) state_[at(e)] = State::leaving;
    Edges next;
    if (k > 0 || std::ranges::any_of(now, [&](Offset e) { return left_[e] > 0; })) {
      std::mutex lock;
      parallel_ranges(std::ssize(now), kEdgesAtOnce, [&](std::int64_t first, std::int64_t last) {
        Edges fell, came_near;
        for (auto i = first; i < last; ++i) {
          each_triangle(now[at(i)], [&](Offset e, Offset f) { tell(now[at(i)], e, f, k, fell, came_near); });
          poll_interrupt();
        }
        if (fell.empty() && came_near.empty()) return;
        const std::scoped_lock hold(lock);
        next.insert(next.end(), fell.begin(), fell.end());
        near_.insert(near_.end(), came_near.begin(), came_near.end());
      });
    }
    for (const auto e : now) state_[at(e)] = State::gone;
    gone_ += std::ssize(now);
    return next;
  }

  /// What the triangle of `own`, which leaves, and e and f loses by it.
  void tell(Offset own, Offset e, Offset f, Index k, Edges& fell, Edges& came_near) {
    const auto se = state_[at(e)], sf = state_[at(f)];
    if (se == State::gone || sf == State::gone) return;
    if (se == State::there && (sf == State::there || own < f)) lower(e, k, fell, came_near);
    if (sf == State::there && (se == State::there || own < e)) lower(f, k, fell, came_near);
  }

  /// One triangle less, but not below k: what is in k of them leaves next.
  void lower(Offset e, Index k, Edges& fell, Edges& came_near) {
    std::atomic_ref<Index> count(left_[e]);
    auto known = count.load(std::memory_order_relaxed);
    while (known > k)
      if (count.compare_exchange_weak(known, known - 1, std::memory_order_relaxed)) {
        if (known - 1 == k) fell.push_back(e);
        else if (known == limit_) came_near.push_back(e);
        return;
      }
  }

  /// f(the edge of u and w, the edge of v and w) for all neighbours w that the ends u, v of an edge share.
  template <class F>
  void each_triangle(Offset edge, F&& f) const {
    const Index* ends = end_.data;
    const Offset* lasts = last_.data;
    const Offset* number = edges_.of_entry.data;
    auto u = edges_.from.data[edge], v = edges_.to.data[edge];
    if (lasts[u] - first(u) > lasts[v] - first(v)) std::swap(u, v);
    auto i = first(u), j = first(v);
    const auto last = lasts[u], other_last = lasts[v];
    if ((last - i) * kShorter < other_last - j) {
      for (; i < last && j < other_last; ++i) {
        j = std::lower_bound(ends + j, ends + other_last, ends[i]) - ends;
        if (j < other_last && ends[j] == ends[i]) f(number[i], number[j]);
      }
      return;
    }
    while (i < last && j < other_last) {
      const auto x = ends[i], y = ends[j];
      if (x == y) f(number[i], number[j]);
      i += x <= y, j += y <= x;
    }
  }

  Offset first(Index v) const { return a_.indptr[v] - a_.first_nnz; }

  /// Takes the edges that are gone out of the lists, once there are enough of them.
  void shorten() {
    if (gone_ * kGoneShare < kept_) return;
    parallel_ranges(a_.rows, kRowsAtATime, [&](std::int64_t from, std::int64_t to) {
      for (auto v = from; v < to; ++v) {
        auto place = first(static_cast<Index>(v));
        for (auto i = place; i < last_.data[v]; ++i) {
          if (!there(edges_.of_entry.data[i])) continue;
          end_.data[place] = end_.data[i];
          edges_.of_entry.data[place++] = edges_.of_entry.data[i];
        }
        last_.data[v] = place;
      }
    });
    kept_ -= std::exchange(gone_, 0);
  }

  const CsrView<One>& a_;
  const graph::NumberedEdges& edges_;
  Index* left_;  // triangles of each edge with those left; of an edge that is gone its truss number less 2
  std::vector<State> state_;
  Array<Index> end_;              // neighbours, in the places of a_.indices, ascending
  Array<Offset> last_;            // where each vertex's end
  std::int64_t kept_, gone_ = 0;  // edges in these lists, and those of them that are gone
  Index limit_ = 0;
  Edges waiting_;  // edges that were there when the limit was set
  Edges near_;     // those in fewer triangles than the limit
};

}  // namespace

Array<Index> truss_numbers(const CsrView<One>& a) {
  auto edges = graph::number_edges(a);
  const auto left = graph::triangles_of_edges(a, edges);
  TrussPeeling(a, edges, left).run();
  edges = {};
  edges = graph::number_edges(a);
  const auto out = allocate<Index>(edges.of_entry.size);
  parallel_ranges(out.size, 1 << 15, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) out.data[i] = left.data[edges.of_entry.data[i]] + 2;
  });
  return out;
}

}  // namespace penstock
