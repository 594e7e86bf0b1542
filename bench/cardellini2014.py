"""Paper 4 again: Cardellini et al. 2014, "Sparse Matrix Computations on Clusters with GPGPUs", strategies side by side.

python bench/cardellini2014.py                     # pde160 to pde400, all GPUs, a thread each: under 8 minutes
python bench/cardellini2014.py --parts weak,cg --gpus 1,2,4,8 --strategies index_pinned,peer,nccl
penstock run -n 8 bench/cardellini2014.py          # a process each: the only way to have nvshmem
python bench/cardellini2014.py --quick             # toy sizes; without a GPU the host plays the device

Parts: kernel (ELL-G against CSR), copies (figure 1(b): the exchange alone), weak (figure 6), cg (iterations a second),
exchange (the CPU's strategies against messages by hand), throughput (figures 1 to 5). GFLOP/s = 2 nonzeros / time of a
product in a row of them, x and y on the devices. Every rank checks its rows of every product against NumPy.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from lib.paper_runs import probe
from lib.report import Report
from studies.cardellini2014 import parts
from studies.cardellini2014.crew import Ranks
from studies.cardellini2014.kernel import kernel
from studies.cardellini2014.options import options, settle
from studies.cardellini2014.pde import Shelf, entries
from studies.cardellini2014.runs import Run
from studies.cardellini2014.summary import show, targets

import penstock as ps

# Of a step, for each entry of its matrix: how the time is shared out. A step besides costs what so many entries cost.
WEIGHTS = {"kernel": 0.3, "copies": 0.1, "weak": 0.7, "cg": 2, "exchange": 0.1, "throughput": 1}
_LEAST = 20e6
Step = tuple[str, int, int, int, Callable[..., None]]  # part, N, ranks, GPUs, what does it


def scenarios(args: argparse.Namespace, on_host: bool, most: int | None) -> list[tuple[int, int]]:
    """(ranks, GPUs): one rank a GPU, and two that share one."""
    shared = [] if on_host or (most or 2) < 2 else [(2, 1)]
    return [*shared, *((n, 0 if on_host else n) for n in sorted(set(args.gpus)) if n > 1)]


def steps(args: argparse.Namespace, on_host: bool, most: int | None) -> Iterator[Step]:
    """What is dearest and says least comes last."""
    sizes, counts, first = sorted(set(args.sizes)), sorted(set(args.gpus)), min(args.sizes)
    for n in sizes:
        yield "kernel", n, 1, 0 if on_host else 1, kernel
    several = scenarios(args, on_host, most)
    for n in sizes:
        for ranks, gpus in several:
            yield "copies", n, ranks, gpus, parts.copies
    for base in sorted(set(args.weak)):
        for count in counts:
            yield "weak", base, count, 0 if on_host else count, parts.weak
    for count in counts:
        yield "cg", first, count, 0 if on_host else count, parts.cg
    for n in (first, sizes[-1])[: len(sizes)]:
        for ranks in [c for c in counts if c > 1]:
            yield "exchange", n, ranks, 0, parts.exchange
    for n in sizes:
        for ranks, gpus in several:
            yield "throughput", n, ranks, gpus, parts.throughput


def weight(step: Step) -> float:
    part, n, ranks, _, _ = step
    return WEIGHTS[part] * (entries(n) * (ranks if part == "weak" else 1) + _LEAST)


def work(run: Run, step: Step, seconds: float) -> None:
    part, n, ranks, gpus, do = step
    if part == "weak":
        do(run, n, ranks, seconds)
    else:
        do(run, n, ranks, gpus, seconds)


def go(run: Run) -> int:
    """Every step, within its share of the time; what is left out is named. Returns how many broke."""
    todo = [s for s in steps(run.args, run.on_host, run.ranks.most()) if s[0] in run.args.parts]
    run.weight_left, faults = sum(map(weight, todo)), 0
    for step in todo:
        part, n, ranks, gpus, _ = step
        share = run.share(weight(step))
        run.weight_left -= weight(step)
        what = f"{part} {n}, {ranks} ranks" + (f", {gpus} GPUs" if gpus else "")
        faults += run.step(part, what, partial(work, run, step, share))
    run.ranks.shelf.clear()
    return faults


def lead(parser: argparse.ArgumentParser, args: argparse.Namespace, ranks: Ranks) -> int:
    on_host, begin = settle(parser, args, ranks.most()), time.monotonic()
    settings = {"repeats": args.repeats, "minutes": args.minutes, "sizes": args.sizes, "weak": args.weak,
                "gpus": args.gpus, "parts": args.parts, "strategies": args.strategies, "on_host": on_host,
                "ranks_are": "processes" if ranks.processes else "threads"}  # fmt: skip
    report = Report("cardellini2014", args, settings, ps.num_threads())
    report.data |= {
        "probe": probe(on_host or args.quick, False),
        "part_seconds": {},
        "load": os.getloadavg()[0],
    }
    if ranks.processes:
        n = str(ranks.world.size)
        report.data["command"] = ["penstock", "run", "-n", n, *report.data["command"][1:]]
    run = Run(args, report, on_host, begin + 60 * args.minutes, ranks=ranks)
    faults = go(run)
    report.data["targets"] = targets(report.data)
    report.data["seconds"] = time.monotonic() - begin
    report.write()
    show(report.data)
    if args.plots:
        from studies.cardellini2014 import plot

        for path in plot.save_all(report.data, args.plots):
            print(path)
    return int(faults > 0 or report.failed() or not report.data["cases"])


def main() -> int:
    parser = options(str(__doc__))
    args = parser.parse_args()
    os.environ.setdefault(
        "PENSTOCK_COMM_TIMEOUT", "120"
    )  # a rank that is lost costs a step, not the run
    ranks = Ranks(ps.dist.world(), Shelf())
    if ranks.world.rank:
        ranks.follow()
        return 0
    try:
        return lead(parser, args, ranks)
    finally:
        ranks.end()


if __name__ == "__main__":
    sys.exit(main())
