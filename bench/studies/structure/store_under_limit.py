"""Searches of a store that exceeds memory: its lists as they are, and packed, under a memory limit of a control group.

python bench/studies/structure/store_under_limit.py --folder /data/tmp  # minutes; needs a control group
python bench/studies/structure/store_under_limit.py --folder /data/tmp --edges 600e6 --limit 1200e6 --roots 8
python bench/studies/structure/store_under_limit.py --folder /data/tmp --graph data/cnr-2000.mtx.gz  # its lift

The graph is a random lift (Amit and Linial 2002) of an R-MAT graph, or of a file's undirected graph. Each row is a
process of its own in a control group with the limit, which counts the pages of the mapped store, too; before it the
store's pages are dropped. Levels and components of all rows are compared. A process that needs more than the limit is
killed, and one that takes longer than --patience is ended; its row says so. Without a control group that may be made,
it says so and measures nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from packed_lists import simple

import penstock as ps

LISTS = {"as they are": "raw", "packed": "packed", "auto": "auto"}
VERTEX_BYTES = 24  # what a search has of each vertex, beside the store
# (the file with a group's limit, the folder in which groups are made), of versions 2 and 1
HIERARCHIES = (
    ("memory.max", Path("/sys/fs/cgroup")),
    ("memory.max", Path("/sys/fs/cgroup/unified")),
    ("memory.limit_in_bytes", Path("/sys/fs/cgroup/memory")),
)


@contextlib.contextmanager
def limited(limit: int) -> Iterator[Path | None]:
    """A control group with a memory limit, or None where none can be made."""
    for name, root in HIERARCHIES:
        group = root / f"penstock-{os.getpid()}"
        if not (root / "cgroup.procs").exists():
            continue
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if not (group / name).exists():
                raise FileNotFoundError(group / name)
            (group / name).write_text(str(limit))
        except OSError:
            group.rmdir()
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    yield None


def drop(folder: Path) -> None:
    """Takes the files out of the page cache."""
    for file in folder.iterdir():
        fd = os.open(file, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def read_bytes() -> int:
    """What this process has read from disks."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def measure(folder: Path, lists: str, roots: list[int]) -> dict:
    """In the limited process: times of all searches, in seconds, and what came from the disk."""
    a = ps.open(folder)
    seconds, read, found = [], [], []
    for root in roots:
        before, begin = read_bytes(), time.perf_counter()
        levels = ps.csgraph.bfs(a, root, device="cpu", lists=lists)
        seconds.append(time.perf_counter() - begin)
        read.append(read_bytes() - before)
        found.append(zlib.crc32(levels.view(np.uint8)))
    parts, parts_read = [], []
    for _ in range(3):
        before, begin = read_bytes(), time.perf_counter()
        count, labels = ps.csgraph.connected_components(a, device="cpu", lists=lists)
        parts.append(time.perf_counter() - begin)
        parts_read.append(read_bytes() - before)
    return {
        "bfs": seconds,
        "bfs_read": read,
        "components": parts,
        "components_read": parts_read,
        "found": [*found, count, zlib.crc32(labels.view(np.uint8))],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "auto": ps.csgraph.explain(a, "bfs", device="cpu").lists,
    }


def run(
    folder: Path, lists: str, roots: list[int], group: Path | None, patience: float
) -> dict | str:
    """What `measure` tells in a process of its own, or why that did not end."""
    words = [sys.executable, __file__, "--folder", str(folder), "--child", lists]
    words += ["--at", ",".join(map(str, roots)), "--group", str(group or "")]
    drop(folder)
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=patience)
    except subprocess.TimeoutExpired:
        return f"not done in {patience:g} s"
    if group is not None and done.returncode == -signal.SIGKILL:
        return "killed: it needs more than the limit"
    if done.returncode:
        raise SystemExit(
            f"{lists}: the process ended with {done.returncode}: {done.stderr[-2000:]}"
        )
    return json.loads(done.stdout.splitlines()[-1])


