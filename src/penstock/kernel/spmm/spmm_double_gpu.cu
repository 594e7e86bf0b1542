// SpMM on a GPU for float64 (spmm_gpu.cuh). It is a file of its own because kernels take long to compile.
#include "penstock/kernel/spmm/spmm_gpu.cuh"

namespace penstock::gpu {

PENSTOCK_SPMM(PlusTimes<double>, One)
PENSTOCK_SPMM(PlusTimes<double>, float)
PENSTOCK_SPMM(PlusTimes<double>, double)

}  // namespace penstock::gpu
