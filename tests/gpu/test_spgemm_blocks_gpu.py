"""C = A B of matrices on a GPU by blocks of rows: into host memory, on a mask, under budgets that C exceeds."""

import numpy as np
import pytest

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu


def random_matrix(rng, rows, cols, dtype="float64", hub=0):
    """Rows out of order with duplicates, a third of them empty; a row of `hub` entries. Small integers, so that sums
    have the same bits in any order."""
    lengths = rng.integers(0, 9, rows) * (rng.random(rows) < 0.67)
    if hub:
        lengths[rows // 3] = hub
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    n = int(indptr[-1])
    values = None if dtype == "bool" else rng.integers(-4, 5, n).astype(dtype)
    return ps.csr_array._from_parts(
        rows, cols, indptr, rng.integers(0, cols, n).astype(np.int32), values
    )


def factors(dtype="float64", seed=1, rows=4000):
    rng = np.random.default_rng(seed)
    return (
        random_matrix(rng, rows, 3000, dtype, hub=2500),
        random_matrix(rng, 3000, 20_000, dtype, hub=4000),
    )


def on_gpu(*matrices):
    return tuple(m.to(ps.device(0)) for m in matrices)


def assert_same(c, expected):
    c = c.to(ps.host)
    assert c.shape == expected.shape and c.dtype == expected.dtype
    np.testing.assert_array_equal(c.indptr, expected.indptr)
    np.testing.assert_array_equal(c.indices, expected.indices)
    np.testing.assert_array_equal(c.data, expected.data)


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
@pytest.mark.parametrize("memory", [200_000, 2_000_000, None])
def test_products_into_host_memory(dtype, memory):
    a, b = factors(dtype, rows=900)
    semiring = "or_and" if dtype == "bool" else "plus_times"
    expected = ps.spgemm(a, b, semiring=semiring)
    ga, gb = on_gpu(a, b)
    budget = None if memory is None else ga.nbytes + gb.nbytes + memory
    with ps.options(device_memory=budget), ps.record() as events:
        c = ps.spgemm(ga, gb, semiring=semiring, place=ps.host)
    assert c.place == "host" and c.has_canonical_format
    assert_same(c, expected)
    assert events[0]["schedule"] == "row_blocks"
    assert events[0]["link_bytes"] == c.nbytes
    if memory == 200_000:
        assert events[0]["tiles"] > 1
    assert events[0]["launches"] > events[0]["tiles"] and events[0]["waits"] > events[0]["tiles"]


def test_a_product_that_does_not_fit_names_the_host():
    a, b = factors()
    expected = a @ b
    ga, gb = on_gpu(a, b)
    with ps.options(device_memory=ga.nbytes + gb.nbytes + expected.nbytes // 2):
        with pytest.raises(MemoryError, match=r"place=ps\.host"):
            ga @ gb
        assert_same(ps.spgemm(ga, gb, place=ps.host), expected)
        with pytest.raises(MemoryError, match=f"{expected.nnz} entries, of .* are allowed"):
            ps.spgemm(ga, gb, place=ps.host, memory=expected.nbytes - 1)
    for budget, told in (
        (ga.nbytes + gb.nbytes + 30_000, r"rows \d+ to \d+ of C = A B"),
        (ga.nbytes, "A and B take"),
    ):
        with ps.options(device_memory=budget), pytest.raises(MemoryError, match=told):
            ps.spgemm(ga, gb, place=ps.host)


def test_the_trace_of_a_product_that_stays():
    a, b = factors()
    with ps.record() as events:
        c = on_gpu(a)[0] @ on_gpu(b)[0]
    assert c.place == "device" and len(events) == 1
    assert events[0]["schedule"] == "in_core" and events[0]["kernel"] == "spgemm"
    assert 5 <= events[0]["launches"] <= 60 and 2 <= events[0]["waits"] <= 10


@pytest.mark.parametrize("place", [None, ps.host])
@pytest.mark.parametrize("memory", [2_000_000, None])
def test_masks(memory, place):
    a, b = factors(seed=2)
    rng = np.random.default_rng(3)
    mask = random_matrix(rng, 4000, 20_000, "float32", hub=9000)
    product = a @ b
    for m in (mask, product):  # few entries of C, and all of them
        expected = ps.spgemm(a, b, mask=m)
        ga, gb, gm = on_gpu(a, b, m)
        held = ga.nbytes + gb.nbytes + gm.nbytes
        budget = None if memory is None else held + memory
        with ps.options(device_memory=budget), ps.record() as events:
            c = ps.spgemm(ga, gb, mask=gm, place=place)
        assert c.place == ("host" if place else "device")
        assert_same(c, expected)
        assert events[0]["schedule"] == "row_blocks"
        if memory and place:
            assert events[0]["tiles"] > 1
    assert ps.spgemm(a, b, mask=product).nnz == product.nnz


def test_blocks_and_stores(tmp_path):
    a, b = factors(seed=4)
    expected = a @ b
    ga, gb = on_gpu(a, b)
    for place in (None, ps.host):
        blocks = list(ps.spgemm_blocks(ga, gb, memory="200KB", place=place))
        assert len(blocks) > 2
        assert {block.place for _, block in blocks} == {"host" if place else "device"}
        rows = [block.to(ps.host) for _, block in blocks]
        np.testing.assert_array_equal(np.concatenate([r.indices for r in rows]), expected.indices)
        np.testing.assert_array_equal(np.concatenate([r.data for r in rows]), expected.data)
    kept = ps.spgemm(ga, gb, memory="200KB", out=str(tmp_path / "c.psk"))
    assert_same(kept, expected)


def test_large_copies_from_locked_pages():
    # Pieces of 128 MB are locked; the last piece of each array is not full.
    rng = np.random.default_rng(5)
    a = random_matrix(rng, 300_000, 50_000)
    indices = rng.integers(0, 2_000_000, 1_500_000).astype(np.int32)
    indptr = np.arange(0, indices.size + 1, 30)
    b = ps.csr_array._from_parts(50_000, 2_000_000, indptr, indices, np.ones(indices.size))
    expected = a @ b
    assert expected.nbytes > 250 << 20
    assert_same(ps.spgemm(*on_gpu(a, b), place=ps.host), expected)


def test_places_that_do_not_agree():
    a, b = factors()
    ga, gb = on_gpu(a, b)
    with pytest.raises(_core.PlacementError, match=r"A is in the memory of GPU 0 and B in host"):
        ga @ b
    with pytest.raises(_core.PlacementError, match=r"mask in host memory: give mask\.to"):
        ps.spgemm(ga, gb, mask=ps.csr_array((4000, 20_000)))
    with pytest.raises(ValueError, match=r"give ps\.host or ps\.device\(0\), and move C"):
        ps.spgemm(ga, gb, place=ps.pinned)
    with pytest.raises(ValueError, match="accumulator='hash' is for the CPU"):
        ps.spgemm(ga, gb, accumulator="hash")
    assert ps.spgemm(ga, gb, place=ps.device(0)).place == "device"
