"""Betweenness in a small social network: who holds the groups of a karate club together.

    python examples/social_bridges.py

The network of Zachary (1977) comes with NetworkX, and stays a NetworkX graph: `backend="penstock"` is all that changes.
The result is compared with NetworkX's own (Brandes 2001).
"""

from __future__ import annotations

import argparse

import networkx as nx
import numpy as np

import penstock as ps


def draw(path: str, graph: nx.Graph, between: dict[int, float]) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    axes.axis("off")
    at = nx.spring_layout(graph, seed=3, iterations=200)
    for a, b in graph.edges:
        axes.plot(*zip(at[a], at[b], strict=True), color="#b8c4cc", linewidth=0.8, zorder=1)
    for person, data in graph.nodes(data=True):
        colour = "#1c86c4" if data["club"] == "Mr. Hi" else "#f6b73c"
        axes.scatter(*at[person], s=30 + 900 * between[person], color=colour, zorder=2)
        if between[person] > 0.05:
            axes.annotate(str(person), at[person], ha="center", va="center", fontsize=8, zorder=3)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    club = nx.karate_club_graph()
    between = nx.betweenness_centrality(club, backend="penstock")
    first = sorted(between, key=lambda person: -between[person])[:3]
    print(f"{len(club)} people, {club.number_of_edges()} ties; most between: {first}")
    wanted = nx.betweenness_centrality(club, backend="networkx")
    if max(abs(between[person] - wanted[person]) for person in club) > 1e-12:
        raise SystemExit("NetworkX has other numbers")

    # The same from arrays.
    matrix, names = ps.from_edges(list(club.edges), directed=False)
    numbers = ps.csgraph.betweenness_centrality(matrix)
    if not np.allclose(numbers, [between[person] for person in names]):
        raise SystemExit("the array functions have other numbers")
    if args.picture:
        draw(args.picture, club, between)


if __name__ == "__main__":
    main()
