"""Ranks that do what rank 0 says, so that one rank times everybody in turns: threads of this process, or MPI's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from studies.cardellini2014.pde import Shelf
from studies.cardellini2014.ranks import Rank

_STOP = "stop"


class Unavailable(RuntimeError):
    """What this machine, or this kind of rank, does not have."""


class RankError(RuntimeError):
    """What went wrong on a rank."""


_KINDS = {
    "MemoryError": MemoryError,
    "PlacementError": Unavailable,
    "NotCompiledError": Unavailable,
    "ModuleNotFoundError": Unavailable,
}


def _act(comm: Any, rank: Rank, verb: str, how: dict[str, Any]) -> list[Any] | None:
    """Every rank does it; rank 0 gets all results, or the first error."""
    result, error = None, None
    try:
        result = getattr(rank, verb)(**how)
    except Exception as e:
        error = (type(e).__name__, str(e))
    found = comm.collect((result, error), 0)
    if found is None:
        return None
    for number, (_, e) in enumerate(found):
        if e:
            kind = _KINDS.get(e[0], RankError)
            raise kind(
                f"rank {number} of {comm.size}: {e[0]}: {e[1]}" if kind is RankError else e[1]
            )
    return [r for r, _ in found]


class Crew:
    """Rank 0's hand on all ranks."""

    def __init__(self, comm: Any, rank: Rank) -> None:
        self._comm, self._rank = comm, rank
        self.size, self.name = comm.size, comm.name

    def __call__(self, verb: str, **how: Any) -> list[Any]:
        self._comm.share((verb, how), 0)
        return _act(self._comm, self._rank, verb, how)

    def stop(self) -> None:
        self._comm.share((_STOP, {}), 0)


def _serve(comm: Any, rank: Rank) -> None:
    while True:
        verb, how = comm.share(None, 0)
        if verb == _STOP:
            return
        _act(comm, rank, verb, how)


def _play(comm: Any, gpus: int, shelf: Shelf, work: Callable[[Crew], Any] | None) -> Any:
    rank = Rank(comm, gpus, shelf)
    try:
        if comm.rank:
            return _serve(comm, rank)
        crew = Crew(comm, rank)
        try:
            result = work(crew) if work else None
        except ps.dist.CommError:
            raise  # nobody listens any more
        except BaseException:
            crew.stop()
            raise
        crew.stop()
        return result
    finally:
        rank.close()


class Ranks:
    """Where crews come from. Under MPI the ranks of the world beyond a crew's wait."""

    def __init__(self, world: Any, shelf: Shelf) -> None:
        self.world, self.shelf = world, shelf
        self.processes = world.size > 1

    def most(self) -> int | None:
        """Ranks that a crew can have; None: any number."""
        return self.world.size if self.processes else None

    def run(self, count: int, gpus: int, work: Callable[[Crew], Any]) -> Any:
        """work(crew) with so many ranks on so many GPUs (0: the host is the device)."""
        if self.processes:
            self.world.share((count, gpus), 0)
            return _play(self.world.split(0, 0), gpus, self.shelf, work)
        run: Callable[..., list[Any]] = ps.dist.run
        return run(lambda comm: _play(comm, gpus, self.shelf, None if comm.rank else work), count)[
            0
        ]

    def follow(self) -> None:
        """What all processes but the first do, until it ends."""
        while True:
            count, gpus = self.world.share(None, 0)
            if not count:
                return
            mine = self.world.rank < count
            comm = self.world.split(0 if mine else 1, self.world.rank)
            if mine:
                _play(comm, gpus, self.shelf, None)

    def end(self) -> None:
        if self.processes:
            self.world.share((0, 0), 0)
