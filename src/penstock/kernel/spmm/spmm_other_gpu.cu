// SpMM on a GPU for complex numbers and for the other semirings (spmm_gpu.cuh).
#include "penstock/kernel/spmm/spmm_gpu.cuh"

namespace penstock::gpu {

PENSTOCK_SPMM(PlusTimes<Complex64>, One)
PENSTOCK_SPMM(PlusTimes<Complex64>, float)
PENSTOCK_SPMM(PlusTimes<Complex64>, Complex64)
PENSTOCK_SPMM(PlusTimes<Complex128>, One)
PENSTOCK_SPMM(PlusTimes<Complex128>, float)
PENSTOCK_SPMM(PlusTimes<Complex128>, double)
PENSTOCK_SPMM(PlusTimes<Complex128>, Complex64)
PENSTOCK_SPMM(PlusTimes<Complex128>, Complex128)
PENSTOCK_REAL_SEMIRINGS(PENSTOCK_WITH_VALUES, PENSTOCK_SPMM, float)
PENSTOCK_REAL_SEMIRINGS(PENSTOCK_WITH_VALUES, PENSTOCK_SPMM, double)
PENSTOCK_BOOLEAN_SEMIRINGS(PENSTOCK_BOOLEAN_WITH_VALUES, PENSTOCK_SPMM)

}  // namespace penstock::gpu
