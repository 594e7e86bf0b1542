"""Generators: the matrices they promise, and the same ones for any number of threads."""

import doctest
import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import _core, generate

EACH = {
    "rmat": lambda dtype, seed: generate.rmat(12, dtype=dtype, seed=seed),
    "rmat directed": lambda dtype, seed: generate.rmat(
        11, 8.5, undirected=False, self_loops=True, scramble=False, dtype=dtype, seed=seed
    ),
    "bter": lambda dtype, seed: generate.bter(12, dtype=dtype, seed=seed),
    "uniform": lambda dtype, seed: generate.uniform(20_000, 3000, 7.5, dtype=dtype, seed=seed),
    "banded": lambda dtype, seed: generate.banded(
        20_000, [-700, 0, 3, 19_999], dtype=dtype, seed=seed
    ),
    "advection_diffusion": lambda dtype, seed: generate.advection_diffusion(31, dtype=dtype),
    "laplacian": lambda dtype, seed: generate.laplacian((40, 30, 20), dtype=dtype),
    "road_grid": lambda dtype, seed: generate.road_grid(190, 210, dtype=dtype, seed=seed),
    "lift": lambda dtype, seed: generate.lift(
        generate.rmat(9, dtype=dtype, seed=seed), 30, 0.3, seed=seed
    ),
    "random_geometric": lambda dtype, seed: generate.random_geometric(
        20_000, 0.01, dtype=dtype, seed=seed
    ),
    "random_geometric in cells": lambda dtype, seed: generate.random_geometric(
        20_000, 0.01, scramble=False, dtype=dtype, seed=seed
    ),
    "barabasi_albert": lambda dtype, seed: generate.barabasi_albert(
        20_000, 5, dtype=dtype, seed=seed
    ),
    "watts_strogatz": lambda dtype, seed: generate.watts_strogatz(
        20_000, 10, 0.2, dtype=dtype, seed=seed
    ),
    "stochastic_block": lambda dtype, seed: generate.stochastic_block(
        [9000, 1, 5000], [[0.001, 0, 0.002], [0, 1, 1], [0.002, 1, 0]], dtype=dtype, seed=seed
    ),
    "planted_partition": lambda dtype, seed: generate.planted_partition(
        200, 100, 0.05, 1e-4, dtype=dtype, seed=seed
    ),
}
MODELS = ["barabasi_albert", "watts_strogatz", "stochastic_block", "planted_partition"]
SEEDED = [name for name in EACH if name not in ("advection_diffusion", "laplacian")]


@pytest.fixture
def threads():
    before = _core.num_threads()
    yield _core.set_num_threads
    _core.set_num_threads(before)


def bits(A):
    values = A.data.tobytes() if A.dtype != bool else b""
    return A.indptr.tobytes(), A.indices.tobytes(), values


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64])
@pytest.mark.parametrize("kind", EACH)
def test_same_for_any_number_of_threads(threads, kind, dtype):
    found = []
    for t in (1, 2, 3):
        threads(t)
        A = EACH[kind](dtype, 42)
        assert A.dtype == dtype
        found.append(bits(A))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", EACH)
def test_rows_are_sorted_and_without_duplicates(kind):
    A = EACH[kind](bool, 5)
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    assert A.nnz == len(A.indices)
    assert A.indices.min() >= 0
    assert A.indices.max() < A.shape[1]
    assert (np.diff(row * A.shape[1] + A.indices) > 0).all()


@pytest.mark.parametrize("kind", SEEDED)
def test_seeds_differ_and_weights_keep_the_structure(kind):
    A, B = EACH[kind](np.float64, 1), EACH[kind](np.float64, 2)
    assert bits(A) != bits(B)
    assert bits(A)[:2] == bits(EACH[kind](bool, 1))[:2]


@pytest.mark.parametrize("kind", ["rmat", "bter", "road_grid", "lift", "random_geometric", *MODELS])
def test_undirected_graphs_are_symmetric(kind):
    S = EACH[kind](np.float64, 3).to_scipy()
    assert (S != S.T).nnz == 0
    assert S.nnz > 0
    assert S.diagonal().sum() == 0
    assert S.data.min() > 0


@pytest.mark.parametrize("kind", ["rmat", "bter", "uniform", "banded", *MODELS])
def test_values_are_uniform(kind):
    v = EACH[kind](np.float64, 3).data
    assert v.min() > 0
    assert v.max() <= 1
    tenths = np.histogram(v, bins=10, range=(0, 1))[0] / len(v)
    assert np.abs(tenths - 0.1).max() < 0.006


