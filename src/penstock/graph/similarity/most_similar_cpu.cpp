// The k vertices that are most alike to a given one: all that share a neighbour with it are two edges away, so the sums of all of
// them are taken in one walk over the rows of its neighbours (Gustavson 1978). What such a walk takes is known beforehand. A
// long one is cut into ranges of columns, which threads walk by themselves, and the longest come first. Sums stand in an array over
// the range, or in a hash table where the walk meets few of it. A vertex's sum is added up in ascending order of the
// neighbours, whatever the ranges are.
#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <numeric>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/similarity/similarity.hpp"

namespace penstock {
namespace {

constexpr Offset kTaskSteps = 1 << 20;  // entries that a task reads, about
constexpr Offset kStepsOfASearch =
    8;  // a range of columns is searched for in a row that has more entries on average
constexpr std::int64_t kSmall = 1 << 16;  // ranges up to this have an array
constexpr std::int64_t kSparse = 4;       // and longer ones, up to so many columns an entry
constexpr std::int64_t kRowsBetweenPolls = 512;

struct Scored {
  double score = 0;
  Index vertex = -1;
  bool operator<(const Scored& other) const {
    return score != other.score ? score > other.score : vertex < other.vertex;
  }
};

/// A vertex's walk, or the part of it that meets a range of columns.
struct Task {
  std::int64_t query = 0, piece = 0, pieces = 1;
  Offset steps = 0;
};

/// Leaves the k best, the best first.
void keep_best(std::vector<Scored>& some, std::int64_t k) {
  if (std::ssize(some) > k) {
    std::nth_element(some.begin(), some.begin() + (k - 1), some.end());
    some.resize(at(k));
  }
  std::sort(some.begin(), some.end());
}

/// Sums by column, of a range that begins with column 0. Between two uses all are 0.
class Sums {
 public:
  void begin(std::int64_t width, Offset steps) {
    dense_ = width <= std::max(kSmall, kSparse * steps);
    if (dense_) {
      if (std::ssize(sums_) < width) sums_.resize(at(width));
      return;
    }
    bits_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * steps)));
    const auto slots = std::size_t{1} << bits_;
    if (keys_.size() < slots) keys_.resize(slots, -1);
    if (sums_.size() < slots) sums_.resize(slots);
  }
  bool dense() const { return dense_; }
  void add_dense(Index column, double weight) { add_at(static_cast<std::size_t>(column), weight); }
  void add_hashed(Index column, double weight) {
    const auto mask = (std::size_t{1} << bits_) - 1;
    auto slot =
        static_cast<std::size_t>((static_cast<std::uint64_t>(column) * 0x9e3779b97f4a7c15U) >> (64 - bits_));
    while (keys_[slot] != column && keys_[slot] >= 0) slot = (slot + 1) & mask;
    keys_[slot] = column;
    add_at(slot, weight);
  }
  /// f(column, sum) for all that are not 0, in any order.
  template <class F>
  void take(F&& f) {
    for (const auto slot : met_) {
      f(dense_ ? static_cast<Index>(slot) : keys_[slot], sums_[slot]);
      sums_[slot] = 0;
      if (!dense_) keys_[slot] = -1;
    }
    met_.clear();
  }

 private:
  void add_at(std::size_t slot, double weight) {
    if (sums_[slot] == 0) met_.push_back(slot);  // weights are positive
    sums_[slot] += weight;
  }

  bool dense_ = true;
  int bits_ = 1;
  std::vector<double> sums_;
  std::vector<Index> keys_;
  std::vector<std::size_t> met_;
};

class Search {
 public:
  Search(const CsrView<One>& a, std::span<const Index> some, const MostSimilarOptions& o)
      : a_(a), some_(some), o_(o), weight_(graph::shared_weights(a, o.measure)) {}

