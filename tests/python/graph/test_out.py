"""`out=` of graph algorithms on the CPU: NumPy's arrays, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from penstock._arrays import device
from penstock._arrays.device import DeviceArray
from penstock._arrays.out import as_out, is_contiguous

import penstock as ps
from penstock import _core

G = ps.generate.rmat(7, seed=1)
N = G.shape[0]
W = ps.csr_array(
    (np.arange(1.0, 301.0), tuple(np.random.default_rng(0).integers(0, 40, (2, 300)))),
    shape=(40, 40),
)

# name -> (the call, dtype)
CALLS = {
    "bfs": (lambda **k: ps.csgraph.bfs(G, 1, **k), "int32"),
    "bfs of several": (lambda **k: ps.csgraph.bfs(G, sources=[1, 5, 1], **k), "int32"),
    "weak components": (lambda **k: ps.csgraph.connected_components(G, **k)[1], "int32"),
    "strong components": (
        lambda **k: ps.csgraph.connected_components(G, connection="strong", **k)[1],
        "int32",
    ),
    "sssp": (lambda **k: ps.csgraph.sssp(W, 1, **k), "float64"),
    "sssp in float32": (lambda **k: ps.csgraph.sssp(W.astype("float32"), 1, **k), "float32"),
    "dijkstra": (lambda **k: ps.csgraph.dijkstra(W, indices=[[1, 2], [3, -1]], **k), "float64"),
    "dijkstra in float32": (lambda **k: ps.csgraph.dijkstra(W.astype("float32"), **k), "float64"),
    "nearest": (lambda **k: ps.csgraph.dijkstra(W, indices=[1, 2], min_only=True, **k), "float64"),
    "shortest_path": (lambda **k: ps.csgraph.shortest_path(W, **k), "float64"),
    "FW": (lambda **k: ps.csgraph.shortest_path(W, "FW", **k), "float64"),
    "BF": (lambda **k: ps.csgraph.shortest_path(W, "BF", indices=[0, 3], **k), "float64"),
    "J": (lambda **k: ps.csgraph.shortest_path(W, "J", indices=2, **k), "float64"),
    "pagerank": (lambda **k: ps.csgraph.pagerank(G, **k), "float64"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_array_is_filled_and_returned(name):
    call, dtype = CALLS[name]
    expected = call()
    out = np.full(expected.shape, -7, dtype)
    assert call(out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", CALLS)
def test_arrays_that_do_not_fit(name):
    call, dtype = CALLS[name]
    shape = call().shape
    with pytest.raises(ValueError, match="out has shape"):
        call(out=np.empty((*shape, 1), dtype))
    with pytest.raises(TypeError, match="out is int16, the result is"):
        call(out=np.empty(shape, np.int16))
    with pytest.raises(ValueError, match="not contiguous"):
        call(out=np.empty((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2])
    fixed = np.empty(shape, dtype)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        call(out=fixed)
    with pytest.raises(TypeError, match="out is list: give a NumPy array"):
        call(out=[0] * shape[-1])


def test_with_predecessors():
    for f in (
        lambda **k: ps.csgraph.bfs(G, 1, **k),
        lambda **k: ps.csgraph.sssp(W, 1, **k),
        lambda **k: ps.csgraph.dijkstra(W, indices=[1, 2], **k),
        lambda **k: ps.csgraph.shortest_path(W, "BF", indices=[1, 2], **k),
    ):
        expected, tree = f(return_predecessors=True)
        out = np.full_like(expected, -7)
        got, found = f(return_predecessors=True, out=out)
        assert got is out
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(found, tree)
    out = np.empty(40)
    got, tree, roots = ps.csgraph.dijkstra(
        W, indices=[1, 2], min_only=True, return_predecessors=True, out=out
    )
    assert got is out
    assert set(roots) <= {-9999, 1, 2}


class There:
    """An array that says that it is on GPU 0, where nobody looks."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer


def test_arrays_on_a_gpu_where_the_cpu_computes(monkeypatch):
    class Library:
        def look(self, x):
            return DeviceArray(x.pointer, (N,), (1,), np.dtype("int32"), 0, True)

    monkeypatch.setitem(device._by_type, There, Library())
    for f in (
        lambda **k: ps.csgraph.bfs(G, 1, **k),
        lambda **k: ps.csgraph.connected_components(G, **k),
        lambda **k: ps.csgraph.connected_components(G, connection="strong", **k),
    ):
        with pytest.raises(ValueError, match="out is on GPU 0, and this call runs on the CPU"):
            f(out=There(64))
        with pytest.raises(ValueError, match="no multiple of 4 bytes"):
            f(out=There(66))
    with pytest.raises(ValueError, match="GPU 1 computes: give device=0"):
        as_out(There(64), (N,), np.int32, [1], "bfs")
    with pytest.raises(ValueError, match="2 GPUs compute"):
        as_out(There(64), (N,), np.int32, [0, 1], "bfs")


def test_labels_that_nobody_wants():
    with pytest.raises(ValueError, match="leave return_labels=False out"):
        ps.csgraph.connected_components(G, return_labels=False, out=np.empty(N, np.int32))


def test_methods_of_the_cpu_take_no_gpu():
    for method in ("FW", "BF", "J"):
        expected = ps.csgraph.shortest_path(W, method)
        np.testing.assert_array_equal(ps.csgraph.shortest_path(W, method, device="cpu"), expected)
    with pytest.raises(ValueError, match="usable here"):
        ps.csgraph.shortest_path(W, "D", device=99)


def test_ranks_stay_with_the_device():
    """The CPU is the device: the core writes the ranks where it is told."""
    edges = ps.csr_array._from_parts(N, N, G.indptr, G.indices, None)
    op = _core.device_op(edges.T.formed()._core, "float64")
    weights = _core.out_weights(edges._core)
    how = (weights, None, None, None, 0.85, 1e-9, 200, False)
    expected, *rest = _core.pagerank_on_device(None, op, *how)
    out = np.full(N, -7.0)
    nothing, *told = _core.pagerank_on_device(None, op, *how, (out.ctypes.data, 0))
    assert nothing is None
    assert told == rest
    np.testing.assert_array_equal(out, expected)


def test_contiguous():
    def seen(shape, steps):
        return DeviceArray(0, shape, steps, np.dtype("float32"), 0, True)

    assert is_contiguous(seen((3, 4), (4, 1)))
    assert is_contiguous(seen((1, 4), (99, 1)))
    assert is_contiguous(seen((3, 1), (1, 77)))
    assert is_contiguous(seen((0, 4), (0, 0)))
    assert not is_contiguous(seen((3, 4), (1, 3)))
    assert not is_contiguous(seen((4,), (2,)))
    assert not is_contiguous(seen((4,), (0,)))
