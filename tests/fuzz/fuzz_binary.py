"""Fuzzes the readers of other programs' binary formats: anything but success, or a refusal of ours, is a finding.

    python tests/fuzz/fuzz_binary.py --seconds 60 --seed 1

Inputs are mutations of small files: PETSc, Galois, EMOGI, NumPy pairs, and MATLAB's of version 5; where h5py is
installed, too, AnnData's, 10x Genomics' and MATLAB's of version 7.3. In files of HDF5 the arrays are damaged through
the library, most of the time, since it reads little of a file whose own structure is damaged. A finding is kept in
--keep and ends the run with status 1. Memory and time per input are bounded.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from fuzz_readers import MEMORY, _too_slow, attempt, mutate, put, remove, report

import penstock as ps

try:
    import h5py
except ImportError:
    h5py = None

DENSE = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [5, 0, 3, 0], [0, 1, 0, 4]])


def corpus(folder: Path) -> dict[str, bytes | dict[str, bytes]]:
    """Seeds by name; a graph of EMOGI's are three files."""
    a, seeds = ps.csr_array(DENSE.astype(float)), {}
    for name, matrix, options in (
        ("a.petsc", a, {}),
        ("b.petsc", a, {"indices": 64}),
        ("c.dat", a.astype(complex), {}),
        ("a.gr", a, {"format": "galois"}),
        ("b.gr", a.astype(bool), {"format": "galois"}),
        ("c.gr", a, {"format": "galois", "weights": "float64"}),
    ):
        matrix.save(folder / name, **options)
        seeds[name] = (folder / name).read_bytes()
        (folder / name).unlink()
    a.save(folder / "a.bel")
    seeds["a.bel"] = {p.name: p.read_bytes() for p in folder.glob("a.bel.*")}
    for p in folder.glob("a.bel.*"):
        p.unlink()
    edges = np.argwhere(DENSE)
    for name, array in (
        ("a.npy", edges),
        ("b.npy", edges.T.astype(np.int32)),
        ("c.npy", edges[:0]),
    ):
        buffer = io.BytesIO()
        np.save(buffer, array)
        seeds[name] = buffer.getvalue()
    for name, packed in (("a.mat", False), ("b.mat", True)):
        buffer = io.BytesIO()
        scipy.io.savemat(
            buffer, {"Problem": {"A": sp.csc_array(DENSE.astype(float))}}, do_compression=packed
        )
        seeds[name] = buffer.getvalue()
    return seeds


def hdf5(path: Path, rng: random.Random) -> None:
    """A file with arrays, attributes and types that fit together, but for one."""
    a = sp.csc_array(DENSE) if rng.random() < 0.5 else sp.csr_array(DENSE)
    parts = {
        "data": a.data,
        "indices": a.indices,
        "indptr": a.indptr,
        "shape": np.array(DENSE.shape),
    }
    victim = rng.choice([None, *parts])
    if victim is not None:
        flat = np.frombuffer(mutate(parts[victim].tobytes(), rng), np.uint8)
        kind = np.dtype(
            rng.choice(["<i4", "<i8", "<u8", "<f4", "<f8", ">i4", "S3", parts[victim].dtype.str])
        )
        flat = flat[: flat.size // kind.itemsize * kind.itemsize]
        parts[victim] = flat.view(kind).reshape((-1, 1) if rng.random() < 0.05 else -1)
    with h5py.File(path, "w") as file:
        group = file.create_group(
            "X" if path.suffix == ".h5ad" else rng.choice(("matrix", "genome", "A"))
        )
        group.attrs["encoding-type"] = rng.choice(
            (f"{a.format}_matrix", "csr_matrix", "array", b"csc_matrix", 7)
        )
        group.attrs["shape"] = parts.pop("shape")
        group.attrs["MATLAB_sparse"] = rng.choice((4, 0, -1, 2**40, 2.5))
        names = {"indices": "ir", "indptr": "jc"} if path.suffix == ".mat" else {}
        for name, array in parts.items():
            if rng.random() < 0.98:
                packed = {"compression": "gzip"} if array.size and rng.random() < 0.5 else {}
                group.create_dataset(names.get(name, name), data=array, **packed)
        if path.suffix == ".h5":
            group.create_dataset("shape", data=group.attrs["shape"])


def one(
    folder: Path, seeds: dict[str, bytes | dict[str, bytes]], rng: random.Random, outcome: Counter
) -> tuple[Path, str | None]:
    if h5py is not None and rng.random() < 0.3:
        path = folder / rng.choice(("a.h5ad", "a.h5", "v.mat"))
        hdf5(path, rng)
        if rng.random() < 0.2:
            path.write_bytes(mutate(path.read_bytes(), rng))
        return path, attempt(path, outcome)
    name = rng.choice(sorted(seeds))
    seed = seeds[name]
    if isinstance(seed, bytes):
        path = put(folder, name, mutate(seed, rng))
        return path, attempt(path, outcome)
    victim = rng.choice(sorted(seed))
    inner = folder / "bel"
    inner.mkdir()
    for file, data in seed.items():
        (inner / file).write_bytes(mutate(data, rng) if file == victim else data)
    return inner, _attempt_parts(inner / name, outcome)


def _attempt_parts(path: Path, outcome: Counter) -> str | None:
    try:
        a = ps.load(path)
        a @ np.ones(a.shape[1])
        outcome["read"] += 1
    except (ValueError, OSError) as error:
        outcome["refused"] += 1
        return (
            None
            if str(error).startswith(str(path))
            else f"a refusal that does not name the file: {error}"
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("."))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of SciPy, about what is damaged
    signal.signal(signal.SIGALRM, _too_slow)
    rng, outcome = random.Random(options.seed), Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = corpus(folder)
        # A damaged .gr is DIMACS text, for which polars starts its threads: they are not what an input takes.
        warm = {"text.gr": b"p sp 2 1\na 1 2 1\n", **seeds}
        for file, data in warm.items():  # the libraries are loaded before memory is bounded
            if isinstance(data, bytes):
                path = put(folder, file, data)
                with contextlib.suppress(ValueError):  # float64 weights, taken for integers
                    ps.load(path)
                remove(path)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, -1))
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            path, problem = one(folder, seeds, rng, outcome)
            if problem:
                report(path, problem, options.keep)
                return 1
            remove(path)
            if sum(outcome.values()) % 100 == 0:
                gc.collect()  # tracebacks of refusals hold arrays
    print(
        f"{sum(outcome.values())} inputs in {options.seconds:.0f} s, {outcome['read']} read, {outcome['refused']} "
        "refused, no finding"
    )
    return 0 if outcome["read"] and outcome["refused"] else 1


if __name__ == "__main__":
    sys.exit(main())
