"""Fuzzes the reader of WebGraph's graphs: good ones are read as they were written, damaged ones are refused or read.

    python tests/fuzz/fuzz_webgraph.py --seconds 60 --seed 1

Each round writes a small graph with parameters and codes drawn at random, reads it with and without its offsets, packs
some, and then damages one of the files many times. Anything but a graph of the right shape, or a ValueError that names
the file, is a finding, which is kept in --keep and ends the run with status 1. Memory and time per input are bounded.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import penstock as ps

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import bv_writer as bv
from fuzz_readers import MEMORY, SECONDS_AN_INPUT, TooSlow, mutate

CODES = {
    "OUTDEGREES": ("GAMMA", "DELTA"),
    "BLOCKS": ("GAMMA", "DELTA", "UNARY"),
    "RESIDUALS": ("GAMMA", "ZETA", "DELTA", "NIBBLE"),
    "REFERENCES": ("UNARY", "GAMMA", "DELTA"),
    "BLOCK_COUNT": ("UNARY", "GAMMA", "DELTA"),
    "OFFSETS": ("GAMMA", "DELTA"),
}


def write(path: Path, rng: random.Random) -> list[list[int]]:
    lists = bv.random_lists(rng.randrange(40), rng.random(), rng.choice((0.0, 0.05, 0.3, 1.0)))
    bv.write(
        path, lists, window=rng.choice((0, 1, 2, 7, 60)), min_interval=rng.choice((0, 1, 2, 4)),
        zeta_k=rng.randrange(1, 9), seed=rng.random(), offsets=rng.random() < 0.5,
        codes={field: rng.choice(names) for field, names in CODES.items()} if rng.random() < 0.7 else None)  # fmt: skip
    return lists


def good(path: Path, lists: list[list[int]], pack: bool) -> str | None:
    """What is wrong with reading a graph that was not damaged."""
    expected = [v for own in lists for v in own]
    ways = (None, False) if path.with_suffix(".offsets").exists() else (None,)
    for offsets in ways:
        a = ps.load(path, offsets=offsets)
        if a.indices.tolist() != expected or np.diff(a.indptr).tolist() != [
            len(own) for own in lists
        ]:
            return "read otherwise than it was written"
    if not pack:
        return None
    store = path.with_suffix(".penstock")
    ps.convert(path, store, packed="only")
    b = ps.open(store, validate=True)
    shutil.rmtree(store)
    return None if b.indices.tolist() == expected else "packed otherwise than it was written"


def damaged(path: Path) -> tuple[bool, str | None]:
    """Whether it was read, and what is wrong with that."""
    try:
        a = ps.load(path)
    except (ValueError, OSError) as error:
        fine = str(error).startswith(str(path.with_suffix("")))
        return False, None if fine else f"a refusal that does not name the file: {error}"
    except TooSlow as error:
        return False, str(error)
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"
    inside = a.nnz == 0 or (a.indices.min() >= 0 and a.indices.max() < a.shape[1])
    return True, None if inside else "a column is outside the matrix"


def run(seconds: float, seed: int, keep: Path, folder: Path) -> int:
    rng, end = random.Random(seed), time.monotonic() + seconds
    rounds = read = refused = 0
    path = folder / "a.graph"
    while time.monotonic() < end:
        for old in folder.iterdir():
            old.unlink()
        signal.alarm(SECONDS_AN_INPUT)
        lists = write(path, rng)
        problem = good(path, lists, rounds % 10 == 0)
        rounds += 1
        files = {file: file.read_bytes() for file in folder.iterdir()}
        for _ in range(100):
            if problem:
                break
            victim = rng.choice(sorted(files))
            victim.write_bytes(mutate(files[victim], rng))
            signal.alarm(SECONDS_AN_INPUT)
            was_read, problem = damaged(path)
            read, refused = read + was_read, refused + (not was_read)
            if not problem:
                victim.write_bytes(files[victim])
        signal.alarm(0)
        if problem:
            target = keep / f"finding-{int(time.time())}-webgraph"
            shutil.copytree(folder, target)
            print(f"FINDING: {problem}\n  input: {target}")
            return 1
    print(
        f"{rounds} graphs and {read + refused} damaged ones in {seconds:.0f} s, {read} read, {refused} refused, "
        "no finding"
    )
    return 0 if read and refused else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("."))
    options = parser.parse_args()
    ps.set_num_threads(2)

    def too_slow(*_: object) -> None:
        raise TooSlow(f"over {SECONDS_AN_INPUT} s")

    signal.signal(signal.SIGALRM, too_slow)
    with tempfile.TemporaryDirectory() as name:
        bv.write(Path(name) / "a.graph", [[0]])
        ps.load(Path(name) / "a.graph")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, -1))
        return run(options.seconds, options.seed, options.keep, Path(name))


if __name__ == "__main__":
    sys.exit(main())
