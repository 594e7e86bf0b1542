"""A native store written block of rows by block of rows, for matrices that never are in memory as a whole."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from penstock._io._atomic import atomic_folder
from penstock._io.store import FILES, HEADER, describe, require_replaceable
from penstock._matrix.csr import csr_array

_HEADER_BYTES = 128


def _npy_header(dtype: np.dtype, size: int) -> bytes:
    """Of a .npy file of version 1.0, of the same length whatever the size."""
    descr = np.lib.format.dtype_to_descr(dtype)
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': ({size},), }}"
    text = text.ljust(_HEADER_BYTES - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little") + text.encode()


class Growing:
    """A .npy file whose size is known at the end."""

    def __init__(self, folder: str, name: str, dtype: Any) -> None:
        path = os.path.join(folder, f"{name}.npy")
        self._file: BinaryIO = open(path, "xb")  # noqa: SIM115 (close() comes at the end)
        self._dtype, self.size, self.crc32 = np.dtype(dtype), 0, 0
        self._file.write(bytes(_HEADER_BYTES))

    def add(self, array: np.ndarray) -> None:
        part = np.ascontiguousarray(array, self._dtype)
        self.crc32 = zlib.crc32(part.view(np.uint8), self.crc32)
        self._file.write(part.data)
        self.size += part.size

    def close(self) -> None:
        try:
            self._file.seek(0)
            self._file.write(_npy_header(self._dtype, self.size))
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()


def save_blocks(
    path: Any, shape: tuple[int, int], dtype: np.dtype, blocks: Iterable[csr_array]
) -> None:
    """Writes consecutive blocks of rows as one store, whole or not at all; in memory are a block and 8 bytes a row."""
    folder = os.fspath(path)
    require_replaceable(folder)
    pattern = np.dtype(dtype) == np.bool_
    indptr = np.zeros(shape[0] + 1, np.int64)
    rows = 0
    with atomic_folder(folder, FILES) as part:
        indices = Growing(part, "indices", np.int32)
        data = Growing(part, "data", np.uint8 if pattern else dtype)
        offsets = Growing(part, "indptr", np.int64)
        try:
            for block in blocks:
                last = rows + block.shape[0]
                indptr[rows + 1 : last + 1] = block.indptr[1:] + indptr[rows]
                indices.add(block.indices)
                if not pattern:
                    data.add(block.data)
                rows = last
            if pattern:
                data.add(np.ones(1, np.uint8))
            offsets.add(indptr)
        finally:
            for file in (indices, data, offsets):
                file.close()
        if rows != shape[0]:
            raise ValueError(f"{rows} rows were given for a matrix of {shape[0]}")
        crc32 = {"indptr": offsets.crc32, "indices": indices.crc32, "data": data.crc32}
        whole: Any = SimpleNamespace(shape=shape, nnz=int(indptr[-1]), dtype=np.dtype(dtype))
        with open(os.path.join(part, HEADER), "x", encoding="utf-8") as text:
            json.dump(describe(whole, crc32), text, indent=2)
            text.write("\n")
            text.flush()
            os.fsync(text.fileno())
