"""Products by plans on GPUs as a user writes them: every codec, place, shape and budget against NumPy."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from penstock._plan import streaming
from reference import INSTANCES, SHAPES, Case, agrees

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
FORMS = _core.stream_plan.__doc__ or ""  # the forms of a matrix that plans take
CODECS = [
    c for c, form in [("raw", "Matrix"), ("packed", "Packed"), ("ell_g", "EllG")] if form in FORMS
]
# Of the matrix and its vectors: everything fits, a half, hardly a ring.
BUDGETS = {"none": None, "half": 0.5, "tight": 0.0}


def as_matrix(case):
    return ps.csr_array._wrap(case.matrix)


def budget(case, share, gpus=1):
    """Bytes that let about `share` of the matrix stay on each GPU: x, y, a ring, and that."""
    if share is None:
        return None
    vectors = 16 * (case.rows + case.cols) + (1 << 18)
    return int(vectors + share * case.matrix.nbytes / gpus)


def free_memory():
    return sum(_core.gpu_memory(g)[0] for g in range(_core.device_count()))


@pytest.fixture(autouse=True)
def options_come_back():
    yield
    ps.options(device_memory=None, gpus=None)


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES if s not in ("no_rows", "no_columns", "no_entries")]
)
@pytest.mark.parametrize("share", list(BUDGETS))
@pytest.mark.parametrize("codec", CODECS)
def test_codecs_shapes_and_budgets(codec, share, shape):
    case = Case(shape, "float64")
    x, old = case.vector("float64"), case.vector("float64", case.rows, 3)
    A, how = as_matrix(case), ps.Streamed(device=0, codec=codec)
    if codec == "ell_g":
        try:
            _core.to_ell_g(case.matrix)
        except ValueError:
            with pytest.raises(ValueError, match="longest row"):
                A.dot(x, schedule=how)
            return
    with ps.options(device_memory=budget(case, BUDGETS[share])), ps.record() as t:
        # Blocks of these forms are cut when they are made: they may be larger than the budget
        if (codec, share) in [("packed", "tight"), ("ell_g", "tight"), ("ell_g", "half")]:
            try:
                A.prepare(schedule=how)
            except MemoryError as e:
                if "slots of the largest block" not in str(e):
                    raise
                return
        y = A.dot(x, schedule=how)
        agrees(y, *case.product(x, "plus_times"))
        y = old.copy()
        A.dot(x, out=y, alpha=-1.5, beta=0.25, schedule=how)
        agrees(y, *case.product(x, "plus_times", -1.5, 0.25, old))
        facts = streaming.existing(A, 8).facts
        limit = ps.options.device_memory
    assert [e["codec"] for e in t] == [codec] * 2, t
    assert facts["kept_bytes"] or share != "none", f"nothing is kept without a budget: {facts}"
    if limit is not None:
        assert max(facts["device_bytes"]) <= limit, f"{facts} exceed {limit}"


@pytest.mark.parametrize("empty", ["no_rows", "no_columns", "no_entries"])
def test_empty_matrices_need_no_plan(empty):
    case = Case(empty, "float64")
    y = as_matrix(case).dot(case.vector("float64"), schedule=ps.Streamed(device=0))
    assert y.shape == (case.rows,) and not y.any()


@pytest.mark.parametrize("place", ["host", "pinned", "mapped", "managed", "device"])
@pytest.mark.parametrize("shape", ["power_law", "hubs_among_short_rows"])
@pytest.mark.parametrize("values", ["float64", None])
def test_places(place, shape, values, tmp_path):
    case = Case(shape, values)
    x = case.vector("float64")
    A = as_matrix(case)
    if place == "mapped":
        A.save(tmp_path / "a.penstock")
        A = ps.open(tmp_path / "a.penstock")
    elif place != "host":
        A = A.to(ps.device(0) if place == "device" else place)
    assert A.place == place
    if place == "device":
        agrees(A @ x, *case.product(x, "plus_times"))  # where it is
        with pytest.raises(ps.PlacementError, match="use InCore"):
            A.dot(x, schedule=ps.Streamed(device=0))
        return
    with ps.options(device_memory=budget(case, 0.3)):
        agrees(A.dot(x, schedule=ps.Streamed(device=0)), *case.product(x, "plus_times"))
    back = A.to(ps.host)
    assert back.place == "host"
    agrees(back @ x, *case.product(x, "plus_times"))


@pytest.mark.parametrize("semiring, values, vector", INSTANCES)
@pytest.mark.parametrize("codec", CODECS)
def test_every_instance(codec, semiring, values, vector):
    """What a codec has no kernel for is refused by name, never computed wrongly."""
    case = Case("hubs_among_short_rows", values)
    x = case.vector(vector)
    A = as_matrix(case)
    given = x.astype(bool) if semiring == "or_and" else x
    try:
        y = A.dot(given, semiring=semiring, schedule=ps.Streamed(device=0, codec=codec))
    except (ps.NotCompiledError, ValueError):
        if codec != "ell_g":  # which takes no matrix of a few long rows
            raise
        return
    agrees(y.astype(x.dtype), *case.product(x, semiring))


@pytest.mark.gpu_small
@pytest.mark.parametrize("codec", CODECS)
def test_small_blocks(codec):
    case = Case("regular_7" if codec == "ell_g" else "hubs_among_short_rows", None)
    x = case.vector("float64")
    A, how = as_matrix(case), ps.Streamed(device=0, codec=codec, block=20_000, slots=2, keep=False)
    for _ in range(2):
        agrees(A.dot(x, schedule=how), *case.product(x, "plus_times"))


@pytest.mark.gpu_small
def test_pinned_in_place_and_vectors():
    n = 1_500_000  # 36 MB of columns: smaller arrays share pages, and are copied
    columns = np.tile(np.arange(6, dtype=np.int32), n)
    A = ps.csr_array((np.ones(6 * n), columns, np.arange(n + 1) * 6), (n, 6))
    B = A.to(ps.pinned)
    assert B.place == "pinned" and np.shares_memory(A.indices, B.indices)
    x, y = ps.empty(6), ps.empty(n)
    x[:] = np.arange(6)
    B.dot(x, out=y, schedule=ps.Streamed(device=0))
    assert (y == 15).all()
    again = A.to(ps.pinned)  # locked already: the lock has two users
    assert np.shares_memory(A.indices, again.indices)
    del A, again
    assert (B.indices[:6] == np.arange(6)).all()


def test_vectors_in_managed_memory():
    case = Case("power_law", "float64")
    x, y = ps.empty(case.cols, place=ps.managed), ps.empty(case.rows, place=ps.managed)
    x[:] = case.vector("float64")
    as_matrix(case).dot(x, out=y, schedule=ps.Streamed(device=0))
    agrees(y, *case.product(np.array(x), "plus_times"))


@pytest.mark.parametrize("share", list(BUDGETS))
@pytest.mark.parametrize("codec", CODECS)
def test_vectors_of_cupy(codec, share):
    cupy = pytest.importorskip("cupy")
    case = Case("regular_7" if codec == "ell_g" else "power_law", "float64")
    A, x = as_matrix(case), case.vector("float64")
    with ps.options(device_memory=budget(case, BUDGETS[share])):
        how = ps.Streamed(device=0, codec=codec)
        there = cupy.asarray(x) * 2
        there /= 2  # still on its way when the product is asked for
        y = A.dot(there, schedule=how)
        assert isinstance(y, cupy.ndarray)
        agrees(cupy.asnumpy(y), *case.product(x, "plus_times"))
        z = np.empty(case.rows)
        A.dot(there, out=z, schedule=how)
        agrees(z, *case.product(x, "plus_times"))
        A.dot(x, out=y, alpha=2.0, schedule=how)
        agrees(cupy.asnumpy(y), *case.product(x, "plus_times", 2.0))


def test_vectors_of_torch():
    torch = pytest.importorskip("torch")
    case = Case("power_law", "float32")
    x = case.vector("float32")
    y = as_matrix(case) @ torch.tensor(x, device="cuda")
    assert y.device.type == "cuda" and y.dtype == torch.float32
    agrees(y.cpu().numpy(), *case.product(x, "plus_times"))


@pytest.mark.parametrize("share", list(BUDGETS))
@pytest.mark.parametrize("codec", CODECS)
def test_two_gpus(codec, share):
    if _core.device_count() < 2:
        pytest.skip("needs two GPUs")
    case = Case("regular_7" if codec == "ell_g" else "power_law", "float64")
    A, x = as_matrix(case), case.vector("float64")
    with ps.options(device_memory=budget(case, BUDGETS[share], 2)):
        for gpus in ([0, 1], [1], [1, 0]):
            agrees(
                A.dot(x, schedule=ps.Streamed(device=gpus, codec=codec)),
                *case.product(x, "plus_times"),
            )


def test_the_cpu_helps():
    case = Case("power_law", "float64")
    x = case.vector("float64")
    how = ps.Streamed(device=0, cpu=True, block=50_000, keep=False)
    A = as_matrix(case)
    for _ in range(3):
        agrees(A.dot(x, schedule=how), *case.product(x, "plus_times"))


@pytest.mark.parametrize("kernel", ["auto", "merge_path", *[c for c in CODECS if c != "raw"]])
def test_in_core_kernels(kernel):
    case = Case("regular_7" if kernel == "ell_g" else "power_law", "float64")
    A, x = as_matrix(case), case.vector("float64")
    how = ps.InCore(device=0, kernel=kernel)
    for _ in range(2):
        with ps.record() as t:
            agrees(A.dot(x, schedule=how), *case.product(x, "plus_times"))
    assert t[0]["schedule"] == "in_core" and t[0]["copied_bytes"] == 0, t[0]
    with ps.options(device_memory=100_000), pytest.raises(MemoryError, match="Streamed"):
        A.dot(x, schedule=how)


@pytest.mark.parametrize("share", ["none", "half"])
@pytest.mark.parametrize("codec", CODECS)
def test_a_thousand_calls_leave_memory_as_it_was(codec, share):
    case = Case("regular_7", "float64")
    A, x, y = as_matrix(case), case.vector("float64"), np.empty(case.rows)
    ps.options(device_memory=budget(case, BUDGETS[share]))
    how = ps.Streamed(device=0, codec=codec)

    def resident():
        gc.collect()
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(50):
        A.dot(x, out=y, schedule=how)
    host, device = resident(), free_memory()
    for _ in range(1000):
        A.dot(x, out=y, schedule=how)
    assert resident() - host < 4 << 20, "host memory grew"
    assert device - free_memory() < 4 << 20, "device memory grew"
    agrees(y, *case.product(x, "plus_times"))


def test_release_gives_the_memory_back():
    rng = np.random.default_rng(0)
    n, nnz = 1 << 16, 1 << 25
    A = ps.csr_array(
        (rng.random(nnz), rng.integers(0, n, nnz, dtype=np.int32), np.arange(n + 1) * (nnz // n)),
        (n, n),
    )
    before = free_memory()
    A.prepare(schedule=ps.Streamed(device=0))
    held = before - free_memory()
    assert held > A.nbytes // 2
    A.release()
    assert before - free_memory() < held // 8
    A.prepare(schedule=ps.InCore(device=0))
    del A
    gc.collect()
    assert before - free_memory() < held // 8


def test_a_full_gpu_recovers():
    """Another user of the GPU leaves little: the plan keeps less. When it goes, a new plan keeps everything."""
    case = Case("power_law", "float64")
    A, x = as_matrix(case), case.vector("float64")
    free, _ = _core.gpu_memory(0)
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(0):
        taken = cupy.cuda.runtime.malloc(max(free - (600 << 20), 0))
    try:
        with ps.record() as t:
            agrees(A.dot(x, schedule=ps.Streamed(device=0)), *case.product(x, "plus_times"))
    finally:
        cupy.cuda.runtime.free(taken)
    A.release()
    with ps.record() as t:
        agrees(A.dot(x, schedule=ps.Streamed(device=0)), *case.product(x, "plus_times"))
    assert t[0]["kept_bytes"] > 0


@pytest.mark.parametrize("place", ["host", "cupy"])
def test_an_x_that_does_not_fit_goes_in_ranges(place):
    case = Case("power_law", "float64")
    A, x, old = as_matrix(case), case.vector("float64"), case.vector("float64", case.rows, 3)
    there, y = x, old.copy()
    if place == "cupy":
        cupy = pytest.importorskip("cupy")
        there, y = cupy.asarray(x), cupy.asarray(old)
    with ps.options(device_memory=8 * case.cols), ps.record() as t:
        A.dot(there, out=y, alpha=-1.5, beta=0.25, schedule=ps.Streamed(device=0))
    got = y if place == "host" else y.get()
    agrees(got, *case.product(x, "plus_times", -1.5, 0.25, old))
    assert "ranges of columns" in t[0]["notes"][0]


def test_budgets_that_hold_nothing_say_so():
    case = Case("power_law", "float64")
    A, x = as_matrix(case), case.vector("float64")
    with ps.options(device_memory=2000), pytest.raises(MemoryError, match=r"x takes \d+ bytes"):
        A.dot(x, schedule=ps.Streamed(device=0))
    with ps.options(device_memory=A.nbytes - 1), pytest.raises(MemoryError, match="Streamed"):
        A.to(ps.device(0))
    agrees(A.dot(x, schedule=ps.Streamed(device=0)), *case.product(x, "plus_times"))


def test_threads():
    case = Case("power_law", "float64")
    A = as_matrix(case)

    def one(seed):
        x = case.vector("float64", seed=seed)
        agrees(
            A.dot(x, schedule=ps.Streamed(device=0, keep=bool(seed % 2))),
            *case.product(x, "plus_times"),
        )

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(24)))
    assert len(A._derived.stream_plans[0]) == 2


def test_prepared_plans_are_used():
    case = Case("power_law", "float64")
    A, x = as_matrix(case), case.vector("float64")
    told = A.prepare(schedule=ps.Streamed(device=0), products=10)
    assert "GPU 0" in told
    with ps.record() as t:
        agrees(A @ x, *case.product(x, "plus_times"))
    assert t[0]["predicted_seconds"] > 0 and t[0]["devices"][0]["gpu"] == 0
    assert "a plan exists" in A.explain(x).reason and "considered" in str(A.explain(x))
    with ps.options(gpus=0), ps.record() as t:
        A @ x
    assert t[0]["schedule"] == "in_core" and t[0]["kernel"] != "merge_path"
