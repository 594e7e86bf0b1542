"""Ctrl-C ends every long call within half a second."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from pathlib import Path

CALLS = """
A = ps.generate.rmat(14, 32, seed=1, dtype=np.float64)
X = np.ones((A.shape[1], 400))
F = np.asfortranarray(X)
G = ps.generate.rmat(17, 16, seed=1)
L = ps.generate.laplacian((60, 60, 60))
calls = {
    "spmm": lambda: A @ X, "spmm of columns": lambda: A @ F, "spmm of float32": lambda: A @ X32,
    "spmm transposed": lambda: A.T @ X, "spmm streamed": lambda: A.dot(X, schedule=ps.Streamed(block="1MB")),
    "spgemm": lambda: A @ A, "transpose": lambda: ps.csr_array(A[:]).T.formed(), "sum": lambda: A + A,
    "rmat": lambda: ps.generate.rmat(20, 16, seed=5), "laplacian": lambda: ps.generate.laplacian((160, 160, 160)),
    "triangles": lambda: ps.csgraph.triangle_count(G), "betweenness": lambda: ps.csgraph.betweenness_centrality(G, k=9),
    "ilu": lambda: ps.linalg.ILU0(L), "ic": lambda: ps.linalg.IC0(L),
    "labels": lambda: ps.partition.label_propagation(G, 9),
    "save npz": lambda: A.save(sys.argv[1] + "/b.npz"), "load npz": lambda: ps.load(sys.argv[1] + "/a.npz"),
    "load txt": lambda: ps.load(sys.argv[1] + "/a.txt"), "load mtx": lambda: ps.load(sys.argv[1] + "/a.mtx.gz"),
}
X32 = X.astype(np.float32)
"""
HEAR = (
    """
import sys, time
import numpy as np, penstock as ps
from penstock._io._polars_text import polars
polars()
"""
    + CALLS
    + """
for name in ("a.npz", "a.txt", "a.mtx.gz"):
    A.save(sys.argv[1] + "/" + name)
for name in sys.argv[2:]:
    print("go", flush=True)
    try:
        while True:
            calls[name]()
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
"""
)
NAMES = [
    "spmm", "spmm of columns", "spmm of float32", "spmm transposed", "spmm streamed", "spgemm", "transpose", "sum",
    "rmat", "laplacian", "triangles", "betweenness", "ilu", "ic", "labels", "save npz", "load npz", "load txt",
    "load mtx",
]  # fmt: skip


def test_ctrl_c_is_heard_within_half_a_second(tmp_path: Path) -> None:
    """By the best of three: other programs may hold the machine."""
    heard: dict[str, float] = {}
    left = list(NAMES)
    for _ in range(3):
        words = [sys.executable, "-c", HEAR, str(tmp_path), *left]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for name in left:
                assert child.stdout.readline() == "go\n", name
                time.sleep(0.15)
                begin = time.monotonic()
                child.send_signal(signal.SIGINT)
                took = float(child.stdout.readline()) - begin
                heard[name] = min(took, heard.get(name, math.inf))
        left = [name for name in left if heard[name] > 0.5]
        if not left:
            break
    assert not left, {name: heard[name] for name in left}
