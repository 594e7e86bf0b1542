"""Products with PyTorch's tensors that run at once, with gradients: each is a function, and a node in the graph of
gradients. An operator of `torch.library` costs tens of microseconds more on its way through PyTorch's dispatcher.

Where somebody looks on (a compiler, a tracer, a mode, a transform of functions, a tensor of another class), the
operators of `torch_ops` are called, which all of them understand. Both compute the same, by `torch_compute`. Needs
PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch  # type: ignore[import-not-found, unused-ignore]
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext

from penstock._product.torch_compute import multiply, sample
from penstock._product.torch_types import beside, narrowed

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["matmul", "sampled"]

_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Modes, tracing and transforms, as PyTorch's core tells of them. Where a version lacks one of these functions, the
# operators are called.
_dispatching, _functions, _transforms, _tracing = (
    getattr(torch._C, name, None)
    for name in (
        "_len_torch_dispatch_stack",
        "_len_torch_function_stack",
        "_are_functorch_transforms_active",
        "_get_tracing_state",
    )
)
_TELLS = None not in (_dispatching, _functions, _transforms, _tracing) and hasattr(
    forward_ad, "_current_level"
)
_grads = torch.is_grad_enabled
_compiling = torch.compiler.is_compiling


def _watched() -> bool:
    """Whether a mode looks at functions that does more than `torch.set_default_device`."""
    at = getattr(torch._C, "_get_function_stack_at", None)
    modes = () if at is None else [at(i) for i in range(_functions())]  # type: ignore[misc]
    return not modes or any(type(mode) is not DeviceContext for mode in modes)


def _alone(x: Any, y: Any) -> bool:
    """Whether nobody looks on: then tensors are what they seem, and hold data."""
    return (
        type(x) in _PLAIN
        and (y is None or type(y) in _PLAIN)
        and _TELLS
        and not _compiling()
        and not _dispatching()  # type: ignore[misc]
        and not (_functions() and _watched())  # type: ignore[misc]
        and not _transforms()  # type: ignore[misc]
        and _tracing() is None  # type: ignore[misc]
        and forward_ad._current_level < 0
    )


def matmul(
    a: csr_array, transposed: bool, x: Any, values: Any, schedule: str, forms: bool = False
) -> Any:
    """A x or A^T x, whose gradients are those of x and of `values`."""
    if not _alone(x, values):
        ops = torch.ops.penstock
        where = a._number, *a.shape, a.nnz
        return ops.matmul(x, values, *where, a.dtype.name, transposed, forms, schedule)
    if _grads() and (x.requires_grad or (values is not None and values.requires_grad)):
        return _Matmul.apply(x, values, a, transposed, schedule, forms)
    return multiply(a, transposed, x, values, forms, schedule)


def sampled(a: csr_array, x: Any, y: Any) -> Any:
    """X Y^T at A's entries, whose gradients are those of x and y."""
    if not _alone(x, y):
        return torch.ops.penstock.sddmm(x, y, a._number, *a.shape, a.nnz)
    if _grads() and (x.requires_grad or y.requires_grad):
        return _Sampled.apply(x, y, a)
    return sample(a, x, y)


def _conj(x: Any) -> Any:
    return x.conj() if x.dtype.is_complex else x


class _Matmul(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """What a node keeps: the matrix, the values, and x where the values have a gradient."""

    @staticmethod
    def forward(  # type: ignore[override, unused-ignore]
        ctx: Any, x: Any, values: Any, a: csr_array, transposed: bool, schedule: str, forms: bool
    ) -> Any:
        ctx.how = a, transposed, schedule, x.dtype
        if values is not None:
            ctx.save_for_backward(x if values.requires_grad else None, values)
        return multiply(a, transposed, x, values, forms, schedule)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override, unused-ignore]
        a, transposed, schedule, dtype = ctx.how
        x, values = ctx.saved_tensors or (None, None)
        of_x = of_values = None
        if ctx.needs_input_grad[0]:
            back = matmul(a, not transposed, _conj(grad), values, schedule, True)
            of_x = narrowed(_conj(back), dtype)
        if ctx.needs_input_grad[1]:
            pair = (_conj(x), grad) if transposed else (grad, _conj(x))
            of_values = narrowed(sampled(a, *pair), values.dtype)
        return of_x, of_values, None, None, None, None


class _Sampled(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, a: csr_array) -> Any:  # type: ignore[override, unused-ignore]
        ctx.matrix = a
        ctx.save_for_backward(x, y)
        return sample(a, x, y)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override, unused-ignore]
        a = ctx.matrix
        x, y = ctx.saved_tensors
        of_x = of_y = None
        if ctx.needs_input_grad[0]:
            of_x = narrowed(matmul(a, False, beside(_conj(y), grad), grad, ""), x.dtype)
        if ctx.needs_input_grad[1]:
            of_y = narrowed(matmul(a, True, beside(_conj(x), grad), grad, ""), y.dtype)
        return of_x, of_y, None
