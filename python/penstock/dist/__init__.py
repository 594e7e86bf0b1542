"""Matrices shared out among ranks: threads of this process, or processes under MPI.

Matrices are named as SciPy names its own, `csr_array` and `tiled_array`; all other classes are in CapWords.

>>> import numpy as np, penstock as ps
>>> def total(comm):
...     x = np.array([comm.rank + 1.0])
...     comm.all_reduce(x)
...     return float(x[0])
>>> ps.dist.run(total, 3)
[6.0, 6.0, 6.0]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock._core import Comm, CommError
    from penstock.dist import csgraph, linalg
    from penstock.dist._calibrate import calibrate
    from penstock.dist._comm import run, world
    from penstock.dist._gpu import gpu_halo_names
    from penstock.dist._layouts import LAYOUTS
    from penstock.dist._matmul import matmul
    from penstock.dist._matrix import csr_array
    from penstock.dist._network import Network, networks
    from penstock.dist._oracle import Forecast, predict_scaling, predict_weak_scaling
    from penstock.dist._oracle_products import ProductForecast, predict_products
    from penstock.dist._stencils import stencil_counts
    from penstock.dist._tiles import tiled_array
    from penstock.dist._wide.build import Entries
    from penstock.dist._wide.memory import ListedMemory, listed_memory

# name -> the module of this package that holds it; imported when first asked for
_lazy = {
    "Comm": "_comm",
    "CommError": "_comm",
    "Entries": "_wide.build",
    "ListedMemory": "_wide.memory",
    "listed_memory": "_wide.memory",
    "csgraph": "csgraph",
    "csr_array": "_matrix",
    "gpu_halo_names": "_gpu",
    "linalg": "linalg",
    "Forecast": "_oracle",
    "LAYOUTS": "_layouts",
    "Network": "_network",
    "calibrate": "_calibrate",
    "matmul": "_matmul",
    "networks": "_network",
    "ProductForecast": "_oracle_products",
    "predict_products": "_oracle_products",
    "predict_scaling": "_oracle",
    "predict_weak_scaling": "_oracle",
    "run": "_comm",
    "stencil_counts": "_stencils",
    "tiled_array": "_tiles",
    "world": "_comm",
}

__all__ = [
    "LAYOUTS",
    "Comm",
    "CommError",
    "Entries",
    "Forecast",
    "ListedMemory",
    "Network",
    "ProductForecast",
    "calibrate",
    "csgraph",
    "csr_array",
    "gpu_halo_names",
    "linalg",
    "listed_memory",
    "matmul",
    "networks",
    "predict_products",
    "predict_scaling",
    "predict_weak_scaling",
    "run",
    "stencil_counts",
    "tiled_array",
    "world",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock.dist' has no attribute {name!r}")
    module = importlib.import_module(f"penstock.dist.{_lazy[name]}")
    value = module if _lazy[name] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
