"""WebGraph's compressed graphs: every code, against lists that were written; real ones; damaged ones."""

import json

import bv_writer as bv
import numpy as np
import pytest
import scipy.sparse as sp
from data_files import DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._io.binary.webgraph import open_graph

import penstock as ps
from penstock import _core

CODES = {
    "OUTDEGREES": ("GAMMA", "DELTA"),
    "BLOCKS": ("GAMMA", "DELTA", "UNARY"),
    "RESIDUALS": ("GAMMA", "ZETA", "DELTA", "NIBBLE"),
    "REFERENCES": ("UNARY", "GAMMA", "DELTA"),
    "BLOCK_COUNT": ("UNARY", "GAMMA", "DELTA"),
    "OFFSETS": ("GAMMA", "DELTA"),
}


def assert_lists(a, lists):
    assert a.shape == (len(lists), len(lists)) and a.dtype == bool
    assert np.array_equal(np.diff(a.indptr), [len(own) for own in lists])
    assert np.array_equal(a.indices, [v for own in lists for v in own])


def assert_packed_alike(path, a):
    """Packed from the lists, and from the matrix: the same bytes."""
    ours, theirs = open_graph(path)[0].pack(), _core.pack(a._core)
    for x, y in zip(ours.to_arrays(), theirs.to_arrays(), strict=True):
        assert np.array_equal(x, y)
    ours.validate()


@pytest.mark.parametrize("field, name", [(f, c) for f, names in CODES.items() for c in names])
@pytest.mark.parametrize("offsets", [False, True])
def test_every_code(tmp_path, field, name, offsets):
    lists, path = bv.random_lists(60, 3), tmp_path / "a.graph"
    bv.write(path, lists, codes={field: name}, offsets=offsets)
    assert path.with_suffix(".offsets").exists() == offsets
    assert_lists(ps.load(path), lists)
    assert_packed_alike(path, ps.load(path))


