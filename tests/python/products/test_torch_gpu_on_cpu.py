"""What products do with tensors on a GPU, run with the CPU as that GPU: types, panels, strides, streams of entries."""

import types

import numpy as np
import pytest
import scipy.sparse as sp
from penstock._product.gpu_copies import transposed_structure

import penstock as ps
from penstock import _core

torch = pytest.importorskip("torch")
HALF = [torch.bfloat16, torch.float16]
HUB = 40_000  # entries of one row: pieces of it meet in Y


@pytest.fixture
def gpu(monkeypatch):
    """`torch_gpu`, for which GPU -1 is the CPU."""
    from penstock._product import torch_gpu

    monkeypatch.setattr(torch_gpu, "core_on", lambda a, gpu: a._core)
    monkeypatch.setattr(torch_gpu, "_stream", lambda x: 0)
    monkeypatch.setattr(
        torch_gpu, "transposed_structure", lambda a, gpu: transposed_structure(a, -1)
    )
    one_ring = types.SimpleNamespace(_lower=lambda: _core.streamed([-1], 4096, 3, 3 * 1100))
    monkeypatch.setattr(torch_gpu, "Streamed", lambda device: one_ring)
    return torch_gpu


def matrix(dtype=np.float64, hub=0):
    rng = np.random.default_rng(1)
    s = sp.random_array((30, 20), density=0.2, rng=rng, format="csr")
    lengths = np.diff(s.indptr)
    lengths[7] += hub
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, 20, indptr[-1], dtype=np.int32)
    values = rng.integers(-4, 5, indptr[-1]).astype(dtype)
    return ps.csr_array((values, indices, indptr), shape=(30, 20))


def tensor(*shape, dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(-3, 4, shape).astype(np.float64)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, *HALF])
@pytest.mark.parametrize("columns", [None, 0, 1, 3, 130, 300])
def test_sampled_products(gpu, dtype, columns):
    a = matrix()
    tail = () if columns is None else (columns,)
    x, y = tensor(30, *tail, dtype=dtype), tensor(20, *tail, dtype=dtype, seed=1)
    v = gpu.sampled(a, x, y)
    assert v.dtype == (torch.float32 if dtype in HALF else dtype)
    torch.testing.assert_close(v, ps.torch.sddmm(a, x, y), rtol=0, atol=0)


def test_sampled_products_of_other_strides_and_types(gpu):
    a = matrix()
    x, y = tensor(30, 6), tensor(20, 6, seed=1)
    wanted = ps.torch.sddmm(a, x, y)
    by_columns = x.T.contiguous().T
    parts = torch.zeros(30, 9, dtype=torch.float64)
    parts[:, 2:8] = x
    for z in (by_columns, parts[:, 2:8], x.float()):
        torch.testing.assert_close(gpu.sampled(a, z, y), wanted, rtol=0, atol=0)
    ones = torch.ones(1, 1, dtype=torch.float64).expand(30, 6)
    wanted = ps.torch.sddmm(a, ones, y)
    torch.testing.assert_close(gpu.sampled(a, ones, y), wanted, rtol=0, atol=0)
    z = (1j * x).conj()
    assert z.is_conj()
    torch.testing.assert_close(gpu.sampled(a, z, y), ps.torch.sddmm(a, z, y), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128, *HALF])
@pytest.mark.parametrize("columns", [None, 0, 1, 3, 130])
@pytest.mark.parametrize("transposed", [False, True])
def test_products(gpu, dtype, columns, transposed):
    a = matrix(np.float32)
    m = a.T if transposed else a
    x = tensor(m.shape[1], *(() if columns is None else (columns,)), dtype=dtype)
    y = gpu.matmul(a, transposed, x, None, "")
    wanted = m @ x
    assert y.dtype == wanted.dtype
    torch.testing.assert_close(torch.as_tensor(y), wanted, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("columns", [1, 5, 130])
@pytest.mark.parametrize("transposed", [False, True])
def test_streamed_products(gpu, dtype, columns, transposed):
    a = matrix(np.float32, HUB if dtype is torch.float64 else 0)
    m = a.T if transposed else a
    x = tensor(m.shape[1], columns, dtype=dtype)
    with ps.record() as done:
        y = gpu.matmul(a, transposed, x, None, "streamed")
    assert done[0]["schedule"] == "streamed" and done[0]["tiles"] > 1
    wanted = m @ x
    assert y.dtype == wanted.dtype
    torch.testing.assert_close(y, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, *HALF])
