"""Generators on a GPU: the CPU's matrices bit for bit, in one pass and in many."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from bench_files import read_report
from child_environment import environment

import penstock as ps
from penstock import _core, generate

pytestmark = pytest.mark.gpu

RMAT = {
    "scale": 10, "edge_factor": 16.0, "a": 0.57, "b": 0.19, "c": 0.19, "undirected": True,
    "self_loops": False, "scramble": True, "dtype": "bool", "seed": 0,
}  # fmt: skip
UNIFORM = {"rows": 1000, "cols": 1000, "nnz_per_row": 16.0, "dtype": "bool", "seed": 0}
SPARE = 1 << 20  # more than tables and counters take


def arrays(matrix):
    here = matrix if matrix.place == "host" else _core.to_place(matrix, "host")
    values = np.empty(0) if here.values is None else here.values
    return here.indptr, here.indices, values


def assert_same(made, expected, what):
    """Bit for bit; says where the first difference is."""
    assert made.place == "device"
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype), what
    assert made.nnz == expected.nnz, f"{what}: {made.nnz} entries, the CPU has {expected.nnz}"
    names = ("indptr", "indices", "values")
    for name, got, want in zip(names, arrays(made), arrays(expected), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), f"{what}: {name}"
        if got.tobytes() != want.tobytes():
            at = int(np.flatnonzero(got != want)[0])
            pytest.fail(f"{what}: {name}[{at}] is {got[at]}, the CPU has {want[at]}")


def check_rmat(memory=0, **options):
    how = RMAT | options
    made, took = _core.generate_rmat_gpu(**how, gpu=0, memory=memory)
    assert_same(made, _core.generate_rmat(**how), f"rmat {options} in {took}")
    assert memory == 0 or took["peak_bytes"] <= memory
    return took


def check_uniform(memory=0, **options):
    how = UNIFORM | options
    made, took = _core.generate_uniform_gpu(**how, gpu=0, memory=memory)
    assert_same(made, _core.generate_uniform(**how), f"uniform {options} in {took}")
    assert memory == 0 or took["peak_bytes"] <= memory
    return took


@pytest.mark.parametrize("scale", range(1, 17))
@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("scramble", [True, False])
def test_rmat_of_every_scale(scale, undirected, scramble):
    took = check_rmat(scale=scale, undirected=undirected, scramble=scramble, seed=scale)
    assert took["passes"] == 1


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64"])
@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("scramble", [True, False])
def test_rmat_options_and_values(dtype, undirected, self_loops, scramble):
    check_rmat(
        scale=13,
        dtype=dtype,
        undirected=undirected,
        self_loops=self_loops,
        scramble=scramble,
        seed=2**64 - 1,
    )


@pytest.mark.parametrize("edge_factor", [0, 0.001, 0.5, 1, 3.7, 64, 700])
@pytest.mark.parametrize("scale", [3, 9, 12])
def test_rmat_edge_factors(edge_factor, scale):
    check_rmat(scale=scale, edge_factor=edge_factor, dtype="float32", self_loops=True)


@pytest.mark.parametrize(
    "a, b, c",
    [(0.25, 0.25, 0.25), (0.5, 0.5, 0), (0, 0.5, 0.5), (1, 0, 0), (0, 0, 0), (0.1, 0.2, 0.7)],
)
def test_rmat_probabilities(a, b, c):
    check_rmat(scale=11, a=a, b=b, c=c, scramble=False, self_loops=True, dtype="float64")


@pytest.mark.gpu_small
@pytest.mark.parametrize("scale", [1, 6, 7, 11])
def test_small_rmat(scale):
    check_rmat(scale=scale, dtype="float64", seed=5)


@pytest.mark.gpu_small
@pytest.mark.parametrize(
    "rows, cols, nnz_per_row",
    [(1, 1, 1), (1, 2000, 500), (3001, 1, 0.7), (1000, 1023, 20), (1025, 4096, 3), (70, 70, 0)],
)
@pytest.mark.parametrize("dtype", ["bool", "float64"])
def test_uniform(rows, cols, nnz_per_row, dtype):
    check_uniform(rows=rows, cols=cols, nnz_per_row=nnz_per_row, dtype=dtype, seed=9)


def test_uniform_with_the_largest_extents():
    check_uniform(rows=3, cols=2**31 - 1, nnz_per_row=1e5, dtype="float32")
    check_uniform(rows=2**26 + 1, cols=2**31 - 1, nnz_per_row=2.0**-10)


def memory_for(entries, keys, rows, share, entry_bytes=4):
    """Bytes that leave room for about `share` of the keys at a time."""
    return SPARE + 8 * rows + entry_bytes * entries + int(16 * keys * share)


@dataclass
class Tight:
    """Options whose sort does not fit at once."""

    options: dict
    keys: int


ONE_WAY = {"undirected": False, "self_loops": True, "scramble": False}
TIGHT = {
    "undirected": Tight({"scale": 17}, 2**22),
    "directed": Tight({"scale": 18, "undirected": False, "scramble": False}, 2**22),
    "hubs": Tight(
        {"scale": 16, "a": 0.9, "b": 0.04, "c": 0.03, "edge_factor": 64, **ONE_WAY}, 2**22
    ),
    "rows are cut": Tight({"scale": 5, "edge_factor": 2**17, **ONE_WAY}, 2**22),
    "one entry": Tight({"scale": 18, "a": 1, "b": 0, "c": 0, **ONE_WAY}, 2**22),
}


@pytest.mark.parametrize("dtype", ["bool", "float64"])
@pytest.mark.parametrize("share", [0.8, 0.3, 0.07])
@pytest.mark.parametrize("kind", TIGHT)
def test_rmat_in_several_passes(kind, share, dtype):
    tight = TIGHT[kind]
    rows = 2 ** tight.options["scale"]
    entries = min(tight.keys, rows * rows)
    memory = memory_for(entries, tight.keys, rows, share, 4 if dtype == "bool" else 12)
    took = check_rmat(memory, dtype=dtype, **tight.options)
    if kind != "one entry":
        assert took["passes"] >= 1 / (share + 0.05)  # the spare bytes hold some keys too
    assert took["passes"] <= 2.5 / share + 2


@pytest.mark.parametrize("shape", [(1, 2**20), (2**20, 1), (4099, 5003)])
def test_uniform_in_several_passes(shape):
    rows, cols = shape
    entries = min(2**22, rows * cols)
    per_row = min(2**22 / rows, cols)
    keys = int(per_row * rows)
    took = check_uniform(
        memory_for(min(entries, keys), keys, rows, 0.25),
        rows=rows,
        cols=cols,
        nnz_per_row=per_row,
        seed=2,
    )
    assert took["passes"] > 1


def test_the_same_bits_in_every_run():
    how = RMAT | {"scale": 15, "dtype": "float32"}
    first = arrays(_core.generate_rmat_gpu(**how, gpu=0)[0])
    for _ in range(3):
        again = arrays(_core.generate_rmat_gpu(**how, gpu=0)[0])
        assert all(x.tobytes() == y.tobytes() for x, y in zip(first, again, strict=True))


def test_too_little_memory_is_told_in_numbers():
    with pytest.raises(MemoryError, match=r"^this R-MAT needs at least .* GB .* are free on GPU 0"):
        _core.generate_rmat_gpu(**RMAT | {"scale": 16}, gpu=0, memory=2**20)
    with pytest.raises(MemoryError, match="limited by the option device_memory"):
        _core.generate_uniform_gpu(**UNIFORM | {"rows": 2**20}, gpu=0, memory=2**20)
    check_rmat(scale=8)  # an error leaves nothing behind


def test_no_memory_stays_taken():
    free = [0, 0]
    for i in range(40):
        matrix, _ = _core.generate_rmat_gpu(**RMAT | {"scale": 18}, gpu=0)
        del matrix
        with pytest.raises(MemoryError):
            _core.generate_rmat_gpu(**RMAT | {"scale": 18}, gpu=0, memory=2**20)
        if i in (4, 39):
            free[i == 39] = free_bytes()
    assert free[1] >= free[0] - (32 << 20), (
        f"free GPU memory fell from {free[0]} to {free[1]} bytes"
    )


def free_bytes():
    """What the error of an impossible allocation says is free."""
    with pytest.raises(MemoryError) as error:
        _core.time_copy_gpu(1 << 48, "device", "device")
    return int(str(error.value).split("(")[1].split(" of")[0])


def test_the_python_functions():
    a = generate.rmat(12, 8, seed=3, dtype=np.float32, device=0)
    assert a.place == "device"
    assert_same(a._core, generate.rmat(12, 8, seed=3, dtype=np.float32)._core, "generate.rmat")
    b = generate.uniform(500, 300, 5, seed=3, device=0)
    assert_same(b._core, generate.uniform(500, 300, 5, seed=3)._core, "generate.uniform")
    with ps.options(device_memory="12MB"):
        c = generate.rmat(14, 16, device=0)
        with pytest.raises(MemoryError, match="device_memory"):
            generate.rmat(18, 16, device=0)
    assert_same(c._core, generate.rmat(14, 16)._core, "generate.rmat in 12 MB")


def untidy(n, nnz, dtype, seed):
    """Rows in any order of columns, with duplicates, empty rows and one long row."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, nnz // 2 + 1, n - 1))
    indptr = np.concatenate([[0], cuts, [nnz]])
    values = rng.integers(0, 99, nnz).astype(dtype)
    return ps.csr_array((values, rng.integers(0, n, nnz), indptr), shape=(n, n))


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("mix", [0.0, 0.05, 1.0])
@pytest.mark.parametrize(
    ("n", "nnz", "copies"), [(1, 1, 1), (50, 900, 3), (3000, 40_000, 77), (2, 3, 100_000)]
)
def test_lifts_are_those_of_the_cpu(dtype, mix, n, nnz, copies):
    a = untidy(n, nnz, dtype, n)
    for given in (a, a.to(ps.device(0))):
        made = generate.lift(given, copies, mix, seed=5, device=0)
        assert_same(
            made._core, generate.lift(a, copies, mix, seed=5)._core, f"lift of {n} x {copies}"
        )
    back = generate.lift(a.to(ps.device(0)), copies, mix, seed=5)  # made by the CPU
    assert back.indices.tobytes() == generate.lift(a, copies, mix, seed=5).indices.tobytes()


