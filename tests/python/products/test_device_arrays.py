"""Products with arrays on a device, with the CPU as the device (number -1): what is asked of arrays, what is refused,
and what the core computes for every type, layout and semiring. tests/gpu/arrays has the same with CuPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from penstock._arrays import device
from penstock._arrays.device import DeviceArray
from penstock._product.on_device import multiply_on_device

import penstock as ps
from penstock import _core

CPU = -1
DTYPES = ["float32", "float64", "complex64", "complex128"]


class Array:
    """An array of a library that says that the CPU is a device."""

    def __init__(self, data: np.ndarray, gpu: int = CPU, writable: bool = True) -> None:
        self.data, self.gpu, self.writable = data, gpu, writable
        self.shape, self.dtype = data.shape, data.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.gpu)


class Library:
    def __init__(self) -> None:
        self.asked: list[int] = []

    def look(self, x: Array) -> DeviceArray:
        steps = tuple(s // x.data.itemsize for s in x.data.strides)
        return DeviceArray(x.data.ctypes.data, x.shape, steps, x.dtype, x.gpu, x.writable)

    def stream(self, gpu: int) -> int:
        self.asked.append(gpu)
        return 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> Array:
        return Array(np.empty(shape, dtype), gpu)

    def finish(self, array: Array, gpu: int, stream: int) -> Array:
        return array

    def queuer(self, queue: Any, x: DeviceArray, y: DeviceArray) -> None:
        return None


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setitem(device._by_type, Array, made)
    return made


def matrix(rows: int, cols: int, dtype: str = "float64") -> ps.csr_array:
    rng = np.random.default_rng(3)
    a: Any = sp.random(rows, cols, 0.1, format="csr", random_state=rng)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * sp.random(rows, cols, 0.1, format="csr", random_state=rng)
    return ps.csr_array(a.astype(dtype))


def numbers(shape: tuple[int, ...], dtype: str = "float64", seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(shape)
    return (v + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else v).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [None, 1, 3, 200])
def test_the_product_is_numpys(dtype: str, columns: int | None) -> None:
    a = matrix(57, 41, dtype)
    x = numbers((41,) if columns is None else (41, columns), dtype)
    y = multiply_on_device(a, Array(x), None)  # of one vector, A.dot would make a plan for GPUs
    close = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(y.data, a.to_scipy() @ x, rtol=close, atol=close)
    assert y.dtype == np.dtype(dtype)


def laid(v: np.ndarray, order: str) -> np.ndarray:
    if order == "strided":
        wide = np.zeros((v.shape[0], 2 * v.shape[1]))
        wide[:, ::2] = v
        return wide[:, ::2]
    if order == "reversed":
        return np.ascontiguousarray(v[::-1])[::-1]
    return np.asfortranarray(v) if order == "F" else np.ascontiguousarray(v)


@pytest.mark.parametrize("x_order", ["C", "F", "strided", "reversed"])
@pytest.mark.parametrize("y_order", ["C", "F", "strided"])
@pytest.mark.parametrize("beta", [None, 0.5])
def test_any_layout(x_order: str, y_order: str, beta: float | None) -> None:
    a = matrix(33, 29)
    x, old = numbers((29, 130)), numbers((33, 130), seed=9)
    out = Array(laid(old, y_order).copy("K") if y_order != "strided" else laid(old, y_order))
    assert a.dot(Array(laid(x, x_order)), out=out, alpha=2.0, beta=beta) is out
    wanted = 2.0 * (a.to_scipy() @ x) + (beta or 0.0) * old
    np.testing.assert_allclose(out.data, wanted, rtol=1e-11, atol=1e-11)


def test_a_strided_vector() -> None:
    a = matrix(20, 30)
    x, y = numbers((60,)), np.zeros(40)
    multiply_on_device(a, Array(x[::2]), Array(y[::2]))
    np.testing.assert_allclose(y[::2], a.to_scipy() @ x[::2], rtol=1e-11, atol=1e-12)
    assert not y[1::2].any()


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
@pytest.mark.parametrize("columns", [None, 5])
def test_semirings(semiring: str, columns: int | None) -> None:
    a = matrix(25, 31)
    x = np.abs(numbers((31,) if columns is None else (31, columns)))
    if semiring == "or_and":
        x = x > 0.7
    y = multiply_on_device(a, Array(x), None, semiring=semiring)
    wanted = a.dot(x, semiring=semiring)
    assert y.dtype == wanted.dtype
    np.testing.assert_allclose(y.data, wanted, rtol=1e-12)


@pytest.mark.parametrize(("rows", "cols", "columns"), [(0, 4, 3), (4, 0, 3), (4, 4, 0), (0, 0, 1)])
def test_empty_shapes(rows: int, cols: int, columns: int) -> None:
    y = ps.csr_array(sp.csr_array((rows, cols))).dot(Array(np.ones((cols, columns))))
    assert y.shape == (rows, columns)
    assert not y.data.any()


def test_patterns_and_mixed_values() -> None:
    a = matrix(30, 30, "float32")
    x = numbers((30, 4))
    np.testing.assert_allclose(a.dot(Array(x)).data, a.to_scipy() @ x, rtol=1e-6)
    pattern = a.astype(bool)
    wanted = pattern.to_scipy().astype(float) @ x
    np.testing.assert_allclose(pattern.dot(Array(x)).data, wanted, rtol=1e-11)


def test_a_transpose_is_formed_once() -> None:
    a = matrix(30, 20)
    x = numbers((30, 4))
    np.testing.assert_allclose(a.T.dot(Array(x)).data, a.to_scipy().T @ x, rtol=1e-11)
    assert a._derived.transpose is a.T.formed()


def test_what_is_refused() -> None:
    a = matrix(30, 20)
    good = Array(numbers((20, 4)))

    def refused(kind: type[Exception], words: str, x: Any, **how: Any) -> None:
        with pytest.raises(kind, match=words):
            a.dot(x, **how)

    elsewhere = _core.PlacementError
    refused(TypeError, "x is float32 and the matrix float64", Array(numbers((20, 4), "float32")))
    refused(ValueError, r"x has shape \(21, 4\): a matrix of 30 x 20", Array(numbers((21, 4))))
    refused(ValueError, r"out is float64 \(30, 5\)", good, out=Array(np.empty((30, 5))))
    refused(ValueError, "read-only", good, out=Array(np.empty((30, 4)), writable=False))
    refused(
        ValueError, "places of their own", good, out=Array(np.broadcast_to(np.empty(4), (30, 4)))
    )
    refused(ValueError, "beta is given without out", good, beta=1.0)
    refused(elsewhere, "out is in host memory", good, out=np.empty((30, 4)))
    refused(elsewhere, "x is in host memory", np.ones((20, 4)), out=Array(np.empty((30, 4))))
    refused(elsewhere, "out is on GPU 3", good, out=Array(np.empty((30, 4)), gpu=3))
    refused(ValueError, "algorithm 'blocked' is for the CPU", good, algorithm="blocked")
    refused(elsewhere, "several columns are on a GPU", good, schedule=ps.Streamed())
    refused(elsewhere, "x is on GPU -1, the product on GPU 0", good, schedule=ps.InCore(device=0))
    refused(ValueError, "x and out are in host memory", np.ones(20), stream=0)
    with pytest.raises(ValueError, match="out overlaps x"):
        matrix(20, 20).dot(good, out=good)


def test_a_tensor_that_a_flag_conjugates_has_no_address() -> None:
    torch = pytest.importorskip("torch")

    class OnGpu:
        is_cuda, layout = True, torch.strided

        def __init__(self, tensor: Any) -> None:
            self.is_conj, self.is_neg = tensor.is_conj, tensor.is_neg

    x = torch.ones(3, dtype=torch.complex128).conj()
    for flagged in (x, x.imag):
        with pytest.raises(TypeError, match="only a flag conjugates or negates"):
            device.Torch().look(OnGpu(flagged))


def test_streams_by_every_name(library: Library) -> None:
    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 7)

    class Torch:
        cuda_stream = 8

    class CuPy:
        ptr = 9

    streams = (Protocol(), Torch(), CuPy(), 10, np.int64(11))
    assert [device.stream_handle(s) for s in streams] == [7, 8, 9, 10, 11]
    with pytest.raises(TypeError, match="is no stream"):
        device.stream_handle("default")
    with pytest.raises(ValueError, match="give a stream's handle"):
        device.stream_handle(-1)
    matrix(20, 20).dot(Array(np.ones((20, 2))))
    assert library.asked == [CPU]  # once: out is of the same library


def test_a_record_says_that_it_was_queued() -> None:
    with ps.record() as events:
        matrix(20, 20).dot(Array(np.ones((20, 2))))
    assert [(e["queued"], e["columns"]) for e in events] == [(True, 2)]


@pytest.mark.parametrize("block", [1024, 4096])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("beta", [None, -1.5])
def test_a_plan_is_queued(block: int, keep: bool, beta: float | None) -> None:
    a = matrix(300, 200)
    a.prepare(schedule=ps.Streamed(device="cpu", block=block, keep=keep))
    plan = next(iter(a._derived.stream_plans[0].values())).core
    assert _core.can_queue(plan, CPU)
    assert not _core.can_queue(plan, 0)
    x, y = numbers((200,)), numbers((300,), seed=8)
    wanted = a.to_scipy() @ x + (beta or 0.0) * y
    for _ in range(2):
        out = y.copy()
        pointers = x.ctypes.data, out.ctypes.data
        _core.queue_plan(plan, *pointers, "float64", "plus_times", None, beta, CPU, 0)
        np.testing.assert_allclose(out, wanted, rtol=1e-11, atol=1e-11)
