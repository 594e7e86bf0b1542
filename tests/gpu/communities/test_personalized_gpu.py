"""Personalised PageRank of many sources on a GPU, against the CPU's and one at a time."""

import numpy as np
import pytest

import penstock as ps

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("place", ["host", "pinned", "device"])
@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64])
def test_as_the_cpu(place, dtype):
    A = ps.generate.rmat(13, 8, undirected=dtype is bool, dtype=dtype, seed=3)
    sources = np.random.default_rng(1).integers(0, A.shape[0], 64)
    how = {"tol": 1e-9, "max_iter": 500}
    ranks, info = ps.csgraph.personalized_pagerank(
        A.to(place), sources, device=0, return_info=True, **how
    )
    assert info["converged"] and info["vectors"] == "gpu"
    expected = ps.csgraph.personalized_pagerank(A, sources, **how)
    np.testing.assert_allclose(ranks, expected, rtol=0, atol=2e-8)
    again = ps.csgraph.personalized_pagerank(A.to(place), sources, device=0, **how)
    np.testing.assert_array_equal(ranks, again)
    for j in (0, 63):
        given = {int(sources[j]): 1}
        ps.csgraph.verify_pagerank(A, ranks[:, j], personalization=given, tol=1.1e-9)


@pytest.mark.gpu_small
def test_in_groups():
    A = ps.generate.rmat(10, 8, seed=4)
    sources = [0, 9, 9, 1000]
    together = ps.csgraph.personalized_pagerank(A, sources, tol=1e-9, max_iter=500, device=0)
    with ps.options(device_memory=3 * 24 * A.shape[0]):
        groups = ps.csgraph.personalized_pagerank(A, sources, tol=1e-9, max_iter=500, device=0)
    np.testing.assert_allclose(groups, together, rtol=0, atol=2e-8)
    with ps.options(device_memory="1KB"), pytest.raises(MemoryError, match="of one source"):
        ps.csgraph.personalized_pagerank(A, sources, device=0)
