"""Arrays that a caller gives for results (`out=`): what they must be, and what the core is told of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock._arrays.device import DeviceArray, Library, library_of
from penstock._arrays.libraries import contiguous

__all__ = ["Out", "as_out", "is_contiguous"]

Address = tuple[int, int]  # of an array's memory, and the handle of its library's stream


class Out(NamedTuple):
    """An array for a result, which has passed all checks."""

    array: Any
    seen: DeviceArray | None  # None: it is NumPy's
    library: Library | None

    @property
    def on_gpu(self) -> bool:
        return self.seen is not None

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.array.dtype if self.seen is None else self.seen.dtype)

    def at(self, row: int = 0) -> Address | None:
        """Where the core writes the result, or its row of this number; None for NumPy's."""
        if self.seen is None or self.library is None:
            return None
        pointer = self.seen.pointer + row * self.seen.shape[-1] * self.seen.dtype.itemsize
        return pointer, self.library.stream(self.seen.gpu)

    def beside(self, dtype: Any, function: str) -> Out:
        """A new array of the same shape and library on the same GPU, for a second result."""
        assert self.seen is not None and self.library is not None
        try:
            array = self.library.empty(self.seen.shape, np.dtype(dtype), self.seen.gpu)
        except TypeError:
            raise TypeError(
                f"{function}: predecessors go to an array of out's library, and {type(self.array).__name__} is of one "
                "whose arrays cannot be made here: give out= as an array of CuPy or PyTorch, or leave "
                "return_predecessors out"
            ) from None
        return Out(array, self.library.look(array), self.library)

    def filled(self, found: Any) -> Any:
        """The array; NumPy's with what was found copied into it."""
        if self.seen is None:
            np.copyto(self.array, found)
        return self.array


def as_out(
    out: Any, shape: tuple[int, ...], dtype: Any, gpus: list[int], function: str
) -> Out | None:
    """`out=` of `function`, checked: an array of this shape and type, contiguous and writable, NumPy's or one on the
    GPU that computes (`gpus`: those that do, none for the CPU). None where it is None.

    >>> import numpy as np
    >>> as_out(np.zeros(3, np.int32), (3,), np.int32, [], "bfs").at() is None
    True
    >>> as_out(np.zeros(4, np.int32), (3,), np.int32, [], "bfs")
    Traceback (most recent call last):
    ...
    ValueError: bfs: out has shape (4,), the result has (3,): give an array of that shape
    """
    if out is None:
        return None
    dtype = np.dtype(dtype)
    library = library_of(out)
    seen = None if library is None else library.look(out)
    if seen is None and not isinstance(out, np.ndarray):
        raise TypeError(
            f"{function}: out is {type(out).__name__}: give a NumPy array, or one on a GPU of CuPy or PyTorch"
        )
    have = (out.shape, out.dtype) if seen is None else (seen.shape, seen.dtype)
    if have[0] != shape:
        raise ValueError(
            f"{function}: out has shape {tuple(have[0])}, the result has {shape}: give an array of that shape"
        )
    if have[1] != dtype:
        raise TypeError(
            f"{function}: out is {have[1]}, the result is {dtype}, and nothing is converted: give out in {dtype}"
        )
    if seen is None:
        whole, writable = bool(out.flags.c_contiguous), bool(out.flags.writeable)
    else:
        whole, writable = is_contiguous(seen), seen.writable
    if not whole:
        raise ValueError(
            f"{function}: out is not contiguous: give an array in C order, such as a new one"
        )
    if not writable:
        raise ValueError(f"{function}: out is read-only: give an array that may be written")
    if seen is not None and seen.pointer % dtype.itemsize != 0:
        raise ValueError(
            f"{function}: out begins at address {seen.pointer:#x}, which is no multiple of {dtype.itemsize} bytes: "
            "give an array of its own"
        )
    if seen is not None:
        _check_gpu(seen.gpu, gpus, function)
    return Out(out, seen, library if seen is not None else None)


def _check_gpu(gpu: int, gpus: list[int], function: str) -> None:
    if not gpus:
        raise ValueError(
            f"{function}: out is on GPU {gpu}, and this call runs on the CPU: give device={gpu} (or a matrix on that "
            "GPU, or with a plan for it), or a NumPy array as out"
        )
    if len(gpus) > 1:
        raise ValueError(
            f"{function}: out is on GPU {gpu}, and {len(gpus)} GPUs compute, whose results come to the host: give "
            f"device={gpu}, or a NumPy array as out"
        )
    if gpus[0] != gpu:
        raise ValueError(
            f"{function}: out is on GPU {gpu}, and GPU {gpus[0]} computes: give device={gpu}, or an array on GPU "
            f"{gpus[0]}"
        )


def is_contiguous(seen: DeviceArray) -> bool:
    """Whether the entries lie side by side in C order; the steps of axes of length 1 do not matter."""
    if 0 in seen.shape:
        return True
    pairs = zip(seen.shape, seen.steps, contiguous(seen.shape), strict=True)
    return all(n == 1 or step == wanted for n, step, wanted in pairs)
