"""The same small graph and the same weighted rectangular matrix in every format, and save -> load for each."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from penstock._io.formats import FORMATS, find_format

import penstock as ps

# A path 0 - 1 - 2 and an edge 0 - 2, and a vertex 3 without any.
GRAPH = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
WEIGHTED = np.array([[0, 2.5, 0], [0, 0, 0], [-1, 0, 3], [0, 7, 0]])

MM = "%%MatrixMarket matrix "
GRAPH_TEXTS = {
    "a.mtx": MM + "coordinate pattern general\n% c\n4 4 6\n1 2\n2 1\n1 3\n3 1\n2 3\n3 2\n",
    "b.mtx": MM + "coordinate pattern symmetric\r\n\r\n4 4 3\r\n2 1\r\n 3\t1 \r\n\r\n% late\r\n3 2",
    "c.mtx": MM.upper() + "Coordinate Integer Symmetric\n4 4 3\n2 1 1\n3 1 +1\n3 2 1\n",
    "d.mtx": MM + "array real general\n4 4\n0\n1\n1\n0\n1\n0\n1\n0\n1\n1\n0\n0\n0\n0\n0\n0\n",
    "e.mtx": MM + "array integer symmetric\n4 4\n0\n1\n1\n0\n0\n1\n0\n0\n0\n0\n",
    "f.txt": "# shape 4 4\n# c\n0\t1\n1\t0\n0 2\n2  0\n1 2\n\n2 1\n",
    "g.csv": '"a","b"\n0,1\n1, 0\n"0","2"\n2,0\n1,2\n2,1\n',
    "h.el": "0 1\n1 0\n0 2\n2 0\n1 2\n2 1\n",
    "i.graph": "% c\n4 3\n2 3\n1 3\n% c\n1 2\n\n",
    "j.graph": "4 3 011 2\n5 6 2 1 3 1\n5 6 1 1 3 1\n5 6 1 1 2 1\n9 9\n",
    "k.gr": "c c\np sp 4 6\na 1 2 1\na 2 1 1\na 1 3 1\na 3 1 1\nc c\na 2 3 1\na 3 2 1\n",
    "l.gr": "a 0 1 1\na 1 0 1\na 0 2 1\na 2 0 1\na 1 2 1\na 2 1 1\na 3 3 0\n",
    "m.hgr": "4 4\n2 3\n1 3\n1 2\n\n",
    "n.hgr": "4 4 11\n5 2 3\n5 1 3\n5 1 2\n5\n1\n1\n1\n1\n",
    "o.psa": "title\n 3 1 1 1 0\nPSA 4 4 3 0\n(5I3)           (3I2)\n  1  3  4  4  4\n 2 3 3\n",
    "p.rsa": "title\n 3 1 1 1 0\nRSA 4 4 3 0\n(5I3) (3I2)(2E7.1)\n  1  3  4  4  4\n 2 3 3\n  1.0E0 1.D+00\n  10.-1\n",
}
OPTIONS = {"g.csv": {"shape": (4, 4)}, "h.el": {"shape": (4, 4)}}


def write(folder, name, text):
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", GRAPH_TEXTS)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_graph_text(tmp_path, name, packed):
    a = ps.load(write(tmp_path, name + packed, GRAPH_TEXTS[name]), **OPTIONS.get(name, {}))
    np.testing.assert_array_equal(a.toarray().astype(int), GRAPH)


def test_undirected_edge_list_and_base_one(tmp_path):
    path = write(tmp_path, "a.tsv", "from\tto\n1\t2\n1\t3\n2\t3\n")
    a = ps.load(path, directed=False, base=1, shape=(4, 4))
    np.testing.assert_array_equal(a.toarray(), GRAPH.astype(bool))
    assert ps.load(path, base=1).shape == (3, 3)


def test_columns_separator_header_duplicates(tmp_path):
    path = write(tmp_path, "a.txt", "when;who;whom;much\n9;0;1;2.5\n8;0;1;-1\n7;1;0;inf\n")
    a = ps.load(path, columns=(1, 2, 3), header=True)
    np.testing.assert_array_equal(a.toarray(), [[0, 1.5], [np.inf, 0]])
    for how, value in (("min", -1), ("max", 2.5)):
        assert ps.load(path, columns=(1, 2, 3), header=True, duplicates=how)[0, 1] == value
    assert ps.load(path, columns=(1, 2, 3), header=True, duplicates="keep").nnz == 3
    assert ps.load(path, columns=(2, 1), header=True).dtype == bool
    with pytest.raises(ValueError, match=r"4 fields.*columns="):
        ps.load(path, header=True)


@pytest.mark.parametrize(
    "field, symmetry, body, expected",
    [
        ("real", "general", "1 2 -1.5e1\n2 1 nan\n", [[0, -15], [np.nan, 0]]),
        ("real", "skew-symmetric", "2 1 3\n", [[0, -3], [3, 0]]),
        ("complex", "general", "1 2 1 2\n2 2 0 -inf\n", [[0, 1 + 2j], [0, complex(0, -np.inf)]]),
        ("complex", "hermitian", "2 1 1 2\n", [[0, 1 - 2j], [1 + 2j, 0]]),
        ("complex", "symmetric", "2 1 1 2\n", [[0, 1 + 2j], [1 + 2j, 0]]),
        ("complex", "skew-symmetric", "2 1 1 2\n", [[0, -1 - 2j], [1 + 2j, 0]]),
        ("integer", "general", "1 1 9007199254740992\n", [[2.0**53, 0], [0, 0]]),
        ("real", "general", "1 1 1D5\n2 2 1e-400\n", [[1e5, 0], [0, 0]]),
    ],
)
def test_matrix_market_fields(tmp_path, field, symmetry, body, expected):
    text = f"{MM}coordinate {field} {symmetry}\n2 2 {body.count(chr(10))}\n{body}"
    a = ps.load(write(tmp_path, "a.mtx", text))
    np.testing.assert_array_equal(a.toarray(), expected)
    assert a.dtype == (np.complex128 if field == "complex" else np.float64)


def test_complex_array_spans_lines(tmp_path):
    for symmetry, values in (("hermitian", "1 0\n2 3\n4 0\n"), ("skew-symmetric", "2 3\n")):
        path = write(tmp_path, "a.mtx", f"{MM}array complex {symmetry}\n2 2\n{values}")
        np.testing.assert_array_equal(ps.load(path).toarray(), scipy.io.mmread(path))


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64, np.complex64, np.complex128])
def test_dtype(tmp_path, dtype):
    path = write(tmp_path, "a.mtx", MM + "coordinate real general\n2 2 2\n1 1 0.5\n2 1 0\n")
    a = ps.load(path, dtype=dtype)
    assert a.dtype == dtype and a.nnz == (1 if dtype is bool else 2) and a[0, 0] == dtype(0.5)


def test_complex_does_not_become_real(tmp_path):
    path = write(tmp_path, "a.mtx", MM + "coordinate complex general\n1 1 1\n1 1 1 1\n")
    with pytest.raises(ValueError, match="imaginary"):
        ps.load(path, dtype=float)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.complex64])
def test_npz_from_scipy(tmp_path, kind, dtype):
    if kind == "dia" and dtype is bool:
        pytest.skip("SciPy's dia_array has no bool arithmetic")
    dense = np.abs(WEIGHTED).astype(dtype)
    sp.save_npz(tmp_path / "a.npz", sp.coo_array(dense).asformat(kind))
    a = ps.load(tmp_path / "a.npz")
    np.testing.assert_array_equal(a.toarray(), dense)
    assert a.dtype == (
        bool
        if dtype is bool
        else np.result_type(dtype, np.float32)
        if dtype != np.int64 and dtype != np.int8
        else np.float64
    )


def test_gapbs_bytes_as_the_format_has_them(tmp_path):
    a = ps.csr_array(sp.csr_array(np.array([[0, 1], [0, 0]], bool)))
    a.save(tmp_path / "a.sg")
    i8, i4 = (lambda *n: np.array(n, "<i8").tobytes()), (lambda *n: np.array(n, "<i4").tobytes())
    expected = b"\1" + i8(1, 2) + i8(0, 1, 1) + i4(1) + i8(0, 0, 1) + i4(0)
    assert (tmp_path / "a.sg").read_bytes() == expected


def test_written_files_are_read_by_scipy(tmp_path):
    for dense in (WEIGHTED, WEIGHTED + 1j, WEIGHTED.astype(np.float32)):
        a = ps.csr_array(dense)
        a.save(tmp_path / "a.mtx.gz")
        np.testing.assert_array_equal(scipy.io.mmread(tmp_path / "a.mtx.gz").toarray(), dense)
        a.save(tmp_path / "a.npz")
        np.testing.assert_array_equal(sp.load_npz(tmp_path / "a.npz").toarray(), dense)
    ps.csr_array(GRAPH.astype(bool)).save(tmp_path / "p.mtx")
    assert (
        (tmp_path / "p.mtx")
        .read_text()
        .startswith("%%MatrixMarket matrix coordinate pattern general")
    )
    ps.csr_array(GRAPH.astype(bool)).save(tmp_path / "p.npz", compressed=False)
    assert sp.load_npz(tmp_path / "p.npz").dtype == bool


PATTERN, REAL, COMPLEX = [bool], [np.float32, np.float64], [np.complex64, np.complex128]
# suffix: (value types, square, symmetric without a diagonal, integers only, keeps the shape)
WRITABLE = {
    ".penstock": (PATTERN + REAL + COMPLEX, False, False, False, True),
    ".mtx": (PATTERN + REAL + COMPLEX, False, False, False, True),
    ".mtx.gz": (PATTERN + REAL + COMPLEX, False, False, False, True),
    ".npz": (PATTERN + REAL + COMPLEX, False, False, False, True),
    ".txt": (PATTERN + REAL, False, False, False, True),
    ".tsv.gz": (PATTERN + REAL, False, False, False, True),
    ".csv": (PATTERN + REAL, False, False, False, False),
    ".parquet": (PATTERN + REAL, False, False, False, False),
    ".el": (PATTERN, False, False, False, False),
    ".wel": (REAL, False, False, True, False),
    ".graph": (PATTERN + REAL, True, True, True, True),
    ".gr": (REAL, True, False, True, True),
    ".sg": (PATTERN, True, False, False, True),
    ".wsg": (REAL, True, False, True, True),
    ".hgr": (PATTERN, False, False, False, True),
    ".arrow": (PATTERN + REAL, False, False, False, False),
    ".petsc": (REAL + COMPLEX, False, False, False, True),
}
ELSEWHERE = {"galois", "emogi"}  # by name, and in three files: test_binary_formats.py


def test_every_writable_format_is_round_tripped():
    assert {find_format("a" + suffix).name for suffix in WRITABLE} | ELSEWHERE == {
        row.name for row in FORMATS if row.write
    }


@st.composite
def matrices(draw, suffix):
    types, square, symmetric, integers, _ = WRITABLE[suffix]
    dtype = np.dtype(draw(st.sampled_from(types)))
    rows = draw(st.integers(0, 12))
    cols = rows if square else draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    mask = rng.random((rows, cols)) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    values = rng.integers(1, 1000, (rows, cols)).astype(float)
    if not integers:
        values = values * 10.0 ** rng.integers(-30, 30, (rows, cols)) / 7
        special = draw(st.sampled_from([None, np.nan, np.inf, -np.inf, -0.0, 5e-324]))
        if special is not None:
            values[rng.random((rows, cols)) < 0.3] = special
    if symmetric:
        mask, values = np.triu(mask, 1), np.triu(values, 1)
        mask, values = mask | mask.T, values + values.T
    row, col = np.nonzero(mask)
    data = values[row, col]
    if dtype.kind == "c":
        data = data.astype(np.complex128)
        data.imag = rng.permutation(data.real)
    with np.errstate(over="ignore", invalid="ignore"):
        data = data.astype(dtype) if dtype.kind != "b" else np.ones(row.size, bool)
    return ps.csr_array((data, (row, col)), shape=(rows, cols))


@pytest.mark.parametrize("suffix", WRITABLE)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(draw=st.data())
def test_save_and_load_are_inverse(tmp_path, suffix, draw):
    a = draw.draw(matrices(suffix))
    path = tmp_path / f"a{suffix}"
    a.save(path)
    options = {} if WRITABLE[suffix][4] else {"shape": a.shape}
    if suffix in (".csv", ".parquet", ".arrow") and a.nnz == 0:
        options["dtype"] = a.dtype  # no entry shows whether there would be weights
    if suffix in (".el", ".wel") and a.nnz == 0:
        with pytest.raises(
            ValueError, match="empty"
        ):  # nor is there a header: an empty file is taken for a lost one
            ps.load(path, **options)
        return path.unlink()
    b = ps.load(path, **options)
    if a.dtype.kind != "b" and a.nnz:
        assert b.dtype.kind == a.dtype.kind
    assert a.shape == b.shape
    np.testing.assert_array_equal(a.indptr, b.indptr)
    np.testing.assert_array_equal(a.indices, b.indices)
    np.testing.assert_array_equal(np.asarray(b.data).astype(a.dtype), a.data)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    if path.is_file():
        path.unlink()
    return None


@pytest.mark.parametrize(
    "name, dense, remedy",
    [
        ("a.el", WEIGHTED, ".wel"),
        ("a.wel", WEIGHTED, "2.5"),
        ("a.hgr", WEIGHTED, "bool"),
        ("a.gr", WEIGHTED, ".mtx"),
        ("a.graph", WEIGHTED, ".mtx"),
        ("a.sg", WEIGHTED[:3], ".wsg"),
        ("a.txt", WEIGHTED * 1j, ".mtx"),
        ("a.hb", WEIGHTED, ".mtx"),
        ("a.graph", np.eye(2, dtype=bool), "loops"),
        ("a.graph", np.triu(GRAPH.astype(bool)), "symmetric"),
        ("a.gr", GRAPH.astype(bool), "astype"),
        ("a.xyz", WEIGHTED, "format="),
        ("a.npz.gz", WEIGHTED, "gunzip"),
    ],
)
def test_refusals_to_write(tmp_path, name, dense, remedy):
    with pytest.raises(ValueError, match=remedy) as error:
        ps.csr_array(dense).save(tmp_path / name)
    assert name in str(error.value) and not list(tmp_path.iterdir())


def test_unknown_options_and_formats(tmp_path):
    path = write(tmp_path, "a.mtx", GRAPH_TEXTS["a.mtx"])
    with pytest.raises(TypeError, match="no option 'directed'; it has: dtype, max_rows"):
        ps.load(path, directed=False)
    with pytest.raises(ValueError, match="choose one of store, matrix-market"):
        ps.load(path, format="mm")
    assert ps.load(write(tmp_path, "odd", GRAPH_TEXTS["a.mtx"]), format="matrix-market").nnz == 6


def test_many_blocks(tmp_path, monkeypatch):
    """Lines that are cut by every size of chunk are put together again."""
    from penstock._io import _text

    rng = np.random.default_rng(3)
    dense = np.where(rng.random((60, 50)) < 0.2, rng.standard_normal((60, 50)), 0)
    a = ps.csr_array(dense)
    for name in ("a.mtx", "a.mtx.gz", "a.txt"):
        a.save(tmp_path / name)
        for size in (1, 2, 7, 64, 1000):
            monkeypatch.setattr(_text, "FIRST_CHUNK", size)
            monkeypatch.setattr(_text, "CHUNK", size)
            np.testing.assert_array_equal(ps.load(tmp_path / name).toarray(), dense)
