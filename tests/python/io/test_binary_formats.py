"""PETSc, Galois, EMOGI and NumPy pairs: bytes as the formats have them, broken ones, and files that share a suffix."""

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import DATA
from penstock._io.formats import find_format

import penstock as ps

GRAPH = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
WEIGHTED = np.array([[0, 2, 0], [0, 0, 0], [5, 0, 3]])


def numbers(kind, *values):
    return np.array(values, kind).tobytes()


# --- PETSc: the matrix [[0, 2, 0], [0, 0, 0], [5, 0, 3]] as the manual describes it
def petsc(
    integer=">i4",
    scalar=">f8",
    values=(2, 5, 3),
    head=(1211216, 3, 3, 3),
    lengths=(1, 0, 2),
    columns=(1, 0, 2),
):
    return numbers(integer, *head, *lengths, *columns) + numbers(scalar, *values)


@pytest.mark.parametrize("integer", [">i4", ">i8"])
@pytest.mark.parametrize("scalar", [">f4", ">f8", ">c16"])
def test_petsc_bytes(tmp_path, integer, scalar):
    path = tmp_path / "a.petsc"
    path.write_bytes(petsc(integer, scalar))
    a = ps.load(path)
    np.testing.assert_array_equal(a.toarray(), WEIGHTED)
    assert a.dtype == np.dtype(scalar).newbyteorder("=")
    vector = numbers(">i4", 1211214, 2) + numbers(">f8", 1, 2)
    path.write_bytes(petsc(integer, scalar) + vector)  # a right-hand side behind it
    np.testing.assert_array_equal(ps.load(path).toarray(), WEIGHTED)
    np.testing.assert_array_equal(ps.load(path, scalar=scalar[1:]).toarray(), WEIGHTED)


@pytest.mark.parametrize("indices", [None, 32, 64])
@pytest.mark.parametrize("dtype", [float, complex])
def test_petsc_writes_the_same_bytes(tmp_path, indices, dtype):
    ps.csr_array(WEIGHTED.astype(dtype)).save(tmp_path / "a.petsc", indices=indices)
    expected = petsc(">i8" if indices == 64 else ">i4", ">c16" if dtype is complex else ">f8")
    assert (tmp_path / "a.petsc").read_bytes() == expected


def test_petsc_dense(tmp_path):
    (tmp_path / "a.dat").write_bytes(
        numbers(">i4", 1211216, 3, 3, -1) + WEIGHTED.astype(">f8").tobytes()
    )
    a = ps.load(tmp_path / "a.dat")
    assert a.nnz == 3
    np.testing.assert_array_equal(a.toarray(), WEIGHTED)


PETSC_BROKEN = [
    (numbers(">i4", 1211214, 2) + numbers(">f8", 1, 2), "byte 0: holds a vector"),
    (numbers(">i8", 1211214, 2) + numbers(">f8", 1, 2), "byte 0: holds a vector"),
    (numbers("<i4", 1211216, 3, 3, 0, 0, 0, 0), "byte 0: begins with 1350242816, not with 1211216"),
    (b"\0\x12", "byte 0: 8 bytes are needed for the first numbers, the file has 2 more"),
    (petsc(head=(1211216, 3, 3, 4)), "the rows have 3 entries together, the header says 4"),
    (petsc(head=(1211216, -3, 3, 3)), "must not be negative"),
    (
        petsc(head=(1211216, 2**31 - 1, 3, 3)),
        "byte 16: 8589934588 bytes are needed for the lengths of rows",
    ),
    (petsc(">i8", head=(1211216, 2**60, 3, 3)), "byte 32: .* for the lengths of rows"),
    (petsc(">i8", head=(1211216, 3, 2**31, 3)), "2\\^31"),
    (petsc(lengths=(-1, 2, 2)), "the rows have 3 entries"),
    (petsc(columns=(1, 0, 3)), "column index 3"),
    (petsc(columns=(1, 0, -1)), "column index -1"),
    (petsc()[:-1], "byte 40: 23 bytes are left for 3 values.*scalar="),
    (numbers(">i4", 1211216, 2**31 - 1, 2**31 - 1, -1), "are left for 4611686014132420609 values"),
    (b"", "byte 0: 8 bytes are needed"),
]