@pytest.mark.parametrize("k", range(1, 9))
def test_zeta(tmp_path, k):
    lists = [sorted({(x * y * y * 7919) % 5000 for y in range(x % 40)}) for x in range(5000)]
    bv.write(tmp_path / "a.graph", lists, zeta_k=k, seed=k)
    assert_lists(ps.load(tmp_path / "a.graph"), lists)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_graph_with_any_parameters(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("bv") / "a.graph"
    n, seed = data.draw(st.integers(0, 50)), data.draw(st.integers(0, 10**6))
    lists = bv.random_lists(n, seed, data.draw(st.sampled_from([0.0, 0.1, 0.9])))
    bv.write(
        path, lists, window=data.draw(st.sampled_from([0, 1, 3, 7, 40])), seed=seed,
        min_interval=data.draw(st.sampled_from([0, 1, 2, 4])), zeta_k=data.draw(st.integers(1, 8)),
        codes={field: data.draw(st.sampled_from(names)) for field, names in CODES.items()},
        offsets=data.draw(st.booleans()))  # fmt: skip
    assert_lists(ps.load(path), lists)
    assert_packed_alike(path, ps.load(path))


def repeated(path, own, n, references):
    """A graph of n equal lists, each but the first a copy of one before it: written as one string of bits."""
    first = (
        bv.gamma(len(own))
        + bv.unary(0)
        + bv.gamma(1)
        + bv.gamma(2 * own[0])
        + bv.gamma(len(own) - 4)
    )
    bits = [first] + [
        bv.gamma(len(own)) + bv.unary(min(references[x % len(references)], x)) + bv.gamma(0)
        for x in range(1, n)
    ]
    path.write_bytes(bv.as_bytes("".join(bits)))
    bv.describe(path, n, n * len(own))


@pytest.mark.parametrize("references", [[7, 3, 1, 5, 2], [1]])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_references_across_ranges(tmp_path, references, threads):
    """Ranges begin in the middle of chains, of which one reaches further than a range follows it."""
    own, n, path = range(40, 72), 150_000, tmp_path / "a.graph"
    repeated(path, own, n, references)
    before = ps.num_threads()
    ps.set_num_threads(threads)
    try:
        a = ps.load(path)
        assert a.nnz == n * 32 and (a.indices.reshape(n, 32) == np.arange(40, 72)).all()
        assert_packed_alike(path, a)
        ps.convert(path, tmp_path / "s.penstock", packed=True)
    finally:
        ps.set_num_threads(before)
    assert np.array_equal(ps.open(tmp_path / "s.penstock", validate=True).indices, a.indices)


def test_a_row_that_is_longer_than_a_block(tmp_path):
    n, path = 1_300_000, tmp_path / "a.graph"
    row = bv.gamma(n) + bv.unary(0) + bv.gamma(1) + bv.gamma(0) + bv.gamma(n - 4)
    copy = bv.gamma(n) + bv.unary(1) + bv.gamma(0)
    path.write_bytes(bv.as_bytes(row + copy + bv.gamma(0) * (n - 2)))
    bv.describe(path, n, 2 * n)
    a = ps.load(path)
    assert np.array_equal(a.indices, np.tile(np.arange(n), 2))
    assert_packed_alike(path, a)
    ps.convert(path, tmp_path / "s.penstock", packed="only")
    assert np.array_equal(ps.open(tmp_path / "s.penstock").indptr, a.indptr)


@pytest.mark.parametrize("packed", [False, True, "only"])
def test_converting_makes_the_store_that_saving_makes(tmp_path, packed):
    lists = bv.random_lists(200, 5)
    bv.write(tmp_path / "a.graph", lists)
    ps.convert(tmp_path / "a.graph", tmp_path / "a.penstock", packed=packed)
    ps.load(tmp_path / "a.graph").save(tmp_path / "b.penstock", packed=packed)
    ours, theirs = (json.loads((tmp_path / f"{x}.penstock/header.json").read_text()) for x in "ab")
    assert ours == theirs
    for name in ours["penstock"]["crc32"]:
        assert np.array_equal(*(np.load(tmp_path / f"{x}.penstock/{name}.npy") for x in "ab"))
    assert_lists(ps.open(tmp_path / "a.penstock", validate=True), lists)


def test_converting_other_formats_and_options(tmp_path):
    bv.write(tmp_path / "a.graph", bv.random_lists(20, 1))
    a = ps.load(tmp_path / "a.graph")
    ps.convert(tmp_path / "a.graph", tmp_path / "a.mtx")
    ps.convert(tmp_path / "a.graph", tmp_path / "f.penstock", dtype="float32", sample=True)
    assert np.array_equal(ps.load(tmp_path / "a.mtx").indices, a.indices)
    assert ps.open(tmp_path / "f.penstock").dtype == np.float32
    ps.convert(tmp_path / "f.penstock", tmp_path / "g.penstock", packed="only")
    assert ps.open(tmp_path / "g.penstock").dtype == np.float32
    with pytest.raises(TypeError, match="no option 'directed'; it has: .*offsets"):
        ps.convert(tmp_path / "a.graph", tmp_path / "b.penstock", directed=False)
    with pytest.raises(ValueError, match="packed=7"):
        ps.convert(tmp_path / "a.graph", tmp_path / "b.penstock", packed=7)
    assert not (tmp_path / "b.penstock").exists()


def outcome(path):
    try:
        return ps.load(path), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("offsets", [False, True])
def test_damage_is_refused_or_gives_a_graph(tmp_path, offsets):
    """Every bit turned and every length cut, in each of the files."""
    lists, path = bv.random_lists(24, 8, 0.2), tmp_path / "a.graph"
    bv.write(path, lists, offsets=offsets)
    refused = 0
    for file in (path, *([path.with_suffix(".offsets")] if offsets else [])):
        whole = file.read_bytes()
        turned = [whole[: i // 8] + bytes([whole[i // 8] ^ 1 << i % 8]) + whole[i // 8 + 1 :]
                  for i in range(8 * len(whole))]  # fmt: skip
        for data in [*turned, *(whole[:i] for i in range(len(whole))), whole + bytes(40)]:
            file.write_bytes(data)
            a, message = outcome(path)
            if a is None:
                refused += 1
                assert message.startswith(str(path)) and len(message) < 600, message
                continue
            assert a.shape == (24, 24) and (a.indices >= 0).all() and (a.indices < 24).all()
            assert sp.csr_array((a.data, a.indices, a.indptr), shape=a.shape).has_canonical_format
            assert a.nnz == sum(map(len, lists))
        file.write_bytes(whole)
    assert refused > 50
    assert_lists(ps.load(path), lists)


def test_offsets_of_another_graph(tmp_path):
    lists, path = bv.random_lists(40, 2), tmp_path / "a.graph"
    bv.write(tmp_path / "b.graph", bv.random_lists(40, 4), offsets=True)
    bv.write(path, lists)
    (tmp_path / "b.offsets").rename(tmp_path / "a.offsets")
    with pytest.raises(ValueError, match=r"\.offsets"):
        ps.load(path)
    assert_lists(ps.load(path, offsets=False), lists)


PROPERTIES = {
    "nodes=24": [
        ("nodes=25", "vertex 24, bit .*the file ends within its list"),
        ("nodes=23", "arcs"),
        ("nodes=2147483648", "2\\^31"),
        ("nodes=-1", "negative"),
        ("nodes=x", "properties:7: nodes 'x' is not an integer"),
        ("", "does not say nodes"),
        ("nodes=30000", "30000 vertices cannot be in"),
    ],
    "arcs=": [("arcs=1", "properties promises"), ("arcs=99999999999", "max_inflation")],
    "graphclass=it.unimi.dsi.webgraph.BVGraph": [
        ("graphclass=it.unimi.dsi.webgraph.EFGraph", "graphclass .*EFGraph.* is not"),
        ("", "graphclass ''"),
    ],
    "version=0": [
        ("version=1\nendianness=little", "endianness 'little'"),
        ("version=3", "version '3'"),
    ],
    "zetak=3": [("zetak=0", "zetak 0"), ("zetak=9", "zetak '9' is over 8")],
    "windowsize=7": [("windowsize=99999999", "windowsize"), ("windowsize=2", "windowsize")],
    "compressionflags=": [
        ("compressionflags=RESIDUALS_GOLOMB", "flag 'RESIDUALS_GOLOMB'"),
        ("compressionflags=nonsense", "flag 'nonsense'"),
    ],
}


@pytest.mark.parametrize(
    "old, new, message", [(old, *case) for old, cases in PROPERTIES.items() for case in cases]
)
def test_properties_that_are_wrong(tmp_path, old, new, message):
    path = tmp_path / "a.graph"
    bv.write(path, bv.random_lists(24, 8, 0.2))
    file = path.with_suffix(".properties")
    text = file.read_text()
    line = next(line for line in text.splitlines() if line.startswith(old))
    file.write_text(text.replace(line, new))
    with pytest.raises(ValueError, match=message) as error:
        ps.load(path)
    assert str(error.value).startswith(str(tmp_path))


def test_a_few_bytes_do_not_take_memory(tmp_path):
    n, path = 2**16, tmp_path / "a.graph"
    row = bv.gamma(n) + bv.unary(0) + bv.gamma(1) + bv.gamma(0) + bv.gamma(n - 4)
    path.write_bytes(bv.as_bytes(row + (bv.gamma(n) + bv.unary(1) + bv.gamma(0)) * (n - 1)))
    bv.describe(path, n, n * n)
    with pytest.raises(ValueError, match="max_inflation=inf"):
        ps.load(path)
    with pytest.raises(ValueError, match="max_inflation=inf"):
        ps.convert(path, tmp_path / "a.penstock")
    assert not (tmp_path / "a.penstock").exists()


def test_without_its_properties(tmp_path):
    path = tmp_path / "a.graph"
    bv.write(path, bv.random_lists(24, 8, 0.2))
    path.with_suffix(".properties").unlink()
    with pytest.raises(ValueError, match=r"not the text of a METIS graph.*\.properties"):
        ps.load(path)
    with pytest.raises(ValueError, match=r"a\.properties: is missing.*metis"):
        ps.load(path, format="webgraph")
    path.write_text("2 1\n2\n1\n")
    assert ps.load(path).nnz == 2  # METIS


@pytest.mark.skipif(
    not (DATA / "orig").exists(), reason=f"no real data in {DATA}: set PENSTOCK_DATA"
)
def test_real_graph_against_its_matrix_market_twin(tmp_path):
    path = DATA / "orig" / "cnr-2000.graph"
    a, twin = ps.load(path), ps.load(DATA / "cnr-2000.mtx.gz")
    assert np.array_equal(a.indptr, twin.indptr) and np.array_equal(a.indices, twin.indices)
    assert_packed_alike(path, a)
