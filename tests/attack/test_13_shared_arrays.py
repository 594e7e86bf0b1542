"""A matrix made of arrays that somebody else writes stays what it was."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from attack_support import run_alone

import penstock as ps


def graph(n: int = 400, dtype: type = np.float64) -> sp.csr_array:
    rng = np.random.default_rng(3)
    S = sp.random_array((n, n), density=0.03, format="csr", rng=rng, dtype=np.float64)
    S.data[:] = np.round(S.data * 8) + 1
    return S.astype(dtype)


def results(A: ps.csr_array) -> dict[str, np.ndarray]:
    """Of everything that may look at other forms of a matrix."""
    x, X = np.arange(A.shape[1]) % 7 - 3.0, np.eye(A.shape[1], 3)
    same_type = x.astype(np.float64 if A.dtype == bool else A.dtype)
    found = {
        "product": A @ x,
        "columns": A @ X,
        "transposed": A.T @ x,
        "formed": A.T.formed() @ x,
        "streamed": A.dot(x, schedule=ps.Streamed(block=4096)),
        "blocked": A.dot(same_type, algorithm="blocked"),
        "binned": A.dot(same_type, algorithm="binned"),
        "sum": A.sum(axis=1),
        "sssp": ps.csgraph.sssp(A, 0),
        "pagerank": ps.csgraph.pagerank(A),
        "bfs": ps.csgraph.bfs(A, 0),
        "components": ps.csgraph.connected_components(A)[1],
        "spgemm": (A @ A).toarray(),
        "data": A.data.copy(),
        "indices": A.indices.copy(),
        "dense": A.toarray(),
    }
    return {name: np.asarray(value) for name, value in found.items()}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def duplicates() -> sp.csr_array:
    data, indices = np.array([1.0, 2, 3, 4]), np.array([1, 1, 0, 0], np.int32)
    return sp.csr_array((data, indices, np.array([0, 2, 3, 4], np.int32)), shape=(3, 2))


def test_what_scipy_rewrites_in_place_does_not_reach_the_matrix():
    S = duplicates()
    A = ps.csr_array(S)
    np.testing.assert_array_equal(A @ np.ones(2), [3, 3, 4])
    S.max()  # sums duplicates in place
    assert S.nnz == 3
    np.testing.assert_array_equal(A @ np.ones(2), [3, 3, 4])


CHANGES = {
    "max": lambda S: S.max(),
    "sum_duplicates": lambda S: S.sum_duplicates(),
    "sort_indices": lambda S: S.sort_indices(),
    "eliminate_zeros": lambda S: S.eliminate_zeros(),
    "resize": lambda S: S.resize((10, 10)),
    "prune": lambda S: S.prune(),
    "setdiag": lambda S: S.setdiag(5.0),
    "times": lambda S: S.__imul__(3.0),
    "values": lambda S: S.data.__setitem__(slice(None), 77.0),
    "a value": lambda S: S.data.__setitem__(5, -1e30),
    "columns beyond": lambda S: S.indices.__setitem__(slice(None), 2**31 - 1),
    "columns before": lambda S: S.indices.__setitem__(slice(3, 90), -(2**31)),
    "offsets": lambda S: S.indptr.__setitem__(slice(1, -1), 2**31 - 1),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.bool_])
def test_no_change_of_the_users_arrays_is_seen(dtype, wide):
    """Before and after other forms of the matrix were made: always the old values."""
    for name, change in CHANGES.items():
        S = graph(200, dtype)
        S.indices[5:9] = S.indices[4]  # duplicates, unsorted
        if wide:
            S.indptr, S.indices = S.indptr.astype(np.int64), S.indices.astype(np.int64)
        if dtype == np.bool_ and name in ("times", "setdiag", "a value"):
            continue
        fresh = results(ps.csr_array(S.copy()))
        early, late = ps.csr_array(S), ps.csr_array(S)
        same(fresh, results(early))
        change(S)
        same(fresh, results(early))
        same(fresh, results(late))


def test_changed_arrays_never_end_the_process():
    told = run_alone(
        """
        import numpy as np, penstock as ps, scipy.sparse as sp
        rng = np.random.default_rng(0)
        S = sp.random_array((3000, 3000), density=0.01, format="csr", rng=rng)
        A = ps.csr_array(S); B = ps.csr_array((S.data, S.indices, S.indptr), shape=S.shape)
        A.prepare("blocked"); x = np.ones(3000); y = A @ x
        S.indices[:] = 2**31 - 1; S.indptr[1:-1] = -2**31
        for M in (A, B):
            assert np.allclose(M @ x, y)
            M.T @ x; M @ M; ps.csgraph.bfs(M, 0); ps.csgraph.triangle_count(M); ps.reorder.rcm(M)
            M.without_duplicates()
        print("done")
        """
    )
    assert told.stdout.strip() == "done", told.stderr


def test_arrays_in_every_form_are_copied():
    S = graph()
    parts = {
        "tuple": (S.data, S.indices, S.indptr.astype(np.int64)),
        "slices": (np.tile(S.data, 2)[: S.nnz], S.indices[:], S.indptr.astype(np.int64)[:]),
        "marked": (S.data.copy(), S.indices.copy(), S.indptr.astype(np.int64)),
    }
    for array in parts["marked"]:
        array.flags.writeable = False  # can be marked back
    for name, given in parts.items():
        A = ps.csr_array(given, shape=S.shape)
        for array in given:
            for own in (A.data, A.indices, A.indptr):
                assert not np.shares_memory(own, array), name
    coo = S.tocoo()
    for given in (coo, S.tocsc(), sp.csr_matrix(S)):
        A = ps.csr_array(given)
        before = A.toarray()
        given.data[:] = -1
        np.testing.assert_array_equal(A.toarray(), before)


class OnlyDlpack:
    """An array of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_copied():
    S = graph()
    values = S.data.copy()
    A = ps.csr_array((OnlyDlpack(values), OnlyDlpack(S.indices), OnlyDlpack(S.indptr)), S.shape)
    before = A.toarray()
    values[:] = 99
    np.testing.assert_array_equal(A.toarray(), before)
    torch = pytest.importorskip("torch")
    t = torch.from_numpy(S.toarray()).to_sparse_csr()
    B = ps.csr_array(t)
    t.values().fill_(99)
    np.testing.assert_array_equal(B.toarray(), before)


