"""cuSPARSE through CuPy, for bench/spmv_gpu.py."""

import numpy as np


def cupy_runs(cupy, indptr, indices, values, shape, x):
    """Gives the seconds of one cuSPARSE product when called; None where it has no such types."""
    from cupyx import cusparse
    from cupyx.scipy.sparse import csr_matrix

    if values is None or indptr[-1] >= 2**31:
        return None
    a = csr_matrix(
        (cupy.asarray(values), cupy.asarray(indices), cupy.asarray(indptr.astype(np.int32))),
        shape=shape,
    )
    v, begin, end = cupy.asarray(x), cupy.cuda.Event(), cupy.cuda.Event()
    y = cupy.zeros(shape[0], x.dtype)
    for _ in range(2):
        cusparse.spmv(a, v, y)

    def once():
        begin.record()
        cusparse.spmv(a, v, y)
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) * 1e-3

    return once
