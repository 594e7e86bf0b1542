"""Products over ranks whose inner rows need no ghosts: the others are multiplied beside them, on another stream."""

import numpy as np
import pytest
from needed_gpus import needs

import penstock as ps

pytestmark = pytest.mark.gpu
DEVICES = [[0, 0], [0, 0, 0, 0], [0, 1], [0, 1, 2, 3]]
HALOS = ["index_pinned", "peer", "peer_packed", "auto"]


@pytest.mark.parametrize("devices", DEVICES, ids=str)
@pytest.mark.parametrize("halo", HALOS)
@pytest.mark.parametrize("A", [(60, 40, 30), (4000, 5), (50_000,)], ids=str)
def test_stencils_in_a_row(devices, halo, A):
    """x changes right after each product, y goes on: what is late reads or writes another product's vectors."""
    needs(devices)
    A = ps.generate.laplacian(A, dtype=np.float64)
    x = np.random.default_rng(5).integers(-8, 9, A.shape[0]).astype(np.float64)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=devices[comm.rank], halo=halo)
        mine, out = D.share(x), np.zeros(len(D.rows))
        found = []
        for k in range(6):
            D.dot(mine * (k + 1), out, alpha=2.0, beta=1.0)
            found.append(D.collect(out).copy())
        return found, D.collect(D.dot(np.stack([mine, -mine], 1)))

    for found, two in ps.dist.run(work, len(devices), timeout=120):
        wanted = np.zeros_like(x)
        for k, y in enumerate(found):
            wanted += 2 * (A @ (x * (k + 1)))
            np.testing.assert_array_equal(y, wanted, err_msg=str(k))
        np.testing.assert_array_equal(two, np.stack([A @ x, -(A @ x)], 1))


@pytest.mark.parametrize("devices", DEVICES, ids=str)
@pytest.mark.parametrize("halo", ["peer", "peer_packed", "index_pinned"])
@pytest.mark.parametrize("method", ["cg", "pipecg"])
def test_solvers_that_queue_products(devices, halo, method):
    needs(devices)
    A = ps.generate.laplacian((40, 30, 20), dtype=np.float64)
    b = np.random.default_rng(6).standard_normal(A.shape[0])

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=devices[comm.rank], halo=halo)
        z, info = getattr(ps.dist.linalg, method)(D, D.share(b), rtol=1e-9, maxiter=600)
        return D.collect(z), info

    for z, info in ps.dist.run(work, len(devices), timeout=120):
        assert info == 0
        assert np.linalg.norm(A @ z - b) < 1e-8 * np.linalg.norm(b)
