"""Systems that the solvers' tests share, and SciPy's word on a solution."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def laplacian(n: int = 30, seed: int = 0, dtype: type = float) -> tuple[sp.csr_array, np.ndarray]:
    """(A, b) of an n x n grid."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = sp.eye_array(n)
    s = sp.csr_array(sp.kron(line, one) + sp.kron(one, line)).astype(dtype)
    return s, np.random.default_rng(seed).standard_normal(n * n).astype(dtype)


def hermitian(n: int = 200, shift: float = 0.0, seed: int = 1) -> tuple[sp.csr_array, np.ndarray]:
    """Complex; positive definite where `shift` is large (20), indefinite where it is 0."""
    rng = np.random.default_rng(seed)
    s = sp.random_array((n, n), density=0.04, rng=rng) + 1j * sp.random_array(
        (n, n), density=0.04, rng=rng
    )
    s = sp.csr_array(s + s.conj().T + shift * sp.eye_array(n))
    return s, rng.random(n) + 1j * rng.random(n)


def general(n: int = 200, seed: int = 2) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    s = sp.csr_array(sp.random_array((n, n), density=0.04, rng=rng) + 8 * sp.eye_array(n))
    return s, rng.random(n)


def residual(s: sp.csr_array, x: np.ndarray, b: np.ndarray) -> float:
    """norm(b - A x) / norm(b) by SciPy, in double precision; the largest of several columns."""
    wide = np.result_type(s.dtype, np.float64)
    r = b.astype(np.result_type(b.dtype, np.float64)) - s.astype(wide) @ x
    return float(np.max(np.linalg.norm(r, axis=0) / np.linalg.norm(b, axis=0)))
