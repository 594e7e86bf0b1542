"""A mapped store is input: nothing in it makes a call read or write outside its arrays, or ends the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from attack_support import run_alone

import penstock as ps

HERE = Path(__file__).resolve().parent
N = 1 << 12

# What is done with a store, in a process of its own.
USES = {
    "matvec": "A @ x",
    "columns": "A @ np.ones((n, 4))",
    "transposed": "A.T @ x",
    "out": "A.T.dot(x, out=out)",
    "streamed": "A.dot(x, schedule=ps.Streamed(block=65536))",
    "prepare": "A.prepare('blocked')",
    "explain": "A.has_canonical_format",
    "spgemm": "A @ A",
    "formed": "A.T.formed()",
    "add": "A + A",
    "multiply": "A.multiply(A)",
    "scaled": "2 * A",
    "sum": "A.sum(axis=1)",
    "without_duplicates": "A.without_duplicates()",
    "to_scipy": "A.to_scipy() @ x",
    "indices": "A.indices",
    "rows": "A[:]",
    "take": "A[[3, 1500]]",
    "diagonal": "A.diagonal()",
    "permute": "A.permute(np.arange(n)[::-1].copy(), np.arange(n))",
    "copy": "A.copy()",
    "pickle": "__import__('pickle').dumps(A)",
    "mtx": "A.save(folder + '/copy.mtx')",
    "save": "A.save(folder + '/copy.penstock')",
    "packed": "A.save(folder + '/copy.penstock', packed=True)",
    "bfs": "ps.csgraph.bfs(A, 0)",
    "components": "ps.csgraph.connected_components(A)",
    "strong": "ps.csgraph.strongly_connected_components(A)",
    "pagerank": "ps.csgraph.pagerank(A)",
    "triangles": "ps.csgraph.triangle_count(A)",
    "cores": "ps.csgraph.core_number(A)",
    "sssp": "ps.csgraph.sssp(A, 0)",
    "betweenness": "ps.csgraph.betweenness_centrality(A, k=2)",
    "cg": "ps.linalg.cg(A, x, maxiter=5)",
    "ilu": "ps.linalg.ILU0(A, shift=1)",
    "rcm": "ps.reorder.rcm(A)",
    "partition": "ps.partition.balanced(A, 4)" if hasattr(ps.partition, "balanced") else "A @ x",
    "dist": "ps.dist.run(lambda c: ps.dist.csr_array(A, c).local_shape, 2)",
    "dist of the path": "ps.dist.run(lambda c: ps.dist.csr_array(path, c).local_shape, 2)",
    "tiles of the path": "ps.dist.run(lambda c: ps.dist.tiled_array(path, c).nnz, 2)",
}
SCRIPT = """
import json, os, sys
import numpy as np, penstock as ps
folder, path, cut, size = sys.argv[1:5]
told = {}
for name, use in json.loads(sys.argv[5]).items():
    print(name, flush=True)
    A = ps.open(path)
    n = A.shape[0]
    x = np.ones(n); room = np.full(n + 4096, -5.0); out = room[:n]
    if cut:
        whole = open(cut, "rb").read()
        os.truncate(cut, int(size))
    try:
        eval(use)
        told[name] = "answered"
    except ValueError as e:
        told[name] = "ValueError: " + str(e)
    except Exception as e:
        told[name] = type(e).__name__ + ": " + str(e)
    if cut:
        open(cut, "r+b").write(whole)
    assert (room[n:] == -5.0).all(), "wrote beyond out"
    assert not os.path.exists(folder + "/copy.penstock"), "wrote a store"
