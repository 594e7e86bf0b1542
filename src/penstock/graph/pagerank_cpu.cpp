// PageRank (Page, Brin, Motwani, Winograd 1999) by the power method, pulling over the edges into each vertex: a step is
// one product of the library, over whatever plan was prepared for it, and one pass over vectors. The product is bound by
// gathers, and of 4 bytes twice as many fit a cache as of 8: as long as the change is far above what single precision
// can tell, contributions and their sums are float32. Ranks are always float64, and so are the steps at the end where
// tol asks for more.
#include "penstock/graph/pagerank.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBlock = 16 << 10;
/// The change at which steps become double: 30 times what rounding to float32 may add to a step on a graph of hubs.
constexpr double kSingle = 1e-5;

struct Sums {
  double change = 0, dangling = 0, all = 0;
};

/// f(v, sums) for every vertex; the sums of fixed ranges, added up in their order.
template <class F>
Sums sum_vertices(std::int64_t n, F&& f) {
  std::vector<Sums> parts(static_cast<std::size_t>((n + kBlock - 1) / kBlock));
  parallel_ranges(n, kBlock, [&](std::int64_t first, std::int64_t last) {
    Sums s;
    for (auto v = first; v < last; ++v) f(v, s);
    parts[static_cast<std::size_t>(first / kBlock)] = s;
  });
  Sums total;
  for (const auto& p : parts) total.change += p.change, total.dangling += p.dangling, total.all += p.all;
  return total;
}

template <class V, class T>
concept Multiplies = is_pattern<V> || sizeof(V) <= sizeof(T);

template <class V>
class Iteration {
 public:
  Iteration(const Csr<V>& in, SpmvPlans<V>& plans, std::span<const double> inverse, const PageRankVectors& vectors,
            const PageRankOptions& options)
      : in_(in), plans_(plans), inverse_(inverse.data()), personal_(vectors.personalization),
        dangling_(vectors.dangling.empty() ? vectors.personalization : vectors.dangling), options_(options),
        n_(in.rows), warm_(!vectors.start.empty()), uniform_(1.0 / static_cast<double>(n_)), ranks_(allocate<double>(n_)) {
    sums_ = sum_vertices(n_, [&](std::int64_t v, Sums& s) {
      ranks_.data[v] = vectors.start.empty() ? uniform_ : vectors.start[static_cast<std::size_t>(v)];
      if (inverse_[v] == 0) s.dangling += ranks_.data[v];
      s.all += ranks_.data[v];
    });
  }

  PageRankResult run() {
    const bool precise = options_.tol < kSingle;
    if constexpr (Multiplies<V, float>)
      if (!precise || !warm_) steps<float>(std::max(kSingle, options_.tol)), rescale();  // a good start is not blurred
    if (precise || !Multiplies<V, float>) steps<double>(options_.tol), rescale();
    return {.ranks = ranks_, .iterations = iterations_, .change = change_, .converged = change_ < options_.tol};
  }

 private:
  /// To sum 1, from which rounding leads away.
  void rescale() {
    const double all = sums_.all;
    sum_vertices(n_, [&](std::int64_t v, Sums&) { ranks_.data[v] /= all; });
    sums_.dangling /= all, sums_.all = 1;
  }
  template <class T>
  void steps(double until) {
    const auto given = allocate<T>(n_), taken = allocate<T>(n_);
    sum_vertices(n_, [&](std::int64_t v, Sums&) { given.data[v] = static_cast<T>(ranks_.data[v] * inverse_[v]); });
    while (iterations_ < options_.max_iter) {
      plans_.template multiply<PlusTimes<T>>(SpmvAlgorithm::automatic, in_.view(), given.data, taken.data, {});
      const double from_dangling = options_.alpha * sums_.dangling, jump = 1 - options_.alpha;
      const bool plain = personal_.empty() && dangling_.empty();
      const double base = (jump + from_dangling) * uniform_;
      sums_ = sum_vertices(n_, [&](std::int64_t v, Sums& s) {
        const double rank =
            options_.alpha * static_cast<double>(taken.data[v]) +
            (plain ? base : jump * at(personal_, v) + from_dangling * at(dangling_, v));
        s.change += std::abs(rank - ranks_.data[v]);
        s.all += rank;
        if (inverse_[v] == 0) s.dangling += rank;
        ranks_.data[v] = rank;
        given.data[v] = static_cast<T>(rank * inverse_[v]);
      });
      ++iterations_;
      change_ = sums_.change;
      if (change_ < until) return;
    }
  }
  double at(std::span<const double> p, std::int64_t v) const {
    return p.empty() ? uniform_ : p[static_cast<std::size_t>(v)];
  }

