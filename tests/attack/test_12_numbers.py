"""Numbers that float64 does not hold, hermitian files that are not, damaged headers of .npz, and estimates."""

from __future__ import annotations

import gzip
import io
import math
import zipfile

import numpy as np
import pytest

import penstock as ps

# Integers beyond 2^53


BIG = [2**53 + 1, -(2**53) - 2, 2**60, 10**25]


@pytest.mark.parametrize("value", BIG)
@pytest.mark.parametrize(
    "name, text",
    [
        ("a.txt", "# c\n0 1 5\n1 2 {}\n"),
        ("tabs.tsv", "0\t1\t5\n\n1\t2\t{}\n"),
        ("a.csv", "source,target,weight\n0,1,5\n1,2,{}\n"),
        ("quoted.csv", '0,1,"5"\n\n1,2,"{}"\n'),
        ("a.wel", "0 1 5\n\n1 2 {}\n"),
        ("a.gr", "p sp 3 2\na 1 2 5\na 2 3 {}\n"),
        ("dialect.gr", "a 0 1 5\nc\na 1 2 {}\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 {}\n"),
        ("array.mtx", "%%MatrixMarket matrix array integer general\n1 1\n{}\n"),
        ("a.graph", "2 1 1\n2 {}\n1 {}\n"),
    ],
)
def test_integers_that_float64_rounds_are_refused(tmp_path, name, text, value):
    path = tmp_path / name
    path.write_text(text.replace("{}", str(value)))
    line = 2 if name == "a.graph" else 3
    with pytest.raises(ValueError) as refusal:
        ps.load(path)
    said = str(refusal.value)
    assert said.startswith(f"{path}:{line}: ") and str(value) in said
    if abs(value) < 2**63:
        assert "2^53" in said and "rounds" in said
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ValueError, match=f":{line}: "):
        ps.load(packed)


def test_integers_to_2_53_and_numbers_with_a_point_are_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(
        f"0 1 {2**53}\n1 2 {-(2**53)}\n2 3 {2**53 + 1}.0\n3 4 1e300\n4 4 inf\n4 5 007\n"
    )
    assert ps.load(path).data.tolist() == [2.0**53, -(2.0**53), 2.0**53, 1e300, math.inf, 7.0]
    A = ps.csr_array(([2.0**53, 2.0**60, -1e25], [0, 1, 2], [0, 1, 2, 3]), shape=(3, 3))
    for name in ("a.txt", "a.csv", "a.tsv", "a.parquet", "a.mtx"):
        A.save(tmp_path / name)
        assert ps.load(tmp_path / name).data.tolist() == A.data.tolist(), name


def test_integers_in_binary_formats(tmp_path):
    pl = pytest.importorskip("polars")
    import scipy.sparse as sp

    path = tmp_path / "a.npz"
    for dtype in (np.int64, np.uint64):
        for kind in ("csr", "csc", "coo", "bsr", "dia"):
            sp.save_npz(path, sp.coo_array(np.diag([1, 2**53 + 1]).astype(dtype)).asformat(kind))
            with pytest.raises(ValueError, match=r"2\^53") as refusal:
                ps.load(path)
            assert str(refusal.value).startswith(str(path))
    path = tmp_path / "a.parquet"
    whole = pl.Series([1, 2**53 + 1])
    for dtype in (pl.Int64, pl.UInt64, pl.Int128, pl.Decimal(38, 0)):
        pl.DataFrame({"s": [0, 1], "t": [1, 0], "w": whole.cast(dtype)}).write_parquet(path)
        with pytest.raises(ValueError, match=r"2\^53") as refusal:
            ps.load(path)
        assert str(refusal.value).startswith(str(path))


# Hermitian files, .npz headers


