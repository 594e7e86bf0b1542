"""Who allocates memory of GPUs, without one: the CPU is the device of fake allocators, and modules are fake where a
library or a GPU is missing."""

import ctypes
import gc
import subprocess
import sys
import threading
import types

import pytest
from penstock._plan import gpu_allocator as module

import penstock as ps
from penstock import _core

CPU = -1


class Fake:
    """An allocator over ctypes' buffers. The core keeps it for ever, so that tests share a few."""

    def __init__(self):
        self.held, self.calls, self.error = {}, [], None

    def allocate(self, size, gpu, stream):
        self.calls.append((size, gpu, stream))
        if self.error is not None:
            raise self.error
        buffer = ctypes.create_string_buffer(size)
        address = ctypes.addressof(buffer)
        self.held[address] = buffer
        return address, address

    def free(self, token):
        del self.held[token]

    def room(self, gpu, free):
        return free + 7

    def give_up(self, gpu):
        pass


FIRST, SECOND = Fake(), Fake()


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(module, "_made", {})
    yield
    _core.set_gpu_allocator("cuda", None)
    gc.collect()
    for fake in (FIRST, SECOND):
        fake.error = None
        assert not fake.held


def test_names():
    assert ps.gpu_allocator().name == "cuda" and repr(ps.gpu_allocator()) == "gpu_allocator('cuda')"
    with ps.gpu_allocator("cuda") as chosen:
        assert chosen.name == "cuda"
    for wrong in ("rmm", 3, ["torch"]):
        with pytest.raises(ValueError, match=r"unknown: choose one of cuda, torch, cupy"):
            ps.gpu_allocator(wrong)


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_a_library_that_is_missing(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        ImportError, match=rf"gpu_allocator\('{library}'\) needs .*: pip install {library}"
    ):
        ps.gpu_allocator(library)
    assert ps.gpu_allocator().name == "cuda"


def fake_cupy(available=True, pool=None):
    cuda = types.SimpleNamespace(
        is_available=lambda: available,
        get_allocator=lambda: pool.malloc if pool else len,
        Device=lambda gpu: threading.Lock(),
    )
    return types.SimpleNamespace(__version__="13", cuda=cuda)


def test_a_library_that_has_no_gpu(monkeypatch):
    """Asked where this package finds one."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(available=False))
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(available=False))
    monkeypatch.setattr(_core, "device_count", lambda: 1)
    with pytest.raises(
        ps.PlacementError, match=r"CuPy 13 uses no GPU here.*gpu_allocator\('cuda'\)"
    ):
        ps.gpu_allocator("cupy")
    with pytest.raises(ps.PlacementError, match=r"PyTorch 2 uses no GPU here"):
        ps.gpu_allocator("torch")
    assert ps.gpu_allocator().name == "cuda"


def test_choices_and_their_ends(monkeypatch):
    """A choice holds until the next one, or until its block ends, in every thread."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setitem(sys.modules, "torch", FakeTorch())
    monkeypatch.setattr(_core, "device_count", lambda: 1)

    def name():
        return ps.gpu_allocator().name

    with ps.gpu_allocator("torch") as chosen:
        assert (name(), chosen.name, repr(chosen)) == ("torch", "torch", "gpu_allocator('torch')")
        with ps.gpu_allocator("cupy"):
            found = []
            thread = threading.Thread(target=lambda: found.append(name()))
            thread.start()
            thread.join()
            assert found == ["cupy"]
            with ps.gpu_allocator("cuda"):
                assert name() == "cuda"
            assert name() == "cupy"
        assert name() == "torch"
        ps.gpu_allocator("cupy")
        assert name() == "cupy"
    assert name() == "cuda"


@pytest.mark.skipif(_core.device_count() > 0, reason="there is a GPU")
def test_without_a_gpu_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    error = ps.PlacementError if _core.config()["cuda"] else ps.NotCompiledError
    with pytest.raises(error, match=r"gpu_allocator\('cupy'\): "):
        ps.gpu_allocator("cupy")
    assert ps.gpu_allocator().name == "cuda"


# What the core does with an allocator


def test_blocks_go_back_to_whoever_gave_them():
    _core.set_gpu_allocator("first", FIRST)
    assert ps.gpu_allocator().name == "first"
    address, keep = _core.gpu_block(100, CPU)
    assert FIRST.held.keys() == {address} and FIRST.calls[-1] == (100, CPU, 0)
    _, ordered = _core.gpu_block(100, CPU, 0)
    _core.set_gpu_allocator("second", SECOND)
    _, other = _core.gpu_block(50, CPU)
    assert len(FIRST.held) == 2 and len(SECOND.held) == 1
    del keep, ordered
    assert not FIRST.held and SECOND.held
    _core.set_gpu_allocator("cuda", None)
    del other
    assert not SECOND.held
    calls = len(SECOND.calls)
    _core.gpu_block(10, CPU)
    assert len(SECOND.calls) == calls


