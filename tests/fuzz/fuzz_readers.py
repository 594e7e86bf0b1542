"""Fuzzes every reader and the store: anything but success, or a ValueError or OSError of ours, is a finding.

    python tests/fuzz/fuzz_readers.py --seconds 60 --seed 1

Inputs are mutations of small files that the writers made, of every format but Parquet, packed or not, and some that
unpack to a thousand times their size (polars ends the
process when a damaged length makes it ask for too much memory, which nobody outside it can catch). With atheris
installed, it drives the mutations by coverage; without it, a seeded loop of our own does, so that it always runs. A
finding is kept in --keep (default: the current folder) and ends the run with status 1. Memory and time per input are
bounded.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

import penstock as ps

SECONDS_AN_INPUT = 10
TEXT = (".mtx", ".txt", ".csv", ".wel", ".el", ".graph", ".gr", ".hgr")
MEMORY = 1 << 30
TOKENS = [
    b"-1",
    b"0",
    b"1",
    b"2147483647",
    b"2147483648",
    b"4294967297",
    b"9223372036854775807",
    b"1" + b"0" * 19,
    b"nan",
    b"-inf",
    b"1e999",
    b"9007199254740993",
    b"-9007199254740994.0",
    b"(True,)",
    b"|S0",
    b"%%MatrixMarket matrix coordinate complex hermitian\n",
    b"1.5",
    b"1d5",
    b"abc",
    b"%",
    b"#",
    b"\n",
    b"\r\n",
    b" ",
    b",",
    b"\0",
    b"\xff",
    b'"',
    b"(2,)",
    b"(99999999999,)",
    b"iso[bint8]",
    b"null",
    b"[]",
    b"{}",
    b"True",
    b"a",
    b"p sp",
]
EXTRA = {
    "array.mtx": b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
    "skew.mtx": b"%%MatrixMarket matrix coordinate complex skew-symmetric\n3 3 2\n2 1 1 2\n3 1 3 4\n",
    "herm.mtx": b"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n",
    "hermitian.mtx": b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 1 1\n",
    "integers.mtx": b"%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 9007199254740992\n2 1 -3\n",
    "comments.txt": b"# c\n\n# shape 3 3\n0 1 9007199254740992\n\n# c\n1 0 1\n",
    "weights.graph": b"4 3 011 2\n5 6 2 1 3 1\n5 6 1 1 3 1\n5 6 1 1 2 1\n9 9\n",
    "weights.hgr": b"4 4 11\n5 2 3\n5 1 3\n5 1 2\n5\n1\n1\n1\n1\n",
    "dialect.gr": b"a 0 1 1\na 1 0 1\na 2 1 7\n",
    "a.csv": b'"from","to"\n0,1\n"1","2"\n',
    "a.rua": b"title\n 3 1 1 1 0\nRUA 3 3 3 0\n(4I3)           (3I2)           (2E9.2)\n"
    b"  1  3  3  4\n 1 2 3\n  1.0E+00 2.5D-01\n   3.0-10\n",
    "a.psa": b"title\n 3 1 1 1 0\nPSA 4 4 3 0\n(5I3)           (3I2)\n  1  3  4  4  4\n 2 3 3\n",
}


def corpus(folder: Path) -> dict[str, bytes]:
    """Seed files by name; a store becomes the names `store/header.json` and so on."""
    pattern = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]], bool)
    values = np.where(pattern, 2.0, 0.0)
    seeds = dict(EXTRA)
    for dense, suffixes in (
        (pattern, ["mtx", "txt", "el", "graph", "hgr", "sg", "npz", "tsv.gz", "mtx.gz"]),
        (values, ["mtx", "txt", "csv", "wel", "graph", "gr", "wsg", "npz", "gr.gz"]),
        (values * 1j, ["mtx", "npz"]),
    ):
        for suffix in suffixes:
            path = folder / f"{dense.dtype}.{suffix}"
            ps.csr_array(dense).save(path)
            seeds[path.name] = path.read_bytes()
            path.unlink()
    import scipy.sparse as sp

    for kind in ("csc", "coo", "bsr", "dia"):
        buffer = io.BytesIO()
        sp.save_npz(buffer, sp.coo_array(values).asformat(kind), compressed=False)
        seeds[f"{kind}.npz"] = buffer.getvalue()
    return seeds


def store_seeds(folder: Path) -> list[dict[str, bytes]]:
    stores = []
    for dtype in (bool, np.float64, np.complex64):
        path = folder / "seed.penstock"
        ps.csr_array(np.eye(5, 7, dtype=dtype)).save(path)
        stores.append({p.name: p.read_bytes() for p in path.iterdir()})
        shutil.rmtree(path)
    ps.csr_array(np.ones((6, 6), bool)).save(path, sample=True)
    stores.append({p.name: p.read_bytes() for p in path.iterdir()})
    shutil.rmtree(path)
    return stores


def mutate(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(9)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1 and out:
            out[at % len(out)] = rng.randrange(256)
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at : at + rng.randrange(1, 9)]
        elif kind == 4:
            out[at:at] = rng.choice(TOKENS)
        elif kind == 5:
            words = bytes(out).split(b" ")
            words[rng.randrange(len(words))] = rng.choice(TOKENS)
            out = bytearray(b" ".join(words))
        elif kind == 6:
            lines = bytes(out).split(b"\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i] = rng.choice((lines[j], b"", lines[i] * 2))
            out = bytearray(b"\n".join(lines))
        elif kind == 7:
            out[at:at] = bytes(out[: rng.randrange(64)])
        elif len(out) >= 8:
            at = rng.randrange(len(out) - 7)
            number = rng.choice((0, 1, 2, 2**31, 2**62, 2**63 - 1, 2**64 - 1, 2**40))
            out[at : at + 8] = number.to_bytes(8, "little")
    return bytes(out)


def repacked(name: str, data: bytes, rng: random.Random) -> bytes:
    """A mutation inside the packing, so that it gets past the checksums."""
    if name.endswith(".gz"):
        return gzip.compress(mutate(gzip.decompress(data), rng))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        victim = rng.choice(old.namelist())
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, mutate(content, rng) if member == victim else content)
    return out.getvalue()


def bomb(data: bytes, rng: random.Random) -> bytes:
    """Runs of blank lines, comments or a line of the file itself, packed: some MB in some KB."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines) + 1)
    run = rng.choice((b"\n", b"%\n", b"#x\n", b"c\n", b" ", b"0", rng.choice(lines) + b"\n"))
    block = gzip.compress(run * ((1 << 20) // len(run)), 4)
    head, tail = b"\n".join(lines[:at]) + b"\n", b"\n".join(lines[at:])
    return gzip.compress(head) + block * rng.randrange(1, 5) + gzip.compress(tail)


class TooSlow(BaseException):
    pass


def _too_slow(*_: object) -> None:
    raise TooSlow(f"over {SECONDS_AN_INPUT} s")


def attempt(path: Path, outcome: Counter) -> str | None:
    """Reads; returns what went wrong where that is neither success nor a refusal of ours."""
    signal.alarm(SECONDS_AN_INPUT)
    try:
        if path.is_dir():
            ps.open(path)
            a = ps.open(path, validate=True)
        else:
            a = ps.load(path)
        if a.shape[1] < 1 << 20:
            a @ np.ones(a.shape[1])  # an index out of range would be read here
        outcome["read"] += 1
    except (ValueError, OSError) as error:
        outcome["refused"] += 1
        if not str(error).startswith(str(path)):
            return f"a refusal that does not name the file: {type(error).__name__}: {error}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    left = [p.name for p in path.parent.iterdir() if p != path]
    return f"left behind: {left}" if left else None


def put(folder: Path, name: str, content: bytes | dict[str, bytes]) -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.mkdir()
        for file, data in content.items():
            (path / file).write_bytes(data)
    return path


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def report(path: Path, problem: str, keep: Path) -> None:
    target = keep / f"finding-{int(time.time())}-{path.name}"
    shutil.move(path, target)
    print(f"FINDING: {problem}\n  input: {target}")
    if target.is_file():
        print(f"  bytes: {target.read_bytes()[:2000].hex()}")


def own_loop(seconds: float, seed: int, keep: Path, folder: Path) -> int:
    rng = random.Random(seed)
    seeds, stores = corpus(folder), store_seeds(folder)
    names = sorted(seeds)
    outcome: Counter = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if rng.random() < 0.25:
            store = dict(rng.choice(stores))
            victim = rng.choice(sorted(store))
            store[victim] = mutate(store[victim], rng)
            path = put(folder, "a.penstock", store)
        else:
            name = rng.choice(names)
            if name.endswith(TEXT) and rng.random() < 0.05:
                name, data = name + ".gz", bomb(seeds[name], rng)
                path = put(folder, name, data)
                if problem := attempt(path, outcome):
                    report(path, problem, keep)
                    return 1
                remove(path)
                continue
            inside = name.endswith((".gz", ".npz")) and rng.random() < 0.7
            data = repacked(name, seeds[name], rng) if inside else mutate(seeds[name], rng)
            path = put(folder, name, data)
        if problem := attempt(path, outcome):
            report(path, problem, keep)
            return 1
        remove(path)
    total = sum(outcome.values())
    print(
        f"{total} inputs in {seconds:.0f} s, {outcome['read']} read, {outcome['refused']} refused, no finding"
    )
    return 0 if outcome["read"] and outcome["refused"] else 1


def with_atheris(seconds: float, seed: int, keep: Path, folder: Path) -> int:
    import atheris

    seeds = corpus(folder)
    names = sorted(seeds)
    start = folder.parent / (folder.name + "-corpus")
    start.mkdir(exist_ok=True)
    for i, name in enumerate(names):
        (start / name).write_bytes(bytes([i]) + seeds[name])
    outcome: Counter = Counter()

    def one(data: bytes) -> None:
        if not data:
            return
        path = put(folder, names[data[0] % len(names)], data[1:])
        if problem := attempt(path, outcome):
            report(path, problem, keep)
            raise RuntimeError(problem)
        remove(path)

    atheris.instrument_all()
    atheris.Setup(
        [sys.argv[0], f"-max_total_time={int(seconds)}", f"-seed={seed}", str(start)], one
    )
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(start, ignore_errors=True)
    return 0


def warm_up() -> None:
    """Loads the libraries behind the readers and their threads: the limit of memory is to count inputs alone."""
    with tempfile.TemporaryDirectory() as name:
        for file, data in EXTRA.items():
            (Path(name) / file).write_bytes(data)
            ps.load(Path(name) / file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("."))
    options = parser.parse_args()
    warnings.simplefilter("error", DeprecationWarning)
    warm_up()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, -1))
    signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            import atheris  # noqa: F401
        except ImportError:
            return own_loop(options.seconds, options.seed, options.keep, folder)
        # The store is a folder of files, which atheris has no shape for: half of the time goes to our own loop.
        return own_loop(options.seconds / 2, options.seed, options.keep, folder) or with_atheris(
            options.seconds / 2, options.seed, options.keep, folder
        )


if __name__ == "__main__":
    os.environ.setdefault("PENSTOCK_NUM_THREADS", "2")
    sys.exit(main())
