"""The yardstick of exchanges: the same bytes in the same messages, written by hand.

Between processes: mpi4py's Isend, Irecv and Waitall. Between threads: a barrier, copies out of the neighbours' memory,
a barrier. In blocks of a cube the entries that go to a rank lie side by side: by hand they need not be packed, and are
not, unless `packed` asks for what other meshes need.
"""

from __future__ import annotations

import importlib.util
import itertools
import time
from typing import Any

import numpy as np

from studies.cardellini2014.pde import values


def _by_rank(plan: dict[str, np.ndarray], way: str) -> dict[int, slice]:
    """Rank -> its entries of the list."""
    ends = itertools.pairwise(plan[f"{way}_offsets"].tolist())
    parts = (slice(begin, end) for begin, end in ends)
    return dict(zip(plan[f"{way}_ranks"].tolist(), parts, strict=True))


class Hand:
    """One rank of it. `plan` and `ids` are those of the distributed matrix whose exchange it does."""

    def __init__(
        self,
        comm: Any,
        plan: dict[str, np.ndarray],
        ids: np.ndarray,
        x: np.ndarray,
        board: dict[int, Any],
        packed: bool,
    ) -> None:
        self._comm, self._x = comm, x
        sent = {r: plan["send_indices"][part] for r, part in _by_rank(plan, "send").items()}
        together = {r: not packed and (np.diff(i) == 1).all() for r, i in sent.items()}
        self._views = {
            r: x[i[0] : i[0] + len(i)] if together[r] else np.empty(len(i)) for r, i in sent.items()
        }
        self._packs = [(i, self._views[r]) for r, i in sent.items() if not together[r]]
        self.ghosts = np.empty(int(plan["receive_offsets"][-1]))
        self._mine = {r: self.ghosts[part] for r, part in _by_rank(plan, "receive").items()}
        told = comm.all_to_all([ids[sent[r]] if r in sent else ids[:0] for r in range(comm.size)])
        self._expected = np.concatenate([values(told[r]) for r in self._mine] or [np.empty(0)])
        if comm.one_process:
            board[comm.rank] = self._views
            comm.barrier()
            self._copies = [(into, board[r][comm.rank]) for r, into in self._mine.items()]
            comm.barrier()  # the board is free
            self._once = self._by_copies
        else:
            if importlib.util.find_spec("mpi4py") is None:
                raise ModuleNotFoundError(
                    "messages by hand between processes need mpi4py: pip install mpi4py"
                )
            from mpi4py import MPI

            self._mpi, self._once = MPI, self._by_messages

    def _pack(self) -> None:
        for indices, buffer in self._packs:
            np.take(self._x, indices, out=buffer, mode="clip")

    def _by_messages(self) -> None:
        world = self._mpi.COMM_WORLD  # a crew is its first ranks
        pending = [world.Irecv(into, r, 7) for r, into in self._mine.items()]
        self._pack()
        pending += [world.Isend(view, r, 7) for r, view in self._views.items()]
        self._mpi.Request.Waitall(pending)

    def _by_copies(self) -> None:
        self._pack()
        self._comm.barrier()
        for into, view in self._copies:
            np.copyto(into, view)
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
