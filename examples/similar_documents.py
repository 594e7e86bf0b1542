"""All pairs of similar documents by one sparse product: cosines of word counts, without comparing pair by pair.

    python examples/similar_documents.py --documents 20000

Rows are documents, columns words, scaled to length 1. The entries of N N^T are the cosines of all pairs that share a
word. Its size is estimated before the work. A sample is compared with SciPy.
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def corpus(documents: int, words: int, topics: int) -> tuple[ps.csr_array, np.ndarray]:
    """(documents x words, the topic of each document): common words, and words of the topic."""
    rng = np.random.default_rng(5)
    topic = np.sort(rng.integers(topics, size=documents))
    length = rng.integers(40, 100, size=documents)
    row = np.repeat(np.arange(documents), length)
    own = words // topics
    special = topic[row] * own + (own * rng.random(row.size) ** 2).astype(int)  # some are frequent
    word = np.where(rng.random(row.size) < 0.7, special, rng.integers(words, size=row.size))
    return ps.csr_array((np.ones(row.size), (row, word)), shape=(documents, words)), topic


def draw(path: str, cosine: ps.csr_array) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    n = cosine.shape[0]
    cells = min(n, 120)
    row = np.repeat(np.arange(n), np.diff(cosine.indptr)) * cells // n
    total = np.zeros((cells, cells))
    np.add.at(total, (row, cosine.indices * cells // n), cosine.data)
    shown = axes.imshow(total * (cells / n) ** 2, cmap="Blues", vmax=0.3, aspect="auto")
    axes.set(xticks=[], yticks=[], title="mean cosine, documents by topic")
    fig.colorbar(shown)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1200)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    counts, topic = corpus(args.documents, args.words, topics=8)
    unit = counts.scale(rows=1 / np.sqrt(counts.multiply(counts) @ np.ones(args.words)))
    back = unit.T.formed()
    print(ps.spgemm_estimate(unit, back))
    cosine = unit @ back

    row = np.repeat(np.arange(args.documents), np.diff(cosine.indptr))
    pair = (row < cosine.indices) & (cosine.data > 0.4)
    same = float((topic[row] == topic[cosine.indices])[pair].mean())
    print(f"{cosine.nnz:,} pairs share a word; {pair.sum():,} pairs have a cosine above 0.4")
    print(f"{same:.1%} of those are of one topic")
    sample = np.random.default_rng(0).integers(args.documents, size=50)
    plain = unit.to_scipy()
    wanted = (plain[sample] @ plain.T).toarray()
    if not np.allclose(cosine.to_scipy()[sample].toarray(), wanted, atol=1e-12) or not same > 0.9:
        raise SystemExit("SciPy has other cosines")
    if args.picture:
        draw(args.picture, cosine)


if __name__ == "__main__":
    main()
