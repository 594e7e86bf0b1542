"""A recommender by products with many columns: what users will like, from what they liked.

    python examples/recommender.py --users 20000 --items 5000

Users and items get vectors by subspace iteration: V <- orthonormal(A^T (A V)), a truncated SVD of the scaled matrix of
likes (Halko, Martinsson and Tropp 2011). One like of every user is hidden. The share of hidden likes among the first k
recommendations is compared with that of recommending what is popular.
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def likes(users: int, items: int, tastes: int, each: int) -> tuple[ps.csr_array, np.ndarray]:
    """(users x items without the hidden likes, one hidden item of each user)"""
    rng = np.random.default_rng(7)
    popular = rng.pareto(1.2, items) + 0.05
    taste_of_item, taste_of_user = (
        rng.integers(tastes, size=items),
        rng.integers(tastes, size=users),
    )
    rows, cols, hidden = [], [], np.empty(users, int)
    for taste in range(tastes):
        chance = popular * np.where(taste_of_item == taste, 1.0, 0.03)
        for user in np.flatnonzero(taste_of_user == taste):
            chosen = rng.choice(items, each + 1, replace=False, p=chance / chance.sum())
            hidden[user] = chosen[-1]
            rows += [np.full(each, user)]
            cols += [chosen[:-1]]
    row, col = np.concatenate(rows), np.concatenate(cols)
    return ps.csr_array((np.ones(row.size), (row, col)), shape=(users, items)), hidden


def factors(matrix: ps.csr_array, rank: int, steps: int = 8) -> np.ndarray:
    """Orthonormal columns that span the leading right singular vectors."""
    back = matrix.T.formed()
    v = np.random.default_rng(1).standard_normal((matrix.shape[1], rank))
    for _ in range(steps):
        v, _ = np.linalg.qr(back @ (matrix @ v))
    return v


def hits(scores: np.ndarray, matrix: ps.csr_array, hidden: np.ndarray, most: int) -> np.ndarray:
    """The share of hidden items among the first 1, 2, ..., `most` recommendations."""
    user = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    scores[user, matrix.indices] = -np.inf  # known already
    place = (scores > scores[np.arange(hidden.size), hidden][:, None]).sum(axis=1)
    return np.cumsum(np.bincount(np.minimum(place, most), minlength=most + 1))[:most] / hidden.size


def draw(path: str, ours: np.ndarray, popular: np.ndarray) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    at = np.arange(1, ours.size + 1)
    axes.plot(at, ours, color="#0b4f7d", linewidth=2.5, label="vectors of users and items")
    axes.plot(at, popular, color="#f6b73c", linewidth=2.5, label="what is popular")
    axes.set(xlabel="recommendations a user", ylabel="hidden likes found", ylim=(0, None))
    axes.legend(frameon=False)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=1500)
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    matrix, hidden = likes(args.users, args.items, tastes=12, each=12)
    count = matrix.T @ np.ones(args.users)
    scaled = matrix.scale(cols=1 / np.sqrt(np.maximum(count, 1)))  # popular items say less
    v = factors(scaled, rank=16)
    users = scaled @ v
    exact = np.linalg.svd(scaled.toarray(), compute_uv=False)[:12]
    found = np.linalg.svd(users, compute_uv=False)[:12]
    if not np.allclose(found, exact, rtol=0.05):
        raise SystemExit(f"singular values {found}, not {exact}")
    ours = hits(users @ v.T * np.sqrt(count), matrix, hidden, 20)
    popular = hits(np.tile(count, (args.users, 1)), matrix, hidden, 20)
    print(f"{args.users:,} users, {args.items:,} items, {matrix.nnz:,} likes")
    print(f"hidden likes among ten: {ours[9]:.1%}, by popularity {popular[9]:.1%}")
    if not ours[9] > 1.5 * popular[9]:
        raise SystemExit("it knows no more than what is popular")
    if args.picture:
        draw(args.picture, ours, popular)


if __name__ == "__main__":
    main()
