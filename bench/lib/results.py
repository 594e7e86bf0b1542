"""The result files of the benchmarks: what they keep, and how they are written and read.

`slim` keeps medians, spread, checks and provenance. Single timings and the fields of RAW are left to the file that
--raw names, which has everything in full. Both are JSON as lib/tables_json.py writes it.
"""

from __future__ import annotations

import os
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lib.tables_json import dumps, loads

SCHEMA = 2
DIGITS = 5  # significant ones of a measured number; the pages show four at most
_FEW_DIGITS = {"error": 3, "spread": 3, "load": 3}  # what says how sure a number is needs no more
_PREDICTED = "cases.predictions."  # under it: four digits, which no prediction is worth more than

_MOST = "cases.results.*.max"  # where many rows have it: min, median and spread give it
# Fields of raw files alone, as benchmark -> patterns of their paths; "" has those of every benchmark. In a path
# "*" stands for the name of a contestant.
RAW = {
    "": (
        "cases.ratios_of_minima",
        "cases.results.*.first_call",
        "cases.results.*.calls_per_turn",
        "cases.results.*.prepare_calls",
        "probe.gpus.*_curve",
    ),
    "brock2024": (
        _MOST,
        "cases.rooflines",
        "cases.words",
        *(
            f"cases.{bound}.{name}"  # of several GPUs: of both kinds the rest is shown
            for bound in ("roofline", "reachable")
            for name in ("op", "ranks", "compression", "*_intensity", "*_per_s", "shape")
        ),
        *(
            f"cases.predictions.{name}"
            for name in (
                *("op", "grid", "tiles", "flops", "*_imbalance", "*_most", "*_all"),
                *("ratio", "speedup", "efficiency", "gflops", "between"),
            )
        ),
    ),
    "buono2017": ("cases.results.*.trace", _MOST),
    "cardellini2014": (
        "cases.results.*.each.seconds",
        "cases.results.*.each.received_bytes",
        _MOST,
    ),
    **dict.fromkeys(
        (
            *("device_arrays", "dist_cpu", "factors_gpu", "nx_backend", "solve_gpu", "spgemm_cpu"),
            *("spgemm_gpu", "spmm_cpu", "spmm_gpu", "spmv_cpu", "spmv_gpu"),
        ),
        (_MOST,),
    ),
    "structure": tuple(
        f"cases.results.*.{name}"
        for name in (
            *("speedup", "gteps", "build_seconds", "table_bytes", "other_bytes", "offset_bytes"),
            *(f"read.{part}" for part in ("requests", "count", "share_128", "link_seconds")),
        )
    ),
    "page_kogge2018": (
        _MOST,
        "cases.network.*",
        "cases.words",
        *(
            f"cases.predictions.{name}"
            for name in (
                *("grid", "halo", "bound", "mad", "imbalance", "*_most", "*_all"),
                *("compute", "ratio", "speedup", "efficiency", "gflops", "between"),
            )
        ),
    ),
}


def slim(data: dict[str, Any]) -> dict[str, Any]:
    """The part of a report that is kept; `data` is not changed."""
    patterns = (*RAW[""], *RAW.get(data["benchmark"], ()))
    return _kept(data, "", patterns)


def _kept(value: Any, path: str, patterns: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_kept(item, path, patterns) for item in value]
    if not isinstance(value, dict):
        return _short(value, path)
    found = {}
    for key, item in value.items():
        at = f"{path}.{'*' if path.endswith('.results') else key}".lstrip(".")
        timings = key == "seconds" and isinstance(item, list)
        if timings or any(fnmatchcase(at, pattern) for pattern in patterns):
            continue
        less = _kept(item, at, patterns)
        if less != {} or item == {}:
            found[key] = less
    return found


def _short(value: Any, path: str) -> Any:
    """A float in few digits. One that would end in 5 keeps more, for a page that rounds it to fewer digits shall not
    see a tie that is none. Whole numbers are counts, and stay."""
    if not isinstance(value, float) or value.is_integer():
        return value
    field = path.rpartition(".")[2]
    least = 4 if path.startswith(_PREDICTED) else DIGITS
    for digits in (_FEW_DIGITS.get(field, least), DIGITS + 2, DIGITS + 4):
        mantissa = f"{value:.{digits - 1}e}".partition("e")[0].rstrip("0")
        if field in _FEW_DIGITS or not mantissa.endswith("5"):
            return float(f"{value:.{digits}g}")
    return value


def write(path: Path, data: dict[str, Any]) -> None:
    """As a whole or not at all: another file takes the place of the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".json")
    try:
        with os.fdopen(handle, "w") as out:
            out.write(dumps(data))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: Path) -> Any:
    """A result or a raw file; or any other JSON, of which `is_report` says that it is none."""
    try:
        return loads(path.read_text())
    except (OSError, ValueError) as e:
        raise SystemExit(f"{path}: not readable as JSON: {e}") from None


def is_report(data: Any) -> bool:
    return isinstance(data, dict) and data.get("schema") == SCHEMA and "cases" in data
