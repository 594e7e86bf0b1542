#include "penstock/dist/graph/pagerank.hpp"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/dist/graph/marks.hpp"
#include "penstock/graph/pagerank/pagerank_steps.hpp"

namespace penstock {
namespace {

/// The vectors of one process. A vector that was not given is empty, and so is the part of a rank without vertices; the
/// caller decides what depends on the difference.
PageRankVectors parts_of(const DistPageRankVectors& v) {
  const auto part = [](const std::optional<std::span<const double>>& p) {
    return p.value_or(std::span<const double>());
  };
  return {part(v.personalization), part(v.dangling), part(v.start)};
}

void check(std::span<const double> out, const DistPageRankVectors& vectors, const PageRankOptions& options) {
  const auto n = std::ssize(out);
  check_pagerank(n, n, n, parts_of(vectors), options);
}

}  // namespace

template <class V>
Array<double> out_weights(const DistCsr<V>& a) {
  /// The largest sum of weights out of a vertex: ranks are divided by these sums.
  constexpr double kMost = 1e290;
  const int rank = a.comm->rank();
  std::vector<double> sums(static_cast<std::size_t>(a.local.rows));
  const auto vertex = [&](std::int64_t r) {
    return r < a.rows()
               ? "vertex " + std::to_string(a.row_owners->global(rank, r))
               : "a vertex of another rank, whose edges rank " + std::to_string(rank) + " has in part,";
  };
  const auto add = [&](const Csr<V>& part, std::int64_t r) {
    double sum = 0;
    for (auto k = part.indptr.data[r]; k < part.indptr.data[r + 1]; ++k) {
      if constexpr (is_pattern<V>) {
        ++sum;
      } else {
        const auto weight = static_cast<double>(part.values.data[k]);
        require(weight >= 0 && std::isfinite(weight), "pagerank: " + vertex(r) + " has an edge of weight " +
                                                          std::to_string(weight) +
                                                          ": weights must be finite numbers of zero or more");
        sum += weight;
      }
    }
    sums[static_cast<std::size_t>(r)] += sum;
  };
  for (std::int64_t r = 0; r < a.local.rows; ++r) add(a.local, r), add(a.halo, r);
  const auto out = allocate<double>(a.rows());
  std::copy_n(sums.data(), a.rows(), out.data);
  values_to_owners(*a.comm, *a.sums, sums.data() + a.rows(),
                   [&](Index v, double more) { out.data[v] += more; });
  for (std::int64_t v = 0; v < out.size; ++v)
    require(out.data[v] == 0 || (out.data[v] > 1 / kMost && out.data[v] < kMost),
            "pagerank: the weights out of " + vertex(v) +
                " add up to less than 1e-290 or more than 1e290: scale them");
  return out;
}

PageRankResult pagerank(Comm& comm, GlobalIndex vertices, std::span<const double> out,
                        const DistPageRankVectors& vectors, const InwardProduct<float>& quick,
                        const InwardProduct<double>& full, const PageRankOptions& options) {
  check(out, vectors, options);
  if (vertices == 0) return {.ranks = allocate<double>(0), .converged = true};
  // An empty part looks like a missing vector, which must not decide whether to extrapolate.
  auto settled = options;
  settled.symmetric = options.symmetric && !vectors.personalization && !vectors.dangling;
  RankSteps steps(out, parts_of(vectors), settled, vertices,
                  [&](std::span<double> numbers) { comm.all_reduce(numbers, Reduce::sum); });
  const auto run = [&]<class T>(double until, const InwardProduct<T>& product) {
    steps.run<T>(until, [&](const T* x, T* y) { product({x, out.size()}, {y, out.size()}); });
  };
  steps.control().phases(static_cast<bool>(quick), vectors.start.has_value(), [&]<class T>(double until) {
    if constexpr (std::is_same_v<T, float>) run(until, quick);
    else run(until, full);
  });
  return steps.result();
}

void pagerank_verify(Comm& comm, GlobalIndex vertices, std::span<const double> out,
                     std::span<const double> ranks, const DistPageRankVectors& vectors,
                     const InwardProduct<double>& full, const PageRankOptions& options) {
  check(out, vectors, options);
  require(ranks.size() == out.size(), "pagerank: " + std::to_string(ranks.size()) + " ranks here for " +
                                          std::to_string(out.size()) + " vertices");
  if (vertices == 0) return;
  const auto n = out.size();
  std::vector<double> x(n), y(n);
  std::array<double, 3> sums = {};  // of ranks, of ranks of dangling vertices, of ranks below zero
  for (std::size_t v = 0; v < n; ++v) {
    sums[0] += ranks[v], sums[2] += !(ranks[v] >= 0);
    if (out[v] > 0) x[v] = ranks[v] / out[v];
    else sums[1] += ranks[v];
  }
  comm.all_reduce(std::span<double>(sums), Reduce::sum);
  full(x, y);
  const auto& personal = vectors.personalization;
  const auto& sink = vectors.dangling ? vectors.dangling : personal;
  const double one = 1.0 / static_cast<double>(vertices);
  std::array<double, 1> change = {};
  for (std::size_t v = 0; v < n; ++v) {
    const double step = options.alpha * (y[v] + sums[1] * (sink ? (*sink)[v] : one)) +
                        (1 - options.alpha) * (personal ? (*personal)[v] : one);
    change[0] += std::abs(step - ranks[v]);
  }
  comm.all_reduce(std::span<double>(change), Reduce::sum);
  require(sums[2] == 0, "pagerank: some ranks are below zero or not numbers");
  require(std::abs(sums[0] - 1) < 1e-9,
          "pagerank: the ranks add up to " + std::to_string(sums[0]) + " instead of 1");
  require(change[0] < options.tol, "pagerank: a step changes the ranks by " +
                                       std::to_string(change[0] / options.tol) + " times tol in all");
}

#define X(V) template Array<double> out_weights(const DistCsr<V>&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
