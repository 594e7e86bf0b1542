"""Products of a matrix in a GPU's memory with arrays on the same GPU: queued on the caller's stream, without waiting.

A call looks three things up: what the arrays are (`_arrays/device`), the core's product for their type, which is kept
with the matrix, and the stream on which x's library queues its work.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.device import DeviceArray, Library, in_order, library_of, stream_handle
from penstock._choices import SEMIRINGS
from penstock._plan.report import active
from penstock._product.gpu_copies import core_on
from penstock._product.operands import as_number, check_factor, product_type

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["checked_out", "device_array", "multiply_on_device"]


def device_array(x: Any, name: str, gpu: int | None = None) -> tuple[Library, DeviceArray]:
    """An array on a GPU and its library; PlacementError for one that is elsewhere, or not on `gpu`."""
    library = library_of(x)
    found = None if library is None else library.look(x)
    if library is None or found is None:
        raise _core.PlacementError(
            f"{name} is in host memory, and the other array on a GPU: move one to the other, x and out are on one side"
        )
    if gpu is not None and found.gpu != gpu:
        raise _core.PlacementError(
            f"{name} is on GPU {found.gpu}, the product on GPU {gpu}: move it there, or the matrix with "
            f"A.to(ps.device({found.gpu}))"
        )
    return library, found


def multiply_on_device(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any = None,
    beta: Any = None,
    semiring: str = "plus_times",
    stream: Any = None,
) -> Any:
    """y = alpha A x + beta out for x of one or two dimensions on a GPU, and A there, or with a copy kept there."""
    library, xs = device_array(x, "x")
    call, dtype, entry = _call(a, xs, semiring)
    if alpha is None and beta is None and stream is None and type(out) is type(x):
        ys = library.look(out)
        if ys is not None and _is_plain(a, xs, ys) and active() is None:
            call.vector(xs.pointer, ys.pointer, None, None, library.stream(xs.gpu))
            _keep_queuer(a, library, type(x), call, xs, ys, semiring)
            return out
    shape = xs.shape
    rows, cols = a.shape
    check_factor(shape, rows, cols)
    if alpha is not None or beta is not None:
        boolean = SEMIRINGS[semiring].boolean
        alpha = as_number(alpha, entry, boolean, "alpha")
        beta = as_number(beta, entry, boolean, "beta")
    wanted = (rows, *shape[1:])
    made = out is None
    if made:
        if beta is not None:
            raise ValueError("beta is given without out: there is nothing to add to")
        other, out = library, library.empty(wanted, dtype, xs.gpu)
        ys = library.look(out)
        assert ys is not None
    else:
        other, ys = checked_out(out, wanted, dtype, xs.gpu)
        if _overlap(xs, ys):
            raise ValueError("out overlaps x: give another array")
    handle = library.stream(xs.gpu) if stream is None else stream_handle(stream)
    begin = time.perf_counter()
    if other is library and stream is None:
        _queue(call, xs, ys, alpha, beta, handle)
    else:
        with in_order(handle, xs.gpu, library, other):
            _queue(call, xs, ys, alpha, beta, handle)
    events = active()
    if events is not None:
        events.append(_event(a, call, xs, time.perf_counter() - begin))
    elif made and _is_plain(a, xs, ys):
        _keep_queuer(a, library, type(x), call, xs, ys, semiring)
    return library.finish(out, xs.gpu, handle) if made else out


def _keep_queuer(
    a: csr_array,
    library: Library,
    kind: type,
    call: Any,
    xs: DeviceArray,
    ys: DeviceArray,
    semiring: str,
) -> None:
    """For the next product with vectors like these: `dense.dot` asks for it first."""
    if semiring == "plus_times" and a.place == "device":
        queuer = library.queuer(call.vector, xs, ys)
        if queuer is not None:
            a._derived.once("queuers", dict)[kind] = queuer


def _is_plain(a: csr_array, xs: DeviceArray, ys: DeviceArray) -> bool:
    """Whether x and out are vectors that nothing is to be said about: most are, and are asked in a microsecond."""
    rows, cols = a.shape
    return (
        xs.shape == (cols,)
        and ys.shape == (rows,)
        and xs.steps == (1,) == ys.steps
        and xs.dtype is ys.dtype
        and xs.gpu == ys.gpu
        and ys.writable
        and not -rows * xs.dtype.itemsize < ys.pointer - xs.pointer < cols * xs.dtype.itemsize
    )


def _queue(call: Any, xs: DeviceArray, ys: DeviceArray, alpha: Any, beta: Any, stream: int) -> None:
    if len(xs.shape) == 1:
        if _packed(xs) and _packed(ys):
            call.vector(xs.pointer, ys.pointer, alpha, beta, stream)
            return
        columns, x_steps, y_steps = 1, (xs.steps[0], 1), (ys.steps[0], 1)
    else:
        columns, x_steps, y_steps = xs.shape[1], xs.steps, ys.steps
    call.columns(xs.pointer, *x_steps, ys.pointer, *y_steps, columns, alpha, beta, stream)


def _packed(v: DeviceArray) -> bool:
    return v.shape[0] <= 1 or v.steps[0] == 1


def _call(a: csr_array, xs: DeviceArray, semiring: str) -> tuple[Any, np.dtype, np.dtype]:
    """The core's product, the type of the result, and the type of its entries for the core, kept with the matrix."""
    calls = a._derived.device_calls
    if calls is None:
        calls = a._derived.once("device_calls", dict)
    key = semiring, xs.dtype, xs.gpu
    known = calls.get(key)
    if known is None:
        known = calls[key] = _new_call(a, xs, semiring)
    return known


