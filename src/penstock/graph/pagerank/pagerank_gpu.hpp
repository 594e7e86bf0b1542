#pragma once
#include <span>

#include "penstock/graph/gpu/result_to.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"
#include "penstock/schedule/device_op.hpp"

namespace penstock {

/// pagerank() with all vectors where the products are done; ranks come to the host once, or go to `to`, float64 entries where
/// the products are done, and the result has none. `in` multiplies by the matrix whose
/// rows have the edges into each vertex, in float64. `single` does the same in float32 on the same device; it is null if the
/// edges have weights, which may leave its range. Takes at most 48 bytes of device memory for each vertex. The bits are the same
/// in every run, and those of the CPU except for rounding.
PageRankResult pagerank_gpu(const DeviceOp<float>* single, const DeviceOp<double>& in,
                            std::span<const double> out, const PageRankVectors& vectors,
                            const PageRankOptions& options = {}, const ResultTo& to = {});

/// The bytes of device memory that it takes for each vertex over a pattern; `based`: jumps or dangling vertices lead to given
/// vertices. Where tol is 1e-5 or more, steps are in float32; a graph on which these do not suffice (their extrapolation leads below
/// zero, or sums over hubs are rounded by more) takes 8 more for its last steps.
std::int64_t rank_vertex_bytes(double tol, bool based);

}  // namespace penstock
