"""The parts of bench/page_kogge2018.py: MAD, threads of one rank, ranks (threads and MPI), and the oracle's figures."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lib import harness
from penstock.dist._irregular import irregular_of, irregular_with_cache
from penstock.dist._layouts import count
from penstock.dist._price import price

import penstock as ps
from studies.page_kogge2018 import paper, worker
from studies.page_kogge2018.runs import Run, about

_PROBE_SECONDS = 0.2
_JOB_SECONDS = 300.0
WORKER = Path(__file__).with_name("worker.py")


def mad(run: Run, source: Any, a: Any) -> None:
    """MAD of both distributions for the paper's numbers of ranks, which leave out 1."""
    found: dict[str, dict[str, float]] = {"naive": {}, "balanced": {}}
    for name, kind in (("naive", "grid"), ("balanced", "bins")):
        for p in paper.RANKS[1:]:
            found[name][str(p)] = getattr(ps.partition, kind)(a, p).metrics(a).mad
    run.add("mad", about(source, a, case=f"{source.name}, MAD", mad=found))


def threads(run: Run, source: Any, a: Any) -> None:
    """Figure 4: the product of one rank on 1, 2, 4, ... threads."""
    before = ps.num_threads()
    results: dict[str, Any] = {}
    x = worker.vector(a.shape[1])
    y = np.zeros(a.shape[0])
    counts = sorted({n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256) if n < run.cpus} | {run.cpus})
    try:
        for n in counts:
            ps.set_num_threads(n)
            a.dot(x, out=y)
            seconds = []
            for _ in range(run.args.repeats):
                begin = time.perf_counter()
                a.dot(x, out=y)
                seconds.append(time.perf_counter() - begin)
            stats = harness.summary(seconds)
            rate = {"gflops": 2 * a.nnz / stats["median"] / 1e9}
            error = worker._error(a, y)
            results[str(n)] = {"role": "ours", **checked(error), **stats, **rate, "threads": n}
    finally:
        ps.set_num_threads(before)
    run.add("threads", about(source, a, case=f"{source.name}, threads", results=results))


def checked(error: float) -> dict[str, Any]:
    if error <= 1:
        return {"status": "ok", "error": error}
    return {
        "status": "wrong",
        "error": error,
        "reason": f"error is {error:.3g} times what is allowed",
    }


def _case(run: Run, part: str, source: Any, a: Any, done: dict[str, Any], irregular: Any) -> None:
    """A measured job, with the oracle's prediction of every row beside it."""
    net = ps.dist.Network.of(done["network"])
    results = {}
    for name, r in done["results"].items():
        c = count(a, worker.ORACLE[name], done["ranks"])
        p = price(c, net, halo="sync" if r["halo"] == "sync" else "messages", irregular=irregular)
        apart = price(c, replace(net, gather_call_s=0.0), halo=p.halo, irregular=irregular)
        total = harness.summary(r["seconds"])
        compute = float(np.median(r["compute"]))
        comm = max(0.0, total["median"] - compute)
        results[name] = {
            "role": "ours", **checked(r["error"]), **total, "gflops": 2 * a.nnz / total["median"] / 1e9,
            "compute": compute, "communicate": comm, "ratio": comm / compute if compute else None,
            "halo": r["halo"], "sent_bytes": r["sent_bytes"], "messages": r["messages"],
            "predicted_seconds": p.seconds, "predicted_compute": p.compute, "predicted_communicate": p.communicate,
            "predicted_meeting": p.seconds - apart.seconds,
            "predicted_over_measured": p.seconds / total["median"],
            "predicted_over_fastest": p.seconds / total["min"],
            "predicted_bytes": p.bytes_all, "predicted_messages": p.messages_all, "mad": c.mad,
        }  # fmt: skip
        if c.nnz.tolist() != r["nnz"]:
            results[name] |= {"status": "wrong", "reason": "the oracle counts other entries a rank"}
    network = {k: v for k, v in done["network"].items() if k != "curves"}
    run.add(part, about(
        source, a, case=f"{source.name}, {done['ranks']} ranks, {part}", ranks=done["ranks"], comm=done["comm"],
        irregular=irregular, network=network, load=os.getloadavg()[0], results=results))  # fmt: skip


