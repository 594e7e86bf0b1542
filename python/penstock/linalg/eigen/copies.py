"""Eigenvalues that coincide: whether a Krylov method has missed some of them, and if so, which.

A Krylov space of one vector has one vector of each eigenspace. The others enter by rounding alone, often after the
first has converged. So what was found is locked, and a random vector is multiplied until the largest eigenvalue of what
is left is known to be smaller than the wanted ones, or to belong to them.

Its Ritz value and residual say that there is one eigenvalue nearby. That there is no larger one is known from the
random vector: the first products bound the part of it that an eigenvector of a given value may have (the Christoffel
function of the Lanczos polynomials), and a random vector has less than that with a small probability.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.linalg._methods.blas_threads import one_blas_thread
from penstock.linalg.eigen.lanczos import Krylov, Ritz, Vectors, thick_restart, tolerated, wanted
from penstock.linalg.eigen.rows import Room

_LOOK = 5  # blocks from one look at the residuals to the next
ROOM = 40  # blocks that are kept
_SURE = 0.9  # of the distance to the wanted ones: what a residual may be; the rest is for what is locked besides
_STIRRED = 0.1  # of a random vector in a start that is known to be good
_UNLIKELY = 1e-3  # of a vector's mean entry: a random one has less of an eigenvector with about this probability
_LONGER = 1.5  # of the steps that seem to be needed, where restarts hide how many are
_SHARE = 0.01  # of that distance: what a locked Ritz vector may hide of a missed one


@one_blas_thread()
def eigenpairs(
    room: Room,
    start: np.ndarray,
    k: int,
    which: str,
    ncv: int,
    maxiter: int,
    tol: float,
    rng: np.random.Generator,
    random: bool = True,
    of: Vectors | None = None,
) -> Ritz:
    """As `thick_restart`, but eigenvalues that coincide are found as often as they are there. `random` says that start
    is: it then needs no second look for one eigenvalue. `of`: what the vectors are, if ranks share them out."""
    of = Vectors.like(start) if of is None else of
    found = thick_restart(room, start, k, which, ncv, maxiter, tol, rng, of)
    if not found.converged.all() or (k == 1 and random and not found.invariant):
        return found
    for end in ("SA", "LA") if which == "BE" else (which,):
        count = {"SA": k // 2, "LA": k - k // 2}[end] if which == "BE" else k
        more = count > 0
        while more:
            found, more = _search(room, of, found, end, count, start.shape[0], maxiter, tol, rng)
    best = wanted(found.values, which, k)
    return replace(
        found,
        values=found.values[best],
        vectors=found.vectors[best],
        residuals=found.residuals[best],
        converged=found.converged[best],
    )


def _keys(values: np.ndarray, end: str) -> np.ndarray:
    """Large for what is wanted."""
    return {"LA": values, "SA": -values}.get(end, abs(values))


def _search(
    room: Room,
    of: Vectors,
    found: Ritz,
    end: str,
    count: int,
    b: int,
    maxiter: int,
    tol: float,
    rng: np.random.Generator,
) -> tuple[Ritz, bool]:
    """One search at one end, where `count` pairs are wanted: what is known then, and whether to search again."""
    n, dtype = of.n, found.vectors.dtype
    known, eps = _keys(found.values, end), float(np.finfo(dtype).eps)
    last, norm = float(np.sort(known)[-count]), float(abs(found.values).max())
    allowed = float(tolerated(np.array([last]), tol, norm, dtype)[0])
    distance = np.maximum(abs(known - last), np.maximum(found.residuals, allowed))
    allowed += float(np.sum(found.residuals**2 / distance))
    ncv = min(max(ROOM * b, 2 * count + 20 * b), n - len(found.vectors) - 2 * b)
    if ncv < 2 * b:
        return replace(found, complete=False), False
    hidden = _hidden(found, last, end, norm, n - ncv - 2 * b)
    start, locked = of.draw(b, dtype, rng), np.concatenate([found.vectors, hidden])
    space = Krylov(room, start, ncv, rng, locked, of.agree)
    restarts, steps, part, rate = 0, 0, _UNLIKELY / np.sqrt(n), 0.0
    while True:
        steps += space.expand(_LOOK)
        values, y, residuals = space.pairs()
        keys, norm = _keys(values, end), max(norm, float(abs(values).max()))
        hot = _wanted_of(keys, known + allowed, count)
        if len(hot) and len(hidden):  # these hide a part of what is missing
            start = of.draw(b, dtype, rng)
            start[0] = space.vectors(y[:, hot]).sum(axis=0) + _STIRRED * start[0] / np.sqrt(n)
            space, hidden = Krylov(room, start, ncv, rng, found.vectors, of.agree), hidden[:0]
            steps, part = 0, _STIRRED * part
            continue
        limit = np.sort(np.concatenate([known, keys[hot]]))[-count]
        converged = (residuals[hot] <= tolerated(values[hot], tol, norm, dtype)).all()
        rest = np.setdiff1d(np.arange(len(values)), hot)
        if not restarts and (converged or space.full):
            projected = space.projected[: space.size, : space.size]
            seen = of.agree(_largest_part(projected, limit + allowed, end, b))
            rate = -np.log(max(seen, eps)) / steps
        if len(rest) and converged:
            top = rest[np.argmax(keys[rest])]
            away = residuals[top] <= max(_SURE * (limit - keys[top]), allowed)
            away = away and steps * rate >= -(_LONGER if restarts else 1.0) * np.log(part)
            same = residuals[top] <= np.sqrt(eps) * norm and keys[top] <= limit + allowed
            if away or same:
                return _joined(found, values[hot], y[:, hot], residuals[hot], space), len(hot) > 0
        if space.full:
            if restarts == maxiter:
                return replace(found, complete=False), False
            restarts += 1
            most = min(max(len(hot) + 1, space.size * 2 // 5), space.size - b)
            kept = np.sort(np.argsort(-keys, kind="stable")[:most])
            space.restart(values[kept], y[:, kept])


def _hidden(found: Ritz, last: float, end: str, norm: float, most: int) -> np.ndarray:
    """The rows beside the wanted ones that can be locked as well. A vector u with A u = mu u has at most the part
    residual / abs(mu - value) of a Ritz vector, so that little of a missed one is in those that have come near."""
    beside = found.beside
    if beside is None:
        return found.vectors[:0]
    gaps = last - _keys(beside.values, end)
    fine = gaps > 0
    fine[fine] = 2 * norm * (beside.residuals[fine] / gaps[fine]) ** 2 <= _SHARE * gaps[fine]
    return beside.vectors[fine][: max(most - len(found.vectors), 0)]


def _largest_part(projected: np.ndarray, limit: float, end: str, b: int) -> float:
    """The most that the first block may have of a unit eigenvector whose value is at the limit or beyond. Its inner
    products w with the basis satisfy (T - mu) w = 0 in all rows but the last b."""
    t = np.triu(projected) + np.triu(projected, 1).conj().T
    most = 0.0
    for mu in {"LA": (limit,), "SA": (-limit,)}.get(end, (limit, -limit)):
        rows = (t - mu * np.eye(len(t)))[:-b]
        if not len(rows):
            return 1.0
        q = np.linalg.qr(rows.conj().T, mode="complete")[0]
        most = max(most, float(np.linalg.norm(q[:b, len(rows) :], 2)))
    return most


def _wanted_of(keys: np.ndarray, known: np.ndarray, count: int) -> np.ndarray:
    """Numbers of those that belong to the `count` largest of all."""
    order = np.argsort(-np.concatenate([known, keys]), kind="stable")[:count]
    return np.sort(order[order >= len(known)] - len(known))


def _joined(
    found: Ritz, values: np.ndarray, y: np.ndarray, residuals: np.ndarray, space: Krylov
) -> Ritz:
    """Everything that is known, ascending."""
    if not len(values):
        return found
    residuals = np.hypot(residuals, space.outside(y))
    vectors = np.concatenate([found.vectors, space.vectors(y)])
    values, residuals = (
        np.concatenate(pair) for pair in ((found.values, values), (found.residuals, residuals))
    )
    order = np.argsort(values, kind="stable")
    return replace(
        found,
        values=values[order],
        vectors=vectors[order],
        residuals=residuals[order],
        converged=np.ones(len(order), bool),
    )
