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
  // Every edge is there in both directions, with the same weight, so that steps may be extrapolated.
  bool symmetric = false;
};

/// Distributions over the vertices, each of sum 1.
struct PageRankVectors {
  std::span<const double> personalization = {};  // empty: uniform
  std::span<const double> dangling = {};         // empty: the same as personalization
  std::span<const double> start = {};            // empty: uniform
};

struct PageRankResult {
  Array<double> ranks;  // of sum 1
  std::int64_t iterations = 0;
  double change = 0;  // of the last iteration
  bool converged = false;
};

/// The sum of the weights out of each vertex. A vertex with sum 0 is dangling. Throws Error{invalid_argument} that names a
/// vertex whose sum is below 1e-290 or above 1e290.
template <class V>
Array<double> out_weights(const Csr<V>& a);

/// Solves r = alpha A'r + (alpha * the rank of dangling vertices) * dangling + (1 - alpha) * personalization by steps of the
/// power method. Row v of `in` has the edges into v; `out` is out_weights() of the rows with the edges out. Sums are taken
/// over fixed ranges, so the bits do not depend on the number of threads.
template <class V>
PageRankResult pagerank(const Csr<V>& in, SpmvPlans<V>& plans, std::span<const double> out,
                        const PageRankVectors& vectors, const PageRankOptions& options = {});

/// The ranks of every source alone, side by side: entry (v, j) of `ranks`, at v * sources.size() + j, is the rank of v where
/// jumps and walkers at dangling vertices lead to sources[j]. One product with several vectors is a step of them all; steps go
/// on until none of them changes its ranks by tol or more, which is what `change` is of. The bits do not depend on the number
/// of threads. Takes 16 bytes an entry of `ranks`.
template <class V>
PageRankResult personalized_pagerank(const Csr<V>& in, std::span<const double> out,
                                     std::span<const Index> sources, const PageRankOptions& options = {});

/// Throws Error{invalid_argument} unless no rank is below zero, their sum is 1, and one step of the power method changes them
/// by less than tol in all. The step is a plain loop over `a`, whose rows have the edges out.
template <class V>
void pagerank_verify(const Csr<V>& a, std::span<const double> ranks, const PageRankVectors& vectors,
                     const PageRankOptions& options);

}  // namespace penstock