# On a GPU: what can be said without one (tests/gpu/test_generate_gpu.py has the rest)


ON_GPU = {
    "rmat": lambda **how: generate.rmat(**{"scale": 5} | how),
    "uniform": lambda **how: generate.uniform(**{"rows": 50} | how),
}


@pytest.mark.parametrize("kind", ON_GPU)
def test_a_gpu_that_does_not_exist(kind):
    expected = ps.PlacementError if _core.config()["cuda"] else ps.NotCompiledError
    for device in (32_767, SimpleNamespace(memory="device", ordinal=32_767)):
        with pytest.raises(expected, match=r"GPU|`device`"):
            ON_GPU[kind](device=device)


@pytest.mark.parametrize("kind", ON_GPU)
def test_what_is_not_a_gpu(kind):
    host = SimpleNamespace(memory="host", ordinal=0)
    unnumbered = SimpleNamespace(memory="device", ordinal=None)
    for device in (host, unnumbered, True, False, "cuda:0", 0.0, []):
        with pytest.raises(TypeError, match="is not a GPU: give ps.device"):
            ON_GPU[kind](device=device)
    for device in (-1, 2**15, 2**70):
        with pytest.raises(ValueError, match="numbered from 0"):
            ON_GPU[kind](device=device)


@pytest.mark.parametrize("kind", ON_GPU)
def test_gpus_that_are_turned_off(kind, monkeypatch):
    for allowed, device in ((0, 0), (2, 2)):
        monkeypatch.setattr(ps.options, "gpus", allowed, raising=False)
        with pytest.raises(ps.PlacementError, match=f"options.gpus allows {allowed} GPUs"):
            ON_GPU[kind](device=device)


def test_bad_arguments_are_named_before_the_gpu():
    for how in ({"scale": 0}, {"scale": 31}, {"a": 0.9, "b": 0.9}, {"edge_factor": -1}):
        with pytest.raises(ValueError, match="is not between|exceeds 1"):
            ON_GPU["rmat"](device=32_767, **how)
    for how in ({"rows": -1}, {"cols": 2**31}, {"nnz_per_row": 51}):
        with pytest.raises(ValueError, match="is not between|is negative"):
            ON_GPU["uniform"](device=32_767, **how)


# R-MAT


@pytest.mark.parametrize("scale", [1, 5, 6, 7, 13])
def test_rmat_quadrants(scale):
    """The share of edges in each quadrant, at the top level and at the bottom one."""
    p = {"a": 0.5, "b": 0.25, "c": 0.15}
    A = generate.rmat(
        scale, 2**17 / 2**scale, undirected=False, self_loops=True, scramble=False, **p
    )
    C = A.to_scipy().tocoo()
    if scale < 13:  # too dense to count: every cell that can be drawn is there
        assert A.nnz == 4**scale if scale <= 5 else A.nnz > 3**scale
        return
    top = np.bincount(2 * (C.row >> (scale - 1)) + (C.col >> (scale - 1)), minlength=4) / C.nnz
    low = np.bincount(2 * (C.row & 1) + (C.col & 1), minlength=4) / C.nnz
    np.testing.assert_allclose(low, [0.5, 0.25, 0.15, 0.1], atol=0.012)
    assert C.nnz < 2**17
    np.testing.assert_allclose(
        top, [0.5, 0.25, 0.15, 0.1], atol=0.03
    )  # merging thins the dense corner


def test_rmat_extreme_probabilities():
    all_a = generate.rmat(6, a=1, b=0, c=0, undirected=False, self_loops=True, scramble=False)
    assert all_a.nnz == 1
    assert all_a.indices[0] == 0
    anti = generate.rmat(6, a=0, b=0.5, c=0.5, scramble=False)
    assert (anti.indices == 63 - np.repeat(np.arange(64), np.diff(anti.indptr))).all()


def test_rmat_scramble_renames_and_no_more():
    plain = generate.rmat(12, scramble=False, seed=9)
    mixed = generate.rmat(12, scramble=True, seed=9)
    degrees = [np.diff(A.indptr) for A in (plain, mixed)]
    np.testing.assert_array_equal(np.sort(degrees[0]), np.sort(degrees[1]))
    assert degrees[0].argmax() == 0
    assert degrees[1][:16].sum() < degrees[0][:16].sum() / 4


def test_rmat_size():
    A = generate.rmat(14)
    assert A.shape == (2**14, 2**14)
    assert 0.75 < A.nnz / (32 * 2**14) < 1
    B = generate.rmat(14, self_loops=True)
    loops = B.to_scipy().diagonal().sum()
    assert loops > 0
    assert B.nnz == A.nnz + loops


