"""Programs of PyTorch that hold a matrix: compiled ones, fake tensors, lifetime, copies, threads; and the pages."""

import copy
import doctest
import gc
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")


def scipy_matrix(rows=30, cols=20, dtype=np.float64, seed=1):
    rng = np.random.default_rng(seed)
    s = sp.random_array((rows, cols), density=0.2, rng=rng, format="csr", dtype=np.float64)
    s.data = rng.integers(-4, 5, s.nnz).astype(dtype)  # sums are exact, also in 16 bits
    return s


def operands(dtype=torch.float64):
    g = torch.Generator().manual_seed(3)
    a = ps.csr_array(scipy_matrix(9, 6, np.float32 if dtype.itemsize < 8 else np.float64))
    x = torch.randn(6, 4, generator=g).to(dtype)
    y = torch.randn(9, 4, generator=g).to(dtype)
    v = torch.randn(a.nnz, generator=g).to(dtype)
    return a, x, y, v


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_opcheck(dtype):
    a, x, y, v = operands(dtype)
    where = (a._number, *a.shape, a.nnz)
    kind = a.dtype.name
    ps.torch.matmul(a, x)
    ops = torch.ops.penstock
    for grad in (False, True):
        x, y, v = (z.detach().requires_grad_(grad) for z in (x, y, v))
        torch.library.opcheck(ops.matmul, (x, None, *where, kind, False, False, ""))
        torch.library.opcheck(ops.matmul, (y, None, *where, kind, True, True, "streamed"))
        torch.library.opcheck(ops.matmul, (y[:, 0], v, *where, kind, True, False, ""))
        torch.library.opcheck(ops.sddmm, (y, x, *where))


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_compiled_programs_have_the_same_values_and_gradients(backend):
    a, x, _, v = operands()

    def f(x, v):
        hidden = torch.relu(a.dot(x))
        back = ps.torch.matmul(a.T, hidden) + x
        return ps.torch.matmul(a, back, v).square().mean() + ps.torch.sddmm(a, hidden, x).sum()

    compiled = torch.compile(f, fullgraph=True, backend=backend)
    grads = []
    for g in (f, compiled):
        xs, vs = (z.clone().requires_grad_() for z in (x, v))
        loss = g(xs, vs)
        loss.backward()
        grads.append((loss.detach(), xs.grad, vs.grad))
    for got, wanted in zip(*grads, strict=True):
        torch.testing.assert_close(got, wanted)


def test_a_compiled_program_follows_its_matrix():
    """Another matrix, also of the same shape, is another program; and so is another width."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda m, x: torch.relu(m.dot(x)), fullgraph=True, backend="aot_eager")
    s = scipy_matrix(6, 6)
    for factor in range(1, 6):
        a = ps.csr_array(s * factor)
        x = torch.ones(6, 1 + factor % 3, dtype=torch.float64)
        np.testing.assert_array_equal(compiled(a, x).numpy(), np.maximum(a @ x.numpy(), 0))
    a = ps.csr_array(scipy_matrix(8, 6))
    np.testing.assert_array_equal(compiled(a, x).numpy(), np.maximum(a @ x.numpy(), 0))


def test_the_operator_breaks_the_graph_and_is_right():
    """PyTorch's compiler confuses A @ X of another class with X @ A, where it may look inside: it may not."""
    a, x, y, _ = operands()
    a = a[:6]
    square = y[:6, :1] * x[:, :1].T + torch.eye(6, dtype=torch.float64)
    compiled = torch.compile(lambda x: (a @ x).relu() - x @ a, backend="aot_eager")
    dense = torch.from_numpy(a.toarray())
    torch.testing.assert_close(compiled(square), (dense @ square).relu() - square @ dense)


def test_shapes_without_data():
    from torch._subclasses.fake_tensor import FakeTensorMode

    a, *_ = operands()
    with FakeTensorMode():
        y = a @ torch.empty(6, 5, dtype=torch.float64)
        assert tuple(y.shape) == (9, 5) and y.dtype == torch.float64
        assert ps.torch.sddmm(a, y, torch.empty(6, 5)).shape == (a.nnz,)


# Lifetime


def test_gradients_keep_the_matrix_alive():
    a, x, *_ = operands()
    wanted = torch.from_numpy(a.toarray().sum(0))
    x.requires_grad_()
    y = a @ x
    del a
    gc.collect()
    y.sum().backward()
    torch.testing.assert_close(x.grad[:, 0], wanted)


def test_a_matrix_that_is_gone_is_told_and_its_number_never_used_again():
    from penstock._product import numbers

    a, x, *_ = operands()
    a @ x
    number, shape, nnz = a._number, a.shape, a.nnz
    assert numbers.matrix_of(number, shape, nnz) is a
    with pytest.raises(RuntimeError, match="trace the program again"):
        numbers.matrix_of(number, (3, 3), nnz)
    del a
    gc.collect()
    others = [ps.csr_array((2, 2)) for _ in range(3000)]
    assert number not in {o._number for o in others}
    with pytest.raises(RuntimeError, match="is gone, or was never in this process"):
        torch.ops.penstock.matmul(x, None, number, *shape, nnz, "float64", False, False, "")
    del others
    gc.collect()
    for _ in range(5000):
        ps.csr_array((1, 1))
    assert len(numbers._known) < 6000


def test_copies_are_matrices_of_their_own():
    a, x, *_ = operands()
    for b in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a[2:]):
        assert b._number != a._number
        torch.testing.assert_close(b @ x, (a @ x)[a.shape[0] - b.shape[0] :])


class Layer(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.a, self.linear = a, torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.a @ self.linear(x)


def test_a_module_that_holds_a_matrix(tmp_path):
    a, x, *_ = operands(torch.float32)
    layer = Layer(a)
    torch.save(layer, tmp_path / "layer.pt")
    again = torch.load(tmp_path / "layer.pt", weights_only=False)
    torch.testing.assert_close(again(x), layer(x))
    torch.testing.assert_close(copy.deepcopy(layer)(x), layer(x))


def test_threads():
    a, x, *_ = operands()
    wanted = torch.from_numpy(a.toarray().sum(0)).double()
    found = []

    def work():
        z = x.clone().requires_grad_()
        (a @ z).sum().backward()
        found.append(z.grad[:, 1])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 6
    for one in found:
        torch.testing.assert_close(one, wanted)


# The pages

PAGE = Path(__file__).resolve().parents[3] / "docs" / "pytorch.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the pages are not beside the tests")
def test_the_page():
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=options)
    assert not failed and tried >= 15


def test_docstrings():
    """Their examples need PyTorch, and are skipped by pytest, which also runs where it is not."""
    found = 0
    for function in (ps.torch.matmul, ps.torch.sddmm):
        text = function.__doc__.replace("# doctest: +SKIP", "")
        test = doctest.DocTestParser().get_doctest(text, {}, function.__name__, None, 0)
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
        found += len(test.examples)
    assert found >= 8
