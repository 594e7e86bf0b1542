// PageRank (Page et al. 1999) by the power method, which pulls over the edges into each vertex. A step is one product of the
// library, by whatever plan was prepared for it, and one pass over vectors. Two things make it shorter:
// - The product is bound by gathers, and a cache holds twice as many numbers of 4 bytes as of 8. As long as the change is far
//   above what single precision can resolve, steps over a pattern are done in float32.
// - On an undirected graph the eigenvalues are real. If such a graph has no short cuts (roads), steps are extrapolated by the
//   Chebyshev semi-iteration (Golub, Varga 1961), which needs no other bound than alpha.
#include "penstock/graph/pagerank/pagerank.hpp"

#include <concepts>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/pagerank/pagerank_steps.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRanksOfATask = 1 << 10;

}  // namespace

template <class V>
Array<double> out_weights(const Csr<V>& a) {
  constexpr double kMost = 1e290;  // ranks are divided by these
  const auto out = allocate<double>(a.rows);
  parallel_ranges(a.rows, kRanksOfATask, [&](std::int64_t first, std::int64_t last) {
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
  RankSteps iteration(out, vectors, options, in.rows);
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