@pytest.mark.parametrize("data, message", PETSC_BROKEN)
def test_broken_petsc(tmp_path, data, message):
    refused(tmp_path / "a.petsc", data, message)


def refused(path, data, message, **options):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as error:
        ps.load(path, **options)
    assert str(error.value).startswith(str(path)) and len(str(error.value)) < 600


def test_petsc_says_what_it_cannot_write(tmp_path):
    with pytest.raises(ValueError, match="astype"):
        ps.csr_array(GRAPH.astype(bool)).save(tmp_path / "a.petsc")
    with pytest.raises(ValueError, match="indices=16"):
        ps.csr_array(WEIGHTED).save(tmp_path / "a.petsc", indices=16)
    (tmp_path / "a.petsc").write_bytes(petsc())
    with pytest.raises(ValueError, match="scalar='float128': choose one of float64"):
        ps.load(tmp_path / "a.petsc", scalar="float128")


# --- Galois
def galois(
    version=1, size=4, weights="<u4", head=None, ends=(1, 1, 3), targets=(1, 0, 2), values=(2, 5, 3)
):
    out = numbers("<u8", *(head or (version, size, 3, 3)), *ends) + numbers(
        "<u4" if version == 1 else "<u8", *targets
    )
    if version == 1 and len(targets) % 2:
        out += bytes(4)
    return out + (numbers(weights, *values) if size else b"")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("weights", ["uint32", "int32", "float32", "uint64", "int64", "float64"])
def test_galois_bytes(tmp_path, version, weights):
    size = np.dtype(weights).itemsize
    (tmp_path / "a.gr").write_bytes(galois(version, size, "<" + np.dtype(weights).str[1:]))
    np.testing.assert_array_equal(ps.load(tmp_path / "a.gr", weights=weights).toarray(), WEIGHTED)
    (tmp_path / "a.gr").write_bytes(galois(version, 0))
    a = ps.load(tmp_path / "a.gr")
    assert a.dtype == bool
    np.testing.assert_array_equal(a.toarray(), WEIGHTED != 0)


def test_galois_and_dimacs_share_a_suffix(tmp_path):
    path = tmp_path / "a.gr"
    a = ps.csr_array(WEIGHTED.astype(float))
    a.save(path)
    assert find_format(path).name == "dimacs" and path.read_bytes()[:4] == b"p sp"
    a.save(path, format="galois")
    assert find_format(path).name == "galois" and path.read_bytes() == galois()
    np.testing.assert_array_equal(ps.load(path).toarray(), WEIGHTED)
    a.save(path)  # the suffix says DIMACS, whatever was there
    assert find_format(path).name == "dimacs"
    a.astype(bool).save(path, format="galois")
    assert path.read_bytes() == galois(size=0)
    with pytest.raises(ValueError, match="2\\.5"):
        ps.csr_array(WEIGHTED * 1.25).save(path, format="galois")
    ps.csr_array(WEIGHTED * 1.25).save(path, format="galois", weights="float64")
    np.testing.assert_array_equal(ps.load(path, weights="float64").toarray(), WEIGHTED * 1.25)


GALOIS_BROKEN = [
    (galois(head=(1, 3, 3, 3)), "byte 8: weights of 3 bytes"),
    (galois()[:-1], "byte 72: 12 bytes are needed for the weights, the file has 11 more"),
    (galois() + b"x", "byte 84: the file goes on for 1 bytes behind the weights"),
    (galois(ends=(1, 1, 2)), "offsets run from 0 to 2, not from 0 to 3"),
    (galois(ends=(1, 2**63, 3)), "an offset is 9223372036854775808, beyond the 3 edges"),
    (galois(ends=(2, 1, 3)), "row"),
    (galois(targets=(1, 0, 3)), "3"),
    (galois(targets=(1, 0, 2**32 - 1)), "4294967295"),
    (galois(head=(1, 4, 2**61, 3)), "byte 32: .* for the offsets"),
    (galois(2, 8, "<u8", values=(2, 5, 2**53 + 1)), "2\\^53"),
]


@pytest.mark.parametrize("data, message", GALOIS_BROKEN)
def test_broken_galois(tmp_path, data, message):
    refused(tmp_path / "a.gr", data, message)


