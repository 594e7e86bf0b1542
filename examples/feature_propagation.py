"""k-hop feature propagation, as in graph neural networks: H <- D^-1/2 (A + I) D^-1/2 H, k times, on distributed tiles.

    python examples/feature_propagation.py --scale 14 --features 64 --hops 3 --ranks 4

Each hop is SpMM with one-sided gets; `auto` says what stays, from the model of `penstock scale`.
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def normalised(graph: ps.csr_array) -> ps.csr_array:
    """D^-1/2 (A + I) D^-1/2 of a graph without self loops (Kipf and Welling 2017)."""
    n = graph.shape[0]
    row = np.concatenate([np.repeat(np.arange(n), np.diff(graph.indptr)), np.arange(n)])
    col = np.concatenate([graph.indices, np.arange(n)])
    scale = 1 / np.sqrt(1.0 + np.diff(graph.indptr))
    return ps.csr_array((scale[row] * scale[col], (row, col)), shape=graph.shape)


def propagate(
    comm: ps.dist.Comm, matrix: ps.csr_array, features: np.ndarray, hops: int
) -> np.ndarray:
    """All features after `hops` products, on every rank."""
    a, h = ps.dist.tiled_array(matrix, comm), ps.dist.tiled_array(features, comm)
    for _ in range(hops):
        h = ps.dist.matmul(a, h)
    return h.collect()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=12, help="2**scale vertices of an R-MAT graph")
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--hops", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=4)
    args = parser.parse_args()
    matrix = normalised(ps.generate.rmat(args.scale, 8, seed=1))
    features = np.random.default_rng(1).random((matrix.shape[0], args.features))
    found = ps.dist.run(propagate, args.ranks, matrix, features, args.hops)[0]
    wanted = features
    for _ in range(args.hops):
        wanted = matrix @ wanted
    error = float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))
    what = f"{args.hops} hops of {args.features} features over {matrix.nnz:,} entries"
    print(f"{what} on {args.ranks} ranks: error {error:.1e}")
    if not error < 1e-12:
        raise SystemExit("one rank alone gets something else")


if __name__ == "__main__":
    main()
