"""cuSPARSE for the benchmarks on GPUs: opened by the library itself when first asked for, descriptors,
workspace and its preprocessing outside the timing."""

from __future__ import annotations

from penstock import _core

VECTOR = ("csr_alg1", "csr_alg2")  # alg2 gives the same bits in every run
COLUMNS = ("csr_alg1", "csr_alg2", "csr_alg3")


def version() -> tuple[int | None, str]:
    """(its version, "") or (None, why it cannot be used)."""
    try:
        return _core.cusparse_version(), ""
    except (_core.PlacementError, _core.NotCompiledError) as e:
        return None, str(e)


def why_not(dtype: str | None, nnz: int) -> str:
    """Why cuSPARSE does not multiply such a matrix; empty where it does."""
    if dtype is None:
        return "it has no patterns"
    return "it has 32-bit offsets here" if nnz >= 2**31 else ""
