"""Random lifts: coverings of what they are made of, with as many edges moved as was asked for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from lift_support import entries, verify_lift
from penstock.generate import lift

import penstock as ps
from penstock import _core

DTYPES = [bool, np.float32, np.float64, np.complex64, np.complex128]


def untidy(n: int, nnz: int, seed: int, dtype: type = float) -> ps.csr_array:
    """Rows in any order, with duplicates, explicit zeros and a diagonal."""
    rng = np.random.default_rng(seed)
    indptr = np.sort(np.append(rng.integers(0, nnz + 1, n - 1), [0, nnz]))
    values = rng.integers(0, 5, nnz).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values += 1j * rng.integers(0, 5, nnz)
    return ps.csr_array((values, rng.integers(0, n, nnz), indptr), shape=(n, n))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mix", [0, 0.05, 0.5, 1])
@pytest.mark.parametrize("copies", [1, 2, 3, 50])
def test_untidy_matrices(dtype, mix, copies):
    a = untidy(60, 700, 4, dtype)
    verify_lift(a, lift(a, copies, mix, seed=3), copies)


@pytest.mark.parametrize("mix", [0, 0.05, 0.3, 1])
def test_shifts_of_a_symmetric_graph(mix):
    a, copies = ps.generate.rmat(11, self_loops=True, seed=2), 20
    shift = verify_lift(a, lift(a, copies, mix, seed=7), copies)
    row, column, _ = entries(a)
    there = dict(zip(zip(row.tolist(), column.tolist(), strict=True), shift.tolist(), strict=True))
    assert all((s + there[v, u]) % copies == 0 for (u, v), s in there.items())
    assert not shift[row == column].any()
    upper = shift[row < column]
    share, moved = mix * (1 - 1 / copies), upper[upper > 0]
    assert np.count_nonzero(upper) / upper.size == pytest.approx(
        share, abs=4 * (share * (1 - share) / upper.size) ** 0.5
    )
    if mix:  # each distance as often as any other: chi-squared with 18 degrees of freedom
        counts = np.bincount(moved, minlength=copies)[1:]
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 50


def test_symmetry_stays_and_is_known():
    a = ps.generate.rmat(9, seed=1, dtype=np.float64)
    lifted = lift(a, 9, 0.5)
    s = lifted.to_scipy()
    assert (s != s.T).nnz == 0
    assert lifted._derived.symmetric_pattern is True
    directed = lift(ps.generate.rmat(9, undirected=False, seed=1), 9)
    assert directed._derived.symmetric_pattern is None


def test_without_mix_the_copies_are_apart():
    a = ps.generate.road_grid(20, 20, removed=0, seed=1)
    expected = sp.block_diag([a.to_scipy()] * 7, format="csr")
    assert (lift(a, 7, 0).to_scipy() != expected).nnz == 0
    assert ps.csgraph.connected_components(lift(a, 7, 0))[0] == 7
    assert ps.csgraph.connected_components(lift(a, 7, 0.3))[0] == 1


def test_triangles_stay():
    a = ps.generate.watts_strogatz(2000, 10, 0.05, seed=1)
    before, after = ps.csgraph.triangle_count(a), ps.csgraph.triangle_count(lift(a, 50, 0.05))
    assert 0.95**3 - 0.02 < after / (50 * before) < 0.95**3 + 0.03


def test_seeds_and_threads():
    a, before = untidy(5000, 60_000, 1), _core.num_threads()
    made = []
    for threads in (1, 2, 3):
        _core.set_num_threads(threads)
        made.append(lift(a, 11, seed=5))
    _core.set_num_threads(before)
    for other in made[1:]:
        assert made[0].indptr.tobytes() == other.indptr.tobytes()
        assert made[0].indices.tobytes() == other.indices.tobytes()
        assert made[0].data.tobytes() == other.data.tobytes()
    assert made[0].indices.tobytes() != lift(a, 11, seed=6).indices.tobytes()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(0, 40),
    st.integers(1, 9),
    st.floats(0, 1),
    st.integers(0, 2**64 - 1),
)
def test_any_small_matrix(n, nnz, copies, mix, seed):
    a = untidy(n, nnz, seed % 1000)
    verify_lift(a, lift(a, copies, mix, seed=seed), copies)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_matrices_without_entries(n):
    lifted = lift(ps.csr_array((n, n)), 4)
    assert lifted.shape == (4 * n, 4 * n)
    assert lifted.nnz == 0


def test_what_csr_array_takes():
    dense = np.array([[0, 2.0], [3, 0]])
    for given_as in (dense, sp.coo_array(dense), sp.csr_matrix(dense), ps.csr_array(dense).T):
        assert lift(given_as, 3, seed=1).nnz == 6


def test_an_mtx_store_and_a_mapped_one(tmp_path):
    a = untidy(300, 2000, 8)
    a.save(tmp_path / "a.penstock")
    verify_lift(a, lift(ps.load(tmp_path / "a.penstock"), 5), 5)


def test_bad_arguments():
    a = ps.generate.rmat(6)
    for how, text in (
        ({"copies": 0}, "copies = 0: give at least 1"),
        ({"copies": 2**26}, r"give at most 33554431"),
        ({"copies": 2, "mix": 1.5}, "mix = 1.5 is not between 0 and 1"),
        ({"copies": 2, "mix": float("nan")}, "mix = nan is not between"),
        ({"copies": 2, "seed": -1}, "seed = -1"),
    ):
        with pytest.raises(ValueError, match=text):
            lift(a, **how)
    for how in (
        {"copies": 2.5},
        {"copies": True},
        {"copies": np.array([3])},
        {"copies": 2, "mix": "much"},
        {"copies": 2, "mix": "0.1"},
        {"copies": 2, "seed": True},
    ):
        with pytest.raises(TypeError, match="= .* is not an? (integer|number): give"):
            lift(a, **how)
    with pytest.raises(ValueError, match="A is 2 x 5: only square matrices"):
        lift(ps.csr_array((2, 5)), 3)


def test_what_does_not_fit():
    a = ps.generate.rmat(18)
    with pytest.raises(MemoryError, match="this lift needs .* GB are free: ask for fewer copies"):
        lift(a, 8191)


def test_a_gpu_that_does_not_exist():
    a = ps.generate.rmat(5)
    expected = ps.PlacementError if _core.config()["cuda"] else ps.NotCompiledError
    with pytest.raises(expected, match=r"GPU|`device`"):
        lift(a, 3, device=32_767)
    with pytest.raises(TypeError, match="is not a GPU: give ps.device"):
        lift(a, 3, device="cuda:0")
    with pytest.raises(ValueError, match="copies = 0"):  # named before the GPU
        lift(a, 0, device=32_767)
