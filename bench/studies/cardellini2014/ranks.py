"""What each rank of a crew does when rank 0 says so: load a problem, make contestants, multiply, solve, check."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

import penstock as ps
from penstock import _core
from studies.cardellini2014.hand import Hand
from studies.cardellini2014.pde import Problem, Shelf, product, values
from studies.cardellini2014.vectors import vectors
from studies.cardellini2014.ways import OnCpu, OnDevice

_RTOL = 1e-8  # of the solves that are checked
ON_CPU = -1  # "GPUs" of ranks that use the CPU's strategies; with 0 the host plays the device


class Rank:
    def __init__(self, comm: Any, gpus: int, shelf: Shelf) -> None:
        self.comm, self.shelf, self.gpus = comm, shelf, max(gpus, 1)
        self.place = None if gpus == ON_CPU else ps.device(comm.rank % gpus) if gpus else ps.host
        self.vectors = vectors(comm.rank % gpus if gpus > 0 else None)
        self.vectors.use()
        self.made: dict[str, Any] = {}
        self.hands: dict[str, Hand] = {}
        self.d: Any = None

    def close(self) -> None:
        self.made.clear()
        self.hands.clear()
        self.d = None
        gc.collect()

    def load(self, kind: str, n: int) -> float:
        """Shares a problem out; this rank's x, and its rows of A x by NumPy. Returns the seconds of sharing out."""
        self.close()
        self.problem, begin = Problem(kind, n, self.comm.size), time.perf_counter()
        self.d = ps.dist.csr_array(self._source(), self.comm, partition="contiguous")
        seconds, rows = time.perf_counter() - begin, self.d.rows
        self.first, self.last = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        if self.last - self.first != len(rows):
            raise ValueError("the rows of a rank are no block: the reference is of blocks")
        self.host_x = values(rows)
        self.x, self.twice = self.vectors.put(self.host_x), self.vectors.put(2 * self.host_x)
        self.y = self.vectors.put(np.empty(len(rows)))
        self.expected, self.bound = self.problem.expected(self.first, self.last)
        return seconds

    def _source(self) -> Any:
        if self.comm.one_process:
            return self.shelf.get(self.problem)
        if self.problem.kind != "couplings":
            return self.problem.generator()
        return self.problem.whole() if self.comm.rank == 0 else None

    def room(self) -> float:
        """Bytes free on this rank's GPU after one more matrix with all of x beside it."""
        if self.place is None or self.place.memory != "device":
            return 0.0
        free = _core.gpu_info(self.place.ordinal)["free_bytes"]
        sharing = -(-self.comm.size // self.gpus)
        return free - sharing * (1.2 * self.d.nbytes + 16 * self.problem.rows)

    def make(self, name: str, halo: str) -> dict[str, Any]:
        """One more contestant, and its first product, which makes the exchange."""
        begin = time.perf_counter()
        if self.place is None:
            mine: Any = OnCpu(self.d, self._source(), halo)
        else:
            mine = OnDevice(self.d, self.place, halo)
        mine.dot(self.x, self.y, 1)
        self.vectors.wait()
        self.made[name] = mine
        return {
            "prepare_seconds": time.perf_counter() - begin,
            "strategy": mine.times()["strategy"],
        }

    def hand(self, name: str, packed: bool) -> None:
        """The yardstick: this problem's exchange, written by hand."""
        plan, board = self.d._core.plan, self.shelf.board
        self.hands[name] = Hand(self.comm, plan, self.d.rows, self.host_x, board, packed)

    def error(self, name: str) -> float:
        """Of a product into a poisoned y, or of an exchange by hand, in multiples of what is allowed. One with another
        x comes before: nothing is right because it was already there."""
        if name in self.hands:
            return self.hands[name].error()
        worst = []
        for x, times in ((self.twice, 2.0), (self.x, 1.0)):
            self.vectors.fill(self.y, np.nan)
            self.vectors.wait()
            self.made[name].dot(x, self.y, 1)
            self.vectors.wait()
            off = np.abs(self.vectors.get(self.y) / times - self.expected)
            worst.append(np.max(off, initial=0.0) / self.bound)
        return float(np.max(worst))  # NaN stays

    def seconds(self, name: str, calls: int) -> dict[str, float]:
        """Of one of `calls` products in a row, by this rank's clock, and where they went by the library's."""
        mine = self.made[name]
        mine.clear()
        self.vectors.wait()
        self.comm.barrier()
        begin = time.perf_counter()
        mine.dot(self.x, self.y, calls)
        self.vectors.wait()
        seconds = time.perf_counter() - begin
        numbers = {k: v for k, v in mine.times().items() if not isinstance(v, str) and k != "setup"}
        told = {k: v / calls for k, v in numbers.items()}
        return {**told, "seconds": seconds / calls}

    def exchanges(self, name: str, calls: int) -> dict[str, float]:
        """Seconds of each of `calls` exchanges of x on the CPU, without products."""
        if name in self.hands:
            return {"seconds": self.hands[name].seconds(calls)}
        d = self.made[name].d
        d.clear_times()
        seconds = _core.time_exchanges(d._core, self.x, calls)
        told = {k: d.halo[k] / calls for k in ("sent_bytes", "messages")}
        return {**told, "seconds": seconds}

    def solved(self, name: str) -> float:
        """CG to its tolerance, from b = A x by NumPy: the true residual over what is allowed."""
        b = self.vectors.put(self.expected)
        x, info = self.made[name].cg(b, rtol=_RTOL)
        self.vectors.wait()
        whole = np.concatenate(self.comm.gather(self.vectors.get(x)))
        off = self.expected - product(self.problem.n, self.first, self.last, 0.0, whole.__getitem__)
        norms = np.array([off @ off, self.expected @ self.expected])
        self.comm.all_reduce(norms)
        return float(np.sqrt(norms[0] / norms[1])) / (2 * _RTOL) if info.converged else np.inf

    def iterations(self, name: str, short: int, long: int) -> dict[str, float]:
        """Seconds of one iteration of CG: the difference of a long and a short run. Where the long run ends before, as
        on toys, its mean."""
        b, spent, done = self.vectors.put(self.expected), [], 0
        for count in (short, long):
            self.vectors.wait()
            self.comm.barrier()
            begin = time.perf_counter()
            _, info = self.made[name].cg(b, rtol=0.0, maxiter=count)
            self.vectors.wait()
            spent.append(time.perf_counter() - begin)
            done = info.iterations
        each = (spent[1] - spent[0]) / (long - short)
        return {"seconds": each if done == long and each > 0 else spent[1] / max(done, 1)}
