"""Paper 1 again: Buono et al. 2017, "Data Analytics with NVLink: An SpMV Case Study", its rows beside ours.

python bench/buono2017.py                            # R-MAT 25 and 26, all GPUs: under 8 minutes
python bench/buono2017.py --parts suite,profile --scales 25,26,27 --gpus 1,2,4 --folder graphs
python bench/buono2017.py --quick                    # toy sizes; without a GPU the host is a device of its own

Parts: transfers (figure 2), model (figure 4), suite (table 2, figure 5), profile (table 3), scaling
(figure 6), and past the paper codec (packed columns), resident (a matrix of twice the budget) and incore
(kernels against cuSPARSE). GFLOP/s = 2 nonzeros / time, the result back on the host. Every product is
verified row by row against NumPy in float64.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from lib.matrices import MIN_NNZ
from lib.paper_runs import probe
from lib.report import Report
from studies.buono2017 import matrices as inputs
from studies.buono2017 import parts, suite
from studies.buono2017.options import options, settle
from studies.buono2017.runs import Run
from studies.buono2017.summary import show, targets

import penstock as ps

# Of a part, for each byte of its matrix: how the time is shared out.
WEIGHTS = {
    "model": 4,
    "suite": 5,
    "profile": 0.2,
    "scaling": 3,
    "codec": 1,
    "resident": 4,
    "incore": 0.5,
}
_LEAST = 50e6  # bytes that every matrix counts for
_BTER_SHARE = 0.2  # of the time left, at most, for generating one BTER graph
Step = tuple[str, inputs.Source, str, Callable[[Run, inputs.Source, str, float], None]]


def sources(args: argparse.Namespace, on_host: bool) -> Iterator[tuple[inputs.Source, set[str]]]:
    """Each matrix once, with the parts that it serves; smaller ones first."""
    gpu, scales = (None if on_host else 0), sorted(set(args.scales))
    for scale in sorted({*scales, *args.incore}):
        serves = {"suite", "profile", "scaling", "codec"} if scale in scales else set()
        serves |= {"incore"} if scale in args.incore else set()
        serves |= {"model"} if scale == scales[0] else set()
        serves |= {"resident"} if scale == scales[-1] else set()
        yield inputs.rmat(scale, gpu), serves
    yield inputs.laplacian(16 if args.quick or on_host else 256), {"incore"}
    least = 0 if args.quick else MIN_NNZ
    for source in inputs.files(args.folder, least) if args.folder else ():
        yield source, {"suite", "codec", "incore"}
    for scale in sorted(set(args.bter)):
        yield inputs.bter(scale), {"suite", "codec"}


def steps(args: argparse.Namespace, source: inputs.Source, serves: set[str]) -> Iterator[Step]:
    """Without values first: their memory is needed later."""
    wanted = serves & set(args.parts)
    for kind in ("pattern", "float64"):
        if kind in args.values:
            for part, work in (
                ("suite", suite.suite),
                ("codec", suite.codec),
                ("scaling", parts.scaling),
            ):
                if part in wanted:
                    yield part, source, kind, work
        if kind == "pattern" and "resident" in wanted:
            yield "resident", source, kind, suite.resident
    for part, work in (
        ("profile", parts.profile),
        ("model", parts.model),
        ("incore", parts.incore),
    ):
        if part in wanted:
            yield part, source, "float64", work
    if "incore" in wanted:
        yield "incore", source, "float32", parts.incore


def weight(step: Step) -> float:
    return WEIGHTS[step[0]] * (step[1].size + _LEAST)


def affordable(run: Run, source: inputs.Source) -> bool:
    if source.kind != "bter":
        return True
    needed, allowed = inputs.bter_seconds(source.scale), _BTER_SHARE * max(run.left(), 0.0)
    if needed > allowed:
        why = f"generating it takes about {needed:.0f} s, {allowed:.0f} s of --minutes are allowed"
        run.report.skip(source.name, why)
    return needed <= allowed


def made(run: Run, source: inputs.Source) -> bool:
    """Puts it on the shelf, where there is time; a file that does not fit, or a graph that is too large, is named."""
    begin = time.monotonic()
    try:
        if run.left() > 0:
            run.shelf.put(source)
    except (MemoryError, inputs.Unfit) as e:
        run.report.skip(source.name, str(e))
        return False
    finally:
        spent = run.report.data["part_seconds"]
        spent["matrices"] = spent.get("matrices", 0.0) + time.monotonic() - begin
    return True


def go(run: Run) -> int:
    """Every step, within its share of the time; what is left out is named. Returns how many broke."""
    faults = 0
    todo = [(s, list(steps(run.args, s, serves))) for s, serves in sources(run.args, run.on_host)]
    run.weight_left = sum(weight(step) for _, own in todo for step in own)
    for source, own in todo:
        try:
            ready = own and affordable(run, source) and made(run, source)
        except Exception as e:
            ready, faults = False, faults + 1
            run.told(source.name, e)
        if not ready:
            run.weight_left -= sum(weight(step) for step in own)
            continue
        for step in own:
            part, _, kind, work = step
            share = run.share(weight(step))
            run.weight_left -= weight(step)
            what = f"{part} {source.name} {kind}"
            faults += run.step(part, what, partial(work, run, source, kind, share))
        run.shelf.clear()
    return faults


def main() -> int:
    parser = options(str(__doc__))
    args = parser.parse_args()
    on_host, begin = settle(parser, args), time.monotonic()
    settings = {"repeats": args.repeats, "minutes": args.minutes, "scales": args.scales,
                "gpus": args.gpus, "parts": args.parts, "on_host": on_host}  # fmt: skip
    found = probe(on_host, "transfers" in args.parts and not args.quick)
    report = Report("buono2017", args, settings, ps.num_threads())
    report.data |= {"probe": found, "part_seconds": {}, "load": os.getloadavg()[0]}
    run = Run(args, report, on_host, begin + 60 * args.minutes, gpus=args.gpus)
    if "transfers" in args.parts:
        parts.transfers(run)
        report.data["part_seconds"]["transfers"] = time.monotonic() - begin
    faults = go(run)
    report.data["targets"] = targets(report.data)
    report.data["seconds"] = time.monotonic() - begin
    report.write()
    show(report.data)
    if args.plots:
        from studies.buono2017 import plot

        for path in plot.save_all(report.data, args.plots):
            print(path)
    wrong = any(r["status"] == "wrong" for c in report.data["cases"] for r in c["results"].values())
    return int(wrong or faults > 0 or report.failed() or not report.data["cases"])


if __name__ == "__main__":
    sys.exit(main())
