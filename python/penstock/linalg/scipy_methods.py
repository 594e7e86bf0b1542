"""The rest of `scipy.sparse.linalg`, under its names: SciPy's methods over our matrices.

Iterative methods and eigensolvers multiply by our products, and share no entry with SciPy. Factorizations and functions
of matrices read the entries, which SciPy shares where its index type holds them. A sparse result is a csr_array.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

import scipy.sparse
import scipy.sparse.linalg

from penstock._matrix.csr import csr_array
from penstock._matrix.names import Guarded
from penstock.linalg._on_gpu import refuse

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


def _operator(value: Any) -> Any:
    return scipy.sparse.linalg.aslinearoperator(value) if isinstance(value, Guarded) else value


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


def _method(name: str) -> Callable[..., Any]:
    theirs = getattr(scipy.sparse.linalg, name)
    factorizes = ("sigma", "Minv") if name in BY_PRODUCTS else ()

    @functools.wraps(theirs)
    def method(*args: Any, **named: Any) -> Any:
        refuse(name, *args, *named.values())
        if name == "eigs":
            _require_count(*args, **named)
        # With a shift, eigensolvers factorize A.
        products = name in BY_PRODUCTS and all(named.get(n) is None for n in factorizes)
        as_theirs = _operator if products else _columns if name in _BY_COLUMNS else _entries
        result = theirs(
            *(as_theirs(value) for value in args),
            **{key: as_theirs(value) for key, value in named.items()},
        )
        return _ours(result)

    how = "with products by A" if name in BY_PRODUCTS else "over the entries of A"
    method.__doc__ = f"SciPy's `scipy.sparse.linalg.{name}` {how}: arguments, results and errors are documented there."
    method.__module__ = __name__
    return method


def __getattr__(name: str) -> Any:
    if name not in BY_PRODUCTS and name not in BY_ENTRIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _method(name)
    return found