@pytest.mark.parametrize("of_values", [torch.float32, torch.float64, torch.complex128, *HALF])
@pytest.mark.parametrize("columns", [None, 0, 1, 5, 130])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_other_values(gpu, dtype, of_values, columns, transposed):
    a = matrix(np.complex64)
    m = a.T if transposed else a
    x = tensor(m.shape[1], *(() if columns is None else (columns,)), dtype=dtype)
    v = tensor(2 * a.nnz, dtype=of_values, seed=2)[::2]
    if dtype in HALF and of_values not in (torch.float32, *HALF):
        pytest.skip("refused before: sums would be in 64 bits")
    for _ in range(2):  # the second time with what is kept
        y = gpu.matmul(a, transposed, x, v, "")
        wanted = ps.torch.matmul(m, x, v)
        assert y.dtype == wanted.dtype
        torch.testing.assert_close(y, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_streaming_of_the_core(dtype):
    a = matrix(dtype, HUB)
    x, y = (
        np.random.default_rng(s).integers(-3, 4, (n, 8)).astype(dtype)
        for s, n in ((0, 20), (1, 30))
    )
    wanted = 2 * (a @ x[:, 1:6]) - y[:, 2:7]
    untouched = y[:, [0, 1, 7]].copy()
    size = y.itemsize
    how = _core.streamed([-1], 4096, 3, 3 * 1100)
    ends = x.ctypes.data + size, 8, y.ctypes.data + 2 * size, 8, 5
    _core.stream_columns_gpu(a._core, *ends, dtype, how, 2.0, -1.0)
    np.testing.assert_array_equal(y[:, 2:7], wanted)
    np.testing.assert_array_equal(y[:, [0, 1, 7]], untouched)
    with pytest.raises(ValueError, match="a streamed schedule of one device"):
        _core.stream_columns_gpu(a._core, *ends, dtype, _core.streamed([-1, -1]))
    with pytest.raises(_core.NotCompiledError, match="X of uint8"):
        _core.stream_columns_gpu(a._core, *ends, "uint8", how)


@pytest.mark.skipif(_core.config()["cuda"], reason="a build with CUDA says where arrays must be")
def test_without_cuda_it_is_said():
    a = matrix()
    with pytest.raises(_core.NotCompiledError, match="this build has no CUDA"):
        _core.sddmm_gpu(a._core, 0, 1, 0, 1, 1, 0, "float64")
    with pytest.raises(_core.NotCompiledError, match="this build has no CUDA"):
        _core.with_values_on_gpu(a._core, 0, a.nnz, "float64", a)


def test_matrices_in_host_memory_share_no_structure_with_a_gpu():
    a = matrix()
    if not _core.config()["cuda"]:
        pytest.skip("needs a build with CUDA, but no GPU")
    with pytest.raises(ps.PlacementError, match=r"is in host memory.*A\.to\(ps\.device"):
        _core.with_values_on_gpu(a._core, 0, a.nnz, "float64", a)
    with pytest.raises(ps.PlacementError, match=r"is in host memory.*A\.to\(ps\.device\(3\)\)"):
        _core.sddmm_gpu(a._core, 0, 1, 0, 1, 1, 0, "float64", gpu=3)


def test_tensors_without_data_that_say_they_are_on_a_gpu():
    """Shapes, types and devices of compiled programs; and that such tensors, and 16 bits, need the operator."""
    from penstock._product.operands import on_host
    from torch._subclasses.fake_tensor import FakeTensorMode

    a = matrix(np.float32)
    with FakeTensorMode():
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.empty(20, 5, dtype=dtype, device="cuda")
            values = torch.empty(a.nnz, dtype=dtype, device="cuda")
            for y in (ps.torch.matmul(a, x), ps.torch.matmul(a, x, values)):
                assert (y.shape, y.dtype, y.device.type) == ((30, 5), dtype, "cuda")
            v = ps.torch.sddmm(a, y, x)
            assert (v.shape, v.dtype, v.device.type) == ((a.nnz,), torch.float32, "cuda")
            assert on_host(x, None) and on_host(None, x) and on_host(np.ones(3), x)
        with pytest.raises(ps.PlacementError, match="X is on cuda:0 and values on cpu"):
            ps.torch.matmul(a, x, values.cpu())
        with pytest.raises(ps.PlacementError, match="X is on cuda:0 and Y on cpu"):
            ps.torch.sddmm(a, y, x.cpu())
    assert on_host(torch.ones(3), None) and not on_host(np.ones(3), None)
