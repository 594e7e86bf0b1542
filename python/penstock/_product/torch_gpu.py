"""What the operators of `torch_ops` compute where the tensors are on a GPU. All work is queued on PyTorch's current
stream of that GPU, and the call returns; entries that are streamed from host memory are waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._arrays.convert import result_dtype
from penstock._arrays.device import library_of
from penstock._plan.report import active
from penstock._plan.schedules import Streamed
from penstock._product.gpu_copies import core_on
from penstock._product.torch_types import is_half, numpy_type, plain, tensor_type

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["matmul", "sampled"]

PANEL = 128  # columns of 16-bit numbers that are converted at a time: one pass of the kernel over A


def _stream(x: Any) -> int:
    library = library_of(x)
    assert library is not None
    return library.stream(x.get_device())


def _by_rows(x: Any) -> Any:
    """Rows that are contiguous, any step apart."""
    return x if x.stride(1) == 1 or x.shape[1] <= 1 else x.contiguous()


def _as_read(x: Any) -> Any:
    """A tensor that products read as it is: contiguous in one dimension, by rows or by columns in two."""
    if x.ndim == 1:
        return x.contiguous()
    (rows, cols), (row_step, col_step) = x.shape, x.stride()
    by_rows = col_step == 1 and row_step >= cols
    by_columns = row_step == 1 and col_step >= rows
    return x if by_rows or by_columns else x.contiguous()


def _of_values(a: csr_array, values: Any) -> csr_array:
    """A's structure with other values. It reads `values` where they are."""
    values = plain(values.float() if is_half(values) else values).contiguous()
    core = core_on(a, values.get_device())
    kind = numpy_type(values.dtype).name
    return type(a)._wrap(_core.with_values_on_gpu(core, values.data_ptr(), a.nnz, kind, values))


def _formed(a: csr_array) -> csr_array:
    """The transpose of a matrix in host memory, formed there, once; pinned where A is, for the links."""
    formed = a.T.formed()
    if a.place == "pinned" and formed.place != "pinned":
        formed = a._derived.transpose = formed.to("pinned")
    return formed


def _streamed(a: csr_array, x: Any) -> Any:
    """Several columns on one GPU, through which A's entries travel: X and Y stay where they are."""
    x = _by_rows(x)
    y = x.new_empty((a.shape[0], x.shape[1]))
    how = Streamed(device=x.get_device())._lower()
    events = active()
    event: Any = _core.stream_columns_gpu(
        a._core,
        x.data_ptr(),
        x.stride(0),
        y.data_ptr(),
        y.stride(0),
        x.shape[1],
        numpy_type(x.dtype).name,
        how,
        stream=_stream(x),
        traced=events is not None,
    )
    if events is not None:
        events.append(event)
    return y


def matmul(a: csr_array, transposed: bool, x: Any, values: Any, schedule: str) -> Any:
    """A x or A^T x on x's GPU."""
    if values is not None:
        a = _of_values(a, values)
    elif a.place == "device":
        core_on(a, x.get_device())
    m: Any = a
    if transposed:
        m = a.T if a.place == "device" and not schedule else _formed(a)

    def product(part: Any) -> Any:
        kind = result_dtype(m.dtype, numpy_type(part.dtype))
        part = _as_read(plain(part).to(tensor_type(kind)))
        if part.ndim == 2 and part.shape[1] == 0:
            return part.new_empty((m.shape[0], 0))
        if schedule == "streamed" and part.ndim == 2:
            return _streamed(m, part)
        return m.dot(part, schedule=schedule) if schedule else m.dot(part)

    if not is_half(x):
        return product(x)
    if x.ndim == 1:
        return product(x.float()).to(x.dtype)
    y = x.new_empty((m.shape[0], x.shape[1]))
    for first in range(0, x.shape[1], PANEL):
        part = slice(first, first + PANEL)
        y[:, part] = product(x[:, part].float())
    return y


def sampled(a: csr_array, x: Any, y: Any) -> Any:
    """X Y^T at A's entries, a panel of columns after the other where they are of 16 bits."""
    gpu = x.get_device()
    core = core_on(a, gpu)
    dtype = result_dtype(numpy_type(x.dtype), numpy_type(y.dtype))
    wide = tensor_type(dtype)
    out = x.new_empty((a.nnz,), dtype=wide)
    if x.ndim == 1:
        x, y = x.unsqueeze(1), y.unsqueeze(1)
    width = x.shape[1]
    step = PANEL if is_half(x) or is_half(y) else max(1, width)
    for first in range(0, max(1, width), step):
        part = slice(first, first + step)
        xs, ys = (_by_rows(plain(z[:, part]).to(wide)) for z in (x, y))
        _core.sddmm_gpu(
            core,
            xs.data_ptr(),
            xs.stride(0),
            ys.data_ptr(),
            ys.stride(0),
            xs.shape[1],
            out.data_ptr(),
            dtype.name,
            beta=None if first == 0 else 1.0,
            gpu=gpu,
            stream=_stream(out),
        )
    return out