def test_galois_options(tmp_path):
    refused(
        tmp_path / "a.gr",
        galois(),
        "take 4 bytes: choose uint32, int32, float32",
        weights="float64",
    )
    refused(tmp_path / "a.gr", galois(size=0), "edges have none", weights="float32")
    (tmp_path / "a.gr").write_bytes(b"p sp 2 1\na 1 2 1\n" * 2)
    with pytest.raises(ValueError, match="byte 0: version .* is not 1 or 2"):
        ps.load(tmp_path / "a.gr", format="galois")


# --- EMOGI
def bel(
    folder, name="a.bel", offsets=(0, 1, 1, 3), targets=(1, 0, 2), values=(2, 5, 3), weights="<u4"
):
    for part, kind, data in (
        (".col", "<u8", offsets),
        (".dst", "<u8", targets),
        (".val", weights, values),
    ):
        if data is not None:
            (folder / (name + part)).write_bytes(
                numbers("<u8", len(data), 7) + numbers(kind, *data)
            )
    return folder / name


def test_emogi_bytes(tmp_path):
    path = bel(tmp_path)
    for name in ("a.bel", "a.bel.col", "a.bel.dst", "a.bel.val"):
        np.testing.assert_array_equal(ps.load(tmp_path / name).toarray(), WEIGHTED)
    assert ps.load(path, weights=False).dtype == bool
    ps.csr_array(WEIGHTED).save(tmp_path / "b.bel")
    for part in (".col", ".dst", ".val"):
        ours, theirs = ((tmp_path / f"{x}.bel{part}").read_bytes() for x in "ba")
        assert ours[:8] == theirs[:8] and ours[16:] == theirs[16:]
    bel(tmp_path, values=(0.5, 1.5, 2.5), weights="<f4")
    np.testing.assert_array_equal(ps.load(path, weights="float32").data, [0.5, 1.5, 2.5])
    ps.csr_array(GRAPH.astype(bool)).save(tmp_path / "b.bel")
    assert not (tmp_path / "b.bel.val").exists()  # of the graph that was there
    np.testing.assert_array_equal(ps.load(tmp_path / "b.bel").toarray(), GRAPH)


BEL_BROKEN = [
    (dict(offsets=(0, 1, 1, 2)), "a.bel.col: the offsets run from 0 to 2"),
    (dict(offsets=(0, 1, 2**40, 3)), "a.bel.col: an offset is 1099511627776"),
    (dict(offsets=()), "a.bel.col: has no offsets"),
    (dict(targets=(1, 0, 3)), "a.bel: .*3"),
    (dict(targets=(1, 0, 2**63)), "a.bel: .*9223372036854775808"),
    (dict(values=(1, 2)), "a.bel.val: has 2 weights for 3 edges"),
]


@pytest.mark.parametrize("changed, message", BEL_BROKEN)
def test_broken_emogi(tmp_path, changed, message):
    path = bel(tmp_path, **changed)
    with pytest.raises(ValueError, match=message):
        ps.load(path)


def test_emogi_files_that_are_missing_or_cut(tmp_path):
    with pytest.raises(FileNotFoundError, match="a.bel"):
        ps.load(tmp_path / "a.bel")
    path = bel(tmp_path)
    data = (tmp_path / "a.bel.dst").read_bytes()
    for bad, message in (
        (data[:-1], "byte 16: 24 bytes are needed for the targets"),
        (data + b"x", "goes on for 1 bytes"),
        (b"", "byte 0"),
    ):
        (tmp_path / "a.bel.dst").write_bytes(bad)
        with pytest.raises(ValueError, match=message):
            ps.load(path)
    (tmp_path / "a.bel.dst").unlink()
    with pytest.raises(FileNotFoundError, match=r"a\.bel\.dst: .*has \.col and \.dst"):
        ps.load(path)
    with pytest.raises(ValueError, match="weights='int8'"):
        ps.load(path, weights="int8")
    with pytest.raises(ValueError, match="would round"):
        ps.csr_array(np.array([[0.1]])).save(tmp_path / "c.bel", weights="float32")


# --- pairs of NumPy arrays
@pytest.fixture
def edges():
    rng = np.random.default_rng(5)
    return rng.integers(0, 300, (5000, 2)), rng.standard_normal(5000)


