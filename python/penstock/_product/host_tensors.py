"""Products whose x or out is a tensor of PyTorch, on the CPU, or on a GPU where the operator is asked for: they return
tensors, and know gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import _core
from penstock._arrays.tensors import is_tensor
from penstock._product.torch_compute import PANEL
from penstock._product.torch_ops import ready
from penstock._product.torch_types import as_numpy, check_halves, is_half, plain

__all__ = ["check_tensor", "check_together", "dot", "matmul", "sampled"]


def check_tensor(x: Any, name: str, shape: tuple[int, ...] | None = None) -> None:
    """Refuses what is no dense tensor on the CPU or a GPU of CUDA and, where a shape is given, not of (shape[0],) or
    (shape[0], k)."""
    if not is_tensor(x):
        raise TypeError(f"{name} is a {type(x).__name__}: give a tensor of PyTorch")
    import torch  # type: ignore[import-not-found, unused-ignore]

    if x.layout is not torch.strided:
        raise TypeError(
            f"{name} is a tensor of layout {x.layout}: give a dense one, or for a sparse product ps.csr_array({name})"
        )
    if x.device.type not in ("cpu", "cuda"):
        raise _core.PlacementError(
            f"{name} is on {x.device}: products take tensors on the CPU and on GPUs of CUDA, give {name}.cpu()"
        )
    if shape is not None and (x.ndim not in (1, 2) or x.shape[0] != shape[0]):
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}: give ({shape[0]},) or ({shape[0]}, k)"
        )


def check_together(x: Any, y: Any, name: str, of_x: str = "X") -> None:
    """Refuses tensors on two devices."""
    if x.device != y.device:
        raise _core.PlacementError(
            f"{of_x} is on {x.device} and {name} on {y.device}: move one to the other, {name}.to({of_x}.device)"
        )


def matmul(a: Any, transposed: bool, x: Any, values: Any, schedule: str = "") -> Any:
    """A x or A^T x, whose gradients are those of x and of `values`."""
    ready()
    from penstock._product import torch_eager  # which imports PyTorch

    rows, cols = a.shape
    check_tensor(x, "X", (rows if transposed else cols,))
    check_halves(x, a.dtype if values is None else values.dtype)
    if values is not None:
        check_together(x, values, "values")
    return torch_eager.matmul(a, transposed, x, values, schedule)


def sampled(a: Any, x: Any, y: Any) -> Any:
    """X Y^T at A's entries, whose gradients are those of x and y."""
    from penstock._product import torch_eager  # as above

    return torch_eager.sampled(a, x, y)


def dot(
    a: Any,
    transposed: bool,
    x: Any,
    out: Any,
    options: dict[str, Any],
    product: Callable[..., Any],
) -> Any:
    """A x or A^T x where x or out is a tensor. `options` are those that were given; `product(x, out=...,
    **options)` is the same for arrays."""
    import torch

    if is_tensor(x) and out is None and not options:
        return matmul(a, transposed, x, None)
    for tensor, name in ((x, "x"), (out, "out")):
        if is_tensor(tensor):
            check_tensor(tensor, name)
            if tensor.requires_grad and torch.is_grad_enabled():
                what = "out=" if out is not None else " and ".join(f"{o}=" for o in options)
                raise RuntimeError(
                    f"{name} requires a gradient, and products with {what} have none: leave it out "
                    f"(ps.torch.matmul takes a schedule), or give {name}.detach()"
                )
    if is_tensor(out) and is_half(out) and not (is_tensor(x) and x.dtype == out.dtype):
        raise ValueError(f"out is {out.dtype}, which is for an x of that type: x is {x.dtype}")
    if is_tensor(x) and is_tensor(out):
        check_together(x, out, "out", "x")
    if is_tensor(x) and is_half(x):
        return _half(a, x, out, options, product)
    if any(is_tensor(t) and t.is_cuda for t in (x, out)):
        # Not where it runs: on_host() sends these here while a program is being compiled, and of tensors without data.
        what = " and ".join(f"{o}=" for o in (*options, *(["out"] if out is not None else [])))
        raise RuntimeError(
            f"products with {what} of tensors on a GPU are no operators, which a compiled program needs: use "
            "ps.torch.matmul, or call them outside of it"
        )
    xs = as_numpy(x) if is_tensor(x) else x
    if out is None:
        return torch.from_numpy(product(xs, **options))
    product(xs, out=as_numpy(out) if is_tensor(out) else out, **options)
    return out


def _array(x: Any) -> Any:
    """What the product for arrays takes: on the CPU an array of NumPy, on a GPU a tensor without a gradient."""
    return plain(x) if x.is_cuda else as_numpy(x)


def _tensor(y: Any) -> Any:
    import torch

    return y if is_tensor(y) else torch.from_numpy(y)


def _half(a: Any, x: Any, out: Any, options: dict[str, Any], product: Callable[..., Any]) -> Any:
    """Of 16-bit numbers: sums in float32, a panel of columns at a time, and a result of x's type."""
    check_halves(x, a.dtype)
    if out is None and "beta" in options:
        raise ValueError("beta is given without out: there is nothing to add to")
    if out is not None and not (is_tensor(out) and out.dtype == x.dtype):
        raise ValueError(
            f"out is {getattr(out, 'dtype', type(out).__name__)}: give a tensor of {x.dtype}"
        )
    if x.ndim == 1:
        held = None if out is None else _array(out.float())
        y = _tensor(product(_array(x.float()), out=held, **options))
        return y.to(_kind(y, x)) if out is None else out.copy_(y)
    parts = [slice(first, first + PANEL) for first in range(0, max(1, x.shape[-1]), PANEL)]
    made = out
    for part in parts:
        held = None if out is None else _array(out[:, part].float())
        y = _tensor(product(_array(x[:, part].float()), out=held, **options))
        if made is None:
            made = x.new_empty((y.shape[0], x.shape[1]), dtype=_kind(y, x))
        made[:, part] = y
    return made


def _kind(y: Any, x: Any) -> Any:
    return x.dtype if y.dtype.is_floating_point else y.dtype  # or_and gives booleans
