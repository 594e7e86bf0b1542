"""The elements of MATLAB's .mat files of versions 5 to 7: tags, arrays of numbers, sparse matrices, structs.

SciPy's reader follows types and sizes of a damaged file without looking, and may end the process; so these are looked
at here. Arrays stay where they are until they are asked for. The format: MathWorks, "MAT-File format", chapter 1.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock._io._errors import Inflation, broken

NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
MATRIX, COMPRESSED = 14, 15
STRUCT, SPARSE, NUMERIC = 2, 5, range(6, 16)
COMPLEX, LOGICAL = 0x0800, 0x0200
MOST_FIELDS, MOST_DEPTH = 4096, 8


@dataclass
class Held:
    """A matrix as it lies in the file."""

    sparse: bool
    logical: bool
    shape: tuple[int, ...]
    parts: list[np.ndarray]  # values, imaginary parts; of a sparse one rows and offsets before them

    def values(self) -> np.ndarray:
        real, *imaginary = self.parts[2:] if self.sparse else self.parts
        return real + 1j * imaginary[0] if imaginary else real


class Reader:
    def __init__(self, path: Any) -> None:
        self.path = path
        self._data = memoryview(np.memmap(path, np.uint8, "r"))  # type: ignore[arg-type]
        self._order = "<" if bytes(self._data[126:128]) == b"IM" else ">"
        self._left = MOST_FIELDS

    def matrices(self) -> dict[str, Held]:
        """By name, the fields of structs behind points."""
        found: dict[str, Held] = {}
        unpacked, limit = 0, Inflation(self.path)
        for at, kind, data in self._elements(self._data, 128):
            if kind == COMPRESSED:
                data = self._inflated(data, at, limit, unpacked)
                unpacked += len(data)
                parts = list(self._elements(data, 0))
                kind, data = (parts[0][1], parts[0][2]) if parts else (0, data)
            if kind == MATRIX:
                self._matrix(data, at, "", found, 0)
        return found

    def _fault(self, at: int, what: str) -> ValueError:
        return broken(self.path, f"byte {at}: {what}: the file is damaged")

    def _inflated(self, data: memoryview, at: int, limit: Inflation, before: int) -> memoryview:
        unpack, out, size = zlib.decompressobj(), [], before
        try:
            for first in range(0, len(data), 1 << 16):
                part: Any = data[first : first + (1 << 16)]
                while part:
                    out.append(unpack.decompress(part, 1 << 20))
                    size += len(out[-1])
                    limit.check(len(self._data), size)
                    part = unpack.unconsumed_tail
        except zlib.error as error:
            raise self._fault(at, f"a variable cannot be unpacked ({error})") from error
        return memoryview(b"".join(out))

    def _elements(self, data: memoryview, at: int) -> Iterator[tuple[int, int, memoryview]]:
        """(byte, type, content) of what stands side by side."""
        while len(data) - at >= 8:
            kind, size = (int(n) for n in np.frombuffer(data, f"{self._order}u4", 2, at))
            begin, end = at + 8, at + 8 + size
            if kind >> 16:  # of at most 4 bytes, behind a short tag
                kind, size = kind & 0xFFFF, kind >> 16
                begin, end = at + 4, at + 4 + size
                if size > 4:
                    raise self._fault(at, f"a short element of {size} bytes")
            if end > len(data):
                raise self._fault(
                    at, f"{size} bytes are said to follow, there are {len(data) - begin}"
                )
            yield at, kind, data[begin:end]
            at = end if kind == COMPRESSED else max((end + 7) // 8 * 8, at + 8)

    def _numbers(self, element: tuple[int, int, memoryview], what: str) -> np.ndarray:
        at, kind, data = element
        if kind not in NUMBERS:
            raise self._fault(at, f"{what} are of type {kind}, which is none of numbers")
        dtype = np.dtype(self._order + NUMBERS[kind])
        if len(data) % dtype.itemsize:
            raise self._fault(at, f"{what} take {len(data)} bytes, no multiple of {dtype.itemsize}")
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="), copy=False)

    def _matrix(
        self, data: memoryview, at: int, prefix: str, found: dict[str, Held], depth: int
    ) -> None:
        parts = self._elements(data, 0)
        head = [part for _, part in zip(range(3), parts, strict=False)]
        if len(head) < 3:
            if len(data):
                raise self._fault(at, "a matrix without type, shape or name")
            return  # an empty field
        flags = self._numbers(head[0], "flags")
        shape = tuple(int(n) for n in self._numbers(head[1], "sizes"))
        if not flags.size or flags.dtype.kind not in "iu" or any(n < 0 for n in shape):
            raise self._fault(at, "a matrix whose type or shape cannot be")
        said = int(flags[0])
        kind = said & 0xFF
        name = prefix + bytes(head[2][2]).decode("latin-1")
        if kind == STRUCT and depth < MOST_DEPTH:
            self._struct(parts, at, shape, name, found, depth)
        elif (kind == SPARSE or kind in NUMERIC) and len(shape) == 2:
            wanted = (2 if kind == SPARSE else 0) + (2 if said & COMPLEX else 1)
            arrays = [
                self._numbers(part, "numbers")
                for _, part in zip(range(wanted), parts, strict=False)
            ]
            if len(arrays) < wanted:
                raise self._fault(at, f"{name[:40]!r} has {len(arrays)} of its {wanted} arrays")
            found[name] = Held(kind == SPARSE, bool(said & LOGICAL), shape, arrays)

    def _struct(
        self,
        parts: Any,
        at: int,
        shape: tuple[int, ...],
        name: str,
        found: dict[str, Held],
        depth: int,
    ) -> None:
        lengths, names = next(parts, None), next(parts, None)
        if lengths is None or names is None:
            raise self._fault(at, f"the struct {name[:40]!r} has no fields")
        width = self._numbers(lengths, "lengths of names")
        text = bytes(names[2])
        if (
            width.size != 1
            or width.dtype.kind not in "iu"
            or not 1 <= int(width[0]) <= 4096
            or int(np.prod(shape, dtype=object)) != 1
        ):
            return  # an array of structs holds no matrix of a name
        step = int(width[0])
        for first in range(0, len(text) - step + 1, step):
            part = next(parts, None)
            self._left -= 1
            if part is None or part[1] != MATRIX or self._left < 0:
                raise self._fault(
                    at, f"the struct {name[:40]!r} has fewer fields than names, or too many"
                )
            field = text[first : first + step].split(b"\0")[0].decode("latin-1")
            inner: dict[str, Held] = {}
            self._matrix(part[2], part[0], "", inner, depth + 1)
            for rest, held in inner.items():
                found[f"{name}.{field}{rest}"] = held
