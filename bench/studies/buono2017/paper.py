"""What the paper reports: Buono, Artico, Checconi, Choi, Que, Schneidenbach, "Data Analytics with NVLink: An SpMV Case
Study", Computing Frontiers 2017. Numbers that its text and tables give; what only a plot shows is a range here.

One Power S822LC: 2 POWER8 of 10 cores, 512 GB each, 4 Tesla P100 of 16 GB, each on NVLink of 38.4 GB/s a direction.
A nonzero of CSR takes 16 bytes there (8-byte columns, float64 values) and 12 here.
"""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[float, float]
BYTES_PER_NONZERO = 16

# Section 2.2 and figure 2, GB/s from host to device.
PINNED, PAGEABLE, FOUR_GPUS, LINK_PEAK = 30.0, (10.0, 11.0), 120.0, 38.4
FULL_SPEED_FROM = 4 << 20  # bytes a transfer

# Section 3.2.2 and figure 4: R-MAT 26. The model's best count is "around 10"; the runs used 14.
MODEL_MATRIX, MODEL_BEST_BLOCKS, BLOCKS_USED = "R-MAT 26", 10, 14


@dataclass(frozen=True)
class Matrix:
    """A row of table 2. `gib` is the size that the table calls GB."""

    rows: float
    nnz: float
    mean: float
    longest: float
    gib: float


TABLE_2 = {
    "Friendster": Matrix(124e6, 3.6e9, 28.9, 5.2e3, 54.75),
    "IT-2004": Matrix(41e6, 1.13e9, 27.8, 9.9e3, 17.23),
    "Arabic-2005": Matrix(22.7e6, 631e6, 27.75, 9.9e3, 9.57),
    "Orkut": Matrix(3e6, 234e6, 76.3, 33e3, 3.51),
    "R-MAT 25": Matrix(32e6, 1e9, 32, 638e3, 15.85),
    "R-MAT 26": Matrix(64e6, 2e9, 32, 1e6, 31.84),
    "R-MAT 27": Matrix(128e6, 4e9, 32, 1.5e6, 63.93),
    "R-MAT 28": Matrix(256e6, 8e9, 32, 2.4e6, 128.24),
    "R-MAT 29": Matrix(512e6, 16e9, 32, 3.8e6, 257.12),
    "BTER 25": Matrix(32e6, 1e9, 32, 57e3, 16.23),
    "BTER 26": Matrix(64e6, 2e9, 32, 47e3, 32.48),
    "BTER 27": Matrix(128e6, 4e9, 32, 81e3, 64.99),
    "BTER 28": Matrix(256e6, 8e9, 32, 67e3, 129.95),
    "BTER 29": Matrix(512e6, 16e9, 32, 82e3, 259.93),
}


@dataclass(frozen=True)
class Speed:
    """GFLOP/s of section 4.2, over the matrices of a family; gain is streamed / CPU - 1. The CPU numbers are those of
    the blocking algorithm; of binning the paper says only that it was slower."""

    cpu: Range | None
    streamed: Range
    gain: Range


SPEED = {
    "R-MAT": Speed(None, (11.89, 13.83), (0.23, 1.20)),
    "BTER": Speed(None, (13.22, 14.15), (0.51, 1.15)),
    "real": Speed((8.5, 9.88), (13.4, 16.20), (0.41, 0.64)),
}
CPU_PEAK = 10.0  # "peaks at about 10, slowly degrading as the size of the matrix increases"
STREAMED = {"R-MAT 25": 11.94, "R-MAT 29": 13.81, "Orkut": 16.20}  # tables 3 and 4, section 4.2
MEAN_GAIN = 0.62


def streamed(matrix: str) -> str:
    """GFLOP/s of four P100, as a cell of a table: a number where the paper gives one, or the family's range.

    >>> streamed("R-MAT 25"), streamed("R-MAT 26"), streamed("my graph")
    ('11.9', '11.9-13.8', '-')
    """
    if matrix in STREAMED:
        return f"{STREAMED[matrix]:.1f}"
    if matrix not in TABLE_2:
        return "-"
    low, high = SPEED[matrix.split()[0] if " " in matrix else "real"].streamed
    return f"{low:.1f}-{high:.1f}"


def blocked(matrix: str) -> str:
    """GFLOP/s of two POWER8 by blocking; "<= 10" where only the peak over all matrices is told.

    >>> blocked("Orkut"), blocked("BTER 26")
    ('8.5-9.9', '<= 10')
    """
    if matrix not in TABLE_2:
        return "-"
    cpu = SPEED["real"].cpu if " " not in matrix else None
    return f"{cpu[0]:.1f}-{cpu[1]:.1f}" if cpu else f"<= {CPU_PEAK:.0f}"


@dataclass(frozen=True)
class Share:
    """A GPU's row of table 3."""

    nnz: int
    seconds: float
    gflops: float


TABLE_3 = [
    Share(261_805_091, 0.150657, 3.475516),
    Share(261_802_582, 0.150595, 3.476903),
    Share(261_799_623, 0.175415, 2.984909),
    Share(261_799_470, 0.149405, 3.504558),
]
TABLE_3_ALL = Share(1_047_206_766, 0.175441, 11.937977)

# Section 4.3 and figure 6, strong (R-MAT 27) and weak (R-MAT 25 to 27): "approximately 1.8x", "about 3.5x".
SPEEDUP = {1: 1.0, 2: 1.8, 4: 3.5}
