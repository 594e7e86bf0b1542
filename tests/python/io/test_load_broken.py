"""Broken input: a ValueError that names the file, the line where there is one, and what to do; nothing else."""

import gzip
import os
import re
import resource
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

MM = "%%MatrixMarket matrix coordinate real general\n"
HB = "t\n 4 1 1 1\nRUA 2 2 2 0\n(3I3)(2I3)(2E8.1)\n"
HUGE = "1" + "0" * 19

# name: (text, the line or None, a piece of the message)
CASES = {
    # Matrix Market
    "truncated.mtx": (MM + "3 3 3\n1 1 1\n2 2 2\n", 2, "2 of the 3 entries"),
    "cut_line.mtx": (MM + "3 3 2\n1 1 1\n2 2", 4, "has 2 of the 3 fields"),
    "too_many.mtx": (MM + "3 3 1\n1 1 1\n\n% c\n2 2 2\n", 6, "more entries than the 1"),
    "zero.mtx": (MM + "3 3 2\n1 1 1\n0 1 1\n", 4, "row number 0 is outside 1 .. 3"),
    "beyond.mtx": (MM + "3 3 1\n1 4 1\n", 3, "column number 4 is outside 1 .. 3"),
    "negative_index.mtx": (MM + "3 3 1\n-1 1 1\n", 3, "row number -1"),
    "word.mtx": (MM + "3 3 1\n1 1 abc\n", 3, "'abc' is not a number"),
    "trailing.mtx": (MM + "3 3 1\n1 1 1x\n", 3, "'1x' is not a number"),
    "hex.mtx": (MM + "3 3 1\n1 1 0x10\n", 3, "'0x10' is not a number"),
    "fraction.mtx": (MM + "3 3 1\n1.5 1 1\n", 3, "'1.5' is not an integer"),
    "fourth.mtx": (MM + "3 3 1\n1 1 1 1\n", 3, "goes on with '1'"),
    "overflow.mtx": (MM + "3 3 1\n1 1 1e999\n", 3, "too large"),
    "two_points.mtx": (MM + "3 3 2\n1 1 1.5\n2 2 1.2.3\n", 4, "'1.2.3' is not a number"),
    "minus_inside.mtx": (MM + "3 3 1\n1 1 1-2\n", 3, "'1-2' is not a number"),
    "no_exponent.mtx": (MM + "3 3 1\n1 1 1e\n", 3, "'1e' is not a number"),
    "half_exponent.mtx": (MM + "3 3 1\n1 1 1e-\n", 3, "'1e-' is not a number"),
    "broken_exponent.mtx": (MM + "3 3 1\n1 1 1e-.5\n", 3, "'1e-.5' is not a number"),
    "glued.mtx": (MM + "3 3 1\n1 2.5 3\n", 3, "'2.5' is not an integer"),
    "glued_minus.mtx": (MM + "3 3 1\n1 2-5 3\n", 3, "'2-5' is not an integer"),
    "shifted.mtx": (MM + "3 3 2\n1 2\n1 1 1 1\n", 3, "2 of the 3 fields"),
    "int_exponent.mtx": (MM.replace("real", "integer") + "1 1 1\n1 1 1e5\n", 3, "not an integer"),
    "signs.mtx": (MM + "3 3 1\n1 1 +-1\n", 3, "'\\+-1' is not a number"),
    "huge_index.mtx": (MM + f"3 3 1\n{HUGE} 1 1\n", 3, "too large"),
    "negative_size.mtx": (MM + "-3 3 1\n1 1 1\n", 2, "negative"),
    "huge_nnz.mtx": (MM + f"3 3 {HUGE}\n1 1 1\n", 2, HUGE),
    "large_nnz.mtx": (MM + "3 3 9000000000\n1 1 1\n", 2, "9000000000 entries"),
    "huge_rows.mtx": (MM + "9000000000 3 1\n1 1 1\n", None, "max_rows"),
    "huge_cols.mtx": (MM + "3 9000000000 1\n1 1 1\n", 2, "2\\^31"),
    "no_size.mtx": (MM + "% only\n", None, "ends before the size line"),
    "short_size.mtx": (MM + "3 3\n1 1 1\n", 2, "rows, columns, number of entries"),
    "word_size.mtx": (MM + "3 x 1\n", 2, "'x' is not an integer"),
    "no_banner.mtx": ("3 3 1\n1 1 1\n", 1, "banner"),
    "dialect.mtx": (
        "%%MatrixMarket matrix coord real general\n1 1 0\n",
        1,
        "'coord' is not one of",
    ),
    "unsquare.mtx": (MM.replace("general", "symmetric") + "3 4 0\n", 2, "not square"),
    "skew_diagonal.mtx": (MM.replace("general", "skew-symmetric") + "2 2 1\n1 1 5\n", None, "skew"),
    "int_fraction.mtx": (
        MM.replace("real", "integer") + "1 1 1\n1 1 1.5\n",
        3,
        "'1.5' is not an integer",
    ),
    "int_large.mtx": (MM.replace("real", "integer") + "1 1 1\n1 1 9007199254740993\n", 3, "2\\^53"),
    "pattern_value.mtx": (MM.replace("real", "pattern") + "1 1 1\n1 1 7\n", 3, "goes on with '7'"),
    "array_short.mtx": (MM.replace("coordinate", "array") + "2 2\n1\n2\n3\n", 2, "3 of the 4"),
    "array_long.mtx": (
        MM.replace("coordinate", "array") + "1 1\n1\n2\n",
        None,
        "more values than the 1",
    ),
    "array_huge.mtx": (
        MM.replace("coordinate", "array") + "2000000000 2000000000\n1\n",
        2,
        "promises",
    ),
    # Edge lists
    "word.txt": ("# c\n0 1\n1 bob\n", 3, "'bob' is not an integer"),
    "negative.txt": ("0 1\n-1 2\n", 2, "row number -1 is outside 0"),
    "ragged.txt": ("0 1\n1 2 3\n", 2, "goes on with '3'"),
    "short.txt": ("0 1 5\n1 2\n", 2, "2 of the 3 fields"),
    "one.txt": ("0\n", 1, "1 fields, not 2 or 3"),
    "gap.csv": ("0,1,2\n1,,2\n", 2, "1 of the 3 fields"),
    "id_2e31.txt": ("0 2147483647\n", 1, "2147483647 is outside"),
    "sparse_ids.txt": ("0 2000000000\n", None, "renumber the ids"),
    "only_comments.txt": ("# nothing\n", None, "no edges"),
    "mm.txt": (MM + "1 1 1\n1 1 1\n", 1, "matrix-market"),
    # METIS, hMETIS, DIMACS
    "short.graph": ("3 2\n2\n1 3\n", 1, "hold 3 neighbours"),
    "extra.graph": ("2 1\n2\n1\n\n1\n", 5, "after the 2 vertices"),
    "zero.graph": ("2 1\n2\n0\n", 3, "neighbour 0 is outside 1 .. 2"),
    "beyond.graph": ("2 1\n2\n3\n", 3, "neighbour 3"),
    "one_way.graph": ("3 1\n2 3\n\n\n", 2, "not listed alike"),
    "loop.graph": ("2 1\n1\n2\n", 2, "lists itself"),
    "fmt.graph": ("2 1 7\n2\n1\n", 1, "fmt '007'"),
    "odd.graph": ("2 1 1\n2 1\n1\n", 3, "not pairs"),
    "huge.graph": (f"{HUGE} 1\n2\n1\n", 1, HUGE),
    "huge_m.graph": ("2 90000000000\n2\n1\n", 1, "90000000000 edges"),
    "word.graph": ("2 1\n2\nx\n", 3, "'x' is not an integer"),
    "ncon.graph": ("2 1 010 99999\n2\n1\n", None, "promises|needs"),
    "short.hgr": ("3 3\n1 2\n", 1, "1 of 3 lines"),
    "beyond.hgr": ("1 3\n1 4\n", 2, "cell 4"),
    "huge.hgr": (f"{HUGE} 3\n1 4\n", 1, HUGE),
    "short.gr": ("p sp 3 2\na 1 2 5\n", 1, "1 of the 2 entries"),
    "letter.gr": ("p sp 3 1\nb 1 2 5\n", 2, "'b', not with 'a'"),
    "zero.gr": ("p sp 3 1\na 0 2 5\n", 2, "row number 0 is outside 1 .. 3"),
    "problem.gr": ("p max 3 1\na 1 2 5\n", 1, "p sp"),
    "huge.gr": (f"p sp 3 {HUGE}\na 1 2 5\n", 1, HUGE),
    "nothing.gr": ("c only\n", None, "not DIMACS"),
    # Harwell-Boeing
    "cut.hb": (HB + "  1  2  3\n", None, "0 of 2 numbers"),
    "starts.hb": (HB + "  1  9  3\n  1  2\n   1.0E0   2.0E0\n", None, "rise"),
    "rows.hb": (HB + "  1  2  3\n  1  5\n   1.0E0   2.0E0\n", None, "row number 5"),
    "word.hb": (HB + "  1  2  3\n  1  2\n   1.0E0     abc\n", 7, "'abc'"),
    "point.hb": (HB + "  1  2  3\n  1  2\n   1.0E0      25\n", 7, "decimal point"),
    "type.hb": (HB.replace("RUA", "RUE") + "  1  2  3\n", 3, "RUE"),
    "format.hb": (HB.replace("(3I3)", "(junk)"), 4, "junk"),
    "huge.hb": (HB.replace("RUA 2 2 2", f"RUA 2 2 {HUGE}"), 3, HUGE),
    "large.hb": (HB.replace("RUA 2 2 2", "RUA 2 90000000 90000000"), None, "promises|row offsets"),
}


