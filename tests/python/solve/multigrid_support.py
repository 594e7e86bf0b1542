"""Matrices for the tests of multigrid, and how it is called."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import penstock as ps


def grid(*shape: int) -> sp.csr_matrix:
    return sp.csr_matrix(ps.generate.laplacian(shape).to_scipy().astype(np.float64))


def plane_stress(n: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Springs along the edges and diagonals of a grid, held on one side: two unknowns a point."""
    x = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).reshape(-1, 2)
    number = np.arange(n * n).reshape(n, n)
    pairs = [(number[:-1], number[1:]), (number[:, :-1], number[:, 1:]),
             (number[:-1, :-1], number[1:, 1:]), (number[1:, :-1], number[:-1, 1:])]  # fmt: skip
    first, second = (np.concatenate([p[k].ravel() for p in pairs]) for k in (0, 1))
    along = (x[second] - x[first]).astype(float)
    along /= np.linalg.norm(along, axis=1)[:, None]
    edges = len(first)
    columns = np.stack([2 * first, 2 * first + 1, 2 * second, 2 * second + 1], 1)
    values = np.concatenate([-along, along], 1)
    d = sp.csr_matrix(
        (values.ravel(), columns.ravel(), 4 * np.arange(edges + 1)), (edges, 2 * n * n)
    )
    a = (d.T @ d).tocsr()
    free = np.repeat(x[:, 0] > 0, 2)
    return a[free][:, free].tocsr(), x[x[:, 0] > 0].astype(float)


def anisotropic(n: int, weak: float = 1e-3) -> sp.csr_array:
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = sp.eye_array(n)
    return sp.csr_array(sp.kron(line, one) + weak * sp.kron(one, line))


def isolated(n: int) -> sp.csr_array:
    """A grid, and vertices without edges."""
    return sp.csr_array(sp.block_diag([grid(n, n), 3 * sp.eye_array(17)]))


def random_spd(n: int, seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    g = sp.random_array((n, n), density=4 / n, rng=rng)
    g = abs(g) + abs(g).T
    return sp.csr_array(sp.diags_array(np.asarray(g.sum(axis=0)) + 0.01) - g)


MATRICES = {
    "plane": lambda: grid(60, 61),
    "space": lambda: grid(17, 18, 19),
    "anisotropic": lambda: anisotropic(60),
    "isolated": lambda: isolated(30),
    "random": lambda: random_spd(3000, 4),
}
HOW = [{}, {"cycle": "K"}, {"strength": 0.25, "seed": 3}, {"smoother": "l1_jacobi"}, {"degree": 1, "cycle": "W"},
       {"degree": 3, "max_levels": 2}, {"precision": "float32"}]  # fmt: skip
