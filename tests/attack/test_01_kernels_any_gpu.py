"""Kernels and planners for any GPU: no chip's number among the sources, and code for the oldest and the newest one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from penstock._plan import machine, model

from penstock import _core

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "src" / "penstock"
# The one file that may ask for which architecture it is compiled, and the one folder that asks the driver.
GUARDED = "kernel/architecture_gpu.cuh"
pytestmark = pytest.mark.skipif(not SOURCES.is_dir(), reason="needs the sources")


def code_of(path):
    """The lines of a file without comments and strings, with their numbers."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        yield number, re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0]


def found(pattern, *suffixes, but=()):
    faults = []
    for path in sorted(SOURCES.rglob("*")):
        name = str(path.relative_to(SOURCES))
        if path.suffix not in suffixes or name in but or any(name.startswith(b) for b in but):
            continue
        faults += [
            f"{name}:{number}: {line.strip()}"
            for number, line in code_of(path)
            if re.search(pattern, line)
        ]
    return faults


@pytest.mark.parametrize(
    "what, pattern, but",
    [
        ("132 multiprocessors", r"\b132\b", ()),
        ("8448 blocks: 64 of each of them", r"\b8448\b|540'000", ()),
        ("instructions of 8.0 and later", r"__reduce_\w+_sync|__nanosleep|__pipeline|cp\.async", (GUARDED,)),
        ("instructions of 9.0 and later", r"cudaGridDependency|griddepcontrol|__cluster|this_cluster", (GUARDED,)),
        ("questions for the architecture", r"__CUDA_ARCH|NV_(?:IF|DISPATCH|PROVIDES|IS_)", (GUARDED,)),
        ("questions for the device beside its facts", r"cudaDevAttr|cudaGetDeviceProperties", ("core/",)),
        ("grids that wait, launched by hand", r"cudaLaunchCooperativeKernel", ()),
        ("a share of the second-level cache set aside", r"accessPolicyWindow|PersistingL2", ()),
    ],
)  # fmt: skip
def test_no_number_of_one_chip_comes_back(what, pattern, but):
    assert not found(pattern, ".cu", ".cuh", ".cpp", ".hpp", but=but), what


def test_what_waits_for_all_blocks_is_launched_with_as_many_as_reside():
    """A kernel that meets at barriers of its grid is launched by launch_meeting() and by nothing else."""
    kernels = 0
    for path in sorted(SOURCES.rglob("*.cu")):
        text = "\n".join(line for _, line in code_of(path))
        if "this_grid()" not in text:
            continue
        for name in re.findall(r"__global__[^;{]*?\b(\w+)\(ListView", text):
            kernels += 1
            calls = re.findall(rf"\b(launch\w*)\([^;]*?\b{name}<", text)
            assert calls == ["launch_meeting"], (path.name, name, calls)
    assert kernels == 2


def test_what_is_launched_early_waits_by_itself():
    """Kernels that may begin before the one before them ends call follow() first."""
    for path in sorted(SOURCES.rglob("*.cu")):
        text = "\n".join(line for _, line in code_of(path))
        for name in set(re.findall(r"launch_following\(\s*(\w+)<", text)):
            sources = text + "".join(p.read_text() for p in SOURCES.rglob("*_gpu.cuh"))
            body = re.search(rf"\b{name}\((?:[^;{{]*)\) \{{(.*?)follow\(\);", sources, re.S)
            assert body, f"{path.name}: {name} does not call follow()"
            # Before it no memory is touched: declarations alone.
            assert not re.search(r"\w\[[^\]]*\] *=|->|a\.indptr\[", body[1]), (name, body[1])


def test_no_planner_assumes_one_chip():
    text = "".join(Path(module.__file__).read_text() for module in (machine, model))
    code = "\n".join(line.split("#")[0] for line in text.splitlines())
    assert not re.search(r"4\.42e12|4\.8e12|\b132\b|60 << 20", code)
    nothing = machine.Gpu()
    assert nothing.device_read <= 320e9 and nothing.up <= 16e9 and nothing.cache <= 6 << 20


def test_what_stays_of_tiles_on_gpus_is_priced_by_the_probe(monkeypatch):
    from penstock.dist import _tile_choice, networks

    gpu = {
        "cache_bytes": 4 << 20,
        "device_copy": 0.25e12,
        "h2d": {"bytes_per_s": 12e9},
        "peer": None,
    }
    probed = {"gpus": [gpu, gpu], "one_sided": None, "measured_at": "a day"}
    monkeypatch.setattr(_tile_choice.probe, "measured", lambda: probed)
    small = _tile_choice._of_gpus()
    assert (small.inside.bytes_per_s, small.rank_read) == (
        6e9,
        0.25e12,
    )  # no direct way: over both links
    assert small.rank_flops < networks["h200"].rank_flops
    gpu["peer"] = {"gpu": 1, "copy": 40e9, "load": None}
    assert _tile_choice._of_gpus().inside.bytes_per_s == 40e9
    probed["one_sided"] = {"gets": [[8, 12e-6], [64 << 20, 2e-3]]}
    measured = _tile_choice._of_gpus()
    assert measured.inside.latency_s == 6e-6 and 33e9 < measured.inside.bytes_per_s < 34e9
    monkeypatch.setattr(_tile_choice.probe, "measured", lambda: None)
    assert (
        _tile_choice._of_gpus() is networks["h200"]
    )  # nothing known: somebody's figures, by their name


@pytest.mark.skipif(not hasattr(_core, "gpu_facts"), reason="an older build")
def test_facts_of_a_gpu_that_is_not_there():
    with pytest.raises((_core.NotCompiledError, _core.PlacementError)):
        _core.gpu_facts(63)
    with pytest.raises(ValueError, match="the CPU is not a GPU"):
        _core.gpu_facts(-1)


def nvcc():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return os.environ.get("NVCC") or shutil.which("nvcc") or shutil.which(f"{home}/bin/nvcc")


@pytest.mark.skipif(not nvcc(), reason="needs nvcc")
def test_kernels_compile_for_the_oldest_and_the_newest():
    """A file that holds what differs; `ci/all_architectures.sh` compiles all of them for all."""
    done = subprocess.run(
        [str(ROOT / "ci" / "all_architectures.sh"), "75", "120"],
        env=os.environ | {"FILES": "src/penstock/graph/gpu/compact_gpu.cu", "NVCC": nvcc()},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kernels: all compile for 75 120" in done.stdout
