"""CuPy and PyTorch under one set of names, for tests of results and vectors on a GPU."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import numpy as np
import pytest

NAMES = ["cupy", "torch"]


def _cupy() -> types.SimpleNamespace:
    cupy = pytest.importorskip("cupy")

    @contextlib.contextmanager
    def stream() -> Any:
        with cupy.cuda.Stream(non_blocking=True) as s:
            yield s
            s.synchronize()

    def busy() -> None:
        """Some milliseconds of work on the current stream."""
        a = cupy.ones((2048, 2048), cupy.float32)
        for _ in range(40):
            a = a @ a * 0

    return types.SimpleNamespace(
        name="cupy",
        put=cupy.asarray,
        get=cupy.asnumpy,
        full=lambda shape, value, dtype: cupy.full(shape, value, dtype),
        kind=cupy.ndarray,
        stream=stream,
        busy=busy,
    )


def _torch() -> types.SimpleNamespace:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")

    @contextlib.contextmanager
    def stream() -> Any:
        s = torch.cuda.Stream()
        with torch.cuda.stream(s):
            yield s
            s.synchronize()

    def busy() -> None:
        a = torch.ones((2048, 2048), device="cuda")
        for _ in range(40):
            a = a @ a * 0

    return types.SimpleNamespace(
        name="torch",
        put=lambda a: torch.from_numpy(np.ascontiguousarray(a)).to("cuda"),
        get=lambda t: t.cpu().numpy(),
        full=lambda shape, value, dtype: torch.full(
            shape, value, dtype=getattr(torch, np.dtype(dtype).name), device="cuda"
        ),
        kind=torch.Tensor,
        stream=stream,
        busy=busy,
    )


_makers = {"cupy": _cupy, "torch": _torch}


def library(name: str) -> types.SimpleNamespace:
    """The library of this name; the test is skipped where it is missing or sees no GPU."""
    return _makers[name]()
