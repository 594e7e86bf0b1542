"""Large matrices made in seconds by NumPy, for bench/spmv_gpu.py."""

import numpy as np


def power_law(rng, rows, mean):
    """Pareto row lengths and skewed columns: hubs both ways, as R-MAT has, without its sort."""
    lengths = np.minimum(rng.pareto(1.2, rows) * mean / 5, rows / 8).astype(np.int64)
    columns = rng.permutation(rows).astype(np.int32)  # scrambles which columns are the popular ones
    return (
        lengths,
        rows,
        lambda n: columns[(rng.random(n, np.float32) ** 3 * (rows - 1)).astype(np.int32)],
    )


def uniform(rng, rows, mean):
    return np.full(rows, mean, np.int64), rows, lambda n: rng.integers(0, rows, n, dtype=np.int32)


def laplacian(edge):
    """Seven-point stencil on a cube, columns sorted in each row."""
    i = np.arange(edge**3, dtype=np.int32).reshape(edge, edge, edge)
    keep = np.ones((7, edge, edge, edge), bool)
    keep[0, 0], keep[1, :, 0], keep[2, :, :, 0] = False, False, False
    keep[4, :, :, -1], keep[5, :, -1], keep[6, -1] = False, False, False
    steps = [-edge * edge, -edge, -1, 0, 1, edge, edge * edge]
    mask = np.moveaxis(keep, 0, -1)
    columns = np.stack([i + s for s in steps], -1)[mask]
    return mask.sum(-1, dtype=np.int64).ravel(), edge**3, lambda n: columns


def arrays(shape):
    lengths, cols, columns = shape
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return cols, indptr, columns(int(indptr[-1]))
