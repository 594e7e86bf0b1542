"""NumPy's .npy files, with a header that is believed only after it has been compared with the file's size."""

from __future__ import annotations

import os
import threading
import tokenize
import warnings
import zlib
from typing import Any, BinaryIO

import numpy as np

from penstock import _core
from penstock._io._errors import broken
from penstock._io._folder import Folder

# What NumPy raises where a header is damaged.
HEADER_ERRORS = (ValueError, TypeError, SyntaxError, KeyError, EOFError, OverflowError, RecursionError, MemoryError,
                 tokenize.TokenError)  # fmt: skip
STEP = 1 << 22  # bytes between two looks at Ctrl-C: packing these takes a tenth of a second

# NumPy reads headers with ast.literal_eval. Older CPythons (3.11.7 for one) count the depth of such trees for all
# threads together, and raise SystemError where two are at it: ranks that are threads open files at the same time.
_one_at_a_time = threading.RLock()


def _after_fork() -> None:
    global _one_at_a_time
    _one_at_a_time = threading.RLock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork)


def map_any(path: str) -> np.ndarray:
    """`numpy.load(path, mmap_mode="r")`, by one thread at a time. The arrays are read-only; errors are NumPy's."""
    with _one_at_a_time:
        return np.load(path, mmap_mode="r")


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
        with _one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that Python 2 wrote
            shape, fortran, dtype = read(file)
    except HEADER_ERRORS as error:
        raise broken(
            name, f"is not a .npy file ({str(error)[:120]}): it is damaged, write it again"
        ) from error
    if (
        dtype.hasobject
        or dtype.names is not None
        or dtype.subdtype is not None
        or not dtype.itemsize
    ):
        raise broken(name, f"holds {str(dtype)[:60]}: plain numbers are needed")
    if any(type(n) is not int or n < 0 for n in shape) or (fortran and len(shape) > 1):
        order = " in Fortran's order" if fortran and len(shape) > 1 else ""
        raise broken(name, f"has the shape {str(shape)[:60]}{order}: a plain array is needed")
    needed = file.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if needed != size:
        raise broken(
            name,
            f"has {size} bytes, but a shape of {str(shape)[:60]} and {dtype} take {needed}: it is truncated or damaged",
        )
    return shape, dtype


def read_array(name: Any, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """What stands behind a header, a step at a time."""
    array = np.empty(int(np.prod(shape, dtype=object)), dtype)
    data = memoryview(array.view(np.uint8))
    at = 0
    while at < len(data):
        part = file.read(min(STEP, len(data) - at))
        if not part:
            raise broken(
                name, f"holds {at} bytes, not the {len(data)} that it claims: it is damaged"
            )
        data[at : at + len(part)] = part
        at += len(part)
    if file.read(1):
        raise broken(name, f"goes on after the {len(data)} bytes that it claims: it is damaged")
    return array.reshape(shape)


def map_array(at: Folder, name: str, crc32: int | None = None) -> np.ndarray:
    """A read-only map of a .npy file of one dimension. Matrices over it notice when the file is cut;
    `crc32` is what its bytes are said to have, which `write_array` compares when it writes them again."""
    path = at.file(name)
    with at.open(name) as file:
        shape, dtype = read_header(path, file, os.fstat(file.fileno()).st_size)
        offset = file.tell()
        if len(shape) != 1:
            raise broken(path, f"has the shape {shape}: one dimension is needed")
        if shape[0] == 0:
            return np.empty(0, dtype)
        if offset % dtype.itemsize:
            raise broken(
                path,
                f"has its first number at byte {offset}, no multiple of {dtype.itemsize}: save it again "
                "with numpy.save",
            )
        size = shape[0] * dtype.itemsize
        return _core.map_file(file.fileno(), offset, size, path, crc32).view(dtype)


def write_array(file: BinaryIO, array: np.ndarray, dtype: Any = None) -> int:
    """Writes an array of one dimension without a copy of it; returns the crc32 of its bytes. Those of
    a mapped file must have the checksum that it was mapped with."""
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
    known = (
        _core.stored_crc32(array.view(np.uint8))
        if array.size and array.flags.c_contiguous
        else None
    )
    if known is not None and dtype == array.dtype and known[1] != crc:
        raise broken(
            known[0],
            f"has the checksum {crc}, its store's header {known[1]}: the store is damaged and is not copied, write it "
            "again from its source",
        )
    return crc
