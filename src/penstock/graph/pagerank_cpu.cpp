// PageRank (Page et al. 1999) by the power method, pulling over the edges into each vertex: a step is
// one product of the library, over whatever plan was prepared for it, and one pass over vectors. Two things shorten it.
// - The product is bound by gathers, and of 4 bytes twice as many fit a cache as of 8: as long as the change is far above
//   what single precision can tell, steps over a pattern are done in float32.
// - On an undirected graph the eigenvalues are real, and where a graph has no short cuts (roads) the steps are
//   extrapolated: the Chebyshev semi-iteration (Golub, Varga 1961) needs alpha as its only bound.
#include "penstock/graph/pagerank.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/pagerank_control.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBlock = 16 << 10;

struct Sums {
  double change = 0, dangling = 0;
};

class Iteration {
 public:
  Iteration(std::span<const double> out, const PageRankVectors& vectors, const PageRankOptions& options)
      : out_(out.data()),
        personal_(vectors.personalization),
        dangling_(vectors.dangling.empty() ? vectors.personalization : vectors.dangling),
        options_(options),
        control_(vectors, options),
        n_(std::ssize(out)),
        uniform_(1.0 / static_cast<double>(n_)),
        ranks_(allocate<double>(n_)) {
    parallel_ranges(n_, kBlock, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) ranks_.data[v] = at(vectors.start, v);
    });
  }

  /// Steps until the change is below `until`, with multiply(x, y) for y = A'x.
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
  /// Vectors of one phase: ranks over out weights, now and one step before, which becomes the next.
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

  /// Sums in lanes and fixed ranges: their order is always the same, and a compiler can use vectors.
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
    return total;
  }

  /// The ranks that the last plain step led to, of sum 1.
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
    const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
    parallel_ranges(n_, kBlock, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) ranks_.data[v] /= all;
    });
    control_.clipped(below);
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
  Array<double> ranks_;
};

}  // namespace

template <class V>
Array<double> out_weights(const Csr<V>& a) {
  constexpr double kMost = 1e290;  // ranks are divided by these
  const auto out = allocate<double>(a.rows);
  parallel_ranges(a.rows, kBlock / 16, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      const auto begin = a.indptr.data[u], end = a.indptr.data[u + 1];
      double sum = 0;
      if constexpr (is_pattern<V>) sum = static_cast<double>(end - begin);
      else
        for (auto k = begin; k < end; ++k) sum += static_cast<double>(a.values.data[k]);
      if (sum != 0 && !(sum > 1 / kMost && sum < kMost))
        throw Error(Errc::invalid_argument, "pagerank: the weights out of vertex " + std::to_string(u) +
                                                " add up to less than 1e-290 or more than 1e290: scale them");
      out.data[u] = sum;
    }
  });
  return out;
}

template <class V>
PageRankResult pagerank(const Csr<V>& in, SpmvPlans<V>& plans, std::span<const double> out,
                        const PageRankVectors& vectors, const PageRankOptions& options) {
  check_pagerank(in.rows, in.cols, std::ssize(out), vectors, options);
  if (in.rows == 0) return {.ranks = allocate<double>(0), .converged = true};
  Iteration iteration(out, vectors, options);
  const auto multiply = [&]<class T>(const T* x, T* y) {
    plans.template multiply<PlusTimes<T>>(SpmvAlgorithm::automatic, in.view(), x, y, {});
  };
  iteration.control().phases(is_pattern<V>, !vectors.start.empty(), [&]<class T>(double until) {
    if constexpr (is_pattern<V> || std::same_as<T, double>) iteration.run<T>(until, multiply);
  });
  return iteration.result();
}

#define X(V)                                                                              \
  template Array<double> out_weights(const Csr<V>&);                                      \
  template PageRankResult pagerank(const Csr<V>&, SpmvPlans<V>&, std::span<const double>, \
                                   const PageRankVectors&, const PageRankOptions&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
