"""The packed form: the same matrix bit for bit, the same products, damage refused; and in stores."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._io import store
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps
from penstock import _core

LARGEST = 2**31 - 1


def matrix(indptr, indices, values=None, cols=None):
    indptr = np.asarray(indptr, np.int64)
    indices = np.asarray(indices, np.int32)
    cols = int(indices.max(initial=0)) + 1 if cols is None else cols
    return _core.Matrix.from_arrays(len(indptr) - 1, cols, indptr, indices, values)


def with_lengths(lengths, cols, seed=0, dtype=None, rows="any"):
    """Random columns; rows "any" are unsorted with duplicates, "sorted" ascend."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    nnz = int(indptr[-1])
    indices = rng.integers(0, cols, nnz).astype(np.int32)
    if rows == "sorted":
        row = np.repeat(np.arange(len(lengths)), lengths)
        indices = indices[np.lexsort((indices, row))]
    values = None if dtype is None else rng.integers(-9, 10, nnz).astype(dtype)
    return matrix(indptr, indices, values, cols)


def check_same(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    for name in ("indptr", "indices", "values"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            assert x.dtype == y.dtype and x.tobytes() == y.tobytes(), name


def check_product(a, p):
    dtype = {"bool": "float64"}.get(a.dtype, a.dtype)
    x = np.random.default_rng(7).integers(-4, 5, a.shape[1]).astype(dtype)
    y = np.full(a.shape[0], np.nan, dtype)
    _core.multiply_packed(p, x, y)
    entries = np.ones(a.nnz) if a.values is None else a.values
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    terms = entries.astype(wide) * x[a.indices]
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    expected = np.zeros(a.shape[0], wide)
    np.add.at(expected, row, terms)
    np.testing.assert_array_equal(y, expected.astype(dtype))


def check(a, **how):
    p = _core.pack(a, **how)
    p.validate()
    assert p.nnz == a.nnz and p.shape == a.shape and p.dtype == a.dtype and p.place == "host"
    check_same(a, p.unpack())
    check_same(a, _core.Packed.from_arrays(*p.to_arrays()).unpack())
    if a.shape[1] < 10**6:
        check_product(a, p)
    return p


SHAPES = {
    "no rows": ([], 5),
    "no columns": ([0] * 3000, 0),
    "no entries": ([0] * 5000, 9),
    "one entry": ([1], 1),
    "one column": ([1, 0, 3, 1] * 700, 1),
    "one column, unsorted rows of it": ([40] * 90, 1),
    "short rows": ([1, 2, 0, 3] * 2000, 300),
    "rows that end with tiles": ([1024, 512, 512, 1023, 1, 2048, 0, 1, 1023], 999),
    "rows around a tile": ([1023, 1025, 1024, 2047, 2049, 0, 0, 3], 70_000),
    "102 and 103 rows in a tile": ([10] * 102 + [4] + [9] * 114, 5000),
    "a hub among short rows": ([2] * 500 + [300_000] + [0, 1] * 3000, 400_000),
    "only a hub": ([70_000], 200_000),
}


@pytest.mark.parametrize("rows", ["any", "sorted"])
@pytest.mark.parametrize("block_nnz", [1024, 4096, 1 << 19])
@pytest.mark.parametrize("shape", SHAPES)
def test_awkward_shapes(shape, block_nnz, rows):
    lengths, cols = SHAPES[shape]
    for dtype in (None, "float64"):
        check(with_lengths(np.array(lengths, int), cols, 1, dtype, rows), block_nnz=block_nnz)


def test_the_most_columns():
    indices = [0, LARGEST - 1, 5, 5, LARGEST - 1, 0, 0, LARGEST - 1, LARGEST - 2]
    check(matrix([0, 2, 2, 7, 9], indices, cols=LARGEST))
    a = with_lengths(np.array([3000, 0, 1, 9]), LARGEST, 3)
    assert check(a).bits_per_nonzero < 64


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0, 0, 1, 2, 5, 31, 33, 200, 1024, 1500]), max_size=60),
    st.sampled_from([1, 2, 3, 64, 65, 1000, 2**20 + 1, LARGEST]),
    st.sampled_from([None, "float32", "float64", "complex64", "complex128"]),
    st.sampled_from(["any", "sorted"]),
    st.sampled_from([1024, 2000, 1 << 20]),
    st.integers(0, 2**32 - 1),
)
def test_round_trips(lengths, cols, dtype, rows, block_nnz, seed):
    check(with_lengths(np.array(lengths, int), cols, seed, dtype, rows), block_nnz=block_nnz)


