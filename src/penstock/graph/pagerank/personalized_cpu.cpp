// Personalised PageRank of many sources at once: the vectors lie side by side, so that each entry of the matrix is read once a
// step for all of them. X holds ranks over weights out, as the product wants them, and Y what came in.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"
#include "penstock/graph/pagerank/personalized_push.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsOfATask = 1 << 10;
constexpr double kSingleUntil = 1e-5;  // what steps in float32 resolve
constexpr double kPushUntil = 1e-6;    // what pushes resolve
// With fewer sources steps are as fast: pushes have 16 columns at least. One source took 59 ms so and 73 ms by pushes (R-MAT 16).
constexpr std::int64_t kPushFrom = 8;
// In L1 a step changes ranks by at most alpha times what the last one did. If it is more, rounding is what is left.
constexpr double kRounding = 1.02;

class ManyRanks {
 public:
  ManyRanks(std::span<const double> out, std::span<const Index> sources, const PageRankOptions& options)
      : out_(out), sources_(sources), options_(options), n_(std::ssize(out)), k_(std::ssize(sources)) {
    dangling_.assign(at(k_), 0);
    for (std::int64_t j = 0; j < k_; ++j) dangling_[at(j)] = out_[at(sources_[at(j)])] == 0;
  }

  /// Steps in T until none changes by `until`, in the vectors x and y of n * k entries.
  template <class T, class V>
  void run(const Csr<V>& in, T* x, T* y, double until, PageRankResult& r) {
    while (r.iterations < options_.max_iter) {
      const double last = r.iterations ? r.change : INFINITY;
      using S = PlusTimes<T>;
      spmm<S>(in.view(), DenseView<const T>{x, n_, k_, k_, 1}, DenseView<T>{y, n_, k_, k_, 1},
              Scale<S>{static_cast<T>(options_.alpha), T(0)});
      for (std::int64_t j = 0; j < k_; ++j)
        y[sources_[at(j)] * k_ + j] += static_cast<T>(1 - options_.alpha + options_.alpha * dangling_[at(j)]);
      r.change = renew(x, y);
      ++r.iterations;
      poll_interrupt();
      if (r.change < until) return;
      if (sizeof(T) < sizeof(double) && r.change < 1e-2 && r.change > kRounding * options_.alpha * last)
        return;
    }
  }

  template <class T>
  void begin(T* x) const {
    std::fill_n(x, n_ * k_, T(0));
    for (std::int64_t j = 0; j < k_; ++j)
      x[sources_[at(j)] * k_ + j] = static_cast<T>(1 / weight(sources_[at(j)]));
  }

  /// Scales every column to ranks of sum 1: what float32 leaves of the sum would vanish only by alpha a step.
  void scale(double* x) {
    const auto sums = reduced(2, [&](std::int64_t v, double* sum) {
      for (std::int64_t j = 0; j < k_; ++j) sum[j] += x[v * k_ + j] * weight(v);
      if (out_[at(v)] == 0)
        for (std::int64_t j = 0; j < k_; ++j) sum[k_ + j] += x[v * k_ + j];
    });
    each_row([&](std::int64_t v) {
      for (std::int64_t j = 0; j < k_; ++j) x[v * k_ + j] /= sums[at(j)];
    });
    for (std::int64_t j = 0; j < k_; ++j) dangling_[at(j)] = sums[at(k_ + j)] / sums[at(j)];
  }

  void divide(double* x) const {
    each_row([&](std::int64_t v) {
      for (std::int64_t j = 0; j < k_; ++j) x[v * k_ + j] /= weight(v);
    });
  }

