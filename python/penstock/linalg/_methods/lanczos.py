"""The vectors of minres: Lanczos' three-term recurrence, and the rotation that minimises the residual."""

from __future__ import annotations

import math

import numpy as np

from penstock.linalg._diagnosis import not_hermitian
from penstock.linalg._methods.passes import Product, axpy_of, dot, in_range, norm, pieces

NOTHING = 1e-13, 4  # of A's norm, or of the precision: rounding
VANISHED, TURNED = 1e-9, 100  # how far A r falls, and by what factor it has risen since
# norm(A r) <= eps ** SMALL norm(A) norm(r): b may not be in the range of a singular A
SMALL = 0.375
FIRST_LOOKS, LOOK = (4, 16), 64  # iterations after which the residual is computed; every so many
SUSPECT = 1.1  # times its estimate: A may not be symmetric, which is then tried
STRAYED = 10.0, 1e6  # by what factor it rises above its estimate where x grows without end; with M


class Rotation:
    """The last rotation of the tridiagonal matrix, and what follows from it."""

    def __init__(self, beta: float, scale: float, eps: float) -> None:
        self.cs, self.sn, self.dbar, self.epsln = -1.0, 0.0, 0.0, 0.0
        self.phibar, self.scale = beta, scale  # scale: norm(r) for a phibar of 1, at the start
        self.normal, self.size, self.singular = math.inf, 0.0, False
        self.least = math.inf, 0.0  # norm(A r) / norm(r) as a part of A's norm, and phibar then
        self.steps, self._seen, self._eps = 0, math.inf, eps
        self._nothing = max(NOTHING[0], NOTHING[1] * eps)

    def step(self, alfa: float, old: float, beta: float) -> tuple[float, float, float, float]:
        """(epsln, delta, gamma, phi) of the column with these three entries."""
        before = self.epsln
        delta = self.cs * self.dbar + self.sn * alfa
        gbar = self.sn * self.dbar - self.cs * alfa
        self.epsln, self.dbar = self.sn * beta, -self.cs * beta
        # Frobenius' norm of the tridiagonal matrix
        self.size = math.hypot(self.size, alfa, old, beta)
        self.steps += 1
        self.normal = math.hypot(gbar, self.dbar)  # norm(A r) / norm(r) of the x before this step
        gamma = math.hypot(gbar, beta)
        # A is singular on what the vectors span, or r is as small as it can be
        if min(gamma, self.normal) <= self._nothing * self.size:
            self.singular = True
            return before, delta, math.inf, 0.0
        self.cs, self.sn = gbar / gamma, beta / gamma
        phi, self.phibar = self.cs * self.phibar, self.sn * self.phibar
        part = self.normal / self.size
        if part < self.least[0]:
            self.least = part, self.phibar
        return before, delta, gamma, phi

    def turned(self) -> bool:
        """Whether A r vanished nearly to rounding and has risen again without a smaller residual: from then on x grows
        along what A takes to zero."""
        least, residual = self.least
        risen = self.normal > TURNED * least * self.size
        return least <= VANISHED and risen and abs(self.phibar) > 0.99 * abs(residual)

    def least_squares(self) -> bool:
        """Whether A r vanishes to rounding: the residual cannot become smaller."""
        return self.singular or self.normal <= self._nothing * self.size

    def smaller(self) -> bool:
        """Whether A r was smaller than ever before this step, so that x may have been a least-squares solution."""
        small = self.normal <= min(self._eps**SMALL * self.size, 0.1 * self._seen)
        if small:
            self._seen = self.normal
        return small

    def look(self) -> bool:
        """Whether the true residual is to be computed now."""
        return self.steps in FIRST_LOOKS or self.steps % LOOK == 0


