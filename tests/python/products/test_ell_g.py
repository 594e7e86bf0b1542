"""ELL-G: conversion, what is refused, and products on the CPU."""

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import _core


def random_csr(rows, cols, mean, dtype="float64", seed=1):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 2 * mean + 1, rows)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    data = rng.standard_normal(indptr[-1]).astype(dtype)
    return sp.csr_array((data, rng.integers(0, cols, indptr[-1]), indptr), shape=(rows, cols))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("block_bytes", [0, 1, 100_000])
def test_product_and_way_back(dtype, block_bytes):
    s = random_csr(5003, 901, 6, dtype)
    a = ps.csr_array(s)
    e = _core.to_ell_g(a._core, block_bytes)
    assert e.shape == s.shape and e.nnz == s.nnz and e.dtype == dtype and e.place == "host"
    back = e.to_csr()
    assert (back.indptr == s.indptr).all() and (back.indices == s.indices).all()
    assert back.values.tobytes() == s.data.tobytes()
    x = np.random.default_rng(2).standard_normal(901).astype(dtype)
    y = np.full(5003, np.nan, dtype)
    _core.multiply_ell_g(e, x, y)
    np.testing.assert_allclose(y, s @ x, rtol=2e-5 if dtype == "float32" else 1e-12, atol=1e-5)
    old = y.copy()
    _core.multiply_ell_g(e, x, y, alpha=2.0, beta=-1.0)
    np.testing.assert_allclose(y, 2 * (s @ x) - old, rtol=1e-4, atol=1e-4)


def test_the_same_sums_as_the_rows_of_csr_for_any_number_of_threads():
    a = ps.csr_array(random_csr(20_011, 700, 9))
    e = _core.to_ell_g(a._core, 50_000)
    assert e.blocks > 10
    x = np.random.default_rng(2).standard_normal(700)
    before = ps.num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            y = np.empty(20_011)
            _core.multiply_ell_g(e, x, y)
            results.append(y.tobytes())
    finally:
        ps.set_num_threads(before)
    assert len(set(results)) == 1


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
def test_other_semirings(semiring):
    a = ps.csr_array(abs(random_csr(3001, 400, 4)))
    e = _core.to_ell_g(a._core)
    x = np.random.default_rng(3).random(400)
    if semiring == "or_and":
        x = (x < 0.2).view(np.uint8)
    y = np.empty(3001, x.dtype)
    _core.multiply_ell_g(e, x, y, semiring)
    expected = a.dot(x, semiring=semiring)
    assert (y == expected.view(y.dtype)).all()


def test_padding_tells_what_is_wasted():
    stencil = ps.generate.laplacian((40, 40, 40))
    e = _core.to_ell_g(stencil._core)
    assert 0.0 < e.padding < 0.1
    assert e.nbytes < 1.1 * stencil._core.nbytes
    assert e.padding == pytest.approx(1 - e.nnz / (7 * 40**3), rel=1e-6)


def test_long_rows_are_refused_with_numbers_and_remedy():
    lengths = np.full(100_000, 3)
    lengths[500] = 5000
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.arange(indptr[-1]) % 7000
    a = ps.csr_array((np.ones(indptr[-1]), indices, indptr), shape=(100_000, 7000))
    with pytest.raises(ValueError, match=r"5000 entries where the mean is 3.*MiB.*merge_path"):
        _core.to_ell_g(a._core)


def test_wrong_arguments():
    e = _core.to_ell_g(ps.csr_array(random_csr(10, 8, 2))._core)
    with pytest.raises(ValueError, match="as many entries as the matrix has columns"):
        _core.multiply_ell_g(e, np.ones(9), np.ones(10))
    with pytest.raises(ValueError, match="as many entries as the matrix has rows"):
        _core.multiply_ell_g(e, np.ones(8), np.ones(8))
    with pytest.raises(_core.NotCompiledError, match="astype"):
        _core.multiply_ell_g(e, np.ones(8, np.float32), np.ones(10, np.float32))
    with pytest.raises(ValueError, match="one of host, pinned, managed, device"):
        e.to_place("tape")


@pytest.mark.skipif(_core.config()["cuda"], reason="this build has CUDA")
def test_a_build_without_cuda_says_so():
    a = ps.csr_array(random_csr(10, 8, 2))
    e = _core.to_ell_g(a._core)
    with pytest.raises(_core.NotCompiledError, match="no CUDA"):
        e.to_place("device")
    with pytest.raises(_core.NotCompiledError, match="no CUDA"):
        _core.cusparse_version()
    with pytest.raises(_core.PlacementError, match="to_place"):
        _core.time_spmm_gpu(a._core, np.ones((8, 2)))
    with pytest.raises(_core.PlacementError, match="move it to that GPU"):
        _core.time_spmv_ell_g_gpu(e, np.ones(8))


def test_cusparse_names_what_it_cannot_do():
    a = ps.csr_array(random_csr(10, 8, 2))
    x, y = np.ones(8), np.ones(10)
    with pytest.raises(ValueError, match=r"in core on a GPU"):
        _core.product(a._core, x, y, algorithm="cusparse")
    with pytest.raises(ValueError, match=r"no semiring min_plus"):
        _core.product(a._core, x, y, algorithm="cusparse", semiring="min_plus")
    with pytest.raises(_core.PlacementError, match=r"move it to that GPU"):
        _core.product(a._core, x, y, _core.in_core(0), algorithm="cusparse")


def test_the_wheel_of_cusparse_is_found(tmp_path, monkeypatch):
    from penstock import _cusparse

    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "nvidia", raising=False)
    assert _cusparse.find() is None or "libcusparse" in _cusparse.find()
    (folder / "libcusparse.so.12").write_bytes(b"")
    assert _cusparse.find() is not None