@pytest.mark.parametrize(
    "text, line",
    [
        ("coordinate complex hermitian\n% c\n2 2 3\n1 1 2 0\n\n2 2 5 7\n2 1 1 1\n", 6),
        ("coordinate complex hermitian\n1 1 1\n1 1 5 nan\n", 3),
        ("array complex hermitian\n2 2\n1 0\n2 3\n4\n1\n", 5),
        ("array complex hermitian\n1 1\n1 -2\n", 3),
    ],
)
def test_hermitian_files_with_complex_diagonals_are_refused(tmp_path, text, line):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix " + text)
    for p in (path, tmp_path / "a.mtx.gz"):
        if p != path:
            p.write_bytes(gzip.compress(path.read_bytes()))
        with pytest.raises(ValueError, match=rf":{line}: .* on the diagonal, .* hermitian"):
            ps.load(p)


def test_hermitian_files_with_real_diagonals_are_read(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 5 -0\n2 1 1 1\n"
    )
    assert ps.load(path).toarray().tolist() == [[5, 1 - 1j], [1 + 1j, 0]]


def npy_head(descr: str, shape: str, fortran: bool = False) -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "member, content",
    [
        ("data", npy_head("<f8", "(True,)") + bytes(8)),
        ("data", npy_head("<f8", "(-2,)") + bytes(16)),
        ("data", npy_head("<f8", "(2.0,)") + bytes(16)),
        ("data", npy_head("<f8", f"({10**30},)")),
        ("data", npy_head("<f8", "(2, 1)", True) + bytes(16)),
        ("data", npy_head("|V0", "(2,)")),
        ("data", npy_head("|S0", "(2,)")),
        ("data", npy_head("|O", "(2,)") + b"\x80\x04N."),
        ("data", npy_head("<M8[s]", "(2,)") + bytes(16)),
        ("format", npy_head("|S0", "(3,)")),
        ("format", npy_head("|S0", "(99999999999,)")),
        ("format", npy_head("<U0", "()")),
        ("shape", npy_head("<i8", "(True, 2)") + bytes(16)),
        ("shape", npy_head("<i8", "(2,)") + (-2).to_bytes(8, "little", signed=True) + bytes(8)),
        ("indices", npy_head("<i4", "(False,)")),
        ("indptr", b""),
    ],
)
def test_npz_with_damaged_headers(tmp_path, member, content):
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([0, 1]),
        "data": np.array([1.0, 2.0]),
    }
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as z:
        for name, array in arrays.items():
            plain = io.BytesIO()
            np.lib.format.write_array(plain, array)
            z.writestr(f"{name}.npy", content if name == member else plain.getvalue())
    with pytest.raises(ValueError) as refusal:
        ps.load(path)
    assert str(refusal.value).startswith(str(path))


def test_npz_in_big_endian_is_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, format=b"csr", shape=[2, 2], indptr=np.array([0, 1, 2], ">i8"),
             indices=np.array([0, 1], ">i4"), data=np.array([1, 2], ">f8"))  # fmt: skip
    assert ps.load(path).toarray().tolist() == [[1, 0], [0, 2]]


# Estimates


def test_tiny_products_fit():
    rng = np.random.default_rng(12)
    for _ in range(200):
        m, k = rng.integers(1, 40, 2)
        n = int(rng.choice([1, 30, 10**6, 2**31 - 1]))
        nnz = rng.integers(0, 30, 2)
        dtype = rng.choice([np.float32, np.float64, np.complex128])
        A, B = (
            ps.csr_array((np.ones(c, dtype), (rng.integers(0, r, c), rng.integers(0, w, c))), shape=(int(r), int(w)))
            for c, r, w in ((nnz[0], m, k), (nnz[1], k, n))
        )  # fmt: skip
        e = ps.spgemm_estimate(A, B)
        assert e.fits and "does not fit" not in str(e), (A, B, e)
        assert e.peak_bytes < 1 << 30
        C = A @ B
        assert C.nnz <= e.bound and C.nbytes <= e.peak_bytes + 1024
