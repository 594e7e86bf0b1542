"""The rest of `scipy.sparse.linalg`, under its names: SciPy's methods over our matrices.

Iterative methods and eigensolvers multiply by our products, and share no entry with SciPy. Factorizations and functions
of matrices read the entries, which SciPy shares where its index type holds them. A sparse result is a csr_array.
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from penstock._matrix.changing import of_now
from penstock._matrix.csr import csr_array
from penstock._matrix.names import Guarded
from penstock.linalg import _scipy_solvers
from penstock.linalg._diagnosis import not_finite
from penstock.linalg._on_gpu import refuse
from penstock.linalg._operators import is_complex
from penstock.linalg._scipy_solvers import applied, operator

# What needs nothing but products with A, A^H and blocks of vectors.
BY_PRODUCTS = (
    "bicg",
    "cgs",
    "eigs",
    "eigsh",
    "gcrotmk",
    "lgmres",
    "lobpcg",
    "lsmr",
    "lsqr",
    "onenormest",
    "qmr",
    "svds",
    "tfqmr",
)
# What reads entries.
BY_ENTRIES = (
    "expm",
    "expm_multiply",
    "factorized",
    "inv",
    "matrix_power",
    "spilu",
    "splu",
    "spsolve",
    "spsolve_triangular",
)


# Of these, what works on columns, and would warn that it had to convert.
_BY_COLUMNS = ("factorized", "spilu", "splu")


def _entries(value: Any) -> Any:
    """SciPy's array over the entries of ours; what is not ours stays as it is."""
    return value._matrix().to_scipy() if isinstance(value, Guarded) else value


def _columns(value: Any) -> Any:
    return _entries(value).tocsc() if isinstance(value, Guarded) else value


def _ours(value: Any) -> Any:
    return csr_array(value) if scipy.sparse.issparse(value) else value


def _require_count(A: Any, k: Any = 6, *_: Any, **named: Any) -> None:
    """SciPy's errors speak of another function, or not at all."""
    n = A.shape[0]
    if not isinstance(k, numbers.Integral) or k < 1:
        raise ValueError(f"k={k!r}: k must be greater than 0, and a whole number")
    if k >= n - 1:
        raise TypeError(
            f"k={k} of {n} eigenvalues: k must be less than n - 1, for all of them use scipy.linalg.eig(A.toarray())"
        )


def _require_finite(name: str, *matrices: Any) -> None:
    """Of matrices with entries. Eigensolvers say another thing of NaN in each release of SciPy, or nothing."""
    for matrix in matrices:
        a = matrix._matrix() if isinstance(matrix, Guarded) else matrix
        if scipy.sparse.issparse(a) or isinstance(a, np.ndarray):
            entries = a if isinstance(a, np.ndarray) else getattr(a, "data", None)
            plain = isinstance(entries, np.ndarray) and entries.dtype.kind in "biufc"
            if plain and np.isfinite(entries).all():
                continue
            a = csr_array(a)
        found = not_finite(a) if isinstance(a, csr_array) and a.place != "device" else None
        if found is not None:
            raise ValueError(f"{name}: {found}")


def _lowered(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments as SciPy's function takes them."""
    A = given.get("A")
    if name in ("eigs", "eigsh", "lobpcg"):
        _require_finite(name, A, given.get("M" if name != "lobpcg" else "B"))
    # With a shift, eigensolvers factorize A.
    products = name in BY_PRODUCTS and all(given.get(n) is None for n in ("sigma", "Minv"))
    as_theirs = operator if products else _columns if name in _BY_COLUMNS else _entries
    lowered = {key: as_theirs(value) for key, value in given.items()}
    if name in ("eigs", "eigsh"):  # SciPy factorizes M, and would solve with products by GMRES
        lowered["M"] = _columns(given.get("M"))
    if name == "lobpcg":
        M = given.get("M")  # SciPy takes functions, too
        lowered["M"] = M if callable(M) else applied(M, A, None, name)
    if name in ("lsmr", "lsqr") and is_complex(A):
        b = np.asarray(given.get("b"))
        lowered["b"] = b.astype(np.result_type(b.dtype, np.complex64))
    return {key: value for key, value in lowered.items() if key in given}


def _method(name: str) -> Callable[..., Any]:
    if name in _scipy_solvers.NAMES:
        return _scipy_solvers.solver(name)
    theirs = getattr(scipy.sparse.linalg, name)
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def method(*args: Any, **named: Any) -> Any:
        refuse(name, *args, *named.values())
        if name == "eigs":
            _require_count(*args, **named)
        given = _lowered(name, dict(signature.bind(*args, **named).arguments))
        values = list(given.values())[: len(args)]
        return _ours(theirs(*values, **dict(list(given.items())[len(args) :])))

    how = "with products by A" if name in BY_PRODUCTS else "over the entries of A"
    method.__doc__ = f"SciPy's `scipy.sparse.linalg.{name}` {how}: arguments, results and errors are documented there."
    method.__module__ = __name__
    return method


def _reads_now(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with graphs that change as they are at the call."""

    @functools.wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        return method(*map(of_now, args), **{key: of_now(value) for key, value in named.items()})

    return call


def __getattr__(name: str) -> Any:
    if name not in BY_PRODUCTS and name not in BY_ENTRIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _reads_now(_method(name))
    return found
