"""The vectors of minres: Lanczos' three-term recurrence, and the rotation that minimises the residual."""

from __future__ import annotations

import math

import numpy as np

from penstock.linalg._methods.passes import Product, axpy_of, dot, norm, pieces

NOTHING = 1e-13  # of A's norm: rounding
VANISHED, TURNED = 1e-9, 100  # how far A r falls, and by what factor it has risen since
SMALL = 1e-6  # of A's norm: how far A r falls where b is not in the range of a singular A


class Rotation:
    """The last rotation of the tridiagonal matrix, and what follows from it."""

    def __init__(self, beta: float, scale: float) -> None:
        self.cs, self.sn, self.dbar, self.epsln = -1.0, 0.0, 0.0, 0.0
        self.phibar, self.scale = beta, scale  # scale: norm(r) for a phibar of 1, at the start
        self.normal, self.size, self.singular = math.inf, 0.0, False
        self.least = math.inf, 0.0  # norm(A r) / norm(r) as a part of A's norm, and phibar then

    def step(self, alfa: float, old: float, beta: float) -> tuple[float, float, float, float]:
        """(epsln, delta, gamma, phi) of the column with these three entries."""
        before = self.epsln
        delta = self.cs * self.dbar + self.sn * alfa
        gbar = self.sn * self.dbar - self.cs * alfa
        self.epsln, self.dbar = self.sn * beta, -self.cs * beta
        self.size += alfa * alfa + old * old + beta * beta
        self.normal = math.hypot(gbar, self.dbar)  # norm(A r) / norm(r)
        gamma = math.hypot(gbar, beta)
        if gamma <= NOTHING * math.sqrt(self.size):  # A is singular on what the vectors span
            self.singular = True
            return before, delta, math.inf, 0.0
        self.cs, self.sn = gbar / gamma, beta / gamma
        phi, self.phibar = self.cs * self.phibar, self.sn * self.phibar
        part = self.normal / math.sqrt(self.size)
        if part < self.least[0]:
            self.least = part, self.phibar
        return before, delta, gamma, phi

    def turned(self) -> bool:
        """Whether A r vanished nearly to rounding and has risen again without a smaller residual: from then on x grows
        along what A takes to zero."""
        least, residual = self.least
        risen = self.normal > TURNED * least * math.sqrt(self.size)
        return least <= VANISHED and risen and abs(self.phibar) > 0.99 * abs(residual)

    def least_squares(self) -> bool:
        """Whether A r vanishes to rounding: the residual cannot become smaller."""
        return self.singular or self.normal <= NOTHING * math.sqrt(self.size)

    def nearly(self) -> bool:
        """Whether A r is so small that A may be singular, with a b that is not in its range."""
        return self.singular or self.normal <= SMALL * math.sqrt(self.size)


class Lanczos:
    """x, the residual's Lanczos vectors, and two directions: seven vectors, eight with M."""

    def __init__(
        self, a: Product, m: Product | None, shift: float, b: np.ndarray, x: np.ndarray
    ) -> None:
        self._a, self._m, self._shift, self._b, self.x = a, m, shift, b, x
        self._r1, self._r2, self._v = (np.zeros_like(b) for _ in range(3))
        self._w1, self._w2 = np.zeros_like(b), np.zeros_like(b)
        self._y = self._r2 if m is None else np.zeros_like(b)
        self._axpy = axpy_of(b.dtype)
        self.beta = self.square = self.scale = self._old = 0.0

    def true_residual(self) -> float:
        """norm(b - (A - shift) x), computed in the vector v, which no later step reads."""
        return self._residual_in(self._v)

    def _residual_in(self, r: np.ndarray) -> float:
        self._a(self.x, r)
        np.subtract(self._b, r, out=r)
        if self._shift:
            r += self._shift * self.x
        return norm(r)

    def restart(self) -> float:
        """Begins with the residual of x, whose norm is returned."""
        found = self._residual_in(self._r2)
        self._r1[:] = self._w1[:] = self._w2[:] = 0
        self._precondition()
        self._old, self.scale = 0.0, found / self.beta if self.beta > 0 else 1.0
        return found

    def _precondition(self) -> None:
        if self._m is None:
            self._y = self._r2
        else:
            self._m(self._r2, self._y)
        self.square = dot(pieces(self._r2, self._y)).real
        self.beta = math.sqrt(self.square) if self.square > 0 else 0.0

    def step(self, rotation: Rotation) -> float:
        """One product. Returns what the residual's norm should be now."""
        axpy, v, q, beta = self._axpy, self._v, self._r1, self.beta
        np.multiply(self._y, 1 / beta, out=v)
        # q takes the place of r1, which is needed once more: into the product's result.
        result = self._product(v)
        alfa = 0.0
        back = -beta / self._old if self._old else 0.0
        for y, r, w in pieces(result, q, v):
            if back:
                axpy(r, y, a=back)
            alfa += float(np.vdot(w, y).real)
        for y, r in pieces(result, self._r2):
            axpy(r, y, a=-alfa / beta)
        self._r1, self._r2, self._free = self._r2, result, q
        self._old = beta
        self._precondition()
        before, delta, gamma, phi = rotation.step(alfa, beta if back else 0.0, self.beta)
        for one, two, u, x in pieces(self._w1, self._w2, v, self.x):
            one *= -before / gamma
            axpy(two, one, a=-delta / gamma)
            axpy(u, one, a=1 / gamma)
            axpy(one, x, a=phi)
        self._w1, self._w2 = self._w2, self._w1
        return abs(rotation.phibar) * self.scale

    def _product(self, v: np.ndarray) -> np.ndarray:
        result = getattr(self, "_free", None)
        if result is None:
            result = np.empty_like(v)
        self._a(v, result)
        if self._shift:
            self._axpy(v, result, a=-self._shift)
        return result

    def require_symmetric(self) -> None:
        """ValueError where y.A z and A y.z differ for y = A b, z = A A b; the same for M."""
        for name, op in (("A", self._a), ("M", self._m)):
            if op is None:
                continue
            y, z = np.empty_like(self._b), np.empty_like(self._b)
            op(self._b, y)
            op(y, z)
            s, t = dot(pieces(y, y)), dot(pieces(self._b, z))
            if abs(s - t) > (abs(s) + 1e-300) * float(np.finfo(y.dtype).eps) ** (1 / 3):
                raise ValueError(f"{name} is a non-symmetric matrix: use gmres or bicgstab")

    def why(self, rotation: Rotation, residual: float, target: float) -> str:
        """Why the residual fell by less than a factor of two since the last start."""
        if not np.isfinite(residual):
            return "not finite: numbers overflow, or A or M holds NaN or infinity"
        if self.square < 0:
            return f"M is not positive definite (r.M r = {self.square:.3g}): use another"
        if rotation.nearly() or rotation.turned():
            return (
                f"A is singular, and b is not in its range: x is a least-squares solution with a residual of "
                f"{residual:.3g}, {target:.3g} was asked for: change b, or take lsqr"
            )
        return (
            f"stagnated: the residual is {residual:.3g}, {target:.3g} was asked for: A is not symmetric, or the "
            "tolerance is beyond rounding: take gmres, or a larger rtol"
        )
