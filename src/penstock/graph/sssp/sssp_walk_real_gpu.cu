// The kernels of sssp_walk_gpu.cuh for weights with fractions.
#include "penstock/graph/sssp/sssp_walk_gpu.cuh"

PENSTOCK_WALK_PATHS(float, float)
PENSTOCK_WALK_PATHS(double, double)
PENSTOCK_SCAN_PATHS(float, float)
PENSTOCK_SCAN_PATHS(double, double)
