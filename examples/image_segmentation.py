"""Image segmentation by random walkers: a few strokes of a user are enough to tell two objects from the background.

    python examples/image_segmentation.py --side 300

Pixels are vertices. An edge between neighbours weighs little where their brightness differs. The label of a pixel is
the seed that a random walker from there most likely meets first, which is one system of equations a label (Grady 2006).
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def scene(side: int, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the noisy image, what each pixel belongs to, the seeds: -1 where there is none)"""
    y, x = np.mgrid[:side, :side] / side
    truth = np.zeros((side, side), int)
    truth[np.hypot(x - 0.32, y - 0.4) < 0.2] = 1
    truth[(np.abs(x - 0.7) < 0.16) & (np.abs(y - 0.62) < 0.22)] = 2
    image = np.array([0.2, 0.8, 0.5])[truth]
    image += noise * np.random.default_rng(0).standard_normal(image.shape)
    seeds = np.full((side, side), -1)
    strokes = [(0, 0.06, 0.1, 0.9), (0, 0.93, 0.1, 0.9), (1, 0.4, 0.24, 0.4), (2, 0.62, 0.62, 0.78)]
    for label, row, first, last in strokes:
        seeds[int(row * side), int(first * side) : int(last * side)] = label
    return image, truth, seeds


def laplacian(image: np.ndarray, beta: float) -> ps.csr_array:
    """D - W of the grid of pixels, W = exp(-beta difference^2)."""
    number = np.arange(image.size).reshape(image.shape)
    a = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    b = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    flat = image.ravel()
    weight = np.exp(-beta * (flat[a] - flat[b]) ** 2) + 1e-6
    degree = np.bincount(a, weight, image.size) + np.bincount(b, weight, image.size)
    rows = np.concatenate([a, b, number.ravel()])
    cols = np.concatenate([b, a, number.ravel()])
    return ps.csr_array((np.concatenate([-weight, -weight, degree]), (rows, cols)))


def walk(matrix: ps.csr_array, seeds: np.ndarray) -> np.ndarray:
    """The probability of each label (a row) for each pixel."""
    known, labels = seeds.ravel() >= 0, seeds.max() + 1
    inside, outside = np.flatnonzero(~known), np.flatnonzero(known)
    whole = matrix.to_scipy()
    equations = ps.csr_array(whole[inside][:, inside])
    factor = ps.linalg.IC0(equations)
    chance = np.zeros((labels, seeds.size))
    for label in range(labels):
        at = (seeds.ravel()[outside] == label).astype(float)
        b = -(whole[inside][:, outside] @ at)
        chance[label, inside], info = ps.linalg.cg(equations, b, rtol=1e-9, M=factor)
        chance[label, outside] = at
        if info != 0:
            raise SystemExit(f"no solution: {info.reason}")
    return chance


def draw(path: str, image: np.ndarray, seeds: np.ndarray, found: np.ndarray) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    left, right = fig.subplots(1, 2)
    left.imshow(image, cmap="gray")
    for label, colour in enumerate(["#7fd3f7", "#c0563b", "#f6b73c"]):
        rows, cols = np.nonzero(seeds == label)
        left.plot(cols, rows, ".", markersize=3, color=colour)
    right.imshow(found, cmap="viridis")
    for axes, title in ((left, "image and strokes"), (right, "segments")):
        axes.set(xticks=[], yticks=[], title=title)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=90, help="pixels each way")
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    image, truth, seeds = scene(args.side, args.noise)
    chance = walk(laplacian(image, beta=150.0), seeds)
    found = chance.argmax(axis=0).reshape(truth.shape)
    right = float((found == truth).mean())
    print(f"{truth.size:,} pixels, {(seeds >= 0).sum()} of them marked: {right:.1%} are right")
    if not right > 0.98 or not np.allclose(chance.sum(axis=0), 1, atol=1e-5):
        raise SystemExit("the walkers went astray")
    if args.picture:
        draw(args.picture, image, seeds, found)


if __name__ == "__main__":
    main()