def test_without_memory_the_numbers_and_the_remedy_are_said():
    _core.set_gpu_allocator("first", FIRST)
    FIRST.error = MemoryError("out of 80 GiB")
    wanted = r"allocate 4321 bytes .*allocator of first: ask for less, or free arrays of first\. It said: out of 80"
    with pytest.raises(MemoryError, match=wanted):
        _core.gpu_block(4321, CPU)


def test_other_errors_of_an_allocator():
    _core.set_gpu_allocator("first", FIRST)
    FIRST.error = TypeError("no such argument")
    with pytest.raises(RuntimeError, match="the allocator of first: no such argument"):
        _core.gpu_block(10, CPU)
    FIRST.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        _core.gpu_block(10, CPU)


def test_a_block_that_goes_while_an_error_is_raised():
    _core.set_gpu_allocator("first", FIRST)

    def fails():
        block = _core.gpu_block(10, CPU)
        raise LookupError(f"with {len(block)}")

    with pytest.raises(LookupError, match="with 2"):
        fails()
    gc.collect()
    assert not FIRST.held


def test_a_free_that_fails_is_reported_and_not_raised(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda e: told.append(str(e.exc_value)))
    _core.set_gpu_allocator("first", FIRST)
    address, keep = _core.gpu_block(10, CPU)
    buffer = FIRST.held.pop(address)
    del keep
    assert told == [str(address)] and len(buffer) == 10


def test_threads_allocate_while_others_switch():
    stop, errors = threading.Event(), []

    def allocate():
        try:
            for i in range(300):
                blocks = [_core.gpu_block(16 + i % 5, CPU) for _ in range(3)]
                del blocks
        except Exception as e:
            errors.append(e)

    def switch():
        while not stop.is_set():
            _core.set_gpu_allocator("first", FIRST)
            _core.set_gpu_allocator("second", SECOND)

    threads = [threading.Thread(target=allocate) for _ in range(4)]
    switching = threading.Thread(target=switch)
    for t in (*threads, switching):
        t.start()
    for t in threads:
        t.join()
    stop.set()
    switching.join()
    assert not errors


EXIT = """
import ctypes, sys, threading
import penstock as ps
from penstock import _core
class Fake:
    def allocate(self, size, gpu, stream):
        buffer = ctypes.create_string_buffer(size)
        return ctypes.addressof(buffer), buffer
    def free(self, token): pass
    def room(self, gpu, free): return free
    def give_up(self, gpu): pass
_core.set_gpu_allocator("fake", Fake())
class Cycle: pass
kept = Cycle(); kept.me = kept; kept.block = _core.gpu_block(1000, -1)
sys.modules["ends_late"] = Cycle(); sys.modules["ends_late"].block = _core.gpu_block(1000, -1)
began = threading.Event()
def go():
    while True:
        _core.gpu_block(100, -1)
        began.set()
threading.Thread(target=go, daemon=True).start()
began.wait()
"""


def test_blocks_that_are_in_use_when_python_ends():
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", EXIT], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


# What is asked of the libraries


class FakeTorch(types.SimpleNamespace):
    class OutOfMemoryError(RuntimeError):
        pass

    def __init__(self, fraction=1.0, total=1000, available=True):
        def stats(gpu):
            of = {"reserved_bytes": 600, "allocated_bytes": 350, "inactive_split_bytes": 50}
            return {name: {"all": {"current": n}} for name, n in of.items()}

        def alloc(size, stream):
            if size > total:
                raise self.OutOfMemoryError("CUDA out of memory")
            return size + stream

        super().__init__(
            __version__="2",
            _C=types.SimpleNamespace(
                _cuda_cudaCachingAllocator_raw_alloc=alloc,
                _cuda_cudaCachingAllocator_raw_delete=lambda pointer: None,
            ),
            cuda=types.SimpleNamespace(
                is_available=lambda: available,
                init=lambda: None,
                OutOfMemoryError=self.OutOfMemoryError,
                caching_allocator_delete=None,
                memory_stats_as_nested_dict=stats,
                get_per_process_memory_fraction=lambda gpu: fraction,
                mem_get_info=lambda gpu: (0, total),
            ),
        )


def test_what_pytorch_keeps_is_room(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", FakeTorch())
    torch = module._Torch()
    assert torch.room(0, 100) == 600 - 350 - 50 + 100
    assert torch.allocate(8, 0, 5) == (13, 13)
    with pytest.raises(MemoryError, match="CUDA out of memory"):
        torch.allocate(1001, 0, 5)
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(fraction=0.65))
    assert module._Torch().room(0, 100) == 200 + 50
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(fraction=0.5))
    assert module._Torch().room(0, 100) == 200


def test_what_cupy_keeps_is_room(monkeypatch):
    class Pool:
        limit = 0

        def malloc(self, size):
            raise AssertionError

        def free_bytes(self):
            return 40

        def total_bytes(self):
            return 90

        def get_limit(self):
            return self.limit

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(pool=Pool()))
    assert module._CuPy().room(0, 100) == 140
    Pool.limit = 120
    assert module._CuPy().room(0, 100) == 70
    Pool.limit = 80
    assert module._CuPy().room(0, 100) == 40
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    assert module._CuPy().room(0, 100) == 100  # len() is no pool
