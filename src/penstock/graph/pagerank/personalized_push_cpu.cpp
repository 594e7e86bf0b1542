// PageRank of many sources over a pattern. Ranks are sums of what is pushed (Andersen, Chung, Lang 2006, here from all vertices at
// once): what a vertex has not pushed yet, `left`, is pushed along its edges, rounded to 16 bits; what rounding leaves stays
// there and is pushed later. So what an edge reads of another vertex has two bytes a column, and nothing is lost.
//
// Begun with all rank at the source, what is left adds up to zero, and then vanishes as fast as the walk mixes. Rounding disturbs
// that: the sum would only shrink by alpha a step. So it is taken away at the source, which is to say that jumps lead to the
// source a little less or more; ranks are divided by their share in the end.
#include "penstock/graph/pagerank/personalized_push.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmm/push_rows.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kGroup = 16, kMostGroups = 4;
constexpr std::int64_t kBudget = 8 << 10;  // entries and rows of a block
constexpr double kStalled = 1.02;          // as of steps in float32 elsewhere

/// The ranks of up to 64 sources.
class Pushes {
 public:
  Pushes(const Csr<One>& in, std::span<const double> out, std::span<const Index> sources, double alpha)
      : in_(in.view()),
        out_(out),
        sources_(sources),
        alpha_(alpha),
        n_(in.rows),
        k_(std::ssize(sources)),
        groups_((k_ + kGroup - 1) / kGroup),
        width_(groups_ * kGroup),
        blocks_(row_blocks({in.indptr.data, at(n_ + 1)}, {.budget = kBudget})),
        pushed_(reuse<std::uint32_t>(n_ * width_ / 2)),
        next_(reuse<std::uint32_t>(n_ * width_ / 2)),
        left_(reuse<float>(n_ * width_)),
        ranks_(reuse<float>(n_ * width_)),
        sums_(at(std::ssize(blocks_) * 3 * width_)),
        cells_(at(std::ssize(blocks_) * width_)),
        share_(at(k_), 1.0),
        idle_(at(k_)) {
    parallel_ranges(n_, 1 << 10, [&](std::int64_t first, std::int64_t last) {
      std::fill(pushed_.data + first * width_ / 2, pushed_.data + last * width_ / 2, 0U);
      std::fill(left_.data + first * width_, left_.data + last * width_, 0.0F);
      std::fill(ranks_.data + first * width_, ranks_.data + last * width_, 0.0F);
    });
    for (std::int64_t j = 0; j < k_; ++j) {
      const auto s = sources_[at(j)];
      const bool ends = out_[at(s)] == 0;
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(ends ? 1 : 1 / out_[at(s)])) + 0x8000;
      const auto column = j % kGroup;
      pushed_.data[(s * width_ + j - column) / 2 + column % 8] |=
          column < 8 ? bits >> 16 : bits & 0xffff0000U;
      left_.data[s * width_ + j] += static_cast<float>(1 - alpha_);
      idle_[at(j)] = ends;
    }
  }

  /// Returns by how much the ranks of a column change if what is left is added: the most of all.
  double step() {
    for (std::int64_t j = 0; j < k_; ++j)
      left_.data[sources_[at(j)] * width_ + j] += static_cast<float>(alpha_ * idle_[at(j)]);
    std::ranges::fill(sums_, 0.0F);
    static const auto kernel = push_kernel();
    parallel_for(std::ssize(blocks_), [&](std::int64_t i) {
      const auto& b = blocks_[at(i)];
      Offset ends[2] = {b.first_nnz, b.first_nnz + b.nnz};
      auto args = of_block(i);
      args.indptr = b.piece ? ends : in_.indptr + b.first_row;
      args.last = b.first_row + b.rows;
      if (b.piece) args.cell = &cells_[at(i * width_)];
      kernel(args);
    });
    for (std::int64_t i = 0; i < std::ssize(blocks_);) {
      if (!blocks_[at(i)].piece) {
        ++i;
        continue;
      }
      const auto whole = i;
      for (++i; i < std::ssize(blocks_) && blocks_[at(i)].piece &&
                blocks_[at(i)].first_row == blocks_[at(whole)].first_row;
           ++i)
        for (std::int64_t j = 0; j < width_; ++j)
          cells_[at(whole * width_ + j)] += cells_[at(i * width_ + j)];
      const Offset none[2] = {0, 0};
      auto args = of_block(whole);
      args.indptr = none;
      args.last = args.first + 1;
      args.sum = &cells_[at(whole * width_)];
      kernel(args);
    }
    std::swap(pushed_, next_);
    return settle();
  }

  /// Puts the ranks, with what is left added and scaled to a sum of 1, into x; of each vertex `stride` entries apart.
  void finish(double* x, std::int64_t stride, bool divides) const {
    constexpr std::int64_t kRows = 1 << 10;
    const auto rank = [this](std::int64_t i) {
      return std::max(static_cast<double>(ranks_.data[i]) + static_cast<double>(left_.data[i]), 0.0);
    };
    const auto tasks = (n_ + kRows - 1) / kRows;
    std::vector<double> parts(at(tasks * k_)), sums(at(k_));
    parallel_for(tasks, [&](std::int64_t t) {
      for (auto v = t * kRows; v < std::min(n_, (t + 1) * kRows); ++v)
        for (std::int64_t j = 0; j < k_; ++j) parts[at(t * k_ + j)] += rank(v * width_ + j);
    });
    for (std::int64_t t = 0; t < tasks; ++t)
      for (std::int64_t j = 0; j < k_; ++j) sums[at(j)] += parts[at(t * k_ + j)];
    parallel_for(tasks, [&](std::int64_t t) {
      for (auto v = t * kRows; v < std::min(n_, (t + 1) * kRows); ++v) {
        const auto weight = divides && out_[at(v)] != 0 ? out_[at(v)] : 1.0;
        for (std::int64_t j = 0; j < k_; ++j)
          x[v * stride + j] = rank(v * width_ + j) / (sums[at(j)] * weight);
      }
    });
  }

 private:
  PushArgs of_block(std::int64_t i) {
    return {.indptr = nullptr,
            .indices = in_.indices,
            .pushed = pushed_.data,
            .first = blocks_[at(i)].first_row,
            .last = 0,
            .groups = static_cast<int>(groups_),
            .known = in_.indptr[n_],
            .out = out_.data(),
            .alpha = static_cast<float>(alpha_),
            .left = left_.data,
            .ranks = ranks_.data,
            .next = next_.data,
            .sums = &sums_[at(i * 3 * width_)]};
  }

  double settle() {
    double most = 0;
    for (std::int64_t j = 0; j < k_; ++j) {
      double sums[3] = {};
      for (std::int64_t i = 0; i < std::ssize(blocks_); ++i)
        for (std::int64_t s = 0; s < 3; ++s)
          sums[s] += static_cast<double>(sums_[at((i * 3 + s) * width_ + j)]);
      left_.data[sources_[at(j)] * width_ + j] -= static_cast<float>(sums[1]);
      share_[at(j)] -= static_cast<double>(static_cast<float>(sums[1])) / (1 - alpha_);
      idle_[at(j)] = sums[2];
      most = std::max(most, (sums[0] + std::abs(sums[1])) / share_[at(j)]);
    }
    return most;
  }

  const CsrView<One> in_;
  std::span<const double> out_;
  std::span<const Index> sources_;
  const double alpha_;
  const std::int64_t n_, k_, groups_, width_;
  const std::vector<RowBlock> blocks_;
  Array<std::uint32_t> pushed_, next_;
  Array<float> left_, ranks_;
  std::vector<float> sums_;    // of each block
  std::vector<float> cells_;   // of each piece of a row
  std::vector<double> share_;  // of the ranks found in a column in those that are looked for
  std::vector<double> idle_;   // what vertices without edges push: it goes to the source
};

}  // namespace

void personalized_push(const Csr<One>& in, std::span<const double> out, std::span<const Index> sources,
                       const PageRankOptions& options, double until, bool divides, double* x,
                       PageRankResult& r) {
  const auto k = std::ssize(sources);
  std::int64_t iterations = 0;
  double change = 0;
  for (std::int64_t first = 0; first < k; first += kGroup * kMostGroups) {
    const auto count = std::min(kGroup * kMostGroups, k - first);
    Pushes pushes(in, out, sources.subspan(at(first), at(count)), options.alpha);
    std::int64_t steps = 0;
    double now = INFINITY;
    while (steps < options.max_iter) {
      const auto last = now;
      now = pushes.step();
      ++steps;
      poll_interrupt();
      if (now < until || (now < 1e-4 && now > kStalled * last)) break;
    }
    pushes.finish(x + first, k, divides);
    iterations = std::max(iterations, steps);
    change = std::max(change, now);
  }
  r.iterations = iterations;
  r.change = change;
}

}  // namespace penstock