def clean(path, **options):
    """The message of the refusal."""
    before = sorted(os.listdir(path.parent))
    with pytest.raises(ValueError) as caught:
        ps.load(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path)) and len(message) < 700, message
    assert sorted(os.listdir(path.parent)) == before
    return message


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", CASES)
def test_broken_text(tmp_path, name, packed):
    text, line, piece = CASES[name]
    path = tmp_path / (name + packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    if packed and name in ("large_nnz.mtx", "huge_m.graph", "array_huge.mtx"):
        piece = "promises|ends after|hold"
    message = clean(path)
    assert re.search(piece, message), message
    if line is not None and not (packed and "|" in piece):
        assert message.startswith(f"{path}:{line}: "), message


@pytest.mark.parametrize(
    "name, text, line",
    [
        ("plain.mtx", MM + "3 3 2\n1 1 1\n2 1 1e300\n", 4),
        ("untidy.mtx", MM + "3 3 2\n1 1 1\n\n% c\n2 1  1e300\n", 6),
        ("array.mtx", MM.replace("coordinate", "array") + "2 2\n0\n1\n1e300\n0\n", 5),
        ("complex.mtx", MM.replace("real", "complex") + "2 2 2\n1 1 1 0\n2 1 inf 1e300\n", 4),
        ("a.txt", "0 1 1.0\n# c\n1 2 1e300\n", 3),
        ("a.gr", "p sp 2 2\na 1 2 1\na 2 1 1e300\n", 3),
    ],
)
def test_values_too_large_for_the_type_asked_for(tmp_path, name, text, line):
    path = tmp_path / name
    path.write_text(text)
    narrow = "complex64" if name.startswith("complex") else "float32"
    message = clean(path, dtype=narrow)
    assert message.startswith(f"{path}:{line}: value "), message
    assert "1e+300" in message and f"too large for {narrow}: read it as " in message
    assert np.isfinite(ps.load(path).data).all() or narrow == "complex64"
    path.write_text(text.replace("1e300", "inf"))  # an infinity is one in any type
    assert np.isinf(ps.load(path, dtype=narrow).data).any()


def test_values_of_binary_files_too_large_for_the_type_asked_for(tmp_path):
    A = ps.csr_array(np.array([[1.0, 0.0], [1e300, np.inf]]))
    for suffix in ("npz", "parquet", "penstock", "petsc"):
        path = tmp_path / f"a.{suffix}"
        A.save(path)
        with pytest.raises(ValueError, match=r"entry 1: value 1e\+300 is too large for float32"):
            ps.load(path, dtype="float32")
    np.save(tmp_path / "e.npy", np.array([[0, 1], [1, 0]]))
    np.save(tmp_path / "w.npy", np.array([1.0, 1e300]))
    with pytest.raises(ValueError, match=r"w\.npy: entry 1: value 1e\+300 is too large"):
        ps.load(tmp_path / "e.npy", weight=tmp_path / "w.npy", dtype="float32")


SUFFIXES = [
    "mtx",
    "txt",
    "csv",
    "el",
    "graph",
    "gr",
    "hgr",
    "hb",
    "rua",
    "npz",
    "sg",
    "wsg",
    "parquet",
]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 64, bytes(range(256)) * 4, b"\xff" * 1000, b"\n", b"%\n", b"PK\3\4", b"\x1f\x8b"],
)
def test_junk(tmp_path, suffix, data):
    path = tmp_path / f"junk.{suffix}"
    path.write_bytes(data)
    clean(path)


