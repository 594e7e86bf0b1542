"""ps.dist.linalg.eigsh against LAPACK, against one process, and for any number of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.dist._solve.vectors import normals
from scipy.sparse.linalg import ArpackNoConvergence

import penstock as ps

RANKS = (1, 2, 4)


def over(ranks: int, a: Any, partition: Any = "balanced", **how: Any) -> Any:
    """values, whole vectors and info of rank 0; values are the same on all ranks."""

    def work(comm: Any) -> Any:
        given = dict(how)
        D = ps.dist.csr_array(a, comm, partition=partition)
        if "v0" in given:
            given["v0"] = given["v0"][np.asarray(D.rows)]
        values, vectors, info = ps.dist.linalg.eigsh(D, return_info=True, **given)
        assert vectors.shape == (len(D.rows), len(values))
        return values, D.collect(vectors), info

    found = ps.dist.run(work, ranks, timeout=60)
    for values, vectors, info in found:
        np.testing.assert_array_equal(values, found[0][0])
        np.testing.assert_array_equal(vectors, found[0][1])
        assert info.passes == found[0][2].passes and info.restarts == found[0][2].restarts
    return found[0]


def require_pairs(a: Any, values: np.ndarray, vectors: np.ndarray, eps: float) -> None:
    csr = a.to_scipy().astype(float)
    norm = abs(csr).sum(axis=1).max()
    assert abs(csr @ vectors - vectors * values).max() < 200 * eps * norm
    assert abs(vectors.T @ vectors - np.eye(len(values))).max() < 200 * eps


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", ["LM", "LA", "SA", "BE"])
def test_the_pairs_are_those_of_lapack(ranks, which, dtype):
    a = ps.generate.laplacian((23, 17)).astype(dtype)
    values, vectors, info = over(ranks, a, k=5, which=which)
    full, eps = np.linalg.eigvalsh(a.toarray().astype(float)), float(np.finfo(dtype).eps)
    wanted = {"SA": full[:5], "BE": np.r_[full[:2], full[-3:]]}.get(which, full[-5:])
    assert values.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(values, wanted, atol=100 * eps)
    require_pairs(a, values, vectors, eps)
    assert info.method == "thick-restart block Lanczos" and info.columns == info.passes + 1


@pytest.mark.parametrize("ranks", RANKS)
def test_eigenvalues_that_coincide_are_all_found(ranks):
    a = ps.generate.laplacian((18, 18))  # pairs, by symmetry
    values, vectors, _ = over(ranks, a, k=9, which="LA")
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a.toarray())[-9:], rtol=1e-12)
    require_pairs(a, values, vectors, 2.3e-16)


@pytest.mark.parametrize("partition", ["contiguous", "balanced", "scattered"])
def test_whoever_has_which_rows(partition):
    a = ps.generate.laplacian((25, 14))
    if partition == "scattered":
        partition = np.random.default_rng(3).integers(0, 3, a.shape[0])
    values, vectors, info = over(3, a, partition, k=4, which="SA", ncv=15)
    alone, _, one = over(1, a, k=4, which="SA", ncv=15)
    np.testing.assert_allclose(values, alone, rtol=1e-9)
    require_pairs(a, values, vectors, 2.3e-16)
    assert info.restarts > 0 and abs(info.passes - one.passes) <= 0.2 * one.passes


@pytest.mark.parametrize("block", [2, 3])
def test_blocks_share_an_exchange(block):
    a = ps.generate.laplacian((19, 19))
    values, vectors, info = over(3, a, k=6, which="LA", block=block)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a.toarray())[-6:], rtol=1e-12)
    require_pairs(a, values, vectors, 2.3e-16)
    assert info.block == block and info.columns > 1.5 * info.passes


@pytest.mark.parametrize("factor", [1e-160, 1e150])
def test_a_multiple_has_the_same_digits(factor):
    a = ps.generate.laplacian((20, 16))
    values = over(2, ps.csr_array(a.to_scipy() * factor), k=3, which="LA")[0]
    np.testing.assert_allclose(values / factor, np.linalg.eigvalsh(a.toarray())[-3:], rtol=1e-12)


def test_a_space_that_is_invariant_and_a_vector_that_is_given():
    a = ps.csr_array(sp.diags_array(np.r_[np.ones(200), 2 * np.ones(100), 5.0]).tocsr())
    values, vectors, _ = over(3, a, k=4, which="LA", v0=np.ones(301))
    np.testing.assert_allclose(values, [2, 2, 2, 5], rtol=1e-12)
    require_pairs(a, values, vectors, 2.3e-16)


@pytest.mark.parametrize("n", [2, 9, 150])
def test_small_matrices(n):
    a = ps.generate.laplacian((n,))
    values, vectors, info = over(3, a, k=1, which="SA")
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a.toarray())[:1], rtol=1e-10)
    require_pairs(a, values, vectors, 2.3e-16)
    assert info.method == "dense"


def test_random_vectors_do_not_depend_on_the_ranks():
    rows = np.array([5, 0, 2**40, 7])
    np.testing.assert_array_equal(normals(11, rows)[[1, 3]], normals(11, rows[[1, 3]]))
    many = normals(3, np.arange(200_000))
    assert abs(many.mean()) < 0.01 and abs(many.std() - 1) < 0.01
    assert (
        abs(np.mean(many[1:] * many[:-1])) < 0.01 and (normals(4, rows) != normals(3, rows)).all()
    )
    assert abs(np.mean(many**4) - 3) < 0.1


def told(ranks: int, a: Any, partition: Any = "balanced", **how: Any) -> str:
    """What the error says, which every rank raises."""

    def work(comm: Any) -> str:
        mine = {name: f(comm) if callable(f) else f for name, f in how.items()}
        D = ps.dist.csr_array(a, comm, partition=partition)
        with pytest.raises((ValueError, TypeError)) as raised:
            ps.dist.linalg.eigsh(D, **mine)
        again = np.ones(1)
        comm.all_reduce(again, "sum")  # all ranks can go on
        assert again[0] == ranks
        return str(raised.value)

    return ps.dist.run(work, ranks, timeout=60)[0]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"which": "SM"}, "ps.dist.linalg.cg"),
        ({"which": "XX"}, "must be one of LM LA SA BE"),
        ({"k": 0}, "k=0"),
        ({"k": 300}, "k=300 of 300"),
        ({"k": 4, "ncv": 4}, "ncv must be"),
        ({"tol": np.nan}, "tol=nan"),
        ({"rng": lambda comm: np.random.default_rng(1)}, "a seed that is the same on all ranks"),
        ({"block": 0}, "block=0"),
        ({"v0": lambda comm: np.ones(3)}, "v0"),
        ({"k": lambda comm: 2 + comm.rank}, "k"),
        ({"v0": lambda comm: None if comm.rank else np.ones(150)}, "on some ranks and not"),
        ({"v0": lambda comm: np.zeros(150)}, "v0 is zero on all ranks"),
    ],
)
def test_bad_arguments(how, says):
    assert says in told(2, ps.generate.laplacian((300,)), "contiguous", **how)


def test_bad_matrices():
    a = ps.generate.laplacian((300,)).to_scipy().tolil()
    a[3, 7] = 1.0
    assert "not symmetric" in told(2, ps.csr_array(a.tocsr()))
    a[3, 7] = np.nan
    assert "not finite" in told(2, ps.csr_array(a.tocsr()))
    assert "square" in told(2, ps.csr_array(np.ones((4, 300))))


def test_what_has_converged_is_in_the_error():
    a = ps.generate.laplacian((3000,))

    def work(comm: Any) -> Any:
        D = ps.dist.csr_array(a, comm)
        with pytest.raises(ArpackNoConvergence, match="No convergence") as raised:
            ps.dist.linalg.eigsh(D, k=3, which="SA", maxiter=2)
        return raised.value.eigenvalues, raised.value.eigenvectors.shape

    for values, shape in ps.dist.run(work, 2, timeout=60):
        assert len(values) < 3 and shape == (1500, len(values))