def reference(e, w=None, n=300):
    a = sp.coo_array(
        (np.ones(len(e)) if w is None else w, (e[:, 0], e[:, 1])), shape=(n, n)
    ).tocsr()
    a.sum_duplicates()
    return a.astype(bool) if w is None else a


@pytest.mark.parametrize("piece", [1, 7, 1 << 18])
@pytest.mark.parametrize("form", ["rows", "columns", "fortran", "int32", "uint64", "pair"])
def test_npy_edges(tmp_path, monkeypatch, edges, form, piece):
    from penstock._io.binary import npy_edges

    monkeypatch.setattr(npy_edges, "PIECE", piece)
    e, w = (edges[0][:200], edges[1][:200]) if piece == 1 else edges
    path, options = tmp_path / "e.npy", {"shape": (300, 300)}
    kinds = {"columns": lambda x: x.T.copy(), "fortran": np.asfortranarray, "int32": lambda x: x.astype(np.int32),
             "uint64": lambda x: x.astype(np.uint64)}  # fmt: skip
    np.save(path, kinds.get(form, lambda x: x)(e))
    if form == "pair":
        np.save(path, e[:, 0])
        np.save(tmp_path / "t.npy", e[:, 1])
        options["target"] = tmp_path / "t.npy"
    same(ps.load(path, **options), reference(e))
    np.save(tmp_path / "w.npy", w)
    options["weight"] = tmp_path / "w.npy"
    same(ps.load(path, **options), reference(e, w))
    assert ps.load(path, dtype=np.float32, **options).dtype == np.float32
    undirected = ps.load(path, directed=False, **options)
    off = reference(e, w) - sp.diags_array(reference(e, w).diagonal())
    same(undirected, sp.csr_array(reference(e, w) + off.T))


def same(a, b):
    b = sp.csr_array(b)
    b.sort_indices()
    assert np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
    np.testing.assert_allclose(a.data, b.data, rtol=1e-12)


@pytest.mark.parametrize("how", ["min", "max", "keep"])
def test_npy_duplicates_and_base(tmp_path, how):
    np.save(tmp_path / "e.npy", np.array([[1, 2], [1, 2], [2, 1]]))
    np.save(tmp_path / "w.npy", np.array([3, 5, 7]))
    a = ps.load(tmp_path / "e.npy", weight=tmp_path / "w.npy", base=1, duplicates=how)
    assert sorted(a.data) == {"min": [3, 7], "max": [5, 7], "keep": [3, 5, 7]}[how]
    np.save(tmp_path / "w.npy", np.array([3j, 5, 7]))
    assert ps.load(tmp_path / "e.npy", weight=tmp_path / "w.npy", base=1)[0, 1] == 5 + 3j


def test_npy_without_edges(tmp_path):
    np.save(tmp_path / "e.npy", np.empty((0, 2), np.int64))
    assert ps.load(tmp_path / "e.npy").shape == (0, 0)
    assert ps.load(tmp_path / "e.npy", shape=(4, 5)).shape == (4, 5)


NPY_BROKEN = [
    (
        np.array([[0, 1], [2, 2**31 - 1]]),
        {},
        "edge 1: the node id 2147483647 is outside 0 .. 2\\^31 - 2",
    ),
    (np.array([[0, 1], [2**62, 0]]), {}, "edge 1: the node id 4611686018427387904"),
    (np.array([[0, 2**64 - 1]], np.uint64), {}, "edge 0: the node id 18446744073709551615"),
    (np.array([[0, 1], [-1, 2]]), {}, "edge 1: the node id -1 is outside 0"),
    (np.array([[0, 1], [2, 3]]), {"base": 1}, "edge 0: the node id 0 is outside 1"),
    (np.array([[0, 1], [2, 3]]), {"shape": (3, 3)}, "edge 1: the target 3 is outside 0 .. 2"),
    (np.array([[0, 1], [2, 3]]), {"shape": (2, 4)}, "edge 1: the source 2 is outside 0 .. 1"),
    (np.array([[0, 1], [2, 3]]), {"shape": (4, 5), "directed": False}, "square"),
    (np.array([[0, 2**30]]), {}, "renumber the ids"),
    (np.array([[0.0, 1.0]]), {}, "of float64: node ids must be integers"),
    (np.array([0, 1, 2]), {}, "has the shape \\(3,\\): .*target="),
    (np.zeros((3, 3), int), {}, "has the shape \\(3, 3\\)"),
    (np.array([[0, 1]], object), {}, "can be mapped"),
    (np.zeros(2, [("a", int)]), {}, "node ids must be integers"),
]


