"""Every cell of "where A is x where x is" for products with arrays of CuPy and PyTorch: types, layouts, semirings,
streams, threads and CUDA graphs, against SciPy on the CPU."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

DTYPES = ["float32", "float64", "complex64", "complex128"]
CLOSE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-11, "complex128": 1e-11}


class CuPy:
    def __init__(self) -> None:
        self.xp = pytest.importorskip("cupy")

    def there(self, v: np.ndarray) -> Any:
        return self.xp.asarray(v, order="K")

    def back(self, v: Any) -> np.ndarray:
        assert isinstance(v, self.xp.ndarray)
        return self.xp.asnumpy(v)

    def stream(self) -> Any:
        return self.xp.cuda.Stream(non_blocking=True)


class Torch:
    def __init__(self) -> None:
        self.xp = pytest.importorskip("torch")

    def there(self, v: np.ndarray) -> Any:
        if v.ndim == 2 and v.flags.f_contiguous and not v.flags.c_contiguous:
            return self.xp.from_numpy(np.ascontiguousarray(v.T)).cuda().t()
        return self.xp.from_numpy(np.ascontiguousarray(v)).cuda()

    def back(self, v: Any) -> np.ndarray:
        assert isinstance(v, self.xp.Tensor)
        return v.cpu().numpy()

    def stream(self) -> Any:
        return self.xp.cuda.Stream()


@pytest.fixture(params=[CuPy, Torch])
def lib(request: pytest.FixtureRequest) -> Any:
    return request.param()


def matrix(rows: int, cols: int, dtype: str = "float64", density: float = 0.02) -> ps.csr_array:
    rng = np.random.default_rng(3)
    a: Any = sp.random(rows, cols, density, format="csr", random_state=rng)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * sp.random(rows, cols, density, format="csr", random_state=rng)
    return ps.csr_array(a.astype(dtype))


def numbers(shape: tuple[int, ...], dtype: str = "float64", seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(shape)
    return (v + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else v).astype(dtype)


def held(a: ps.csr_array, where: str) -> ps.csr_array:
    """A in each of the homes that docs/gpu.md lists."""
    if where == "device":
        return a.to(ps.device(0))
    if where == "pinned":
        return a.to(ps.pinned)
    if where == "plan":
        a.prepare(schedule=ps.InCore(device=0))
    if where == "streamed":
        a.prepare(schedule=ps.Streamed(device=0, block="64KiB", keep=False))
    return a


HOMES = ["host", "pinned", "plan", "streamed", "device"]


@pytest.mark.parametrize("where", HOMES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [None, 1, 5, 130])
def test_the_product_is_scipys(lib: Any, where: str, dtype: str, columns: int | None) -> None:
    a = matrix(703, 501, dtype)
    wanted_a = a.to_scipy()
    a = held(a, where)
    x = numbers((501,) if columns is None else (501, columns), dtype)
    y = lib.back(a @ lib.there(x))
    assert y.dtype == np.dtype(dtype)
    np.testing.assert_allclose(y, wanted_a @ x, rtol=CLOSE[dtype], atol=CLOSE[dtype])
    old = numbers((703,) if columns is None else (703, columns), dtype, 9)
    out = lib.there(old)
    assert a.dot(lib.there(x), out=out, alpha=2.0, beta=-0.5) is out
    wanted = 2.0 * (wanted_a @ x) - 0.5 * old
    np.testing.assert_allclose(lib.back(out), wanted, rtol=CLOSE[dtype], atol=10 * CLOSE[dtype])


@pytest.mark.gpu_small
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("columns", [1, 33, 200])
def test_layouts(lib: Any, order: str, columns: int) -> None:
    a = matrix(97, 101)
    x = np.array(numbers((101, columns)), order=order)  # type: ignore[call-overload]
    out = np.array(numbers((97, columns), seed=4), order=order)  # type: ignore[call-overload]
    there = lib.there(out)
    a.to(ps.device(0)).dot(lib.there(x), out=there, beta=1.0)
    np.testing.assert_allclose(lib.back(there), a.to_scipy() @ x + out, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
@pytest.mark.parametrize("columns", [None, 7])
def test_semirings(lib: Any, semiring: str, columns: int | None) -> None:
    a = matrix(300, 200)
    x = np.abs(numbers((200,) if columns is None else (200, columns)))
    if semiring == "or_and":
        x = x > 1.5
    y = a.to(ps.device(0)).dot(lib.there(x), semiring=semiring)
    np.testing.assert_allclose(lib.back(y), a.dot(x, semiring=semiring), rtol=1e-12)


@pytest.mark.parametrize("where", ["host", "device"])
def test_the_transpose(lib: Any, where: str) -> None:
    a = matrix(300, 200)
    x = numbers((300, 3))
    wanted = a.to_scipy().T @ x
    t = held(a, where).T
    np.testing.assert_allclose(lib.back(t @ lib.there(x)), wanted, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        lib.back(t @ lib.there(x[:, 0])), wanted[:, 0], rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("where", ["device", "plan", "streamed"])
def test_work_comes_in_the_order_of_the_callers_stream(lib: Any, where: str) -> None:
    a = held(matrix(4000, 4000, density=0.01), where)
    wanted = matrix(4000, 4000, density=0.01).to_scipy()
    x = numbers((4000,))
    stream = lib.stream()
    with stream if isinstance(lib, CuPy) else lib.xp.cuda.stream(stream):
        v = lib.there(np.zeros(4000))
        for _ in range(50):  # a queue long enough that a product out of order would read zeros
            v = v * 1.0
        v = v + lib.there(x)
        y = a @ v
        z = y * 2.0
    stream.synchronize()
    np.testing.assert_allclose(lib.back(z), 2.0 * (wanted @ x), rtol=1e-10, atol=1e-10)


def test_a_stream_that_is_given(lib: Any) -> None:
    a = matrix(2000, 2000).to(ps.device(0))
    x = numbers((2000, 4))
    stream = lib.stream()
    y = a.dot(lib.there(x), stream=stream)
    z = y + 1.0  # on the library's own stream, which waits
    np.testing.assert_allclose(
        lib.back(z), matrix(2000, 2000).to_scipy() @ x + 1.0, rtol=1e-10, atol=1e-10
    )


def test_two_threads_with_two_streams() -> None:
    cupy = pytest.importorskip("cupy")
    host = matrix(20_000, 20_000, density=0.002)
    a = host.to(ps.device(0))
    xs = [numbers((20_000,), seed=s) for s in range(4)]
    found: list[Any] = [None] * 4

    def work(i: int) -> None:
        with cupy.cuda.Stream(non_blocking=True) as stream:
            x = cupy.asarray(xs[i])
            for _ in range(40):
                y = a @ x
            stream.synchronize()
            found[i] = cupy.asnumpy(y)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x, y in zip(xs, found, strict=True):
        np.testing.assert_allclose(y, host.to_scipy() @ x, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("where", ["device", "plan"])
@pytest.mark.parametrize("columns", [None, 8])
def test_a_graph_of_pytorch(where: str, columns: int | None) -> None:
    torch = pytest.importorskip("torch")
    host = matrix(3000, 3000, density=0.01)
    wanted = host.to_scipy()
    a = held(host, where)
    shape = (3000,) if columns is None else (3000, columns)
    x, y = (torch.zeros(shape, dtype=torch.float64, device="cuda") for _ in range(2))
    a.dot(x, out=y)  # finds out what a capture may not wait for
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        a.dot(x, out=y)
    for seed in (1, 2):
        v = numbers(shape, seed=seed)
        x.copy_(torch.from_numpy(v))
        graph.replay()
        np.testing.assert_allclose(y.cpu().numpy(), wanted @ v, rtol=1e-10, atol=1e-10)


def test_a_capture_of_cupy_and_what_it_cannot_hold() -> None:
    cupy = pytest.importorskip("cupy")
    host = matrix(3000, 3000, density=0.01)
    x, y = cupy.zeros(3000), cupy.zeros(3000)
    a, fresh = host.to(ps.device(0)), matrix(3000, 3000, density=0.011).to(ps.device(0))
    a.dot(x, out=y)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        with pytest.raises(ValueError, match="multiply once before the capture"):
            fresh.dot(x, out=y)
        a.dot(x, out=y)
        graph = stream.end_capture()
        v = numbers((3000,))
        x.set(v)
        graph.launch(stream)
        stream.synchronize()
    np.testing.assert_allclose(cupy.asnumpy(y), host.to_scipy() @ v, rtol=1e-10, atol=1e-10)


def test_a_matrix_that_is_released_while_a_product_is_queued() -> None:
    cupy = pytest.importorskip("cupy")
    wanted = None
    for seed in range(5):
        host = matrix(50_000, 50_000, density=0.001)
        a = host.to(ps.device(0))
        x = cupy.asarray(numbers((50_000,)))
        y = cupy.empty(50_000)
        for _ in range(20):
            a.dot(x, out=y)
        del a
        other = ps.generate.laplacian((400 + seed, 400)).to(ps.device(0))  # takes the memory
        if wanted is None:
            wanted = host.to_scipy() @ cupy.asnumpy(x)
        np.testing.assert_allclose(cupy.asnumpy(y), wanted, rtol=1e-10, atol=1e-10)
        del other


def test_what_is_refused(lib: Any) -> None:
    a = matrix(300, 200).to(ps.device(0))
    x = lib.there(numbers((200,)))
    with pytest.raises(TypeError, match="x is float32 and the matrix float64"):
        a @ lib.there(numbers((200,), "float32"))
    with pytest.raises(ValueError, match="x has shape"):
        a @ lib.there(numbers((201,)))
    with pytest.raises(ValueError, match="out is float64"):
        a.dot(x, out=lib.there(np.zeros(301)))
    with pytest.raises(_core.PlacementError, match="out is in host memory"):
        a.dot(x, out=np.zeros(300))
    with pytest.raises(_core.PlacementError, match="in host memory"):
        a.dot(np.zeros(200), out=lib.there(np.zeros(300)))


def test_jax_gets_its_own_arrays_back() -> None:
    jax = pytest.importorskip("jax")
    if not any(d.platform == "gpu" for d in jax.devices()):
        pytest.skip("JAX has no GPU here")
    a = matrix(300, 200, "float32")
    x = jax.numpy.asarray(numbers((200, 3), "float32"))
    y = a.to(ps.device(0)) @ x
    assert isinstance(y, jax.Array)
    np.testing.assert_allclose(np.asarray(y), a.to_scipy() @ np.asarray(x), rtol=1e-4, atol=1e-4)


def test_calls_like_the_last_one_look_again(lib: Any) -> None:
    """The short way of repeated calls takes vectors like the last ones alone; all others are looked at as before."""
    host = matrix(300, 300)
    a = host.to(ps.device(0))
    x, y = numbers((300,)), lib.there(np.zeros(300))
    wanted = host @ x

    def again() -> None:
        y[:] = 0
        assert a.dot(lib.there(x), out=y) is y
        np.testing.assert_allclose(lib.back(y), wanted, rtol=1e-11, atol=1e-11)

    again()
    assert a._derived.queuers
    again()
    for _ in range(2):
        made = a @ lib.there(x)
        np.testing.assert_allclose(lib.back(made), wanted, rtol=1e-11, atol=1e-11)
    narrow = matrix(300, 300, "float32")
    narrow = narrow.to(ps.device(0))
    for _ in range(2):  # a matrix that knows one type, then the other
        for dtype in ("float32", "float64"):
            v = lib.there(x.astype(dtype))
            found = lib.back(narrow @ v) if dtype == "float32" else lib.back(a @ v)
            assert found.dtype == dtype
    every_other = lib.there(np.repeat(x, 2))[::2]
    np.testing.assert_allclose(lib.back(a.dot(every_other, out=y)), wanted, rtol=1e-11, atol=1e-11)
    again()
    with pytest.raises(TypeError, match="x is float32"):
        a.dot(lib.there(x.astype("float32")), out=y)
    with pytest.raises(ValueError, match="x has shape"):
        a.dot(lib.there(x[:-1].copy()), out=y)
    with pytest.raises(ValueError, match="out is"):
        a.dot(lib.there(x), out=lib.there(np.zeros(301)))
    both = lib.there(np.concatenate([x, x]))
    with pytest.raises(ValueError, match="overlaps"):
        a.dot(both[:300], out=both[1:301])
    with pytest.raises(ValueError, match="overlaps"):
        a.dot(y, out=y)
    again()
    with ps.record() as events:
        again()
    assert len(events) == 1
    a.dot(lib.there(x), out=y, alpha=2.0, beta=1.0)
    np.testing.assert_allclose(lib.back(y), 3 * wanted, rtol=1e-11, atol=1e-11)
    a.release()
    assert a._derived.queuers is None
    again()


def test_gradients_after_a_short_call() -> None:
    torch = pytest.importorskip("torch")
    a = matrix(300, 300).to(ps.device(0))
    x = torch.ones(300, dtype=torch.float64, device="cuda")
    y = torch.empty_like(x)
    for _ in range(2):
        a.dot(x, out=y)
        assert not (a @ x).requires_grad
    x.requires_grad_()
    (a @ x).sum().backward()
    np.testing.assert_allclose(
        x.grad.cpu().numpy(), a.to("host").T @ np.ones(300), rtol=1e-11, atol=1e-11
    )
    complexes = torch.complex(y, y).conj().imag  # real numbers that a flag negates
    assert complexes.is_neg()
    with pytest.raises(TypeError, match="negates"):
        a.dot(torch.ones_like(y), out=complexes)


def test_a_call_takes_microseconds(lib: Any) -> None:
    a = matrix(100, 100, density=0.05).to(ps.device(0))
    x, y = lib.there(numbers((100,))), lib.there(np.zeros(100))
    best = 1.0
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(100):
            a.dot(x, out=y)
        best = min(best, (time.perf_counter() - begin) / 100)
        lib.xp.cuda.Stream().synchronize() if isinstance(
            lib, Torch
        ) else lib.xp.cuda.Device().synchronize()
    assert best < 40e-6  # bench/device_arrays.py measures; this only tells a wait from none
