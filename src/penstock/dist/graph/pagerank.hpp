#pragma once
#include <functional>
#include <optional>
#include <span>

#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"

namespace penstock {

/// The parts of PageRankVectors that this rank owns. Each vector is given on all ranks or on none, and its sum over all
/// ranks is 1.
struct DistPageRankVectors {
  std::optional<std::span<const double>> personalization, dangling, start;
};

/// y = A^T x over the parts that this rank owns. Collective.
template <class T>
using InwardProduct = std::function<void(std::span<const T> x, std::span<T> y)>;

/// The sum of the weights out of each vertex that is owned here. Collective. Throws Error{invalid_argument} that
/// names a vertex with a weight that is negative or not finite, or a vertex whose sum is beyond 1e-290 or 1e290.
template <class V>
Array<double> out_weights(const DistCsr<V>& a);

/// The same steps as pagerank() of one process, with sums over all ranks, so that results agree up to rounding. Where `quick`
/// is empty, all steps are in float64. Collective; iterations, change and converged are the same on all ranks.
PageRankResult pagerank(Comm& comm, GlobalIndex vertices, std::span<const double> out,
                        const DistPageRankVectors& vectors, const InwardProduct<float>& quick,
                        const InwardProduct<double>& full, const PageRankOptions& options = {});

/// Throws Error{invalid_argument} unless no number of `ranks` is below zero, their sum is 1, and one step changes them by less
/// than options.tol in all. Collective.
void pagerank_verify(Comm& comm, GlobalIndex vertices, std::span<const double> out,
                     std::span<const double> ranks, const DistPageRankVectors& vectors,
                     const InwardProduct<double>& full, const PageRankOptions& options);

}  // namespace penstock
