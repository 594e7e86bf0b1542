"""The operators of `torch.library` behind products with tensors: what they compute, which shapes they give, and their
gradients. Imports PyTorch when an operator is first needed. They are for programs that somebody looks into: a compiler,
a tracer, a mode. Other products go by `torch_eager`, which is faster.

    penstock::matmul(x, values, ...)  A x or A^T x, with A's own values or others
    penstock::sddmm(x, y, ...)        X Y^T at A's entries, as a vector of values

A matrix is passed by its number (`_product/numbers`), its shape, the number of its entries and its type, so that the
shapes of results follow from arguments alone, also in a program that another process has compiled and kept. Gradients
are made of these two operators again, so that they have gradients of any order. Matrices that the graph of gradients
needs are kept alive by it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._product.numbers import matrix_of
from penstock._product.torch_compute import multiply, sample
from penstock._product.torch_types import (
    beside,
    check_halves,
    common_types,
    is_half,
    narrowed,
    numpy_type,
)

__all__ = ["ready"]

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
    a = matrix_of(matrix, (rows, cols), nnz)
    check_halves(x, a.dtype if values is None else values.dtype)
    return multiply(a, transposed, x, values, forms, schedule)


def _sddmm(x: Any, y: Any, matrix: int, rows: int, cols: int, nnz: int) -> Any:
    return sample(matrix_of(matrix, (rows, cols), nnz), x, y)


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
    kind = x.dtype if is_half(x) else common_types(np.dtype(found), x.dtype)[1]
    return x.new_empty((cols if transposed else rows, *x.shape[1:]), dtype=kind)


def _sddmm_shape(x: Any, y: Any, matrix: int, rows: int, cols: int, nnz: int) -> Any:
    return x.new_empty((nnz,), dtype=common_types(x.dtype, y.dtype)[1])


# Gradients


def _hold(ctx: Any, matrix: int, rows: int, cols: int, nnz: int) -> None:
    ctx.where = matrix, rows, cols, nnz
    # The matrix itself, so that it lives as long as the graph. A program that is being compiled has no place for it:
    # there whoever holds the program holds the matrix.
    ctx.matrix = matrix_of(matrix, (rows, cols), nnz) if type(matrix) is int else None


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
        of_x = narrowed(back.conj(), x.dtype)
    if values is not None and ctx.needs_input_grad[1]:
        pair = (x.conj(), grad) if ctx.transposed else (grad, x.conj())
        of_values = narrowed(ops.sddmm(*pair, *ctx.where), values.dtype)
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
        of_x = narrowed(
            ops.matmul(beside(y.conj(), grad), grad, *ctx.where, kind, False, False, ""), x.dtype
        )
    if ctx.needs_input_grad[1]:
        of_y = narrowed(
            ops.matmul(beside(x.conj(), grad), grad, *ctx.where, kind, True, False, ""), y.dtype
        )
    return of_x, of_y, *[None] * 4
