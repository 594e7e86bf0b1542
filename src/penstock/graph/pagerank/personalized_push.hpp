#pragma once
#include <span>

#include "penstock/graph/pagerank/pagerank.hpp"

namespace penstock {

/// Whether personalized_push() may be asked: changes of jumps' share are divided by 1 - alpha.
inline bool can_push(const PageRankOptions& options) { return options.alpha <= 0.99; }
/// What is left between its ranks and exact ones because of rounding, in all.
inline constexpr double kPushRounding = 2e-7;

/// The ranks of each source over a pattern, in float32, until none changes by `until`. Entry (v, j) of the ranks goes to
/// x[v * sources.size() + j], divided by the weight out of v where `divides`.
void personalized_push(const Csr<One>& in, std::span<const double> out, std::span<const Index> sources,
                       const PageRankOptions& options, double until, bool divides, double* x,
                       PageRankResult& r);

}  // namespace penstock
