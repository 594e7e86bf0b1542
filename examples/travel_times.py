"""Travel times in a city: shortest paths from one crossing to all others, as a map with lines of equal time.

    python examples/travel_times.py --side 400

The streets are generated, and each takes 1 to 10 minutes. The times are compared with SciPy's Dijkstra.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.sparse.csgraph import dijkstra

import penstock as ps


def draw(path: str, minutes: np.ndarray, side: int) -> None:
    from matplotlib.figure import Figure

    field = np.where(np.isfinite(minutes), minutes, np.nan).reshape(side, side)
    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    seen = axes.contourf(field, levels=10, cmap="YlGnBu")
    axes.plot(side // 2, side // 2, "o", color="#c0563b")
    axes.set(xticks=[], yticks=[], title="minutes from the red crossing")
    fig.colorbar(seen)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=80, help="side * side crossings")
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    streets = ps.generate.road_grid(args.side, args.side, removed=0.25, seed=5)
    home = args.side // 2 * (args.side + 1)
    minutes = ps.csgraph.sssp(streets, home)
    reached = np.isfinite(minutes)
    print(f"{reached.sum():,} of {reached.size:,} crossings can be reached from crossing {home}")
    print(
        f"half of them in {np.median(minutes[reached]):.0f} minutes, all in {minutes[reached].max():.0f}"
    )
    ps.csgraph.verify_sssp(streets, home, minutes)
    if not np.array_equal(minutes, dijkstra(streets.to_scipy(), indices=home)):
        raise SystemExit("SciPy finds other times")
    if args.picture:
        draw(args.picture, minutes, args.side)


if __name__ == "__main__":
    main()
