#pragma once
#include "penstock/graph/cc/cc_gpu.hpp"
#include "penstock/graph/gpu/gpu_parts.hpp"

namespace penstock {

/// connected_components_gpu() over several GPUs. `in` are the edges reversed, cut alike. Each GPU has trees of all vertices,
/// 4 bytes each, and links its own vertices with their samples; trees are merged two and two, and the merged ones go back
/// to all: twice log2(GPUs) steps of 4 bytes a vertex, directly from GPU to GPU where the machine can. Then each reads the
/// lists of its own vertices outside the giant tree, and the first adds the links that the others have made. `lists`,
/// `entries` and `requests` are those of all GPUs.
/// Throws Error{invalid_argument} for CcMethod::label_propagation, a baseline of one GPU.
CcGpuResult cc_parts_gpu(GpuParts& out, GpuParts* in, const CcGpuOptions& options = {});

}  // namespace penstock