class Lanczos:
    """x, the x of the smallest residual seen, the residual's Lanczos vectors, and two directions: eight vectors, nine
    with M."""

    def __init__(
        self, a: Product, m: Product | None, shift: float, b: np.ndarray, x: np.ndarray
    ) -> None:
        self._a, self._m, self._shift, self._b, self.x = a, m, shift, b, x
        self._r1, self._r2, self._v = (np.zeros_like(b) for _ in range(3))
        self._w1, self._w2 = np.zeros_like(b), np.zeros_like(b)
        self._y = self._r2 if m is None else np.zeros_like(b)
        self._axpy = axpy_of(b.dtype)
        self.beta = self.square = self.scale = self._old = 0.0
        self.eps = float(np.finfo(b.dtype).eps)
        self._best, self._least, self._ratio = x.copy(), math.inf, math.inf
        self._size = -1.0  # norm(A), once it is asked for
        self._other: bool | None = None  # whether A differs from its adjoint, once it is asked for
        self._free: np.ndarray | None = None

    def true_residual(self) -> float:
        """norm(b - (A - shift) x), computed in the vector v, which no later step reads."""
        return self._residual_in(self._v)

    def keep(self, residual: float) -> bool:
        """Remembers x where no residual was smaller, with what rounding may hide of it; whether that is so."""
        size = norm(self.x)
        known = residual + (self.eps * self._norm() * size if size else 0.0)
        if known < self._least:
            self._best[:], self._least = self.x, known
            return True
        return False

    def _not_hermitian(self) -> bool:
        if self._other is None:
            self._other = not_hermitian(self._shifted, self._b)
        return self._other

    def _norm(self) -> float:
        """What A makes of a random vector: a part of its norm that is not small."""
        if self._size < 0:
            w = np.random.default_rng(0).standard_normal(self.x.shape).astype(self.x.dtype)
            free = np.empty_like(w)
            self._shifted(w, free)
            self._size = norm(free) / norm(w)
        return self._size

    def strayed(self, estimate: float) -> bool:
        """Computes the residual, and says whether it is far above its estimate: x grows along what A takes to zero, or
        rounding has taken the vectors' orthogonality."""
        true = self.true_residual()
        better = self.keep(true)
        ratio = true / estimate if estimate > 0 else math.inf
        usual = min(self._ratio, 1.0 if self._m is None else math.inf)
        if ratio > SUSPECT * usual and self._not_hermitian():
            return True
        limit = STRAYED[self._m is not None] * min(self._ratio, ratio)
        self._ratio = min(self._ratio, ratio)
        without = self._m is None and ratio > STRAYED[0]
        return not math.isfinite(true) or ((ratio > limit or without) and not better)

    def again(self, target: float) -> float:
        """Begins anew with the best x; its residual."""
        self._ratio = math.inf
        found = self.restart()
        if not found <= target and not self.keep(found):
            self.x[:] = self._best
            found = self.restart()
        return found

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
        if rotation.smaller():
            self.keep(self._residual_in(self._free))
        for one, two, u, x in pieces(self._w1, self._w2, v, self.x):
            one *= -before / gamma
            axpy(two, one, a=-delta / gamma)
            axpy(u, one, a=1 / gamma)
            axpy(one, x, a=phi)
        self._w1, self._w2 = self._w2, self._w1
        return abs(rotation.phibar) * self.scale

    def _product(self, v: np.ndarray) -> np.ndarray:
        result = self._free
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

    def why(self, residual: float, target: float) -> str:
        """Why the residual fell by less than a factor of two since the last start; it is in r2."""
        if not np.isfinite(residual):
            return "not finite: numbers overflow, or A or M holds NaN or infinity"
        if self.square < 0:
            return f"M is not positive definite (r.M r = {self.square:.3g}): use another"
        size, wanted = self._norm(), f"{target:.3g} was asked for"
        if size > 0 and not in_range(size * size, self.x.dtype):
            return (
                f"norm(A) is about {size:.1g}, whose square is out of range: divide A and b by it"
            )
        part = self._normal_part()
        if part <= self.eps**SMALL:
            return (
                f"A is singular, and b is not in its range: x is a least-squares solution with a residual of "
                f"{residual:.3g} and norm(A r) = {part:.1g} norm(A) norm(r), {wanted}: change b, or take lsqr"
            )
        if self._not_hermitian():
            kind = "Hermitian" if self._b.dtype.kind == "c" else "symmetric"
            return (
                f"A is not {kind}: the residual is {residual:.3g}, {wanted}: use gmres or bicgstab"
            )
        return (
            f"stagnated: the residual is {residual:.3g}, {wanted}: the tolerance is beyond rounding, or A is nearly "
            "singular: take a larger rtol or a preconditioner M, or lsqr"
        )

    def _shifted(self, x: np.ndarray, y: np.ndarray) -> None:
        self._a(x, y)
        if self._shift:
            self._axpy(x, y, a=-self._shift)

    def _normal_part(self) -> float:
        """norm(A M r) / (norm(A) norm(M r)), with the norm of A as a random vector has it."""
        below = self._norm() * norm(self._y)
        self._shifted(self._y, self._v)
        return norm(self._v) / below if below > 0 else 0.0
