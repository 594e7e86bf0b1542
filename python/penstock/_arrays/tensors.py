"""PyTorch's sparse tensors in and out, and arrays by DLPack. PyTorch is imported by `to_torch` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

_HOST = (1, 3)  # DLPack's kDLCPU and kDLCUDAHost: memory that the CPU reads


def host_array(x: Any, name: str) -> np.ndarray:
    """A NumPy array from anything with `__dlpack__`, or that NumPy takes: shared where it is in host memory, else
    copied to it where its library can export a copy."""
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack__") or isinstance(x, np.generic):
        return np.asarray(x)
    if hasattr(x, "detach"):  # a tensor that is part of a gradient does not export
        x = x.detach()
    kind = int(x.__dlpack_device__()[0]) if hasattr(x, "__dlpack_device__") else _HOST[0]
    if kind in _HOST:
        return np.from_dlpack(x)
    try:
        return np.from_dlpack(x, device="cpu", copy=True)
    except (TypeError, ValueError, BufferError, RuntimeError) as e:
        raise TypeError(
            f"{name} is in the memory of a device (DLPack's type {kind}), and its library exports no copy for the "
            f"host ({e}): move it there first, with .cpu() or .get()"
        ) from None


def torch_layout(x: Any) -> str:
    """ "csr", "coo", another of PyTorch's sparse layouts, or "" for what is no sparse tensor."""
    name = str(getattr(x, "layout", ""))
    return name.removeprefix("torch.sparse_") if name.startswith("torch.sparse_") else ""


def from_torch(x: Any, shape: Any, dtype: Any, copy: bool | None = None) -> Any:
    """A core matrix from a tensor of layout torch.sparse_csr or torch.sparse_coo."""
    from penstock._arrays.convert import from_coo_parts, from_csr_parts

    layout = torch_layout(x)
    if layout not in ("csr", "coo"):
        raise TypeError(
            f"a tensor of layout torch.sparse_{layout}: convert it with .to_sparse_csr() first"
        )
    if len(x.shape) != 2:
        raise ValueError(
            f"a sparse tensor of shape {tuple(x.shape)}: a matrix has two dimensions, take one of a batch"
        )
    size = tuple(int(n) for n in x.shape) if shape is None else shape
    if layout == "csr":
        parts = x.values(), x.col_indices(), x.crow_indices()
        values, indices, indptr = (host_array(p, "the tensor") for p in parts)
        return from_csr_parts(values, indices, indptr, size, dtype, copy)
    x = x.coalesce()
    index, values = host_array(x.indices(), "the tensor"), host_array(x.values(), "the tensor")
    if index.shape[0] != 2:
        raise ValueError(
            f"a hybrid tensor with {index.shape[0]} sparse dimensions: a matrix has two"
        )
    return from_coo_parts(values, index[0], index[1], size, dtype)


def to_torch(a: csr_array) -> Any:
    """See `csr_array.to_torch`."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as e:
        raise ImportError("to_torch needs PyTorch: pip install torch") from e
    a = a.without_duplicates()  # PyTorch wants its rows so
    # Copies: a tensor may be written, our arrays may not.
    crow, col = (torch.from_numpy(i.astype(np.int64)) for i in (a.indptr, a.indices))
    return torch.sparse_csr_tensor(crow, col, torch.from_numpy(np.array(a.data)), size=a.shape)


def from_edge_index(
    edge_index: Any, edge_weight: Any = None, num_nodes: int | None = None
) -> csr_array:
    """The adjacency matrix of PyTorch Geometric's edges: entry (edge_index[0, e], edge_index[1, e]) for every edge e.

    Parameters
    ----------
    edge_index : integers of shape (2, E): an array, or anything with `__dlpack__` (PyTorch, JAX, CuPy on the host)
        A tensor on a device is copied to the host where its library can do so, and refused otherwise.
    edge_weight : E numbers, optional
        Float32 stays float32; without them the matrix is a pattern. Weights of parallel edges add up.
    num_nodes : int, optional
        Rows and columns; by default one more than the largest number in edge_index.

    Raises ValueError that names an edge outside the matrix, or a number of vertices beyond 2^31 - 1.

    >>> import numpy as np, penstock as ps
    >>> ps.from_edge_index(np.array([[0, 0, 2], [1, 2, 1]])).toarray().astype(int)
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 1, 0]])
    """
    from penstock._matrix.edges import matrix_of, numbered, weights_of

    index = host_array(edge_index, "edge_index")
    if index.ndim != 2 or index.shape[0] != 2 or (index.size and index.dtype.kind not in "iu"):
        raise ValueError(
            f"edge_index has dtype {index.dtype} and shape {index.shape}: give integers of shape (2, E)"
        )
    index = index.astype(np.int64) if index.size == 0 else index
    weights = None
    if edge_weight is not None:
        weights = weights_of(host_array(edge_weight, "edge_weight"), index.shape[1], "edge_weight")
    n = numbered(index[0], index[1], num_nodes, "edge_index[0]", "edge_index[1]")
    return matrix_of(n, index[0], index[1], weights, True, True)