def test_a_lift_of_millions():
    a = generate.rmat(15, seed=1, dtype=np.float32)
    made = generate.lift(a, 60, seed=2, device=0)
    assert_same(made._core, generate.lift(a, 60, seed=2)._core, "lift of rmat(15) x 60")
    assert made._derived.symmetric_pattern


def test_a_lift_of_more_than_two_to_the_31_entries():
    if _core.topology()["available_bytes"] < 40 << 30:
        pytest.skip("needs 40 GB of host memory")
    a = ps.csr_array(np.ones((1000, 1000), bool))
    made = generate.lift(a, 2200, 0.2, seed=3, device=0)
    assert made.nnz == 2_200_000_000
    assert_same(
        made._core, generate.lift(a, 2200, 0.2, seed=3)._core, "lift of 2.2 billion entries"
    )


def test_lifts_without_entries_and_without_room():
    for n in (0, 1, 7):
        made = generate.lift(ps.csr_array((n, n)), 3, device=0)
        assert made.shape == (3 * n, 3 * n)
        assert made.nnz == 0
    a = generate.rmat(14, seed=1)
    core, took = _core.generate_lift_gpu(a._core, 50, 0.05, 0, gpu=0)
    assert core.nnz == 50 * a.nnz
    with pytest.raises(MemoryError, match=r"^this lift needs .* GB .* are free on GPU 0 \(limited"):
        _core.generate_lift_gpu(a._core, 50, 0.05, 0, gpu=0, memory=took["peak_bytes"] - 1)
    _core.generate_lift_gpu(a._core, 50, 0.05, 0, gpu=0, memory=took["peak_bytes"])


