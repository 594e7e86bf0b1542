"""What the paper reports: Min, Mailthody, Qureshi, Xiong, Ebrahimi, Hwu, "EMOGI: Efficient Memory-access for
Out-of-memory Graph-traversal In GPUs", PVLDB 14(2), 2020. Numbers that its text and tables give; no readings of plots.

One Tesla V100 of 16 GB on PCIe 3.0 x16, two Xeon Gold 6230. Ids take 8 bytes, 4 in table 3; weights 4 bytes, 8 to 72.
"""

from __future__ import annotations

from dataclasses import dataclass

WEIGHTS = (8, 72)  # section 5.2: the least and the largest
SOURCES = 64  # random ones, the same for everybody


@dataclass(frozen=True)
class Graph:
    """A row of table 2, sizes without unit."""

    vertices: float
    edges: float


TABLE_2 = {
    "GAP-kron": Graph(134.2e6, 4.22e9),
    "GAP-urand": Graph(134.2e6, 4.29e9),
    "Friendster": Graph(65.6e6, 3.61e9),
    "MOLIERE_2016": Graph(30.2e6, 6.67e9),
    "sk-2005": Graph(50.6e6, 1.95e9),
    "uk-2007-05": Graph(105.9e6, 3.74e9),
}
SAME = {"kron27": "GAP-kron", "uniform27": "GAP-urand"}  # ours that are theirs, but for the seed

# Section 3.3 and figure 4, GB/s over PCIe 3.0: strided from the arithmetic (round trips of 1.6 and 1.0 us, 256 tags).
COPY_STRIDED, COPY_ALIGNED, MEMCPY, UVM = (4.77, 7.63), 12.23, 12.3, 9.0

# Figure 8 and section 5.3.2, GB/s in BFS: "up to" for strided, +0.5 to 1 over merged for aligned.
BFS_RATE = {"strided": 4.7, "merged": 11.0, "aligned": 12.0, "managed_read_mostly": 9.0}

# Figure 9 and section 5.3.3: speed over UVM on average over the graphs; aligned is 1.10 times merged.
BFS_SPEED = {"strided": 0.73, "merged": 3.24, "aligned": 3.24 * 1.10, "managed_read_mostly": 1.0}

# Figures 5 and 7, section 5.3.1: share of 128-byte requests of merged on average; factors by which aligned raises it;
# how many fewer requests than before, at most.
SHARE_128_MERGED, SHARE_128_GAIN = 0.40, {"GAP-kron": 1.86, "GAP-urand": 1.25}
FEWER_REQUESTS = {"merged": 0.833, "aligned": 0.288}

# Figure 10 and section 5.3.4: bytes read over bytes of the edges, in BFS.
AMPLIFICATION_UVM = {"Friendster": 5.16, "MOLIERE_2016": 2.28, "sk-2005": 1.14}
AMPLIFICATION_ALIGNED = 1.31  # at most

# Section 5.4 and figure 11: speed over UVM, BFS, SSSP and CC together.
MEAN_SPEED = 2.92

# Table 3: seconds of EMOGI with 4-byte ids on the V100, and of Subway.
TABLE_3 = {
    ("sssp", "GAP-kron"): (7.94, 20.96),
    ("sssp", "Friendster"): (6.97, 14.95),
    ("sssp", "sk-2005"): (3.92, 8.99),
    ("sssp", "uk-2007-05"): (8.08, 25.78),
    ("bfs", "GAP-kron"): (1.66, 6.88),
    ("bfs", "Friendster"): (1.49, 4.22),
    ("bfs", "sk-2005"): (0.85, 1.69),
    ("bfs", "uk-2007-05"): (1.85, 8.75),
    ("cc", "GAP-kron"): (3.11, 6.34),
    ("cc", "Friendster"): (2.75, 4.31),
}
TABLE_3_SPEED = {
    ("sssp", "GAP-kron"): 2.64, ("sssp", "Friendster"): 2.14, ("sssp", "sk-2005"): 2.30,
    ("sssp", "uk-2007-05"): 3.19, ("bfs", "GAP-kron"): 4.14, ("bfs", "Friendster"): 2.83,
    ("bfs", "sk-2005"): 1.99, ("bfs", "uk-2007-05"): 4.73, ("cc", "GAP-kron"): 2.04,
    ("cc", "Friendster"): 1.57,
}  # fmt: skip

# Not the paper's: seconds of public programs, measured before on one H200 (PCIe 5) and 16 cores of its host: R-MAT 25,
# 1.07 G stored edges, 4-byte ids, 8 sources.
H200 = {
    ("emogi", "bfs"): 0.1675, ("emogi", "sssp"): 0.381, ("emogi", "cc"): 0.2527,
    ("emogi_in_core", "bfs"): 0.0825, ("emogi_in_core", "sssp"): 0.1107, ("emogi_in_core", "cc"): 0.1021,
    ("gap", "bfs"): 0.1206, ("gap", "sssp"): 1.807, ("gap", "cc"): 0.2103,
}  # fmt: skip
H200_GRAPH = "kron25"


def known(name: str) -> str | None:
    """The paper's graph that one of ours stands for.

    >>> known("kron27"), known("com-friendster"), known("kron25")
    ('GAP-kron', 'Friendster', None)
    """
    plain = name.lower().replace("_", "-")
    return SAME.get(name) or next(
        (n for n in TABLE_2 if n.lower().replace("_", "-") in plain), None
    )


def seconds(algorithm: str, name: str) -> float | None:
    """Of the paper's program on its V100.

    >>> seconds("bfs", "kron27")
    1.66
    """
    found = TABLE_3.get((algorithm, known(name) or ""))
    return found[0] if found else None
