"""Connected components of a road network: which crossings can be reached from each other, as a map.

    python examples/road_components.py --side 400

A grid of streets, of which a random part is closed. The components are compared with SciPy's.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.sparse.csgraph import connected_components

import penstock as ps


def draw(path: str, labels: np.ndarray, side: int) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    sizes = np.bincount(labels)
    place = np.empty(sizes.size, int)
    place[np.argsort(-sizes)] = np.arange(sizes.size)  # 0 is the largest component
    colours = ["#0b4f7d", "#f6b73c", "#1c86c4", "#7fd3f7", "#c0563b", "#6aa84f", "#e8e8e8"]
    shown = np.minimum(place[labels], len(colours) - 1).reshape(side, side)
    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    axes.imshow(shown, cmap=ListedColormap(colours), interpolation="nearest", aspect="auto")
    axes.set(xticks=[], yticks=[], title="the six largest components, and the rest in grey")
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=120, help="side * side crossings")
    parser.add_argument(
        "--closed", type=float, default=0.52, help="share of streets that are closed"
    )
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    roads = ps.generate.road_grid(args.side, args.side, removed=args.closed, diagonals=0.0, seed=2)
    count, labels = ps.csgraph.connected_components(roads)
    largest = np.bincount(labels).max() / labels.size
    print(f"{roads.shape[0]:,} crossings, {roads.nnz // 2:,} streets: {count:,} components")
    print(f"the largest has {largest:.0%} of the crossings")
    ps.csgraph.verify_components(roads, count, labels)
    wanted, other = connected_components(roads.to_scipy(), directed=False)
    pairs = np.unique(np.stack([labels, other]), axis=1).shape[1]
    if not count == wanted == pairs:
        raise SystemExit(f"SciPy finds {wanted} components, or others")
    if args.picture:
        draw(args.picture, labels, args.side)


if __name__ == "__main__":
    main()
