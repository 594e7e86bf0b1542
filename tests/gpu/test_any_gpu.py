"""What launches ask of a GPU, and the kernels under the limits of smaller ones (PENSTOCK_EMULATE_GPU)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from penstock._plan import machine

from penstock import _core

pytestmark = pytest.mark.gpu
HERE = Path(__file__).resolve().parent

T4 = "sms=40,threads=1024,shared=64KiB,cache=4MiB,capability=7.5"
RTX = "sms=82,threads=1536,shared=99KiB,cache=6MiB,capability=8.6"
SLICE = (
    "sms=1,threads=1024,shared=48KiB,cache=1MiB,pools=0"  # the least, and a driver without pools
)


def child(emulated, *command, timeout=600):
    return subprocess.run(
        [sys.executable, *command],
        env=os.environ | {"PENSTOCK_EMULATE_GPU": emulated},
        capture_output=True, text=True, timeout=timeout, check=False, cwd=HERE.parent.parent,
    )  # fmt: skip


def fits_here(emulated):
    """Whether the limits are no larger than those of the GPU that is here."""
    return child(emulated, "-c", "import penstock; penstock._core.gpu_facts(0)").returncode == 0


def test_facts_of_the_gpu():
    facts, info = _core.gpu_facts(0), _core.gpu_info(0)
    assert float(facts["capability"]) >= 7.5
    assert facts["multiprocessors"] == info["multiprocessors"] > 0
    assert facts["threads"] in (1024, 1536, 2048)
    assert 48 << 10 <= facts["shared_block"] <= facts["shared"]
    assert facts["cache_bytes"] == info["cache_bytes"] > 0
    assert facts["memory_bytes_per_s"] == 0 or facts["memory_bytes_per_s"] > 1e11
    if "H200" in info["name"] and "PENSTOCK_EMULATE_GPU" not in os.environ:
        assert (facts["multiprocessors"], facts["threads"]) == (132, 2048)
        assert (facts["shared_block"], facts["cache_bytes"]) == (227 << 10, 60 << 20)
        assert 4.5e12 < facts["memory_bytes_per_s"] < 5.2e12
    with pytest.raises(_core.PlacementError, match="GPU 63 does not exist"):
        _core.gpu_facts(63)


def test_a_gpu_described_is_not_faster_than_it_is():
    """Where nothing is measured, the driver's and the PCI slot's word counts, with something taken off."""
    machine._told.cache_clear()
    told, looked = machine._told(0), machine._looked_at(0, 1)
    assert told.device_read <= 1.15 * looked.device_read
    assert told.up <= 1.3 * looked.up


def test_limits_are_obeyed():
    done = child(T4, "-c", "import json, penstock; print(json.dumps(penstock._core.gpu_facts(0)))")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["multiprocessors"], facts["threads"], facts["capability"]) == (40, 1024, "7.5")
    assert facts["shared_block"] == facts["shared"] == 64 << 10 and facts["cache_bytes"] == 4 << 20


@pytest.mark.parametrize(
    "emulated, told",
    [
        ("sms=0", "sms=0 is not between 1 and the"),
        ("sms=100000", "is not between 1 and the"),
        ("chips=3", "'chips' is none of sms, threads, shared, cache, capability, pools, managed"),
        ("sms=40,", "does not read like name=value"),
        ("shared=64KB", "is not a whole number"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(emulated, told):
    use = "import penstock as ps; ps.generate.rmat(4, device=0)"
    done = child(emulated, "-c", use)
    assert done.returncode == 1 and "ValueError: PENSTOCK_EMULATE_GPU: " in done.stderr
    assert told in done.stderr


SMALL = ["-m", "gpu_small", "tests/gpu"]
SPGEMM = [
    *["tests/gpu/test_spgemm_gpu.py", "-k"],
    "shapes or kernel or values or or_and or windows or chunks",
]
SEARCHES = ["tests/gpu/test_sssp_gpu.py", "tests/gpu/test_bfs_gpu.py", "-k", "every_shape"]
VECTORS = [
    *["tests/gpu/test_vectors_gpu.py", "tests/gpu/test_dist_factors_gpu.py", "-k"],
    "same_bits or applied",
]


@pytest.mark.parametrize(
    "emulated, what",
    [(T4, SMALL), (T4, SPGEMM), (T4, SEARCHES), (T4, VECTORS), (RTX, SPGEMM), (SLICE, SMALL)],
    ids=["t4-small", "t4-spgemm", "t4-searches", "t4-vectors", "rtx-spgemm", "slice-small"],
)
def test_kernels_on_a_smaller_gpu(emulated, what):
    if os.environ.get("PENSTOCK_EMULATE_GPU"):
        pytest.skip("a smaller GPU is emulated already")
    if not fits_here(emulated):
        pytest.skip(f"the GPU here is smaller than {emulated}")
    done = child(emulated, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *what)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
