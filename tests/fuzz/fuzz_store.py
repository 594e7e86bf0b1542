"""Fuzzes the native store: however it was damaged, every call on it answers, or refuses it by a ValueError or OSError.

    python tests/fuzz/fuzz_store.py --seconds 60 --seed 1 [--count 10000] [--workers 2]

Small stores of every kind are damaged (their headers, offsets, columns, values, packed form and sample; cut before they
are opened or while they are mapped; files of one in another), opened, and put through the calls below, each time opened
anew, so that every call is the first to read. Workers do it, each many; one that dies or hangs is a finding, and so is
a call that answers although the structure is wrong, or writes beyond its result. A finding is told with the numbers
that repeat it (`--seed S --case N`) and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from penstock import _core

SECONDS_A_CASE = 60
CANARY = -5.0
EXTREMES = (
    0,
    1,
    -1,
    2,
    7,
    1023,
    2**31 - 1,
    -(2**31),
    2**31,
    2**40,
    -(2**40),
    2**62,
    2**63 - 1,
    -(2**63),
)
Files = dict[str, bytes]

# Calls


def ones(n: int, *more: int) -> np.ndarray:
    return np.ones((n, *more))


def no_overrun(A: Any) -> None:
    rows, cols = A.shape
    room = np.full(cols + 4096, CANARY)
    A.T.dot(ones(rows), out=room[:cols])
    if (room[cols:] != CANARY).any():
        raise AssertionError("A.T.dot wrote beyond out")


def loaded(A: Any) -> Any:
    return _core.sample_neighbours(A._core, 4)


def distributed(A: Any) -> Any:
    return ps.dist.run(lambda c: ps.dist.csr_array(A, c) @ ones(A.shape[1] // 2 * (c.rank == 0)), 1)


CALLS: dict[str, Callable[[Any], Any]] = {
    "A @ x": lambda A: A @ ones(A.shape[1]),
    "A @ X": lambda A: A @ ones(A.shape[1], 4),
    "A.T @ x": lambda A: A.T @ ones(A.shape[0]),
    "A.T.dot(out)": no_overrun,
    "streamed": lambda A: A.dot(ones(A.shape[1]), schedule=ps.Streamed(block=1024)),
    "streamed packed": lambda A: A.dot(ones(A.shape[1]), schedule=ps.Streamed(codec="packed")),
    "prepare": lambda A: (A.prepare("blocked"), A @ ones(A.shape[1])),
    "A @ A": lambda A: A @ A.T,
    "formed": lambda A: A.T.formed(),
    "A + A": lambda A: A + A,
    "sum": lambda A: (A.sum(), A.sum(axis=0), A.sum(axis=1)),
    "rows": lambda A: A[A.shape[0] // 3 : A.shape[0] // 2 + 1] @ ones(A.shape[1]),
    "permute": lambda A: A[np.arange(A.shape[0])[::-1].copy()],
    "entry": lambda A: A[0, 0] if min(A.shape) else None,
    "diagonal": lambda A: A.diagonal(),
    "to_scipy": lambda A: A.to_scipy() @ ones(A.shape[1]),
    "save": lambda A: A.save("copy.penstock", packed=A.nnz % 2 == 0),
    "mtx": lambda A: A.save("copy.mtx"),
    "sample": loaded,
    "bfs": lambda A: ps.csgraph.bfs(A, 0),
    "components": lambda A: ps.csgraph.connected_components(A),
    "strong": lambda A: ps.csgraph.strongly_connected_components(A),
    "pagerank": lambda A: ps.csgraph.pagerank(A, max_iter=5, return_info=True),
    "triangles": lambda A: ps.csgraph.triangle_count(A),
    "cores": lambda A: ps.csgraph.core_number(A),
    "sssp": lambda A: ps.csgraph.sssp(A, 0),
    "betweenness": lambda A: ps.csgraph.betweenness_centrality(A, k=2),
    "rcm": lambda A: ps.reorder.rcm(A),
    "cg": lambda A: ps.linalg.cg(A, ones(A.shape[0]), maxiter=5),
    "ILU0": lambda A: ps.linalg.ILU0(A, shift=1.0),
}
UNREAD = {"rows", "streamed packed"}  # may answer: by other rows, or from the packed form


# Stores and what becomes of them


def stores(folder: Path) -> list[Files]:
    rng = np.random.default_rng(7)
    dense = (rng.random((300, 400)) < 0.02) * rng.standard_normal((300, 400))
    graphs = [
        ps.generate.rmat(10, 4, seed=1),
        ps.generate.rmat(11, 3, seed=2, dtype=np.float32),
        ps.generate.laplacian((35, 35)),
    ]
    made = [(A, dict(packed=True, sample=True)) for A in graphs]
    made += [(graphs[2], {}), (graphs[0], {}), (graphs[1], {}), (graphs[1], dict(packed="only"))]
    made += [(ps.csr_array(dense), dict(packed=True)), (ps.csr_array((5, 5)), {})]
    made += [(ps.csr_array(dense.astype(np.complex64)), {})]
    found = []
    for A, how in made:
        A.save(folder / "made.penstock", **how)
        found.append({p.name: p.read_bytes() for p in sorted((folder / "made.penstock").iterdir())})
        shutil.rmtree(folder / "made.penstock")
    return found


def offset_of(npy: bytes) -> int:
    return 10 + struct.unpack("<H", npy[8:10])[0]


def poke(rng: random.Random, raw: bytearray, first: int, width: int) -> None:
    """One number, or byte, of an array."""
    count = (len(raw) - first) // width
    if count <= 0:
        return
    at = first + width * rng.randrange(count)
    how = rng.randrange(5)
    if how == 0:
        raw[at + rng.randrange(width)] ^= 1 << rng.randrange(8)
    elif how == 1:
        raw[at : at + width] = (rng.choice(EXTREMES) % 2 ** (8 * width)).to_bytes(width, "little")
    elif how == 2:
        other = first + width * rng.randrange(count)
        raw[at : at + width], raw[other : other + width] = (
            raw[other : other + width],
            raw[at : at + width],
        )
    elif how == 3:
        near = int.from_bytes(raw[at : at + width], "little", signed=True) + rng.choice(
            (-1, 1, 40, 500)
        )
        raw[at : at + width] = (near % 2 ** (8 * width)).to_bytes(width, "little")
    else:
        raw[at : at + width] = rng.randbytes(width)


def header_edit(rng: random.Random, text: bytes) -> bytes:
    header = json.loads(text)
    target: Any = header
    while True:
        key = rng.choice(list(target) if isinstance(target, dict) else range(len(target)))
        if isinstance(target[key], (dict, list)) and target[key] and rng.random() < 0.8:
            target = target[key]
            continue
        old = target[key]
        near = old + rng.choice((-1, 1)) if isinstance(old, int) else "float32"
        target[key] = rng.choice(
            (near, *EXTREMES[:8], None, True, "x", [], {}, 1e300, "complex[float64]")
        )
        return json.dumps(header).encode()


WIDTHS = {
    "indptr.npy": 8,
    "indices.npy": 4,
    "data.npy": 1,
    "packed_directory.npy": 8,
    "packed.npy": 4,
    "sample.npy": 4,
}


def damaged(seed: int, case: int, made: list[Files]) -> tuple[str, Files, tuple[str, int] | None]:
    """(what was done, the files, and which is cut to which length once it is mapped)"""
    rng = random.Random(seed * 1_000_003 + case)
    files = dict(rng.choice(made))
    arrays = sorted(set(files) & set(WIDTHS))
    cut = None
    kind = rng.choice(
        ("structure",) * 8
        + ("packed",) * 3
        + ("sample", "data", "header", "json", "npy", "length", "swap", "cut", "cut")
    )
    of = {"structure": ["indptr.npy", "indices.npy"], "packed": ["packed.npy", "packed_directory.npy"],
          "sample": ["sample.npy"], "data": ["data.npy"]}.get(kind, arrays)  # fmt: skip
    names = [n for n in of if n in files] or arrays
    if kind == "json":
        files["header.json"] = header_edit(rng, files["header.json"])
    elif kind == "header":
        raw = bytearray(files["header.json"])
        poke(rng, raw, 0, 1)
        files["header.json"] = bytes(raw)
    elif kind == "swap":
        other = rng.choice(made)
        name = rng.choice(sorted(files))
        files[name] = other.get(name, files[name])
    elif kind == "cut":
        name = rng.choice(names)
        cut = name, rng.choice((0, 64, 128, max(len(files[name]) - 1, 0), len(files[name]) // 2))
    else:
        name = rng.choice(names)
        for _ in range(rng.choice((1, 1, 2, 5))):
            raw = bytearray(files[name])
            if kind == "npy":
                poke(rng, raw[:0] or raw, 0, 1) if not raw else raw.__setitem__(
                    rng.randrange(min(128, len(raw))), rng.randrange(256)
                )
            elif kind == "length":
                size = rng.choice((0, 5, 127, len(raw) // 2, max(len(raw) - 1, 0), len(raw) + 8))
                raw = raw[:size] + bytes(max(size - len(raw), 0))
            else:
                poke(rng, raw, offset_of(raw), WIDTHS[name])
            files[name] = bytes(raw)
        if kind not in ("npy", "length") and rng.random() < 0.7:  # so that no checksum tells
            try:
                header = json.loads(files["header.json"])
                header["penstock"]["crc32"][name[:-4]] = zlib.crc32(
                    files[name][offset_of(files[name]) :]
                )
                files["header.json"] = json.dumps(header).encode()
            except (ValueError, KeyError, TypeError):
                pass
    return kind, files, cut


def wrong_structure(folder: Path) -> bool:
    """Whether the arrays, where there are some of the right types, are no matrix: told without the library."""
    try:
        shape = json.loads((folder / "header.json").read_bytes())["binsparse"]["shape"]
        indptr, indices = np.load(folder / "indptr.npy"), np.load(folder / "indices.npy")
        if indptr.dtype != np.int64 or indices.dtype != np.int32 or indptr.size < 1:
            return False
        falls = (indptr[1:] < indptr[:-1]).any() or indptr[0] != 0 or indptr[-1] != indices.size
        return bool(falls or (indices.size and (indices.min() < 0 or indices.max() >= shape[1])))
    except Exception:  # NumPy has many for a damaged header
        return False


# Workers

REFUSALS = (ValueError, OSError, MemoryError, TypeError, ArithmeticError, NotImplementedError,
            _core.NotCompiledError)  # fmt: skip


def run_case(
    seed: int, case: int, made: list[Files], status: Callable[[str], None]
) -> Counter[str]:
    kind, files, cut = damaged(seed, case, made)
    folder = Path("m.penstock")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    wrong = wrong_structure(folder)
    told: Counter[str] = Counter()
    for name, call in CALLS.items():
        status(f"{case} ({kind}): {name}")
        told["calls"] += 1
        shutil.rmtree("copy.penstock", ignore_errors=True)
        try:
            A = ps.open(folder)
        except REFUSALS:
            told["refused by open"] += len(CALLS)
            told["calls"] += len(CALLS) - 1
            return told
        try:
            if cut:
                os.truncate(folder / cut[0], cut[1])
            call(A)
        except REFUSALS:
            told["refused by the call"] += 1
            if Path("copy.penstock").exists():
                raise AssertionError(f"{name} refused the store and wrote something") from None
        else:
            told["answered"] += 1
            if wrong and name not in UNREAD:
                raise AssertionError(f"{name} answered of arrays that are no matrix")
        finally:
            del A
            if cut:
                (folder / cut[0]).write_bytes(files[cut[0]])
    return told


def work(seed: int, folder: str) -> None:
    os.chdir(folder)
    made = stores(Path())
    ps.set_num_threads(2)
    note = os.open("status", os.O_WRONLY | os.O_CREAT)

    def status(text: str) -> None:
        os.pwrite(note, text.encode().ljust(80), 0)

    for line in sys.stdin:
        try:
            told: dict[str, Any] = dict(run_case(seed, int(line), made, status))
        except Exception as error:  # of another kind than a refusal
            told = {"finding": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


class Worker:
    def __init__(self, seed: int, folder: str) -> None:
        os.makedirs(folder)
        self.folder = folder
        self.child = subprocess.Popen(
            [sys.executable, __file__, "--work", folder, "--seed", str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.since = 0.0

    def give(self, case: int) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(f"{case}\n".encode())
        self.child.stdin.flush()
        self.since = time.monotonic()

    def status(self) -> str:
        try:
            return Path(self.folder, "status").read_text().strip()
        except OSError:
            return "before its first case"


def fuzz(
    seed: int, seconds: float, count: int, workers: int, first: int
) -> tuple[Counter[str], str | None]:
    told: Counter[str] = Counter()
    end, case = time.monotonic() + seconds, first
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a disk would be waited for
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        pool = [Worker(seed, f"{folder}/{i}") for i in range(workers)]
        try:
            busy = {w.child.stdout: w for w in pool}
            for w in pool:
                w.give(case)
                case += 1
            while busy:
                ready, _, _ = select.select(list(busy), [], [], 1.0)
                for out in ready:
                    w = busy[out]
                    line = out.readline()
                    if not line:
                        return told, f"status {w.child.wait()} of a worker in case {w.status()}"
                    result = json.loads(line)
                    if "finding" in result:
                        return told, f"case {w.status()}: {result['finding']}"
                    told.update(result)
                    told["stores"] += 1
                    if case - first < count and time.monotonic() < end:
                        w.give(case)
                        case += 1
                    else:
                        del busy[out]
                for w in busy.values():
                    if time.monotonic() - w.since > SECONDS_A_CASE:
                        return told, f"no end in {SECONDS_A_CASE} s of case {w.status()}"
        finally:
            for w in pool:
                w.child.kill()
                w.child.wait()
    return told, None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10**9, help="stores at most")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.work:
        work(a.seed, a.work)
        return 0
    alone = a.case is not None
    told, finding = fuzz(
        a.seed, a.seconds, 1 if alone else a.count, 1 if alone else a.workers, a.case or 0
    )
    print(f"seed {a.seed}: {told['stores']} stores, " + ", ".join(f"{told[k]} {k}" for k in
          ("calls", "refused by open", "refused by the call", "answered")))  # fmt: skip
    if finding:
        print(f"FINDING, repeat with --seed {a.seed} --case N: {finding}")
    return 1 if finding else 0


if __name__ == "__main__":
    sys.exit(main())