# BTER


def test_bter_degrees_hit_the_mean_and_the_maximum():
    for n, mean, top in [(2**18, 32, 5120), (1000, 8, 100), (2**25, 32, 57_000), (5000, 1.5, 70)]:
        counts = generate.bter_degrees(n, mean, top)
        assert counts.sum() == n
        assert counts[0] == 0
        assert (counts >= 0).all()
        assert counts @ np.arange(len(counts)) / n == pytest.approx(mean, rel=2e-3)
        assert top / 4 < len(counts) - 1 <= top


def test_bter_matches_its_targets():
    counts = generate.bter_degrees(2**15, 32)
    profile = generate.bter_clustering(counts, 0.5, 0.15)
    A = generate.bter(degrees=counts, clustering_per_degree=profile, seed=4)
    assert bits(A) == bits(generate.bter(15, seed=4))
    degrees = np.diff(A.indptr)
    assert degrees.mean() == pytest.approx(32, rel=0.03)
    found = np.bincount(degrees, minlength=len(counts))
    for low, high in [(2, 4), (4, 8), (8, 16), (16, 32), (32, 64), (64, 128), (128, 256)]:
        assert found[low:high].sum() == pytest.approx(counts[low:high].sum(), rel=0.06), (low, high)

    S = A.to_scipy().astype(np.float64)
    wedges = degrees * (degrees - 1.0)
    closed = np.asarray((S @ S).multiply(S).sum(axis=1)).ravel()
    assert 0.12 < closed.sum() / wedges.sum() < 0.21
    for low, high in [(4, 8), (8, 16), (16, 32), (32, 64), (64, 128)]:
        here = (degrees >= low) & (degrees < high)
        assert (closed / np.maximum(wedges, 1))[here].mean() == pytest.approx(
            profile[degrees[here]].mean(), rel=0.1
        ), (low, high)


def test_bter_extremes():
    cliques = generate.bter(degrees=[0, 0, 0, 40], clustering_per_degree=[1.0] * 4, scramble=False)
    expected = sp.block_diag([np.ones((4, 4)) - np.eye(4)] * 10).toarray()
    np.testing.assert_array_equal(cliques.to_scipy().toarray(), expected)
    loose = generate.bter(degrees=[5, 0, 1000], clustering_per_degree=[0.0] * 3, scramble=False)
    assert loose.shape == (1005, 1005)
    assert loose.indptr[1000] == loose.nnz
    assert 0.9 < loose.nnz / 2000 <= 1
    assert generate.bter(degrees=[7], clustering_per_degree=[0.0]).nnz == 0
    odd = generate.bter(degrees=[0, 3, 0, 0, 3, 0, 1], clustering_per_degree=[0.9] * 7)
    assert odd.shape == (7, 7)


@settings(deadline=None)
@given(
    degrees=st.lists(st.integers(0, 30), min_size=1, max_size=12),
    clustering=st.lists(st.floats(0, 1), min_size=12, max_size=12),
    seed=st.integers(0, 2**64 - 1),
)
def test_bter_any_distribution(degrees, clustering, seed):
    n = sum(degrees)
    if n == 0 or any(c and d >= n for d, c in enumerate(degrees)):
        return
    A = generate.bter(degrees=degrees, clustering_per_degree=clustering[: len(degrees)], seed=seed)
    S = A.to_scipy().astype(int)
    assert S.shape == (n, n)
    assert S.diagonal().sum() == 0
    assert (S != S.T).nnz == 0


# Uniform, banded, stencils, roads


def test_uniform_rows_and_columns():
    A = generate.uniform(50_000, 20_000, 8.25, seed=1)
    assert A.nnz == pytest.approx(50_000 * 8.25, rel=1e-3)
    lengths = np.diff(A.indptr)
    assert lengths.var() == pytest.approx(8.25, rel=0.05)  # Poisson
    assert np.bincount(A.indices, minlength=20_000).var() == pytest.approx(8.25 * 2.5, rel=0.05)
    assert generate.uniform(4, 4, 0).nnz == 0


@settings(deadline=None)
@given(n=st.integers(1, 40), data=st.data())
def test_banded(n, data):
    offsets = data.draw(st.lists(st.integers(1 - n, n - 1), unique=True))
    A = generate.banded(n, offsets, dtype=bool)
    expected = sum((sp.eye_array(n, k=k) for k in offsets), sp.csr_array((n, n)))
    np.testing.assert_array_equal(A.to_scipy().toarray(), expected.toarray() != 0)


