"""Products of a `csr_array` with PyTorch's tensors, with gradients, in eager and compiled programs.

`A @ X` with a tensor X on the CPU, or one on a GPU that requires a gradient, is `ps.torch.matmul(A, X)`. Needs PyTorch,
which is imported at the first use. The matrix is no tensor: it stays a csr_array, wherever its entries are, with its
plans (`A.prepare`). It may be larger than a GPU's memory, and its values are constants, unless `values` says otherwise.
"""

from __future__ import annotations

from typing import Any

from penstock._matrix.csr import csr_array
from penstock._matrix.transposed import Transposed
from penstock._product import host_tensors
from penstock._product.torch_ops import ready

__all__ = ["matmul", "sddmm"]

_SCHEDULES = ("in_core", "streamed", "zero_copy")


def _base(A: Any) -> tuple[csr_array, bool]:
    """The matrix that a view is of, and whether it is its transpose."""
    if isinstance(A, csr_array):
        return A, False
    if isinstance(A, Transposed):
        return A.T, True
    raise TypeError(
        f"A is a {type(A).__name__}: make a csr_array of it, A = ps.csr_array(...), and keep it for all products"
    )


def matmul(A: Any, X: Any, values: Any = None, *, schedule: str | None = None) -> Any:
    """`A @ X` as a tensor, differentiable in X and in `values`.

    Parameters
    ----------
    A : csr_array of shape (m, n), or `A.T` of one
    X : tensor of shape (n, k) or (n,), on the CPU or a GPU
        Of any strides. float32, float64, complex, bfloat16, float16; integers count as float64. With X on a GPU the
        result is there, the work is queued on PyTorch's current stream, and the call returns; A is on that GPU, or in
        host memory: then a copy of it stays on the GPU until `A.release()`.
    values : tensor of shape (A.nnz,), optional
        Takes the place of A's values, in the order of `A.data`: entry k is at the k-th stored entry of A, for `A.T`,
        too. What A itself holds does not matter, so that A may be a pattern. On X's device.
    schedule : "in_core", "streamed" or "zero_copy", optional
        As in `A.dot`, by name, for this product and those of its gradients: "streamed" sends the entries through the
        GPUs, or where there is none through the CPU's caches, in at most `ps.options.device_memory` bytes a device.
        Several columns on a GPU take that one, and the call returns when they are multiplied. Without a schedule, and
        with X on the CPU, one vector follows the plan of `A.prepare`, and several columns are multiplied on the CPU.
        Not with `values`.

    Returns
    -------
    tensor of shape (m, k) or (m,), of NumPy's promoted type of the matrix's values and X, as `A @ X` has it. With X in
    bfloat16 or float16 the result has X's type; sums are in float32, and 64 columns of X are converted at a time, on a
    GPU 128.

    Gradients of any order: of X, `A.T @ G`; of `values`, `ps.torch.sddmm(A, G, X)`. For the first, `A.T.formed()` is
    made once and kept with A, which takes A's memory again; with `values`, and for a mapped matrix without a schedule,
    the view is used. With `values` on a GPU the transpose's structure is made once on the CPU, and kept there.

    The operator is `torch.ops.penstock.matmul`, which `torch.compile(fullgraph=True)` takes. A program that was
    compiled holds the number of A and not A: keep A alive. Another A makes it compile again.

    Raises ImportError without PyTorch, ValueError and TypeError for shapes and types, and PlacementError for tensors
    on two devices, on none of the CPU and CUDA's GPUs, or on another GPU than A.

    >>> import numpy as np, penstock as ps
    >>> import torch  # doctest: +SKIP
    >>> A = ps.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> v = torch.tensor([1.0, 10.0], dtype=torch.float64, requires_grad=True)  # doctest: +SKIP
    >>> ps.torch.matmul(A, torch.eye(2, dtype=torch.float64), v).sum().backward()  # doctest: +SKIP
    >>> v.grad  # doctest: +SKIP
    tensor([1., 1.], dtype=torch.float64)
    """
    ready()
    base, transposed = _base(A)
    if values is not None:
        _check_values(values, base.nnz)
    if schedule is not None:
        _check_schedule(schedule, values)
    return host_tensors.matmul(base, transposed, X, values, schedule or "")


def _check_schedule(schedule: Any, values: Any) -> None:
    if values is not None:
        raise ValueError(
            "schedule is given with values: products with other values are in core, leave it out"
        )
    if schedule not in _SCHEDULES:
        raise ValueError(f"schedule={schedule!r}: give its name, {', '.join(_SCHEDULES)}, or None")


def _check_values(values: Any, nnz: int) -> None:
    host_tensors.check_tensor(values, "values")
    if tuple(values.shape) != (nnz,):
        raise ValueError(
            f"values has shape {tuple(values.shape)}: give ({nnz},), one for each stored entry of A"
        )
    if not (values.dtype.is_floating_point or values.dtype.is_complex):
        raise TypeError(f"values is {values.dtype}: give floating-point numbers")


def sddmm(A: csr_array, X: Any, Y: Any) -> Any:
    """`X @ Y.T` at the stored entries of A as a tensor of shape (A.nnz,), differentiable in X and Y.

    `ps.sddmm` is the same for arrays, and returns a matrix.

    Parameters
    ----------
    A : csr_array of shape (m, n)
        Its values do not count.
    X, Y : tensors of shape (m, k) and (n, k), or (m,) and (n,), on the CPU or on one GPU, as `matmul` takes them

    Returns
    -------
    tensor in the order of `A.data`, what `matmul(A, Z, values=...)` takes, of PyTorch's promoted type of X and Y; of
    bfloat16 and float16 float32, as the sums are. Gradients of any order.

    Raises as `matmul`; for `A.T`, TypeError: its entries have another order, give `A.T.formed()`.

    >>> import numpy as np, penstock as ps
    >>> import torch  # doctest: +SKIP
    >>> A = ps.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])  # doctest: +SKIP
    >>> ps.torch.sddmm(A, X, X)  # doctest: +SKIP
    tensor([11., 11.])
    """
    ready()
    if isinstance(A, Transposed):
        raise TypeError(
            "A is a transposed view, whose entries have no order of their own: give A.T.formed()"
        )
    base, _ = _base(A)
    for z, name, length in ((X, "X", base.shape[0]), (Y, "Y", base.shape[1])):
        host_tensors.check_tensor(z, name, (length,))
    host_tensors.check_together(X, Y, "Y")
    if X.ndim != Y.ndim or X.shape[1:] != Y.shape[1:]:
        raise ValueError(
            f"X has shape {tuple(X.shape)} and Y {tuple(Y.shape)}: both need the same number of columns"
        )
    return host_tensors.sampled(base, X, Y)
