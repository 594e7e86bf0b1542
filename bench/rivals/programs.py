"""Rivals that are programs of their own, built from their authors' sources.

They read a matrix in a raw file: int64 rows and entries, int64 offsets, int32 columns, ascending, and if values are
given float64 values. They print lines with NAME FIELD N UNIT_ms T: N entries or triangles, and the median of at least
7 runs after a warm-up.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Told(NamedTuple):
    name: str
    count: int
    seconds: float


def run(
    program: Path,
    matrix: Any,
    values: np.ndarray | None,
    fields: tuple[str, str],
    folder: Path | None = None,
) -> list[Told]:
    """What a program says of a square matrix: `fields` are the words before N and T."""
    line = re.compile(rf"^(.+?)\s+{fields[0]}\s+(\d+)\s+{fields[1]}\s+([\d.]+)", re.M)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".bin") as file:
        np.array([matrix.shape[0], matrix.nnz], np.int64).tofile(file)
        np.asarray(matrix.indptr, np.int64).tofile(file)
        np.asarray(matrix.indices, np.int32).tofile(file)
        if values is not None:
            np.asarray(values, np.float64).tofile(file)
        file.flush()
        done = subprocess.run([str(program), file.name], capture_output=True, text=True)
    found = [
        Told("_".join(n.split()), int(c), float(ms) / 1e3) for n, c, ms in line.findall(done.stdout)
    ]
    if not found:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise OSError(
            f"{program.name} ended with {done.returncode} and no result: {' '.join(said)}"
        )
    return found


def entry(told: Told, expected: int, role: str = "rival") -> dict[str, Any]:
    """A result of a report."""
    if told.count != expected:
        return {"role": role, "status": "wrong", "reason": f"{told.count} instead of {expected}"}
    unknown = dict.fromkeys(("min", "max", "spread"))  # a program tells its median alone
    return {"role": role, "status": "ok", "error": 0.0, "median": told.seconds, **unknown}


def settle(case: dict[str, Any], ours: list[str]) -> None:
    """Chooses the best rival of a case anew, once programs have been added to its results."""
    times = {
        n: r["median"]
        for n, r in case["results"].items()
        if r["role"] == "rival" and r["status"] == "ok" and "median" in r
    }
    case["best_rival"] = best = min(times, key=times.__getitem__) if times else None
    case["ratios"] = {
        n: times[best] / case["results"][n]["median"]
        for n in ours
        if best and "median" in case["results"].get(n, {})
    }


def existing(text: str) -> list[Path]:
    """Of an option: paths of programs, separated by commas."""
    paths = [Path(p) for p in text.split(",") if p]
    if missing := [p for p in paths if not p.is_file()]:
        raise ValueError(f"{missing[0]}: there is no such program")
    return paths
