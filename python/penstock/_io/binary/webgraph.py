"""WebGraph's BVGraph: NAME.graph, compressed lists, NAME.properties beside it, and NAME.offsets, which may be missing.

The lists are read by the core (src/penstock/io/webgraph), either into a CSR matrix, or block by block into a store.
The format: Boldi and Vigna, "The WebGraph framework I: compression techniques", WWW 2004.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._errors import Inflation, broken, check_cols, check_rows, count, shown
from penstock._matrix.csr import csr_array

LARGEST_PROPERTIES = 1 << 20
CLASSES = ("it.unimi.dsi.webgraph.BVGraph", "it.unimi.dsi.big.webgraph.BVGraph")
# What the codes are where compressionflags does not say otherwise, and what it may say, in the order of the core.
CODES = {
    "OUTDEGREES": ("GAMMA", ("GAMMA", "DELTA")),
    "BLOCKS": ("GAMMA", ("GAMMA", "DELTA", "UNARY")),
    "RESIDUALS": ("ZETA", ("GAMMA", "ZETA", "DELTA", "NIBBLE")),
    "REFERENCES": ("UNARY", ("UNARY", "GAMMA", "DELTA")),
    "BLOCK_COUNT": ("GAMMA", ("UNARY", "GAMMA", "DELTA")),
    "OFFSETS": ("GAMMA", ("GAMMA", "DELTA")),
}
_PAIR = re.compile(r"\s*([^\s:=]+)\s*[:=\s]\s*(.*?)\s*$")


def beside(path: Any, suffix: str) -> str:
    return os.path.splitext(os.fspath(path))[0] + suffix


def is_webgraph(path: Any) -> bool:
    """Whether a .graph is one of WebGraph's, by the file beside it: METIS has the suffix, too."""
    return os.path.isfile(beside(path, ".properties"))


def _properties(path: str) -> dict[str, tuple[str, int]]:
    """Each name with its value and its line."""
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST_PROPERTIES + 1)
    except FileNotFoundError:
        raise broken(
            path,
            "is missing: a .graph of WebGraph's needs it; a METIS file is read with format='metis'",
        ) from None
    if len(text) > LARGEST_PROPERTIES:
        raise broken(path, f"has over {LARGEST_PROPERTIES} bytes: it is no .properties file")
    found = {}
    for number, line in enumerate(text.decode("latin-1").splitlines(), 1):
        if line.strip() and line.lstrip()[0] not in "#!" and (pair := _PAIR.match(line)):
            found[pair[1]] = (pair[2], number)
    return found


class Described:
    """What the .properties says, each value checked on its own."""

    def __init__(self, path: str) -> None:
        self.path, self._found = path, _properties(path)
        name, line = self._text("graphclass", "")
        if name.removeprefix("class ") not in CLASSES:
            raise broken(
                path,
                f"graphclass {shown(name)} is not {CLASSES[0]}: store the graph as a BVGraph with WebGraph first",
                line,
            )
        endian, line = self._text("endianness", "big")
        version, version_line = self._text("version", "0")
        if endian != "big" or version != "0":
            what = f"endianness {shown(endian)}" if endian != "big" else f"version {shown(version)}"
            raise broken(
                path,
                f"{what} is not read, only big-endian graphs of version 0: convert the graph with WebGraph first",
                line or version_line,
            )
        self.nodes = self._number("nodes", None, 2**63 - 2)
        self.arcs = self._number("arcs", None, 2**62)
        self.window = self._number("windowsize", 7, 2**16 - 1)
        self.min_interval = self._number("minintervallength", 4, 2**31 - 1)
        self.zeta_k = self._number("zetak", 3, 8)
        if self.zeta_k == 0:
            raise broken(path, "zetak 0 is not 1 .. 8", self._text("zetak", "")[1])
        self.codes = self._codes()
        check_cols(path, self.nodes, self._text("nodes", "")[1])

    def _text(self, name: str, default: str) -> tuple[str, int | None]:
        return self._found.get(name, (default, None))

    def _number(self, name: str, default: int | None, most: int) -> int:
        value, line = self._text(name, "" if default is None else str(default))
        if default is None and line is None:
            raise broken(self.path, f"does not say {name}: it is no description of a BVGraph")
        return count(value, name, self.path, line, most)

    def _codes(self) -> list[str]:
        flags, line = self._text("compressionflags", "")
        codes = {field: default for field, (default, _) in CODES.items()}
        for flag in filter(None, (f.strip() for f in flags.split("|"))):
            field, _, code = flag.rpartition("_")
            if field not in CODES or code not in CODES[field][1]:
                raise broken(
                    self.path,
                    f"the flag {shown(flag)} of compressionflags is not known: store the graph with WebGraph's usual "
                    "codes",
                    line,
                )
            codes[field] = code
        return list(codes.values())


def _bytes(path: Any) -> np.ndarray:
    """A file, mapped."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return np.empty(0, np.uint8)
        mapped: np.ndarray = _core.map_file(file.fileno(), 0, size, os.fspath(path))
        return mapped


def open_graph(
    path: Any, max_rows: int | None = None, offsets: bool | None = None
) -> tuple[Any, Described]:
    """The core's open graph, of which lengths and places of lists are known, and what was said of it."""
    said = Described(beside(path, ".properties"))
    lists, places = _bytes(path), beside(path, ".offsets")
    if offsets is None:
        offsets = os.path.isfile(places)
    check_rows(path, said.nodes, said.arcs, max_rows)
    Inflation(path).check(lists.size, 4 * said.arcs)
    try:
        graph = _core.open_bvgraph(
            lists, said.nodes, said.arcs, said.window, said.min_interval, said.zeta_k, said.codes,
            _bytes(places) if offsets else None)  # fmt: skip
    except ValueError as error:
        raise broken(path, str(error)) from error
    return graph, said


def read(
    path: Any, *, dtype: Any = None, max_rows: int | None = None, offsets: bool | None = None
) -> csr_array:
    """offsets: whether to believe NAME.offsets; by default where there is one."""
    graph, _ = open_graph(path, max_rows, offsets)
    try:
        return csr_array._wrap(graph.csr())
    except ValueError as error:
        raise broken(path, str(error)) from error
