"""How a graph algorithm runs on a GPU: what studies vary, in one frozen class, and which function reads what."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from penstock._choices import ACCESS_POLICIES, EDGE_PLACEMENTS
from penstock._plan.options import parse_bytes

# function -> what `method` may be, and the name of EMOGI's method, which uses neither a sample nor a cache
_METHODS: dict[str, tuple[str, ...]] = {
    "bfs": ("auto", "top_down", "level_synchronous"),
    "connected_components": ("auto", "label_propagation"),
    "sssp": ("auto", "near_far", "bellman_ford"),
}
_BASELINES = ("level_synchronous", "label_propagation", "bellman_ford")

# function -> the fields that it reads
_READS: dict[str, tuple[str, ...]] = {
    "bfs": ("method", "access", "placement", "sample", "counted"),
    "connected_components": ("method", "access", "placement", "sample", "counted"),
    "sssp": ("method", "access", "placement", "cache", "counted"),
    "betweenness_centrality": ("access", "placement", "counted"),
    "triangles": ("access", "placement", "counted"),
    "pagerank": ("access", "placement", "counted"),
    "louvain": ("placement",),
}
_ALIKE = {
    "dijkstra": "sssp",
    "triangle_count": "triangles",
    "label_propagation": "louvain",
    "leiden": "louvain",
}

_SAMPLE = 4  # neighbours of each vertex, where nobody says how many

# What arguments of traversals on GPUs may be; their methods differ.
_CHOICES: dict[str, tuple[Any, ...]] = {
    "access": ("auto", *ACCESS_POLICIES),
    "placement": ("auto", *EDGE_PLACEMENTS),
    "sample": (0, 4, 8, 16),
}


def check_names(methods: tuple[str, ...] = (), **given: Any) -> None:
    """Raises ValueError, with the choices, for an argument that is none of them, and TypeError for one of another type;
    `methods` are those of `method`.

    >>> check_names(access="auto", sample=4)
    >>> check_names(("auto", "top_down"), method="sideways")
    Traceback (most recent call last):
    ...
    ValueError: method='sideways' is unknown: choose one of auto, top_down
    """
    for name, value in given.items():
        choices = methods if name == "method" else _CHOICES[name]
        words = ", ".join(map(str, choices))
        wanted = type(choices[0])
        if not isinstance(value, wanted) or isinstance(value, bool):
            what = "text" if wanted is str else "an integer"
            raise TypeError(f"{name}={value!r} is not {what}: choose one of {words}")
        if value not in choices:
            raise ValueError(f"{name}={value!r} is unknown: choose one of {words}")


@dataclass(frozen=True, repr=False)
class GpuOptions:
    """How a function of `penstock.csgraph` runs on a GPU. No field changes a result; all are for studies and for
    comparing with other programs. The defaults are the fastest choices known.

    Parameters
    ----------
    method : str
        `bfs`: "auto", "top_down" (never bottom-up) or "level_synchronous". `connected_components`: "auto" or
        "label_propagation". `sssp` and `dijkstra`: "auto", "near_far" or "bellman_ford"; "auto" is "near_far". The
        last name of each is EMOGI's algorithm (min-2020, section 4), a baseline on one GPU.
    access : "auto", "strided", "merged", "aligned", "direct" or "packed"
        How a GPU reads lists of neighbours (min-2020, section 4): a thread a list, a warp a list, a warp that begins
        at 128 bytes, as for its own memory, or decoding packed lists. "auto": aligned over the link, direct in device
        memory, packed for packed lists. "packed" alone stands for the placement of this name, too.
    placement : "auto", "pinned", "host_alloc", "managed_read_mostly", "managed_accessed_by", "device" or "packed"
        Where the edges, and the lengths of `sssp`, are for a GPU (min-2020, figure 9, compares them). "auto": in
        device memory where they fit, else in place, their pages locked. "packed": lists of 4 to 17 bits an edge, and
        for `sssp` the bits of its length, in device memory; `sssp` reads them on one GPU, the others on several, too.
        The GPU packs them once, the CPU where a list does not ascend; what exceeds the budget is in pinned memory
        (docs/larger_graphs.md). Lengths are whole numbers then, less than 2^16 above the least one. Triangles are
        counted over packed lists of oriented edges. Packed lists of communities (`leiden` and others) have no weights.
    sample : 0, 4, 8 or 16, optional
        `bfs` and `connected_components`: neighbours of each vertex that a GPU keeps in its memory, 4 bytes each, and
        asks before it reads lists in host memory. 4 where it is None.
    cache : bytes, or text such as "1GB", optional
        `sssp` and `dijkstra`: how much of its memory a GPU gives to copies of the shortest lists, which waste most of
        the link. What the budget leaves where it is None; 0 for none. The first search of a graph decides. Not for
        packed lists.
    counted : bool
        `ps.record` tells the bytes and requests for edges that a GPU made: slower, by instrumented kernels. Triangles
        are then counted over whole lists, as they are where an `access` is named.

    Raises ValueError for a value that is none of these, and TypeError for one of another type: names are text, `sample`
    is an integer and `counted` a bool. A function raises ValueError for options where it runs on the CPU, and for a
    field that it does not read.

    >>> import penstock as ps
    >>> ps.csgraph.GpuOptions(placement="pinned", cache="1MiB")
    GpuOptions(placement='pinned', cache=1048576)
    >>> ps.csgraph.GpuOptions(access="random")
    Traceback (most recent call last):
    ...
    ValueError: access='random' is unknown: choose one of auto, strided, merged, aligned, direct, packed
    """

    method: str = "auto"
    access: str = "auto"
    placement: str = "auto"
    sample: int | None = None
    cache: int | str | None = None
    counted: bool = False

    def __post_init__(self) -> None:
        known = tuple(dict.fromkeys(name for names in _METHODS.values() for name in names))
        check_names(known, method=self.method, access=self.access, placement=self.placement)
        packed = (self.access == "packed", self.placement == "packed")
        if any(packed) and "auto" not in (self.access, self.placement) and not all(packed):
            raise ValueError(
                f"access={self.access!r} does not read what placement={self.placement!r} keeps: packed lists are "
                "read by access='packed', others by the others; leave one of the two out"
            )
        if self.sample is not None:
            if isinstance(self.sample, np.integer):
                object.__setattr__(self, "sample", int(self.sample))
            check_names(sample=self.sample)
        if self.cache is not None:
            object.__setattr__(self, "cache", parse_bytes(self.cache, "cache"))
        if not isinstance(self.counted, bool):
            raise TypeError(f"counted={self.counted!r}: give True or False")

    @property
    def home(self) -> str:
        """`placement`, which may follow from `access`."""
        return "packed" if self.access == "packed" else self.placement

    @property
    def slots(self) -> int:
        """`sample` as a number."""
        return _SAMPLE if self.sample is None else self.sample

    @property
    def cache_bytes(self) -> int:
        """`cache` as a number; -1 is what the budget leaves."""
        return -1 if self.cache is None else int(self.cache)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in _given(self).items())
        return f"GpuOptions({given})"


def settled(given: GpuOptions | None, function: str, on_gpu: bool) -> GpuOptions:
    """The options that `function` runs with on a GPU: those given, or the defaults.

    Raises TypeError for anything but a GpuOptions, and ValueError for options of a run on the CPU, a field that the
    function does not read, and a method that is another function's.

    >>> settled(GpuOptions(access="merged"), "bfs", on_gpu=True)
    GpuOptions(access='merged')
    """
    if given is None:
        return GpuOptions()
    if not isinstance(given, GpuOptions):
        raise TypeError(f"gpu_options={given!r}: give penstock.csgraph.GpuOptions(...), or None")
    if not on_gpu:
        raise ValueError(
            f"{function}: gpu_options={given!r} is for GPUs, and this call runs on the CPU: "
            "leave gpu_options out, or name a GPU, as in device=0"
        )
    like = _ALIKE.get(function, function)
    reads = _READS[like]
    for name, value in _given(given).items():
        if name not in reads:
            raise ValueError(
                f"{function} does not read {name}={value!r} of gpu_options: leave it out, "
                f"it reads {', '.join(reads)}"
            )
    if given.home == "packed" and given.cache:
        raise ValueError(
            f"{function}: packed lists are not cached, so cache={given.cache!r} would change nothing: leave it out, "
            "or 'packed'"
        )
    if "method" in reads:
        check_names(_METHODS[like], method=given.method)
    if given.method in _BASELINES and (given.sample or given.cache):
        name, value = ("sample", given.sample) if given.sample else ("cache", given.cache)
        raise ValueError(
            f"{function}: method={given.method!r} uses no {name}, so {name}={value!r} would change nothing: "
            "leave it out, or choose method='auto'"
        )
    return given


def _given(options: GpuOptions) -> dict[str, object]:
    """The fields that differ from their defaults."""
    values = {
        field.name: (getattr(options, field.name), field.default) for field in fields(options)
    }
    return {name: value for name, (value, default) in values.items() if value != default}
