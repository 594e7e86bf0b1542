"""Products with PyTorch's tensors on the CPU: types, strides, gradients of any order, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")

WIDE = [torch.float32, torch.float64]
HALF = [torch.bfloat16, torch.float16]


def scipy_matrix(rows=30, cols=20, dtype=np.float64, seed=1):
    rng = np.random.default_rng(seed)
    s = sp.random_array((rows, cols), density=0.2, rng=rng, format="csr", dtype=np.float64)
    s.data = rng.integers(-4, 5, s.nnz).astype(dtype)  # sums are exact, also in 16 bits
    return s


def small(rng, *shape):
    return torch.from_numpy(rng.integers(-3, 4, shape).astype(np.float64))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# Tensors in, tensors out


@pytest.mark.parametrize("dtype", [*WIDE, *HALF])
@pytest.mark.parametrize("columns", [None, 0, 1, 7, 64, 65, 150])
@pytest.mark.parametrize("pattern", [False, True])
def test_products_are_tensors_of_xs_type(rng, dtype, columns, pattern):
    kind = np.float64 if dtype is torch.float64 else np.float32
    s = scipy_matrix(dtype=kind)
    a = ps.csr_array(s, dtype=bool) if pattern else ps.csr_array(s)
    dense = torch.from_numpy(a.toarray().astype(np.float64))
    tail = () if columns is None else (columns,)
    for m, d, n in ((a, dense, 20), (a.T, dense.T, 30)):
        x = small(rng, n, *tail)
        y = m @ x.to(dtype)
        assert type(y) is torch.Tensor and y.dtype == dtype
        torch.testing.assert_close(y, (d @ x).to(dtype), rtol=0, atol=0)
    x = small(rng, *reversed((30, *tail)))
    torch.testing.assert_close(x.to(dtype) @ a, (x @ dense).to(dtype), rtol=0, atol=0)


def test_promotion_is_numpys(rng):
    s = scipy_matrix()
    for of_a in (np.float32, np.float64, np.complex64):
        for of_x in (torch.float32, torch.float64, torch.complex64, torch.int64):
            x = small(rng, 20, 3).to(of_x)
            a = ps.csr_array(s, dtype=of_a)
            y = a @ x
            assert str(y.dtype) == f"torch.{(a @ x.numpy()).dtype}"
            np.testing.assert_array_equal(y.numpy(), a @ x.numpy())


def test_16_bits_are_never_added_up_in_64(rng):
    a = ps.csr_array(scipy_matrix())
    for x in (small(rng, 20, 3), small(rng, 20)):
        with pytest.raises(
            TypeError, match=r"values are float64 and X is bfloat16.*astype\('float32'\)"
        ):
            a @ x.bfloat16()
        with pytest.raises(TypeError, match="sums are in float32"):
            a.dot(x.half(), alpha=2.0)


def test_16_bits_are_rounded_once(rng):
    """Sums that 16 bits do not hold on the way: 256 + 1 - 256 in bfloat16 is 0."""
    a = ps.csr_array(np.ones((1, 3), np.float32))
    x = torch.tensor([[256.0], [1.0], [-256.0]], dtype=torch.bfloat16)
    assert (a @ x).item() == 1
    assert (a @ x[:, 0]).item() == 1


STRIDES = {
    "columns": lambda x: x.T.contiguous().T,
    "every second row": lambda x: x.repeat_interleave(2, 0)[::2],
    "one column for all": lambda x: x[:, :1].expand(-1, 5),
    "conjugated by its flag": lambda x: torch.complex(x, x).conj(),
    "negated by its flag": lambda x: torch.complex(x, x).conj().imag,
    "a part of a wider one": lambda x: torch.cat([x, x, x], 1)[:, 2:5],
    "a parameter": torch.nn.Parameter,
}


@pytest.mark.parametrize("how", STRIDES)
def test_strides(rng, how):
    s = scipy_matrix()
    x = STRIDES[how](small(rng, 20, 4))
    wanted = s @ x.detach().resolve_conj().resolve_neg().numpy()
    np.testing.assert_array_equal((ps.csr_array(s) @ x).detach().numpy(), wanted)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("columns", [None, 3, 70])
def test_out_alpha_beta_and_semirings(rng, dtype, columns):
    s = scipy_matrix(dtype=np.float64 if dtype is torch.float64 else np.float32)
    a = ps.csr_array(s)
    tail = () if columns is None else (columns,)
    x, before = small(rng, 20, *tail), small(rng, 30, *tail)
    dense = torch.from_numpy(s.toarray()).double()
    out = before.clone().to(dtype)
    assert a.dot(x.to(dtype), out=out, alpha=2.0, beta=-1.0) is out
    torch.testing.assert_close(out, (2 * dense @ x - before).to(dtype), rtol=0, atol=0)
    torch.testing.assert_close(
        a.dot(x.to(dtype), alpha=3.0), (3 * dense @ x).to(dtype), rtol=0, atol=0
    )
    y = a.dot(x.to(dtype), semiring="min_plus", schedule=ps.Streamed(device="cpu"))
    wanted = a.dot(x.numpy().astype(s.dtype), semiring="min_plus")
    torch.testing.assert_close(y, torch.from_numpy(wanted).to(dtype), rtol=0, atol=0)
    assert a.dot(x.to(dtype), semiring="or_and").dtype == torch.bool
    t = torch.zeros(20, *tail, dtype=dtype)
    a.T.dot(before.to(dtype), out=t)
    torch.testing.assert_close(t, (dense.T @ before).to(dtype), rtol=0, atol=0)


def test_out_of_the_one_kind_for_x_of_the_other(rng):
    a = ps.csr_array(scipy_matrix())
    x = small(rng, 20, 3)
    wanted = a @ x.numpy()
    tensor, array = torch.zeros(30, 3, dtype=torch.float64), np.zeros((30, 3))
    assert a.dot(x.numpy(), out=tensor) is tensor and a.dot(x, out=array) is array
    np.testing.assert_array_equal(tensor.numpy(), wanted)
    np.testing.assert_array_equal(array, wanted)
    by_columns = torch.zeros(3, 30, dtype=torch.float64).T
    a.dot(x, out=by_columns)
    np.testing.assert_array_equal(by_columns.numpy(), wanted)


def test_numpy_stays_numpy():
    a = ps.csr_array(np.eye(2))
    assert type(a @ np.ones(2)) is np.ndarray and type(a @ [1.0, 2.0]) is np.ndarray
    assert type(np.ones((3, 2)) @ a) is np.ndarray
    assert (a @ np.ones(2, np.float16)).dtype == np.float64


# Gradients


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_of_first_and_second_order(rng, transposed, columns, dtype):
    s = scipy_matrix(7, 5)
    s.data += rng.standard_normal(s.nnz)
    a = ps.csr_array(s, dtype=np.complex128 if dtype.is_complex else np.float64)
    m = a.T if transposed else a
    tail = () if columns is None else (columns,)
    x = torch.randn(m.shape[1], *tail, dtype=dtype, requires_grad=True)
    v = torch.randn(a.nnz, dtype=dtype, requires_grad=True)
    check = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    for one in check:
        assert one(lambda x: m @ x, (x,))
        assert one(lambda x, v: ps.torch.matmul(m, x, v), (x, v))
        assert one(lambda v: ps.torch.matmul(m, x.detach(), v), (v,))


@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_of_the_sampled_product(rng, columns, dtype):
    a = ps.csr_array(scipy_matrix(7, 5))
    tail = () if columns is None else (columns,)
    x = torch.randn(7, *tail, dtype=dtype, requires_grad=True)
    y = torch.randn(5, *tail, dtype=dtype, requires_grad=True)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda x, y: ps.torch.sddmm(a, x, y), (x, y))


def test_gradients_through_both_products():
    """One head of attention: weights from the features, a product with them, against dense matrices with a mask."""
    a = ps.csr_array(scipy_matrix(12, 12), dtype=bool)
    mask = torch.from_numpy(a.toarray())
    grads = []
    for sparse in (True, False):
        torch.manual_seed(0)
        x = torch.randn(12, 4, dtype=torch.float64, requires_grad=True)
        w = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
        q = x @ w
        weights = torch.tanh(ps.torch.sddmm(a, q, x)) if sparse else torch.tanh(q @ x.T) * mask
        y = ps.torch.matmul(a, x, weights) if sparse else weights @ x
        (y**2).sum().backward()
        grads.append((x.grad, w.grad))
    for got, wanted in zip(*grads, strict=True):
        torch.testing.assert_close(got, wanted)


def test_like_torchs_own_product(rng):
    s = scipy_matrix(dtype=np.float32)
    t = torch.sparse_csr_tensor(
        torch.from_numpy(s.indptr), torch.from_numpy(s.indices), torch.from_numpy(s.data), s.shape
    ).requires_grad_()
    x = small(rng, 20, 6).float().requires_grad_()
    v = torch.from_numpy(s.data).clone().requires_grad_()
    z = x.detach().clone().requires_grad_()
    torch.sparse.mm(t, x).square().sum().backward()
    ps.torch.matmul(ps.csr_array(s), z, v).square().sum().backward()
    torch.testing.assert_close(z.grad, x.grad)
    torch.testing.assert_close(v.grad, t.grad.values())
    g, h = small(rng, 30, 4), small(rng, 20, 4)
    wanted = torch.sparse.sampled_addmm(t.detach().double(), g, h.T, beta=2.0, alpha=0.5).values()
    out = 1.0 * s.data.astype(float)
    ps.sddmm(ps.csr_array(s), g, h, out=out, beta=2.0, alpha=0.5)
    np.testing.assert_allclose(out, wanted.numpy())


@pytest.mark.parametrize("dtype", HALF)
def test_gradients_in_16_bits(rng, dtype):
    a = ps.csr_array(scipy_matrix(dtype=np.float32))
    dense = torch.from_numpy(a.toarray())
    x = small(rng, 20, 70).to(dtype).requires_grad_()
    v = torch.from_numpy(a.data.copy()).requires_grad_()
    y = ps.torch.matmul(a, x, v)
    assert y.dtype == dtype
    g = small(rng, 30, 70).to(dtype)
    y.backward(g)
    assert x.grad.dtype == dtype and v.grad.dtype == torch.float32
    torch.testing.assert_close(x.grad, (dense.T @ g.float()).to(dtype), rtol=0, atol=0)
    row = np.repeat(np.arange(30), np.diff(a.indptr))
    wanted = (g.float() @ x.detach().float().T)[row, a.indices.astype(np.int64)]
    torch.testing.assert_close(v.grad, wanted, rtol=0, atol=0)


def test_mixed_types_give_gradients_of_their_own(rng):
    a = ps.csr_array(scipy_matrix())
    x = small(rng, 20, 3).float().requires_grad_()
    y = a @ x
    y.sum().backward()
    assert y.dtype == torch.float64 and x.grad.dtype == torch.float32
    c = ps.csr_array(scipy_matrix(), dtype=np.complex128) * 1j
    z = small(rng, 20, 3).requires_grad_()
    (c @ z).imag.sum().backward()
    torch.testing.assert_close(z.grad, x.grad.double())


def test_the_transpose_is_formed_once_and_only_for_gradients(rng, tmp_path):
    a = ps.csr_array(scipy_matrix())
    x = small(rng, 20, 3).requires_grad_()
    y = a @ x
    assert a._derived.transpose is None
    y.sum().backward()
    formed = a._derived.transpose
    assert formed is not None
    (a @ x).sum().backward()
    assert a._derived.transpose is formed
    a.save(tmp_path / "a.penstock")
    b = ps.open(tmp_path / "a.penstock")
    first = x.grad.clone()
    x.grad = None
    (b @ x).sum().backward()
    torch.testing.assert_close(2 * x.grad, first)
    assert b._derived.transpose is None  # it may be larger than memory


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_schedules_are_for_gradients_too(rng, transposed, dtype):
    a = ps.csr_array(scipy_matrix(dtype=np.float64 if dtype.itemsize == 8 else np.float32))
    m = a.T if transposed else a
    grads = []
    for schedule, way in ((None, {"in_core"}), ("streamed", {"streamed"})):
        for columns in ((), (3,), (70,)):
            x = torch.ones(m.shape[1], *columns, dtype=dtype, requires_grad=True)
            with ps.record() as done:
                ps.torch.matmul(m, x, schedule=schedule).sum().backward()
            assert {event["schedule"] for event in done} == way
            grads.append(x.grad)
    for one, other in zip(grads[:3], grads[3:], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_no_gradient_is_dropped_in_silence(rng):
    a = ps.csr_array(scipy_matrix())
    x = small(rng, 20, 3).requires_grad_()
    out = torch.empty(30, 3, dtype=torch.float64)
    with pytest.raises(
        RuntimeError, match=r"x requires a gradient, and products with out= have none"
    ):
        a.dot(x, out=out)
    with pytest.raises(RuntimeError, match="out requires a gradient"):
        a.dot(x.detach(), out=out.clone().requires_grad_())
    with pytest.raises(RuntimeError, match="products with semiring= have none"):
        a.dot(x, semiring="min_plus")
    with pytest.raises(RuntimeError, match="products with alpha= have none"):
        a.T.dot(small(rng, 30).requires_grad_(), alpha=2.0)
    with pytest.raises(TypeError, match=r"X requires a gradient.*ps\.torch\.sddmm"):
        ps.sddmm(a, torch.ones(30, 2, requires_grad=True), torch.ones(20, 2))
    with torch.no_grad():
        a.dot(x, out=out)
        np.testing.assert_array_equal(out.numpy(), a @ x.detach().numpy())
        assert not (a @ x).requires_grad


# Bad input


def test_bad_input(rng):
    a = ps.csr_array(scipy_matrix())
    x = small(rng, 20, 3)
    with pytest.raises(ValueError, match=r"X has shape \(19, 3\): give \(20,\) or \(20, k\)"):
        a @ x[1:]
    with pytest.raises(ValueError, match=r"X has shape \(20, 3, 1\)"):
        a @ x[:, :, None]
    with pytest.raises(ValueError, match=r"x @ A needs 30 at the end"):
        x.T @ a
    with pytest.raises(TypeError, match=r"sparse_csr: give a dense one.*ps\.csr_array\(X\)"):
        a @ x.to_sparse_csr()
    with pytest.raises(ps.PlacementError, match=r"X is on meta.*X\.cpu\(\)"):
        a @ x.to("meta")
    with pytest.raises(ps.PlacementError, match="values is on meta"):
        ps.torch.matmul(a, x, torch.empty(a.nnz, device="meta"))
    with pytest.raises(ps.PlacementError, match="out is on meta"):
        a.dot(x, out=torch.empty(30, 3, device="meta"))
    with pytest.raises(ValueError, match=rf"values has shape \(3,\): give \({a.nnz},\)"):
        ps.torch.matmul(a, x, torch.ones(3))
    with pytest.raises(TypeError, match=r"values is torch\.int64"):
        ps.torch.matmul(a, x, torch.ones(a.nnz, dtype=torch.int64))
    with pytest.raises(TypeError, match="values is a ndarray"):
        ps.torch.matmul(a, x, np.ones(a.nnz))
    with pytest.raises(TypeError, match="values are float64 and X is float16"):
        ps.torch.matmul(a, x.half(), torch.ones(a.nnz, dtype=torch.float64))
    with pytest.raises(
        TypeError, match=r"A is a csr_array.*ps\.csr_array\(\.\.\.\)|A is a ndarray"
    ):
        ps.torch.matmul(np.eye(20), x)
    with pytest.raises(ValueError, match=r"schedule='fast': give its name, in_core, streamed"):
        ps.torch.matmul(a, x, schedule="fast")
    with pytest.raises(ValueError, match="schedule is given with values"):
        ps.torch.matmul(a, x, torch.ones(a.nnz), schedule="streamed")
    with pytest.raises(TypeError, match="X is a ndarray"):
        ps.torch.matmul(a, x.numpy())
    with pytest.raises(TypeError, match=r"A\.T\.formed\(\)"):
        ps.torch.sddmm(a.T, x, x)
    with pytest.raises(ValueError, match="same number of columns"):
        ps.torch.sddmm(a, small(rng, 30, 2), x)
    with pytest.raises(ValueError, match="out is float32"):
        a.dot(x, out=torch.empty(30, 3))
    with pytest.raises(ValueError, match="out overlaps x"):
        ps.csr_array(np.eye(20)).dot(x, out=x)
    with pytest.raises(ValueError, match="beta is given without out"):
        a.dot(x, beta=1.0)
    with pytest.raises(
        ValueError, match=r"out is torch\.float32: give a tensor of torch\.bfloat16"
    ):
        a.astype("float32").dot(x.bfloat16(), out=torch.empty(30, 3))
    with pytest.raises(
        ValueError,
        match=r"out is torch\.bfloat16, which.*: x is torch\.float32",
    ):
        a.astype("float32").dot(x.float(), out=torch.empty(30, 3, dtype=torch.bfloat16))
    with pytest.raises(TypeError, match=r"X is torch\.bfloat16.*ps\.torch\.sddmm"):
        ps.sddmm(a, torch.ones(30, 2, dtype=torch.bfloat16), x[:, :2])
    with pytest.raises(
        ps.PlacementError, match=r"X is on meta, and sddmm runs on the CPU and on GPUs"
    ):
        ps.sddmm(a, torch.ones(30, 2, device="meta"), x[:, :2])
