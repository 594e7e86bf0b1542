"""The heat equation by conjugate gradients: a plate that cools, one system of equations a step.

    python examples/heat_equation.py --side 500 --steps 20

Implicit Euler: (I + dt L) u(t + dt) = u(t), with the 5-point Laplacian L and cold edges. The matrix is symmetric
positive definite, and its incomplete Cholesky factor is made once. Before that a single wave is cooled, whose decay is
known exactly.
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def stepper(side: int, dt: float) -> tuple[ps.csr_array, ps.linalg.IC0]:
    """I + dt L and its factor."""
    laplace = ps.generate.laplacian((side, side))
    n = laplace.shape[0]
    one = ps.csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
    matrix = one + laplace.scale(rows=np.full(n, dt))
    return matrix, ps.linalg.IC0(matrix)


def cooled(matrix: ps.csr_array, factor: ps.linalg.IC0, heat: np.ndarray, steps: int) -> np.ndarray:
    """The plate after so many steps."""
    u = heat.ravel()
    for _ in range(steps):
        u, info = ps.linalg.cg(matrix, u, x0=u, rtol=1e-10, M=factor)
        if info != 0:
            raise SystemExit(f"no solution: {info.reason}")
    return u.reshape(heat.shape)


def draw(path: str, plates: list[tuple[str, np.ndarray]]) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    for axes, (title, plate) in zip(fig.subplots(1, len(plates)), plates, strict=True):
        axes.imshow(plate, cmap="inferno", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[], title=title)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=90, help="points of the plate, each way")
    parser.add_argument("--steps", type=int, default=6, help="between two pictures")
    parser.add_argument("--dt", type=float, default=4.0)
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    matrix, factor = stepper(args.side, args.dt)

    at = np.arange(1, args.side + 1) * np.pi / (args.side + 1)
    wave = np.sin(2 * at)[:, None] * np.sin(3 * at)[None, :]
    decay = 1 + args.dt * (4 - 2 * np.cos(2 * at[0]) - 2 * np.cos(3 * at[0]))
    error = np.abs(cooled(matrix, factor, wave, args.steps) - wave / decay**args.steps).max()
    print(f"{matrix.shape[0]:,} unknowns: a wave after {args.steps} steps is off by {error:.1e}")
    if not error < 1e-8:
        raise SystemExit("it should have decayed as the discrete equation says")

    y, x = np.mgrid[: args.side, : args.side] / args.side - 0.5
    start = (np.hypot(x, y) < 0.18) | (np.hypot(x + 0.3, y - 0.25) < 0.1)
    middle = cooled(matrix, factor, start.astype(float), args.steps)
    late = cooled(matrix, factor, middle, 4 * args.steps)
    print(f"the warmest point: 1, {middle.max():.2f}, {late.max():.2f}")
    if not 0 <= late.min() <= late.max() < middle.max() <= 1:
        raise SystemExit("heat cannot come out of nothing")
    if args.picture:
        draw(args.picture, [("start", start), ("later", middle), ("much later", late)])


if __name__ == "__main__":
    main()
