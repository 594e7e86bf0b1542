"""The reference programs of the GAP benchmark suite (Beamer, Asanovic, Patterson 2015) as
contestants: processes on the same graph, written once, whose own printed trial times count.

They must be built by the user: `make` in a copy of the suite, then --gap FOLDER. A turn is one
process for each source (or one), which runs a few trials; the median of its trials counts, so that
the first, with cold threads and pages, does not.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lib import graph_checks
from lib.harness import Contestant

from rivals.graph import SLOW_SECONDS, SLOW_SOURCES, Problem

PROGRAMS = {"bfs": "bfs", "sssp": "sssp", "cc": "cc", "pagerank": "pr", "triangles": "tc"}
TRIALS = 3
TIMEOUT = 300  # seconds a process
VERIFIED_SOURCES = (
    4  # its verifiers are serial; the other sources are checked by the size of the result
)
_DELTAS = range(-3, 7)  # mean weight * 4^k: the fastest is taken
_DELTA_TIMEOUT = 20  # seconds; a width that needs more is not the fastest


def run_program(program: Path, threads: int, *options: Any, timeout: float = TIMEOUT) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [str(program), *map(str, options)], capture_output=True, text=True, timeout=timeout,
        env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RuntimeError(f"{program.name} ended with {done.returncode}: {' '.join(last)}")
    return done.stdout


def trial_times(text: str) -> list[float]:
    """
    >>> trial_times("Trial Time:            0.00250\\nAverage Time:          0.00250")
    [0.0025]
    """
    return [float(t) for t in re.findall(r"^Trial Time:\s*([0-9.]+)", text, re.MULTILINE)]


def median_trial(text: str) -> float:
    times = trial_times(text)
    if not times:
        raise RuntimeError(f"no trial times in the output, which ends in {text[-80:]!r}")
    return max(statistics.median(times), 1e-6)  # it prints units of 10 us


def printed(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if not found:
        raise RuntimeError(f"no {pattern!r} in the output, which ends in {text[-80:]!r}")
    return int(found[1])


def _file(p: Problem, folder: Path) -> tuple[Path, float]:
    """The graph in the suite's format, written by penstock; the time that took."""
    from penstock._io import gapbs

    weighted = p.algorithm == "sssp"
    path = folder / f"{p.graph.name}.{'wsg' if weighted else 'sg'}"

    def write() -> Path:
        graph = p.graph.csr(np.float64 if weighted else bool)
        gapbs.write(path, graph, directed=not p.graph.undirected)
        return path

    return p.kept(f"gap {weighted}", write)


def _delta(program: Path, p: Problem, path: Path) -> int:
    """The fastest bucket width for the first source."""
    mean = float(p.graph.weights.mean())
    widths = sorted({max(1, round(mean * 4.0**k)) for k in _DELTAS})
    common = ("-f", path, "-r", p.sources[0], "-n", 2)
    times: dict[int, float] = {}
    for width in widths:
        try:
            text = run_program(program, p.threads, *common, "-d", width, timeout=_DELTA_TIMEOUT)
        except subprocess.TimeoutExpired:
            continue
        times[width] = min(trial_times(text))
    if not times:
        raise RuntimeError(f"no width of a bucket was done in {_DELTA_TIMEOUT} s")
    return min(times, key=lambda width: times[width])


def contestant(p: Problem, folder: Path, temporary: Path, expected: Any) -> Contestant:
    """Raises ImportError where the program is not there."""
    program = folder / PROGRAMS[p.algorithm]
    if not os.access(program, os.X_OK):
        raise ImportError(f"no program {program.name} in the folder given by --gap")
    path, seconds = _file(p, temporary)
    notes: dict[str, Any] = {"trials": TRIALS}
    extra: list[Any] = []
    if p.algorithm == "sssp":
        start = time.perf_counter()
        notes["delta"] = _delta(program, p, path)
        notes["tuning_seconds"] = time.perf_counter() - start
        extra = ["-d", notes["delta"]]
    if p.algorithm == "pagerank":
        extra = ["-i", 1000, "-t", graph_checks.TOLERANCE]

    def process(start: list[Any], *options: Any) -> str:
        return run_program(program, p.threads, "-f", path, *start, *extra, *options)

    starts: list[list[Any]] = [[]]
    if p.algorithm in ("bfs", "sssp"):
        starts = [["-r", s] for s in p.sources]
        if min(trial_times(process(starts[0], "-n", 2)), default=0) > SLOW_SECONDS:
            starts = starts[:SLOW_SOURCES]
        notes["sources"] = len(starts)

    def verified() -> list[str]:
        few = {"-v"} if p.algorithm != "triangles" else set()  # checked by the number alone
        return [
            process(start, "-n", 1, "-a", *(few if k < VERIFIED_SOURCES else ()))
            for k, start in enumerate(starts)
        ]

    def timed() -> float:
        return statistics.fmean(median_trial(process(start, "-n", TRIALS)) for start in starts)

    return Contestant(
        "gap", verified, "rival", prepare_seconds=seconds, units=len(starts), timed=timed,
        check=lambda texts: _CHECKS[p.algorithm](p, texts, expected), notes=notes,
    )  # fmt: skip


def _passed(texts: list[str]) -> bool:
    return all("FAIL" not in text for text in texts) and "PASS" in texts[0]


def _bfs(p: Problem, texts: list[str], levels: list[np.ndarray]) -> float:
    """Its verifier, and the size of every tree."""
    sizes = [printed(r"BFS Tree has (\d+) nodes", text) for text in texts]
    right = sizes == [int((lv >= 0).sum()) for lv in levels[: len(texts)]]
    return graph_checks.RIGHT if right and _passed(texts) else graph_checks.WRONG


def _sssp(p: Problem, texts: list[str], levels: list[np.ndarray]) -> float:
    sizes = [printed(r"SSSP Tree reaches (\d+) nodes", text) for text in texts]
    right = sizes == [int((lv >= 0).sum()) for lv in levels[: len(texts)]]
    return graph_checks.RIGHT if right and _passed(texts) else graph_checks.WRONG


def _cc(p: Problem, texts: list[str], labels: np.ndarray) -> float:
    count = printed(r"There are (\d+) components", texts[0])
    right = count == int(labels.max(initial=-1)) + 1
    return graph_checks.RIGHT if right and _passed(texts) else graph_checks.WRONG


def _pagerank(p: Problem, texts: list[str], ranks: np.ndarray) -> float:
    """Its verifier (of its own system, where ranks of vertices without edges leak out), and its largest ranks,
    scaled to the reference, within the tolerance."""
    if not _passed(texts):
        return graph_checks.WRONG
    pairs = re.findall(r"^(\d+):([0-9.e+-]+)$", texts[0], re.MULTILINE)
    top = [(int(v), float(r)) for v, r in pairs]
    if not top:
        return graph_checks.WRONG
    vertices, found = np.array([v for v, _ in top]), np.array([r for _, r in top])
    scale = ranks[vertices].sum() / found.sum()
    return float(np.abs(found * scale - ranks[vertices]).sum() / (graph_checks.TOLERANCE * 6))


def _triangles(p: Problem, texts: list[str], count: int) -> float:
    right = printed(r"(\d+) triangles", texts[0]) == count
    return graph_checks.RIGHT if right else graph_checks.WRONG


_CHECKS: dict[str, Callable[[Problem, list[str], Any], float]] = {
    "bfs": _bfs,
    "sssp": _sssp,
    "cc": _cc,
    "pagerank": _pagerank,
    "triangles": _triangles,
}