@pytest.mark.parametrize("suffix", ["mtx", "txt", "graph", "gr", "hgr", "hb"])
def test_wrong_gzip(tmp_path, suffix):
    good = gzip.compress((MM + "2 2 1\n1 1 1\n" * 2000).encode())
    for data, piece in (
        (b"not packed at all", "not gzip"),
        (good[:30], "truncated"),
        (good[:20] + b"\xff\xff" + good[22:], "damaged"),
        (good[:-8] + b"\0" * 8, "damaged"),
    ):
        path = tmp_path / f"a.{suffix}.gz"
        path.write_bytes(data)
        assert piece in clean(path)


def test_packed_without_the_suffix_and_in_members(tmp_path):
    head, tail = (MM + "2 2 1\n").encode(), b"1 1 5\n"
    path = tmp_path / "a.mtx"
    path.write_bytes(gzip.compress(head) + gzip.compress(tail) + b"\0" * 512)
    assert ps.load(path)[0, 0] == 5


def test_folders_and_missing_files(tmp_path):
    (tmp_path / "a.mtx").mkdir()
    assert "folder" in clean(tmp_path / "a.mtx")
    for path in (tmp_path / "none.mtx", tmp_path / "none.penstock", tmp_path / "none.xyz"):
        with pytest.raises(FileNotFoundError, match="none"):
            ps.load(path)


