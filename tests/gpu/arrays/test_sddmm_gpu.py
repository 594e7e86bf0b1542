"""The sampled dense-dense product of arrays on a GPU: every instance, shapes, widths and strides, order, bad input."""

import gc

import numpy as np
import pytest
from reference import SHAPES, Case

import penstock as ps

pytestmark = pytest.mark.gpu
LIBRARIES = ["torch", "cupy"]
INSTANCES = [
    ("float32", [None, "float32"]),
    ("float64", [None, "float32", "float64"]),
    ("complex64", [None, "float32", "complex64"]),
    ("complex128", [None, "float32", "float64", "complex64", "complex128"]),
]
WIDTHS = [0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 96, 128, 129, 132, 256, 257]


class On:
    """Arrays of one library on GPU 0."""

    def __init__(self, name):
        self.name, self.library = name, pytest.importorskip(name)

    def array(self, x):
        if self.name == "cupy":
            return self.library.asarray(x)
        return self.library.from_numpy(np.ascontiguousarray(x)).cuda()

    def back(self, x):
        return self.library.asnumpy(x) if self.name == "cupy" else x.cpu().numpy()


@pytest.fixture(params=LIBRARIES)
def on(request):
    return On(request.param)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def numbers(seed, dtype, *shape):
    """Small integers, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, shape).astype(dtype)
    return x + 1j * rng.integers(-3, 4, shape).astype(dtype) if x.dtype.kind == "c" else x


def sampled(case, x, y):
    """X Y^T at the entries, a piece of them at a time."""
    rows = np.repeat(np.arange(case.rows), np.diff(case.indptr))
    out = np.empty(len(rows), np.result_type(x, y))
    for first in range(0, len(rows), 100_000):
        part = slice(first, first + 100_000)
        out[part] = (x[rows[part]] * y[case.indices[part]]).sum(axis=1)
    return out


def made(shape, values=None):
    case = Case(shape, values)
    if values is not None:
        case.values = numbers(7, values, len(case.indices))
    parts = (
        np.ones(len(case.indices), bool) if values is None else case.values,
        case.indices,
        case.indptr,
    )
    a = ps.csr_array(parts, shape=(case.rows, case.cols))
    return case, a.to(ps.device(0))


def entries(c):
    return c.to(ps.host).data


@pytest.mark.parametrize("dtype, values", [(t, v) for t, some in INSTANCES for v in some], ids=str)
@pytest.mark.parametrize("k", [1, 8, 40, 128])
def test_every_instance(on, dtype, values, k):
    case, a = made("hubs_among_short_rows", values)
    x, y = numbers(1, dtype, case.rows, k), numbers(2, dtype, case.cols, k)
    wanted = sampled(case, x, y) * (1 if values is None else case.values)
    c = ps.sddmm(a, on.array(x), on.array(y), scale=True)
    assert c.place == "device" and c.shape == a.shape and c.dtype == wanted.dtype
    np.testing.assert_array_equal(entries(c), wanted)
    out = on.array(numbers(3, dtype, case.indptr[-1]))
    before = on.back(out).copy()
    assert ps.sddmm(a, on.array(x), on.array(y), alpha=2, beta=-1, out=out) is out
    np.testing.assert_array_equal(on.back(out), 2 * sampled(case, x, y) - before)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [4, 33])
def test_awkward_shapes(on, shape, k):
    case, a = made(shape)
    x, y = numbers(1, "float32", case.rows, k), numbers(2, "float32", case.cols, k)
    np.testing.assert_array_equal(
        entries(ps.sddmm(a, on.array(x), on.array(y))), sampled(case, x, y)
    )


@pytest.mark.gpu_small
@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_every_width(torch, k, dtype):
    case, a = made("around_the_tile")
    x, y = numbers(1, dtype, case.rows, k), numbers(2, dtype, case.cols, k)
    on = On("torch")
    out = on.array(np.full(case.indptr[-1], np.nan, dtype))  # is not read
    ps.sddmm(a, on.array(x), on.array(y), out=out)
    np.testing.assert_array_equal(on.back(out), sampled(case, x, y))


@pytest.mark.gpu_small
@pytest.mark.parametrize("k", [1, 4, 12, 64, 130])
@pytest.mark.parametrize("layout", ["wide", "odd", "columns", "every_other", "upwards"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_strides(k, layout, name):
    """Rows 4 apart, rows that begin off 16 bytes, columns, every other column, rows from the last to the first."""
    on = On(name)
    case, a = made("regular_7")
    x, y = numbers(1, "float32", case.rows, k), numbers(2, "float32", case.cols, k)

    def laid(z):
        n = len(z)
        if layout == "columns":
            return on.array(np.ascontiguousarray(z.T)).T
        if layout == "upwards":
            if name == "torch":
                pytest.skip("PyTorch has no negative strides")
            return on.array(z[::-1])[::-1]
        step = 2 if layout == "every_other" else 1
        before = 1 if layout == "odd" else 0
        room = np.full((n, step * k + 4), np.nan, np.float32)
        room[:, before : before + step * k : step] = z
        return on.array(room)[:, before : before + step * k : step]

    wanted = sampled(case, x, y)
    for xs, ys in ((laid(x), on.array(y)), (on.array(x), laid(y)), (laid(x), laid(y))):
        np.testing.assert_array_equal(entries(ps.sddmm(a, xs, ys)), wanted)


def test_vectors(on):
    case, a = made("power_law")
    x, y = numbers(1, "float64", case.rows), numbers(2, "float64", case.cols)
    wanted = sampled(case, x[:, None], y[:, None])
    np.testing.assert_array_equal(entries(ps.sddmm(a, on.array(x), on.array(y))), wanted)


@pytest.mark.parametrize("k", [7, 32, 100, 256])
def test_the_same_bits_in_every_run(torch, k):
    case, a = made("power_law", "float32")
    x, y = (torch.randn(n, k, device="cuda") for n in (case.rows, case.cols))
    runs = {ps.sddmm(a, x, y, scale=True).to(ps.host).data.tobytes() for _ in range(4)}
    assert len(runs) == 1
    rows = np.repeat(np.arange(case.rows), np.diff(case.indptr))
    wanted = sampled(case, x.double().cpu().numpy(), y.double().cpu().numpy()) * case.values
    size = sampled(case, *(np.abs(z.double().cpu().numpy()) for z in (x, y)))
    found = entries(ps.sddmm(a, x, y, scale=True))
    assert len(rows) == len(found)
    assert (np.abs(found - wanted) <= 1e-6 * (size * np.abs(case.values) + 1)).all()


@pytest.mark.gpu_small
def test_the_result_shares_the_structure_and_keeps_its_values(on):
    case, a = made("regular_7")
    x, y = numbers(1, "float32", case.rows, 5), numbers(2, "float32", case.cols, 5)
    c = ps.sddmm(a, on.array(x), on.array(y))
    wanted = sampled(case, x, y)
    del a
    gc.collect()
    junk = [on.array(np.full(len(wanted), 77, np.float32)) for _ in range(4)]
    np.testing.assert_array_equal(entries(c), wanted)
    again = ps.sddmm(c, on.array(x), on.array(y), scale=True)
    np.testing.assert_array_equal(entries(again), wanted * wanted)
    del junk


def test_it_is_queued_on_the_current_stream(torch):
    """X is written late on a stream of its own: the call returns before, and the values are those of the late X."""
    case, a = made("power_law")
    x, y = numbers(1, "float32", case.rows, 32), numbers(2, "float32", case.cols, 32)
    on = On("torch")
    late, xs, ys = on.array(x), torch.zeros(case.rows, 32, device="cuda"), on.array(y)
    ps.sddmm(a, xs, ys)
    out = torch.empty(int(case.indptr[-1]), device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        xs.copy_(late)
        ps.sddmm(a, xs, ys, out=out)
        assert not stream.query()
        twice = out * 2
    stream.synchronize()
    np.testing.assert_array_equal(twice.cpu().numpy(), 2 * sampled(case, x, y))


def test_the_result_is_read_when_it_is_there(torch):
    """Work of the core on its own streams waits for values that are still being computed."""
    case, a = made("power_law")
    x, y = numbers(1, "float32", case.rows, 32), numbers(2, "float32", case.cols, 32)
    on = On("torch")
    xs, ys = on.array(x), on.array(y)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        c = ps.sddmm(a, xs, ys)
        assert not stream.query()
        np.testing.assert_array_equal(entries(c), sampled(case, x, y))


def test_two_libraries_at_once(torch):
    cupy = pytest.importorskip("cupy")
    case, a = made("power_law")
    x, y = numbers(1, "float32", case.rows, 16), numbers(2, "float32", case.cols, 16)
    wanted = sampled(case, x, y)
    ys = cupy.zeros(y.shape, np.float32)
    late, xs = cupy.asarray(y), On("torch").array(x)
    torch.cuda.synchronize()
    with cupy.cuda.Stream(non_blocking=True):
        with torch.cuda.stream(torch.cuda.Stream()):
            slow = cupy.zeros(1 << 26, np.float32)
            for _ in range(20):
                slow += 1
            ys[...] = late
            c = ps.sddmm(a, xs, ys)
        ys[...] = 0
    torch.cuda.synchronize()
    np.testing.assert_array_equal(entries(c), wanted)


def test_a_cuda_graph_captures_it(torch):
    case, a = made("power_law")
    x, y = numbers(1, "float32", case.rows, 8), numbers(2, "float32", case.cols, 8)
    on = On("torch")
    xs, ys = torch.zeros(case.rows, 8, device="cuda"), on.array(y)
    out = torch.empty(int(case.indptr[-1]), device="cuda")
    ps.sddmm(a, xs, ys, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ps.sddmm(a, xs, ys, out=out)
    for factor in (1, 2):
        xs.copy_(on.array(factor * x))
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(out.cpu().numpy(), factor * sampled(case, x, y))


@pytest.mark.gpu_small
def test_bad_input(on):
    case, a = made("regular_7")
    x, y = numbers(1, "float32", case.rows, 4), numbers(2, "float32", case.cols, 4)
    xs, ys = on.array(x), on.array(y)
    host = a.to(ps.host)
    nnz = int(case.indptr[-1])
    for A, X, Y, out, said in (
        (host, xs, ys, None, r"A is in host memory, and X on a GPU: give A\.to"),
        (a, x, y, None, r"A is in a GPU's memory, and X and Y in host memory"),
        (a, x, ys, None, "Y on a GPU, and X in host memory"),
        (a, xs, ys, np.empty(nnz, np.float32), "X and Y on a GPU, and out in host memory"),
    ):
        with pytest.raises(ps.PlacementError, match=said):
            ps.sddmm(A, X, Y, out=out)
    flat = on.array(np.zeros(nnz + 4 * case.rows, np.float32))
    for X, Y, out, said in (
        (xs[1:], ys, None, r"X has shape .*: give \(30011, k\)"),
        (xs, ys[:, :3], None, "X has 4 columns and Y 3"),
        (xs, ys, on.array(np.zeros(3, np.float32)), r"give an array of float32 and shape"),
        (xs, ys, on.array(np.zeros(nnz)), "out is float64"),
        (xs, ys, on.array(np.zeros(2 * nnz, np.float32))[::2], "C-contiguous"),
        (flat[: 4 * case.rows].reshape(-1, 4), ys, flat[5 : 5 + nnz], "out overlaps X or Y"),
    ):
        with pytest.raises(ValueError, match=said):
            ps.sddmm(a, X, Y, out=out)
    with pytest.raises(TypeError, match="X is float32: float64 is needed"):
        ps.sddmm(a, xs, on.array(y.astype(np.float64)))
    with pytest.raises(ValueError, match="beta is given without out"):
        ps.sddmm(a, xs, ys, beta=1)
    np.testing.assert_array_equal(entries(ps.sddmm(a, xs, ys)), sampled(case, x, y))


def test_addresses_that_kernels_cannot_read():
    """CuPy views bytes at any address as numbers."""
    cupy = pytest.importorskip("cupy")
    case, a = made("regular_7")
    on = On("cupy")
    x, y = (on.array(numbers(s, "float32", n, 4)) for s, n in ((1, case.rows), (2, case.cols)))
    off = cupy.zeros(4 * x.size + 4, np.uint8)[1:-3].view(np.float32).reshape(-1, 4)
    with pytest.raises(ValueError, match=r"X begins at address 0x.*no multiple of 4 bytes"):
        ps.sddmm(a, off, y)


def test_another_gpu(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    case, a = made("regular_7")
    x, y = (torch.ones(n, 4, device="cuda:1") for n in (case.rows, case.cols))
    with pytest.raises(ps.PlacementError, match=r"A is on GPU 0.*GPU 1: give A\.to"):
        ps.sddmm(a, x, y)
    with pytest.raises(ps.PlacementError, match="X is on GPU 0 and Y on GPU 1"):
        ps.sddmm(a, x.to("cuda:0"), y)
    b = a.to(ps.host).to(ps.device(1))
    assert (entries(ps.sddmm(b, x, y)) == 4).all()