def test_a_gpu_that_does_not_exist():
    absent = _core.device_count()
    with pytest.raises(ps.PlacementError, match=f"GPU {absent} does not exist"):
        generate.rmat(8, device=absent)
    with pytest.raises(ValueError, match="scale"):
        generate.rmat(0, device=0)


def test_another_gpu():
    if _core.device_count() < 2:
        pytest.skip("needs two GPUs")
    last = _core.device_count() - 1
    how = RMAT | {"scale": 14}
    made, _ = _core.generate_rmat_gpu(**how, gpu=last)
    assert_same(made, _core.generate_rmat(**how), f"on GPU {last}")


def test_the_benchmark_runs(tmp_path):
    root = Path(__file__).resolve().parents[2]
    out = tmp_path / "generate.json"
    command = [sys.executable, str(root / "bench" / "generate_gpu.py"), "--quick", "--repeats", "2"]
    done = subprocess.run(
        [*command, "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    cases = read_report(out)["cases"]
    assert [case["case"] for case in cases] == ["rmat8", "rmat10"]
    for case in cases:
        assert {name: r["status"] for name, r in case["results"].items()} == {
            "gpu": "ok",
            "cpu": "ok",
        }


def test_the_command_brings_the_graph_to_the_host(tmp_path):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from penstock.cli.generate import app

    for name, gpu in (("gpu", ["--gpu", "0"]), ("cpu", [])):
        words = ["rmat", str(tmp_path / f"{name}.penstock"), "--scale", "10", "--seed", "4", *gpu]
        result = runner.invoke(app, words)
        assert result.exit_code == 0, result.output
    made, expected = (ps.open(tmp_path / f"{name}.penstock") for name in ("gpu", "cpu"))
    assert (made.indptr == expected.indptr).all()
    assert (made.indices == expected.indices).all()
