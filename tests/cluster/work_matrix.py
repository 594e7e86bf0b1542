"""What work.py multiplies, and test_cluster.py predicts the bytes of."""

import numpy as np

N = 6000  # rows
PRODUCTS = 10
WIDTH = 64  # columns of a dense factor
RANGE = 640  # bytes that a single row of many in a message costs besides, as the library counts
MESSAGE = 1 << 21  # bytes, from each rank to one of the next node


def entries() -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns, eight entries a row on the average; some occur twice."""
    rows, columns = np.random.default_rng(3).integers(0, N, (2, 8 * N))
    return rows, columns