def special(dtype):
    """NaNs with payloads, quiet and signalling, infinities, zeros of both signs, the ends of the range."""
    unsigned = {"float32": np.uint32, "float64": np.uint64}[dtype]
    top = {"float32": 0x7F800000, "float64": 0x7FF0000000000000}[dtype]
    sign = 1 << (8 * unsigned().itemsize - 1)
    bits = [0, 1, top, top + 1, top + 12345, top | top >> 1, sign, sign | 77, top - 1, 1 << 20]
    return np.array(bits, unsigned).view(dtype)


VALUES = {
    "constant": ("float64", lambda n, r: np.full(n, np.pi)),
    "dictionary4": ("float32", lambda n, r: r.choice(np.float32([0.1, 7, -0.0, 1e30]), n)),
    "dictionary8": ("float64", lambda n, r: r.choice(r.standard_normal(256), n)),
    "int8": ("float64", lambda n, r: r.integers(-128, 128, n)),
    "int16": ("float32", lambda n, r: r.integers(-32768, 32768, n)),
    "float32": ("float64", lambda n, r: r.standard_normal(n).astype(np.float32)),
    "raw": ("float64", lambda n, r: r.standard_normal(n)),
}


@pytest.mark.parametrize("kind", VALUES)
def test_value_kinds(kind):
    rng = np.random.default_rng(5)
    dtype, draw = VALUES[kind]
    n = 30_001
    indptr = np.sort(np.concatenate([[0, n], rng.integers(0, n, 400)]))
    values = draw(n, rng).astype(dtype)
    a = matrix(indptr, rng.integers(0, 900, n), values)
    p = _core.pack(a, block_nnz=4096)
    assert p.value_kind == kind
    check_same(a, p.unpack())
    x, y = rng.standard_normal(a.shape[1]).astype(dtype), np.empty(a.shape[0], dtype)
    _core.multiply_packed(p, x, y)
    wide = np.zeros(a.shape[0])
    row = np.repeat(np.arange(a.shape[0]), np.diff(indptr))
    np.add.at(wide, row, values.astype(float) * x[a.indices])
    size = np.zeros(a.shape[0])
    np.add.at(size, row, np.abs(values.astype(float) * x[a.indices]))
    assert (np.abs(y - wide) <= 1000 * np.finfo(dtype).eps * size).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("many", [1, 3, 10])
def test_every_bit_of_odd_values(dtype, many):
    odd = special(dtype)[-many:] if many < 10 else special(dtype)
    values = np.tile(odd, 700)
    rng = np.random.default_rng(1)
    a = matrix([0, len(values)], rng.integers(0, 50, len(values)), values)
    check_same(a, _core.pack(a).unpack())
    spread = np.concatenate([values, rng.standard_normal(5000).astype(dtype)])
    a = matrix([0, len(spread)], rng.integers(0, 50, len(spread)), spread)
    p = _core.pack(a)
    assert p.value_kind == "raw"
    check_same(a, p.unpack())


def test_minus_zero_is_no_integer():
    values = np.arange(3000) % 300 - 100.0
    assert _core.pack(matrix([0, 3000], np.arange(3000), values)).value_kind == "int16"
    values[7] = -0.0
    p = _core.pack(matrix([0, 3000], np.arange(3000), values))
    assert p.value_kind == "bfloat16"
    assert np.signbit(p.unpack().values[7])


def test_doubles_beyond_float_stay_doubles():
    values = np.concatenate([np.arange(400) * 1e6, [1e300, np.inf]])
    p = _core.pack(matrix([0, 402], np.arange(402), values))
    assert p.value_kind == "raw" and np.isinf(p.unpack().values[-1])
    assert (
        _core.pack(matrix([0, 401], np.arange(401), values[[*range(400), 401]])).value_kind
        == "float32"
    )


def test_complex_values():
    rng = np.random.default_rng(2)
    few = rng.choice(np.array([1 + 2j, -0.0 - 0j, np.nan + 1j]), 5000)
    many = rng.standard_normal(5000) + 1j * rng.standard_normal(5000)
    for values, kind in [(few, "dictionary4"), (many, "raw"), (np.full(5000, 1j), "constant")]:
        for dtype in ("complex64", "complex128"):
            a = matrix([0, 100, 5000], rng.integers(0, 80, 5000), values.astype(dtype))
            p = _core.pack(a)
            assert p.value_kind == kind
            check_same(a, p.unpack())