def store_of(folder: Path, edges: float, graph: Path | None) -> Path:
    """A store of a lift of at least `edges` entries, of the file `graph` or an R-MAT graph, with its packed lists."""
    one = ps.generate.rmat(15, 64, seed=1) if graph is None else simple(graph)
    if not one.nnz:
        raise SystemExit(f"--graph {graph}: it has no edge between two vertices")
    out = folder / "limit.penstock"
    a = ps.generate.lift(one, math.ceil(edges / one.nnz), seed=1)
    a.save(out, lists=True)
    return out


def show(rows: dict[str, dict | str]) -> None:
    """A line a row, and how many times as long as packed lists the others took under the limit, by medians."""
    right = next((row["found"] for row in rows.values() if isinstance(row, dict)), None)
    print("lists | first search s | search s | MB read | components s | MB read | auto is")
    for name, row in rows.items():
        if isinstance(row, str):
            print(f"{name} | {row}")
            continue
        if row["found"] != right:
            raise SystemExit(f"{name}: other levels or components than the row before it")
        print(
            f"{name} | {row['bfs'][0]:.2f} | {median(row['bfs'][1:]):.3f} | {median(row['bfs_read'][1:]) / 1e6:.0f} | "
            f"{median(row['components']):.3f} | {median(row['components_read']) / 1e6:.0f} | {row['auto']}"
        )
    raw, packed = rows["as they are"], rows["packed"]
    if isinstance(raw, dict) and isinstance(packed, dict):
        search = median(raw["bfs"][1:]) / median(packed["bfs"][1:])
        parts = median(raw["components"]) / median(packed["components"])
        print(
            f"as they are over packed: first search {raw['bfs'][0] / packed['bfs'][0]:.2f}, search {search:.2f}, "
            f"components {parts:.2f}"
        )


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, required=True, help="on a disk: the store is made there"
    )
    parser.add_argument("--graph", type=Path, help="a file to lift, in any format (an R-MAT graph)")
    parser.add_argument("--edges", type=float, default=150e6, help="entries, at least (150e6)")
    parser.add_argument("--limit", type=float, help="bytes (half of the lists as they are)")
    parser.add_argument("--roots", type=int, default=5, help="searches, at least 2 (5)")
    parser.add_argument("--patience", type=float, default=900, help="seconds of a row (900)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    parser.add_argument("--group", help=argparse.SUPPRESS)
    return parser


def main() -> None:
    parser = options()
    args = parser.parse_args()
    if args.child:
        if args.group:
            (Path(args.group) / "cgroup.procs").write_text(str(os.getpid()))
        print(json.dumps(measure(args.folder, args.child, [int(v) for v in args.at.split(",")])))
        return
    if not args.folder.is_dir():
        parser.error(f"--folder {args.folder}: no such folder; make it, on a disk")
    if args.graph is not None and not args.graph.is_file():
        parser.error(f"--graph {args.graph}: no such file")
    if args.roots < 2 or not (args.edges > 0 and args.patience > 0):
        parser.error("--roots is at least 2, --edges and --patience are positive")
    store = store_of(args.folder, args.edges, args.graph)
    a = ps.open(store)
    facts = a._derived.packed_lists.facts()
    raw = 8 * (a.shape[0] + 1) + 4 * a.nnz
    limit = int(args.limit or raw / 2)
    draw = np.random.default_rng(2).choice(np.flatnonzero(np.diff(a.indptr)), args.roots)
    roots = [int(v) for v in draw]
    print(
        f"{a.shape[0]:,} vertices, {a.nnz:,} edges: {raw / 1e6:.0f} MB as they are, {facts['bytes'] / 1e6:.0f} MB "
        f"packed; limit {limit / 1e6:.0f} MB, of which a search has about {VERTEX_BYTES * a.shape[0] / 1e6:.0f} MB for "
        f"vertices; {ps.num_threads()} threads"
    )
    del a
    rows: dict[str, dict | str] = {}
    with limited(limit) as group:
        if group is None:
            print("no control group with a memory limit can be made here: nothing is measured")
            return
        for name, lists in LISTS.items():
            rows[name] = run(store, lists, roots, group, args.patience)
    for name in ("as they are", "packed"):
        rows[f"{name}, no limit"] = run(store, LISTS[name], roots, None, args.patience)
    show(rows)


if __name__ == "__main__":
    main()