  /// From ranks over weights out to ranks.
  void finish(double* x) {
    scale(x);
    each_row([&](std::int64_t v) {
      for (std::int64_t j = 0; j < k_; ++j) x[v * k_ + j] *= weight(v);
    });
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  double weight(std::int64_t v) const { return out_[at(v)] == 0 ? 1.0 : out_[at(v)]; }

  template <class F>
  void each_row(F&& f) const {
    parallel_ranges(n_, kRowsOfATask, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) f(v);
    });
  }

  /// Sums of `rows` * k numbers over all vertices, in an order of their own.
  template <class F>
  std::vector<double> reduced(std::int64_t rows, F&& add) const {
    const auto width = rows * k_, tasks = (n_ + kRowsOfATask - 1) / kRowsOfATask;
    std::vector<double> parts(at(tasks * width), 0.0), sums(at(width), 0.0);
    parallel_for(tasks, [&](std::int64_t t) {
      const auto last = std::min(n_, (t + 1) * kRowsOfATask);
      for (auto v = t * kRowsOfATask; v < last; ++v) add(v, parts.data() + t * width);
    });
    for (std::int64_t t = 0; t < tasks; ++t)
      for (std::int64_t j = 0; j < width; ++j) sums[at(j)] += parts[at(t * width + j)];
    return sums;
  }

  /// Puts the ranks y into x; the largest change of a column.
  template <class T>
  double renew(T* x, const T* y) {
    const auto sums = reduced(2, [&](std::int64_t v, double* sum) {
      const bool stays = out_[at(v)] == 0;
      const T w = static_cast<T>(weight(v)), inverse = T(1) / w;
      T* old = x + v * k_;
      const T* now = y + v * k_;
      for (std::int64_t j = 0; j < k_; ++j) {
        sum[j] += static_cast<double>(std::abs(now[j] - old[j] * w));
        old[j] = now[j] * inverse;
      }
      if (stays)
        for (std::int64_t j = 0; j < k_; ++j) sum[k_ + j] += static_cast<double>(now[j]);
    });
    double most = 0;
    for (std::int64_t j = 0; j < k_; ++j) {
      most = std::max(most, sums[at(j)]);
      dangling_[at(j)] = sums[at(k_ + j)];
    }
    return most;
  }

  std::span<const double> out_;
  std::span<const Index> sources_;
  PageRankOptions options_;
  std::int64_t n_, k_;
  std::vector<double> dangling_;  // the rank of dangling vertices in each column
};

}  // namespace

template <class V>
PageRankResult personalized_pagerank(const Csr<V>& in, std::span<const double> out,
                                     std::span<const Index> sources, const PageRankOptions& options) {
  if (in.rows != in.cols || std::ssize(out) != in.rows)
    throw Error(Errc::invalid_argument,
                "personalized_pagerank: a square matrix and one weight a vertex, please");
  for (const auto s : sources)
    if (s < 0 || s >= in.rows)
      throw Error(Errc::invalid_argument, "personalized_pagerank: there is no vertex " + std::to_string(s));
  PageRankResult r;
  const auto size = in.rows * std::ssize(sources);
  r.ranks = allocate<double>(size);
  if (size == 0) {
    r.converged = true;
    return r;
  }
  ManyRanks ranks(out, sources, options);
  double* x = r.ranks.data;
  if constexpr (is_pattern<V>) {
    if (std::ssize(sources) >= kPushFrom && can_push(options) && options.max_iter > 0) {
      const bool enough = options.tol >= kPushUntil;
      const auto until = std::max(options.tol, kPushUntil) - kPushRounding;
      personalized_push(in, out, sources, options, until, !enough, x, r);
      r.converged = enough && r.change < options.tol;
      if (r.converged) return r;
      if (enough) ranks.divide(x);
    } else {
      const auto memory = allocate<float>(2 * size);
      ranks.begin(memory.data);
      ranks.run<float>(in, memory.data, memory.data + size, std::max(options.tol, kSingleUntil), r);
      parallel_ranges(size, 1 << 16, [&](std::int64_t first, std::int64_t last) {
        for (auto i = first; i < last; ++i) x[i] = static_cast<double>(memory.data[i]);
      });
    }
    ranks.scale(x);
  } else {
    ranks.begin(x);
  }
  const auto y = allocate<double>(size);
  ranks.run<double>(in, x, y.data, options.tol, r);
  ranks.finish(x);
  r.converged = r.iterations > 0 && r.change < options.tol;
  return r;
}

#define X(V)                                                                            \
  template PageRankResult personalized_pagerank(const Csr<V>&, std::span<const double>, \
                                                std::span<const Index>, const PageRankOptions&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
