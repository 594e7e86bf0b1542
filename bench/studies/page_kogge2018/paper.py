"""What the paper reports: Page and Kogge, "Scalability of Hybrid Sparse Matrix Dense Vector (SpMV) Multiplication",
HPCS 2018. Numbers that its text and Table I give; no readings of plots.

72 nodes of two Xeon E5-2650v2, FDR InfiniBand, MVAPICH2; a rank a socket with a thread a core; 50 runs averaged.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Matrix:
    """A row of Table I, and what it is like: `kind` chooses the stand-in."""

    rows: int
    nnz: int
    kind: str  # "stencil", "mesh", "power"

    @property
    def per_row(self) -> float:
        return self.nnz / self.rows


# In the paper's order: ascending entries a row. The kinds are ours, after the collection's descriptions.
TABLE_1 = {
    "atmosmodd": Matrix(1270432, 8814880, "stencil"),
    "parabolic_fem": Matrix(525825, 3674625, "mesh"),
    "rajat30": Matrix(643994, 6174244, "power"),
    "CurlCurl_3": Matrix(1219574, 13544618, "mesh"),
    "offshore": Matrix(259789, 4242673, "mesh"),
    "Fem_3D_thermal2": Matrix(147900, 3489300, "mesh"),
    "nlpkkt80": Matrix(1062400, 28192672, "mesh"),
    "CO": Matrix(221119, 7666057, "mesh"),
    "gsm_106857": Matrix(589446, 21758924, "mesh"),
    "msdoor": Matrix(415863, 19173163, "mesh"),
    "bmw3_2": Matrix(227632, 11288630, "mesh"),
    "BenElechi1": Matrix(245874, 13150496, "mesh"),
    "t3dh": Matrix(79171, 4352105, "mesh"),
    "F2": Matrix(71505, 4294285, "mesh"),
    "consph": Matrix(83334, 6010480, "mesh"),
    "SiO2": Matrix(155331, 11283503, "mesh"),
    "torso1": Matrix(116158, 8516500, "power"),
    "dielFilterV3real": Matrix(1102824, 89306020, "mesh"),
    "RM07R": Matrix(381689, 37464962, "mesh"),
    "m_t1": Matrix(97578, 9753570, "mesh"),
    "crankseg_2": Matrix(63838, 14148858, "mesh"),
    "nd24k": Matrix(72000, 28715634, "mesh"),
    "TSOPF_RS_b2383": Matrix(38120, 16171169, "power"),
    "mouse_gene": Matrix(45101, 28967291, "power"),
    "human_gene1": Matrix(22283, 24669643, "power"),
}

# V-C and V-D: least, median and most MAD over the suite, of nnz. The number of ranks is not said.
MAD = {"naive": (6.0e-03, 7.1e-02, 3.2e-01), "balanced": (2.7e-08, 4.74e-06, 6.7e-03)}

RANKS = (1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121)  # process grids are square; figures 5 to 9
DOMINATES = 4  # VI-B: with more ranks MPI_Reduce "nearly always" takes longer than the product
STOPS = {"dense": 16, "middle": 4, "sparse": 1}  # VI-C, figure 9: speedup ends at
DENSE, SPARSE = 100.0, 10.0  # entries a row that separate those bands
SECOND_SWITCH = (
    81  # VI-B: from here on communication is "somewhere in the range of 10x" dearer than at 64
)


def band(per_row: float) -> str:
    return "dense" if per_row > DENSE else "sparse" if per_row < SPARSE else "middle"