def _irregular(run: Run, a: Any, threads: int) -> Any:
    """What gathering x costs, by products on one rank of this process and so many threads, in a run of its own."""
    turns = max(9, run.args.repeats)
    done = ps.dist.run(
        worker.work, 1, a, turns, ["ours"], _PROBE_SECONDS, threads_per_rank=threads
    )[0]
    net = ps.dist.Network.of(done["network"])
    spent = float(np.quantile(done["results"]["ours"]["seconds"], 0.25))  # others only slow it down
    return irregular_with_cache(a, net, irregular_of(spent, count(a, "balanced", 1), net))


def ranks(run: Run, source: Any, a: Any) -> None:
    """Figures 5 to 7 and 9 on ranks that are threads."""
    irregular = functools.cache(functools.partial(_irregular, run, a))
    for n in run.args.ranks:
        if run.left() <= 0:
            run.report.skip(f"ranks {source.name}, {n}", "no time is left of --minutes")
            return
        names = list(worker.LAYOUTS)
        done = ps.dist.run(worker.work, n, a, run.args.repeats, names, _PROBE_SECONDS)[0]
        _case(run, "ranks", source, a, done, irregular(done["network"]["threads"]))


def launched(
    run: Run,
    part: str,
    source: Any,
    a: Any,
    counts: list[int],
    front: list[str],
    env: dict[str, str] | None = None,
) -> None:
    """Jobs of `front` N worker ..., on a store of the matrix. `front` holds {n} where the number of ranks belongs."""
    irregular = functools.cache(functools.partial(_irregular, run, a))
    with tempfile.TemporaryDirectory(prefix="page-kogge-") as folder:
        store, job, out = (Path(folder) / n for n in ("matrix.penstock", "job.json", "result.json"))
        ps.save(store, a)
        facts = {"store": str(store), "turns": run.args.repeats, "layouts": list(worker.LAYOUTS),
                 "probe_seconds": _PROBE_SECONDS}  # fmt: skip
        job.write_text(json.dumps(facts))
        for n in counts:
            if run.left() <= 0:
                run.report.skip(f"{part} {source.name}, {n}", "no time is left of --minutes")
                return
            out.unlink(missing_ok=True)
            line = [w.format(n=n) for w in front] + [str(WORKER), str(job), str(out)]
            done = subprocess.run(
                line, capture_output=True, text=True, timeout=_JOB_SECONDS, check=False, env=env
            )
            if done.returncode or not out.is_file():
                why = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no word"]
                run.report.skip(
                    f"{part} {source.name}, {n} ranks", f"exit code {done.returncode}: {why[0]}"
                )
                return
            done_job = json.loads(out.read_text())
            _case(run, part, source, a, done_job, irregular(done_job["network"]["threads"]))


def mpi(run: Run, source: Any, a: Any) -> None:
    """The same on processes, started by `penstock run`."""
    why = run.mpi_missing()
    if why:
        return run.report.skip("mpi", why)
    front = [sys.executable, "-m", "penstock", "run", "-n", "{n}"]
    return launched(run, "mpi", source, a, [n for n in run.args.ranks if n > 1], front)


def shaped(run: Run, source: Any, a: Any) -> None:
    """Two ranks in network namespaces, over a link made slow: a network that is none of this host."""
    from studies.page_kogge2018.shaped import missing, two_nodes

    why = run.mpi_missing() or missing()
    if why:
        return run.report.skip("shaped", why)
    for rate in ("1gbit",) if run.args.quick else ("1gbit", "100mbit"):
        with two_nodes(rate) as link:
            before = len(run.report.data["cases"])
            launched(run, "shaped", source, a, [2], link.front, link.env)
            for case in run.report.data["cases"][before:]:
                case |= {"link": link.words, "case": f"{case['case']}, {rate}"}
            run.report.write()
    return None


def oracle(run: Run, source: Any, a: Any) -> None:
    """Figures 5 to 9 predicted for the paper's cluster, at its numbers of ranks and ours."""
    wanted = [*run.args.oracle_ranks, *(p for p in (256, 1024) if p > run.args.oracle_ranks[-1])]
    layouts = ["balanced", "grid", "bins", "grid_reduce", "bins_gather"]
    f = ps.dist.predict_scaling(a, wanted, run.network, layouts=layouts)
    plain = f.as_dict()
    run.add("oracle", about(source, a, case=f"{source.name}, oracle", network=f.network.name,
                            predictions=plain["predictions"], stops=plain["stops"],
                            recommended=plain["recommended"], words=plain["words"]))  # fmt: skip