@pytest.mark.parametrize("array, options, message", NPY_BROKEN)
def test_broken_npy(tmp_path, array, options, message):
    np.save(tmp_path / "e.npy", array, allow_pickle=True)
    with pytest.raises(ValueError, match=message) as error:
        ps.load(tmp_path / "e.npy", **options)
    assert str(error.value).startswith(str(tmp_path))


def test_npy_pairs_that_do_not_fit(tmp_path):
    np.save(tmp_path / "e.npy", np.arange(4))
    np.save(tmp_path / "t.npy", np.arange(5))
    with pytest.raises(ValueError, match=r"t\.npy: has 5 ids, .*e\.npy has 4"):
        ps.load(tmp_path / "e.npy", target=tmp_path / "t.npy")
    with pytest.raises(FileNotFoundError, match=r"u\.npy: there is no such file"):
        ps.load(tmp_path / "e.npy", target=tmp_path / "u.npy")
    with pytest.raises(ValueError, match=r"t\.npy: has 5 weights, there are 4 edges"):
        ps.load(tmp_path / "e.npy", target=tmp_path / "e.npy", weight=tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.array([1, 2, 3, 2**53 + 1]))
    with pytest.raises(ValueError, match="2\\^53"):
        ps.load(tmp_path / "e.npy", target=tmp_path / "e.npy", weight=tmp_path / "t.npy")
    (tmp_path / "e.npy").write_bytes((tmp_path / "e.npy").read_bytes()[:-3])
    with pytest.raises(ValueError, match="can be mapped"):
        ps.load(tmp_path / "e.npy", target=tmp_path / "t.npy")
    with pytest.raises(ValueError, match="duplicates='last'"):
        ps.load(tmp_path / "e.npy", duplicates="last")


# --- METIS headers with more numbers than METIS has
def test_metis_header_with_extra_numbers(tmp_path):
    path = tmp_path / "a.graph"
    path.write_text("4 3 10 1 0\n5 1 2\n5 0 2\n5 0 1\n9\n")
    with pytest.raises(ValueError, match=r"graph:1: the header has 5 numbers, .* 4 vertices, 3 edges, no sizes .*"
                       r"vertices \(1 each\), no weights of edges; 0 .*extra='ignore'.*base=0"):  # fmt: skip
        ps.load(path)
    np.testing.assert_array_equal(ps.load(path, extra="ignore", base=0).toarray(), GRAPH)
    with pytest.raises(ValueError, match="neighbour 0 is outside 1 .. 4"):
        ps.load(path, extra="ignore")
    path.write_text("4 3 010 1 8 9\n5 2 3\n5 1 3\n5 1 2\n9\n")
    np.testing.assert_array_equal(ps.load(path, extra="ignore").toarray(), GRAPH)
    with pytest.raises(ValueError, match="8, 9 would be left over"):
        ps.load(path)
    with pytest.raises(ValueError, match="extra='drop'"):
        ps.load(path, extra="drop")


REAL = [("cnr-2000.mtx.gz", bool), ("xenon1.mtx.gz", float), ("pegase13659-Ybus.mtx.gz", complex)]


@pytest.mark.parametrize("name, dtype", REAL)
def test_real_matrices_through_every_format(tmp_path, name, dtype):
    if not (DATA / name).exists():
        pytest.skip(f"no real data in {DATA}: set PENSTOCK_DATA")
    a = ps.load(DATA / name)
    how = {bool: [("a.bel", {}), ("a.gr", {"format": "galois"})], complex: [("a.petsc", {})]}
    how = how.get(dtype, [("a.petsc", {}), ("b.petsc", {"indices": 64})])
    for file, options in how:
        a.save(tmp_path / file, **options)
        b = ps.load(tmp_path / file)
        assert a.shape == b.shape and a.dtype == b.dtype
        for x, y in ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data)):
            assert np.array_equal(x, y)
