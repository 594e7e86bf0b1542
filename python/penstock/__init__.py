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
from penstock._core import NotCompiledError, PlacementError
from penstock._csr import csr_array
from penstock._explain import show_config, trace
from penstock._place import device, empty, host, managed, pinned
from penstock._schedules import InCore, Streamed, ZeroCopy, options

if TYPE_CHECKING:
    from penstock import csgraph, dist, generate, linalg, partition, reorder
    from penstock._edges import from_edges
    from penstock._io import load, open, save
    from penstock._probe import machine
    from penstock._spgemm import spgemm, spgemm_blocks, spgemm_estimate
    from penstock._structure import tril, triu
    from penstock._torch import from_edge_index

__version__: str = _core.config()["version"]
num_threads = _core.num_threads
set_num_threads = _core.set_num_threads
_forks.watch()

# Imported when first asked for: readers and generators bring in more than `import penstock` should cost.
_lazy = {
    "load": "penstock._io",
    "open": "penstock._io",
    "save": "penstock._io",
    "machine": "penstock._probe",
    "generate": "penstock.generate",
    "csgraph": "penstock.csgraph",
    "dist": "penstock.dist",
    "linalg": "penstock.linalg",
    "partition": "penstock.partition",
    "reorder": "penstock.reorder",
    "from_edges": "penstock._edges",
    "from_edge_index": "penstock._torch",
    "tril": "penstock._structure",
    "triu": "penstock._structure",
    "spgemm": "penstock._spgemm",
    "spgemm_blocks": "penstock._spgemm",
    "spgemm_estimate": "penstock._spgemm",
}

__all__ = [
    "InCore",
    "NotCompiledError",
    "PlacementError",
    "Streamed",
    "ZeroCopy",
    "csgraph",
    "csr_array",
    "device",
    "dist",
    "empty",
    "from_edge_index",
    "from_edges",
    "generate",
    "host",
    "linalg",
    "load",
    "machine",
    "managed",
    "num_threads",
    "open",
    "options",
    "partition",
    "pinned",
    "reorder",
    "save",
    "set_num_threads",
    "show_config",
    "spgemm",
    "spgemm_blocks",
    "spgemm_estimate",
    "trace",
    "tril",
    "triu",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    module = importlib.import_module(_lazy[name])
    value = module if _lazy[name].endswith("." + name) else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
