"""Paper 2 again: Min et al. 2020, "EMOGI: Efficient Memory-access for Out-of-memory Graph-traversal In GPUs", its rows
beside ours.

python bench/emogi2020.py                              # Kronecker 25 and 27, uniform 26: under 10 minutes
python bench/emogi2020.py --parts toy,bfs --scales 25 --uniform "" --sources 16 --folder graphs
python bench/emogi2020.py --emogi ../EMOGI --gap ../gapbs --temporary /scratch
python bench/emogi2020.py --lifts 'web*200,road*300'    # of graphs of the data folder, or files
python bench/emogi2020.py --quick                      # toy sizes; without a GPU the CPU's rows alone

Parts: toy (figures 3 and 4), bfs (5, 7, 8, 9, 10), cc and sssp (11, and their requests), and past the paper cold (one
search, sample included), gpus (bfs and cc on --gpus), pagerank (one pass of edges that stream) and road (high
diameter). Edges are in pinned host memory, and the GPU may hold the vertices' arrays and --share of the edges' bytes.
Ways to search take turns, a source for all; every result is compared exactly, --verify of them are verified edge by
edge.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from lib.matrices import MIN_NNZ
from lib.paper_runs import probe
from lib.report import Report
from studies.buono2017.matrices import Unfit
from studies.emogi2020 import graphs
from studies.emogi2020.options import options, settle
from studies.emogi2020.parts import PARTS
from studies.emogi2020.runs import Run
from studies.emogi2020.summary import show, targets
from studies.emogi2020.toy import toy
from studies.structure import graphs as lifts

import penstock as ps

# How the time is shared out: of a part, for each byte of its graph.
WEIGHTS = {"bfs": 6, "cold": 1, "cc": 2, "sssp": 6, "gpus": 2, "pagerank": 2, "road": 3}
_LEAST = 200e6  # bytes that every graph counts for
Step = tuple[str, graphs.Source]


def sources(args: argparse.Namespace, on_host: bool) -> Iterator[tuple[graphs.Source, set[str]]]:
    """Each graph once, with the parts that it serves; those of the goals' medians first."""
    gpu = None if on_host else args.gpu
    everywhere = {"bfs", "cold", "cc", "gpus", "pagerank"}
    wanted = [("kron", scale) for scale in args.scales] + [("uniform", s) for s in args.uniform]
    for kind, scale in sorted(set(wanted), key=lambda pair: pair[::-1]):
        serves = everywhere | ({"sssp"} if scale in args.weighted else set())
        yield graphs.generated(kind, scale, gpu), serves
    yield graphs.road(args.road), {"road"}
    for name, copies in args.lifts:
        try:
            a = lifts.base(name, args.quick)
        except Unfit as e:
            raise SystemExit(f"--lifts {name}: {e}") from None
        lift = lifts.lifted(name, a, copies, 0, 0.05, gpu)
        yield replace(lift, kind="file", scale=0), everywhere | {"sssp"}
    least = 0 if args.quick else MIN_NNZ
    for source in graphs.files(args.folder, least) if args.folder else ():
        yield source, everywhere | {"sssp"}


def weight(step: Step) -> float:
    return WEIGHTS[step[0]] * (step[1].size + _LEAST)


def made(run: Run, source: graphs.Source) -> bool:
    """Makes the graph, where there is time; a file that is no graph, or too large a graph, is named."""
    begin = time.monotonic()
    try:
        if run.left() > 0:
            run.shelf.get(source)
    except (MemoryError, Unfit) as e:
        run.report.skip(source.name, str(e))
        return False
    finally:
        spent = run.report.data["part_seconds"]
        spent["graphs"] = spent.get("graphs", 0.0) + time.monotonic() - begin
    return True


def go(run: Run) -> int:
    """Every step, within its share of the time; what is left out is named. Returns how many broke."""
    faults = 0
    todo = [(s, [p for p in WEIGHTS if p in serves & set(run.args.parts)])
            for s, serves in sources(run.args, run.on_host)]  # fmt: skip
    run.weight_left = sum(weight((part, s)) for s, parts in todo for part in parts)
    for source, parts in todo:
        try:
            ready = parts and made(run, source)
        except Exception as e:
            ready, faults = False, faults + 1
            run.told(source.name, e)
        for part in parts:
            share = run.share(weight((part, source)))
            run.weight_left -= weight((part, source))
            if ready:
                work = partial(PARTS[part], run, source, share)
                faults += run.step(part, f"{part} {source.name}", work)
        run.shelf.clear()
    return faults


def main() -> int:
    parser = options(str(__doc__))
    args = parser.parse_args()
    on_host, begin = settle(parser, args), time.monotonic()
    settings = {"sources": args.sources, "share": args.share, "minutes": args.minutes, "repeats": 3,
                "scales": args.scales, "uniform": args.uniform, "weighted": args.weighted,
                "parts": args.parts, "lifts": args.lifts, "gpus": args.gpus, "counted": args.counted,
                "verify": args.verify, "on_host": on_host}  # fmt: skip
    found = probe(on_host, fresh=False)
    report = Report("emogi2020", args, settings, ps.num_threads())
    report.data |= {"probe": found, "part_seconds": {}, "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(dir=args.temporary) as folder:
        run = Run(args, report, on_host, begin + 60 * args.minutes, temporary=Path(folder))
        if "toy" in args.parts:
            toy(run)
            report.data["part_seconds"]["toy"] = time.monotonic() - begin
        faults = go(run)
    report.data["targets"] = targets(report.data)
    report.data["seconds"] = time.monotonic() - begin
    report.write()
    show(report.data)
    if args.plots:
        from studies.emogi2020 import plot

        for path in plot.save_all(report.data, args.plots):
            print(path)
    results = [r for c in report.data["cases"] for r in c["results"].values()]
    wrong = any(r["role"] != "rival" and r["status"] != "ok" for r in results)
    return int(wrong or faults > 0 or not report.data["cases"])


if __name__ == "__main__":
    sys.exit(main())