def test_a_lying_header_takes_no_memory(tmp_path):
    """Counts that the file cannot hold are refused before they are believed."""
    limit = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), limit[1]))
    try:
        for name in [n for n in CASES if "huge" in n or "large" in n or "sparse_ids" in n]:
            (tmp_path / name).write_text(CASES[name][0])
            clean(tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


def npz(path, **arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array))
    return path


GOOD = {
    "format": b"csr",
    "shape": [2, 2],
    "indptr": np.array([0, 1, 2]),
    "indices": np.array([0, 1]),
    "data": np.ones(2),
}


@pytest.mark.parametrize(
    "change, piece",
    [
        ({"indptr": np.array([0, 1])}, "indptr"),
        ({"indptr": np.array([0, 2, 1])}, "indptr"),
        ({"indices": np.array([0, 2])}, "outside"),
        ({"indices": np.array([0, -1])}, "outside"),
        ({"data": np.ones(3)}, "data|entry"),
        ({"shape": [2, -2]}, "shape"),
        ({"shape": [2]}, "shape"),
        ({"format": b"xyz"}, "csr, csc"),
        ({"data": np.array(["a", "b"])}, "another kind"),
        ({"indptr": np.array([0.0, 1, 2])}, "another kind"),
        ({"shape": [2**40, 2]}, "row offsets"),
        ({"shape": [2, 2**40]}, "2\\^31"),
        ({"data": np.array([2**60 + 1, 1])}, "2\\^53"),
        ({"format": b"bsr", "data": np.ones((2, 0, 1))}, "three dimensions"),
        ({"format": b"csc", "indptr": np.array([0, 5, 2])}, "indptr"),
    ],
)
def test_broken_npz(tmp_path, change, piece):
    message = clean(npz(tmp_path / "a.npz", **{**GOOD, **change}))
    assert re.search(piece, message), message


