"""Products with PyTorch's tensors on a GPU: types, strides, gradients, compiled programs, streamed entries, pages."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),
]
ROOT = Path(__file__).resolve().parents[3]
HALF = [torch.bfloat16, torch.float16]
TYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128, *HALF]


def scipy_matrix(rows=30, cols=20, dtype=np.float64, seed=1, density=0.2):
    rng = np.random.default_rng(seed)
    s = sp.random_array((rows, cols), density=density, rng=rng, format="csr", dtype=np.float64)
    s.data = rng.integers(-4, 5, s.nnz).astype(dtype)  # sums are exact, also in 16 bits
    return s


def matrix(place="device", pattern=False, **how):
    s = scipy_matrix(**how)
    a = ps.csr_array(s, dtype=bool) if pattern else ps.csr_array(s)
    dense = torch.from_numpy(a.toarray() * 1).cuda()
    return (a.to(ps.device(0)) if place == "device" else a), dense


def small(*shape, dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(-3, 4, shape).astype(np.float64)).to("cuda", dtype)


def same(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def wide(t):
    return t.to(torch.complex128 if t.dtype.is_complex else torch.float64)


# Tensors in, tensors out


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("columns", [None, 0, 1, 7, 64, 150])
@pytest.mark.parametrize("pattern", [False, True])
def test_products(dtype, columns, pattern):
    a, dense = matrix(pattern=pattern, dtype=np.float32)
    tail = () if columns is None else (columns,)
    for m, d in ((a, dense), (a.T, dense.T)):
        x = small(m.shape[1], *tail, dtype=dtype)
        wanted = (wide(d).to(wide(x).dtype) @ wide(x)).to(dtype)
        y = ps.torch.matmul(m, x)
        assert y.is_cuda and y.dtype == dtype
        same(y, wanted)
        same(ps.torch.matmul(m, x.clone().requires_grad_()).detach(), wanted)
        same(m @ x, wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("columns", [None, 1, 33])
@pytest.mark.parametrize("place", ["host", "pinned"])
def test_a_matrix_in_host_memory(dtype, columns, place):
    a, dense = matrix("host", dtype=np.float32)
    a = a.to(place)
    for m, d in ((a, dense), (a.T, dense.T)):
        x = small(m.shape[1], *(() if columns is None else (columns,)), dtype=dtype)
        x.requires_grad_()
        y = m @ x
        same(y.detach(), (d.double() @ x.detach().double()).to(dtype))
        y.sum().backward()
        wanted = d.double().sum(0).to(dtype)
        same(x.grad, wanted if columns is None else wanted[:, None].expand(-1, columns))


def test_strides():
    a, dense = matrix()
    x = small(20, 6)
    room = torch.full((20, 9), torch.nan, dtype=torch.float64, device="cuda")
    room[:, 1:7] = x
    for z in (x.T.contiguous().T, room[:, 1:7], small(20, 12)[:, ::2], small(20, 1).expand(20, 6)):
        same(ps.torch.matmul(a, z), dense @ z)
    z = (1j * x).conj()
    assert z.is_conj()
    same(ps.torch.matmul(a, z), dense.to(z.dtype) @ z)
    vector = small(40)[::2]
    same(ps.torch.matmul(a, vector), dense @ vector)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("place", ["device", "pinned"])
def test_products_again_and_again(dtype, place):
    """The second product with columns of a type goes by addresses; others, and what cannot, as the first one went."""
    a, dense = matrix("host", dtype=str(dtype).removeprefix("torch."))
    a = a.to(ps.device(0) if place == "device" else ps.pinned)
    for _ in range(3):
        for m, d in ((a, dense), (a.T, dense.T)):
            room = small(m.shape[1], 12, dtype=dtype)
            for x in (
                room,
                room[:, 2:9],
                room[:, :1],
                room[:, 0],
                room.T.contiguous().T,
                room[:, :0],
            ):
                same(ps.torch.matmul(m, x), d @ x)
            same(ps.torch.matmul(m, room[:, :1].expand(-1, 5)), d @ room[:, :1].expand(-1, 5))
            if dtype is torch.float32:
                same(ps.torch.matmul(m, room.bfloat16()), (d @ room).bfloat16())
            with ps.record() as done:
                ps.torch.matmul(m, room)
            assert len(done) == 1
        assert {(t, of, gpu) for t, of, gpu in a._derived.torch_products if of is dtype} == {
            (False, dtype, 0),
            (True, dtype, 0),
        }
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        x = small(20, 7, dtype=dtype)
        for _ in range(40):
            x = x + ps.torch.matmul(a.T, ps.torch.matmul(a, x)) * 0
        same(ps.torch.matmul(a, x), dense @ small(20, 7, dtype=dtype))
        torch.cuda.current_stream().synchronize()
    a.release()
    assert a._derived.torch_products is None
    same(ps.torch.matmul(a, small(20, 3, dtype=dtype)), dense @ small(20, 3, dtype=dtype))


def test_promotion_is_numpys():
    for of_a in (np.float32, np.float64, np.complex64):
        a, dense = matrix(dtype=of_a)
        for of_x in (torch.float32, torch.float64, torch.complex64, torch.int64):
            x = small(20, 3).to(of_x)
            y = ps.torch.matmul(a, x)
            kind = np.result_type(of_a, str(of_x).removeprefix("torch."))
            assert str(y.dtype) == f"torch.{kind}"
            same(y, dense.to(y.dtype) @ x.to(y.dtype))


@pytest.mark.parametrize("dtype", HALF)
def test_16_bits_are_rounded_once(dtype):
    a = ps.csr_array(np.ones((1, 3), np.float32)).to(ps.device(0))
    x = torch.tensor([[256.0], [1.0], [-256.0]], dtype=dtype, device="cuda")
    assert (a @ x).item() == 1 and (a @ x[:, 0]).item() == 1
    y = torch.ones(1, 3 * 130, dtype=dtype, device="cuda").expand(3, -1)
    v = ps.torch.sddmm(a, torch.ones(1, 390, dtype=dtype, device="cuda"), y)
    assert v.dtype == torch.float32 and v.tolist() == [390] * 3


# Gradients


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("place", ["device", "host"])
def test_gradients_of_any_order(dtype, columns, place):
    a, _ = matrix(place, rows=5, cols=4, density=0.5)
    draw = torch.Generator(device="cuda").manual_seed(1)

    def random(*shape):
        return torch.randn(*shape, generator=draw, dtype=dtype, device="cuda", requires_grad=True)

    tail = () if columns is None else (columns,)
    v = random(a.nnz)
    for m in (a, a.T):
        x = random(m.shape[1], *tail)
        for f, inputs in (
            (lambda x: ps.torch.matmul(m, x), (x,)),  # noqa: B023
            (lambda x, v: ps.torch.matmul(m, x, v), (x, v)),  # noqa: B023
        ):
            assert torch.autograd.gradcheck(f, inputs)
            assert torch.autograd.gradgradcheck(f, inputs)
    x, y = random(5, *tail), random(4, *tail)
    assert torch.autograd.gradcheck(lambda x, y: ps.torch.sddmm(a, x, y), (x, y))
    assert torch.autograd.gradgradcheck(lambda x, y: ps.torch.sddmm(a, x, y), (x, y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, *HALF])
@pytest.mark.parametrize("columns", [None, 1, 130])
def test_other_values(dtype, columns):
    a, _ = matrix(pattern=True)
    rows, cols = (torch.from_numpy(z).cuda() for z in a.to(ps.host).tocoo().coords)
    tail = () if columns is None else (columns,)
    for transposed in (False, True):
        m = a.T if transposed else a
        x = small(m.shape[1], *tail, dtype=dtype).requires_grad_()
        v = small(a.nnz, dtype=dtype, seed=1).requires_grad_()
        y = ps.torch.matmul(m, x, v)
        y.backward(small(m.shape[0], *tail, dtype=dtype, seed=2))
        xw, vw = (wide(z.detach()).requires_grad_() for z in (x, v))
        at = (cols, rows) if transposed else (rows, cols)
        dense = torch.zeros(m.shape, dtype=vw.dtype, device="cuda").index_put(at, vw)
        z = dense @ xw
        z.backward(wide(small(m.shape[0], *tail, dtype=dtype, seed=2)))
        for found, wanted in ((y.detach(), z.detach()), (x.grad, xw.grad), (v.grad, vw.grad)):
            same(found, wanted.to(dtype))


def test_values_are_not_copied_and_live_as_long_as_needed():
    a, dense = matrix(pattern=True)
    x = small(20, 5)
    for factor in range(1, 30):
        v = torch.full((a.nnz,), float(factor), dtype=torch.float64, device="cuda")
        y = ps.torch.matmul(a, x, v)
        del v
        junk = torch.full((a.nnz,), 77.0, dtype=torch.float64, device="cuda")
        same(y, factor * (dense.double() @ x))
        del junk


def test_training_follows_torchs_own_sparse_product():
    a, dense = matrix(rows=200, cols=200, dtype=np.float32)
    w0 = small(8, 4, dtype=torch.float32, seed=5) / 8
    found = []
    for product in (lambda z: a @ z, lambda z: dense @ z):
        w = w0.clone().requires_grad_()
        for _ in range(5):
            loss = torch.relu(product(small(200, 8, dtype=torch.float32) @ w)).square().mean()
            (g,) = torch.autograd.grad(loss, w)
            w = (w - 1e-4 * g).detach().requires_grad_()
        found.append(w.detach())
    torch.testing.assert_close(*found)


# Streamed


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("columns", [None, 1, 5, 130])
@pytest.mark.parametrize("place", ["host", "pinned"])
def test_streamed_through_the_gpu(dtype, columns, place):
    kind = np.float64 if dtype is torch.float64 else np.float32
    a, dense = matrix("host", rows=300, cols=200, dtype=kind)
    a = a.to(place)
    x = small(200, *(() if columns is None else (columns,)), dtype=dtype).requires_grad_()
    with ps.record() as done:
        y = ps.torch.matmul(a, x, schedule="streamed")
    # For one vector a plan is made, which keeps so few entries on the GPU
    assert {e["schedule"] for e in done} == {"streamed" if columns else "in_core"}
    same(y.detach(), (dense.double() @ x.detach().double()).to(dtype))
    y.sum().backward()
    wanted = dense.double().sum(0).to(dtype)
    same(x.grad, wanted if columns is None else wanted[:, None].expand(-1, columns))


@pytest.mark.parametrize("hub", [0, 300_000])
def test_blocks_and_pieces_of_rows(hub):
    """A budget that a tenth of the entries fills; a row that is longer than a slot."""
    rng = np.random.default_rng(4)
    lengths = rng.integers(0, 40, 20_000)
    lengths[777] += hub
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, 500, indptr[-1], dtype=np.int32)
    values = rng.integers(-3, 4, indptr[-1]).astype(np.float32)
    a = ps.csr_array((values, indices, indptr), shape=(20_000, 500)).to(ps.pinned)
    x = small(500, 24, dtype=torch.float32)
    with ps.options(device_memory=a.nbytes // 10), ps.record() as done:
        y = ps.torch.matmul(a, x, schedule="streamed")
        assert done[0]["tiles"] > 10 and done[0]["ring_bytes"] <= a.nbytes // 10
        np.testing.assert_array_equal(y.cpu().numpy(), a @ x.cpu().numpy())
        again = ps.torch.matmul(a, x, schedule="streamed")
    same(y, again)


def test_streaming_begins_after_what_is_queued():
    a, dense = matrix("host", dtype=np.float32)
    late, x = small(20, 6, dtype=torch.float32), torch.zeros(20, 6, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(100_000_000)
        x.copy_(late)
        y = ps.torch.matmul(a, x, schedule="streamed")
        x.zero_()
        same(y, dense.float() @ late)


# Programs


def operands(dtype=torch.float64):
    a, _ = matrix(rows=9, cols=6, dtype=np.float32 if dtype.itemsize < 8 else np.float64)
    g = torch.Generator().manual_seed(3)
    x, y, v = (torch.randn(*n, generator=g).to("cuda", dtype) for n in ((6, 4), (9, 4), (a.nnz,)))
    return a, x, y, v


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_opcheck(dtype):
    a, x, y, v = operands(dtype)
    where = (a._number, *a.shape, a.nnz)
    kind = a.dtype.name
    ps.torch.matmul(a, x)
    ops = torch.ops.penstock
    for grad in (False, True):
        x, y, v = (z.detach().requires_grad_(grad) for z in (x, y, v))
        torch.library.opcheck(ops.matmul, (x, None, *where, kind, False, False, ""))
        torch.library.opcheck(ops.matmul, (y[:, 0], v, *where, kind, True, False, ""))
        torch.library.opcheck(ops.sddmm, (y, x, *where))


def test_compiled_programs_have_the_same_values_and_gradients():
    a, x, _, v = operands()

    def f(x, v):
        hidden = torch.relu(a.dot(x))
        back = ps.torch.matmul(a.T, hidden) + x
        return ps.torch.matmul(a, back, v).square().mean() + ps.torch.sddmm(a, hidden, x).sum()

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    grads = []
    for g in (f, compiled):
        xs, vs = (z.clone().requires_grad_() for z in (x, v))
        loss = g(xs, vs)
        loss.backward()
        grads.append((loss.detach(), xs.grad, vs.grad))
    for got, wanted in zip(*grads, strict=True):
        torch.testing.assert_close(got, wanted)
    with torch.no_grad():  # A.dot of a tensor without a gradient is part of the program, too
        torch.testing.assert_close(compiled(x, v), f(x, v))


def test_shapes_without_data():
    from torch._subclasses.fake_tensor import FakeTensorMode

    a, *_ = operands()
    with FakeTensorMode():
        y = a.dot(torch.empty(6, 5, dtype=torch.float64, device="cuda"))
        assert tuple(y.shape) == (9, 5) and y.dtype == torch.float64 and y.device.type == "cuda"
        x = torch.empty(6, 5, device="cuda")
        assert ps.torch.sddmm(a, y, x).shape == (a.nnz,)
        with pytest.raises(RuntimeError, match=r"alpha= of tensors on a GPU are no operators"):
            a.dot(x, alpha=2.0)


def test_a_stream_of_its_own():
    a, dense = matrix()
    late, x = small(20, 6), torch.zeros(20, 6, dtype=torch.float64, device="cuda")
    v = torch.ones(a.nnz, dtype=torch.float64, device="cuda")
    ps.torch.matmul(a, x, v), ps.torch.sddmm(a, small(30, 6), x)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(100_000_000)
        x.copy_(late)
        y = ps.torch.matmul(a, x)
        s = ps.torch.sddmm(a, y, x)
        x.zero_()
        same(y, dense @ late)
        same(s, ps.torch.sddmm(a, y, late))


# Bad input


def test_bad_input():
    a, _ = matrix()
    x = small(20, 3)
    with pytest.raises(ValueError, match=r"X has shape \(19, 3\): give \(20,\) or \(20, k\)"):
        ps.torch.matmul(a, x[1:])
    with pytest.raises(ps.PlacementError, match=r"X is on cuda:0 and values on cpu"):
        ps.torch.matmul(a, x, torch.ones(a.nnz, dtype=torch.float64))
    with pytest.raises(ps.PlacementError, match=r"X is on cpu and values on cuda:0"):
        ps.torch.matmul(a, x.cpu(), torch.ones(a.nnz, dtype=torch.float64, device="cuda"))
    with pytest.raises(ps.PlacementError, match="X is on cuda:0 and Y on cpu"):
        ps.torch.sddmm(a, small(30, 3), x.cpu())
    with pytest.raises(ps.PlacementError, match="A is in a GPU's memory, and X and Y are on the"):
        ps.torch.sddmm(a, small(30, 3).cpu(), x.cpu())
    with pytest.raises(TypeError, match="values are float64 and X is bfloat16"):
        ps.torch.matmul(a, x.bfloat16())
    with pytest.raises(TypeError, match="values is torch.int64"):
        ps.torch.matmul(a, x, torch.ones(a.nnz, dtype=torch.int64, device="cuda"))
    with pytest.raises(ps.PlacementError):
        ps.torch.matmul(a, x, schedule="streamed")
    with pytest.raises(RuntimeError, match="requires a gradient, and products with alpha="):
        a.dot(x.clone().requires_grad_(), alpha=2.0)
    with pytest.raises(TypeError, match="requires a gradient, which a csr_array cannot carry"):
        ps.sddmm(a, small(30, 3).requires_grad_(), x)


def test_another_gpu():
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    a, dense = matrix()
    x = small(20, 3).to("cuda:1")
    with pytest.raises(ps.PlacementError, match=r"A is on GPU 0.*GPU 1: give A\.to"):
        ps.torch.matmul(a, x)
    host, _ = matrix("host")
    same(ps.torch.matmul(host, x), dense.to("cuda:1") @ x)


# The page and the example


def test_the_page():
    page = ROOT / "docs" / "pytorch.md"
    if not page.is_file():
        pytest.skip("the pages are not beside the tests")
    section = page.read_text(encoding="utf-8").split("## On a GPU\n")[1].split("\n## ")[0]
    blocks = [part.split("```")[0] for part in section.split("```python\n")[1:]]
    assert len(blocks) >= 3
    names: dict = {}
    with ps.options():
        for block in blocks:
            exec(block, names)


@pytest.mark.parametrize("more, way", [("", ""), (" --device-memory 8KB", "streamed")])
def test_a_graph_convolutional_network(more, way, capsys, monkeypatch):
    example = ROOT / "examples" / "gcn.py"
    if not example.is_file():
        pytest.skip("the examples are not beside the tests")
    options = "--scale 9 --features 6 --hidden 5 --classes 3 --epochs 4 --device cuda"
    losses = {}
    for each in (options + more, options.replace(" --device cuda", "")):
        monkeypatch.setattr("sys.argv", ["gcn", *each.split()])
        with ps.options():
            runpy.run_path(str(example), run_name="__main__")
        said = capsys.readouterr().out
        found = [float(t.split()[-1]) for t in said.splitlines() if t.startswith("epoch")]
        losses[each] = found
        assert len(found) == 4 and "the losses differ by" in said
        assert each.count("cuda") == 0 or way in said.split("products")[1].split(";")[0]
    first, second = losses.values()
    np.testing.assert_allclose(first, second, rtol=1e-3)
