// The kernels of sssp_walk_gpu.cuh for whole weights of one or two bytes.
#include "penstock/graph/sssp/sssp_walk_gpu.cuh"

PENSTOCK_WALK_PATHS(std::uint32_t, std::uint8_t)
PENSTOCK_WALK_PATHS(std::uint32_t, std::uint16_t)
