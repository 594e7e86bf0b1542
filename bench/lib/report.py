"""What a benchmark leaves behind: a JSON file that says on what, from what and how it was made,
and a table."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from lib import results

ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = (
    "penstock", "numpy", "scipy", "mkl", "python-graphblas", "suitesparse-graphblas", "polars",
    "pandas", "pyarrow", "networkit", "igraph", "pyamg", "torch", "torch-geometric", "pyg-lib",
    "torch-sparse",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser, turn_seconds: float) -> None:
    """The options that every benchmark has."""
    parser.add_argument(
        "--threads", type=int, default=0, help="threads of ours and of rivals; 0: all CPUs"
    )
    parser.add_argument(
        "--repeats", type=int, default=7, help="turns of each contestant; the median counts"
    )
    parser.add_argument(
        "--turn-seconds", type=float, default=turn_seconds, help="least timed seconds a turn"
    )
    parser.add_argument(
        "--quick", action="store_true", help="toy inputs: tests that it runs, measures nothing"
    )
    file_options(parser, "NAME")


def file_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Where the results of benchmark `name` go: options that all have, those of papers too."""
    parser.add_argument("--out", type=Path, help=f"result file (bench/results/{name}.json)")
    parser.add_argument(
        "--raw", type=Path, help="file for all single timings too, in full (none is written)"
    )


def _git(*args: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", ROOT, *args], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def source() -> dict[str, Any]:
    """The commit; dirty where tracked files differ from it, results apart."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results")
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": None if changed is None else bool(changed),
    }


def fingerprint(threads: int) -> dict[str, Any]:
    """The machine without its name, with the bandwidths measured now (bytes a second), and all
    versions."""
    import penstock as ps
    from penstock import _core

    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    versions["penstock"] = ps.__version__
    release = ".".join(platform.release().split(".")[:2])  # the rest may name a provider or a host
    system = f"{platform.system()} {release} {platform.machine()}"
    machine = ps.machine()
    gpus = [
        {k: v for k, v in gpu.items() if k != "bus" and not k.endswith("_curve")}
        for gpu in machine["gpus_measured"]
    ]
    return {
        **machine,
        "gpus_measured": gpus,
        "threads": threads,
        "os": system,
        "build": _core.config(),
        "versions": versions,
    }


class Report:
    def __init__(
        self, name: str, args: argparse.Namespace, settings: dict[str, Any], threads: int
    ) -> None:
        self.path = args.out or ROOT / "bench" / "results" / f"{name}.json"
        self.raw: Path | None = args.raw
        now = datetime.datetime.now(datetime.timezone.utc)
        self.data: dict[str, Any] = {
            "benchmark": name,
            "schema": results.SCHEMA,
            "date": now.isoformat(timespec="seconds"),
            "command": ["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]],
            **source(),
            "quick": args.quick,
            "settings": settings,
            "machine": fingerprint(threads),
            "skipped": [],
            "cases": [],
        }

    def skip(self, what: str, why: str) -> None:
        if not any(s["what"] == what and s["why"] == why for s in self.data["skipped"]):
            self.data["skipped"].append({"what": what, "why": why})
            print(f"skipped {what}: {why}", file=sys.stderr)

    def add(self, case: dict[str, Any]) -> None:
        """Kept, and written at once: an interrupted run leaves the cases it finished."""
        self.data["cases"].append(case)
        for name, result in case["results"].items():
            if result["status"] != "ok":
                print(
                    f"{case['case']}: {name} is {result['status']}: {result['reason']}",
                    file=sys.stderr,
                )
        self.write()

    def write(self) -> None:
        """What is kept, and where --raw says so all of it."""
        results.write(self.path, results.slim(self.data))
        if self.raw:
            results.write(self.raw, self.data)

    def failed(self) -> bool:
        """Is anything of ours wrong?"""
        everything = [r for case in self.data["cases"] for r in case["results"].values()]
        return any(r["role"] == "ours" and r["status"] != "ok" for r in everything)


def show_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """With rich in a terminal, as plain aligned text elsewhere."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            table = Table(title=title)
            for i, column in enumerate(header):
                table.add_column(column, justify="right" if i else "left")
            for row in rows:
                table.add_row(*row)
            Console().print(table)
            return
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(title)
    for row in [header, *rows]:
        first, *rest = (
            f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}"
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())