def test_the_bytes_do_not_depend_on_threads():
    a = ps.generate.rmat(13, seed=3, dtype="float32")._core
    rounded = matrix(a.indptr, a.indices, np.round(a.values * 20), a.shape[1])
    before = _core.num_threads()
    try:
        made = []
        for pool, threads in [(1, 0), (4, 0), (4, 1), (4, 3)]:
            _core.set_num_threads(pool)
            made += [_core.pack(m, threads, 2048).to_arrays() for m in (a, rounded)]
    finally:
        _core.set_num_threads(before)
    for i in range(2, len(made)):
        for first, other in zip(made[i % 2], made[i], strict=True):
            assert first.tobytes() == other.tobytes()


def test_scrambled_rmat_is_small():
    a = ps.generate.rmat(16, seed=1)
    p = _core.pack(a._core)
    assert p.bits_per_nonzero < 11.5  # a regression of the format shows here: 11.39
    assert p.nbytes == p.to_arrays()[1].nbytes


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
def test_semirings(semiring):
    a = ps.generate.rmat(10, seed=4)
    x = (
        np.random.default_rng(0)
        .integers(0, 2, 1024)
        .astype(np.uint8 if semiring == "or_and" else float)
    )
    y = np.empty_like(x)
    _core.multiply_packed(_core.pack(a._core, block_nnz=1024), x, y, semiring)
    np.testing.assert_array_equal(y, a.dot(x, semiring=semiring))


def test_alpha_and_beta():
    a = with_lengths(np.array([3, 0, 5000, 1, 0]), 60, 2, "float64")
    p = _core.pack(a, block_nnz=1024)
    x, old = np.arange(60.0), np.arange(5.0) + 1
    plain, y = np.empty(5), old.copy()
    _core.multiply_packed(p, x, plain)
    _core.multiply_packed(p, x, y, alpha=2.0, beta=-3.0)
    np.testing.assert_array_equal(y, 2 * plain - 3 * old)


def test_refuses_what_does_not_fit():
    a = with_lengths(np.array([3, 2]), 6, 2, "float64")
    p = _core.pack(a)
    with pytest.raises(ValueError, match="as many entries"):
        _core.multiply_packed(p, np.zeros(5), np.zeros(2))
    with pytest.raises(ValueError, match="as many entries"):
        _core.multiply_packed(p, np.zeros(6), np.zeros(3))
    with pytest.raises(RuntimeError, match="no kernel"):
        _core.multiply_packed(p, np.zeros(6, np.float32), np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="threads"):
        _core.pack(a, -1)
    with pytest.raises(ValueError, match="block_nnz"):
        _core.pack(a, block_nnz=1000)


# Damage


def pieces():
    a = with_lengths(np.array([2] * 400 + [9000] + [0, 1] * 700), 5000, 3, "float64", "sorted")
    return [np.array(part) for part in _core.pack(a, block_nnz=2048).to_arrays()]


def try_it(directory, data):
    """Whether the library refuses, with the remedy; where it does not, everything must be safe to use."""
    try:
        p = _core.Packed.from_arrays(directory, data)
    except ValueError as error:
        return "pack the matrix again" in str(error)
    p.unpack()
    y = np.empty(p.shape[0])
    _core.multiply_packed(p, np.ones(p.shape[1]), y)
    return False