def second_difference(n):
    return sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])


def kron_sum(parts):
    """The sum over axes, the first axis fastest."""
    total = sp.csr_array((1, 1))
    for part in parts:
        total = sp.kron(sp.eye_array(part.shape[0]), total) + sp.kron(
            part, sp.eye_array(total.shape[0])
        )
    return sp.csr_array(total)


@settings(deadline=None)
@given(extents=st.lists(st.integers(1, 7), min_size=1, max_size=3))
def test_laplacian(extents):
    A = generate.laplacian(extents).to_scipy()
    expected = kron_sum([second_difference(n) for n in extents])
    np.testing.assert_array_equal(A.toarray(), expected.toarray())
    if A.shape[0] <= 60:
        assert np.linalg.eigvalsh(A.toarray()).min() > 0


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_advection_diffusion(n):
    a, b, c = 0.3, 0.7, 0.25
    h = 1 / (n + 1)
    first = sp.diags_array([-np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n)) / (
        2 * h
    )
    axis = a * second_difference(n) / h**2 + b * first
    expected = kron_sum([axis] * 3) + c * sp.eye_array(n**3)
    A = generate.advection_diffusion(n, a=a, b=b, c=c)
    np.testing.assert_allclose(A.to_scipy().toarray(), expected.toarray(), rtol=1e-13)
    assert A.nnz == 7 * n**3 - 6 * n**2
    D = generate.advection_diffusion(n)
    centre = 6 / 80 * (n + 1) ** 2
    np.testing.assert_allclose(D.to_scipy().diagonal(), centre)


def test_road_grid():
    A = generate.road_grid(60, 50, removed=0, diagonals=0, dtype=bool)
    L = generate.laplacian((60, 50))
    np.testing.assert_array_equal((A.to_scipy().toarray()), (L.to_scipy().toarray() < 0))
    full = generate.road_grid(5, 4, removed=0, diagonals=1)
    assert full.nnz == 2 * (4 * 4 + 5 * 3 + 2 * 4 * 3)
    B = generate.road_grid(300, 200, seed=2)
    assert B.nnz / 60_000 == pytest.approx(4 * 0.7 + 4 * 0.05, rel=0.03)
    S = B.to_scipy()
    assert (S.data == np.round(S.data)).all()
    assert S.data.min() == 1
    assert S.data.max() == 14
    _, component = sp.csgraph.connected_components(S)
    assert np.bincount(component).max() > 0.9 * 60_000
    hops = sp.csgraph.dijkstra(S, unweighted=True, indices=np.bincount(component).argmax())
    assert hops[np.isfinite(hops)].max() > 100


# Refusals


