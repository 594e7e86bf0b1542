"""Penstock: sparse matrices and graphs larger than one GPU.

>>> import numpy as np, penstock as ps
>>> A = ps.csr_array(([2.0, 1.0, 3.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
>>> A @ np.array([1.0, 1.0])
array([3., 3.])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penstock import _core, _forks
from penstock._arguments import integer as _integer
from penstock._core import NotCompiledError, PlacementError
from penstock._matrix import writer as _writer
from penstock._matrix.csr import csr_array
from penstock._plan.place import device, empty, host, managed, pinned
from penstock._plan.report import record, show_config
from penstock._plan.schedules import InCore, Streamed, ZeroCopy, options

if TYPE_CHECKING:
    from penstock import csgraph, dist, generate, linalg, partition, reorder, sample, torch
    from penstock import pyg as pyg
    from penstock._dynamic.graph import DynamicGraph
    from penstock._io.formats import load, open, save
    from penstock._matrix.construct import (
        block_array,
        block_diag,
        diags,
        diags_array,
        eye,
        eye_array,
        find,
        hstack,
        identity,
        issparse,
        kron,
        kronsum,
        random_array,
        vstack,
    )
    from penstock._matrix.edges import from_edge_index, from_edges
    from penstock._matrix.sddmm import sddmm
    from penstock._matrix.spgemm import spgemm, spgemm_blocks, spgemm_estimate
    from penstock._matrix.triangles import tril, triu
    from penstock._plan.gpu_allocator import gpu_allocator
    from penstock._plan.probe import machine

__version__: str = _core.config()["version"]
num_threads = _core.num_threads
_forks.watch()


def set_num_threads(n: int) -> None:
    """Sets `num_threads` for the whole process, 1 to 4096. A @ x is the same bit for bit for any number; A.T @ x may
    differ by rounding. Raises ValueError for another number, TypeError for what is no integer."""
    _core.set_num_threads(_integer(n, "n", 1, 4096))


def _files() -> Any:
    from penstock._io import formats  # reads more modules than `import penstock` should

    return formats


_writer.hand_in(_files)

# Imported when first asked for: readers and generators bring in more than `import penstock` should cost.
_lazy = {
    "load": "penstock._io.formats",
    "open": "penstock._io.formats",
    "save": "penstock._io.formats",
    "convert": "penstock._io._convert",
    "DynamicGraph": "penstock._dynamic.graph",
    "gpu_allocator": "penstock._plan.gpu_allocator",
    "machine": "penstock._plan.probe",
    "generate": "penstock.generate",
    "csgraph": "penstock.csgraph",
    "dist": "penstock.dist",
    "linalg": "penstock.linalg",
    "partition": "penstock.partition",
    "pyg": "penstock.pyg",  # not in __all__: needs PyTorch Geometric
    "reorder": "penstock.reorder",
    "sample": "penstock.sample",
    "torch": "penstock.torch",
    "from_edges": "penstock._matrix.edges",
    "from_edge_index": "penstock._matrix.edges",
    "block_array": "penstock._matrix.construct",
    "block_diag": "penstock._matrix.construct",
    "diags": "penstock._matrix.construct",
    "diags_array": "penstock._matrix.construct",
    "eye": "penstock._matrix.construct",
    "eye_array": "penstock._matrix.construct",
    "find": "penstock._matrix.construct",
    "hstack": "penstock._matrix.construct",
    "identity": "penstock._matrix.construct",
    "issparse": "penstock._matrix.construct",
    "kron": "penstock._matrix.construct",
    "kronsum": "penstock._matrix.construct",
    "random_array": "penstock._matrix.construct",
    "vstack": "penstock._matrix.construct",
    "tril": "penstock._matrix.triangles",
    "triu": "penstock._matrix.triangles",
    "sddmm": "penstock._matrix.sddmm",
    "spgemm": "penstock._matrix.spgemm",
    "spgemm_blocks": "penstock._matrix.spgemm",
    "spgemm_estimate": "penstock._matrix.spgemm",
}

__all__ = [
    "DynamicGraph",
    "InCore",
    "NotCompiledError",
    "PlacementError",
    "Streamed",
    "ZeroCopy",
    "block_array",
    "block_diag",
    "convert",
    "csgraph",
    "csr_array",
    "device",
    "diags",
    "diags_array",
    "dist",
    "empty",
    "eye",
    "eye_array",
    "find",
    "from_edge_index",
    "from_edges",
    "generate",
    "gpu_allocator",
    "host",
    "hstack",
    "identity",
    "issparse",
    "kron",
    "kronsum",
    "linalg",
    "load",
    "machine",
    "managed",
    "num_threads",
    "open",
    "options",
    "partition",
    "pinned",
    "random_array",
    "record",
    "reorder",
    "sample",
    "save",
    "sddmm",
    "set_num_threads",
    "show_config",
    "spgemm",
    "spgemm_blocks",
    "spgemm_estimate",
    "torch",
    "tril",
    "triu",
    "vstack",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    module = importlib.import_module(_lazy[name])
    value = module if _lazy[name] == f"penstock.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
