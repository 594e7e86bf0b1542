// The kernels of sssp_walk_gpu.cuh for whole weights of four bytes, and for edges that count 1.
#include "penstock/graph/sssp/sssp_walk_gpu.cuh"

PENSTOCK_WALK_PATHS(std::uint32_t, std::uint32_t)
PENSTOCK_WALK_PATHS(std::uint32_t, penstock::One)
PENSTOCK_SCAN_PATHS(std::uint32_t, std::uint32_t)
PENSTOCK_SCAN_PATHS(std::uint32_t, penstock::One)
