"""GPU memory from PyTorch's and CuPy's allocators: what they show, who gets it back, threads, too little of it."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from result_libraries import NAMES, library

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

MIB = 1 << 20


class Torch:
    def __init__(self) -> None:
        self.torch: Any = pytest.importorskip("torch")

    def used(self) -> int:
        return int(self.torch.cuda.memory_allocated(0))

    def limit(self, size: int | None) -> None:
        total = self.torch.cuda.mem_get_info(0)[1]
        held = self.torch.cuda.memory_reserved(0)
        self.torch.cuda.set_per_process_memory_fraction(
            1.0 if size is None else min(1.0, (held + size) / total), 0
        )

    def forget(self) -> None:
        self.torch.cuda.empty_cache()


class CuPy:
    def __init__(self) -> None:
        self.pool = pytest.importorskip("cupy").get_default_memory_pool()

    def used(self) -> int:
        return int(self.pool.used_bytes())

    def limit(self, size: int | None) -> None:
        self.pool.set_limit(size=0 if size is None else self.pool.total_bytes() + size)

    def forget(self) -> None:
        self.pool.free_all_blocks()


@pytest.fixture(params=NAMES)
def chosen(request: pytest.FixtureRequest) -> Any:
    """(the library's arrays, its pool), chosen for the test."""
    lib = library(request.param)
    pool = {"torch": Torch, "cupy": CuPy}[request.param]()
    with ps.gpu_allocator(request.param):
        yield lib, pool
        pool.limit(None)
        gc.collect()


def matrix(rows: int = 3000, cols: int = 2000, seed: int = 1, density: float = 0.02) -> Any:
    rng = np.random.default_rng(seed)
    s = sp.random_array((rows, cols), density=density, rng=rng, format="csr")
    s.data = rng.integers(-4, 5, s.nnz).astype(np.float64)  # sums are exact
    return s


def numbers(*shape: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float64)


def test_products_and_where_their_memory_is(chosen: Any) -> None:
    lib, pool = chosen
    s = matrix()
    host = ps.csr_array(s)
    before = pool.used()
    g = host.to(ps.device(0))
    held = pool.used() - before
    assert host.nbytes <= held <= host.nbytes + 8 * MIB
    x, several = numbers(2000), numbers(2000, 20)
    np.testing.assert_array_equal(lib.get(g @ lib.put(x)), s @ x)
    np.testing.assert_array_equal(lib.get(g @ lib.put(several)), s @ several)
    np.testing.assert_array_equal(lib.get(g.T @ lib.put(numbers(3000))), s.T @ numbers(3000))
    del g
    gc.collect()
    assert pool.used() == before


def test_sparse_products(chosen: Any) -> None:
    _, pool = chosen
    s, t = matrix(400, 300), matrix(300, 500, seed=3)
    before = pool.used()
    c = ps.csr_array(s).to(ps.device(0)) @ ps.csr_array(t).to(ps.device(0))
    assert pool.used() - before >= c.nbytes
    np.testing.assert_array_equal(c.to(ps.host).toarray(), (s @ t).toarray())
    del c
    gc.collect()
    assert pool.used() == before


def test_a_streamed_plan(chosen: Any) -> None:
    _, pool = chosen
    s = matrix()
    a = ps.csr_array(s)
    before = pool.used()
    with ps.options(device_memory="2MB"):
        a.prepare(schedule=ps.Streamed(device=0))
        np.testing.assert_array_equal(a @ numbers(2000), s @ numbers(2000))
    assert 0 < pool.used() - before <= 3 * MIB
    a.release()
    gc.collect()
    assert pool.used() == before


def test_levels_of_a_search(chosen: Any) -> None:
    lib, pool = chosen
    a = ps.generate.rmat(12, 16, seed=1)
    before = pool.used()
    out = lib.full((a.shape[0],), -7, np.int32)
    levels = ps.csgraph.bfs(a, 0, out=out, device=0)
    np.testing.assert_array_equal(lib.get(levels), ps.csgraph.bfs(a, 0, device="cpu"))
    a.release()
    del out, levels
    gc.collect()
    assert pool.used() == before


def test_another_choice_in_between(chosen: Any) -> None:
    lib, pool = chosen
    s = matrix()
    host = ps.csr_array(s)
    before = pool.used()
    first = host.to(ps.device(0))
    theirs = pool.used()
    with ps.gpu_allocator("cuda"):
        assert ps.gpu_allocator().name == "cuda"
        second = host.to(ps.device(0))
        assert pool.used() == theirs
        np.testing.assert_array_equal(lib.get(first @ lib.put(numbers(2000))), s @ numbers(2000))
        del first
        gc.collect()
        assert pool.used() == before
    assert ps.gpu_allocator().name == lib.name
    np.testing.assert_array_equal(lib.get(second @ lib.put(numbers(2000))), s @ numbers(2000))
    del second
    gc.collect()
    assert pool.used() == before


def test_both_libraries_in_turn() -> None:
    libs = [library(name) for name in NAMES]
    s = matrix()
    made = []
    for lib in libs:
        with ps.gpu_allocator(lib.name):
            made.append(ps.csr_array(s).to(ps.device(0)))
    for a in made:
        for lib in libs:
            np.testing.assert_array_equal(lib.get(a @ lib.put(numbers(2000))), s @ numbers(2000))


def test_two_threads_on_streams_of_their_own(chosen: Any) -> None:
    lib, pool = chosen
    s = matrix()
    host = ps.csr_array(s)
    g = host.to(ps.device(0))
    warm = lib.put(numbers(2000, 9))
    for x in (warm, warm[:, 0], lib.put(numbers(2000))):
        g @ x  # keeps what products find out once
    del warm, x
    gc.collect()
    before = pool.used()
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x = numbers(2000, 9, seed=seed)
            with lib.stream():
                xs = lib.put(x)
                for _ in range(20):
                    mine = host.to(ps.device(0))
                    for m in (g, mine):
                        np.testing.assert_array_equal(lib.get(m @ xs), s @ x)
                        np.testing.assert_array_equal(lib.get(m @ xs[:, 0]), s @ x[:, 0])
                    del mine, m
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (3, 4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    gc.collect()
    assert pool.used() == before


def test_memory_that_is_used_again_while_kernels_run(chosen: Any) -> None:
    """A matrix goes while its product is queued behind long work, and arrays of the library take its memory."""
    lib, _ = chosen
    s = matrix()
    x = lib.put(numbers(2000, 64))
    wanted = s @ numbers(2000, 64)
    for _ in range(5):
        g = ps.csr_array(s).to(ps.device(0))
        g @ x  # finds out what the next one need not wait for
        with lib.stream():
            lib.busy()
            y = g @ x
            del g
            gc.collect()
            filled = [lib.full((s.nnz,), 99, np.float64) for _ in range(4)]
            np.testing.assert_array_equal(lib.get(y), wanted)
            del filled


def test_too_little_memory_is_said(chosen: Any) -> None:
    lib, pool = chosen
    host = ps.csr_array(matrix(20_000, 20_000, density=0.01))  # 48 MB
    pool.forget()
    pool.limit(8 * MIB)
    with pytest.raises(MemoryError) as raised:
        host.to(ps.device(0))
    text = str(raised.value)
    for part in (
        "cannot allocate",
        "bytes of memory on GPU 0",
        f"allocator of {lib.name}",
        "Streamed",
        "It said:",
    ):
        assert part in text
    pool.limit(None)
    assert host.to(ps.device(0)).place == "device"


def test_what_the_pool_keeps_counts_as_free(chosen: Any) -> None:
    lib, pool = chosen
    pool.forget()
    big = 2048 * MIB
    lib.full((1,), 0.0, np.float64)  # the library loads its kernels, which take memory, too
    before, total = _core.gpu_memory(0)
    filled = lib.full((big // 8,), 0.0, np.float64)
    with_it = _core.gpu_memory(0)[0]
    assert before - with_it >= big - 64 * MIB
    del filled
    gc.collect()
    assert _core.gpu_memory(0)[0] >= before - 64 * MIB
    with ps.gpu_allocator("cuda"):  # which cannot have what the library keeps
        assert _core.gpu_memory(0)[0] <= before - big + 64 * MIB
    # A product that needs more than the driver has free finds it in the pool.
    with_kept = ps.csr_array(matrix()).to(ps.device(0))
    assert with_kept.place == "device" and total > 0


def test_a_captured_product(chosen: Any) -> None:
    """Scratch memory of a captured kernel belongs to the graph: later allocations of the library do not touch it."""
    lib, _ = chosen
    if lib.name != "torch":
        pytest.skip("captured by PyTorch")
    torch = pytest.importorskip("torch")
    s = matrix()
    a = ps.csr_array(s).to(ps.device(0))
    x, y = lib.put(numbers(2000)), lib.full((3000,), 0, np.float64)
    a.dot(x, out=y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        a.dot(x, out=y)
    filled = [lib.full((1000,), 99, np.float64) for _ in range(50)]
    for seed in (5, 6):
        x.copy_(lib.put(numbers(2000, seed=seed)))
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(lib.get(y), s @ numbers(2000, seed=seed))
    assert all((lib.get(f) == 99).all() for f in filled)


def test_gradients_in_pytorchs_threads() -> None:
    torch = pytest.importorskip("torch")
    library("torch")
    s = matrix()
    with ps.gpu_allocator("torch"):
        a = ps.csr_array(s).to(ps.device(0))
        x = torch.from_numpy(numbers(2000, 5)).cuda().requires_grad_()
        (a @ x).sum().backward()
        wanted = np.repeat((s.T @ np.ones(3000))[:, None], 5, axis=1)
        np.testing.assert_array_equal(x.grad.cpu().numpy(), wanted)