def _new_call(a: csr_array, xs: DeviceArray, semiring: str) -> tuple[Any, np.dtype, np.dtype]:
    entry = product_type(a.dtype, xs.dtype, semiring)
    dtype = np.dtype(bool) if SEMIRINGS[semiring].boolean else entry
    if xs.dtype != dtype:
        remedy = "x != 0" if dtype.kind == "b" else f"x in {dtype}, or A.astype('{xs.dtype}')"
        raise TypeError(
            f"x is {xs.dtype} and the matrix {a.dtype}: {semiring} of them needs x in {dtype}, and nothing is "
            f"converted on a GPU: give {remedy}"
        )
    return _matrix_on(a, xs.gpu).call(semiring, entry.name), dtype, entry


def _matrix_on(a: csr_array, gpu: int) -> Any:
    """The matrix as the core multiplies it on this GPU: where it lies, or a copy that stays there until A.release()."""
    known = a._derived.device_matrix
    if known is not None and known[0] == gpu:
        return known[1]
    core = a._core if gpu < 0 else core_on(a, gpu)  # -1 is the CPU
    matrix = _core.device_matrix(core, gpu)
    a._derived.device_matrix = gpu, matrix
    return matrix


def checked_out(
    out: Any, shape: tuple[int, ...], dtype: np.dtype, gpu: int
) -> tuple[Library, DeviceArray]:
    """An array that a result is written to."""
    library, found = device_array(out, "out", gpu)
    if found.shape != shape or found.dtype != dtype:
        raise ValueError(
            f"out is {found.dtype} {found.shape}: give an array of {dtype} and shape {shape}"
        )
    if not found.writable:
        raise ValueError("out is read-only: give an array that may be written")
    steps = sorted((abs(s), n) for s, n in zip(found.steps, shape, strict=True) if n > 1)
    if any(s < least for (s, _), least in zip(steps, _least(steps), strict=True)):
        raise ValueError(
            f"out has steps {found.steps}: entries of a result have places of their own"
        )
    return library, found


def _least(steps: list[tuple[int, int]]) -> list[int]:
    """The least step of each axis, from the inner one on, with which no two entries are one.

    >>> _least([(1, 5), (5, 3)])
    [1, 5]
    """
    least, reach = [], 1
    for step, n in steps:
        least.append(reach)
        reach = step * (n - 1) + reach
    return least


def _span(v: DeviceArray) -> tuple[int, int]:
    """The first byte of an array, and the one after its last."""
    low = sum(min(0, s * (n - 1)) for s, n in zip(v.steps, v.shape, strict=True))
    high = sum(max(0, s * (n - 1)) for s, n in zip(v.steps, v.shape, strict=True))
    return v.pointer + low * v.dtype.itemsize, v.pointer + (high + 1) * v.dtype.itemsize


def _overlap(x: DeviceArray, y: DeviceArray) -> bool:
    if 0 in x.shape or 0 in y.shape:
        return False
    first, second = _span(x), _span(y)
    return first[0] < second[1] and second[0] < first[1]


def _event(a: csr_array, call: Any, xs: DeviceArray, seconds: float) -> dict[str, Any]:
    """What `ps.record` tells: the call has queued the product, and `seconds` is what that took."""
    columns = xs.shape[1] if len(xs.shape) == 2 else 1
    vectors = sum(a.shape) * xs.dtype.itemsize
    return {
        "schedule": "in_core",
        "kernel": "merge_path",
        "queued": True,
        "tiles": 1,
        "gpu": xs.gpu,
        "columns": columns,
        "copied_bytes": 0,
        "link_bytes": 0,
        "kernel_bytes": call.bytes + (columns - 1) * vectors,
        "ring_bytes": 0,
        "seconds": seconds,
        "copy_seconds": 0.0,
        "kept_bytes": a.nbytes,
    }
