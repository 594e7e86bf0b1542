"""What the ranks multiply, and the tests predict the bytes of."""

import numpy as np

RANKS_OF_A_NODE = 2
N = 6000  # rows
PRODUCTS = 10
WIDTH = 64  # columns of a dense factor
OF_TILES = 30  # entries a row where tiles are shared: every rank needs nearly all rows of all tiles
LEFT = 4  # entries a row of the left factor where single rows travel
MESSAGE = 1 << 21  # bytes, from each rank to one of the next node


def entries(per_row: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns, so many entries a row on the average; some occur twice."""
    rows, columns = np.random.default_rng(3).integers(0, N, (2, per_row * N))
    return rows, columns