@pytest.mark.parametrize("field", range(8))
@pytest.mark.parametrize("value", [-1, 0, 1, 7, 2**31, 2**62, -(2**63), 2**63 - 1])
def test_damaged_directory(field, value):
    directory, data = pieces()
    for row in (0, 1, 2, 5, len(directory) // 8 - 1):
        damaged = directory.copy()
        if damaged[8 * row + field] == value:
            continue
        damaged[8 * row + field] = value
        same = row > 0 and field == 6 and value != 0 and directory[8 * row + 6] == 1
        assert try_it(damaged, data) or same, (row, field)


def test_directory_of_a_wrong_length():
    directory, data = pieces()
    for n in (0, 7, 8, len(directory) - 8, len(directory) - 1):
        assert try_it(directory[:n].copy(), data)
    assert try_it(directory, data[:-128].copy())
    assert try_it(directory, np.concatenate([data, data[:128]]))


def test_flipped_bits_are_refused_or_harmless():
    directory, data = pieces()
    rng = np.random.default_rng(11)
    refused = 0
    for i in range(600):
        damaged = data.copy()
        start = directory[8 * (1 + i % (len(directory) // 8 - 1))]
        near = i % 3 < 2  # in a block's header and tables, or anywhere
        at = start + rng.integers(0, 600) if near else rng.integers(0, len(data))
        damaged[at] ^= np.uint8(1 << rng.integers(0, 8))
        refused += try_it(directory, damaged)
    assert refused > 100


# Stores


@pytest.fixture
def graph():
    return ps.generate.rmat(10, seed=2, dtype="float32")


@pytest.mark.parametrize("packed", [True, "only"])
@pytest.mark.parametrize("dtype", [bool, "float32", "complex128"])
def test_stores(tmp_path, graph, packed, dtype):
    path = tmp_path / "a.penstock"
    a = graph.astype(dtype)
    a.save(path, packed=packed)
    assert (path / "indptr.npy").exists() == (packed is True)
    ours = json.loads((path / "header.json").read_text())["penstock"]
    assert ours["version"] == (1 if packed is True else 2)
    assert ours["packed"]["bits_per_nonzero"] > 1
    for b in (ps.open(path), ps.open(path, validate=True), ps.load(path)):
        check_same(a._core, b._core)
        check_same(a._core, b._derived.packed.unpack())
    assert ps.open(path)._derived.packed.place == "mapped"
    assert ps.load(path)._derived.packed.place == "host"
    ps.open(path).save(tmp_path / "b.penstock", packed="only")  # from the mapped form
    check_same(a._core, ps.open(tmp_path / "b.penstock")._core)


@pytest.mark.parametrize("packed", [True, "only"])
def test_store_of_an_empty_matrix(tmp_path, packed):
    for shape in [(0, 0), (0, 4), (4, 0), (3, 3)]:
        a = ps.csr_array(shape)
        a.save(tmp_path / "a.penstock", packed=packed)
        check_same(a._core, ps.open(tmp_path / "a.penstock", validate=True)._core)


def test_stores_without_it_stay_as_they_were(tmp_path, graph):
    graph.save(tmp_path / "a.penstock")
    assert sorted(p.name for p in (tmp_path / "a.penstock").iterdir()) == [
        "data.npy", "header.json", "indices.npy", "indptr.npy"]  # fmt: skip
    assert ps.open(tmp_path / "a.penstock")._derived.packed is None
    with pytest.raises(ValueError, match="give True, False or 'only'"):
        graph.save(tmp_path / "b.penstock", packed="yes")
    with pytest.raises(TypeError, match="no option 'packed'"):
        graph.save(tmp_path / "b.npz", packed=True)


def test_damaged_stores(tmp_path, graph):
    path = tmp_path / "a.penstock"

    def refused(match, validate=False, file="packed"):
        with pytest.raises(ValueError, match=match) as caught:
            ps.open(path, validate=validate)
        assert file in str(caught.value) and "again" in str(caught.value)

    graph.save(path, packed=True)
    whole = (path / "packed.npy").read_bytes()
    (path / "packed.npy").write_bytes(whole[:-50])
    refused("truncated")
    (path / "packed.npy").write_bytes(whole[:-200] + bytes([whole[-200] ^ 1]) + whole[-199:])
    ps.open(path)  # a bit of the values: only a checksum sees it
    refused("checksum|column", validate=True)
    (path / "packed.npy").write_bytes(whole[:128] + b"no block" + whole[136:])
    refused("does not begin with a block's mark")
    (path / "packed.npy").unlink()
    refused("has no packed.npy")

    graph.save(path, packed=True)
    graph[:100].save(tmp_path / "b.penstock", packed=True)
    for name in ("packed.npy", "packed_directory.npy"):
        (path / name).write_bytes((tmp_path / "b.penstock" / name).read_bytes())
    refused("the header says")
    directory = np.load(tmp_path / "b.penstock" / "packed_directory.npy")
    np.save(path / "packed_directory.npy", directory.astype(np.int32))
    refused("is int32")

    graph.save(path, packed="only")
    data = np.load(path / "packed.npy")
    data[-300] ^= 1
    np.save(path / "packed.npy", data)
    refused("checksum|column")  # what is unpacked is looked at first
    header = json.loads((path / "header.json").read_text())
    header["penstock"]["version"] = store.PACKED_ONLY_VERSION + 1
    (path / "header.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match="update penstock"):
        ps.open(path)


def test_convert(tmp_path, graph):
    graph.save(tmp_path / "a.npz")
    out = tmp_path / "a.penstock"
    run = CliRunner().invoke(app, ["convert", str(tmp_path / "a.npz"), str(out), "--packed"])
    assert run.exit_code == 0, run.output
    check_same(graph._core, ps.open(out, validate=True)._derived.packed.unpack())
