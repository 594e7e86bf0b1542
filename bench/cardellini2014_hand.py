"""The yardstick of exchanges: the same bytes in the same messages, written by hand.

Between processes: mpi4py's Isend, Irecv and Waitall. Between threads: a barrier, copies out of the neighbours' vectors,
a barrier. Nothing is packed where the entries that go to a rank lie side by side, as they do in blocks of a cube.
"""

from __future__ import annotations

import importlib.util
import itertools
import time
from typing import Any

import numpy as np
from cardellini2014_pde import values

Part = slice | np.ndarray


def _part(indices: np.ndarray) -> Part:
    if len(indices) and (np.diff(indices) == 1).all():
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


def _by_rank(plan: dict[str, np.ndarray], way: str) -> dict[int, tuple[int, int]]:
    """Rank -> where its entries begin and end."""
    ends = itertools.pairwise(plan[f"{way}_offsets"].tolist())
    return dict(zip(plan[f"{way}_ranks"].tolist(), ends, strict=True))


class Hand:
    """One rank of it. `plan` and `ids` are those of the distributed matrix whose exchange it does."""

    def __init__(
        self,
        comm: Any,
        plan: dict[str, np.ndarray],
        ids: np.ndarray,
        x: np.ndarray,
        board: dict[int, Any],
    ) -> None:
        self._comm, self._x = comm, x
        indices, receives = plan["send_indices"], _by_rank(plan, "receive")
        self._sent = {r: _part(indices[a:b]) for r, (a, b) in _by_rank(plan, "send").items()}
        self.ghosts = np.empty(int(plan["receive_offsets"][-1]))
        self._mine = {r: self.ghosts[a:b] for r, (a, b) in receives.items()}
        told = comm.all_to_all(
            [ids[self._sent[r]] if r in self._sent else ids[:0] for r in range(comm.size)]
        )
        self._expected = np.concatenate([values(told[r]) for r in receives] or [np.empty(0)])
        if comm.one_process:
            board[comm.rank] = x, self._sent
            comm.barrier()
            self._copies = [(*board[r], into) for r, into in self._mine.items()]
            self._once = self._by_copies
        else:
            self._start_messages()
            self._once = self._by_messages

    def _start_messages(self) -> None:
        if importlib.util.find_spec("mpi4py") is None:
            raise ModuleNotFoundError(
                "mpi4py, whose messages the yardstick between processes takes, is missing"
            )
        from mpi4py import MPI

        self._mpi = MPI
        self._buffers = {r: np.empty(len(self._x[part])) for r, part in self._sent.items()}

    def _by_messages(self) -> None:
        world = self._mpi.COMM_WORLD  # a crew is its first ranks
        pending = [world.Irecv(into, r, 7) for r, into in self._mine.items()]
        for r, part in self._sent.items():
            data = self._x[part]
            if not isinstance(part, slice):
                data = np.take(self._x, part, out=self._buffers[r])
            pending.append(world.Isend(data, r, 7))
        self._mpi.Request.Waitall(pending)

    def _by_copies(self) -> None:
        self._comm.barrier()
        for x, sent, into in self._copies:
            part = sent[self._comm.rank]
            if isinstance(part, slice):
                np.copyto(into, x[part])
            else:
                np.take(x, part, out=into, mode="clip")
        self._comm.barrier()

    def error(self) -> float:
        """After one exchange: 0, or infinity where a ghost is not what its owner has."""
        self.ghosts.fill(np.nan)
        self._once()
        return 0.0 if np.array_equal(self.ghosts, self._expected) else np.inf

    def seconds(self, calls: int) -> float:
        """Of each of `calls` exchanges."""
        self._comm.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            self._once()
        return (time.perf_counter() - begin) / calls