def test_what_nobody_writes_is_shared(tmp_path):
    S = graph()
    A = ps.csr_array(S)
    weights = ps.csr_array((A.data, A.indices, A.indptr), shape=A.shape)
    again = ps.csr_array(A.to_scipy())
    for B in (weights, again):
        assert np.shares_memory(A.data, B.data) and np.shares_memory(A.indices, B.indices)
    np.save(tmp_path / "i.npy", S.indices)
    np.save(tmp_path / "d.npy", S.data)
    maps = [np.load(tmp_path / name, mmap_mode="r") for name in ("d.npy", "i.npy")]
    C = ps.csr_array((*maps, S.indptr), shape=S.shape)
    assert np.shares_memory(C.indices, maps[1]) and np.shares_memory(C.data, maps[0])
    private = np.load(tmp_path / "i.npy", mmap_mode="c")
    D = ps.csr_array((maps[0], private, S.indptr), shape=S.shape)
    assert not np.shares_memory(D.indices, private)
    frozen = np.frombuffer(S.data.tobytes())
    assert np.shares_memory(ps.csr_array((frozen, S.indices, S.indptr), S.shape).data, frozen)


def test_sharing_and_copying_by_name():
    S = graph()
    A = ps.csr_array(S, copy=False)
    assert np.shares_memory(A.data, S.data) and np.shares_memory(A.indices, S.indices)
    B = ps.csr_array(A, copy=True)
    C = ps.csr_array((A.data, A.indices, A.indptr), shape=A.shape, copy=True)
    assert not np.shares_memory(B.data, S.data) and not np.shares_memory(C.indices, S.indices)
    same(results(A), results(B))


def test_what_is_handed_out_cannot_be_written():
    A = ps.csr_array(graph())
    before = results(A)
    for array in (A.data, A.indices, A.indptr):
        with pytest.raises(ValueError):
            array[0] = 1
        with pytest.raises(ValueError):
            array.flags.writeable = True
    A = ps.csr_array(duplicates())
    for change in CHANGES.values():
        S = A.to_scipy()
        with contextlib.suppress(ValueError):  # its arrays are read-only
            change(S)
        np.testing.assert_array_equal(A @ np.ones(2), [3, 3, 4])
    A = ps.csr_array(graph())
    for change in CHANGES.values():
        S = A.to_scipy()
        with contextlib.suppress(ValueError):
            change(S)
    same(before, results(A))


def test_a_graph_given_for_one_call_is_read_in_that_call_alone():
    S = graph()
    first = ps.csgraph.sssp(S, 0)
    S.data *= 2
    np.testing.assert_array_equal(ps.csgraph.sssp(S, 0), 2 * first)


def test_pickles_and_copies_stand_alone():
    S = graph()
    A = ps.csr_array(S, copy=False)
    for B in (pickle.loads(pickle.dumps(A)), A.copy()):
        assert not np.shares_memory(B.data, S.data)
