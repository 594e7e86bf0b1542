"""Products whose x or y is on a GPU: arrays of CuPy, PyTorch or any library with DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._plan import choice as planner
from penstock._plan import streaming
from penstock._plan.report import active
from penstock._plan.schedules import InCore, Schedule, Streamed, gpu_count
from penstock._product.operands import as_number, on_gpu, product_type

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array


def _dtype(x: Any) -> np.dtype:
    return np.dtype(str(x.dtype).removeprefix("torch."))


def _checked(x: Any, name: str, size: int, dtype: np.dtype | None) -> np.dtype:
    shape = tuple(x.shape)
    if len(shape) != 1 or shape[0] != size:
        raise ValueError(
            f"{name} has shape {shape}: with a vector on a GPU it must be ({size},); several columns are multiplied in "
            "host memory, or one at a time"
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


def _plan(a: csr_array, entry: int, how: Schedule | None) -> streaming.Plan:
    if how is None:
        plan = streaming.existing(a, entry)
        if plan is not None and min(plan.request.devices) >= 0 and not plan.request.setting.cpu:
            return plan
        done = a._derived.products + 1
        choice = planner.decide(a, entry, "device", done)
        if choice is None or choice.gpu is None:
            raise _core.PlacementError(_why(a, choice))
        a._derived.products = done
        return streaming.plan_for(a, streaming.planned(choice.gpu.setting), entry, done)
    request = streaming.request_for(a, how, entry) if isinstance(how, (InCore, Streamed)) else None
    if request is None or min(request.devices) < 0 or request.setting.cpu:
        raise _core.PlacementError(
            f"x or out is on a GPU, and {how} computes elsewhere, or walks the matrix where it is ({a.place} memory): "
            "use Streamed or InCore(device=...) with the matrix in host memory and without the CPU, or vectors in host "
            "memory"
        )
    return streaming.plan_for(a, request, entry)


def _why(a: csr_array, choice: planner.Choice | None) -> str:
    if choice is not None:
        return f"x or out is on a GPU, but no plan fits there ({choice.reason})"
    if gpu_count() == 0:
        return "x or out is on a GPU, but GPUs are turned off or not usable: see ps.options.gpus and penstock doctor"
    if a.place == "device":
        return (
            "vectors on a GPU are multiplied by plans, which keep what fits there: hold A in host memory "
            "(A.to(ps.host)) and use A.prepare(schedule=ps.InCore(device=0))"
        )
    return f"x or out is on a GPU, and the matrix is empty or in {a.place} memory: use vectors in host memory"


def dot_on_gpu(
    a: csr_array, x: Any, out: Any, alpha: Any, beta: Any, how: Schedule | None, semiring: str
) -> Any:
    """`csr_array.dot` for vectors of which at least one is on a GPU. Nothing is converted; the result is of x's library
    where `out` is not given."""
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
    boolean = semiring == "or_and"
    alpha, beta = (as_number(v, dtype, boolean, n) for v, n in ((alpha, "alpha"), (beta, "beta")))
    plan = _plan(a, dtype.itemsize, how)
    _hand_over(x)
    _hand_over(out)
    events = active()
    traced = events is not None
    event = streaming.multiply(a, plan, exported(x), exported(out), semiring, alpha, beta, traced)
    if events is not None:
        events.append(event)
    return out
