"""AnnData, 10x Genomics and MATLAB files: what their own libraries write, and what is damaged."""

import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from data_files import DATA

import penstock as ps

h5py = pytest.importorskip(
    "h5py", reason="h5py is not installed: pip install 'penstock-sparse[hdf5]'"
)

RNG = np.random.default_rng(11)
DENSE = np.where(RNG.random((9, 6)) < 0.3, RNG.integers(1, 9, (9, 6)), 0).astype(np.float32)


def put(file, where, a, **changed):
    """A sparse matrix as AnnData has it since version 0.7."""
    kind = f"{a.format}_matrix"
    group = file.create_group(where)
    group.attrs.update({"encoding-type": kind, "encoding-version": "0.1.0", "shape": np.array(a.shape)} | {
        k: v for k, v in changed.items() if k in ("encoding-type", "shape")})  # fmt: skip
    for name in ("data", "indices", "indptr"):
        array = changed.get(name, getattr(a, name))
        if array is not None:
            group.create_dataset(
                name, data=array, **({"compression": "gzip"} if np.size(array) > 1 else {})
            )
    return group


@pytest.fixture
def h5ad(tmp_path):
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        put(file, "X", sp.csr_array(DENSE))
        put(file, "layers/by_columns", sp.csc_array(DENSE.astype(float) * 2))
        file.create_dataset("layers/dense", data=DENSE.astype(np.int16), chunks=(2, 2))
        put(file, "obsp/neighbours", sp.csr_array(DENSE @ DENSE.T))
        old = put(file, "raw/X", sp.csr_array(DENSE.astype(np.int64) * 3))
        for name in list(old.attrs):
            del old.attrs[name]
        old.attrs["h5sparse_format"], old.attrs["h5sparse_shape"] = b"csr", DENSE.shape
        file.create_dataset("obs/names", data=np.arange(9))
    return path


def test_h5ad(h5ad):
    a = ps.load(h5ad)
    assert a.dtype == np.float32
    np.testing.assert_array_equal(a.toarray(), DENSE)
    np.testing.assert_array_equal(ps.load(h5ad, layer="by_columns").toarray(), 2 * DENSE)
    np.testing.assert_array_equal(ps.load(h5ad, layer="dense").toarray(), DENSE)
    np.testing.assert_array_equal(ps.load(h5ad, key="obsp/neighbours").toarray(), DENSE @ DENSE.T)
    np.testing.assert_array_equal(ps.load(h5ad, key="raw/X").toarray(), 3 * DENSE)
    assert ps.load(h5ad, dtype=bool).dtype == bool


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"layer": "x"},
            "has no 'layers/x': .* it has X, raw/X, layers/by_columns, layers/dense, obsp/neighbours",
        ),
        ({"key": "obs"}, "obs: is 'a group', not csr_matrix or csc_matrix"),
        ({"key": "obs/names"}, "obs/names: has the shape \\(9,\\)"),
    ],
)
def test_h5ad_without_what_is_asked_for(h5ad, options, message):
    with pytest.raises(ValueError, match=message) as error:
        ps.load(h5ad, **options)
    assert str(error.value).startswith(str(h5ad))
    with pytest.raises(ValueError, match="give one of them"):
        ps.load(h5ad, layer="dense", key="X")


