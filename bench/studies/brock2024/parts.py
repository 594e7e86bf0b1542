"""The parts of bench/brock2024.py: balance, products that are measured, and the paper's machines predicted."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from lib import harness
from penstock.dist._oracle_products import local_efficiency
from penstock.dist._roofline import roofline as roofline_of
from penstock.dist._roofline import spmm_intensity
from penstock.dist._tile_counts import ProductCounts, count_spgemm, count_spmm
from penstock.dist._tile_price import price_product

import penstock as ps
from studies.brock2024 import paper, worker
from studies.brock2024.runs import NOTHING, Run, about


def figure_1(run: Run) -> None:
    """The paper's R-MAT squared: who computes how much, from end to end and at each stage."""
    f = paper.FIGURE_1
    scale, ranks = (14, 64) if run.args.quick else (f["scale"], f["ranks"])
    third = 0.4 / 3
    a = ps.generate.rmat(scale, f["edge_factor"], a=0.6, b=third, c=third, undirected=False, seed=1)
    c = count_spgemm(a, a, ranks)
    mine = c.by_rank(offset=True)
    mean = np.maximum(mine.mean(1), 1e-300)
    run.add("figure_1", {
        "case": f"R-MAT {scale} on {ranks} ranks", **NOTHING,
        "ranks": ranks, "grid": list(c.grid), "end_to_end": c.imbalance, "per_stage": c.stage_imbalance(),
        "summa_stages": c.stage_imbalance(offset=False), "stages": (mine.max(1) / mean).tolist(),
        "by_rank": (mine.sum(0) / mine.sum(0).mean()).tolist(),
    })  # fmt: skip


def balance(run: Run, source: Any, a: Any) -> None:
    """Table 1: entries of the fullest of 100 tiles, to the mean."""
    c = count_spmm(a, 1, paper.TABLE_1_RANKS)
    run.add("balance", about(source, a, case=f"{source.name}, balance", imbalance=c.nnz_imbalance))


def _dense(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(24).random((rows, columns), np.float32)


def _checked(error: float) -> dict[str, Any]:
    if error <= 1:
        return {"status": "ok", "error": error}
    return {
        "status": "wrong",
        "error": error,
        "reason": f"error is {error:.3g} times what is allowed",
    }


def _measured(run: Run, part: str, source: Any, a: Any, columns: int) -> None:
    """Every algorithm on every number of ranks; the prediction beside each."""
    b = _dense(a.shape[1], columns) if columns else None
    for n in run.args.ranks:
        name = f"{source.name}, {f'{columns} columns, ' if columns else ''}{n} ranks"
        if run.left() <= 0:
            run.report.skip(name, "no time is left of --minutes")
            return
        done = ps.dist.run(worker.work, n, a, b, run.args.repeats, run.args.algorithms)[0]
        c: ProductCounts = count_spmm(a, columns, n) if columns else count_spgemm(a, a, n)
        net = run.network(n)
        threads = max(1, ps.num_threads() // n)
        other = None if columns else a
        efficiency = local_efficiency(
            a, other, net, columns=columns or 1, threads=threads, seconds=0.1
        )
        results = {}
        for algorithm, r in done.items():
            p = price_product(c, net, algorithm, efficiency=efficiency)
            total = harness.summary(r["seconds"])
            results[algorithm] = {
                "role": "rival" if algorithm == "summa" else "ours", **_checked(r["error"]), **total,
                "gflops": p.flops / total["median"] / 1e9, **{k: r[k] for k in (*worker.PARTS, *worker.COUNTED)},
                "predicted_seconds": p.seconds, "predicted_over_measured": p.seconds / total["median"],
                "predicted_over_product": p.seconds / max(total["median"] - r["prepare"], 1e-9),
                "predicted_bytes": p.bytes_all,
            }  # fmt: skip
        entry = about(source, a, case=name, ranks=n, columns=columns, efficiency=efficiency, flops=float(c.flops.sum()),
                      nnz_imbalance=c.nnz_imbalance, stage_imbalance=c.stage_imbalance(), load=os.getloadavg()[0],
                      results=results)  # fmt: skip
        run.add(part, entry | {k: v for k, v in harness.compare(results).items() if k in entry})


def spmm(run: Run, source: Any, a: Any) -> None:
    """Figures 3 and 4."""
    for columns in run.args.columns:
        needed = 12.0 * a.shape[0] * columns + 24.0 * a.nnz
        if run.memory_for(f"{source.name}, {columns} columns", needed):
            _measured(run, "spmm", source, a, columns)


def spgemm(run: Run, source: Any, a: Any) -> None:
    """Figure 5: A times A."""
    size = ps.spgemm_estimate(a, a).nbytes
    if run.memory_for(f"{source.name}, A A", 4.0 * size):
        _measured(run, "spgemm", source, a, 0)


def oracle(run: Run, source: Any, a: Any) -> None:
    """Figures 3 to 5 and Table 2 on the paper's machines. A stand-in is smaller than the paper's matrix: shapes
    compare, seconds do not."""
    machine = "dgx2" if source.name in paper.ON_DGX2 else "summit"
    ranks = paper.DGX2_RANKS if machine == "dgx2" else paper.SUMMIT_RANKS
    ranks = [n for n in ranks if not run.args.quick or n <= 64]
    names, columns = run.args.algorithms, paper.TABLE_2_COLUMNS
    for op in ("spmm", "spgemm"):
        f = ps.dist.predict_products(a, ranks, machine, op=op, columns=columns, algorithms=names)
        plain = f.as_dict()
        run.add("oracle", about(source, a, case=f"{source.name}, {op} on {machine}", op=op, machine=machine,
                                predictions=plain["predictions"], rooflines=plain["rooflines"],
                                stops=plain["stops"],
                                recommended=plain["recommended"], words=plain["words"]))  # fmt: skip


def roofline(run: Run) -> None:
    """Figure 2, left, from the paper's own sizes: no matrix is needed, its density is."""
    f = paper.FIGURE_2
    m = paper.TABLE_1[f["matrix"]]
    net = ps.dist.networks["summit"]
    rows = []
    for columns in f["columns"]:
        density = m.nnz / m.rows**2
        local, network = spmm_intensity(m.rows, m.rows, columns, density, f["ranks"])
        share = net.node_bytes_per_s / net.ranks_per_node
        roof = min(net.rank_flops, local * net.rank_read)
        bound = "network" if network * share < roof else "memory"
        rows.append({"columns": columns, "local_intensity": local, "network_intensity": network, "bound": bound,
                     "local_flops_per_s": roof, "network_flops_per_s": network * share})  # fmt: skip
    run.add("roofline", {
        "case": f"{f['matrix']}, {f['ranks']} GPUs", **NOTHING,
        "network_bytes_per_s": share, "peak_flops_per_s": net.rank_flops, "rows": rows,
    })  # fmt: skip


def counted_roofline(run: Run, source: Any, a: Any) -> None:
    """Figure 2, right: A times A, from counted tiles."""
    ranks = [4, 16] if run.args.quick else [4, 16, 64, 256]
    net = ps.dist.networks["summit"]
    found = [roofline_of(count_spgemm(a, a, n), net).as_dict() for n in ranks]
    run.add("roofline", about(source, a, case=f"{source.name}, A A", rows=found))
