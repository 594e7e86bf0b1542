"""Products whose x or y is on a GPU: arrays of CuPy, PyTorch or any library with DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.device import in_order, library_of, stream_handle
from penstock._arrays.tensors import is_tensor
from penstock._choices import SEMIRINGS
from penstock._plan import streaming
from penstock._plan.decision import decide
from penstock._plan.report import active
from penstock._plan.schedules import InCore, Schedule, as_schedule
from penstock._product.on_device import device_array, multiply_on_device
from penstock._product.operands import as_number, on_gpu, product_type
from penstock._product.torch_types import plain

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array


def _dtype(x: Any) -> np.dtype:
    return np.dtype(str(x.dtype).removeprefix("torch."))


def _checked(x: Any, name: str, size: int, dtype: np.dtype | None) -> np.dtype:
    shape = tuple(x.shape)
    if len(shape) != 1 or shape[0] != size:
        raise ValueError(
            f"{name} has shape {shape}: give ({size},), or ({size}, k) where all arrays are on the GPU"
        )
    found = _dtype(x)
    if dtype is not None and found != dtype:
        raise TypeError(f"{name} is {found}: {dtype} is needed, and nothing is converted on a GPU")
    if not _contiguous(x) or (
        name == "out" and isinstance(x, np.ndarray) and not x.flags.writeable
    ):
        raise ValueError(f"{name} must be C-contiguous{' and writable' * (name == 'out')}")
    return found


def _contiguous(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.flags.c_contiguous
    if hasattr(x, "is_contiguous"):  # PyTorch's
        return bool(x.is_contiguous())
    interface = getattr(x, "__cuda_array_interface__", None)
    strides = None if interface is None else interface.get("strides")
    return strides is None or x.shape[0] <= 1 or tuple(strides) == (_dtype(x).itemsize,)


def _empty_like(x: Any, n: int | tuple[int, ...]) -> Any:
    """A result of this shape beside x, by x's own library."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        return x.new_empty(n)
    if library == "cupy":
        import cupy  # type: ignore[import-not-found]

        with cupy.cuda.Device(x.device.id):
            return cupy.empty(n, x.dtype)
    raise TypeError(
        f"x is a {type(x).__module__}.{type(x).__name__} on a GPU: give out=, an array to write y to"
    )


class _Exported:
    """A tensor of PyTorch, which exports itself only while its own GPU is the thread's current one."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **how: Any) -> Any:
        import torch  # type: ignore[import-not-found, unused-ignore]

        with torch.cuda.device(self.tensor.device):
            return self.tensor.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()


def exported(x: Any) -> Any:
    """What the core takes of x, whichever GPU it is on."""
    return _Exported(x) if type(x).__module__.partition(".")[0] == "torch" and on_gpu(x) else x


def _hand_over(x: Any) -> None:
    """What the array's library has queued on its own streams comes before what follows in the default stream, which the
    core waits for."""
    if on_gpu(x):
        exported(x).__dlpack__(stream=1)


def _overlaps(x: Any, y: Any) -> bool:
    """Whether they share bytes, where their addresses are known: those of the host and of all GPUs are distinct."""
    first, second = _start(x), _start(y)
    if x is y or first is None or second is None:
        return x is y
    return first < second + _size(y) and second < first + _size(x)


def _size(x: Any) -> int:
    return int(x.shape[0]) * _dtype(x).itemsize


def _start(x: Any) -> int | None:
    if isinstance(x, np.ndarray):
        return int(x.ctypes.data)
    if hasattr(x, "data_ptr"):
        return int(x.data_ptr())
    interface = getattr(x, "__cuda_array_interface__", None)
    return None if interface is None else int(interface["data"][0])


def dot_on_gpu(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    schedule: Any,
    algorithm: str,
    semiring: str,
    stream: Any = None,
) -> Any:
    """`csr_array.dot` for arrays of which at least one is on a GPU. Nothing is converted; the result is of x's library
    where `out` is not given. A matrix that lies on a GPU is multiplied there, and so are several columns; one vector
    of a matrix in host memory follows a plan."""
    how = None if schedule is None else as_schedule(schedule)
    if is_tensor(x) and (x.is_conj() or x.is_neg()):
        x = plain(x)
    if a.place == "device" or _columns(x):
        if how is not None or algorithm != "auto":
            _require_in_core(a, x, how, algorithm)
        return multiply_on_device(a, x, out, alpha, beta, semiring, stream)
    return _by_plan(a, x, out, alpha, beta, how, algorithm, semiring, stream)


def _columns(x: Any) -> bool:
    return len(getattr(x, "shape", ())) == 2


def _require_in_core(a: csr_array, x: Any, how: Schedule | None, algorithm: str) -> None:
    """Of a product without a plan: the schedules and algorithms that it knows."""
    if algorithm != "auto":
        raise ValueError(
            f"algorithm '{algorithm}' is for the CPU, and x or out is on a GPU: leave it at auto, or use vectors in "
            "host memory"
        )
    if not (isinstance(how, InCore) and how.gpu >= 0 and how.kernel in ("auto", "merge_path")):
        what = "the matrix is on a GPU" if a.place == "device" else "several columns are on a GPU"
        raise _core.PlacementError(
            f"{what}, and {how} is for a matrix in host memory and one vector: leave the schedule out, or give "
            "InCore(device=...) with kernel='auto'"
        )
    device_array(x, "x", how.gpu)


def _by_plan(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    how: Schedule | None,
    algorithm: str,
    semiring: str,
    stream: Any,
) -> Any:
    rows, cols = a.shape
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    dtype = product_type(a.dtype, _dtype(x), semiring)
    _checked(x, "x", cols, dtype)
    if out is None:
        if beta is not None:
            raise ValueError("beta is given without out: there is nothing to add to")
        out = _empty_like(x, rows)
    else:
        _checked(out, "out", rows, dtype)
    if _overlaps(x, out):
        raise ValueError("out overlaps x: give another array")
    boolean = SEMIRINGS[semiring].boolean
    alpha, beta = (as_number(v, dtype, boolean, n) for v, n in ((alpha, "alpha"), (beta, "beta")))
    decision = decide(a, dtype.itemsize, how, algorithm, "device")
    a._derived.products += decision.counts
    plan = streaming.plan_of(a, decision, dtype.itemsize)
    events = active()
    if events is None and _queued(plan, x, out, dtype, semiring, alpha, beta, stream):
        return out
    if stream is not None:
        _core.order_streams(min(plan.request.devices), stream_handle(stream), 0)
    _hand_over(x)
    _hand_over(out)
    traced = events is not None
    event = streaming.multiply(a, plan, exported(x), exported(out), semiring, alpha, beta, traced)
    if events is not None:
        events.append(event)
    return out


def _queued(
    plan: Any, x: Any, out: Any, dtype: Any, semiring: str, alpha: Any, beta: Any, stream: Any
) -> bool:
    """Queues the product on the caller's stream where one GPU has all of the plan, and x and out are there."""
    first, second = library_of(x), library_of(out)
    xs, ys = (None if lib is None else lib.look(v) for lib, v in ((first, x), (second, out)))
    if xs is None or ys is None or xs.gpu != ys.gpu or not isinstance(plan.core, _core.StreamPlan):
        return False
    if not _core.can_queue(plan.core, xs.gpu):
        return False
    assert first is not None
    handle = first.stream(xs.gpu) if stream is None else stream_handle(stream)
    with in_order(handle, xs.gpu, first, second):
        _core.queue_plan(
            plan.core, xs.pointer, ys.pointer, dtype.name, semiring, alpha, beta, xs.gpu, handle
        )
    return True
