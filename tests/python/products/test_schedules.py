"""Placement x schedule as Python reaches it, explain, the options, sizes in bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._plan.schedules import parse_bytes
from test_products import matrix_of, numbers

import penstock as ps
from penstock import _core

no_gpu = pytest.mark.skipif(_core.device_count() > 0, reason="a GPU is here: tests/gpu covers it")


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    """The same matrix in host memory and in a mapped store."""
    rng = np.random.default_rng(6)
    (data, indices, indptr), shape = matrix_of(rng, 900, 400, float), (900, 400)
    indptr = indptr.copy()
    extra = rng.integers(0, 400, 5000).astype(np.int32)  # one long row, cut into pieces
    indices = np.concatenate([indices[: indptr[10]], extra, indices[indptr[10] :]])
    data = np.concatenate([data[: indptr[10]], np.ones(5000), data[indptr[10] :]])
    indptr[10:] += 5000
    indptr[10] -= 5000
    A = ps.csr_array((data, indices, indptr), shape=shape)
    folder = tmp_path_factory.mktemp("placed") / "a.penstock"
    A.save(folder)
    return {"host": A, "mapped": ps.open(folder)}


@pytest.mark.parametrize("place", ["host", "mapped"])
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus"])
@settings(deadline=None, max_examples=25)
@given(
    block=st.sampled_from([None, 1, 64, 100, 4096, "1KiB", "1MB"]),
    slots=st.integers(1, 5),
    ring=st.sampled_from([None, "16KiB", 20_000, "1GB"]),
    devices=st.integers(1, 3),
)
def test_streamed_equals_in_core(placed, place, semiring, block, slots, ring, devices):
    A = placed[place]
    assert A.place == place
    x = np.random.default_rng(1).integers(-5, 6, A.shape[1]).astype(float)
    how = ps.Streamed(device=["cpu"] * devices, block=block, slots=slots, ring=ring)
    with ps.record() as t:
        got = A.dot(x, schedule=how, semiring=semiring)
        wanted = A.dot(x, schedule=ps.InCore, semiring=semiring)
    np.testing.assert_array_equal(got, wanted)
    assert [e["schedule"] for e in t] == ["streamed", "in_core"]
    assert t[0]["copied_bytes"] >= A.nbytes - A.indptr.nbytes and t[0]["tiles"] >= 1
    assert t[0]["ring_bytes"] > 0 and t[0]["link_bytes"] == 0
    if ring is not None:
        assert t[0]["ring_bytes"] <= devices * parse_bytes(ring)
    y = got.copy()
    A.dot(x, schedule=how, semiring=semiring, out=y, alpha=2.0, beta=3.0)
    np.testing.assert_array_equal(
        y, A.dot(x, semiring=semiring, out=got.copy(), alpha=2.0, beta=3.0)
    )


@pytest.mark.parametrize(
    "schedule",
    [None, "in_core", "streamed", ps.InCore, ps.Streamed, ps.InCore(), ps.Streamed(slots=1)],
)
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 7), (7, 1), (3, 3)])
def test_small_and_empty_shapes(schedule, shape):
    for n in (0, min(shape)):
        row = np.arange(n)
        A = ps.csr_array((np.ones(n), (row, row)), shape=shape)
        x = np.arange(1.0, shape[1] + 1)
        np.testing.assert_array_equal(A.dot(x, schedule=schedule), A.toarray() @ x)
        np.testing.assert_array_equal(A.T @ np.ones(shape[0]), A.toarray().T @ np.ones(shape[0]))
        for algorithm in ("balanced", "blocked", "binned", "stencil"):
            np.testing.assert_array_equal(A.dot(x, algorithm=algorithm), A.toarray() @ x)


@pytest.mark.parametrize(
    "how, error, words",
    [
        ({"slots": 0}, ValueError, "slots=0 must be at least 1"),
        ({"slots": 1.5}, TypeError, "slots=1.5 is not an integer"),
        ({"block": 0}, ValueError, "at least one byte"),
        ({"block": -1}, ValueError, "block=-1 is outside 0"),
        ({"block": 1.5}, ValueError, "block=1.5 is no whole number of bytes"),
        ({"block": "much"}, ValueError, "block='much'"),
        ({"ring": 0}, ValueError, "at least one byte"),
        ({"codec": "zip"}, ValueError, "codec='zip' is unknown"),
        ({"keep": "yes"}, TypeError, "keep='yes': give True or False"),
    ],
)
def test_streamed_refuses_values_when_it_is_made(how, error, words):
    with pytest.raises(error, match=words):
        ps.Streamed(**how)


@no_gpu
@pytest.mark.parametrize("place", ["host", "mapped"])
@pytest.mark.parametrize(
    "schedule, error, words",
    [
        (ps.InCore(device=0), ps.PlacementError, "GPU 0.*Streamed"),
        (ps.ZeroCopy(), ps.PlacementError, "pinned or managed.*Streamed"),
        (ps.Streamed(device=0), ValueError, "0 GPUs.*device='cpu' is the CPU"),
        (ps.Streamed(device=[]), ValueError, 'name at least one GPU, or "cpu"'),
        (ps.Streamed(device=[-2]), ValueError, "-2"),
        (ps.InCore(device=0.5), TypeError, "InCore.device=0.5. is not one device"),
        (ps.ZeroCopy(device="cpu"), ValueError, "ZeroCopy.*is of GPUs: name one"),
        (ps.Streamed(ring=100), ValueError, "ring of 100 bytes"),
        ("fast", ValueError, "schedule='fast'.*in_core, streamed, zero_copy"),
        (5, TypeError, "schedule=5"),
        (dict, TypeError, "schedule="),
    ],
)
def test_refusals_name_the_remedy(placed, place, schedule, error, words):
    A = placed[place]
    x = np.ones(A.shape[1])
    with pytest.raises(error, match=words):
        A.dot(x, schedule=schedule)
    if "ring of" not in words:
        with pytest.raises(error, match=words):
            A.explain(x, schedule=schedule)
    np.testing.assert_array_equal(A @ x, A.to_scipy() @ x)


def test_streaming_refuses_algorithms_in_core(placed):
    with pytest.raises(ValueError, match="'blocked'.*streamed"):
        placed["host"].dot(np.ones(400), schedule="streamed", algorithm="blocked")


@no_gpu
def test_device_memory_makes_the_planner_stream(placed):
    A = placed["host"]
    x = np.arange(400.0)
    wanted = A @ x
    with ps.options(device_memory="32KiB") as o, ps.record() as t:
        assert o is ps.options and o.device_memory == 32768 and A.nbytes > 32768
        np.testing.assert_array_equal(A @ x, wanted)
        assert "exceed" in str(A.explain(x)) and A.explain().schedule == "streamed"
        with ps.options(device_memory=A.nbytes):
            A @ x
        A @ x
    A @ x
    assert ps.options.device_memory is None
    assert [e["schedule"] for e in t] == ["streamed", "in_core", "streamed"]
    assert t[0]["ring_bytes"] <= 32768


def test_options_come_back_after_errors():
    with pytest.raises(RuntimeError), ps.options(device_memory=1000):
        raise RuntimeError
    assert ps.options.device_memory is None
    for bad in ("no", 0, -1, "0", float("nan"), 2.0**70):
        with pytest.raises(ValueError, match="device_memory"):
            ps.options(device_memory=bad)
        with pytest.raises(ValueError, match="device_memory"):
            ps.options.device_memory = bad
        assert ps.options.device_memory is None
    with pytest.raises(TypeError, match="threads"):
        ps.options(threads=3)
    ps.options(device_memory="1MB")  # a statement
    assert ps.options.device_memory == 10**6 and "1000000" in repr(ps.options)
    ps.options(device_memory=None)
    assert ps.options.device_memory is None


@pytest.mark.parametrize(
    "text, number",
    [
        (0, 0),
        (7, 7),
        (1999.9, 1999),
        (2**53 + 1, 2**53 + 1),
        ("7", 7),
        ("7B", 7),
        ("1k", 1000),
        ("1KB", 1000),
        ("1KiB", 1024),
        ("1.5 MiB", 3 << 19),
        (" .5g ", 5 * 10**8),
        ("2TiB", 2 << 40),
        (np.int64(9), 9),
        (np.float32(2), 2),
    ],
)
def test_parse_bytes(text, number):
    assert parse_bytes(text) == number


@pytest.mark.parametrize(
    "text",
    ["", "k", "1e3", "-1", -1, "1 XB", "1ib", "1.2.3", True, None, np.nan, np.inf, "9999999999T"],
)
def test_parse_bytes_refuses(text):
    with pytest.raises(ValueError, match="size="):
        parse_bytes(text)


def test_explain_agrees_with_the_matrix(placed):
    A = placed["host"]
    for x, size in (
        (None, 8),
        (np.ones(400, np.complex128), 16),
        (np.ones(400, np.float32), 8),
        ([1] * 400, 8),
    ):
        plan = A.explain(x)
        total = A.nbytes + size * (400 + 900)
        assert plan.schedule == "in_core" and plan.flops == 2 * A.nnz
        assert [u["bytes"] for u in plan.uses] == [total]
        assert plan.binding == plan.uses[0]["resource"]
        assert plan.seconds == pytest.approx(total / plan.uses[0]["bandwidth"])
        assert plan.uses[0]["bandwidth"] > 1e8
    text = str(A.explain())
    assert "in_core" in text and plan.binding in text and repr(A.explain()) == text
    plan = A.explain(schedule=ps.Streamed(device="cpu"))
    assert plan.schedule == "streamed" and len(plan.uses) == 2
    assert plan.seconds == max(u["seconds"] for u in plan.uses)
    assert "mapped" in placed["mapped"].explain().reason


def test_show_config_and_machine():
    text = ps.show_config()
    for word in ("penstock", ps.__version__, "SIMD", "threads", "cuda"):
        assert word in text
    m = ps.machine()
    assert (
        m["host_read"] > 1e8
        and m["cache_read"] > 1e8
        and m["memory_bytes"] >= m["available_bytes"] > 0
    )
    assert m == ps.machine()  # measured once


def test_pattern_x_types_stream_too():
    rng = np.random.default_rng(1)
    for dtype in (bool, np.float32, np.complex64):
        A = ps.csr_array(matrix_of(rng, 200, 100, dtype), shape=(200, 100))
        for of_x in (np.float32, np.complex128):
            x = numbers(rng, 100, of_x)
            np.testing.assert_array_equal(A.dot(x, schedule=ps.Streamed(block=500)), A @ x)


def test_a_device_has_the_names_that_it_has_elsewhere():
    """As for searches and tiles: "cpu", a number, ps.device(n) and ps.host."""
    assert [ps.InCore(device=d).gpu for d in ("cpu", ps.host, 1, np.int64(1), ps.device(2))] == [
        *(-1, -1, 1, 1, 2)
    ]
    assert ps.InCore().gpu == -1 and ps.ZeroCopy(device=ps.device(1)).gpu == 1
    assert ps.Streamed(device=ps.host)._devices() == [-1]
    assert ps.Streamed(device=("cpu", "cpu"))._devices() == [-1, -1]


def test_options_that_are_none_are_refused():
    with pytest.raises(
        AttributeError, match="unknown device_memry; there are device_memory and gpus"
    ):
        ps.options.device_memry = "1KiB"
    with pytest.raises(AttributeError, match="unknown threads"):
        ps.options.threads = 4
    with pytest.raises(ValueError, match="device_memory=1.5 is no whole number of bytes"):
        ps.options(device_memory=1.5)


@pytest.mark.parametrize("shape", [(7,), (), (2, 400), (400, 2, 2)])
def test_explain_refuses_the_shapes_that_products_refuse(placed, shape):
    A, x = placed["host"], np.ones(shape)
    with pytest.raises(ValueError, match=r"x has shape .*: a matrix of 900 x 400 needs") as refused:
        A.dot(x)
    with pytest.raises(ValueError) as explained:
        A.explain(x)
    assert str(explained.value) == str(refused.value)


def test_threads_are_an_integer():
    for n, error, words in [
        (1.5, TypeError, "n=1.5 is not an integer"),
        (0, ValueError, "n=0 is not between 1 and 4096"),
    ]:
        with pytest.raises(error, match=words):
            ps.set_num_threads(n)
