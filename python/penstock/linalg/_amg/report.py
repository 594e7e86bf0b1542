"""What an AMG says of its levels, and what `AMG.explain()` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from penstock._plan.report import human_bytes


class AMGLevel(NamedTuple):
    """One level of a hierarchy: level 0 is A."""

    rows: int
    nnz: int


class SharedLevel(NamedTuple):
    """One level of a hierarchy over ranks: level 0 is A. `ranks` of them have rows of it."""

    rows: int
    nnz: int
    ranks: int


@dataclass(frozen=True)
class AMGExplanation:
    """The levels of an AMG, and their bytes.

    levels : of each level (rows, nnz), and over ranks (rows, nnz, ranks)
    operator_complexity, grid_complexity : entries and rows of all levels over those of A
    bytes : that the levels keep in memory, A's own entries among them
    cycle_bytes : of matrices that a cycle reads, at least
    cycle, smoother, precision : as asked for; `factored` says whether the last level is solved exactly
    device : the number of the GPU that has the levels and applies M; None: the CPU
    device_bytes : of GPU memory, where A is streamed: levels, prolongators and a cycle's vectors
    products, link_bytes, seconds : where A is streamed, the products with it in a cycle, the bytes that travel for
        them, and how long they take by the planner's prediction; the rest of a cycle is in the GPU's memory
    """

    levels: tuple[AMGLevel | SharedLevel, ...]
    operator_complexity: float
    grid_complexity: float
    bytes: int
    cycle_bytes: int
    cycle: str
    smoother: str
    precision: str
    factored: bool
    device: int | None = None
    device_bytes: int = 0
    products: int = 0
    link_bytes: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        last = "factored" if self.factored else "smoothed: it has too many rows to be factored"
        lines = [f"{self.cycle} cycle, {self.smoother}, {self.precision}" + self._where()]
        for i, a in enumerate(self.levels):
            on = f" on {a.ranks} ranks" if isinstance(a, SharedLevel) else ""
            lines.append(f"level {i}: {a.rows} rows, {a.nnz} nonzeros{on}")
        lines[-1] += f", {last}"
        return "\n".join(
            [
                *lines,
                f"operator complexity {self.operator_complexity:.2f}, grid complexity {self.grid_complexity:.2f}",
                f"kept: {human_bytes(self.bytes)}; a cycle reads {human_bytes(self.cycle_bytes)} of matrices",
                *self._link(),
            ]
        )

    __repr__ = __str__

    def _link(self) -> list[str]:
        if not self.products:
            return []
        return [
            f"level 0 is streamed: {self.products} products a cycle, {human_bytes(self.link_bytes)} over the link, "
            f"{self.seconds * 1e3:.3g} ms predicted; the rest takes {human_bytes(self.device_bytes)} of GPU memory"
        ]

    def _where(self) -> str:
        return "" if self.device is None else f", on GPU {self.device}"


def with_link(told: AMGExplanation, plan: Any, hierarchy: Any, matrix_bytes: int) -> AMGExplanation:
    """The same, of a finest matrix of so many bytes that `plan` streams, in another form maybe."""
    steps = hierarchy.finest_steps
    single = len(told.levels) == 1  # solved exactly, or smoothed from zero
    products = 2 * steps if not single else 0 if told.factored else steps - 1
    foretold, facts = plan.foretold["device"], plan.facts
    read = facts["streamed_bytes"] + facts["kept_bytes"]
    return replace(
        told,
        cycle_bytes=told.cycle_bytes + products * (read - matrix_bytes),
        device_bytes=hierarchy.device_bytes,
        products=products,
        link_bytes=products * facts["streamed_bytes"],
        seconds=products * (foretold.seconds if foretold is not None else 0.0),
    )


class ToldByLevels:
    """What an AMG knows from its levels, in one process and over ranks."""

    levels: Any
    nbytes: Any
    _hierarchy: Any
    _words: tuple[str, str, str]  # cycle, smoother, precision

    @property
    def operator_complexity(self) -> float:
        """Entries of all levels / entries of A."""
        levels = self.levels
        return sum(level.nnz for level in levels) / max(levels[0].nnz, 1)  # type: ignore[no-any-return]

    @property
    def grid_complexity(self) -> float:
        """Rows of all levels / rows of A."""
        levels = self.levels
        return sum(level.rows for level in levels) / max(levels[0].rows, 1)  # type: ignore[no-any-return]

    def _explanation(self) -> AMGExplanation:
        return AMGExplanation(
            tuple(self.levels),
            self.operator_complexity,
            self.grid_complexity,
            self._hierarchy.bytes,
            self.nbytes,
            *self._words,
            self._hierarchy.factored,
            getattr(self._hierarchy, "gpu", None),
        )
