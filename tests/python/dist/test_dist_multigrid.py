"""Multigrid over ranks: the levels, the cycle and the iterations of one process, whatever the number of ranks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import real_file
from dist_support import run, solved_by_amg
from penstock.dist.linalg import AMG

import penstock as ps

RANKS = (1, 2, 3, 4)


def grid(*shape: int) -> sp.csr_array:
    return sp.csr_array(ps.generate.laplacian(shape).to_scipy().astype(np.float64))


def diffusion(n: int, seed: int | None) -> sp.csr_array:
    """div k grad u on n x n cells: weak across rows of cells where seed is None, else k is 1 or 1000 in blocks."""
    k = np.ones((n, n))
    if seed is not None:
        blocks = np.random.default_rng(seed).integers(0, 2, (n // 6 + 1, n // 6 + 1))
        k = np.kron(1000.0**blocks, np.ones((6, 6)))[:n, :n]
    number = np.arange(n * n).reshape(n, n)
    across = 1e-3 if seed is None else 1.0
    i = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
    j = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    mean = lambda a, b: 2 / (1 / a + 1 / b)  # noqa: E731
    w = np.concatenate([across * mean(k[:-1], k[1:]).ravel(), mean(k[:, :-1], k[:, 1:]).ravel()])
    off = sp.coo_array((-w, (i, j)), (n * n, n * n)).tocsr()
    off = off + off.T
    return sp.csr_array(sp.diags_array(-off.sum(axis=1) + 1e-2) + off)


def springs(n: int) -> tuple[sp.csr_array, np.ndarray]:
    """Springs along the edges and diagonals of a grid, held weakly everywhere: two unknowns a point; and the modes."""
    x = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).reshape(-1, 2)
    number = np.arange(n * n).reshape(n, n)
    pairs = [(number[:-1], number[1:]), (number[:, :-1], number[:, 1:]),
             (number[:-1, :-1], number[1:, 1:]), (number[1:, :-1], number[:-1, 1:])]  # fmt: skip
    first, second = (np.concatenate([p[k].ravel() for p in pairs]) for k in (0, 1))
    along = (x[second] - x[first]).astype(float)
    along /= np.linalg.norm(along, axis=1)[:, None]
    columns = np.stack([2 * first, 2 * first + 1, 2 * second, 2 * second + 1], 1)
    values = np.concatenate([-along, along], 1)
    shape = len(first), 2 * n * n
    d = sp.csr_array((values.ravel(), columns.ravel(), 4 * np.arange(shape[0] + 1)), shape)
    return sp.csr_array(d.T @ d + 1e-4 * sp.eye_array(shape[1])), ps.linalg.rigid_body_modes(x)


PROBLEMS = {
    "2-D": (lambda: (grid(50, 40), None), {}),
    "3-D": (lambda: (grid(14, 13, 15), None), {"max_coarse": 20}),
    "anisotropic": (lambda: (diffusion(40, None), None), {}),
    "jumps": (lambda: (diffusion(40, 7), None), {"smoother": "l1_jacobi", "cycle": "W", "max_coarse": 40}),
    "springs": (lambda: springs(22), {"block_size": 2, "max_coarse": 30}),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_levels_and_cycles_are_those_of_one_process(name):
    make, how = PROBLEMS[name]
    S, near = make()
    M = ps.linalg.AMG(ps.csr_array(S), near, **how)
    b = np.random.default_rng(3).standard_normal((2, S.shape[0]))[0]
    _, told = ps.linalg.cg(ps.csr_array(S), b, rtol=1e-8, M=M)
    for n in RANKS:
        nodes = S.shape[0] // how.get("block_size", 1)
        owners = np.repeat(np.arange(nodes) * n // nodes, how.get("block_size", 1))
        _, info, levels, (r, z) = solved_by_amg(n, S, near, owners, rows_per_rank=150, **how)
        assert [level[:2] for level in levels] == [tuple(level) for level in M.levels]
        assert levels[0].ranks == n and levels[-1].ranks == 1
        expected = M @ r
        assert np.abs(z - expected).max() <= 1e-10 * np.abs(expected).max()
        assert info.iterations == told.iterations


def test_any_partition_of_whole_rows_takes_about_as_many_iterations():
    S = grid(40, 40)
    wanted = solved_by_amg(1, S)[1].iterations
    rng = np.random.default_rng(5)
    for partition in ("label_propagation", rng.integers(0, 3, 1600), rng.integers(1, 3, 1600)):
        _, info, levels, _ = solved_by_amg(
            3, S, partition=partition, max_coarse=30, rows_per_rank=50
        )
        assert info.iterations <= 1.3 * wanted + 1 and len(levels) > 2


def test_m_is_symmetric_and_positive_over_ranks():
    S = grid(30, 30)
    A = ps.csr_array(S)
    x, y = np.random.default_rng(1).standard_normal((2, 900))
    owners = np.random.default_rng(2).integers(0, 3, 900)

    def work(comm):
        D = ps.dist.csr_array(A, comm, owners)
        M = AMG(D, max_coarse=20, rows_per_rank=40)
        return D.collect(M @ D.share(x)), D.collect(M @ D.share(y))

    mx, my = run(work, 3)[0]
    assert abs(x @ my - y @ mx) <= 1e-12 * np.linalg.norm(x) * np.linalg.norm(my)
    assert x @ mx > 0


@pytest.mark.parametrize("max_levels", [1, 2])
def test_a_last_level_that_is_too_large_is_smoothed_or_solved_by_rank_0(max_levels):
    for S in (grid(60, 60), grid(17, 17)):
        _, _, levels, _ = solved_by_amg(3, S, max_levels=max_levels, max_coarse=100)
        assert len(levels) == max_levels


def test_ranks_without_rows_and_matrices_of_few_rows():
    S = grid(3, 2)
    for n in (3, 4):
        _, info, levels, _ = solved_by_amg(n, S, partition=np.array([1, 1, 1, 1, 2, 2]))
        assert info.iterations == 1 and levels == [(6, 20, 2)]
    with_gap = np.repeat([0, 2], [700, 900])
    assert solved_by_amg(4, grid(40, 40), partition=with_gap)[1].iterations < 12


@pytest.mark.parametrize("kind", ["float32", "precision", "name", "pipecg"])
def test_types_and_names(kind):
    S = grid(40, 40)
    wanted = solved_by_amg(1, S)[1].iterations
    b = np.random.default_rng(3).standard_normal((2, 1600))[0]

    def work(comm):
        A = ps.csr_array(S.astype(np.float32) if kind == "float32" else S)
        D = ps.dist.csr_array(A, comm)
        mine = D.share(b.astype(A.dtype))
        precision = "float32" if kind == "precision" else None
        M = "amg" if kind in ("name", "pipecg") else AMG(D, precision=precision)
        method = ps.dist.linalg.pipecg if kind == "pipecg" else ps.dist.linalg.cg
        x, info = method(D, mine, rtol=1e-5 if kind == "float32" else 1e-8, M=M)
        assert info == 0, info.reason
        return D.collect(x), info.iterations, x.dtype

    x, iterations, dtype = run(work, 3)[0]
    assert dtype == (np.float32 if kind == "float32" else np.float64)
    assert np.linalg.norm(b - S @ x) <= (1e-4 if kind == "float32" else 1.001e-8) * np.linalg.norm(
        b
    )
    assert iterations <= wanted + 1


def test_many_right_hand_sides_and_extreme_scales():
    S = 1e200 * grid(20, 20)
    B = np.random.default_rng(4).standard_normal((400, 3))

    def work(comm):
        D = ps.dist.csr_array(ps.csr_array(S), comm)
        X, info = ps.dist.linalg.cg(D, D.share(B), rtol=1e-8, M=AMG(D, precision="float32"))
        assert info == 0
        return D.collect(X)

    X = run(work, 2)[0]
    assert np.linalg.norm(B - S @ X) <= 1.01e-8 * np.linalg.norm(B)


def test_a_neumann_problem():
    S = diffusion(24, 3)
    S = sp.csr_array(S - 1e-2 * sp.eye_array(576))
    b = np.random.default_rng(3).standard_normal(576)
    b -= b.mean()

    def work(comm):
        D = ps.dist.csr_array(ps.csr_array(S), comm)
        x, info = ps.dist.linalg.cg(D, D.share(b), rtol=1e-6, M=AMG(D, max_coarse=20))
        return D.collect(x), info

    x, info = run(work, 3)[0]
    assert info == 0 and np.linalg.norm(b - S @ x) <= 1.01e-6 * np.linalg.norm(b)


def test_update_keeps_aggregates():
    S = diffusion(30, 1)
    other = S.copy()
    other.data *= 3
    b = np.random.default_rng(3).standard_normal(900)
    longer = sp.csr_array(S + sp.coo_array(([1e-3, 1e-3], ([0, 899], [899, 0])), S.shape))

    def work(comm):
        D, E, F = (
            ps.dist.csr_array(ps.csr_array(a), comm, "contiguous") for a in (S, other, longer)
        )
        M = AMG(D)
        before, levels = M @ D.share(b), M.levels
        M.update(E)
        assert M.levels == levels
        np.testing.assert_allclose(3 * (M @ D.share(b)), before, rtol=1e-10, atol=1e-12)
        with pytest.raises(ValueError, match="another pattern"):
            M.update(F)
        return True

    assert run(work, 3) == [True] * 3


def bad(kind: str) -> sp.csr_array:
    S = grid(30, 30)
    if kind == "zero row":
        S = sp.csr_array(S.multiply((np.arange(900) != 450)[:, None]))
    elif kind == "NaN":
        S[450, 451] = S[451, 450] = np.nan
    elif kind == "not symmetric":
        S[450, 451] = 0.5
    elif kind == "indefinite":
        S = sp.csr_array(S - 3.9 * sp.eye_array(900))
    return S


@pytest.mark.parametrize(
    ("kind", "words"),
    [("zero row", "row 450 is not a positive number"), ("NaN", "row 45[01] holds NaN"),
     ("not symmetric", "A is not symmetric"), ("indefinite", "A is not positive definite")],
)  # fmt: skip
def test_matrices_that_are_refused_are_so_on_all_ranks(kind, words):
    A = ps.csr_array(bad(kind))

    def work(comm):
        D = ps.dist.csr_array(A, comm)
        with pytest.raises(ValueError, match=words) as told:
            ps.dist.linalg.cg(D, np.ones(len(D.rows)), M="amg")
        good = ps.dist.csr_array(ps.csr_array(grid(30, 30)), comm)  # the ranks go on
        assert ps.dist.linalg.cg(good, np.ones(len(good.rows)), M="amg")[1] == 0
        return str(told.value)

    texts = run(work, 3)
    assert len(set(texts)) == 1 and "\n" not in texts[0]


@pytest.mark.parametrize(
    ("how", "words"),
    [({"cycle": "Q"}, "cycle='Q' is unknown"), ({"rows_per_rank": 0}, "at least 1"),
     ({"block_size": 7}, "does not divide"), ({"block_size": 4}, "keeps nodes whole"), ({"strength": 2}, "0 to 1"),
     ({"max_coarse": 0}, "max_coarse=0"), ({"dtype": np.int32}, "float32 or float64"),
     ({"near_nullspace": np.ones(5)}, "near_nullspace has shape"), ({"dtype": "float32"}, "the matrix is float64")],
)  # fmt: skip
def test_wrong_arguments_raise_on_all_ranks(how, words):
    A = ps.csr_array(grid(30, 30))

    def work(comm):
        D = ps.dist.csr_array(A, comm, np.arange(900) * 2 // 901)
        with pytest.raises((ValueError, TypeError), match=words):
            AMG(D, **how)
        return True

    assert run(work, 2) == [True] * 2


def test_what_ranks_must_give_alike_and_partitions_that_split_rows():
    A = ps.csr_array(grid(30, 30))

    def work(comm):
        D = ps.dist.csr_array(A, comm)
        with pytest.raises(ValueError, match="strength"):
            AMG(D, strength=0.1 + 0.1 * comm.rank)
        with pytest.raises(ValueError, match="whole rows"):
            AMG(ps.dist.csr_array(A, comm, "grid"))
        return True

    assert run(work, 4) == [True] * 4


def test_the_report_and_the_device_that_is_not_used():
    A = ps.csr_array(grid(40, 40))

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host)
        M = AMG(D)
        text = str(M.explain())
        assert "level 0: 1600 rows, 7840 nonzeros on 2 ranks" in text and text.count("level") == 2
        for m in (M, "amg"):
            _, info = ps.dist.linalg.cg(D, np.ones(len(D.rows)), M=m)
            assert info == 0 and info.vectors == "cpu" and info.iterations < 8
        return M.operator_complexity, M.grid_complexity, M.nbytes

    results = run(work, 2)
    assert 1 < results[0][0] < 2 and 1 < results[0][1] < 1.5
    assert results[0][:2] == results[1][:2] and min(r[2] for r in results) > 0


@pytest.mark.parametrize("name", ["bodyy5.mtx.gz", "t2dah_e.mtx.gz"])
def test_real_matrices(name):
    S = sp.csr_array(ps.load(real_file(name)).to_scipy().astype(np.float64))
    one, four = (solved_by_amg(n, S)[1].iterations for n in (1, 4))
    assert four <= 1.3 * one