def test_npz_without_an_array_and_with_a_false_one(tmp_path):
    assert "has no array 'data'" in clean(
        npz(tmp_path / "a.npz", **{k: v for k, v in GOOD.items() if k != "data"})
    )
    path = npz(tmp_path / "b.npz", **GOOD)
    path.write_bytes(path.read_bytes().replace(b"(2,)", b"(9,)"))
    clean(path)
    path.write_bytes(npz(tmp_path / "c.npz", **GOOD).read_bytes()[:300])
    clean(path)


def gapbs(directed=0, arcs=2, vertices=2, indptr=(0, 1, 2), entries=(1, 0)):
    return (
        struct.pack("<bqq", directed, arcs, vertices)
        + struct.pack(f"<{len(indptr)}q", *indptr)
        + struct.pack(f"<{len(entries)}i", *entries)
    )


@pytest.mark.parametrize(
    "change, piece",
    [
        ({"directed": 2}, "not a GAPBS"),
        ({"arcs": -1}, "not a GAPBS"),
        ({"arcs": 2**62}, "truncated"),
        ({"vertices": 2**40}, "not a GAPBS"),
        ({"arcs": 3}, "truncated"),
        ({"indptr": (0, 3, 2)}, "indptr"),
        ({"indptr": (1, 1, 2)}, "offsets"),
        ({"entries": (1, 2)}, "outside"),
        ({"directed": 1}, "truncated"),
        ({"vertices": 2**30}, "truncated"),
    ],
)
def test_broken_gapbs(tmp_path, change, piece):
    path = tmp_path / "a.sg"
    path.write_bytes(gapbs())
    assert ps.load(path).nnz == 2
    path.write_bytes(gapbs(**change))
    assert piece in clean(path)
    assert "truncated" in clean_weighted(tmp_path)


def clean_weighted(folder):
    path = folder / "a.wsg"
    path.write_bytes(gapbs())
    return clean(path)


def test_broken_parquet(tmp_path):
    pl = pytest.importorskip("polars")
    path = tmp_path / "a.parquet"
    for table, piece in (
        ({"a": [0.5], "b": [1]}, "integers"),
        ({"a": [None, 1], "b": [1, 1]}, "gaps"),
        ({"a": [0]}, "name source"),
        ({"a": [-1], "b": [0]}, "base="),
        ({"a": [0], "b": [1], "w": ["x"]}, "numbers"),
        ({"a": [0], "b": [2**40]}, "2^31"),
    ):
        pl.DataFrame(table).write_parquet(path)
        assert piece in clean(path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * (len(data) - 8) + data[-4:])
    clean(path)


def test_the_largest_shape_that_is_meant(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text(MM + f"{2**24 + 1} 1 1\n{2**24 + 1} 1 2.5\n")
    assert "max_rows" in clean(path)
    assert ps.load(path, max_rows=2**25).sum() == 2.5
    sp.save_npz(tmp_path / "a.npz", sp.csr_array((1, 1)))
    assert ps.load(tmp_path / "a.npz").nnz == 0
