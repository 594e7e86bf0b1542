"""What the operators of `torch_ops` compute where the tensors are on a GPU. All work is queued on PyTorch's current
stream of that GPU, and the call returns; entries that are streamed from host memory are waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._arrays.device import library_of
from penstock._plan.report import active
from penstock._plan.schedules import Streamed
from penstock._product.gpu_copies import core_on, transposed_structure
from penstock._product.torch_types import common_types, is_half, numpy_type, plain, plain_of

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


def _of_values(a: csr_array, transposed: bool, values: Any, gpu: int) -> Callable[[Any], Any]:
    """x -> B x or B^T x for B of A's structure and these values. They are read where they are; for B^T they are put in
    its order."""
    values = plain(values.float() if is_half(values) else values)
    if transposed:
        core, order = transposed_structure(a, gpu)
        values = values[order]
    else:
        core, values = core_on(a, gpu), values.contiguous()
    rows, of_values = a.shape[transposed], numpy_type(values.dtype)

    def product(x: Any) -> Any:
        dtype, wide = common_types(of_values, x.dtype)
        xs = _by_rows(plain_of(x if x.ndim == 2 else x.unsqueeze(1), wide))
        y = xs.new_empty((rows, xs.shape[1]))
        _core.values_product(
            core,
            values.data_ptr(),
            of_values.name,
            xs.data_ptr(),
            xs.stride(0),
            y.data_ptr(),
            y.stride(0),
            xs.shape[1],
            dtype.name,
            gpu,
            _stream(xs),
        )
        return y if x.ndim == 2 else y[:, 0]

    return product


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


def _of_matrix(a: csr_array, transposed: bool, schedule: str, gpu: int) -> Callable[[Any], Any]:
    """x -> A x or A^T x with A's own values."""
    if a.place == "device":
        core_on(a, gpu)  # which refuses one on another GPU
    m: Any = a
    if transposed:
        m = a.T if a.place == "device" and not schedule else _formed(a)

    def product(x: Any) -> Any:
        wide = common_types(m.dtype, x.dtype)[1]
        xs = _as_read(plain_of(x, wide))
        if x.ndim == 2 and x.shape[1] == 0:
            return xs.new_empty((m.shape[0], 0))
        if schedule == "streamed" and x.ndim == 2:
            return _streamed(m, xs)
        if schedule:
            return m.dot(xs, schedule=schedule)
        y = m.dot(xs)
        if x.ndim == 2 and wide is x.dtype and not wide.is_complex:
            _keep(a, transposed, wide, gpu)
        return y

    return product


def _keep(a: csr_array, transposed: bool, dtype: Any, gpu: int) -> None:
    """For the next product with columns of this type: `matmul` asks for it first."""
    m = a._derived.transpose if transposed else a
    calls = None if m is None else m._derived.device_calls
    found = None if calls is None else calls.get(("plus_times", numpy_type(dtype), gpu))
    if found is not None:
        kept = a._derived.once("torch_products", dict)
        kept[transposed, dtype, gpu] = _columns_product(found[0], a.shape[transposed])


def _columns_product(call: Any, rows: int) -> Callable[[Any], Any]:
    """x -> A x by the core's product, where x is several columns by rows, of the type that the product is for, and
    nothing is recorded; else None."""
    queue = call.columns

    def product(x: Any) -> Any:
        if x.ndim != 2 or x.is_neg() or active() is not None:
            return None
        columns, (step, apart) = x.shape[1], x.stride()
        if apart != 1 or step < columns or columns == 0:
            return None
        y = x.new_empty((rows, columns))
        ends = x.data_ptr(), step, 1, y.data_ptr(), columns, 1
        queue(*ends, columns, None, None, _stream(x))
        return y

    return product


def matmul(a: csr_array, transposed: bool, x: Any, values: Any, schedule: str) -> Any:
    """A x or A^T x on x's GPU."""
    gpu = x.get_device()
    known = a._derived.torch_products if values is None and not schedule else None
    if known is not None:
        kept = known.get((transposed, x.dtype, gpu))
        if kept is not None and (y := kept(x)) is not None:
            return y
    product = (
        _of_matrix(a, transposed, schedule, gpu)
        if values is None
        else _of_values(a, transposed, values, gpu)
    )
    if not is_half(x):
        return product(x)
    if x.ndim == 1:
        return product(x.float()).to(x.dtype)
    y = x.new_empty((a.shape[transposed], x.shape[1]))
    for first in range(0, x.shape[1], PANEL):
        part = slice(first, first + PANEL)
        y[:, part] = product(x[:, part].float())
    return y


def sampled(a: csr_array, x: Any, y: Any) -> Any:
    """X Y^T at A's entries, a panel of columns after the other where they are of 16 bits."""
    gpu = x.get_device()
    core = core_on(a, gpu)
    dtype, wide = common_types(x.dtype, y.dtype)
    out = x.new_empty((a.nnz,), dtype=wide)
    if x.ndim == 1:
        x, y = x.unsqueeze(1), y.unsqueeze(1)
    width = x.shape[1]
    step = PANEL if is_half(x) or is_half(y) else max(1, width)
    stream = _stream(x)
    for first in range(0, max(1, width), step):
        xs, ys = x, y
        if step < width:
            xs, ys = x[:, first : first + step], y[:, first : first + step]
        xs, ys = _by_rows(plain_of(xs, wide)), _by_rows(plain_of(ys, wide))
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
            stream=stream,
        )
    return out
