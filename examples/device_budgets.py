"""A matrix larger than its device: one product under shrinking budgets, as planned and as done.

    python examples/device_budgets.py --scale 20

`ps.options(device_memory=...)` says what the device may hold: a GPU where there is one, else a piece of the CPU's
cache. Each result is compared with SciPy's. `A.explain(x)` predicts what is done, and `ps.record()` tells what was.
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def draw(path: str, size: int, budgets: list[int], held: list[int]) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    at = np.arange(len(budgets))
    axes.bar(at - 0.2, budgets, 0.4, color="#7fd3f7", label="what the device may hold")
    axes.bar(at + 0.2, held, 0.4, color="#0b4f7d", label="what it held of the matrix")
    axes.axhline(size, color="#f6b73c", linewidth=2.5, label="the matrix")
    axes.set_yscale("log")
    axes.set(xlabel="budget", ylabel="bytes", xticks=at, ylim=(None, 30 * size))
    axes.set_xticklabels([f"{budget / 2**20:.3g} MiB" for budget in budgets])
    axes.legend(frameon=False, loc="upper right", fontsize=8)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=15, help="2**scale rows of an R-MAT matrix")
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    matrix = ps.generate.rmat(args.scale, 16, seed=1, dtype=np.float64)
    x = np.random.default_rng(0).random(matrix.shape[1])
    wanted = matrix.to_scipy() @ x
    print(f"the matrix has {matrix.nbytes:,} bytes")
    budgets, held = [matrix.nbytes * 2 // 4**k for k in range(5)], []
    for budget in budgets:
        with ps.options(device_memory=budget), ps.record() as done:
            plan = matrix.explain(x)
            result = matrix @ x
        print(f"{budget:>12,} bytes: {done[0]['schedule']} in {done[0]['tiles']} tiles")
        streamed = done[0]["schedule"] == "streamed"
        held.append(done[0]["ring_bytes"] + done[0]["kept_bytes"] if streamed else matrix.nbytes)
        if done[0]["schedule"] != plan.schedule:
            raise SystemExit(f"it was to be {plan}")
        if held[-1] > budget:
            raise SystemExit("it took more than it may")
        if not np.allclose(result, wanted, rtol=1e-12):
            raise SystemExit("SciPy has another product")
    print(plan)
    if args.picture:
        draw(args.picture, matrix.nbytes, budgets, held)


if __name__ == "__main__":
    main()
