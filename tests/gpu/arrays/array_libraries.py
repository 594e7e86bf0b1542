"""CuPy and PyTorch behind the same few names, so that a test runs with both."""

import numpy as np
import pytest


class CuPy:
    def __init__(self):
        self.lib = pytest.importorskip("cupy")
        self.sparse = pytest.importorskip("cupyx.scipy.sparse")

    def array(self, x):
        return self.lib.asarray(np.asarray(x))

    def host(self, x):
        return self.lib.asnumpy(x)

    def csr(self, s):
        return self.sparse.csr_matrix(
            (self.array(s.data), self.array(s.indices), self.array(s.indptr)), shape=s.shape
        )

    def coo(self, s):
        return self.csr(s).tocoo()

    def parts(self, m):
        return m.data, m.indices, m.indptr

    def pointer(self, x):
        return x.data.ptr

    def synchronize(self):
        self.lib.cuda.Device().synchronize()

    def other_stream(self):
        return self.lib.cuda.Stream(non_blocking=True)

    def as_int32(self, x):
        return x.astype(np.int32)

    def back(self, A):
        return A.to_cupy()


class Torch:
    def __init__(self):
        self.lib = pytest.importorskip("torch")

    def array(self, x):
        return self.lib.from_numpy(np.array(x)).cuda()

    def host(self, x):
        return x.cpu().numpy()

    def csr(self, s):
        index = [self.array(i.astype(np.int64)) for i in (s.indptr, s.indices)]
        return self.lib.sparse_csr_tensor(*index, self.array(s.data), size=s.shape)

    def coo(self, s):
        c = s.tocoo()
        index = self.array(np.stack([c.row, c.col]).astype(np.int64))
        return self.lib.sparse_coo_tensor(index, self.array(c.data), size=s.shape)

    def parts(self, m):
        return m.values(), m.col_indices(), m.crow_indices()

    def pointer(self, x):
        return x.data_ptr()

    def synchronize(self):
        self.lib.cuda.synchronize()

    def other_stream(self):
        return self.lib.cuda.stream(self.lib.cuda.Stream())

    def as_int32(self, x):
        return x.int()

    def back(self, A):
        return A.to_torch()


LIBRARIES = {"cupy": CuPy, "torch": Torch}
