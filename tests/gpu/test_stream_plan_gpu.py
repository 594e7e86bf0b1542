"""Plans on GPUs: every cut, budget and memory of the vectors against the reference product."""

import numpy as np
import pytest
from reference import INSTANCES, SHAPES, Case, agrees

from penstock import _core

pytestmark = pytest.mark.gpu
ALL = list(range(_core.device_count()))


def vectors_in(memory, x, y):
    """x and y where they are wanted, and a function that gives y as NumPy's."""
    if memory == "host":
        return x, y, lambda: y
    if memory == "pinned":
        px, py = (_core.pinned_bytes(max(v.nbytes, 1))[: v.nbytes].view(v.dtype) for v in (x, y))
        px[:], py[:] = x, y
        return px, py, lambda: py.copy()
    cupy = pytest.importorskip("cupy")
    gpu = int(memory[-1])
    if gpu >= len(ALL):
        pytest.skip("needs two GPUs")
    with cupy.cuda.Device(gpu):
        dx, dy = cupy.asarray(x), cupy.asarray(y)
    return dx, dy, dy.get


PLANS = {
    "free": {},
    "streams_all": {"keep": False},
    "small_slots": {"keep": False, "block_bytes": 5000},
    "tiny_slots": {"keep": False, "block_bytes": 1000, "slots": 1},
    "two_slots": {"keep": False, "block_bytes": 1 << 16, "slots": 2},
    "all_gpus": {"gpus": ALL, "keep": False, "block_bytes": 1 << 15},
    "all_gpus_kept": {"gpus": ALL},
    "twice_one_gpu": {"gpus": [0, 0], "block_bytes": 1 << 15, "device_memory": 1 << 21},
    "with_cpu": {"keep": False, "cpu": True, "block_bytes": 1 << 15},
}


def plan_for(matrix, entry, **settings):
    return _core.stream_plan(matrix, settings.pop("gpus", [0]), entry_bytes=entry, **settings)


