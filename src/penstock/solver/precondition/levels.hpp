#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// How several threads work on rows that need earlier rows (or later ones: `backward`): in chunks of consecutive rows,
/// each after the chunks that it needs, which is level scheduling (Anderson & Saad 1989) of chunks. Rows inside a chunk
/// follow one another in memory; single rows by level would scatter them (twice the time on a 7-point stencil). A row's own
/// work is the same in any order, so results do not depend on the number of threads.
class TriangleOrder {
 public:
  TriangleOrder() = default;
  /// needs(i, f) calls f(k) for every row k that row i needs. `block_starts`: blocks + 1 rows; where there are several
  /// blocks, rows of one need no rows of another.
  template <class Needs>
  TriangleOrder(std::int64_t rows, const std::vector<std::int64_t>& block_starts, bool backward,
                Needs&& needs)
      : rows_(rows), backward_(backward) {
    if (block_starts.size() > 2) by_blocks(block_starts);
    else if (rows >= kWorthThreads) by_chunks(needs);
  }

  std::int64_t rows() const { return rows_; }
  bool backward() const { return backward_; }
  /// The row at a position.
  std::int64_t row(std::int64_t position) const { return backward_ ? rows_ - 1 - position : position; }
  bool parallel() const { return order_.size() > 1; }

  /// Calls work(first, last) for ranges of positions: for each position once, and after those that it needs.
  template <class Work>
  void run(Work&& work) const {
    if (!parallel() || num_threads() == 1) return work(std::int64_t(0), rows_);
    std::vector<std::atomic<bool>> done(chunks_.size());
    // Chunks are claimed level by level and need earlier levels only, so a thread that waits waits for a thread that works.
    parallel_for(std::ssize(order_), [&](std::int64_t i) {
      const auto c = order_[static_cast<std::size_t>(i)];
      const auto& chunk = chunks_[c];
      for (auto d = chunk.needs; d < chunk.needs_end; ++d)
        for (int spin = 0; !done[needed_[d]].load(std::memory_order_acquire); ++spin) {
          if (spin < kSpins) continue;
          std::this_thread::yield();
          poll_interrupt();  // the thread that is waited for may have failed
        }
      work(chunk.first, chunk.last);
      done[c].store(true, std::memory_order_release);
    });
  }

 private:
  struct Chunk {
    std::int64_t first = 0, last = 0;      // positions
    std::size_t needs = 0, needs_end = 0;  // in needed_
  };
  static constexpr std::int64_t kWorthThreads = 8192;  // rows
  static constexpr std::int64_t kChunkRows = 512;      // about 3 us of a 7-point stencil's solve
  static constexpr std::int64_t kChunks = 4096;        // at most
  static constexpr double kWidth = 1.5;  // chunks a level, below which threads wait more than they work
  static constexpr int kSpins = 2000;

  void by_blocks(const std::vector<std::int64_t>& starts) {
    const auto blocks = starts.size() - 1;
    for (std::size_t b = 0; b < blocks; ++b) {
      if (backward_) chunks_.push_back({rows_ - starts[blocks - b], rows_ - starts[blocks - b - 1]});
      else chunks_.push_back({starts[b], starts[b + 1]});
      order_.push_back(b);
    }
  }
  template <class Needs>
  void by_chunks(Needs&& needs) {
    const auto size = std::max(kChunkRows, (rows_ + kChunks - 1) / kChunks);
    const auto count = static_cast<std::size_t>((rows_ + size - 1) / size);
    std::vector<std::size_t> seen(count, count), level(count, 0);
    std::size_t levels = 0;
    for (std::size_t c = 0; c < count; ++c) {
      poll_interrupt();
      const auto first = static_cast<std::int64_t>(c) * size, last = std::min(rows_, first + size);
      Chunk chunk{first, last, needed_.size(), 0};
      for (auto p = first; p < last; ++p)
        needs(row(p), [&](Index k) {
          const auto d = static_cast<std::size_t>(row(k) / size);  // row() is its own inverse
          if (d == c || seen[d] == c) return;
          seen[d] = c;
          needed_.push_back(d);
          level[c] = std::max(level[c], level[d] + 1);
        });
      chunk.needs_end = needed_.size();
      chunks_.push_back(chunk);
      levels = std::max(levels, level[c] + 1);
    }
    if (static_cast<double>(count) < kWidth * static_cast<double>(levels)) {
      chunks_.clear(), needed_.clear();
      return;
    }
    order_by(level);
  }
  /// Chunks by level, and by number within one.
  void order_by(const std::vector<std::size_t>& level) {
    order_.resize(level.size());
    for (std::size_t c = 0; c < level.size(); ++c) order_[c] = c;
    std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return level[a] < level[b]; });
  }

  std::int64_t rows_ = 0;
  bool backward_ = false;
  std::vector<Chunk> chunks_;
  std::vector<std::size_t> needed_, order_;  // chunks
};

}  // namespace penstock
