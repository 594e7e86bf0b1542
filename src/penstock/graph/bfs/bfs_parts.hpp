#pragma once
#include "penstock/graph/bfs/bfs_gpu.hpp"
#include "penstock/graph/gpu/gpu_parts.hpp"

namespace penstock {

/// bfs_gpu() over several GPUs. `in` are the edges reversed, cut alike. In each level a GPU settles its own vertices, or
/// follows the edges out of those of them that are in the frontier; then all exchange bitmaps, n / 8 bytes in all,
/// directly from GPU to GPU where the machine can. The host waits once a level, twice where samples are asked: levels cost
/// some tens of microseconds at least, so one GPU is better for graphs with thousands of small ones.
/// `requests` are those of all GPUs. Throws Error{invalid_argument} for BfsMethod::level_synchronous, a baseline of one GPU.
BfsGpuResult bfs_parts_gpu(GpuParts& out, GpuParts* in, Index source, const BfsGpuOptions& options = {});

}  // namespace penstock
