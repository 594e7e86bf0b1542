"""Paper 5 again: Brock, Buluc and Yelick 2024, "RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs".

python bench/brock2024.py                                # stand-ins of 2 million entries: about 10 minutes
python bench/brock2024.py --folder suitesparse           # the matrices of Table 1, where the folder has them
python bench/brock2024.py --parts gpus --gpus 1,2 --minutes 3   # products on GPUs alone
python bench/brock2024.py --quick                        # toy sizes

Parts: balance (Table 1, figure 1), spmm (figures 3 and 4: strong scaling, ranks that are threads), spgemm (figure 5),
oracle (the same and Table 2 predicted for Summit and a DGX-2), roofline (figure 2) and gpus (both products on the GPUs
here, of matrices of its own). Each measured row has its components, as Table 2, and the model's prediction beside it.
`c`, `a`, `b`: what stays; `+random`, `+locality`: who steals; `summa` is the rival.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from functools import partial

from lib.report import Report
from studies.brock2024 import gpus as brock2024_gpus
from studies.brock2024 import parts
from studies.brock2024.options import options, settle
from studies.brock2024.runs import Run
from studies.brock2024.suite import sources
from studies.brock2024.summary import show, targets

import penstock as ps
from penstock import _core


def main() -> int:
    parser = options(str(__doc__))
    args = parser.parse_args()
    settle(parser, args, _core.topology()["cpus"], _core.device_count())
    begin = time.monotonic()
    settings = {"repeats": args.repeats, "minutes": args.minutes, "matrices": args.matrices, "ranks": args.ranks,
                "entries": args.entries, "columns": args.columns, "parts": args.parts,
                "algorithms": args.algorithms, "gpus": args.gpus, "gpu_matrices": args.gpu_matrices}  # fmt: skip
    report = Report("brock2024", args, settings, ps.num_threads())
    report.data |= {"part_seconds": {}, "load": os.getloadavg()[0]}
    run = Run(
        args, report, True, begin + 60 * args.minutes, probe_seconds=0.05 if args.quick else 0.3
    )
    faults = 0
    if "balance" in args.parts:
        faults += run.step("balance", "figure 1", partial(parts.figure_1, run))
    if "roofline" in args.parts:
        faults += run.step("roofline", "figure 2", partial(parts.roofline, run))
    if "gpus" in args.parts:
        faults += brock2024_gpus.gpus(run)
    of_sources = [part for part in args.parts if part != "gpus"]
    for source in sources(args.folder, args.matrices, args.entries) if of_sources else []:
        try:
            a = source.make()
        except (ValueError, MemoryError) as e:
            report.skip(source.name, str(e))
            continue
        for part in of_sources:
            if part in ("spmm", "spgemm") and source.name not in args.measured:
                continue
            if part == "roofline" and not source.name.startswith("isolates"):
                continue
            work = parts.counted_roofline if part == "roofline" else getattr(parts, part)
            faults += run.step(part, f"{part} {source.name}", partial(work, run, source, a))
        del a
        gc.collect()
    report.data["targets"] = targets(report.data)
    report.data["seconds"] = time.monotonic() - begin
    report.write()
    show(report.data)
    if args.plots:
        from studies.brock2024 import plot

        for path in plot.save_all(report.data, args.plots):
            print(path)
    wrong = any(r["status"] == "wrong" for c in report.data["cases"] for r in c["results"].values())
    return int(wrong or faults > 0 or report.failed() or not report.data["cases"])


if __name__ == "__main__":
    sys.exit(main())
