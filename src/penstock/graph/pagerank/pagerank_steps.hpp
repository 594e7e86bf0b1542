#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/pagerank/pagerank_control.hpp"

// The steps of PageRank in host memory (pagerank_cpu.cpp has the method and the papers), for a product that the caller
// supplies: one process or many ranks use the same steps. A step takes y = A'x, and in one pass over vectors makes the next
// ranks, and sums of changes and of the ranks of dangling vertices.
namespace penstock {

/// Adds up the numbers of a step over all processes that hold parts of the vectors. Afterwards all have the same sums.
using AddUp = std::function<void(std::span<double> numbers)>;

/// The vectors of a run, and its steps.
class RankSteps {
 public:
  /// `vertices` is the number of vertices of the whole graph. The vectors may be a part of it; then `add_up` adds the numbers
  /// of all parts.
  RankSteps(std::span<const double> out, const PageRankVectors& vectors, const PageRankOptions& options,
            std::int64_t vertices, AddUp add_up = {})
      : out_(out.data()),
        personal_(vectors.personalization),
        dangling_(vectors.dangling.empty() ? vectors.personalization : vectors.dangling),
        options_(options),
        control_(vectors, options),
        n_(std::ssize(out)),
        uniform_(1.0 / static_cast<double>(vertices)),
        add_up_(std::move(add_up)),
        ranks_(allocate<double>(n_)) {
    parallel_ranges(n_, kBlock, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) ranks_.data[v] = at(vectors.start, v);
    });
  }

  /// Takes steps until the change is below `until`. multiply(x, y) computes y = A'x.
  template <class T, class Multiply>
  void run(double until, Multiply&& multiply) {
    const auto y = allocate<T>(n_), out = allocate<T>(n_);
    auto now = allocate<T>(n_), other = allocate<T>(n_);
    std::vector<double> parts(static_cast<std::size_t>((n_ + kBlock - 1) / kBlock));
    parallel_ranges(n_, kBlock, [&](std::int64_t first, std::int64_t last) {
      double sum = 0;
      for (auto v = first; v < last; ++v) {
        out.data[v] = out_[v] > 0 ? static_cast<T>(out_[v]) : T(-1);
        now.data[v] = static_cast<T>(ranks_.data[v]) / std::abs(out.data[v]);
        if (!(out_[v] > 0)) sum += ranks_.data[v];
      }
      parts[static_cast<std::size_t>(first / kBlock)] = sum;
    });
    double dangling = std::accumulate(parts.begin(), parts.end(), 0.0), used = 0;
    everywhere({&dangling, 1});
    control_.enter(until);
    while (control_.more()) {
      multiply(now.data, y.data);
      used = dangling;
      const auto omega = static_cast<T>(control_.omega());
      const auto sums = update<T>({y.data, out.data, now.data, other.data, omega}, used);
      dangling = sums.dangling;
      std::swap(now, other);
      control_.took(sums.change);
    }
    if (control_.steps() > 0) take(y.data, used);
  }

  PageRankResult result() { return control_.result(ranks_); }
  RankControl& control() { return control_; }

 private:
  static constexpr std::int64_t kBlock = 16 << 10;
  struct Sums {
    double change = 0, dangling = 0;
  };
  /// The vectors of one phase: ranks divided by out weights, now and one step before; the latter become the next ones.
  template <class T>
  struct Vectors {
    const T *y, *out, *now;
    T* other;
    T omega;
  };

  template <class T>
  Sums update(const Vectors<T>& v, double dangling) {
    const double jump = 1 - options_.alpha, sunk = options_.alpha * dangling;
    if (personal_.empty() && dangling_.empty()) {
      const auto base = static_cast<T>((jump + sunk) * uniform_);
      const auto same = [base](std::int64_t) { return base; };
      return v.omega > 1 ? pass<true>(v, same) : pass<false>(v, same);
    }
    return pass<false>(
        v, [&](std::int64_t i) { return static_cast<T>(jump * at(personal_, i) + sunk * at(dangling_, i)); });
  }

  /// The pass of a step. Sums are taken in lanes and over fixed ranges, so that their order is always the same and a compiler
  /// can use vectors.
  template <bool Accelerated, class T, class Base>
  Sums pass(const Vectors<T>& x, Base&& base) {
    constexpr std::int64_t kLanes = 16;
    const auto alpha = static_cast<T>(options_.alpha);
    std::vector<Sums> parts(static_cast<std::size_t>((n_ + kBlock - 1) / kBlock));
    parallel_ranges(n_, kBlock, [&](std::int64_t first, std::int64_t last) {
      T change[kLanes] = {}, dangling[kLanes] = {};
      const auto lanes = [&](std::int64_t v, std::int64_t count) {
        for (std::int64_t l = 0; l < count; ++l) {
          const auto i = v + l;
          const T out = std::abs(x.out[i]);
          const T step = (alpha * x.y[i] + base(i)) / out;
          T next = step;
          if constexpr (Accelerated) next = x.omega * (step - x.other[i]) + x.other[i];
          change[l] += std::abs(step - x.now[i]) * out;
          dangling[l] += x.out[i] < 0 ? next : T(0);
          x.other[i] = next;
        }
      };
      auto v = first;
      for (; v + kLanes <= last; v += kLanes) lanes(v, kLanes);
      lanes(v, last - v);
      auto& part = parts[static_cast<std::size_t>(first / kBlock)];
      for (std::int64_t l = 0; l < kLanes; ++l)
        part.change += double(change[l]), part.dangling += double(dangling[l]);
    });
    Sums total;
    for (const auto& p : parts) total.change += p.change, total.dangling += p.dangling;
    double both[] = {total.change, total.dangling};
    everywhere(both);
    return {both[0], both[1]};
  }

  /// Takes the ranks to which the last plain step led, and scales them to sum 1.
  template <class T>
  void take(const T* y, double dangling) {
    const double jump = 1 - options_.alpha, sunk = options_.alpha * dangling;
    std::vector<double> parts(static_cast<std::size_t>((n_ + kBlock - 1) / kBlock));
    std::atomic<bool> below = false;
    parallel_ranges(n_, kBlock, [&](std::int64_t first, std::int64_t last) {
      double sum = 0;
      for (auto v = first; v < last; ++v) {
        double rank =
            options_.alpha * static_cast<double>(y[v]) + jump * at(personal_, v) + sunk * at(dangling_, v);
        if (!(rank >= 0)) rank = 0, below = true;
        ranks_.data[v] = rank;
        sum += rank;
      }
      parts[static_cast<std::size_t>(first / kBlock)] = sum;
    });
    double sums[] = {std::accumulate(parts.begin(), parts.end(), 0.0), below ? 1.0 : 0.0};
    everywhere(sums);
    parallel_ranges(n_, kBlock, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) ranks_.data[v] /= sums[0];
    });
    control_.clipped(sums[1] > 0);
  }
  void everywhere(std::span<double> numbers) const {
    if (add_up_) add_up_(numbers);
  }
  double at(std::span<const double> p, std::int64_t v) const {
    return p.empty() ? uniform_ : p[static_cast<std::size_t>(v)];
  }

  const double* out_;
  std::span<const double> personal_, dangling_;
  PageRankOptions options_;
  RankControl control_;
  std::int64_t n_;
  double uniform_;
  AddUp add_up_;
  Array<double> ranks_;
};

}  // namespace penstock
