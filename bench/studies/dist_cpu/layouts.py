"""Layouts of bench/dist_cpu.py against the naive one, and the memory of each rank."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from lib import harness, matrices
from lib.report import Report

import penstock as ps
from studies.dist_cpu.crews import our_ranks, products
from studies.dist_cpu.parts import about_case, product_check
from studies.dist_cpu.worker import source_of

# The paper's naive distribution and its balanced one, then ours.
LAYOUTS = {
    "naive": {"partition": "grid", "sums": "reduce"},
    "naive_owners": {"partition": "grid", "sums": "owners"},
    "bins_gather": {"partition": "bins", "sums": "gather"},
    "bins": {"partition": "bins", "sums": "owners"},
    "balanced": {"partition": "balanced", "sums": "owners"},
}


def layouts(args: Any, report: Report, settings: harness.Settings) -> None:
    """Wall time of all ranks, and where they are threads the CPU time of the slowest."""
    scale, ranks = (10, 4) if args.quick else (args.scale, args.layout_ranks)
    a = ps.generate.rmat(scale, dtype=np.float64, seed=1)
    csr = matrices.with_values(a)
    x = np.random.default_rng(5).uniform(-1, 1, csr.shape[1])
    check = product_check(csr, x)
    with tempfile.TemporaryDirectory(prefix="penstock-dist-") as folder, ExitStack() as s:
        store = str(Path(folder) / "a.penstock")
        ps.save(store, a)
        crew = our_ranks(args.layout_comm, ranks, x)
        s.callback(crew.close)
        notes = {
            who: crew.ask(do="open", name=who, source=store, how=how, prepare=False)
            for who, how in LAYOUTS.items()
        }
        for key in ("seconds", "cpu") if args.layout_comm == "threads" else ("seconds",):
            everybody = [
                products(who, crew, settings.turn_seconds, "rival" if who == "naive" else "ours",
                         key, {"seconds": "multiply", "cpu": "cpu"}[key], name=who,
                         notes={k: v for k, v in note.items() if k != "seconds"})
                for who, note in notes.items()
            ]  # fmt: skip
            about = about_case(
                "layouts", f"rmat{scale}", csr, ranks, comm=args.layout_comm, clock=key
            )
            words = {"seconds": "all ranks", "cpu": "CPU of the slowest rank"}[key]
            case = harness.Case(f"rmat{scale} {ranks} ranks, {words}", check, about=about)
            report.add(harness.measure(case, everybody, settings))


MEMORY = ("store", "store_bins", "generator", "generator_bins", "file")  # the root reads a file


def memory(args: Any, report: Report) -> None:
    """One job a source and matrix: the peak of each rank's process over its share and halo."""
    scales, edge = ([8], 6) if args.quick else (args.memory_scales, args.size)
    wanted = [{"rmat": scale} for scale in dict.fromkeys((scales[0], scales[-1]))]
    for i, what in enumerate([*wanted, {"laplacian": edge}]):
        name = "".join(f"{kind}{size}" for kind, size in what.items())
        a = source_of(what)()
        with tempfile.TemporaryDirectory(prefix="penstock-dist-") as folder:
            store, file = (str(Path(folder) / f) for f in ("a.penstock", "a.mtx"))
            ps.save(store, a)
            if i == 0:
                ps.save(file, a)
            del a
            sources = {"store": store, "generator": what} | ({"file": file} if i == 0 else {})
            for kind in MEMORY:
                of, _, partition = kind.partition("_")
                if of not in sources:
                    continue
                how = {"partition": partition} if partition else {}
                crew = our_ranks("mpi", args.ranks)
                try:
                    found = crew.ask(do="memory", source=sources[of], how=how)
                finally:
                    crew.close()
                ratio = [p / n for p, n in zip(found["peak"], found["share"], strict=True)]
                report.add({"case": f"{kind} {name}", "part": "memory", "source": kind,
                            "matrix": name, "ranks": args.ranks, **found, "ratio": ratio,
                            "results": {}, "best_rival": None, "ratios": {},
                            "ratios_of_minima": {}})  # fmt: skip
