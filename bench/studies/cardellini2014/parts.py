"""The parts of bench/cardellini2014.py on several ranks: throughput (figures 1 to 5), copies (figure 1(b)), weak
(figure 6), and past the paper exchange (against messages by hand) and cg."""

from __future__ import annotations

from typing import Any

from studies.cardellini2014 import paper
from studies.cardellini2014.crew import Unavailable
from studies.cardellini2014.pde import Problem
from studies.cardellini2014.ranks import ON_CPU
from studies.cardellini2014.runs import Run, Shared, fits

_WEAK = ("index_pinned", "device_indexed", "peer", "peer_packed", "nccl", "nvshmem", "auto")
_SOLVES = ("sync", "pinned", "index_pinned", "peer", "peer_packed", "nccl", "auto")
_HANDS = ("hand", "hand_packed")
_SHORT, _LONG = 5, 45  # iterations


def _where(ranks: int, gpus: int) -> str:
    return f"{ranks} ranks, {gpus} GPUs" if gpus > 0 else f"{ranks} ranks"


def _copies(run: Run, gpus: int, strategies: list[str]) -> int:
    """Of the matrix in host memory, besides the one that all are made from."""
    return 1 if gpus > 0 else len(strategies)


def _products(
    run: Run, part: str, problem: Problem, gpus: int, some: list[str], seconds: float, **about: Any
) -> None:
    name = f"{problem.label}, {_where(problem.ranks, gpus)}"
    if not fits(run, problem, _copies(run, gpus, some), f"{part} {name}"):
        return

    def work(crew: Any) -> None:
        shared = Shared(run, crew, problem, name)
        shared.make(some)
        run.add(part, shared.measure(seconds, gpus=gpus, **about))

    run.ranks.run(problem.ranks, gpus, work)


def throughput(run: Run, n: int, ranks: int, gpus: int, seconds: float) -> None:
    """GFLOP/s of one SpMV, x and y on the devices, of each strategy."""
    problem = Problem("pde", n, ranks)
    told = {"scenario": paper.scenario(ranks, gpus)}
    _products(run, "throughput", problem, gpus, run.strategies(ranks, gpus), seconds, **told)


def weak(run: Run, base: int, count: int, seconds: float) -> None:
    """The cube grows with the GPUs: each has as much as one has of pde`base`."""
    problem = Problem("pde", paper.weak_edge(base, count), count)
    gpus = 0 if run.on_host else count
    some = [s for s in run.strategies(count, gpus) if s in _WEAK]
    _products(run, "weak", problem, gpus, some, seconds, base=base, count=count)


def _exchange(run: Run, part: str, n: int, ranks: int, gpus: int, seconds: float) -> None:
    problem = Problem("couplings", n, ranks)
    name = f"exchange of pde{n}, {_where(ranks, gpus)}"
    strategies = run.strategies(ranks, gpus)
    if not fits(run, problem, _copies(run, gpus, strategies), f"{part} {name}"):
        return

    def work(crew: Any) -> None:
        shared = Shared(run, crew, problem, name)
        shared.make(strategies, "seconds" if part == "copies" else "exchanges")
        for yardstick in _HANDS if part == "exchange" else ():
            try:
                crew("hand", name=yardstick, packed=yardstick == "hand_packed")
                shared.join(yardstick, "exchanges", role="rival")
            except Unavailable as e:
                run.report.skip(yardstick, str(e))
        entry = shared.measure(seconds, work=0.0, gpus=gpus, scenario=paper.scenario(ranks, gpus))
        sent = [b for r in entry["results"].values() if (b := r.get("each", {}).get("sent_bytes"))]
        entry["exchanged_bytes"] = min(sent, default=0)  # `sync` sends more
        hand = entry["results"].get("hand", {}).get("median")
        for r in entry["results"].values():
            if hand and "median" in r:
                r["over_hand"] = r["median"] / hand
        run.add(part, entry)

    run.ranks.run(ranks, gpus, work)


def copies(run: Run, n: int, ranks: int, gpus: int, seconds: float) -> None:
    """The exchange alone: packing, copies, messages. The matrix has nothing but what couples ranks, so that its
    product adds three short kernels."""
    _exchange(run, "copies", n, ranks, gpus, seconds)


def exchange(run: Run, n: int, ranks: int, gpus: int, seconds: float) -> None:
    """The CPU's strategies against the same bytes and messages by hand."""
    _exchange(run, "exchange", n, ranks, ON_CPU, seconds)


def cg(run: Run, n: int, ranks: int, gpus: int, seconds: float) -> None:
    """Iterations of CG a second, vectors on the devices, on pdeN without advection."""
    problem = Problem("symmetric", n, ranks)
    name, some = (
        f"CG on symmetric {n}, {_where(ranks, gpus)}",
        [s for s in run.strategies(ranks, gpus) if s in _SOLVES],
    )
    if not fits(run, problem, _copies(run, gpus, some), f"cg {name}"):
        return
    given = {"short": _SHORT, "long": _LONG}

    def work(crew: Any) -> None:
        shared = Shared(run, crew, problem, name)
        shared.make(some, verb="iterations", check="solved", given=given)
        run.add("cg", shared.measure(seconds, work=1e9, rate="iterations_per_s", gpus=gpus))

    run.ranks.run(ranks, gpus, work)
