"""What every part of bench/cardellini2014.py shares: ranks, strategies, and turns of matrices that ranks share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lib import harness
from lib.paper_runs import PaperRun

from penstock import _core
from studies.cardellini2014 import paper
from studies.cardellini2014.crew import Crew, RankError, Ranks, Unavailable
from studies.cardellini2014.pde import Problem
from studies.cardellini2014.ranks import ON_CPU

_MOST_CALLS = 500  # products in a turn
_ALONE = ("nccl", "nvshmem")  # libraries that want a GPU for each rank
# Summed up over ranks; of times the slowest rank's counts.
_SUMS = ("sent_bytes", "received_bytes", "messages")


@dataclass
class Run(PaperRun):
    ranks: Ranks = field(kw_only=True)

    def settings(self, seconds: float) -> harness.Settings:
        return harness.Settings(self.args.repeats, 0.0, warm_turns=False, seconds=seconds)

    def strategies(self, ranks: int, gpus: int) -> list[str]:
        wanted = (
            [*(h.name for h in _core.halos()), "auto"]
            if gpus == ON_CPU
            else [*paper.STRATEGIES, *paper.OURS]
        )
        if 0 < gpus < ranks:
            wanted = [s for s in wanted if s not in _ALONE]
        return [s for s in wanted if not self.args.strategies or s in self.args.strategies]

    def add(self, part: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Completes a case, keeps it, says what came out."""
        entry = {"part": part, "on_host": self.on_host, **entry}
        if entry["turns"] < self.args.repeats:
            why = f"{entry['turns']} turns, not {self.args.repeats}: its share of --minutes"
            self.report.skip(f"turns of {entry['case']}", why)
        self.report.add(entry)
        said = [
            f"{n} {r['median'] * 1e6:.4g}" for n, r in entry["results"].items() if "median" in r
        ]
        print(f"{part}: {entry['case']}: {', '.join(said) or 'nothing'} us", flush=True)
        return entry


def role(strategy: str) -> str:
    """The paper's strategies are there to be beaten; of the CPU's that is the one that sends everything."""
    return "rival" if strategy in paper.STRATEGIES else "ours"


class Shared:
    """Contestants of one case: the same problem on the same ranks."""

    def __init__(self, run: Run, crew: Crew, problem: Problem, name: str) -> None:
        self.run, self.crew, self.problem, self.name = run, crew, problem, name
        self.people: list[harness.Contestant] = []
        self.failed: dict[str, Any] = {}
        self.told: dict[str, list[dict[str, float]]] = {}
        crew("load", kind=problem.kind, n=problem.n)

    def make(self, strategies: list[str], verb: str = "seconds", **how: Any) -> None:
        """One each; those that this machine cannot have are left out, and named."""
        for name in strategies:
            try:
                if min(self.crew("room")) < 0:
                    raise MemoryError("no GPU memory is left for one more matrix")
                made = self.crew("make", name=name, halo=name)
            except Unavailable as e:
                self.run.report.skip(name, str(e))
            except MemoryError as e:
                self.run.report.skip(f"{self.name}: {name}", str(e))
            except RankError as e:
                self.failed[name] = {"role": role(name), "status": "failed", "reason": str(e)}
            else:
                notes = {"strategy": made[0]["strategy"]}
                prepared = max(m["prepare_seconds"] for m in made)
                self.join(name, verb, notes=notes, prepare_seconds=prepared, **how)

    def join(
        self, name: str, verb: str = "seconds", check: str = "error",
        given: dict[str, int] | None = None, **about: Any,
    ) -> None:  # fmt: skip
        """`verb` does the work and returns its times on each rank; the slowest rank decides."""
        calls = 1
        self.told[name] = []

        def timed() -> float:
            nonlocal calls
            found = self.crew(verb, name=name, **(given or {"calls": calls}))
            seconds = max(r["seconds"] for r in found)
            wanted = math.ceil(self.run.args.turn_seconds / max(seconds, 1e-9))
            calls = min(max(calls, wanted), _MOST_CALLS)
            self.told[name].append(
                {k: (sum if k in _SUMS else max)(r.get(k, 0.0) for r in found) for k in found[0]}
            )
            return seconds

        about.setdefault("role", role(name))
        self.people.append(harness.Contestant(
            name, lambda: float(np.max(self.crew(check, name=name))), timed=timed, **about))  # fmt: skip

    def measure(self, seconds: float, **about: Any) -> dict[str, Any]:
        p = self.problem
        given = {"work": 2.0 * p.nnz, "traffic": 0.0, "rate": "gflops"}
        given |= {k: about.pop(k) for k in tuple(given) if k in about}
        about = {"matrix": p.label, "n": p.n, "rows": p.rows, "nnz": p.nnz, "ranks": self.crew.size,
                 "messages_by": self.crew.name, **about}  # fmt: skip
        case = harness.Case(self.name, lambda error: error, about=about, **given)
        entry = harness.measure(case, self.people, self.run.settings(seconds))
        entry["results"] |= self.failed
        for name, told in self.told.items():
            turns = told[1:] or told  # the first finds out how many calls a turn has
            if turns and "median" in entry["results"].get(name, {}):
                entry["results"][name]["each"] = {
                    k: float(np.median([t[k] for t in turns])) for k in turns[0]
                }
        return entry


def fits(run: Run, problem: Problem, count: int, what: str) -> bool:
    """Is there host memory for the matrix, and `count` more of it? If not, says so."""
    return run.memory_for(what, (2.0 + count) * problem.nbytes + 40.0 * problem.rows)
