"""Products with tensors that run at once: the same as by the operators, which are called where somebody looks on."""

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import _core

torch = pytest.importorskip("torch")
WIDE = [torch.float32, torch.float64, torch.complex128]
HALF = [torch.bfloat16]


def matrix(dtype=np.float64):
    """With small integers: sums are exact."""
    rng = np.random.default_rng(1)
    s = sp.random_array((9, 6), density=0.4, rng=rng, format="csr")
    s.data = rng.integers(-4, 5, s.nnz).astype(np.float64)
    return ps.csr_array(s.astype(dtype))


def small(*shape, dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    made = torch.from_numpy(rng.integers(-3, 4, shape).astype(np.float64))
    return (made * (1 + 2j) if dtype.is_complex else made).to(dtype)


def operator(a, transposed, x, values=None, schedule=""):
    """The same by the operator of torch.library."""
    ps.torch.matmul(a, torch.ones(a.shape[1], dtype=torch.float64))
    where = a._number, *a.shape, a.nnz
    return torch.ops.penstock.matmul(x, values, *where, a.dtype.name, transposed, False, schedule)


def results(f, *inputs):
    """f's value, and its gradients of two orders."""
    mine = [t.detach().clone().requires_grad_() for t in inputs]
    y = f(*mine)
    grads = torch.autograd.grad(y.abs().square().sum(), mine, create_graph=True)
    more = torch.autograd.grad(sum(g.abs().square().sum() for g in grads), mine, allow_unused=True)
    return [y, *grads, *(m for m in more if m is not None)]


def same(found, wanted):
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        assert f.dtype == w.dtype
        torch.testing.assert_close(f, w)


@pytest.mark.parametrize("dtype", [*WIDE, *HALF])
@pytest.mark.parametrize("columns", [None, 1, 5])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("schedule", ["", "streamed"])
def test_products_as_by_the_operator(dtype, columns, transposed, schedule):
    a = matrix(np.float32 if dtype in HALF else np.float64)
    m = a.T if transposed else a
    x = small(m.shape[1], *(() if columns is None else (columns,)), dtype=dtype)
    same(
        results(lambda x: ps.torch.matmul(m, x, schedule=schedule or None), x),
        results(lambda x: operator(a, transposed, x, None, schedule), x),
    )


@pytest.mark.parametrize("dtype", [*WIDE, *HALF])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_values_as_by_the_operator(dtype, transposed):
    a = matrix()
    m = a.T if transposed else a
    x, v = small(m.shape[1], 4, dtype=dtype), small(a.nnz, dtype=dtype, seed=1)
    same(
        results(lambda x, v: ps.torch.matmul(m, x, v), x, v),
        results(lambda x, v: operator(a, transposed, x, v), x, v),
    )


def test_sampled_products_as_by_the_operator():
    a = matrix()
    x, y = small(9, 4), small(6, 4, seed=1)
    where = a._number, *a.shape, a.nnz
    same(
        results(lambda x, y: ps.torch.sddmm(a, x, y), x, y),
        results(lambda x, y: torch.ops.penstock.sddmm(x, y, *where), x, y),
    )


@pytest.mark.parametrize("half_first", [True, False])
@pytest.mark.parametrize("by_operator", [True, False])
def test_gradients_beside_halves_are_as_precise_as_their_type(half_first, by_operator):
    """A factor of 16 bits does not make the gradient of the other one, of 64 bits, as coarse."""
    a, rng = matrix(), np.random.default_rng(3)
    where = a._number, *a.shape, a.nnz
    of = torch.ops.penstock.sddmm if by_operator else lambda x, y, *_: ps.torch.sddmm(a, x, y)
    weights = torch.from_numpy(rng.random(a.nnz))
    x, y = torch.from_numpy(rng.random((9, 4))), torch.from_numpy(rng.random((6, 4)))
    half, wide = (x, y) if half_first else (y, x)
    half, wide = half.to(torch.bfloat16), wide.requires_grad_()
    pair = (half, wide) if half_first else (wide, half)
    (found,) = torch.autograd.grad((of(*pair, *where) * weights).sum(), [wide])
    exact = (half.double(), wide) if half_first else (wide, half.double())
    (expected,) = torch.autograd.grad((of(*exact, *where) * weights).sum(), [wide])
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=0)


def test_a_gradient_of_one_of_two():
    """What has none is not asked for, and a real tensor has a real one beside complex values."""
    a = matrix()
    x, v = small(6, 3), small(a.nnz, dtype=torch.complex128, seed=1)
    for mine in ((x.clone().requires_grad_(), v), (x, v.clone().requires_grad_())):
        found = [t for t in mine if t.requires_grad]
        (g,) = torch.autograd.grad(ps.torch.matmul(a, *mine).abs().sum(), found)
        (w,) = torch.autograd.grad(operator(a, False, *mine).abs().sum(), found)
        assert g.dtype == found[0].dtype
        torch.testing.assert_close(g, w)
    assert not ps.torch.matmul(a, x, v).requires_grad
    with torch.no_grad():
        assert not ps.torch.matmul(a, x.clone().requires_grad_()).requires_grad


