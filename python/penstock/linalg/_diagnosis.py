"""Why a solve failed, as far as A's entries and a few products say: asked only where one did."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._matrix.csr import csr_array
from penstock.linalg._info import BREAKDOWNS, SolveInfo
from penstock.linalg._methods.passes import norm
from penstock.linalg._names import METHODS

# Where the advice begins in what methods say, which a better one replaces.
_ADVICE = (
    ": the matrix is not positive definite",
    ": allow more",
    ": rounding allows no more",
    ": the tolerance is beyond",
    ": numbers overflow",
)
FEW = 30  # iterations: a solve that was ended after fewer says little of A
NORMAL = 1e-6  # norm(A^H r) as a part of norm(A) norm(r): r is outside of what A reaches


def explained(
    info: SolveInfo, a: Any, method: str = "", rhs: Any = None, x: Any = None
) -> SolveInfo:
    """`info`, whose reason also says what A's entries are to blame for: a number that is not finite, a row that cannot
    be solved for, and for the `method` and the x found, that A is not symmetric or is singular. Of a matrix on a GPU
    only the first, as all of it is copied to the host."""
    if info == 0:
        return info
    entries = isinstance(a, csr_array)
    if entries and a.place == "device":
        if info != BREAKDOWNS["not_finite"]:
            return info
        a = a.to("host")
    found = None
    if entries:
        found = not_finite(a) if info < 0 or not np.isfinite(info.residual) else None
        found = found or empty_row(a)
    if found is not None:
        _add(info, f"; {found}", False)
    elif not (rhs is None or info == BREAKDOWNS["bad_preconditioner"]):
        with np.errstate(all="ignore"):
            _advise(info, a, method, rhs, x)
    return info


def _add(info: SolveInfo, text: str, instead: bool) -> None:
    """`text` after the reason, or instead of its advice."""
    for one in (info, *info.columns):
        if one != 0:
            at = [one.reason.find(begin) for begin in _ADVICE if begin in one.reason]
            one.reason = (one.reason[: min(at)] if instead and at else one.reason) + text


def _advise(info: SolveInfo, a: Any, method: str, rhs: np.ndarray, x: np.ndarray) -> None:
    def product(v: np.ndarray, out: np.ndarray) -> None:
        out[:] = np.asarray(a.dot(v) if isinstance(a, csr_array) else a.matvec(v)).reshape(-1)

    if info > 0 and info.iterations < FEW and not _grew(info):
        return
    vector = rhs if rhs.ndim == 1 else rhs[:, 0]
    definite = method in METHODS and METHODS[method].definite
    numbers = info != BREAKDOWNS["not_finite"]
    if definite and not_hermitian(product, vector):
        kind = "Hermitian" if rhs.dtype.kind == "c" else "symmetric"
        _add(info, f": A is not {kind}: use gmres or bicgstab", True)
    elif definite and numbers and _stuck(info):
        why = "A is not positive definite, or is singular with a b outside its range"
        _add(info, f": {why}: use minres, which takes both, or lsmr", True)
    elif numbers and not definite and (_grew(info) or _unreached(a, rhs, x)):
        why = "A may be singular, and b not in its range"
        _add(info, f"; {why}: minres (A symmetric) or lsmr finds a least-squares solution", False)


def _grew(info: SolveInfo) -> bool:
    """Whether the residual is far above the first one."""
    return bool(len(info.residuals) and not info.residual <= 10 * info.residuals[0])


def _stuck(info: SolveInfo) -> bool:
    """Whether a solve met a direction without curvature, or gained nothing, or the contrary."""
    little = info.reason.startswith("stagnated") and not info.residual <= 0.5 * info.residuals[0]
    return info == BREAKDOWNS["not_positive"] or little or _grew(info)


def _unreached(a: Any, rhs: np.ndarray, x: np.ndarray) -> bool:
    """Whether A^H r vanishes for r = b - A x, as far as a random vector knows the norm of A."""
    if not isinstance(a, csr_array) or rhs.ndim != 1 or not np.isfinite(x).all():
        return False
    r = rhs - a.dot(x)
    w = np.random.default_rng(0).standard_normal(len(r)).astype(rhs.dtype)
    scale = np.linalg.norm(a.dot(w)) / np.linalg.norm(w) * np.linalg.norm(r)
    return bool(np.linalg.norm(a.T.dot(r.conj())) <= NORMAL * scale)


def empty_row(a: csr_array) -> str | None:
    """The first row without entries, in a sentence with the remedy."""
    empty = np.diff(a.indptr) == 0
    if not empty.any():
        return None
    row, many = int(empty.argmax()), int(np.count_nonzero(empty))
    others = f" (and {many - 1} more)" if many > 1 else ""
    return (
        f"row {row}{others} of A has no entries, so that A is singular: remove such rows and columns, or give them a "
        "diagonal entry with A.with_diagonal"
    )


def not_finite(a: csr_array) -> str | None:
    """The first entry that is NaN or infinite, in a sentence with the remedy."""
    if a.data.dtype.kind not in "fc":
        return None
    wrong = ~np.isfinite(a.data)
    if not wrong.any():
        return None
    at = int(wrong.argmax())
    row = int(np.searchsorted(a.indptr, at, side="right")) - 1
    return f"A[{row}, {int(a.indices[at])}] = {a.data[at]}: A must hold finite numbers only"


def largest_of(data: np.ndarray) -> float:
    """The largest magnitude of real or complex numbers; real ones are not copied."""
    if data.dtype.kind == "c":
        return float(abs(data).max(initial=0.0))
    return max(float(data.max(initial=0.0)), -float(data.min(initial=0.0)))


def not_hermitian(product: Any, like: np.ndarray) -> bool:
    """Whether x.A y and A x.y differ for a random x and y: two products, y = A x by `product`(x, y). `like` has the
    shape and type of a vector."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((2 * (1 + (like.dtype.kind == "c")), len(like)))
    x, y = (draws[:2] + (1j * draws[2:] if len(draws) == 4 else 0)).astype(like.dtype)
    ax, ay = np.empty_like(x), np.empty_like(y)
    product(x, ax)
    product(y, ay)
    wide = np.result_type(like.dtype, np.float64)
    one, other = np.vdot(x.astype(wide), ay), np.vdot(ax.astype(wide), y)
    scale = norm(x) * norm(ay)
    return bool(abs(one - other) > np.sqrt(np.finfo(like.dtype).eps) * scale)
