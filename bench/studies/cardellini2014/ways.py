"""A rank's part of a distributed matrix, as bench/cardellini2014.py multiplies it: on the CPU, or on a device."""

from __future__ import annotations

import copy
from typing import Any

import penstock as ps
from penstock import _core


class OnCpu:
    """A matrix whose entries of x travel by `halo`, from host memory to host memory."""

    def __init__(self, d: Any, source: Any, halo: str) -> None:
        self.d = ps.dist.csr_array(source, d.comm, partition="contiguous", halo=halo)
        self.d.prepare()
        self.clear = self.d.clear_times

    def dot(self, x: Any, y: Any, times: int) -> None:
        for _ in range(times):
            self.d.dot(x, out=y)

    def times(self) -> dict[str, Any]:
        return self.d.halo

    def cg(self, b: Any, **how: Any) -> tuple[Any, Any]:
        return ps.dist.linalg.cg(self.d, b, **how)


class OnDevice:
    """The same on a device, which takes its part from `d`: made and shared out once for all strategies."""

    def __init__(self, d: Any, place: Any, halo: str) -> None:
        from penstock.dist import _gpu

        self.part = _gpu.GpuPart(d, _gpu.OnDevice.of(place, halo, None))
        self.d = copy.copy(d)
        self.d._gpu = self.part
        self.times, self.clear = self.part.times, self.part.clear_times

    def dot(self, x: Any, y: Any, times: int) -> None:
        """`times` in a row, as a solver queues them; the first by the call that all users make."""
        if times == 1:
            self.part.dot(x, y, "plus_times", None, None)
        else:
            _core.dist_gpu_product(self.part._core, x, y, "plus_times", None, None, times)

    def cg(self, b: Any, **how: Any) -> tuple[Any, Any]:
        return ps.dist.linalg.cg(self.d, b, **how)