@pytest.mark.parametrize(
    ("match", "call"),
    [
        ("scale = 0 is not between 1 and 30", lambda: generate.rmat(0)),
        ("scale = 31 ", lambda: generate.rmat(31)),
        ("scale = 4294967296 ", lambda: generate.rmat(2**32)),
        ("edge_factor = -1 ", lambda: generate.rmat(4, -1)),
        ("edge_factor = nan ", lambda: generate.rmat(4, float("nan"))),
        (r"a \+ b \+ c = 1.1", lambda: generate.rmat(4, a=0.5, b=0.3, c=0.3)),
        ("b = -0.1 ", lambda: generate.rmat(4, b=-0.1)),
        ("dtype = int64 ", lambda: generate.rmat(4, dtype=np.int64)),
        ("seed = -1 ", lambda: generate.rmat(4, seed=-1)),
        ("either scale or degrees", lambda: generate.bter()),
        ("either scale or degrees", lambda: generate.bter(5, degrees=[0, 1])),
        ("scale = 31 ", lambda: generate.bter(31)),
        ("third of max_degree = 50", lambda: generate.bter(10, max_degree=50)),
        ("max_degree = 1024 ", lambda: generate.bter(10, max_degree=1024)),
        ("clustering = 0.6 ", lambda: generate.bter(10, clustering=0.6)),
        ("max_clustering = 2 ", lambda: generate.bter(10, max_clustering=2)),
        (
            r"degrees\[1\] = -3 is negative",
            lambda: generate.bter(degrees=[1, -3], clustering_per_degree=[0, 0]),
        ),
        ("must match", lambda: generate.bter(degrees=[1, 2], clustering_per_degree=[0.1])),
        (
            r"clustering\[1\] = 1.5 ",
            lambda: generate.bter(degrees=[1, 2], clustering_per_degree=[0, 1.5]),
        ),
        ("degrees counts no vertices: give one", lambda: generate.bter(degrees=[])),
        ("vertices = 0 is too few: give 1", lambda: generate.bter_degrees(0, 3)),
        ("rows = 0 is too few: give 1", lambda: generate.uniform(0, 5, 2, _keep=(0, 0))),
        ("degree 5 in a graph of 4", lambda: generate.bter(degrees=[0, 0, 0, 0, 0, 4])),
        ("rows = -1 ", lambda: generate.uniform(-1)),
        ("nnz_per_row = 16 in rows of no columns: give 0", lambda: generate.uniform(0)),
        (r"cols = 2147483648 .*2\^31 - 1", lambda: generate.uniform(4, 2**31)),
        ("nnz_per_row = 5 ", lambda: generate.uniform(4, 4, 5)),
        ("does not fit 64 bits", lambda: generate.uniform(2**70)),
        ("n = -3 ", lambda: generate.banded(-3, [0])),
        ("diagonal 4 is outside", lambda: generate.banded(4, [4])),
        ("diagonal 1 is given twice", lambda: generate.banded(4, [1, 1])),
        ("diagonals = 4: a half bandwidth", lambda: generate.banded(4, 4)),
        ("n = -1 is negative", lambda: generate.advection_diffusion(-1)),
        ("n = 1291 ", lambda: generate.advection_diffusion(1291)),
        ("4 extents", lambda: generate.laplacian((2, 2, 2, 2))),
        ("0 extents", lambda: generate.laplacian(())),
        ("extent 1 = -2 is negative", lambda: generate.laplacian((2, -2))),
        (r"more than 2\^31 - 1 points", lambda: generate.laplacian((2**16, 2**16))),
        ("nx = -1 is negative", lambda: generate.road_grid(-1, 3)),
        ("removed = 2 ", lambda: generate.road_grid(0, 3, removed=2)),
        (r"exceeds 2\^31 - 1", lambda: generate.road_grid(2**20, 2**20)),
        ("removed = 1.5 ", lambda: generate.road_grid(3, 3, removed=1.5)),
    ],
)
def test_refuses(match, call):
    with pytest.raises(ValueError, match=match):
        call()


def test_refuses_other_types():
    with pytest.raises(TypeError, match=r"scale = 4\.5 is not an integer"):
        generate.rmat(4.5)
    for flag in ("undirected", "self_loops", "scramble"):
        with pytest.raises(TypeError, match=f"{flag} = 'no': give True or False"):
            generate.rmat(4, **{flag: "no"})
        generate.rmat(4, **{flag: np.bool_(False)})
    with pytest.raises(TypeError, match="edge_factor = 'many' is not a number"):
        generate.rmat(4, "many")
    with pytest.raises(
        TypeError, match="edge_factor = '16' is not a number: give an int or a float"
    ):
        generate.rmat(4, "16")
    with pytest.raises(TypeError, match="seed = 1.5 is not an integer"):
        generate.rmat(4, seed=1.5)
    with pytest.raises(TypeError, match="dtype = None is no dtype: give bool"):
        generate.uniform(4, nnz_per_row=2, dtype=None)
    for degrees in ([1.5], ["3"]):
        with pytest.raises(TypeError, match="degrees is not an array of integers"):
            generate.bter(degrees=degrees)
    with pytest.raises(TypeError, match="clustering_per_degree is not an array of numbers"):
        generate.bter(degrees=[3, 2], clustering_per_degree=["0.1", "0.1"])


def test_no_rows():
    for made, shape in (
        (generate.uniform(0, 5, 2), (0, 5)),
        (generate.uniform(5, 0, 0), (5, 0)),
        (generate.banded(0, 0), (0, 0)),
        (generate.advection_diffusion(0), (0, 0)),
        (generate.laplacian((2, 0)), (0, 0)),
        (generate.road_grid(0, 3), (0, 0)),
    ):
        assert (made.shape, made.nnz, made.dtype) == (shape, 0, np.float64)


def test_refuses_what_cannot_fit():
    with pytest.raises(MemoryError, match="GB are free"):
        generate.rmat(30, 1000)
    with pytest.raises(MemoryError, match="GB are free"):
        generate.uniform(2**31 - 1, nnz_per_row=1000)


@pytest.mark.parametrize(
    "name", sorted(p.stem for p in Path(generate.__file__).parent.glob("_*.py"))
)
def test_doctests(name):
    assert ps.csr_array  # the examples need the package
    module = (
        generate if name == "__init__" else importlib.import_module(f"penstock.generate.{name}")
    )
    assert doctest.testmod(module).failed == 0
