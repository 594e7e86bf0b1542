"""Matrices whose entries travel: products with rows in a GPU's memory, and A^H A x in one pass over A.

A pass of the link is what costs, so a block of vectors stays on the GPU, and a block of A's rows serves both products
of A^H (A x) while it is there. The transpose is never formed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from penstock import _core
from penstock._plan.options import options
from penstock.linalg.eigen.products import NEAR_ONE, Products
from penstock.linalg.eigen.rows import DeviceRows, HostRows, Room, Rows, ThroughGpu

RING, SLOTS = (
    5,
    3,
)  # so many slots take this part of a GPU's budget, and rows of A x at most four slots beside
SHARED = 8  # columns, from which on the CPU makes both products at once: threads share columns
_LOOK = 1 << 22  # entries that a thread looks at


def through_gpu(
    products: Products, rows: int, b: int, normal: bool, factor: float = 1.0
) -> ThroughGpu | None:
    """Where A's entries travel to one GPU, its numbers are real, and `rows` vectors and what a product with b of them
    needs fit into half of that GPU's budget; else None. `factor` is the matrix's."""
    schedule = products.travels_by()
    if schedule is None or products.dtype.kind != "f" or schedule.cpu:
        return None
    devices, n = schedule._devices(), products.shape[1]
    if len(devices) != 1 or not (normal or products.shape[0] == n):
        return None
    budget = options.device_memory or _core.gpu_memory(devices[0])[0]
    if DeviceRows.bytes(products.dtype, rows, n, b) > budget // 2:
        return None
    most = budget * min(schedule.slots, SLOTS) // (SLOTS * RING)
    ring = min(schedule._ring() or budget, most)
    lowered = _core.streamed(devices, schedule._block(), schedule.slots, ring)
    return ThroughGpu(products.a._core, lowered, devices[0], products.dtype, normal, factor)


class OnePass:
    """x to (f A)^H (f A) x for rows x of A's columns, in one pass over A for a block; f is `factor`, a power of two."""

    def __init__(self, products: Products) -> None:
        self._products, self.factor = products, near_one(products)

    @staticmethod
    def of(products: Products, b: int) -> OnePass | None:
        """For blocks of b vectors, where A's entries travel: to one GPU, or to the CPU's caches for blocks whose
        columns threads can share. None where A stays, as two products in core, with a transpose that is formed once,
        are faster there; and where a GPU cannot hold a vector, or not compute it."""
        if not products.one_pass:
            return None
        if products.travels_by() is None:
            return OnePass(products) if b >= SHARED else None
        return OnePass(products) if through_gpu(products, 1, 1, True) else None

    def room(self, rows: int, b: int) -> tuple[Room, str]:
        """For so many vectors, multiplied b at a time, where they fit; and where that is."""
        op = through_gpu(self._products, rows, b, True, self.factor)
        if op is None:
            return partial(HostRows, self.times), "cpu"

        def there(count: int, n: int, _: np.dtype) -> Rows:
            return DeviceRows(op, lambda: 1.0, self._products.count, count, n)

        return there, op.place

    def times(self, x: np.ndarray) -> np.ndarray:
        """Of rows in host memory; in several passes where so many do not fit a GPU."""
        products, b = self._products, len(x)
        if products.travels_by() is None:
            return self._on_cpu(x)
        op = None
        while op is None and b:
            op = through_gpu(products, b, b, True, self.factor)
            b -= 0 if op else (b + 1) // 2
        if op is None:
            limit = options.device_memory
            more = "give it a larger GPU" if limit is None else "raise options.device_memory"
            raise MemoryError(
                f"a GPU cannot hold two vectors of {products.shape[1]} entries: {more}, or take float32"
            )
        made = np.empty_like(x)
        for at in range(0, len(x), b):
            part = x[at : at + b]
            rows = DeviceRows(op, lambda: 1.0, products.count, len(part), products.shape[1])
            rows.put(0, part)
            rows.multiply(0, 0, len(part))
            made[at : at + b] = rows.get(0, len(part))
        return made

    def columns(self, x: np.ndarray) -> np.ndarray:
        """A x for the columns of x, in one pass: rows of it go home from the GPU while later ones are made."""
        products, b = self._products, x.shape[1]
        op = through_gpu(products, b, b, True)
        if op is None:
            return products.times_columns(x)
        products.count(b)
        rows = DeviceRows(op, lambda: 1.0, products.count, b, products.shape[1])
        rows.put(0, x.T)
        made = np.empty((products.shape[0], b), products.dtype)
        rows.home(made)
        return made

    def _on_cpu(self, x: np.ndarray) -> np.ndarray:
        self._products.count(len(x))
        made = np.empty((self._products.shape[1], len(x)), x.dtype)
        _core.product_normal(
            self._products.a._core, np.ascontiguousarray(x.T), made, self.factor, False
        )
        return np.ascontiguousarray(made.T)

    def residuals(self, s: np.ndarray, vh: np.ndarray) -> np.ndarray:
        """norm(A^H u - s v) where u = A v / s; 0 where s is."""
        right = np.ascontiguousarray(vh.conj())
        f = self.factor
        left = np.linalg.norm(self.times(right) - ((f * s) ** 2)[:, None] * right, axis=1)
        return left / np.where(s > 0, f * s, np.inf) / f


def _largest(values: np.ndarray) -> float:
    if values.dtype.kind == "c":
        values = values.view(values.real.dtype)
    return max(float(values.max()), -float(values.min()))


def near_one(products: Products) -> float:
    """A power of two that brings the matrix's entries near 1, so that squares stay in range; 1 where they are."""
    values = products.a.data
    if not len(values):
        return 1.0
    with ThreadPoolExecutor(_core.num_threads()) as pool:
        size = max(
            pool.map(lambda at: _largest(values[at : at + _LOOK]), range(0, len(values), _LOOK))
        )
    if not 0 < size < np.inf:
        return 1.0
    most = np.finfo(products.dtype).maxexp - 8
    power = int(np.clip(np.round(np.log2(size)), -most, most))
    return 2.0**-power if abs(power) > NEAR_ONE else 1.0
