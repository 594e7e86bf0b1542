"""cuSPARSE for the benchmarks on GPUs: opened by the library itself when first asked for, descriptors,
workspace and its preprocessing outside the timing."""

from __future__ import annotations

from typing import Any

import numpy as np
from lib import gpu_cases, harness
from lib.report import Report

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


def note(report: Report) -> None:
    """Its version goes into the report; where there is none, that it is left out."""
    found, why = version()
    report.data["machine"]["cusparse"] = found
    if found is None:
        report.skip("cuSPARSE", why)


def contestants(
    placed: Any, dtype: str | None, x: np.ndarray, names: tuple[str, ...], args: Any, report: Report
) -> list[harness.Contestant]:
    """Its kernels of those names, timed by the GPU's clock; none after `note` found no library."""
    if report.data["machine"]["cusparse"] is None:
        return []
    if why := why_not(dtype, placed.nnz):
        report.skip(f"cuSPARSE, {dtype or 'pattern'}", why)
        return []
    return [
        gpu_cases.timed(
            f"cusparse_{name}",
            "rival",
            lambda n, name=name: _core.time_cusparse_gpu(placed, x, name, n, args.gpu),
            args.inner,
        )
        for name in names
    ]