GOOD = sp.csr_array(DENSE)
BROKEN = [
    (dict(indptr=GOOD.indptr[:-1]), "X: has 9 offsets, 9 lines need 10"),
    (dict(indptr=GOOD.indptr + 1), "X: "),
    (dict(indptr=np.where(np.arange(10) == 4, 99, GOOD.indptr)), "X: "),
    (dict(indices=GOOD.indices + 6), "X: .*column"),
    (dict(indices=GOOD.indices - 1), "X: .*column"),
    (dict(indices=GOOD.indices.astype(float)), "X: 'indices' is float64, not numbers"),
    (dict(indices=GOOD.indices[:-1]), "X: "),
    (dict(data=GOOD.data[:-1]), "X: "),
    (dict(data=np.array([b"x"] * GOOD.nnz)), "X: 'data' is"),
    (dict(data=None), "X: has no 'data' \\(it has indices, indptr\\)"),
    (dict(data=GOOD.data.reshape(1, -1)), "X: 'data' is no array of one dimension"),
    (dict(shape=np.array([9, -6])), "X: has the shape"),
    (dict(shape=np.array([9.5, 6])), "X: has the shape"),
    (dict(shape=np.array([9])), "X: has the shape"),
    (dict(shape=np.array([9, 2**31])), "2\\^31"),
    (dict(shape=np.array([2**40, 6])), "max_rows"),
    ({"encoding-type": "coo_matrix"}, "X: is 'coo_matrix', not csr_matrix"),
]


@pytest.mark.parametrize("changed, message", BROKEN)
def test_broken_h5ad(tmp_path, changed, message):
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        put(file, "X", GOOD, **changed)
    with pytest.raises(ValueError, match=message) as error:
        ps.load(path)
    assert str(error.value).startswith(str(path)) and len(str(error.value)) < 600


