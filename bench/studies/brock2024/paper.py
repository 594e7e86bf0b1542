"""What the paper reports: Brock, Buluc and Yelick, "RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs",
ICS 2024. Numbers that its text and tables give; no readings of plots.

Summit: six V100 a node, a share of 3.83 GB/s of injection bandwidth each; a DGX-2: sixteen V100 over NVLink. float32.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Matrix:
    """A row of Table 1. `kind` chooses the stand-in: "even", "band" or "power"."""

    rows: int
    nnz: int
    imbalance: float  # most over mean entries, 10 x 10 ranks
    kind: str

    @property
    def per_row(self) -> float:
        return self.nnz / self.rows


TABLE_1 = {
    "mouse_gene": Matrix(45_100, 29_000_000, 2.13, "power"),
    "ldoor": Matrix(952_000, 46_500_000, 8.23, "band"),
    "reddit": Matrix(233_000, 115_000_000, 1.08, "even"),
    "nlpkkt160": Matrix(8_300_000, 230_000_000, 9.46, "band"),
    "amazon_large": Matrix(14_300_000, 230_000_000, 3.78, "power"),
    "com-Orkut": Matrix(3_100_000, 234_000_000, 8.15, "power"),
    "Nm7": Matrix(5_000_000, 648_000_000, 6.38, "band"),
    "Nm8": Matrix(7_600_000, 592_000_000, 6.48, "band"),
    "isolates_subgraph4": Matrix(4_400_000, 327_000_000, 1.00, "even"),
    "isolates_subgraph2": Matrix(17_500_000, 5_200_000_000, 1.00, "even"),
    "friendster": Matrix(62_500_000, 3_400_000_000, 7.68, "power"),
}
TABLE_1_RANKS = 100

# Figure 1: R-MAT squared on 16 x 16 ranks; a = 0.6, the rest equal.
FIGURE_1 = {"scale": 17, "edge_factor": 8, "ranks": 256, "end_to_end": 1.2, "per_stage": 2.3}

# Table 2a: SpMM with 256 columns; seconds of computation, communication, accumulation, load imbalance. None: a dash.
TABLE_2 = {
    ("amazon_large", "c", 24): (0.02, 1.3, None, 0.4),
    ("amazon_large", "c", 192): (0.0, 0.5, None, 0.2),
    ("amazon_large", "a", 24): (0.02, 1.1, 0.4, 0.3),
    ("amazon_large", "a", 192): (0.0, 0.6, 0.2, 0.2),
    ("amazon_large", "c+locality", 24): (0.01, 1.2, 0.03, 0.3),
    ("amazon_large", "c+locality", 192): (0.0, 0.6, 0.01, 0.1),
    ("amazon_large", "summa", 16): (0.02, 2.1, None, None),
    ("amazon_large", "summa", 256): (0.0, 1.0, None, None),
    ("Nm7", "c", 4): (0.44, 0.01, 0.02, 0.14),
    ("Nm7", "c", 16): (0.19, 0.0, 0.09, 0.10),
    ("Nm7", "a", 4): (0.42, 0.0, 0.07, 0.12),
    ("Nm7", "a", 16): (0.09, 0.0, 0.02, 0.10),
    ("Nm7", "summa", 16): (0.64, 0.51, 0.01, 0.15),
}
TABLE_2_COLUMNS = 256

# Figure 2: SpMM with isolates_subgraph2 on 24 GPUs; all widths are well inside the part that the network bounds.
FIGURE_2 = {
    "matrix": "isolates_subgraph2",
    "ranks": 24,
    "columns": (128, 256, 512),
    "bound": "network",
}
SUMMIT_RANKS = (1, 6, 16, 24, 64, 96, 192, 256, 384, 1024, 16384)
DGX2_RANKS = (1, 2, 4, 8, 16)
# Sections 6 and 6.1: matrices whose product on one GPU took less than a second went to the DGX-2.
ON_DGX2 = ("mouse_gene", "ldoor", "reddit", "Nm7", "Nm8")
