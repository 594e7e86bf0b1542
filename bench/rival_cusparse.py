"""cuSPARSE through CuPy, for bench/spmv_gpu.py.

CuPy's own spmv() makes descriptors and asks for a buffer in every call. Here they are made once, and
cuSPARSE may study the matrix before (cusparseSpMV_preprocess, which CuPy does not bind): what is
timed is its product alone, at its best.
"""

import ctypes

import numpy as np

# cusparseSpMVAlg_t; ALG2 gives the same bits in every run.
ALGORITHMS = {"CSR_ALG1": 2, "CSR_ALG2": 3}


def about(cupy):
    """What was measured against, and on which GPU."""
    from cupy_backends.cuda.libs import cusparse as lib

    return {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "cusparse": lib.getVersion(cupy.cuda.device.get_cusparse_handle()),
        "cupy": cupy.__version__,
    }


def cupy_runs(cupy, indptr, indices, values, shape, x):
    """Name -> a function that gives the seconds of one product; {} where cuSPARSE has no such types."""
    from cupy._core import _dtype
    from cupy_backends.cuda.libs import cusparse as lib
    from cupyx import cusparse
    from cupyx.scipy.sparse import csr_matrix

    if values is None or indptr[-1] >= 2**31:
        return {}
    a = csr_matrix(
        (cupy.asarray(values), cupy.asarray(indices), cupy.asarray(indptr.astype(np.int32))),
        shape=shape,
    )
    v, y = cupy.asarray(x), cupy.zeros(shape[0], x.dtype)
    handle, plain = cupy.cuda.device.get_cusparse_handle(), lib.CUSPARSE_OPERATION_NON_TRANSPOSE
    one, zero = np.array(1, x.dtype), np.array(0, x.dtype)
    desc_v, desc_y = cusparse.DnVecDescriptor.create(v), cusparse.DnVecDescriptor.create(y)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    preprocess = ctypes.CDLL("libcusparse.so.12").cusparseSpMV_preprocess
    preprocess.argtypes = [ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 5]
    preprocess.argtypes += [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]

    def prepare(algorithm):
        desc_a = cusparse.SpMatDescriptor.create(a)  # one each: it keeps what the study found
        product = (handle, plain, one.ctypes.data, desc_a.desc, desc_v.desc, zero.ctypes.data)
        product += (desc_y.desc, _dtype.to_cuda_dtype(x.dtype), algorithm)
        buffer = cupy.empty(max(lib.spMV_bufferSize(*product), 1), cupy.int8)
        if status := preprocess(*product, buffer.data.ptr):
            raise RuntimeError(f"cusparseSpMV_preprocess gives error {status}")

        def once():
            lib.spMV(
                *product, buffer.data.ptr
            )  # not timed: the host prepares the next one meanwhile
            begin.record()
            lib.spMV(*product, buffer.data.ptr)
            end.record()
            end.synchronize()
            return cupy.cuda.get_elapsed_time(begin, end) * 1e-3

        once.keeps, once.y = (desc_a, desc_v, desc_y, buffer, a, v), y
        return once

    return {name: prepare(number) for name, number in ALGORITHMS.items()}
