"""The operators of `torch.library` behind products with tensors: what they compute, which shapes they give, and their
gradients. Imports PyTorch when an operator is first needed.

    penstock::matmul(x, values, ...)  A x or A^T x, with A's own values or others
    penstock::sddmm(x, y, ...)        X Y^T at A's entries, as a vector of values

A matrix is passed by its number (`_product/numbers`), its shape, the number of its entries and its type, so that the
shapes of results follow from arguments alone, also in a program that another process has compiled and kept. Gradients
are made of these two operators again, so that they have gradients of any order. Matrices that the graph of gradients
needs are kept alive by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import result_dtype
from penstock._product.numbers import matrix_of
from penstock._product.torch_types import (
    as_numpy,
    check_halves,
    is_half,
    numpy_type,
    tensor_type,
)

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["PANEL", "ready"]

PANEL = 64  # columns of 16-bit numbers that are converted at a time
_DEVICES = ("cpu", "cuda")
_MATRIX = "int matrix, int rows, int cols, int nnz"
_MATMUL = f"(Tensor x, Tensor? values, {_MATRIX}, str dtype, bool transposed, bool forms, str schedule) -> Tensor"
_SDDMM = f"(Tensor x, Tensor y, {_MATRIX}) -> Tensor"


def ready() -> bool:
    """Registers the operators, once. ImportError where PyTorch is not installed."""
    global _registered
    if not _registered:
        try:
            from torch import library  # type: ignore[import-not-found, unused-ignore]
        except ImportError as e:
            raise ImportError("ps.torch needs PyTorch: pip install torch") from e

        matmul = library.custom_op(
            "penstock::matmul", _matmul, mutates_args=(), device_types=_DEVICES, schema=_MATMUL
        )
        matmul.register_fake(_matmul_shape)
        matmul.register_autograd(_matmul_gradient, setup_context=_keep_for_matmul)
        sddmm = library.custom_op(
            "penstock::sddmm", _sddmm, mutates_args=(), device_types=_DEVICES, schema=_SDDMM
        )
        sddmm.register_fake(_sddmm_shape)
        sddmm.register_autograd(_sddmm_gradient, setup_context=_keep_for_sddmm)
        _registered = True
    return True


_registered = False
# A program that is being compiled calls it at once, and takes what it returned for a constant: what
# torch.compiler.assume_constant_result does, without importing PyTorch.
ready._dynamo_marked_constant = True  # type: ignore[attr-defined]


# What the operators compute


def _matrix(number: int, rows: int, cols: int, nnz: int, values: Any) -> csr_array:
    a = matrix_of(number, (rows, cols), nnz)
    if values is None:
        return a
    if a.place == "device":
        raise _core.PlacementError(
            "A is in a GPU's memory, and values and X are on the CPU: give tensors on that GPU, or A.to(ps.host)"
        )
    data = as_numpy(values.float() if is_half(values) else values.contiguous())
    mapped = a.place == "mapped"
    return type(a)._from_parts(*a.shape, a.indptr, a.indices, data, mapped=mapped, validate="cheap")


def _matmul(
    x: Any,
    values: Any,
    matrix: int,
    rows: int,
    cols: int,
    nnz: int,
    dtype: str,
    transposed: bool,
    forms: bool,
    schedule: str,
) -> Any:
    import torch

    if x.is_cuda:
        from penstock._product import torch_gpu  # not where there is no GPU

        there = matrix_of(matrix, (rows, cols), nnz)
        check_halves(x, there.dtype if values is None else values.dtype)
        return torch_gpu.matmul(there, transposed, x, values, schedule)
    a: Any = _matrix(matrix, rows, cols, nnz, values)
    check_halves(x, a.dtype)
    if transposed:
        # A file may be larger than memory, and a transpose of other values is used once. A view knows no schedules.
        forms = schedule != "" or (forms and values is None and a.place != "mapped")
        a = a.T.formed() if forms else a.T
    how = {"schedule": schedule} if schedule else {}
    if not is_half(x):
        return torch.from_numpy(a.dot(as_numpy(x), **how))
    if x.ndim == 1:
        return torch.from_numpy(a.dot(as_numpy(x.float()), **how)).to(x.dtype)
    y = x.new_empty((a.shape[0], x.shape[1]))
    for first in range(0, x.shape[1], PANEL):
        part = slice(first, first + PANEL)
        y[:, part] = torch.from_numpy(a.dot(as_numpy(x[:, part].float()), **how))
    return y


def _sddmm(x: Any, y: Any, matrix: int, rows: int, cols: int, nnz: int) -> Any:
    import torch

    a = matrix_of(matrix, (rows, cols), nnz)
    if x.is_cuda:
        from penstock._product import torch_gpu  # not where there is no GPU

        return torch_gpu.sampled(a, x, y)
    if a.place == "device":
        raise _core.PlacementError(
            "A is in a GPU's memory, and X and Y are on the CPU: give tensors on that GPU, or A.to(ps.host)"
        )
    dtype = result_dtype(numpy_type(x.dtype), numpy_type(y.dtype))
    wide, out = tensor_type(dtype), np.empty(nnz, dtype)
    if x.ndim == 1:
        x, y = x.unsqueeze(1), y.unsqueeze(1)
    step = PANEL if is_half(x) or is_half(y) else max(1, x.shape[1])
    for first in range(0, max(1, x.shape[1]), step):
        part = slice(first, first + step)
        xs, ys = (as_numpy(z[:, part].to(wide)) for z in (x, y))
        _core.sddmm(a._core, xs, ys, out, None, None if first == 0 else 1.0)
    return torch.from_numpy(out)


# Shapes and types, from the arguments alone


def _matmul_shape(
    x: Any,
    values: Any,
    matrix: int,
    rows: int,
    cols: int,
    nnz: int,
    dtype: str,
    transposed: bool,
    forms: bool,
    schedule: str,
) -> Any:
    found: Any = dtype if values is None else numpy_type(values.dtype).name
    check_halves(x, found)
    kind = (
        x.dtype if is_half(x) else tensor_type(result_dtype(np.dtype(found), numpy_type(x.dtype)))
    )
    return x.new_empty((cols if transposed else rows, *x.shape[1:]), dtype=kind)


def _sddmm_shape(x: Any, y: Any, matrix: int, rows: int, cols: int, nnz: int) -> Any:
    dtype = result_dtype(numpy_type(x.dtype), numpy_type(y.dtype))
    return x.new_empty((nnz,), dtype=tensor_type(dtype))


# Gradients


def _hold(ctx: Any, matrix: int, rows: int, cols: int, nnz: int) -> None:
    ctx.where = matrix, rows, cols, nnz
    # The matrix itself, so that it lives as long as the graph. A program that is being compiled has no place for it:
    # there whoever holds the program holds the matrix.
    ctx.matrix = matrix_of(matrix, (rows, cols), nnz) if type(matrix) is int else None


def _narrowed(grad: Any, like: Any) -> Any:
    """The gradient as the tensor that it is of: real, and of its type."""
    if grad.dtype.is_complex and not like.dtype.is_complex:
        grad = grad.real
    return grad.to(like.dtype)


def _keep_for_matmul(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, values, matrix, rows, cols, nnz, dtype, transposed, _, schedule = inputs
    ctx.save_for_backward(x, values)
    ctx.dtype, ctx.transposed, ctx.schedule = dtype, transposed, schedule
    _hold(ctx, matrix, rows, cols, nnz)


def _matmul_gradient(ctx: Any, grad: Any) -> tuple[Any, ...]:
    import torch

    ops = torch.ops.penstock
    x, values = ctx.saved_tensors
    of_x = of_values = None
    if ctx.needs_input_grad[0]:
        how = ctx.dtype, not ctx.transposed, True, ctx.schedule
        back = ops.matmul(grad.conj(), values, *ctx.where, *how)
        of_x = _narrowed(back.conj(), x)
    if values is not None and ctx.needs_input_grad[1]:
        pair = (x.conj(), grad) if ctx.transposed else (grad, x.conj())
        of_values = _narrowed(ops.sddmm(*pair, *ctx.where), values)
    return of_x, of_values, *[None] * 8


def _keep_for_sddmm(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, y, matrix, rows, cols, nnz = inputs
    ctx.save_for_backward(x, y)
    _hold(ctx, matrix, rows, cols, nnz)


def _sddmm_gradient(ctx: Any, grad: Any) -> tuple[Any, ...]:
    import torch

    ops = torch.ops.penstock
    x, y = ctx.saved_tensors
    kind = numpy_type(grad.dtype).name
    of_x = of_y = None
    if ctx.needs_input_grad[0]:
        of_x = _narrowed(ops.matmul(y.conj(), grad, *ctx.where, kind, False, False, ""), x)
    if ctx.needs_input_grad[1]:
        of_y = _narrowed(ops.matmul(x.conj(), grad, *ctx.where, kind, True, False, ""), y)
    return of_x, of_y, *[None] * 4
