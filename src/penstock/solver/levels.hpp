#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// An order in which rows that need earlier rows may be worked on by several threads: level by level (Anderson & Saad
/// 1989), or block by block where rows of different blocks need nothing of each other. Each row's own work is the
/// same in any order, so results do not depend on the number of threads.
class RowOrder {
 public:
  RowOrder() = default;
  /// needs(i, f) calls f(k) for every row k that row i needs. `block_starts`: blocks + 1 rows. `backward`: rows need
  /// later ones.
  template <class Needs>
  RowOrder(std::int64_t rows, const std::vector<std::int64_t>& block_starts, bool backward, Needs&& needs) {
    order_.resize(static_cast<std::size_t>(rows));
    for (std::int64_t i = 0; i < rows; ++i)
      order_[static_cast<std::size_t>(i)] = static_cast<Index>(backward ? rows - 1 - i : i);
    if (block_starts.size() > 2) by_blocks(rows, block_starts, backward);
    else if (rows >= kWorthLevels) by_levels(rows, needs);
    if (tasks_.empty()) tasks_ = {{0, rows, 0}};
  }

  /// The row at each position.
  const std::vector<Index>& order() const { return order_; }
  bool parallel() const { return tasks_.size() > 1; }

  /// work(first, last) on ranges of positions, each once and not before what it needs.
  template <class Work>
  void run(Work&& work) const {
    if (!parallel() || num_threads() == 1)
      return work(std::int64_t(0), static_cast<std::int64_t>(order_.size()));
    // Tasks are claimed in ascending order and need earlier ones only, so whoever waits waits for a running thread.
    std::atomic<std::int64_t> finished = 0;
    parallel_for(std::ssize(tasks_), [&](std::int64_t i) {
      const auto& t = tasks_[static_cast<std::size_t>(i)];
      for (int spin = 0; finished.load(std::memory_order_acquire) < t.after; ++spin) {
        if (spin < kSpins) continue;
        std::this_thread::yield();
        poll_interrupt();  // the thread waited for may have failed
      }
      work(t.first, t.last);
      finished.fetch_add(1, std::memory_order_release);
    });
  }

 private:
  struct Task {
    std::int64_t first, last, after;  // positions; tasks that must have finished
  };
  static constexpr std::int64_t kWorthLevels = 8192;  // rows
  static constexpr std::int64_t kWidth =
      512;  // mean rows a level, below which threads wait more than they work
  static constexpr std::int64_t kTaskRows = 1024;
  static constexpr int kSpins = 2000;

  void by_blocks(std::int64_t rows, const std::vector<std::int64_t>& starts, bool backward) {
    const auto blocks = starts.size() - 1;
    for (std::size_t b = 0; b < blocks; ++b) {
      if (backward) tasks_.push_back({rows - starts[blocks - b], rows - starts[blocks - b - 1], 0});
      else tasks_.push_back({starts[b], starts[b + 1], 0});
    }
  }
  template <class Needs>
  void by_levels(std::int64_t rows, Needs&& needs) {
    std::vector<Index> level(order_.size(), 0);
    Index count = 0;
    for (const Index i : order_) {
      Index mine = 0;
      needs(i, [&](Index k) { mine = std::max(mine, level[static_cast<std::size_t>(k)] + 1); });
      level[static_cast<std::size_t>(i)] = mine;
      count = std::max(count, mine + 1);
    }
    if (rows / std::max<Index>(count, 1) < kWidth) return;
    std::vector<std::int64_t> starts(static_cast<std::size_t>(count) + 1, 0);
    for (const Index l : level) ++starts[static_cast<std::size_t>(l) + 1];
    for (std::size_t l = 0; l < static_cast<std::size_t>(count); ++l) starts[l + 1] += starts[l];
    auto next = starts;
    std::vector<Index> sorted(order_.size());
    for (const Index i : order_)
      sorted[static_cast<std::size_t>(next[static_cast<std::size_t>(level[static_cast<std::size_t>(i)])]++)] =
          i;
    order_ = std::move(sorted);
    for (std::size_t l = 0; l < static_cast<std::size_t>(count); ++l) {
      const auto after = std::ssize(tasks_);
      for (auto first = starts[l]; first < starts[l + 1]; first += kTaskRows)
        tasks_.push_back({first, std::min(first + kTaskRows, starts[l + 1]), after});
    }
  }

  std::vector<Index> order_;
  std::vector<Task> tasks_;
};

}  // namespace penstock
