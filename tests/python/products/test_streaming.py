"""Plans kept with a matrix: on the CPU as a device, and what is asked of GPUs that are not there."""

import gc
import os
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fake_gpus import NEEDS_ELL_G, NEEDS_PACKED, NEEDS_PLANS, fake_gpus  # noqa: F401
from penstock._plan import streaming

import penstock as ps
from penstock import _core

pytestmark = NEEDS_PLANS
CODECS = [
    "raw",
    pytest.param("packed", marks=NEEDS_PACKED),
    pytest.param("ell_g", marks=NEEDS_ELL_G),
]


def matrix(dtype=float, seed=3, longest=9000):
    """Short rows, empty rows, and one that no small block holds."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 20, 2000)
    lengths[700] = longest
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([np.sort(rng.choice(12_000, n, False)) for n in lengths])
    values = rng.integers(1, 6, len(indices)).astype(dtype)
    return ps.csr_array((values, indices, indptr), shape=(2000, 12_000))


@pytest.fixture
def A():
    return matrix()


@pytest.fixture
def x():
    return np.random.default_rng(1).integers(-5, 6, 12_000).astype(float)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("block, slots", [(None, 3), ("4KiB", 2), ("64KiB", 1)])
@pytest.mark.parametrize("dtype", [float, np.float32, bool, np.complex64])
def test_plans_of_every_codec(codec, block, slots, dtype):
    A = matrix(dtype, longest=40 if codec == "ell_g" else 9000)  # ELL-G refuses longer ones
    x = (
        np.random.default_rng(1)
        .integers(-5, 6, 12_000)
        .astype(A.dtype if dtype is not bool else float)
    )
    wanted = A.to_scipy() @ x
    how = ps.Streamed(device="cpu", codec=codec, block=block, slots=slots)
    told = A.prepare(schedule=how)
    assert codec in told and "the CPU" in told
    with ps.record() as t:
        np.testing.assert_array_equal(A @ x, wanted)
        y = np.ones(2000, wanted.dtype)
        A.dot(x, out=y, alpha=2.0, beta=3.0, schedule=how)
    np.testing.assert_array_equal(y, 2 * wanted + 3)
    assert [e["codec"] for e in t] == [codec] * 2
    if codec == "raw" and block == "4KiB":
        assert t[0]["tiles"] > 20
    A.release()
    assert A._derived.stream_plans is None


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
@pytest.mark.parametrize("codec", CODECS[:2])
def test_other_semirings(A, semiring, codec):
    x = np.abs(np.random.default_rng(1).integers(0, 6, 12_000).astype(float))
    wanted = A.dot(x, semiring=semiring)
    A.prepare(schedule=ps.Streamed(device="cpu", codec=codec, block="8KiB"))
    with ps.record() as t:
        np.testing.assert_array_equal(A.dot(x, semiring=semiring), wanted)
    assert t[0]["codec"] == codec


def test_the_cpus_ring_needs_no_plan(A, x):
    with ps.record() as t:
        A.dot(x, schedule=ps.Streamed(device="cpu"))
    assert t[0]["schedule"] == "streamed" and "codec" not in t[0]
    assert A._derived.stream_plans is None


def test_a_plan_serves_narrower_vectors_and_other_plans_wider(A, x, fake_gpus):  # noqa: F811
    A.prepare(schedule=ps.Streamed(device=0))
    single = matrix(np.float32)
    single.prepare(schedule=ps.Streamed(device=0))
    assert [m["entry_bytes"] for m in fake_gpus.made] == [8, 4]
    single @ x.astype(np.float32)
    single.dot(x, schedule=ps.Streamed(device=0))  # float64: another plan
    single @ x.astype(np.float32)
    assert [m["entry_bytes"] for m in fake_gpus.made] == [8, 4, 8]


def test_a_repeated_call_makes_nothing(A, x, fake_gpus):  # noqa: F811
    how = ps.Streamed(device=[0, 1], block="64KiB", slots=4, keep=False, codec="raw")
    wanted = A.to_scipy() @ x
    y = np.empty(2000)
    for _ in range(5):
        assert A.dot(x, out=y, schedule=how) is y
        np.testing.assert_array_equal(y, wanted)
    assert len(fake_gpus.made) == 1
    made = fake_gpus.made[0]
    assert (made["gpus"], made["block_bytes"], made["slots"]) == ([0, 1], 65536, 4)
    assert (made["keep"], made["cpu"], made["pin"], made["a"]) == (False, False, True, A._core)
    with ps.options(device_memory="20MB"):
        A.dot(x, schedule=how)
    assert fake_gpus.made[1]["device_memory"] == 20_000_000


def test_the_last_two_plans_are_kept(A, x, fake_gpus):  # noqa: F811
    ways = [ps.Streamed(device=0, block=b) for b in ("64KiB", "128KiB", "256KiB")]
    for how in (*ways, ways[2], ways[1]):
        A.dot(x, schedule=how)
    assert len(fake_gpus.made) == 3
    A.dot(x, schedule=ways[0])
    assert len(fake_gpus.made) == 4
    with ps.options(device_memory="30MB"):  # a budget is for both of them
        for how in (ways[0], ways[1]):
            A.dot(x, schedule=how)
            plans, _ = A._derived.stream_plans
        assert [k[0].setting.block for k in plans] == [128 << 10]


def test_plans_go_with_the_matrix_and_by_release(fake_gpus):  # noqa: F811
    A, x = matrix(), np.ones(12_000)
    A.dot(x, schedule=ps.Streamed(device=0))
    plan = weakref.ref(streaming.existing(A, 8).core)
    A.release()
    gc.collect()
    assert plan() is None
    A.dot(x, schedule=ps.Streamed(device=0))
    plan = weakref.ref(streaming.existing(A, 8).core)
    del A
    gc.collect()
    assert plan() is None


@pytest.mark.parametrize("codec", CODECS[:2])
def test_a_thousand_calls_leave_memory_as_it_was(codec):
    A, x = ps.generate.rmat(11), np.ones(2048)
    how, y = ps.Streamed(device="cpu", codec=codec, block="16KiB"), np.empty(2048)
    A.prepare(schedule=how)

    def resident():
        gc.collect()
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def grown():
        before = resident()
        for _ in range(1000):
            A.dot(x, out=y, schedule=how)
        return resident() - before

    grown()
    # A leak grows each time. The process may grow once for what ran in it before: its allocator's arenas fill anew.
    assert min(grown() for _ in range(3)) < 2 << 20


def test_threads_share_a_plan(A):
    A.prepare(schedule=ps.Streamed(device="cpu", block="8KiB"))
    B = A.to_scipy()

    def one(seed):
        v = np.random.default_rng(seed).integers(-5, 6, 12_000).astype(float)
        np.testing.assert_array_equal(A @ v, B @ v)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(40)))


def test_threads_make_one_plan(fake_gpus):  # noqa: F811
    A, x = matrix(), np.ones(12_000)
    how = ps.Streamed(device=0)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: A.dot(x, schedule=how), range(16)))
    assert len(fake_gpus.made) == 1


# An x that does not fit


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "max_times", "or_and"])
@pytest.mark.parametrize("dtype", [float, bool, np.complex128])
def test_ranges_of_columns(fake_gpus, semiring, dtype):  # noqa: F811
    if dtype is np.complex128 and semiring != "plus_times":
        pytest.skip("complex numbers have no order, and count as themselves in or_and")
    A = matrix(dtype)
    x = (
        np.random.default_rng(1)
        .integers(0, 6, 12_000)
        .astype(dtype if dtype is not bool else float)
    )
    old = np.random.default_rng(2).integers(0, 6, 2000).astype(x.dtype)
    old = old > 3 if semiring == "or_and" else old
    scale = True if semiring == "or_and" else 2
    ways = {"semiring": semiring, "alpha": scale, "beta": scale}
    wanted, updated = A.dot(x, semiring=semiring), A.dot(x, out=old.copy(), **ways)
    entry = 1 if semiring == "or_and" else x.itemsize
    how = ps.Streamed(device=0)
    with ps.options(device_memory=int(8000 * entry) + 6000), ps.record() as t:
        np.testing.assert_array_equal(A.dot(x, schedule=how, semiring=semiring), wanted)
        np.testing.assert_array_equal(A.dot(x, out=old, schedule=how, **ways), updated)
        assert streaming.existing(A, entry).facts["panels"] >= 2
    assert "ranges of columns" in t[0]["notes"][0] and t[0]["tiles"] >= 2
    assert t[0]["copied_bytes"] >= A.nnz * 4


def test_ranges_of_columns_are_explained(A, x, fake_gpus):  # noqa: F811
    with ps.options(device_memory=80_000):
        plan = A.explain(schedule=ps.Streamed(device=0))
        whole = A.explain(schedule=ps.Streamed(device="cpu"))
        assert plan.schedule == "streamed" and plan.seconds > 0 < whole.seconds
        for how in (ps.Streamed(device=0, codec="ell_g"), ps.InCore(device=0)):
            with pytest.raises(MemoryError, match="x takes|has room for"):
                A.explain(schedule=how)
    with ps.options(device_memory=1000), pytest.raises(MemoryError, match="ranges of columns"):
        A.dot(x, schedule=ps.Streamed(device=0))


# In core on a GPU


def test_in_core_moves_a_matrix_once(A, x, fake_gpus):  # noqa: F811
    for _ in range(3):
        np.testing.assert_array_equal(A.dot(x, schedule=ps.InCore(device=1)), A.to_scipy() @ x)
    assert [m["gpus"] for m in fake_gpus.made] == [[1]] and fake_gpus.made[0]["keep"]
    np.testing.assert_array_equal(A @ x, A.to_scipy() @ x)  # the plan is used
    assert len(fake_gpus.made) == 1


def test_in_core_that_does_not_fit_names_streamed(A, x, fake_gpus):  # noqa: F811
    small = ps.options(device_memory=A.nbytes // 8)
    with small, pytest.raises(MemoryError, match=r"InCore\(device=0\).*has room for.*Streamed"):
        A.dot(x, schedule=ps.InCore(device=0))
    fake_gpus.kept = 1000
    with pytest.raises(MemoryError, match="do not fit beside 1000: use Streamed"):
        A.dot(x, schedule=ps.InCore(device=0))
    assert streaming.existing(A, 8) is None


# Faults


def test_another_process_takes_the_memory(A, x, fake_gpus):  # noqa: F811
    fake_gpus.fail = [MemoryError("cannot allocate 5 bytes of memory on GPU 0")]
    how = ps.Streamed(device=0, codec="raw")  # another codec would be tried first
    with ps.record() as t:
        np.testing.assert_array_equal(A.dot(x, schedule=how), A.to_scipy() @ x)
    assert "more was not free" in t[0]["notes"][0]
    assert fake_gpus.made[0]["device_memory"] == fake_gpus.free // 2
    A.release()
    fake_gpus.fail = [MemoryError("cannot allocate 5 bytes"), MemoryError("nor 4")]
    with pytest.raises(MemoryError, match="cannot allocate 5 bytes"):
        A.dot(x, schedule=how)
    assert streaming.existing(A, 8) is None
    np.testing.assert_array_equal(A.dot(x, schedule=how), A.to_scipy() @ x)  # it has ended


def test_a_plan_that_holds_the_memory_makes_room(A, x, fake_gpus):  # noqa: F811
    A.dot(x, schedule=ps.Streamed(device=0))
    fake_gpus.fail = [MemoryError("full")] * 2
    A.dot(x, schedule=ps.Streamed(device=[0, 1], codec="raw"))
    plans, _ = A._derived.stream_plans
    assert len(plans) == 1


def test_memory_that_runs_out_in_a_product(A, x, fake_gpus):  # noqa: F811
    how, wanted = ps.Streamed(device=0), A.to_scipy() @ x
    A.dot(x, schedule=how)
    streaming.existing(A, 8).core.fail = [MemoryError("staging")]
    np.testing.assert_array_equal(A.dot(x, schedule=how), wanted)
    assert len(fake_gpus.made) == 2
    streaming.existing(A, 8).core.fail = [MemoryError("staging")]
    y = wanted.copy()
    with pytest.raises(MemoryError, match="staging"):  # y may have changed: not tried again
        A.dot(x, out=y, beta=1.0, schedule=how)
    A.dot(x, schedule=how)
    streaming.existing(A, 8).core.fail = [RuntimeError("cudaErrorIllegalAddress")]
    with pytest.raises(RuntimeError, match="Illegal"):
        A.dot(x, schedule=how)
    assert streaming.existing(A, 8) is None


def test_pages_that_cannot_be_locked(A, x, fake_gpus):  # noqa: F811
    fake_gpus.fail = [MemoryError("cannot pin 5 bytes of host memory")]
    with ps.record() as t:
        A.dot(x, schedule=ps.Streamed(device=0))
    assert not fake_gpus.made[0]["pin"] and "not locked" in t[0]["notes"][0]


def test_what_a_plan_does_not_know_goes_through_the_ring(A, x, fake_gpus, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ps.Streamed, "_lower", lambda self: _core.streamed([-1]))
    how = ps.Streamed(device=0, codec="raw")
    A.dot(x, schedule=how)
    streaming.existing(A, 8).core.fail = [ps.NotCompiledError("no kernel for this")]
    with ps.record() as t:
        np.testing.assert_array_equal(A.dot(x, schedule=how), A.to_scipy() @ x)
    assert t[0]["fallback"] == "no kernel for this" and t[0]["schedule"] == "streamed"


def test_a_file_truncated_while_mapped(tmp_path, x):
    matrix().save(tmp_path / "a.penstock")
    A = ps.open(tmp_path / "a.penstock")
    A @ x
    file = tmp_path / "a.penstock" / "indices.npy"
    size = file.stat().st_size
    with open(file, "r+b") as f:
        f.truncate(4096)
    for how in (None, ps.Streamed(device="cpu")):
        with pytest.raises(ValueError, match=f"has 4096 bytes now, {size} were mapped"):
            A.dot(x, schedule=how)


@pytest.mark.parametrize(
    "how, error, words",
    [
        ({"codec": "zip"}, ValueError, "codec='zip'.*auto, raw, packed, ell_g"),
        ({"keep": "yes"}, TypeError, "keep='yes'"),
        ({"cpu": 2}, TypeError, "cpu=2"),
        ({"ring": 1000, "block": 64}, ValueError, "ring of 1000 bytes"),
        ({"slots": 0}, ValueError, "slots=0 must be at least 1"),
        ({"device": 3}, ValueError, r"device=3\): 2 GPUs are usable here; device='cpu'"),
        ({"device": [0, 2]}, ValueError, r"device=\[0, 2\]\): 2 GPUs are usable here"),
        ({"device": -1}, ValueError, 'GPUs are numbered from 0, the CPU is "cpu"'),
        ({"device": "gpu"}, ValueError, r"Streamed\(device='gpu'\) is unknown: give \"cpu\""),
        ({"device": ps.pinned}, TypeError, "is not one device"),
        ({"device": [True]}, TypeError, "device=True.* is not one device"),
    ],
)
def test_options_that_make_no_sense(A, x, fake_gpus, how, error, words):  # noqa: F811
    with pytest.raises(error, match=words):
        A.dot(x, schedule=ps.Streamed(**how))
    assert not fake_gpus.made


def test_in_core_options(A, x, fake_gpus):  # noqa: F811
    for how, words in [
        (ps.InCore(device=0, kernel="fast"), "kernel='fast'"),
        (ps.InCore(kernel="packed"), "is of GPUs"),
    ]:
        with pytest.raises(ValueError, match=words):
            A.dot(x, schedule=how)
    with pytest.raises(ps.PlacementError, match="GPU 2: 2 GPUs are usable"):
        A.dot(x, schedule=ps.InCore(device=2))
    with pytest.raises(ValueError, match="several columns"):
        A.dot(np.ones((12_000, 2)), schedule=ps.Streamed(device=0, codec="packed"))
    with pytest.raises(ValueError, match="'blocked' needs the matrix in core"):
        A.dot(x, schedule=ps.Streamed(device=0), algorithm="blocked")


def test_gpus_can_be_limited(A, x, fake_gpus):  # noqa: F811
    with ps.options(gpus=1):
        A.dot(x, schedule=ps.Streamed())
        with pytest.raises(ValueError, match=r"1 GPU \(options.gpus=1\) is usable"):
            A.dot(x, schedule=ps.Streamed(device=[0, 1]))
        with pytest.raises(ps.PlacementError, match=r"options.gpus=1"):
            A.dot(x, schedule=ps.ZeroCopy(device=1))
    assert fake_gpus.made[0]["gpus"] == [0]
    with ps.options(gpus=0):
        with pytest.raises(ValueError, match="GPUs are turned off"):
            A.dot(x, schedule=ps.Streamed(device=0))
        with ps.record() as t:
            A.dot(x, schedule=ps.Streamed())
            A @ x  # the plan of that GPU is not used, either
        assert all("codec" not in e for e in t)
    for bad in (-1, 1.5, "many", True):
        with pytest.raises(ValueError, match="gpus="):
            ps.options(gpus=bad)
    with pytest.raises(ValueError, match="device_memory"):
        ps.options(gpus=1, device_memory="no")
    assert ps.options.gpus is None


def test_prepare_says_what_it_did(A, x, fake_gpus):  # noqa: F811
    told = A.prepare(schedule=ps.Streamed(device=[0, 1]), products=5)
    assert "GPU 0, GPU 1" in told and "in core" in told and "kept" in told
    for bad in (0, -3, True):
        with pytest.raises(ValueError, match="products="):
            A.prepare(products=bad)
    with pytest.raises(ValueError, match="without a schedule"):
        A.prepare("blocked", schedule=ps.Streamed(device=0))
    with pytest.raises(ValueError, match="needs no plan"):
        A.prepare(schedule=ps.InCore())
    assert matrix().prepare(products=1) == matrix().prepare()


def test_blocks_within_a_ring_and_of_every_codec(x, fake_gpus):  # noqa: F811
    A = matrix(longest=40)
    for how, block in [
        (ps.Streamed(device=0, codec="raw", ring="300MB"), 1 << 20),  # not a third of the ring
        (ps.Streamed(device=0, codec="raw", ring="300MB", block="2MiB"), 2 << 20),
        (ps.Streamed(device=0, codec="raw", ring="300KB"), 99_968),
        (ps.Streamed(device="cpu", codec="packed", ring="300MB"), 1 << 18),
    ]:
        A.dot(x, schedule=how)
        assert fake_gpus.made[-1]["block_bytes"] == block
    B = ps.csr_array(np.eye(12_000))
    for block, blocks in [(None, 1), ("64KiB", 3), ("16KiB", 12), ("64KiB", 12)]:
        B.dot(x, schedule=ps.Streamed(device=0, codec="ell_g", block=block))
        assert (B._derived.ell_g.blocks >= blocks) and fake_gpus.made[-1]["a"].blocks >= blocks
    B.release()
    assert B._derived.ell_g_block is None


@NEEDS_PACKED
def test_what_cannot_be_packed_keeps_its_block(A, x, fake_gpus, monkeypatch):  # noqa: F811
    def pack(*_, **__):
        raise ValueError("no")

    monkeypatch.setattr(_core, "pack", pack)
    how = ps.Streamed(device=0, block="64KiB", keep=False)
    A.prepare(schedule=how, products=10_000)
    (plan,) = A._derived.stream_plans[0].values()
    assert plan.codec == "raw" and fake_gpus.made[-1]["block_bytes"] == 64 << 10
    assert plan.notes == ["not packed: no"]


@NEEDS_PACKED
def test_auto_packs_for_many_products(fake_gpus):  # noqa: F811
    A = ps.generate.rmat(16)
    fake_gpus.free = (64 << 20) + (4 << 20)  # less than the matrix beside what is left to others
    assert "packed" in A.prepare(schedule=ps.Streamed(device=0), products=100_000)
    A.release()
    assert "raw" in A.prepare(schedule=ps.Streamed(device=0), products=1)
