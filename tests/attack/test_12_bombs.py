"""Small files that unpack to much, or say more than is there: memory and time follow the matrix."""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

HEAD = b"%%MatrixMarket matrix coordinate real general\n"
UNIT = 1 << 22


def packed_bomb(path: Path, head: bytes, unit: bytes, size: int, tail: bytes = b"") -> Path:
    """`unit` over and over between head and tail, as members of one gzip file: made at once, whatever its size."""
    block = unit * (UNIT // len(unit))
    middle = gzip.compress(block, 6) * -(-size // len(block))
    path.write_bytes(gzip.compress(head) + middle + gzip.compress(tail))
    return path


# name: header, what is repeated, what comes after it (so that there is a matrix)
BOMBS = {
    "blank.mtx.gz": (HEAD, b"\n", b"1 1 1\n1 1 1\n"),
    "body.mtx.gz": (HEAD + b"3 3 1\n", b"\n", b"1 1 1\n"),
    "comments.mtx.gz": (HEAD, b"%x\n", b"1 1 1\n1 1 1\n"),
    "comments.txt.gz": (b"", b"#\n", b"0 1\n"),
    "within.txt.gz": (b"0 1\n", b"#\n", b"1 0\n"),
    "blank.csv.gz": (b"0,1\n", b"\n", b"1,0\n"),
    "comments.gr.gz": (b"c\n", b"c\n", b"p sp 2 1\na 1 2 3\n"),
    "within.gr.gz": (b"p sp 2 1\n", b"c x\n", b"a 1 2 3\n"),
    "comments.hgr.gz": (b"1 3\n", b"%\n", b"1 2\n"),
    "comments.graph.gz": (b"2 1\n", b"%\n", b"2\n1\n"),
    "blank.graph.gz": (b"2 1\n2\n1\n", b"\n", b""),
}

CHILD = """
import json, resource, sys, time
import numpy as np, penstock as ps
from penstock._io._polars_text import polars
polars(), ps.csr_array(np.eye(2))
answers = []
for path in sys.argv[2:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    try:
        a = ps.load(path, max_inflation=float(sys.argv[1]) if sys.argv[1] != "-" else None)
        said = [list(a.shape), a.nnz]
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    answers.append([said, time.process_time() - begin, grown >> 10])
print(json.dumps(answers))
"""


def load_apart(limit: object, *paths: Path) -> list:
    """[what load said, seconds of CPU, MB that it took more than those before] of each."""
    words = [sys.executable, "-c", CHILD, str(limit), *map(str, paths)]
    r = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(r.stdout)


def test_what_unpacks_to_too_much_is_refused_soon_and_in_little_memory(tmp_path):
    paths = [
        packed_bomb(tmp_path / name, head, unit, 280 << 20, tail)
        for name, (head, unit, tail) in BOMBS.items()
        if name in ("comments.mtx.gz", "within.txt.gz", "blank.graph.gz")
    ]
    for path, (said, seconds, megabytes) in zip(paths, load_apart("-", *paths), strict=True):
        assert said.startswith(f"ValueError: {path}: ") and "max_inflation=inf" in said
        assert "over 200 times as many" in said
        assert seconds < 20 and megabytes < 400, (path.name, seconds, megabytes)


def test_time_and_memory_follow_the_matrix_that_is_there(tmp_path):
    paths = [
        packed_bomb(tmp_path / name, head, unit, 20 << 20, tail)
        for name, (head, unit, tail) in BOMBS.items()
    ]
    for path, (said, seconds, megabytes) in zip(paths, load_apart("inf", *paths), strict=True):
        assert not isinstance(said, str), said
        assert said[1] <= 2, path.name
        assert seconds < 8 and megabytes < 400, (path.name, seconds, megabytes)


def test_a_file_below_256_mib_is_not_asked_how_well_it_packed(tmp_path):
    path = packed_bomb(tmp_path / "a.txt.gz", b"0 1\n", b"0 1\n", 8 << 20)
    assert os.path.getsize(path) * 200 < 8 << 20
    assert ps.load(path).nnz == 1


def test_the_bound_is_an_option(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock._io._errors.FREE_BYTES", 1 << 20)
    path = packed_bomb(tmp_path / "a.txt.gz", b"0 1\n", b"#\n", 8 << 20)
    with pytest.raises(ValueError, match=r"a\.txt\.gz: .* over 200 times"):
        ps.load(path)
    assert ps.load(path, max_inflation=math.inf).nnz == 1
    assert ps.load(path, max_inflation=5000).nnz == 1
    for wrong in (0.5, 0, -1, math.nan, True, "many"):
        with pytest.raises(ValueError, match="max_inflation="):
            ps.load(path, max_inflation=wrong)


def test_the_bound_is_an_option_of_the_command_line(tmp_path):
    path = packed_bomb(tmp_path / "a.graph.gz", b"", b"%\n", 260 << 20)
    words = [sys.executable, "-m", "penstock"]
    r = subprocess.run([*words, "info", path], capture_output=True, text=True)
    assert r.returncode == 2 and "--max-inflation" in r.stderr and len(r.stderr.splitlines()) == 1
    assert r.stderr.startswith(f"penstock: {path}: ")
    small = packed_bomb(tmp_path / "b.graph.gz", b"2 1\n2\n1\n", b"\n", 1 << 20)
    for how in ([], ["--max-inflation", "inf"]):
        r = subprocess.run([*words, *how, "info", "--json", small], capture_output=True, text=True)
        assert json.loads(r.stdout)["nnz"] == 2
    r = subprocess.run([*words, "--max-inflation", "0", "info", small], capture_output=True)
    assert r.returncode == 2


def test_npz_and_parquet_bombs(tmp_path):
    pl = pytest.importorskip("polars")
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, array in {
            "format": np.array(b"csr"),
            "shape": np.array([2, 2]),
            "indptr": np.array([0, 1, 2]),
            "indices": np.array([0, 1]),
            "data": np.zeros(40 << 20),
        }.items():
            with z.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)
    edges = tmp_path / "a.parquet"
    zeros = pl.zeros(20 << 20, dtype=pl.Int64, eager=True)
    pl.DataFrame({"source": zeros, "target": zeros}).write_parquet(edges, compression="zstd")
    for bomb in (path, edges):
        with pytest.raises(ValueError, match="max_inflation=inf") as refusal:
            ps.load(bomb)
        assert str(refusal.value).startswith(str(bomb))


def test_headers_that_claim_much_take_nothing(tmp_path):
    texts = {
        "vertices.graph": b"2147483647 3\n\n\n",
        "edges.graph": b"2147483647 2147483647\n2\n1\n",
        "weights.graph": b"16000000 1 010 1048576\n1 2\n1 1\n",
        "nets.hgr": b"9000000000000000000 5\n1 2\n",
        "entries.mtx": HEAD + b"3 3 9000000000000000000\n1 1 1\n",
        "arcs.gr": b"p sp 2147483647 9000000000000000000\na 1 2 3\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text))
    paths = sorted(tmp_path.iterdir())
    for path, (said, seconds, megabytes) in zip(paths, load_apart("-", *paths), strict=True):
        assert isinstance(said, str) and said.startswith(f"ValueError: {path}"), (path.name, said)
        assert seconds < 5 and megabytes < 100, (path.name, said, seconds, megabytes)


def test_lines_are_named_behind_many_comments(tmp_path):
    path = tmp_path / "a.graph"
    path.write_bytes(b"% c\n" * 1000 + b"3 2\n" + b"% d\n" * 7 + b"2\n%\n1 9\n2\n")
    with pytest.raises(ValueError, match=r"a\.graph:1011: neighbour 9 is outside 1 \.\. 3"):
        ps.load(path)
    path.write_bytes(b"% c\n" * 1000 + b"3 1\n" + b"% d\n" * 7 + b"2\n%\n1\n\n\n% e\n4\n")
    with pytest.raises(ValueError, match=r"a\.graph:1015: goes on after the 3 vertices"):
        ps.load(path)
    edges = tmp_path / "a.txt"
    edges.write_bytes(b"# c\n" * 5000 + b"0 1\n0 x\n")
    with pytest.raises(ValueError, match=r"a\.txt:5002: column number 'x'"):
        ps.load(edges)
    edges.write_bytes(b"# c\n" * 50 + b"# shape 7 9\n" + b"# c\n\n" * 50 + b"0 1\n")
    assert ps.load(edges).shape == (7, 9)


@pytest.mark.parametrize("name", ["a.gr", "a.txt", "a.csv"])
def test_lines_of_many_fields_and_long_numbers_take_little(tmp_path, name):
    start, line = (b"p sp 3 2\n", b"a 1 2 3") if name == "a.gr" else (b"", b"1 2 3")
    start, line = (start, line.replace(b" ", b",")) if name == "a.csv" else (start, line)
    separator = b"," if name == "a.csv" else b" "
    paths = []
    for k, long in enumerate((b" " * (2 << 20), separator * (2 << 20), b"0" * (1 << 20) + b"7")):
        paths.append(tmp_path / f"{k}{name}")
        paths[-1].write_bytes(start + line + b"\n" + long + b"\n" + line + b"\n")
    paths.append(tmp_path / f"long{name}")
    paths[-1].write_bytes(start + line + b"\n" + line + separator + b"0" * (1 << 20) + b"7\n")
    for path, (said, seconds, megabytes) in zip(paths, load_apart("-", *paths), strict=True):
        if isinstance(said, str):
            assert said.startswith(f"ValueError: {path}:{3 if name == 'a.gr' else 2}: "), said[:200]
        assert seconds < 5 and megabytes < 150, (path.name, seconds, megabytes)
