"""NumPy's .npy files, with a header that is believed only after it has been compared with the file's size."""

from __future__ import annotations

import mmap
import os
import tokenize
import warnings
import zlib
from typing import Any, BinaryIO

import numpy as np

from penstock._io._errors import broken

STEP = 1 << 26  # bytes between two looks at Ctrl-C


def read_header(name: Any, file: BinaryIO, size: int) -> tuple[tuple[int, ...], np.dtype]:
    """(shape, dtype); the file then stands at the data. `size` is that of the whole file."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise broken(
                name, f".npy version {version} is not 1.0 or 2.0: save it again with numpy.save"
            )
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that Python 2 wrote
            shape, fortran, dtype = read(file)
    except (ValueError, TypeError, SyntaxError, KeyError, EOFError, OverflowError, RecursionError,
            MemoryError, tokenize.TokenError) as error:  # fmt: skip
        raise broken(
            name, f"is not a .npy file ({str(error)[:120]}): it is damaged, write it again"
        ) from error
    if dtype.hasobject or dtype.names is not None or dtype.subdtype is not None:
        raise broken(name, f"holds {str(dtype)[:60]}: plain numbers are needed")
    if any(n < 0 for n in shape) or (fortran and len(shape) > 1):
        raise broken(name, f"has the shape {shape}: a plain array is needed")
    needed = file.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if needed != size:
        raise broken(
            name,
            f"has {size} bytes, but a shape of {shape} and {dtype} take {needed}: it is truncated or damaged",
        )
    return shape, dtype


def map_array(path: str) -> np.ndarray:
    """A read-only map of a .npy file of one dimension."""
    with open(path, "rb") as file:
        shape, dtype = read_header(path, file, os.fstat(file.fileno()).st_size)
        offset = file.tell()
        if len(shape) != 1:
            raise broken(path, f"has the shape {shape}: one dimension is needed")
        if shape[0] == 0:
            return np.empty(0, dtype)
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(mapping, dtype, shape[0], offset)


def write_array(file: BinaryIO, array: np.ndarray, dtype: Any = None) -> int:
    """Writes an array of one dimension without a copy of it; returns the crc32 of its bytes."""
    dtype = array.dtype if dtype is None else np.dtype(dtype)
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    np.lib.format.write_array_header_1_0(file, header)
    crc = 0
    step = max(STEP // max(dtype.itemsize, 1), 1)
    for first in range(0, array.size, step):
        part = np.ascontiguousarray(array[first : first + step], dtype)
        crc = zlib.crc32(part.view(np.uint8), crc)
        file.write(part.data)
    return crc
