"""Matrices with awkward rows, and products of them by NumPy alone."""

import numpy as np

from penstock import _core

TILES = (1760, 2016)  # rows plus nonzeros of one block of the kernel: lengths around it are awkward
REAL = [("min_plus", None), ("min_plus", "same"), ("max_times", None), ("max_times", "same")]
INSTANCES = [
    ("plus_times", None, "float32"),
    ("plus_times", "float32", "float32"),
    ("plus_times", None, "float64"),
    ("plus_times", "float32", "float64"),
    ("plus_times", "float64", "float64"),
    ("plus_times", None, "complex64"),
    ("plus_times", "float32", "complex64"),
    ("plus_times", "complex64", "complex64"),
    ("plus_times", None, "complex128"),
    ("plus_times", "float32", "complex128"),
    ("plus_times", "float64", "complex128"),
    ("plus_times", "complex64", "complex128"),
    ("plus_times", "complex128", "complex128"),
    *[(s, v and t, t) for t in ("float32", "float64") for s, v in REAL],
    ("or_and", None, "uint8"),
    ("or_and", "float32", "uint8"),
    ("or_and", "float64", "uint8"),
]
ADD = {
    "plus_times": (np.add, 0),
    "min_plus": (np.minimum, np.inf),
    "max_times": (np.maximum, 0),
    "or_and": (np.bitwise_or, 0),
}
MUL = {
    "plus_times": np.multiply,
    "min_plus": np.add,
    "max_times": np.multiply,
    "or_and": np.bitwise_and,
}


def _lengths(rng: np.random.Generator) -> dict[str, tuple[int, np.ndarray]]:
    """Name -> (columns, row lengths)."""
    around = [0, 1, 31, 32, 33, 255, 256, 257, 1023, 1025, 3000]
    around += [n for t in TILES for n in (2 * t - 1, 2 * t, 5 * t)]
    edges = [n for t in TILES for n in (t - 1, t, t + 1)]
    hub = np.zeros(3001, int)
    hub[1234] = 300_000
    crowd = np.full(5003, 3)
    crowd[[0, 17, 2500, 5002]] = [900, 1500, 40_000, 70]
    return {
        "no_rows": (7, np.zeros(0, int)),
        "no_columns": (0, np.zeros(10_007, int)),
        "no_entries": (5, np.zeros(100_003, int)),
        "one_entry": (1, np.ones(1, int)),
        "one_row_has_everything": (1009, hub),
        "row_vector": (200_003, np.array([200_003])),
        "column_vector": (1, np.ones(70_001, int)),
        "regular_7": (4099, np.full(30_011, 7)),
        "mostly_empty": (997, (rng.random(150_001) < 0.01) * rng.integers(1, 90, 150_001)),
        "power_law": (20_011, np.minimum(rng.pareto(0.9, 20_011) * 3, 60_000).astype(int)),
        "around_the_tile": (501, np.array(around + edges + around[::-1])),
        "rows_fill_tiles": (501, np.repeat(np.array(TILES) - 1, 63)),
        "hubs_among_short_rows": (3001, crowd),
    }


SHAPES = list(_lengths(np.random.default_rng(0)))


class Case:
    """One matrix, as arrays and as the library's; every array from one seed."""

    def __init__(self, shape: str, dtype: str | None, seed: int = 1):
        rng = np.random.default_rng(seed)
        self.cols, lengths = _lengths(rng)[shape]
        self.rows = len(lengths)
        self.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        nnz = int(self.indptr[-1])
        self.indices = rng.integers(0, max(self.cols, 1), nnz, dtype=np.int32)
        self.values = None if dtype is None else random_vector(rng, nnz, dtype)
        self.matrix = _core.Matrix.from_arrays(
            self.rows, self.cols, self.indptr, self.indices, self.values
        )

    def vector(self, dtype: str, n: int | None = None, seed: int = 2) -> np.ndarray:
        return random_vector(np.random.default_rng(seed), self.cols if n is None else n, dtype)

    def _rows(self, add: np.ufunc, zero, products: np.ndarray) -> np.ndarray:
        out = np.full(self.rows, zero, products.dtype)
        full = np.flatnonzero(np.diff(self.indptr))
        if len(full):
            out[full] = add.reduceat(products, self.indptr[full])
        return out

    def product(self, x: np.ndarray, semiring: str, alpha=None, beta=None, y=None):
        """(y, tolerance): sums in twice the precision for plus_times, exact for the rest."""
        wide = x.dtype
        if semiring == "plus_times":
            wide = {"f": np.float64, "c": np.complex128}[x.dtype.kind]
        if self.values is None:
            entries = np.ones(len(self.indices), wide)
        elif semiring == "or_and":
            entries = (self.values != 0).astype(wide)
        else:
            entries = self.values.astype(wide)
        mul, (add, zero) = MUL[semiring], ADD[semiring]
        terms = mul(entries, x.astype(wide)[self.indices])
        out = self._rows(add, zero, terms)
        size = self._rows(np.add, 0, np.abs(terms)) if semiring == "plus_times" else 0
        if alpha is not None:
            out, size = mul(np.asarray(alpha, wide), out), size * abs(alpha)
        if beta is not None:
            out = add(out, mul(np.asarray(beta, wide), y.astype(wide)))
            size = size + abs(beta) * np.abs(y)
        unit = np.finfo(x.dtype).eps if semiring == "plus_times" else 0
        steps = 64 + np.sqrt(np.diff(self.indptr))  # pieces of a long row add up one by one
        return out, steps * unit * size


def random_vector(rng: np.random.Generator, n: int, dtype: str) -> np.ndarray:
    if dtype == "uint8":
        return rng.integers(0, 2, n, dtype=np.uint8)
    a = rng.random(n) - (0.5 if dtype.startswith("c") else 0)  # max_times wants no negative numbers
    a[rng.random(n) < 0.05] = 0
    if dtype.startswith("complex"):
        a = a + 1j * rng.standard_normal(n)
    return a.astype(dtype)


def agrees(got: np.ndarray, expected: np.ndarray, tolerance) -> None:
    """Fails with the worst entry; a NaN never agrees."""
    with np.errstate(invalid="ignore"):  # inf - inf, where both are the same infinity
        good = (got == expected) | (np.abs(got - expected) <= tolerance)
    bad = np.flatnonzero(~good)
    assert not len(bad), (
        f"{len(bad)} rows differ, row {bad[0]}: {got[bad[0]]} is not {expected[bad[0]]}"
    )
