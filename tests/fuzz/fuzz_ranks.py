"""Fuzzes rank programs: collective calls at random, of matrices that leave ranks without rows, entries and partners.

    python tests/fuzz/fuzz_ranks.py --seconds 60 --seed 1 [--mpi]

In most programs all ranks do the same, and every result is compared with SciPy or one process. In the others one rank
deviates: it gives another argument, makes another call, leaves one out, returns or raises early. Then every rank that
is still there must get an error within seconds, and none may end by a signal or wait for ever. Ranks are threads of a
child process, or MPI's with --mpi. A finding is printed with its seed, and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

import penstock as ps

PATIENCE = 20.0  # seconds in which every rank must have been told
HALOS = ("auto", "isend", "persistent", "neighborhood", "indexed", "put", "sync")
PARTITIONS = ("contiguous", "balanced", "grid", "bins", "owners")
DEVIATIONS = ("argument", "call", "less", "return", "raise")
OPERATIONS = (
    "product",
    "columns",
    "transposed",
    "min_plus",
    "bfs",
    "components",
    "pagerank",
    "cg",
    "gmres",
    "matmul",
    "reduce",
    "broadcast",
    "gather",
)


def matrix(rng: np.random.Generator, ranks: int) -> sp.csr_array:
    """Symmetric, of positive eigenvalues; often with parts of it apart, or with next to nothing in it."""
    n = int(rng.choice([0, 1, 2, 3, 7, 20, 60]))
    if n == 0:
        return sp.csr_array((0, 0))
    S = sp.random_array((n, n), density=float(rng.choice([0.0, 0.05, 0.3])), rng=rng).toarray()
    if rng.random() < 0.4:  # a component a range of rows
        part = np.arange(n) * ranks // n
        S[part[:, None] != part[None, :]] = 0
    S = S + S.T
    return sp.csr_array(S + np.diag(S.sum(axis=1) + 1.0))


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-6, atol=1e-9)


class Program:
    """What all ranks do, of one seed."""

    def __init__(self, seed: int, ranks: int) -> None:
        rng = np.random.default_rng(seed)
        self.S = matrix(rng, ranks)
        self.n = self.S.shape[0]
        self.halo, self.partition = str(rng.choice(HALOS)), str(rng.choice(PARTITIONS))
        self.owners = rng.integers(0, ranks, self.n)
        few = [o for o in OPERATIONS if self.n or o in ("product", "components", "reduce")]
        self.steps = [str(rng.choice(few)) for _ in range(int(rng.integers(1, 7)))]
        self.odd = int(rng.integers(0, ranks)) if rng.random() < 0.4 else -1
        self.at = int(rng.integers(0, len(self.steps)))
        self.how = str(rng.choice(DEVIATIONS))
        self.numbers = rng.integers(0, 1 << 30, len(self.steps))

    def play(self, comm: Any) -> str:
        """What this rank came to: "fine", "gone" (as it should) or "told"; a wrong result is an AssertionError."""
        try:
            A = ps.csr_array(self.S)
            kind = self.owners if self.partition == "owners" else self.partition
            D = ps.dist.csr_array(A, comm, partition=kind, halo=self.halo)
            for i, step in enumerate(self.steps):
                odd = comm.rank == self.odd and i == self.at
                if odd and self.how == "return":
                    return "gone"
                if odd and self.how == "raise":
                    raise ZeroDivisionError("as it should")
                if odd and self.how == "less":
                    continue
                if odd and self.how == "call":
                    comm.collect("something else")
                    continue
                number = int(self.numbers[i]) + (odd and self.how == "argument")
                self.do(step, comm, A, D, number)
            comm.barrier()
        except AssertionError:
            raise
        except (ValueError, ps.dist.CommError, ZeroDivisionError) as error:
            if self.odd < 0:
                raise
            comm.fail(
                f"{type(error).__name__}: {error}"
            )  # as an exception that nobody catches does
            return "told"
        return "fine"

    def do(self, step: str, comm: Any, A: Any, D: Any, number: int) -> None:
        S, n, two = self.S, self.n, number % 2
        x = np.linspace(1.0, 2.0, n)
        if step == "product":
            close(
                D.collect(D @ D.share(x)) if two else D.collect(D.T @ D.share(x, of="y"), of="x"),
                S @ x,
            )
        elif step == "columns":
            X = np.outer(x, np.arange(1.0, number % 3 + 2))
            close(D.collect(D @ D.share(X)), S @ X)
        elif step == "transposed":
            X = np.outer(x, np.arange(1.0, number % 3 + 2))
            close(D.collect(D.T @ D.share(X, of="y"), of="x"), S.T @ X)
        elif step == "min_plus":
            semiring = ("plus_times", "min_plus")[two]
            close(D.collect(D.dot(D.share(x), semiring=semiring)), A.dot(x, semiring=semiring))
        elif step == "bfs":
            found = ps.dist.csgraph.bfs(D, number % n)
            if n > 1 or not two:
                close(D.collect(found), ps.csgraph.bfs(A, number % n))
        elif step == "components":
            assert ps.dist.csgraph.connected_components(D)[0] == (
                ps.csgraph.connected_components(A)[0] if n else 0
            )
        elif step == "pagerank":
            alpha = (0.85, 0.5)[two]
            ranks = D.collect(ps.dist.csgraph.pagerank(D, alpha, tol=1e-10, max_iter=2000))
            close(ranks, ps.csgraph.pagerank(A, alpha, tol=1e-10, max_iter=2000))
        elif step in ("cg", "gmres"):
            whole_rows = self.partition not in ("grid", "bins")  # which Schwarz needs
            M = (None, "jacobi", "schwarz" if whole_rows else "chebyshev")[number % 3]
            y, info = getattr(ps.dist.linalg, step)(D, D.share(x, of="y"), rtol=1e-10, M=M)
            assert info == 0
            close(S @ D.collect(y), x)
        elif step == "matmul":
            T = ps.dist.tiled_array(A, comm)
            stays = {"stationary": "abc"[number % 4]} if number % 4 < 3 else {"algorithm": "summa"}
            close(ps.dist.matmul(T, T, **stays).collect().toarray(), (S @ S).toarray())
        elif step == "reduce":
            values = np.arange(1.0, (5, 900)[two] + 1)
            comm.all_reduce(values, "max" if number % 3 else "sum")
            close(values[:2], np.array([1, 2]) * (1 if number % 3 else comm.size))
        elif step == "broadcast":
            root = number % comm.size
            values = np.full(3, comm.rank)
            comm.broadcast(values, root)
            assert values.tolist() == [root] * 3
        else:
            assert comm.all_gather(np.full(number % 4 + 1, comm.rank))[:, 0].tolist() == list(
                range(comm.size)
            )


def told_right(program: Program, results: list[str]) -> bool:
    """A deviation need not be one: another argument that means the same, a last call that nobody waits for."""
    if program.odd < 0:
        return set(results) == {"fine"}
    return set(results) == {"fine"} or all(
        r == "told" or (rank == program.odd and r == "gone") for rank, r in enumerate(results)
    )


def _threads(seeds: range, ranks: int) -> None:
    """In the child: a line for each seed as it is done."""
    for seed in seeds:
        program = Program(seed, ranks)
        began = time.monotonic()
        try:
            results: list[Any] = [None] * ranks

            def play(comm: Any, program: Program = program, results: list[Any] = results) -> None:
                results[comm.rank] = program.play(comm)

            ps.dist.run(play, ranks, timeout=60)
            right = told_right(program, results) and time.monotonic() - began < PATIENCE
            print(
                seed,
                "right" if right else f"WRONG {results}",
                program.how * (program.odd >= 0),
                flush=True,
            )
        except BaseException as error:
            print(seed, f"WRONG {type(error).__name__}: {str(error)[:300]!r}", flush=True)


def _mpi(seed: int) -> None:
    comm = ps.dist.world()
    program = Program(seed, comm.size)
    result = program.play(comm)
    print(seed, comm.rank, result, flush=True)
    if result == "told":
        time.sleep(0.3)
        os._exit(3)


def _children(words: list[str], seconds: float) -> tuple[int | None, str, str]:
    line = [*words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.terminate()
            out, err = child.communicate(timeout=10)
            return None, out, err
    return child.returncode, out, err


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--play", nargs=3, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.play:
        first, count, ranks = asked.play
        _threads(range(first, first + count), ranks)
        return 0
    if asked.rank is not None:
        _mpi(asked.rank)
        return 0
    end, seed, done = time.monotonic() + asked.seconds, asked.seed * 1_000_000, Counter[str]()
    me = [sys.executable, __file__]
    while time.monotonic() < end:
        ranks = 2 + seed % 3
        if asked.mpi:
            launch = [sys.executable, "-m", "penstock", "run", "-n", str(ranks), __file__]
            code, out, err = _children([*launch, "--rank", str(seed)], 3 * PATIENCE)
            program = Program(seed, ranks)
            came = dict(line.split()[1:3] for line in out.splitlines() if len(line.split()) == 3)
            results = [came.get(str(r), "killed") for r in range(ranks)]
            if program.odd >= 0 and "told" in results:  # the job ends as soon as one rank has
                results = ["told" if r == "killed" else r for r in results]
            if code not in (0, 3) or not told_right(program, results):
                print(
                    f"seed {seed}, {ranks} MPI ranks, {vars(program)}: {code} {results}\n{err[-2000:]}"
                )
                return 1
            done[program.how if program.odd >= 0 else "alike"] += 1
            seed += 1
            continue
        count = 30
        code, out, err = _children(
            [*me, "--play", str(seed), str(count), str(ranks)], count * PATIENCE
        )
        lines = out.splitlines()
        for line in lines:
            if " right" not in line:
                print(f"{ranks} ranks, seed {line}")
                return 1
            done[line.split(" right")[1].strip() or "alike"] += 1
        if code != 0 or len(lines) != count:
            print(
                f"{ranks} ranks, seed {seed + len(lines)}: the process ended with {code}\n{err[-2000:]}"
            )
            return 1
        seed += count
    print(f"{sum(done.values())} rank programs, none wrong: {dict(done)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
