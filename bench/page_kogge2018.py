"""Paper 3 again: Page and Kogge 2018, "Scalability of Hybrid Sparse Matrix Dense Vector (SpMV) Multiplication".

python bench/page_kogge2018.py                                # stand-ins an eighth of the size: about 10 minutes
python bench/page_kogge2018.py --folder suitesparse           # its 25 matrices, where the folder has them
python bench/page_kogge2018.py --quick                        # toy sizes

Parts: mad (V-C, V-D), threads (figure 4), ranks (figures 5 to 9, ranks that are threads), mpi (the same on
processes), shaped (two ranks over a link made slow; needs root) and oracle (figures 5 to 9 predicted for the
paper's cluster). `naive` is a process grid whose rows are reduced, `balanced` packs rows in bins and gathers y at
rank 0, `ours` is what the library does by itself. Entries of x travel, too, which the paper's do not. Each measured
row has the oracle's prediction beside it.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from functools import partial

from lib.report import Report
from penstock.cli.scale import find_network
from studies.page_kogge2018 import parts
from studies.page_kogge2018.options import PARTS, options, settle
from studies.page_kogge2018.runs import Run
from studies.page_kogge2018.suite import sources
from studies.page_kogge2018.summary import show, targets

import penstock as ps
from penstock import _core

WORK = {name: getattr(parts, name) for name in PARTS}
MPI_MATRICES = 4  # that jobs of processes are started for: a start takes seconds


def main() -> int:
    parser = options(str(__doc__))
    args = parser.parse_args()
    cpus = _core.topology()["cpus"]
    settle(parser, args, cpus)
    begin = time.monotonic()
    network = find_network(args.network)
    settings = {"repeats": args.repeats, "minutes": args.minutes, "matrices": args.matrices, "ranks": args.ranks,
                "shrink": args.shrink, "parts": args.parts, "network": network.name,
                "network_source": network.source}  # fmt: skip
    report = Report("page_kogge2018", args, settings, ps.num_threads())
    report.data |= {"part_seconds": {}, "load": os.getloadavg()[0]}
    run = Run(args, report, True, begin + 60 * args.minutes, network=network, cpus=cpus)
    faults = 0
    found = sources(args.folder, args.matrices, args.shrink)
    few = {s.name for s in found[:: max(1, len(found) // MPI_MATRICES)]}
    for source in found:
        if run.left() <= 0:
            report.skip(source.name, "no time is left of --minutes")
            continue
        if not run.memory_for(source.name, source.size):
            continue
        try:
            a = source.make()
        except (ValueError, MemoryError, NotImplementedError) as e:
            report.skip(source.name, str(e))
            continue
        for part in args.parts:
            if part in ("mpi", "shaped") and source.name not in few:
                continue
            faults += run.step(part, f"{part} {source.name}", partial(WORK[part], run, source, a))
        del a
        gc.collect()
    report.data["targets"] = targets(report.data)
    report.data["seconds"] = time.monotonic() - begin
    report.write()
    show(report.data)
    if args.plots:
        from studies.page_kogge2018 import plot

        for path in plot.save_all(report.data, args.plots):
            print(path)
    wrong = any(r["status"] == "wrong" for c in report.data["cases"] for r in c["results"].values())
    return int(wrong or faults > 0 or report.failed() or not report.data["cases"])


if __name__ == "__main__":
    sys.exit(main())