print(json.dumps(told))
"""


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.penstock"
    ps.generate.rmat(12, 8, seed=1, dtype=np.float64).save(path, packed=True)
    return path


def poke(path: Path, first: int, *values: int) -> None:
    a = np.load(path, mmap_mode="r+")
    a[first : first + len(values)] = values
    a.flush()


DAMAGE = {
    "columns far beyond": ("indices.npy", 10001, [2**31 - 1] * 20),
    "columns far before": ("indices.npy", 10001, [-(2**31)] * 20),
    "a column one beyond": ("indices.npy", 10007, [N]),
    "offsets fall": ("indptr.npy", 2001, [32000, 0]),
    "an offset is huge": ("indptr.npy", 2001, [2**40]),
    "an offset is largest": ("indptr.npy", 2001, [2**63 - 1]),
    "an offset is negative": ("indptr.npy", 2001, [-(2**40)]),
}


def used(saved: Path, cut: str = "", size: int = 0) -> dict[str, str]:
    args = (saved.parent, saved, cut and saved / cut, size, json.dumps(USES))
    ran = run_alone(SCRIPT, *args)
    lines = ran.stdout.strip().splitlines() or [""]
    assert ran.returncode == 0, f"status {ran.returncode} in {lines[-1]!r}: {ran.stderr[-600:]}"
    return json.loads(lines[-1])


@pytest.mark.parametrize("damage", DAMAGE)
def test_every_call_refuses_a_damaged_structure(saved, damage):
    name, first, values = DAMAGE[damage]
    poke(saved / name, first, *values)
    told = used(saved)
    for use, text in told.items():
        assert text.startswith("ValueError: "), f"{use}: {text}"
        assert str(saved / name) in text and "damaged, write it again" in text, f"{use}: {text}"
        place = "position 100" if name == "indices.npy" else "at row 200"
        assert place in text or "of rows" in text, f"{use}: {text}"


@pytest.mark.parametrize("cut, size", [("indices.npy", 4096), ("indptr.npy", 100), ("data.npy", 0)])
def test_every_call_refuses_a_file_that_was_cut(saved, cut, size):
    patterns = {"bfs", "components", "strong", "triangles", "cores", "betweenness", "rcm"}
    for use, text in used(saved, cut, size).items():
        if use in patterns and cut == "data.npy" and text == "answered":
            continue
        if "of the path" in use:
            assert text.startswith("ValueError: "), f"{use}: {text}"
            continue
        assert text.startswith("ValueError: ") and "truncated" in text, f"{use}: {text}"
        assert str(saved / cut) in text, f"{use}: {text}"


def test_a_plan_refuses_a_file_that_was_cut_after_it_was_made(saved):
    told = run_alone(
        """
        import os, sys, numpy as np, penstock as ps
        path = sys.argv[1]
        A = ps.open(path); x = np.ones(A.shape[1])
        A.prepare(schedule=ps.Streamed(device="cpu")); A @ x
        part = A[100:2000]; half = A * 0.5
        os.truncate(path + "/indices.npy", 4096)
        for work in (lambda: A @ x, lambda: part @ x, lambda: half @ x, lambda: A.T @ x):
            try: work(); print("answered")
            except ValueError as e: print("truncated" in str(e))
        """,
        saved,
    )
    assert told.stdout.split() == ["True"] * 4, told.stdout + told.stderr


def test_damage_is_not_copied_with_fresh_checksums(tmp_path):
    for name, at, value in (
        ("data.npy", 1000, 7e30),
        ("indices.npy", 1000, 2499),
        ("indptr.npy", 777, None),
    ):
        path, copy = tmp_path / "a.penstock", tmp_path / "copy.penstock"
        ps.generate.laplacian((50, 50)).save(path)
        a = np.load(path / name, mmap_mode="r+")
        a[at] = a[at] - 1 if value is None else value  # a matrix still
        a.flush()
        with pytest.raises(ValueError, match="has the checksum .* is not copied") as told:
            ps.open(path).save(copy)
        assert str(path / name) in str(told.value)
        assert not copy.exists() and os.listdir(tmp_path) == ["a.penstock"]
        with pytest.raises(ValueError, match="has the checksum"):
            ps.open(path, trusted=True).save(path)  # over itself
        if name == "data.npy":
            (ps.open(path) * 2).save(copy)  # computed from it: a matrix of its own
        for left in (path, copy):
            for file in left.glob("*"):
                file.unlink()
            if left.exists():
                left.rmdir()


def test_a_good_store_is_copied(saved, tmp_path):
    ps.open(saved).save(tmp_path / "b.penstock", packed=True)
    A, B = ps.open(saved), ps.open(tmp_path / "b.penstock", validate=True)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(A, part), getattr(B, part))


def test_it_is_checked_once_and_by_rows(saved):
    poke(saved / "indices.npy", 20000, N + 5)
    indptr = np.load(saved / "indptr.npy")
    row = int(np.searchsorted(indptr, 20000, side="right")) - 1
    A = ps.open(saved)
    assert (A[: row - 1] @ np.ones(N)).shape == (row - 1,)
    A[row + 1 :].T @ np.ones(N - row - 1)
    for part in (lambda: A[row : row + 1], lambda: A[: row + 2]):
        with pytest.raises(ValueError, match="column index 4101 at position 20000"):
            part()
    assert A.shape == (N, N) and A.nnz == indptr[-1] and "mapped" in repr(A)  # asks no entry
    assert ps.open(saved, trusted=True).indices[20000] == N + 5  # nobody looks
    for _ in range(2):
        with pytest.raises(ValueError, match="position 20000"):
            A @ np.ones(N)
    poke(saved / "indices.npy", 20000, 5)  # repaired in place
    A @ np.ones(N)
    poke(saved / "indices.npy", 20000, N + 5)
    assert A.indices[20000] == N + 5  # later uses are free: it is not looked at again


def test_first_uses_of_several_threads(saved):
    good, bad = ps.open(saved), saved
    x, y, seen = np.ones(N), [], []
    threads = [threading.Thread(target=lambda: y.append(good @ x)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(y) == 8 and all(np.array_equal(one, y[0]) for one in y)
    poke(bad / "indices.npy", 10001, N)
    A = ps.open(bad)

    def use():
        try:
            A @ x
        except ValueError as e:
            seen.append("position 10001" in str(e))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [True] * 8


def test_the_packed_form_and_the_sample_are_checked_before_they_are_used(saved, tmp_path):
    packed = ps.Streamed(codec="packed")
    A, x = ps.open(saved), np.ones(N)
    expected = A.dot(x, schedule=packed)
    raw = bytearray((saved / "packed.npy").read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 64] = b"\xff" * 64
    (saved / "packed.npy").write_bytes(raw)
    A = ps.open(saved)
    told = ""
    try:
        y = A.dot(x, schedule=packed)
    except ValueError as error:
        told = str(error)
        assert "packed.npy" in told and "save the store again with packed=True" in told
    else:
        assert y.shape == expected.shape
    with pytest.raises(ValueError, match=r"packed\.npy"):
        A.save(tmp_path / "b.penstock", packed=True)
    assert not (tmp_path / "b.penstock").exists()
    path = tmp_path / "g.penstock"
    ps.generate.rmat(11, seed=4).save(path, sample=True)
    slots = np.load(path / "sample.npy", mmap_mode="r+")
    slots[4 * 1234] ^= 1
    slots.flush()
    with pytest.raises(ValueError, match="vertex 1234"):
        ps.open(path).save(tmp_path / "b.penstock")


def test_opening_reads_no_more_than_before(saved):
    """It looks at ends and samples, whatever the size."""
    poke(saved / "indices.npy", 10001, N)
    ps.open(saved)
    with pytest.raises(ValueError, match="position 10001"):
        ps.open(saved, validate=True)


def test_the_check_costs_less_than_a_product(tmp_path):
    """In seconds of processors, which other programs take no part in."""
    path = tmp_path / "big.penstock"
    ps.generate.rmat(18, 16, seed=1, dtype=np.float64).save(path)

    def first_use(**how):
        A = ps.open(path, **how)
        begin = time.process_time()
        _ = A.indices
        return time.process_time() - begin, A

    check = min(first_use()[0] for _ in range(3))
    A = first_use()[1]
    x = np.ones(A.shape[1])
    A @ x
    product = float("inf")
    for _ in range(3):
        begin = time.process_time()
        A @ x
        product = min(product, time.process_time() - begin)
    assert check < 6 * product  # generous: other work on the machine slows both, and not alike


def test_mutated_stores():
    """A few of what the fuzzer tries for longer."""
    fuzz = HERE.parent / "fuzz" / "fuzz_store.py"
    ran = subprocess.run(
        [sys.executable, fuzz, "--seconds", "6", "--count", "60", "--seed", "5"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
