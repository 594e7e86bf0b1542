"""Products of a matrix whose x does not fit a GPU: by ranges of columns, each with its slice of x (buono-2017, section
3.2, figure 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._choices import SEMIRINGS
from penstock._plan.model import Setting, panels_of

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array


class PanelPlan:
    """What a stream plan offers, over panels: copies of ranges of columns in pinned memory. A range's x and ring take
    device memory while it is multiplied, as they do not fit together."""

    def __init__(
        self, a: csr_array, devices: list[int], how: Setting, memory: int, **arguments: Any
    ):
        rows, cols = a.shape
        count = panels_of(rows, cols, arguments["entry_bytes"], memory)
        self._width = -(-cols // count)
        parts = _core.column_panels(a._core, self._width)
        on_gpu = max(devices) >= 0
        self._panels = [_core.lock_in_place(p) if on_gpu else p for p in parts]
        self._devices, self._memory = devices, memory
        self._arguments = arguments | {"keep": False, "pin": False}
        first = self._plan(0).facts()  # and an error now, not at the first product
        self._facts = first | {
            "streamed_bytes": sum(p.nbytes for p in self._panels),
            "panels": len(self._panels),
        }

    def _plan(self, number: int) -> Any:
        return _core.stream_plan(
            self._panels[number], self._devices, device_memory=self._memory, **self._arguments
        )

    def facts(self) -> dict[str, Any]:
        return dict(self._facts)

    def multiply(
        self, x: Any, y: Any, semiring: str, alpha: Any, beta: Any, traced: bool
    ) -> dict[str, Any] | None:
        """y = alpha A x + beta y: the first range updates the old y, the others add to it."""
        total: dict[str, Any] | None = None
        for number in range(len(self._panels)):
            part = x[number * self._width : (number + 1) * self._width]
            old = beta if number == 0 else SEMIRINGS[semiring].one
            event = self._plan(number).multiply(part, y, semiring, alpha, old, traced)
            if event is not None:
                total = event if total is None else _added(total, event)
        return total


def _added(total: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    sums = ("tiles", "copied_bytes", "link_bytes", "kernel_bytes", "seconds", "copy_seconds")
    merged = total | {name: total[name] + event[name] for name in sums}
    merged["ring_bytes"] = max(total["ring_bytes"], event["ring_bytes"])
    merged["devices"] = total.get("devices", []) + event.get("devices", [])
    return merged


def needs_panels(cols: int, entry: int, slots: int, budget: int, free: int) -> int:
    """The bytes that a GPU may hold where x and the least ring exceed them; 0 where they fit."""
    usable = _core.gpu_usable_bytes(free, budget)
    return usable if _core.needs_column_panels(cols * entry, usable, slots, entry) else 0
