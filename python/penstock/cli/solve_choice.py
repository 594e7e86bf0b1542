"""What `penstock solve` takes where it is not told: method, preconditioner, a limit; and what it advises at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.cli import ui
from penstock.linalg import _names
from penstock.linalg._named import by_name

# block_cg is for several right-hand sides.
METHODS = ("auto", *(name for name in _names.METHODS if name != "block_cg"))
RESTARTED = tuple(name for name, one in _names.METHODS.items() if one.kept)
PRECONDITIONERS = ("auto", "none", *_names.PRECONDITIONERS)
SYMMETRIC = ("cg", "pipecg", "minres")  # they take a symmetric positive definite M
MOST_ITERATIONS = 5000  # by default: what converges at all mostly does so in fewer


@dataclass
class Choice:
    """A method and M, by the names that the options have, and why they were taken."""

    method: str
    precond: str
    shift: float
    m: Any
    why: str  # "" where everything was asked for
    tried: list[str]  # that could not be made
    real: bool = True

    def __str__(self) -> str:
        words = self.method if self.precond == "none" else f"{self.method} with {self.precond}"
        return words + (f", shift {self.shift:g}" if self.shift else "")


def make(name: str, a: Any, shift: float, blocks: int | None) -> Any:
    """A preconditioner by its option's name; None for none."""
    import penstock as ps

    if name == "none":
        return None
    if name == "block_jacobi":
        inner = "lu" if blocks is None else "ilu"
        return ps.linalg.BlockJacobi(a, blocks=blocks, inner=inner, shift=shift)
    if name == "amg" and not shift:
        return by_name(name, a, a.dtype)
    return _names.preconditioner_named(name)(a, **({"shift": shift} if shift else {}))


def choose(a: Any, method: str, precond: str, shift: float, blocks: int | None) -> Choice:
    """cg for matrices that look positive definite, else bicgstab; for cg IC(0), with a shift where it needs one, else
    ILU(0); Jacobi where there is no factor, and for complex matrices."""
    if shift and precond not in ("auto", "block_jacobi", "ilu0", "ic0"):
        raise ui.InputError("--shift is for --precond block_jacobi, ilu0 and ic0")
    if blocks is not None and precond != "block_jacobi":
        raise ui.InputError("--blocks is for --precond block_jacobi")
    positive, why = None, ""
    if method == "auto":
        positive, why = _looks_positive(a)
        method = "cg" if positive else "bicgstab"
    real = a.dtype.kind != "c"
    if precond != "auto":
        return Choice(method, precond, shift, make(precond, a, shift, blocks), why, [], real)
    first = "ic0" if method in SYMMETRIC else "ilu0"
    factors = [(first, s) for s in ((shift,) if shift else _names.SHIFTS)] if real else []
    tried: list[str] = []
    for name, by in (*factors, ("jacobi", 0.0)):
        try:
            return Choice(method, name, by, make(name, a, by, None), why, tried, real)
        except (ValueError, MemoryError) as error:
            words = name + (f", shift {by:g}" if by else "")
            tried.append(f"{words}: {str(error).split(': ', 1)[-1].split(';')[0]}")
    return Choice(method, "none", 0.0, None, why, tried, real)


def _looks_positive(a: Any) -> tuple[bool, str]:
    from penstock._check.stats import CHUNK
    from penstock._check.symmetry import EXACT_LIMIT, symmetry

    if a.shape[0] != a.shape[1]:
        return False, ""  # the solver says what is wrong with it
    wanted = "Hermitian" if a.dtype.kind == "c" else "symmetric"
    canonical = bool(a.has_canonical_format)
    if symmetry(a, canonical, not canonical, EXACT_LIMIT, CHUNK).kind != wanted.lower():
        return False, f"not {wanted}"
    if not (np.asarray(a.diagonal()).real > 0).all():
        return False, f"{wanted}, but the diagonal is not positive"
    return True, f"{wanted}, with a positive diagonal"


def limit_of(maxiter: int | None, n: int, method: str, restart: int | None) -> tuple[int, int]:
    """(maxiter as the method counts it, products at most)"""
    kept = min(restart or 20, max(n, 1)) if method in RESTARTED else 1
    if maxiter is None:
        maxiter = -(-min(10 * max(n, 1), MOST_ITERATIONS) // kept)
    return maxiter, maxiter * kept


def advice(choice: Choice, info: Any, asked: bool, limit: int) -> list[str]:
    """What may help a solve that did not converge, the likeliest first."""
    if info == 0:
        return []
    ideas = []
    by_default = "" if asked else ", the limit where --maxiter is not given"
    ran_out = info > 0 and "stagnated" not in info.reason
    factor = "ic0" if choice.method in SYMMETRIC else "ilu0"
    if not choice.real:
        if choice.precond not in ("jacobi", "amg"):
            ideas.append("--precond jacobi")
    elif any(one.startswith(factor) for one in choice.tried):  # there is none, whatever the shift
        ideas.append("--precond block_jacobi")
    elif choice.precond not in ("ic0", "ilu0"):
        ideas.append(f"--precond {factor} (with --shift 0.01 where it breaks down)")
    else:
        ideas.append("--precond block_jacobi")
    if choice.method in SYMMETRIC and choice.precond != "amg" and info > 0:
        ideas.append("--precond amg, for matrices of grids and meshes")
    if choice.precond == "none" and choice.real:
        ideas.append("--precond jacobi")
    if choice.method in SYMMETRIC and info < 0:
        with_m = "ilu0" if choice.real else "jacobi"
        ideas.append(
            f"--method bicgstab --precond {with_m}: the matrix or M is not positive definite"
        )
    if choice.method in RESTARTED:
        ideas.append("--method bicgstab, or a larger --restart")
    if choice.method == "bicgstab":
        ideas.append("--method gmres --restart 100")
    if choice.precond in ("ic0", "ilu0"):
        ideas.append(f"--shift {0.1 if choice.shift >= 0.01 else 0.01}")
    if ran_out:
        ideas.append(f"--maxiter above {limit}{by_default}")
    else:
        ideas.append("a larger --rtol")
    return ideas