def test_files_that_are_not_hdf5_or_cut(h5ad):
    data = h5ad.read_bytes()
    for bad in (b"", b"hello", data[: len(data) // 2], data[:100]):
        h5ad.write_bytes(bad)
        with pytest.raises(ValueError, match="h5py cannot read it"):
            ps.load(h5ad)


def test_arrays_that_were_never_written_take_no_memory(tmp_path):
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        group = put(file, "X", sp.csr_array((2, 2)), data=None, indices=None)
        for name in ("data", "indices"):
            group.create_dataset(name, (10**12,), np.int64, chunks=(1024,))
        file.create_dataset("layers/dense", (10**6, 10**6), np.float64, chunks=(64, 64))
    for options in ({}, {"layer": "dense"}):
        with pytest.raises(ValueError, match="max_inflation"):
            ps.load(path, **options)


def test_10x(tmp_path):
    path, counts = tmp_path / "a.h5", sp.csc_array(DENSE.T.astype(np.int32))  # features x barcodes
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group.create_dataset(name, data=getattr(counts, name))
        group.create_dataset("shape", data=np.array(counts.shape, np.int32))
        group.create_dataset("barcodes", data=np.array([b"AAAC-1"] * 9))
    np.testing.assert_array_equal(ps.load(path).toarray(), DENSE)
    with h5py.File(path, "a") as file:
        file.move("matrix", "GRCh38")
    np.testing.assert_array_equal(ps.load(path).toarray(), DENSE)  # Cell Ranger 2
    with h5py.File(path, "a") as file:
        file.copy("GRCh38", "mm10")
    with pytest.raises(ValueError, match="has the groups GRCh38, mm10: pass key="):
        ps.load(path)
    np.testing.assert_array_equal(ps.load(path, key="mm10").toarray(), DENSE)
    with pytest.raises(ValueError, match="has no group 'hg19'"):
        ps.load(path, key="hg19")
    with h5py.File(path, "a") as file:
        del file["mm10"], file["GRCh38/shape"]
    with pytest.raises(ValueError, match="GRCh38: has no 'shape'"):
        ps.load(path)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("version", ["4", "5"])
def test_mat_from_scipy(tmp_path, compressed, version):
    path, a = tmp_path / "a.mat", sp.csc_array(DENSE.astype(float))
    if not (version == "4" and compressed):
        scipy.io.savemat(path, {"A": a}, format=version, do_compression=compressed)
        np.testing.assert_array_equal(ps.load(path).toarray(), DENSE)
        b = a * (1 + 2j)
        scipy.io.savemat(path, {"A": b, "B": a}, format=version, do_compression=compressed)
        np.testing.assert_array_equal(ps.load(path, variable="A").toarray(), b.toarray())
        with pytest.raises(ValueError, match="has the matrices A, B: pass variable="):
            ps.load(path)
        with pytest.raises(ValueError, match="has no matrix 'C'"):
            ps.load(path, variable="C")
    if version == "5":
        problem = {"A": a, "name": "HB/x", "b": np.ones((9, 1)), "aux": {"C": a * 2}}
        scipy.io.savemat(path, {"Problem": problem}, do_compression=compressed)
        np.testing.assert_array_equal(ps.load(path).toarray(), DENSE)
        np.testing.assert_array_equal(ps.load(path, variable="Problem.aux.C").toarray(), 2 * DENSE)
        np.testing.assert_array_equal(
            ps.load(path, variable="Problem.b").toarray(), np.ones((9, 1))
        )


def mat73(path, matrices):
    """As MATLAB's `save -v7.3`: HDF5 behind 512 bytes, columns, numbers of rows in an attribute."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, a in matrices.items():
            if not sp.issparse(a):
                file.create_dataset(name, data=a.T).attrs["MATLAB_class"] = np.bytes_("double")
                continue
            group = file.create_group(name)
            group.attrs["MATLAB_sparse"] = np.uint64(a.shape[0])
            group.attrs["MATLAB_class"] = np.bytes_("logical" if a.dtype == bool else "double")
            data = a.data
            if a.dtype.kind == "c":
                data = np.empty(a.nnz, [("real", float), ("imag", float)])
                data["real"], data["imag"] = a.data.real, a.data.imag
            if a.nnz:
                group.create_dataset(
                    "data", data=data.astype(np.uint8) if a.dtype == bool else data
                )
                group.create_dataset("ir", data=a.indices.astype(np.uint64))
            group.create_dataset("jc", data=a.indptr.astype(np.uint64))
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\2IM"
    with open(path, "r+b") as file:
        file.write(head)


@pytest.mark.parametrize("dtype", [bool, float, complex])
def test_mat_of_version_73(tmp_path, dtype):
    path, a = (
        tmp_path / "a.mat",
        sp.csc_array(DENSE.astype(dtype) * (dtype(1 + 2j) if dtype is complex else dtype(1))),
    )
    mat73(path, {"A": a})
    got = ps.load(path)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.toarray(), a.toarray())
    mat73(
        path, {"Problem/A": a, "Problem/b": np.ones((9, 1)), "x": a, "none": sp.csc_array((3, 4))}
    )
    np.testing.assert_array_equal(ps.load(path).toarray(), a.toarray())
    np.testing.assert_array_equal(ps.load(path, variable="Problem.b").toarray(), np.ones((9, 1)))
    assert ps.load(path, variable="none").shape == (3, 4)
    mat73(path, {"D": DENSE})
    np.testing.assert_array_equal(ps.load(path).toarray(), DENSE)


def test_broken_mat(tmp_path):
    path, a = tmp_path / "a.mat", sp.csc_array(DENSE.astype(float))
    mat73(path, {"A": a})
    with h5py.File(path, "a") as file:
        file["A/ir"][0] = 99
    with pytest.raises(ValueError, match="column index 99"):
        ps.load(path)
    with h5py.File(path, "a") as file:
        del file["A/jc"]
    with pytest.raises(ValueError, match="no column offsets 'jc'"):
        ps.load(path)
    scipy.io.savemat(path, {"A": a})
    data = path.read_bytes()
    for bad in (b"", b"hello", data[:200], data[:-20]):
        path.write_bytes(bad)
        with pytest.raises(
            ValueError,
            match="SciPy cannot read it|has the matrices none|byte 128: .* are said to follow",
        ):
            ps.load(path)
    scipy.io.savemat(path, {"s": "text"})
    with pytest.raises(ValueError, match="has the matrices none"):
        ps.load(path)
    scipy.io.savemat(path, {"A": np.zeros((10000, 10000))}, do_compression=True)
    with pytest.raises(ValueError, match="max_inflation=inf"):
        ps.load(path)


def test_damage_in_mat_is_refused_or_gives_a_matrix(tmp_path):
    """Every byte changed, which ended the process where SciPy read it."""
    path, a = tmp_path / "a.mat", sp.csc_array(DENSE[:3].astype(float))
    scipy.io.savemat(path, {"P": {"A": a, "b": np.ones((2, 2))}})
    data, refused = path.read_bytes(), 0
    for i in range(116, len(data)):
        for value in (0, 7, 255, data[i] ^ 1):
            path.write_bytes(data[:i] + bytes([value]) + data[i + 1 :])
            try:
                ps.load(path)
            except ValueError as error:
                refused += 1
                assert str(error).startswith(str(path))  # noqa: PT017
    assert refused > 100


def test_a_missing_library_is_named(h5ad, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(
        ImportError, match=r"\.h5ad files need h5py: pip install 'penstock-sparse\[hdf5\]'"
    ):
        ps.load(h5ad)
    monkeypatch.setitem(sys.modules, "zarr", None)
    (h5ad.parent / "a.zarr").mkdir()
    with pytest.raises(
        ImportError, match=r"\.zarr folders need zarr: pip install 'penstock-sparse\[zarr\]'"
    ):
        ps.load(h5ad.parent / "a.zarr")


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr 3 is not installed")
    path = tmp_path / "a.zarr"
    file = zarr.open_group(str(path), mode="w")

    def zput(where, a, **changed):
        group = file.create_group(where)
        group.attrs.update({"encoding-type": f"{a.format}_matrix", "shape": list(a.shape)})
        for name in ("data", "indices", "indptr"):
            array = np.asarray(changed.get(name, getattr(a, name)))
            target = group.create_array(name, shape=array.shape, dtype=array.dtype, chunks=(7,))
            target[...] = array

    zput("X", sp.csr_array(DENSE))
    zput("layers/c", sp.csc_array(DENSE * 2))
    zput("layers/bad", sp.csr_array(DENSE), indices=sp.csr_array(DENSE).indices + 6)
    dense = file.create_array("layers/dense", shape=DENSE.shape, dtype=DENSE.dtype, chunks=(2, 3))
    dense[...] = DENSE
    np.testing.assert_array_equal(ps.load(path).toarray(), DENSE)
    np.testing.assert_array_equal(ps.load(path, layer="c").toarray(), 2 * DENSE)
    np.testing.assert_array_equal(ps.load(path, layer="dense").toarray(), DENSE)
    for options, message in (
        ({"layer": "bad"}, "layers/bad: .*column"),
        ({"layer": "x"}, "has no 'layers/x'"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            ps.load(path, **options)
        assert str(error.value).startswith(str(path))
    for file_ in (path / "X").rglob("zarr.json"):
        file_.write_text("{")
    with pytest.raises(ValueError, match="zarr cannot read it"):
        ps.load(path)
    (tmp_path / "b.zarr").write_text("")
    with pytest.raises(ValueError, match="is not a folder"):
        ps.load(tmp_path / "b.zarr")
    with pytest.raises(ValueError, match="zarr files are only read"):
        ps.csr_array(DENSE).save(tmp_path / "c.zarr")


@pytest.mark.skipif(
    not (DATA / "xenon1.mtx.gz").exists(), reason=f"no real data in {DATA}: set PENSTOCK_DATA"
)
def test_a_real_matrix_as_mat_of_both_kinds(tmp_path):
    a = ps.load(DATA / "xenon1.mtx.gz")
    s = sp.csc_array(a.to_scipy())
    scipy.io.savemat(tmp_path / "a.mat", {"Problem": {"A": s}}, do_compression=True)
    mat73(tmp_path / "b.mat", {"Problem/A": s})
    for name in ("a.mat", "b.mat"):
        b = ps.load(tmp_path / name)
        assert np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
        assert np.array_equal(a.data, b.data)
