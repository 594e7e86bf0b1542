"""Lists that are packed piece by piece, as a GPU packs them, by the CPU as the device: the words of pack_lists."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packed_shapes import GRAPHS, pattern, same_bits

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


def test_a_sample_that_knows_little():
    """Of 9375 groups every second one is looked at; the others have long lists, wide gaps and more edges."""
    n = 600_000
    seen = np.flatnonzero(np.arange(n) // 64 % 2 == 0)
    rows, cols = [seen, seen], [seen, np.minimum(seen + 1, n - 1)]
    rng = np.random.default_rng(4)
    for v in rng.choice(np.setdiff1d(np.arange(n), seen), 300, False):
        size = int(rng.choice([3, 40, 1500]))
        rows.append(np.full(size, v))
        cols.append(rng.choice(n, size, False))
    rows, cols = np.concatenate(rows), np.concatenate(cols)
    keep = np.unique(rows.astype(np.int64) * n + cols, return_index=True)[1]
    same(pattern(n, rows[keep], cols[keep]), 100_000)


@pytest.mark.parametrize("vertex", [64, 300_100, 599_900])
def test_a_column_twice_that_no_sample_sees(vertex):
    n = 600_000
    assert vertex // 64 % 2 == 1  # of a group that is not looked at
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