  const Csr<V>& in_;
  SpmvPlans<V>& plans_;
  const double* inverse_;
  std::span<const double> personal_, dangling_;
  PageRankOptions options_;
  std::int64_t n_;
  bool warm_;
  double uniform_;
  Array<double> ranks_;
  Sums sums_;
  std::int64_t iterations_ = 0;
  double change_ = std::numeric_limits<double>::infinity();
};

void check(std::int64_t rows, std::int64_t cols, std::int64_t inverse, const PageRankVectors& vectors,
           const PageRankOptions& options) {
  require(rows == cols && inverse == rows, "pagerank needs a square matrix");
  require(options.alpha >= 0 && options.alpha <= 1, "pagerank: alpha must be between 0 and 1");
  for (const auto& v : {vectors.personalization, vectors.dangling, vectors.start})
    require(v.empty() || std::ssize(v) == rows, "pagerank: a vector has " + std::to_string(v.size()) +
                                                    " entries for " + std::to_string(rows) + " vertices");
}

}  // namespace

template <class V>
Array<double> inverse_out_weights(const Csr<V>& a) {
  const auto inverse = allocate<double>(a.rows);
  parallel_ranges(a.rows, kBlock / 16, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      const auto begin = a.indptr.data[u], end = a.indptr.data[u + 1];
      double sum = 0;
      if constexpr (is_pattern<V>) sum = static_cast<double>(end - begin);
      else
        for (auto k = begin; k < end; ++k) sum += static_cast<double>(a.values.data[k]);
      inverse.data[u] = sum > 0 ? 1 / sum : 0;
    }
  });
  return inverse;
}

template <class V>
PageRankResult pagerank(const Csr<V>& in, SpmvPlans<V>& plans, std::span<const double> inverse,
                        const PageRankVectors& vectors, const PageRankOptions& options) {
  check(in.rows, in.cols, std::ssize(inverse), vectors, options);
  if (in.rows == 0) return {.ranks = allocate<double>(0), .converged = true};
  return Iteration<V>(in, plans, inverse, vectors, options).run();
}

template <class V>
void pagerank_verify(const Csr<V>& a, std::span<const double> ranks, const PageRankVectors& vectors,
                     const PageRankOptions& options) {
  check(a.rows, a.cols, std::ssize(ranks), vectors, options);
  const auto wrong = [](const std::string& what) { throw Error(Errc::invalid_argument, "pagerank: " + what); };
  const auto n = static_cast<std::size_t>(a.rows);
  if (n == 0) return;
  const auto weight = [&](Offset k) {
    if constexpr (is_pattern<V>) return static_cast<void>(k), 1.0;
    else return static_cast<double>(a.values.data[k]);
  };
  std::vector<double> next(n);
  double dangling = 0, sum = 0, change = 0;
  for (std::size_t u = 0; u < n; ++u) {
    if (!(ranks[u] >= 0)) wrong("vertex " + std::to_string(u) + " has rank " + std::to_string(ranks[u]));
    sum += ranks[u];
    double out = 0;
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) out += weight(k);
    if (!(out > 0)) dangling += ranks[u];
    else
      for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k)
        next[static_cast<std::size_t>(a.indices.data[k])] += ranks[u] * weight(k) / out;
    if (u % 1024 == 0) poll_interrupt();
  }
  const auto personal = vectors.personalization;
  const auto sink = vectors.dangling.empty() ? personal : vectors.dangling;
  for (std::size_t v = 0; v < n; ++v) {
    const double one = 1.0 / static_cast<double>(n);
    const double step = options.alpha * (next[v] + dangling * (sink.empty() ? one : sink[v])) +
                        (1 - options.alpha) * (personal.empty() ? one : personal[v]);
    change += std::abs(step - ranks[v]);
  }
  if (!(std::abs(sum - 1) < 1e-9)) wrong("the ranks add up to " + std::to_string(sum) + " instead of 1");
  if (!(change < options.tol))
    wrong("a step changes the ranks by " + std::to_string(change / options.tol) + " times tol in all");
}

#define X(V)                                                                                                     \
  template Array<double> inverse_out_weights(const Csr<V>&);                                                     \
  template PageRankResult pagerank(const Csr<V>&, SpmvPlans<V>&, std::span<const double>, const PageRankVectors&, \
                                   const PageRankOptions&);                                                      \
  template void pagerank_verify(const Csr<V>&, std::span<const double>, const PageRankVectors&, const PageRankOptions&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
