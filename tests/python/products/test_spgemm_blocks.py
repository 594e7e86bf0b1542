"""C = A B by blocks of rows, as on a GPU whose memory C exceeds, with the CPU as the device (-1); where C may go."""

from __future__ import annotations

import numpy as np
import pytest
from penstock._product import sparse_gpu

import penstock as ps
from penstock import _core

PAIRS = [
    (np.float32, np.float32),
    (np.float64, bool),
    (bool, np.float64),
    (np.float64, np.float64),
    (bool, bool),
]


def random_matrix(rng, rows, cols, dtype, hub=True):
    """Rows out of order with duplicates, a third of them empty, and one with 40 times as many entries."""
    lengths = rng.integers(0, 9, rows) * (rng.random(rows) < 0.67)
    if hub:
        lengths[rows // 3] = 320
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    n = int(indptr[-1])
    values = None if dtype is bool else rng.integers(-4, 5, n).astype(dtype)
    return ps.csr_array._from_parts(
        rows, cols, indptr, rng.integers(0, cols, n).astype(np.int32), values
    )


def factors(of_a=np.float64, of_b=np.float64, seed=1):
    rng = np.random.default_rng(seed)
    return random_matrix(rng, 400, 300, of_a), random_matrix(rng, 300, 900, of_b)


def scipy_product(a, b):
    """By SciPy, with an entry wherever products meet: of ones for the structure, of the values for the rest."""

    def of(m, ones):
        s = m.to_scipy().astype(np.float64)
        if ones:
            s.data[:] = 1
        s.sum_duplicates()
        return s

    structure, values = of(a, True) @ of(b, True), of(a, False) @ of(b, False)
    structure.sort_indices()
    rows = np.repeat(np.arange(a.shape[0]), np.diff(structure.indptr))
    return (
        structure.indptr,
        structure.indices,
        np.asarray(values[rows, structure.indices]).reshape(-1),
    )


def assert_same(c, indptr, indices, values):
    np.testing.assert_array_equal(c.indptr, indptr)
    np.testing.assert_array_equal(c.indices, indices)
    if values is None:
        assert c.values is None
    else:
        np.testing.assert_array_equal(c.values, values.astype(c.values.dtype))


@pytest.mark.parametrize("memory", [40_000, 100_000, 3_000_000, -1])
@pytest.mark.parametrize("to_host", [True, False])
@pytest.mark.parametrize("of_a, of_b", PAIRS)
def test_blocks_are_the_product(of_a, of_b, to_host, memory):
    a, b = factors(of_a, of_b)
    dtype = np.float32 if of_a is np.float32 else np.float64
    c, event = _core.spgemm_on_device(
        a._core, b._core, "plus_times", np.dtype(dtype).name, -1, None, to_host, -1, memory,
        traced=True,
    )  # fmt: skip
    assert_same(c, *scipy_product(a, b))
    assert c.values.dtype == dtype
    in_one = not to_host and memory < 0
    assert event["schedule"] == ("in_core" if in_one else "row_blocks")
    assert event["kernel"] == "spgemm" and event["seconds"] > 0
    assert event["launches"] == event["waits"] == 0  # of a GPU
    if memory == 40_000:
        assert event["tiles"] >= 3
    if memory == 3_000_000:
        assert event["tiles"] == 1


@pytest.mark.parametrize("memory", [10_000, 100_000, -1])
def test_or_and(memory):
    a, b = factors(np.float64, bool, 2)
    c, event = _core.spgemm_on_device(
        a._core, b._core, "or_and", "bool", -1, to_host=True, block_memory=memory
    )
    assert event is None
    indptr, indices, _ = scipy_product(a, b)
    assert_same(c, indptr, indices, None)


@pytest.mark.parametrize("memory", [50_000, 300_000, -1])
@pytest.mark.parametrize("to_host", [True, False])
def test_masks(to_host, memory):
    a, b = factors(seed=3)
    mask = random_matrix(np.random.default_rng(4), 400, 900, bool)
    pattern = _core.sort_rows(mask._core, True)
    c, _ = _core.spgemm_on_device(
        a._core, b._core, mask=pattern, gpu=-1, to_host=to_host, block_memory=memory
    )
    expected = ps.spgemm(a, b, mask=mask)
    assert 0 < expected.nnz < (a @ b).nnz
    assert_same(c, expected.indptr, expected.indices, expected.data)


@pytest.mark.parametrize("first, last", [(0, 400), (0, 0), (130, 140), (399, 400), (7, 350)])
def test_ranges_of_rows(first, last):
    a, b = factors(seed=5)
    mask = _core.sort_rows(random_matrix(np.random.default_rng(6), 400, 900, bool)._core, True)
    for m in (None, mask):
        whole, _ = _core.spgemm_on_device(a._core, b._core, gpu=-1, mask=m, to_host=True)
        c, _ = _core.spgemm_on_device(
            a._core, b._core, gpu=-1, mask=m, to_host=True, block_memory=100_000, first=first,
            last=last,
        )  # fmt: skip
        begin, end = whole.indptr[first], whole.indptr[last]
        assert_same(
            c, whole.indptr[first : last + 1] - begin, whole.indices[begin:end],
            whole.values[begin:end],
        )  # fmt: skip
    with pytest.raises(ValueError, match="A's rows"):
        _core.spgemm_on_device(a._core, b._core, gpu=-1, first=first, last=401)


@pytest.mark.parametrize("rows, inner, cols", [(0, 5, 5), (5, 0, 5), (5, 5, 0), (3000, 3, 4)])
def test_nothing(rows, inner, cols):
    a, b = ps.csr_array((rows, inner)), ps.csr_array((inner, cols))
    c, _ = _core.spgemm_on_device(a._core, b._core, gpu=-1, to_host=True, block_memory=1000)
    assert c.shape == (rows, cols) and c.nnz == 0 and not c.indptr.any()


def test_what_does_not_fit_is_told_before_the_work():
    a, b = factors(seed=7)
    expected = a @ b
    products = ps.spgemm_estimate(a, b).products
    enough = 12 * expected.nnz + 8 * 401
    assert ps.spgemm_estimate(a, b).bound > expected.nnz  # so that entries have to be counted
    how = {"gpu": -1, "to_host": True, "block_memory": 100_000}
    c, _ = _core.spgemm_on_device(a._core, b._core, memory=enough, **how)
    assert c.nnz == expected.nnz
    told = f"{expected.nnz} entries, of {products} products.*{enough - 1} are allowed.*out="
    with pytest.raises(MemoryError, match=told):
        _core.spgemm_on_device(a._core, b._core, memory=enough - 1, **how)
    with pytest.raises(MemoryError, match="rows 133 to 133 of C = A B"):  # the hub
        _core.spgemm_on_device(a._core, b._core, gpu=-1, to_host=True, block_memory=4000)


def test_types_and_values_that_there_are_not():
    a, b = factors()
    with pytest.raises(_core.NotCompiledError, match="min_plus"):
        _core.spgemm_on_device(a._core, b._core, "min_plus", gpu=-1)
    with pytest.raises(ValueError, match="must be equal"):
        _core.spgemm_on_device(a._core, a._core, gpu=-1, to_host=True)
    with pytest.raises(ValueError, match="mask must be a pattern"):
        _core.spgemm_on_device(a._core, b._core, mask=a._core, gpu=-1)


def test_places_of_a_product_in_host_memory():
    a, b = factors()
    expected = (a @ b).to_scipy()
    for place in (None, ps.host, "host"):
        c = ps.spgemm(a, b, place=place)
        assert c.place == "host" and (c.to_scipy() != expected).nnz == 0
    for place in (ps.pinned, ps.device(0), "managed"):
        with pytest.raises(ValueError, match="in host memory: give ps.host, and move C with"):
            ps.spgemm(a, b, place=place)
    with pytest.raises(ValueError, match="place='elsewhere' is unknown"):
        ps.spgemm(a, b, place="elsewhere")
    with pytest.raises(ValueError, match="with out, a store"):
        ps.spgemm(a, b, place=ps.host, out="c.psk")
    blocks = list(ps.spgemm_blocks(a, b, memory="20KB", place="host"))
    assert sum(block.nnz for _, block in blocks) == expected.nnz and len(blocks) > 3


@pytest.fixture
def cpu_as_device(monkeypatch):
    """Matrices in host memory are multiplied as those on a GPU are, with the CPU in its place."""
    monkeypatch.setattr(sparse_gpu, "gpu_of", lambda a, b, mask: -1)
    monkeypatch.setattr(
        sparse_gpu,
        "products_of_rows",
        lambda f, gpu: np.diff(_core.product_offsets(f.a._core, f.b._core)),
    )


def test_the_way_of_a_gpu(cpu_as_device, tmp_path):
    a, b = factors(seed=8)
    expected = scipy_product(a, b)
    with ps.record() as events:
        assert_same((a @ b)._core, *expected)
        assert_same(ps.spgemm(a, b, place=ps.host)._core, *expected)
    assert [e["schedule"] for e in events] == ["in_core", "row_blocks"]
    blocks = list(ps.spgemm_blocks(a, b, memory="20KB"))
    assert len(blocks) > 3
    np.testing.assert_array_equal(np.concatenate([c.indices for _, c in blocks]), expected[1])
    kept = ps.spgemm(a, b, memory="20KB", out=tmp_path / "c.psk")
    assert_same(kept._core, *expected)
    with pytest.raises(ValueError, match="accumulator='hash' is for the CPU"):
        ps.spgemm(a, b, accumulator="hash")


def test_the_mask_of_a_gpu_need_not_be_in_order(cpu_as_device):
    a, b = factors(seed=9)
    mask = random_matrix(np.random.default_rng(10), 400, 900, np.float64)
    assert not mask.has_canonical_format
    indptr, indices, values = scipy_product(a, b)
    on = {(r, c) for r in range(400) for c in mask.indices[mask.indptr[r] : mask.indptr[r + 1]]}
    rows = np.repeat(np.arange(400), np.diff(indptr))
    keep = np.array([(r, c) in on for r, c in zip(rows, indices, strict=True)])
    for place in (None, ps.host):
        c = ps.spgemm(a, b, mask=mask, place=place)
        np.testing.assert_array_equal(c.indices, indices[keep])
        np.testing.assert_array_equal(c.data, values[keep])
        np.testing.assert_array_equal(np.diff(c.indptr), np.bincount(rows[keep], minlength=400))


def test_the_budget_of_a_gpu(cpu_as_device):
    a, b = factors(seed=11)
    expected = scipy_product(a, b)
    held = a.nbytes + b.nbytes
    size = 12 * expected[1].size
    with ps.options(device_memory=held + size // 2):
        with pytest.raises(MemoryError, match=r"C does not fit the memory .* place=ps\.host"):
            a @ b
        with ps.record() as events:
            c = ps.spgemm(a, b, place=ps.host)
        assert events[0]["tiles"] > 3
    assert_same(c._core, *expected)
    with (
        ps.options(device_memory=held),
        pytest.raises(MemoryError, match="A and B take .* options.device_memory allows"),
    ):
        ps.spgemm(a, b, place=ps.host)


def test_factors_apart():
    class There:
        place = "device"
        _core = None

    a, b = factors()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_core, "ordinal", lambda core: 1)
        with pytest.raises(_core.PlacementError, match=r"GPU 1 and B in host memory: give B\.to"):
            sparse_gpu.gpu_of(There(), b, None)
        with pytest.raises(_core.PlacementError, match=r"mask is in the memory of GPU 1 and A in"):
            sparse_gpu.gpu_of(a, b, There())
        assert sparse_gpu.gpu_of(There(), There(), None) == 1
    assert sparse_gpu.gpu_of(a, b, a) is None