@pytest.mark.parametrize("memory", ["host", "pinned", "device0", "device1"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(
    "shape", ["one_row_has_everything", "power_law", "mostly_empty", "no_rows", "no_entries"]
)
def test_every_plan(plan, shape, memory):
    case = Case(shape, "float64")
    x, old = case.vector("float64"), case.vector("float64", case.rows, 3)
    made = plan_for(case.matrix, 8, **PLANS[plan])
    if PLANS[plan].get("cpu") and memory.startswith("device"):
        return
    for alpha, beta in [(None, None), (-1.5, 0.25)]:
        px, py, back = vectors_in(memory, x, old.copy() if beta else np.full(case.rows, np.nan))
        for _ in range(2 if beta is None else 1):
            made.multiply(px, py, alpha=alpha, beta=beta)
        expected = case.product(x, "plus_times", alpha, beta, old if beta else None)
        agrees(back(), *expected)


@pytest.mark.parametrize("semiring, values, vector", INSTANCES)
def test_every_instance(semiring, values, vector):
    case = Case("hubs_among_short_rows", values)
    x = case.vector(vector)
    for settings in ({}, {"keep": False, "block_bytes": 20_000}):
        y = np.full(case.rows, 77 if vector == "uint8" else np.nan, vector)
        plan_for(case.matrix, x.itemsize, **settings).multiply(x, y, semiring)
        agrees(y, *case.product(x, semiring))


@pytest.mark.gpu_small
@pytest.mark.parametrize("shape", SHAPES)
def test_awkward_shapes(shape):
    case = Case(shape, None)
    x = case.vector("float64")
    for settings in ({}, {"keep": False, "block_bytes": 9000}, {"device_memory": 4 << 20}):
        y = np.full(case.rows, np.nan)
        plan_for(case.matrix, 8, **settings).multiply(x, y)
        agrees(y, *case.product(x, "plus_times"))


@pytest.mark.parametrize("place", ["host", "pinned", "managed"])
@pytest.mark.parametrize("pin", [False, True])
def test_matrix_memory(place, pin):
    case = Case("power_law", "float64")
    x, y = case.vector("float64"), np.full(case.rows, np.nan)
    placed = _core.to_place(case.matrix, place)
    plan = plan_for(placed, 8, keep=False, block_bytes=1 << 16, pin=pin)
    plan.multiply(x, y)
    agrees(y, *case.product(x, "plus_times"))
    assert plan.facts()["bounced"] == (place == "host" and not pin)


def test_a_budget_is_kept_and_filled():
    case = Case("power_law", "float64")
    whole = case.matrix.nbytes
    for budget in (whole // 4, whole // 2, whole):
        plan = plan_for(case.matrix, 8, device_memory=budget)
        facts = plan.facts()
        assert facts["device_bytes"][0] <= budget
        assert facts["device_bytes"][0] > 0.8 * budget, facts
        assert facts["kept_bytes"] > 0
        assert facts["kept_bytes"] + facts["streamed_bytes"] >= whole
        x, y = case.vector("float64"), np.full(case.rows, np.nan)
        trace = plan.multiply(x, y)
        agrees(y, *case.product(x, "plus_times"))
        assert trace["schedule"] == "streamed" and trace["kept_bytes"] == facts["kept_bytes"]
    with pytest.raises(MemoryError, match="x takes .* allow more device_memory"):
        plan_for(case.matrix, 8, device_memory=case.cols * 8)


def test_the_same_bits_in_every_run():
    case = Case("power_law", "float32")
    x = case.vector("float32")
    for settings in (
        {"keep": False, "block_bytes": 1 << 15},
        {"gpus": ALL},
        {"device_memory": 1 << 21},
    ):
        plan = plan_for(case.matrix, 4, **settings)
        runs = set()
        for _ in range(5):
            y = np.full(case.rows, np.nan, "float32")
            plan.multiply(x, y)
            runs.add(y.tobytes())
        assert len(runs) == 1, settings


def test_a_thousand_calls_leave_memory_unchanged():
    case = Case("power_law", "float64")
    x, y = case.vector("float64"), np.full(case.rows, np.nan)
    plan = plan_for(case.matrix, 8, device_memory=2 << 20)
    for _ in range(20):
        plan.multiply(x, y)
    before = _core.gpu_info(0)["free_bytes"], _core.topology()["available_bytes"]
    for _ in range(1000):
        plan.multiply(x, y, traced=False)
    after = _core.gpu_info(0)["free_bytes"], _core.topology()["available_bytes"]
    assert before[0] == after[0]
    assert abs(before[1] - after[1]) < 64 << 20
    agrees(y, *case.product(x, "plus_times"))


def test_more_pinned_memory_than_there_is():
    with pytest.raises(MemoryError, match="cannot pin .* are available.*pin less"):
        _core.pinned_bytes(1 << 46)


def test_a_block_that_holds_no_row():
    case = Case("regular_7", "float64")
    with pytest.raises(ValueError, match="block of 64 bytes .* at least 640"):
        plan_for(case.matrix, 8, block_bytes=64)


def test_a_budget_that_is_too_small():
    case = Case("regular_7", "float64")
    with pytest.raises(MemoryError, match="may hold 1000 bytes"):
        plan_for(case.matrix, 8, device_memory=1000)


@pytest.mark.parametrize("memory", ["device0", "pinned"])
def test_the_cpu_takes_part_in_host_memory_alone(memory):
    case = Case("power_law", "float64")
    plan = plan_for(case.matrix, 8, cpu=True, keep=False, block_bytes=1 << 15)
    x, y, back = vectors_in(memory, case.vector("float64"), np.full(case.rows, np.nan))
    if memory == "pinned":
        plan.multiply(x, y)
        agrees(back(), *case.product(case.vector("float64"), "plus_times"))
    else:
        for pair in ((x, np.empty(case.rows)), (case.vector("float64"), y)):
            with pytest.raises(ValueError, match="x and y must be in host memory"):
                plan.multiply(*pair)
