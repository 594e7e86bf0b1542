#pragma once
#include "penstock/graph/bfs/bfs_gpu.hpp"
#include "penstock/graph/gpu/gpu_parts.hpp"

namespace penstock {

/// bfs_gpu() over several GPUs. `in` has the reversed edges, cut in the same way. In each level a GPU settles its own
/// vertices, or follows the edges out of its own vertices in the frontier; then all GPUs exchange bitmaps, n / 8 bytes in all,
/// directly from GPU to GPU if the machine can. The host waits once a level, and twice if samples are asked. So a level takes
/// some tens of microseconds at least, and one GPU is better for graphs with thousands of small levels. `requests` are those
/// of all GPUs. Throws Error{invalid_argument} for BfsMethod::level_synchronous, which is a baseline for one GPU.
BfsGpuResult bfs_parts_gpu(GpuParts& out, GpuParts* in, Index source, const BfsGpuOptions& options = {});

}  // namespace penstock
