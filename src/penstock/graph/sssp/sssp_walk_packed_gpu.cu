// The kernels of sssp_walk_gpu.cuh for whole weights that stand in packed lists.
#include "penstock/graph/sssp/sssp_walk_gpu.cuh"

PENSTOCK_WALK_PATHS(std::uint32_t, penstock::gpu::PackedLength)
PENSTOCK_WALK_PATHS(float, penstock::gpu::PackedLength)
PENSTOCK_WALK_PATHS(double, penstock::gpu::PackedLength)
PENSTOCK_SCAN_PATHS(std::uint32_t, penstock::gpu::PackedLength)
PENSTOCK_SCAN_PATHS(float, penstock::gpu::PackedLength)
PENSTOCK_SCAN_PATHS(double, penstock::gpu::PackedLength)
