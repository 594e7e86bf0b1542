#pragma once
#include "penstock/graph/cc/cc_gpu.hpp"
#include "penstock/graph/gpu/gpu_parts.hpp"

namespace penstock {

/// connected_components_gpu() over several GPUs. `in` has the reversed edges, cut in the same way. Each GPU has trees of all
/// vertices, 4 bytes each, and links its own vertices with their samples. Trees are merged in pairs, and the merged trees go
/// back to all: twice log2(GPUs) steps of 4 bytes a vertex, directly from GPU to GPU if the machine can. Then each GPU reads
/// the lists of its own vertices outside the giant tree, and the first one adds the links that the others have made. `lists`,
/// `entries` and `requests` are those of all GPUs. Throws Error{invalid_argument} for CcMethod::label_propagation, which is a
/// baseline for one GPU.
CcGpuResult cc_parts_gpu(GpuParts& out, GpuParts* in, const CcGpuOptions& options = {});

}  // namespace penstock
