"""Lists that are packed piece by piece, as a GPU packs them, by the CPU as the device: the words of pack_lists."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packed_shapes import GRAPHS, PACKABLE, pattern, same_bits, with_lengths
from penstock.csgraph.shortest_paths import weights_of

import penstock as ps
from penstock import _core

ROOM = 1 << 33


def same(a, piece_bytes, memory=ROOM):
    found = _core.pack_lists_in_pieces(a._core, piece_bytes, memory)
    assert found is not None
    same_bits(a, found)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("piece", [4, 40_000, 0])
def test_the_same_bits(name, piece):
    """Pieces of 64 to 4096 vertices, or of all of them."""
    same(GRAPHS[name](), piece)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("lengths", PACKABLE)
@pytest.mark.parametrize("piece", [4, 0])
def test_with_lengths(name, lengths, piece):
    """What the CPU makes in two passes: lists, and lengths put behind their gaps."""
    a = with_lengths(GRAPHS[name](), lengths)
    weights = weights_of(a)
    found = _core.pack_lists_in_pieces(a._core, piece, ROOM, weights=weights)
    want = _core.pack_lengths(_core.pack_lists(a._core), a._core, weights)
    assert found.same(want) and want.same(found)
    assert found.facts()["lengths"] and found.facts()["length_bits"] == weights.packed_bits
    if a.nnz > 1000 and weights.packed_bits:
        other = with_lengths(a, lengths, seed=9)
        assert not found.same(
            _core.pack_lengths(_core.pack_lists(a._core), a._core, weights_of(other))
        )


@pytest.mark.parametrize("name", ["lengths", "lengths with repeats", "rmat", "lift", "two groups"])
@pytest.mark.parametrize("lengths", [None, "bytes", "words"])
@pytest.mark.parametrize("near", [0.05, 0.4, 0.9, 1.2])
def test_with_lists_that_go_to_the_host(name, lengths, near):
    """The block on the device has room for a part of the words, however much of them the pieces have."""
    a = GRAPHS[name]()
    weights = None
    want = _core.pack_lists(a._core)
    if lengths is not None:
        a = with_lengths(a, lengths)
        weights = weights_of(a)
        want = _core.pack_lengths(want, a._core, weights)
    near_bytes = int(near * want.facts()["list_bytes"])
    for piece in (4, 9000, 0):
        found = _core.pack_lists_in_pieces(
            a._core, piece, ROOM, weights=weights, near_bytes=near_bytes
        )
        if found is None:  # lists above 1022 entries stay on the device
            assert near < 1 and max(np.diff(a.indptr)) > 1022
        else:
            assert found.same(want)
    assert near > 0.05 or name != "lift" or found is not None


@pytest.mark.parametrize("spare", [0, 1 << 20, 12 << 20])
def test_pieces_leave_room_for_lists_on_their_way_to_the_host(spare):
    """However little a device has beside the lists that stay there: pieces become smaller."""
    a = with_lengths(GRAPHS["lift"](), "words")
    weights = weights_of(a)
    want = _core.pack_lengths(_core.pack_lists(a._core), a._core, weights)
    facts = want.facts()
    near_bytes = facts["list_bytes"] * 6 // 10
    memory = facts["head_bytes"] + 13 * a.shape[0] + (12 << 20) + near_bytes + spare
    found = _core.pack_lists_in_pieces(a._core, 0, memory, weights=weights, near_bytes=near_bytes)
    assert found is not None and found.same(want)


def known_little():
    """Most lists are runs of neighbours; some, in a few groups of which no sample looks at, have wide gaps."""
    n = 600_000
    rng = np.random.default_rng(4)
    looked_at = np.arange(n) // 64 % 9 == 0
    runs = np.flatnonzero(looked_at)
    wide = np.flatnonzero(~looked_at)[300_000:330_000]
    rows = [*[runs] * 8, np.repeat(wide, 40)]
    cols = [*[(runs + d) % n for d in range(1, 9)], rng.integers(0, n, 40 * wide.size)]
    keys = np.unique(np.concatenate(rows).astype(np.int64) * n + np.concatenate(cols))
    a = pattern(n, *np.divmod(keys, n))
    return ps.csr_array._from_parts(
        n, n, a.indptr, a.indices, rng.integers(8, 60_000, a.nnz).astype(np.float32)
    )


def test_pieces_that_take_more_than_a_sample_promised():
    """Pieces are cut anew by what was met, where lists on their way to the host have no room: the device packs them."""
    a = known_little()
    weights = weights_of(a)
    want = _core.pack_lengths(_core.pack_lists(a._core), a._core, weights)
    facts = want.facts()
    bytes_of_lists = facts["list_bytes"]
    assert facts["bytes"] > 1.2 * (_core.sample_lists(a._core).bytes + 2 * a.nnz)
    for near in (0.02, 0.3, 0.6):
        for spare in (0, 4 << 20):
            near_bytes = int(near * bytes_of_lists)
            memory = facts["head_bytes"] + 13 * a.shape[0] + (1 << 20) + near_bytes + spare
            for piece in (0, 400_000):
                found = _core.pack_lists_in_pieces(
                    a._core, piece, memory, weights=weights, near_bytes=near_bytes
                )
                assert found is not None and found.same(want), (near, spare, piece)


def test_lengths_that_do_not_fit():
    a = with_lengths(GRAPHS["lengths"](), "bytes")
    for change, said in ((0.5, "some with fractions"), (70_000.0, "choose another placement than")):
        values = np.asarray(a.data).copy()
        values[3] += change
        b = ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, values)
        with pytest.raises(ValueError, match=said):
            _core.pack_lists_in_pieces(b._core, 0, ROOM, weights=weights_of(b))
    with pytest.raises(ValueError, match="not those of the matrix"):
        _core.pack_lists_in_pieces(GRAPHS["rmat"]()._core, 0, ROOM, weights=weights_of(a))


def test_a_sample_that_knows_little():
    """Of 9375 groups every ninth one is looked at; the others have long lists, wide gaps and more edges."""
    n = 600_000
    seen = np.flatnonzero(np.arange(n) // 64 % 9 == 0)
    rows, cols = [seen, seen], [seen, np.minimum(seen + 1, n - 1)]
    rng = np.random.default_rng(4)
    for v in rng.choice(np.setdiff1d(np.arange(n), seen), 300, False):
        size = int(rng.choice([3, 40, 1500]))
        rows.append(np.full(size, v))
        cols.append(rng.choice(n, size, False))
    rows, cols = np.concatenate(rows), np.concatenate(cols)
    keep = np.unique(rows.astype(np.int64) * n + cols, return_index=True)[1]
    same(pattern(n, rows[keep], cols[keep]), 100_000)


@pytest.mark.parametrize("vertex", [64, 300_200, 599_900])
def test_a_column_twice_that_no_sample_sees(vertex):
    n = 600_000
    assert vertex // 64 % 9 != 0  # of a group that is not looked at
    rows = np.sort(np.append(np.arange(n), vertex))
    a = pattern(n, rows, np.minimum(rows + 1, n - 1))
    assert _core.pack_lists(a._core).facts()["repeats"]
    same(a, 100_000)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 400), st.integers(0, 3000), st.integers(0, 2**32), st.sampled_from([4, 3000, 0])
)
def test_any_graph(n, edges, seed, piece):
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, edges)) // (1 + rng.integers(0, 5, (2, edges)))
    if seed % 2:
        rows, cols = np.divmod(np.unique(rows * n + cols), n)
    same(pattern(n, rows, cols), piece)


def test_what_is_left_to_the_cpu():
    rng = np.random.default_rng(7)
    rows, cols = rng.integers(0, 3000, (2, 9000))
    unsorted = pattern(3000, rows, cols, ascending=False)
    assert _core.pack_lists_in_pieces(unsorted._core, 4, ROOM) is None
    a = ps.generate.rmat(12, seed=1)
    needed = _core.pack_lists(a._core).facts()["bytes"]
    assert _core.pack_lists_in_pieces(a._core, 4096, needed) is None  # pieces have no room
    assert _core.pack_lists_in_pieces(a._core, 4096, 2 * needed + (1 << 20)) is not None


@pytest.mark.parametrize(
    "name", ["a vertex more", "lengths with repeats", "long lists side by side", "lift"]
)
@pytest.mark.parametrize("piece", [4, 40_000, 0])
def test_ranges_of_vertices(name, piece):
    """As each of several GPUs packs its own."""
    a = GRAPHS[name]()
    n = a.shape[0]
    cuts = [0, 64 * (n // 190), 64 * (n // 100), n]
    for first, last in itertools.pairwise(cuts):
        found = _core.pack_lists_in_pieces(a._core, piece, ROOM, first, last - first)
        want = _core.pack_lists(a._core, first, last - first)
        for one, other in zip(found.to_arrays()[:4], want.to_arrays()[:4], strict=True):
            assert np.array_equal(one, other)
        assert found.to_arrays()[4] == want.to_arrays()[4]
    with pytest.raises(ValueError, match="beyond"):
        _core.pack_lists_in_pieces(a._core, piece, ROOM, n - 1, 2)