def test_compiled_as_at_once():
    a = matrix()

    def f(x, v):
        hidden = torch.tanh(ps.torch.matmul(a, x))
        back = ps.torch.matmul(a.T, hidden, v)
        return back + ps.torch.matmul(a.T, ps.torch.matmul(a, back)), ps.torch.sddmm(a, hidden, x)

    def both(g):
        x, v = (t.requires_grad_() for t in (small(6, 4), small(a.nnz, seed=1)))
        y, s = g(x, v)
        return [y, s, *torch.autograd.grad(y.square().sum() + s.square().sum(), (x, v))]

    torch._dynamo.reset()
    same(both(f), both(torch.compile(f, fullgraph=True, backend="aot_eager")))


# Who looks on


class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        self.names.append(str(f))
        return f(*args, **(kwargs or {}))


def test_only_those_who_look_on_see_operators():
    a, x = matrix(), small(6, 4).requires_grad_()
    assert "_Matmul" in type(ps.torch.matmul(a, x).grad_fn).__name__
    assert "_Sampled" in type(ps.torch.sddmm(a, small(9, 4), x).grad_fn).__name__
    with Seen() as seen:
        ps.torch.matmul(a, x).sum().backward()
        ps.torch.sddmm(a, small(9, 4), x)
    assert seen.names.count("penstock.matmul.default") == 2  # and its gradient
    assert "penstock.sddmm.default" in seen.names


def test_a_default_device_does_not_look_on():
    a, x = matrix(), small(6, 4).requires_grad_()

    class Looks(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, f, types, args=(), kwargs=None):
            return f(*args, **(kwargs or {}))

    with torch.device("cpu"):
        assert "_Matmul" in type(ps.torch.matmul(a, x).grad_fn).__name__
        with Looks():
            assert "_Matmul" not in type(ps.torch.matmul(a, x).grad_fn).__name__


def test_tracers_see_operators():
    from torch.fx.experimental.proxy_tensor import make_fx

    a, x = matrix(), small(6, 4)
    program = make_fx(lambda x: ps.torch.matmul(a, x).relu())(x)
    assert "penstock.matmul" in program.code
    same([program(2 * x)], [ps.torch.matmul(a, 2 * x).relu()])


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:.*torch.jit.script")
def test_transforms_of_functions_refuse_or_are_right():
    """PyTorch may have no rule for an operator of Python: then nothing else may pass for its result."""
    a, x = matrix(), small(6, 4)
    dense = torch.from_numpy(a.toarray())
    for transform in (
        lambda f: torch.func.grad(lambda x: f(x).square().sum())(x),
        lambda f: torch.vmap(f)(torch.stack([x, 2 * x])),
    ):
        wanted = transform(lambda x: dense @ x)
        try:
            found = transform(lambda x: ps.torch.matmul(a, x))
        except RuntimeError:
            continue
        torch.testing.assert_close(found, wanted)


# The shortest way on a GPU, with the CPU as that GPU


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("transposed", [False, True])
def test_columns_by_addresses(monkeypatch, dtype, transposed):
    from penstock._product import torch_gpu

    monkeypatch.setattr(torch_gpu, "_stream", lambda x: 0)
    name = str(dtype).removeprefix("torch.")
    a = matrix(name)
    m = a.T.formed() if transposed else a
    call = _core.device_matrix(m._core, -1).call("plus_times", name)
    product = torch_gpu._columns_product(call, m.shape[0])
    n = m.shape[1]
    wider = small(n, 9, dtype=dtype)
    for x in (small(n, 5, dtype=dtype), small(n, 1, dtype=dtype), wider[:, 2:7], wider[:, :1]):
        torch.testing.assert_close(product(x), m @ x, rtol=0, atol=0)
    ones = torch.ones(1, 1, dtype=dtype).expand(n, 3)
    for x in (
        wider[:, 0],
        wider.T.contiguous().T,
        ones,
        wider[:, :0],
        torch.complex(wider, wider).conj().imag,
    ):
        assert product(x) is None
    with ps.record():
        assert product(wider) is None


def test_the_shortest_way_is_found_once(monkeypatch):
    """What a general product has made is called from then on, until the matrix lets go of it."""
    from penstock._product import torch_gpu

    monkeypatch.setattr(torch_gpu, "_stream", lambda x: 0)
    monkeypatch.setattr(torch_gpu, "core_on", lambda a, gpu: a._core)
    a, x = matrix(np.float32), small(6, 4, dtype=torch.float32)
    calls = []

    def call(semiring, dtype):
        made = _core.device_matrix(a._core, -1).call(semiring, dtype)
        return lambda *args: calls.append(1) or made.columns(*args)

    a._derived.device_calls = {
        ("plus_times", np.dtype(np.float32), -1): (
            type("Call", (), {"columns": staticmethod(call("plus_times", "float32"))}),
            np.dtype(np.float32),
            np.dtype(np.float32),
        )
    }
    wanted = a @ x
    for times in range(3):
        torch.testing.assert_close(torch_gpu.matmul(a, False, x, None, ""), wanted)
        assert len(calls) == times
    torch_gpu.matmul(a, False, x, small(a.nnz, dtype=torch.float32), "")
    torch_gpu.matmul(a, False, x.double(), None, "")
    assert len(calls) == 2
    a.release()
    assert a._derived.torch_products is None
