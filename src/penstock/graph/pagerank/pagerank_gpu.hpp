#pragma once
#include <span>

#include "penstock/graph/pagerank/pagerank.hpp"
#include "penstock/schedule/device_op.hpp"

namespace penstock {

/// `pagerank` with all vectors where the products are done: ranks come to the host once. `in` multiplies by the edges
/// by their ends in float64, `single` in float32 and with the same device; null where the edges have weights, as they
/// may leave its range. Takes some 50 bytes of device memory a vertex. The same bits in every run; those of the CPU
/// to rounding.
PageRankResult pagerank_gpu(const DeviceOp<float>* single, const DeviceOp<double>& in,
                            std::span<const double> out, const PageRankVectors& vectors,
                            const PageRankOptions& options = {});

}  // namespace penstock
