"""Public programs that the user has built, on the same graph: EMOGI's (4-byte ids; a process runs all sources) and
GAP's. Their own printed times count; they run after ours, not in turns, as each reads the graph first."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from lib import harness
from rivals import gap as rivals_gap

from studies.emogi2020.graphs import Source
from studies.emogi2020.runs import Run
from studies.emogi2020.ways import Algorithm, on_cpu

_TIMEOUT = 900
_CHUNK = 1 << 24
MODES = {"emogi": 2, "emogi_in_core": 0}  # edges in host memory, read in place; on the device
GAP_SOURCES, GAP_TRIALS = 4, 3
EMOGI_ROOTS = 4  # where each is a process of its own
GAP_DELTAS = (10, 20, 40, 80)
_RUN = re.compile(r"src\s+(\d+), iteration\s+\d+, time\s+([0-9.]+) ms")


def emogi_times(text: str) -> dict[int, float]:
    """Source -> seconds, from what its searches print.

    >>> emogi_times("run   0: src            5, iteration   7, time    12.500000 ms")
    {5: 0.0125}
    """
    return {int(s): float(ms) / 1e3 for s, ms in _RUN.findall(text)}


class Patience:
    """Seconds that a program may take, all of its processes and what they read together; None: each has its own."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.begin = time.monotonic()
        self.end = float("inf") if seconds is None else self.begin + seconds

    def over(self) -> TimeoutError:
        return TimeoutError(f"it takes longer than {self.seconds:.0f} s, its share of --minutes")

    def process(self, run: Callable[[float], str], most: float) -> str:
        """What run(timeout) returns, the timeout being what is left and at most `most` seconds."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise self.over()
        try:
            return run(min(left, most))
        except subprocess.TimeoutExpired:
            if left < most:
                raise self.over() from None
            raise TimeoutError(f"a process takes longer than {most} s") from None

    def each(self, works: list[Callable[[], str]], share: float = 1.0) -> list[str]:
        """What these say, one after another: the first, and others while another one like the last would end within
        the share of the time."""
        said: list[str] = []
        end = self.end if self.seconds is None else self.begin + share * self.seconds
        for work in works:
            begin = time.monotonic()
            said.append(work())
            if 2 * time.monotonic() - begin > end:
                break
        return said


def write_bel(stem: Path, a: Any) -> list[Path]:
    """STEM.bel.col, .dst and, of a matrix with values, .val: a count, 8 bytes of padding, the entries. Offsets and ids
    take 8 bytes, weights 4."""
    parts = [(f"{stem}.bel.col", a.indptr, "<u8"), (f"{stem}.bel.dst", a.indices, "<u8")]
    if a.dtype != np.bool_:
        parts.append((f"{stem}.bel.val", a.data, "<u4"))
    for path, numbers, kind in parts:
        with open(path, "wb") as file:
            file.write(np.array([numbers.size, 0], "<u8").tobytes())
            for at in range(0, numbers.size, _CHUNK):
                numbers[at : at + _CHUNK].astype(kind).tofile(file)
    return [Path(path) for path, _, _ in parts]


def room_for(run: Run, what: str, needed: float) -> bool:
    free = shutil.disk_usage(run.temporary).free
    if needed > free:
        why = f"needs {needed / 1e9:.1f} GB in --temporary, {free / 1e9:.1f} GB are free"
        run.report.skip(what, why)
    return needed <= free


def result(seconds: list[float], base: list[float], **notes: Any) -> dict[str, Any]:
    r = {
        "role": "rival",
        "status": "ok",
        "error": 0.0,
        **harness.summary(seconds),
        "sources": len(seconds),
        **notes,
    }
    common = min(len(base), len(seconds))
    if common:
        r["speedup"] = statistics.median(base[:common]) / statistics.median(seconds[:common])
    return r


def emogi(
    run: Run,
    algorithm: Algorithm,
    a: Any,
    stem: Path,
    starts: list[int],
    base: list[float],
    evenly: bool = True,
    seconds: float | None = None,
) -> dict[str, Any]:
    program, patience = run.args.emogi / f"{algorithm.name}_32", Patience(seconds)
    if not os.access(program, os.X_OK):
        raise ImportError(f"no program {program.name} in the folder given by --emogi")
    write_bel(stem, a)
    roots: list[list[Any]] = [[]]
    if algorithm.has_source:
        each = [["-r", s] for s in starts[:EMOGI_ROOTS]]  # -i would begin at 0
        roots = [["-r", 0, "-i", run.args.sources]] if evenly else each
    found: dict[str, Any] = {}
    for k, (name, memory) in enumerate(MODES.items()):
        command = [program, "-f", f"{stem}.bel", "-t", 1, "-m", memory, "-d", 0]
        left = patience.end - time.monotonic()
        mine = patience if seconds is None else Patience(left / (len(MODES) - k))
        works = [partial(mine.process, partial(_run_emogi, [*command, *r]), _TIMEOUT) for r in roots]  # fmt: skip
        try:
            found[name] = _of_emogi(algorithm, a, "".join(mine.each(works)), starts, base, program)
        except (TimeoutError, RuntimeError) as e:
            if seconds is None:
                raise
            run.report.skip(f"{name}: {stem.name}", f"{type(e).__name__}: {e}")
    return found


def _run_emogi(command: list[Any], timeout: float) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True,
                          timeout=timeout, check=False)  # fmt: skip
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RuntimeError(f"{command[0].name} ended with {done.returncode}: {' '.join(last)}")
    return done.stdout


def _of_emogi(
    algorithm: Algorithm, a: Any, said: str, starts: list[int], base: list[float], program: Path
) -> dict[str, Any]:
    """The row of what its processes printed."""
    if algorithm.has_source:
        times = emogi_times(said)
        seconds = [times[s] for s in starts if s in times]
    else:
        seconds = [float(ms) / 1e3 for ms in re.findall(r"total time:\s*([0-9.]+)", said)]
        count = rivals_gap.printed(r"total components: (\d+)", said)
        expected = on_cpu(algorithm, a).search(0).result[0]
        if count != expected:
            return {"role": "rival", "status": "wrong",
                    "reason": f"{count} components, not {expected}"}  # fmt: skip
    if not seconds:
        raise RuntimeError(f"{program.name} printed no times: {said[-80:]!r}")
    return result(seconds, base)


def gap(
    run: Run,
    algorithm: Algorithm,
    a: Any,
    stem: Path,
    starts: list[int],
    base: list[float],
    seconds: float | None = None,
) -> dict[str, Any]:
    """A process for each of the first roots, as many as the seconds allow."""
    from penstock._io import gapbs

    program, patience = run.args.gap / rivals_gap.PROGRAMS[algorithm.name], Patience(seconds)
    if not os.access(program, os.X_OK):
        raise ImportError(f"no program {program.name} in the folder given by --gap")
    path = Path(f"{stem}.{'wsg' if a.dtype != np.bool_ else 'sg'}")
    gapbs.write(path, a, directed=False)
    threads = len(os.sched_getaffinity(0))

    def process(*options: Any) -> str:
        words = (program, threads, "-f", path, *options)
        call = lambda timeout: rivals_gap.run_program(*words, timeout=timeout)  # noqa: E731
        return patience.process(call, rivals_gap.TIMEOUT)

    points = [["-r", s] for s in starts[:GAP_SOURCES]] if algorithm.has_source else [[]]
    extra: list[Any] = []
    if algorithm.name == "sssp":
        works = [partial(process, *points[0], "-d", delta, "-n", 1) for delta in GAP_DELTAS]
        trials = [rivals_gap.median_trial(text) for text in patience.each(works, 0.5)]
        extra = ["-d", GAP_DELTAS[trials.index(min(trials))]]
    works = [partial(process, *point, *extra, "-n", GAP_TRIALS, "-a") for point in points]
    texts = patience.each(works)
    said = rivals_gap.printed(_SIZES[algorithm.name][0], texts[0])
    expected = _SIZES[algorithm.name][1](on_cpu(algorithm, a).search(starts[0]).result)
    if said != expected:
        return {"gap": {"role": "rival", "status": "wrong", "reason": f"{said}, not {expected}"}}
    medians = [rivals_gap.median_trial(text) for text in texts]
    return {"gap": result(medians, base, threads=threads, options=extra)}


_SIZES: dict[str, tuple[str, Callable[[Any], int]]] = {
    "bfs": (r"BFS Tree has (\d+) nodes", lambda levels: int(np.count_nonzero(levels >= 0))),
    "sssp": (r"SSSP Tree reaches (\d+) nodes", lambda far: int(np.count_nonzero(np.isfinite(far)))),
    "cc": (r"There are (\d+) components", lambda found: int(found[0])),
}


def add(
    run: Run,
    entry: dict[str, Any],
    algorithm: Algorithm,
    source: Source,
    a: Any,
    starts: list[int],
    evenly: bool = True,
    seconds: float | None = None,
) -> None:
    """Adds the columns of --emogi and --gap to a case. `evenly`: the roots are those of EMOGI's own choice, which one
    process of it takes. `seconds`: what the programs may take together, divided among them; fewer roots keep to it,
    and what does not end is left out and named."""
    base = entry["results"].get("aligned", {}).get("seconds", [])
    end = None if seconds is None else time.monotonic() + seconds
    waiting = sum(folder is not None for folder in (run.args.emogi, run.args.gap))
    stem = run.temporary / source.name
    for folder, work, size, name in (  # what the first leaves of its time is the second's
        (run.args.gap, gap, 9.0 * a.nnz + 8 * a.shape[0], "gap"),
        (run.args.emogi, partial(emogi, evenly=evenly), 12.0 * a.nnz + 8 * a.shape[0], "emogi"),
    ):
        what = f"{name}: {algorithm.name} {source.name}"
        if folder is None:
            continue
        mine = None if end is None else (end - time.monotonic()) / waiting
        waiting -= 1
        if not room_for(run, what, size):
            continue
        if run.left() <= 0:
            run.report.skip(what, "no time is left of --minutes")
            continue
        try:
            entry["results"] |= work(run, algorithm, a, stem, starts, base, seconds=mine)
        except (ImportError, OSError, RuntimeError, subprocess.SubprocessError) as e:
            run.report.skip(
                what, f"{type(e).__name__}: {e}".replace(f"{run.temporary}{os.sep}", "")
            )
        finally:
            for path in run.temporary.glob(f"{source.name}.*"):
                path.unlink()
    entry |= harness.compare(entry["results"])
