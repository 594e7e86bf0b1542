#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/kernel/spmv/spmv_plan.hpp"

namespace penstock {

struct PageRankOptions {
  double alpha = 0.85, tol = 1e-6;  // tol: of the sum of all changes in one step
  std::int64_t max_iter = 100;
  bool symmetric =
      false;  // every edge is there in both directions, with one weight: steps may be extrapolated
};

/// Distributions over the vertices, each of sum 1; an empty one is its default.
struct PageRankVectors {
  std::span<const double> personalization = {};  // uniform
  std::span<const double> dangling = {};         // personalization
  std::span<const double> start = {};            // uniform
};

struct PageRankResult {
  Array<double> ranks;  // of sum 1
  std::int64_t iterations = 0;
  double change = 0;  // of the last iteration
  bool converged = false;
};

/// The sum of the weights out of each vertex; where that is 0 the vertex dangles. Throws Error{invalid_argument} that
/// names a vertex whose sum is beyond 1e-290 or 1e290.
template <class V>
Array<double> out_weights(const Csr<V>& a);

/// r = alpha A'r + (alpha * the rank of dangling vertices) * dangling + (1 - alpha) * personalization, by steps of the
/// power method. `in` holds the edges by their ends, `out` are out_weights of the same edges by their
/// beginnings. Sums run over fixed ranges: bits do not depend on threads.
template <class V>
PageRankResult pagerank(const Csr<V>& in, SpmvPlans<V>& plans, std::span<const double> out,
                        const PageRankVectors& vectors, const PageRankOptions& options = {});

/// Throws Error{invalid_argument} unless `ranks` are none below zero, of sum 1, and one step of the power method, in a
/// plain loop over the edges `a` by their beginnings, changes them by less than tol in all.
template <class V>
void pagerank_verify(const Csr<V>& a, std::span<const double> ranks, const PageRankVectors& vectors,
                     const PageRankOptions& options);

}  // namespace penstock