  MostSimilar run() {
    require(o_.k >= 1, "most_similar: k must be at least 1");
    out_.vertices = allocate<Index>(std::ssize(some_) * o_.k);
    out_.scores = allocate<double>(std::ssize(some_) * o_.k);
    plan();
    std::vector<std::int64_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{}, [&](std::int64_t i) { return tasks_[at(i)].steps; });
    found_.resize(tasks_.size());
    std::atomic<std::int64_t> claimed = 0;
    parallel_for(std::min<std::int64_t>(num_threads(), std::ssize(tasks_)), [&](std::int64_t) {
      Sums sums;
      for (std::int64_t i; (i = claimed.fetch_add(1, std::memory_order_relaxed)) < std::ssize(order);)
        walk(order[at(i)], sums);
    });
    put_together();
    return out_;
  }

 private:
  std::span<const Index> row(std::int64_t v) const {
    return {a_.indices + (a_.indptr[v] - a_.first_nnz), at(a_.indptr[v + 1] - a_.indptr[v])};
  }
  Offset degree(std::int64_t v) const { return a_.indptr[v + 1] - a_.indptr[v]; }

  void plan() {
    std::vector<Offset> steps(some_.size());
    parallel_ranges(std::ssize(some_), 64, [&](std::int64_t first, std::int64_t last) {
      for (auto q = first; q < last; ++q)
        for (const auto w : row(some_[at(q)])) steps[at(q)] += degree(w);
    });
    for (std::int64_t q = 0; q < std::ssize(some_); ++q) {
      const auto all = steps[at(q)];
      const auto worth = all / (kStepsOfASearch * std::max<Offset>(degree(some_[at(q)]), 1));
      const auto pieces =
          std::max<Offset>(std::min({(all + kTaskSteps - 1) / kTaskSteps, worth, a_.rows}), 1);
      for (std::int64_t p = 0; p < pieces; ++p) tasks_.push_back({q, p, pieces, all / pieces});
    }
  }

  /// The task's best, to where they belong if the task is all of its vertex.
  void walk(std::int64_t number, Sums& sums) {
    const auto& task = tasks_[at(number)];
    const auto u = some_[at(task.query)];
    const auto first = static_cast<Index>(a_.rows * task.piece / task.pieces);
    const auto last = static_cast<Index>(a_.rows * (task.piece + 1) / task.pieces);
    const auto part = [&](Index w) {
      const auto all = row(w);
      if (task.pieces == 1) return all;
      const auto from = std::ranges::lower_bound(all, first), to = std::ranges::lower_bound(all, last);
      return std::span<const Index>(from, to);
    };
    Offset steps = task.steps;
    if (task.pieces > 1) {
      steps = 0;
      for (const auto w : row(u)) steps += std::ssize(part(w));
    }
    sums.begin(last - first, steps);
    const auto each = [&](auto&& add) {
      std::int64_t rows = 0;
      for (const auto w : row(u)) {
        const auto weight = weight_.size ? weight_.data[w] : 1.0;
        for (const auto v : part(w)) add(v - first, weight);
        if (++rows % kRowsBetweenPolls == 0) poll_interrupt();
      }
    };
    if (sums.dense()) each([&](Index c, double weight) { sums.add_dense(c, weight); });
    else each([&](Index c, double weight) { sums.add_hashed(c, weight); });

    std::vector<Scored> best;
    const auto mine = row(u);
    sums.take([&](Index c, double sum) {
      const auto v = static_cast<Index>(first + c);
      if (v == u || (!o_.neighbours && std::ranges::binary_search(mine, v))) return;
      best.push_back({graph::measured(o_.measure, sum, degree(u), degree(v)), v});
    });
    keep_best(best, o_.k);
    if (task.pieces == 1) write(task.query, best);
    else found_[at(number)] = std::move(best);
    poll_interrupt();
  }

  void put_together() {
    for (std::int64_t t = 0; t < std::ssize(tasks_); t += tasks_[at(t)].pieces) {
      if (tasks_[at(t)].pieces == 1) continue;
      std::vector<Scored> all;
      for (std::int64_t p = 0; p < tasks_[at(t)].pieces; ++p)
        all.insert(all.end(), found_[at(t + p)].begin(), found_[at(t + p)].end());
      keep_best(all, o_.k);
      write(tasks_[at(t)].query, all);
    }
  }

  void write(std::int64_t query, const std::vector<Scored>& best) {
    for (std::int64_t i = 0; i < o_.k; ++i) {
      const auto there = i < std::ssize(best) ? best[at(i)] : Scored{};
      out_.vertices.data[query * o_.k + i] = there.vertex;
      out_.scores.data[query * o_.k + i] = there.score;
    }
  }

  const CsrView<One>& a_;
  std::span<const Index> some_;
  const MostSimilarOptions& o_;
  Array<double> weight_;
  std::vector<Task> tasks_;
  std::vector<std::vector<Scored>> found_;  // of tasks that are parts
  MostSimilar out_;
};

}  // namespace

MostSimilar most_similar(const CsrView<One>& a, std::span<const Index> some,
                         const MostSimilarOptions& options) {
  return Search(a, some, options).run();
}

}  // namespace penstock
