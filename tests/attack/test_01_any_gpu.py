"""Kernels for the GPU that is there: what is compiled where, and what the owner of another GPU is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from penstock._plan.explain import explain

import penstock as ps
from penstock import _core

ROOT = Path(__file__).resolve().parents[2]
NVCC_13 = "75;80;86;87;88;89;90;100;110;103;120;121"
CMAKE = shutil.which("cmake")
WHEEL = "75-real;80-real;86-real;89-real;90-real;100-real;120"

needs_cmake = pytest.mark.skipif(CMAKE is None, reason="cmake is not on the PATH")


def chosen(tmp_path, wish="AUTO", known=NVCC_13, gpus=""):
    """What the build would compile for, or the error."""
    script = tmp_path / "choose.cmake"
    script.write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        f'include("{ROOT}/cmake/PenstockArchitectures.cmake")\n'
        f'penstock_choose_architectures(list "{wish}" "{known}" "{gpus}")\n'
        'message(STATUS "list=${list}")\n'
    )
    ran = subprocess.run([CMAKE, "-P", str(script)], capture_output=True, text=True, check=False)
    text = " ".join((ran.stdout + ran.stderr).split())
    found = re.search(r"-- list=(\S*)", text)
    return (found[1] if found else None), text


CHOICES = [
    ("AUTO", "", "75;90"),  # a login node
    ("AUTO", "9.0", "90"),
    ("AUTO", "8.0", "80"),
    ("AUTO", "8.9", "89"),
    ("AUTO", "9.0;8.6;9.0", "86-real;90"),
    ("AUTO", "10.0;8.0", "80-real;100"),
    ("AUTO", "13.0", "121"),  # newer than this nvcc: PTX of the newest that it knows
    ("AUTO", "7.0", "75;90"),  # older: not used, said in a warning
    ("WHEEL", "9.0", WHEEL),
    ("80;90", "8.6", "80;90"),
]


@needs_cmake
@pytest.mark.parametrize(("wish", "gpus", "expected"), CHOICES)
def test_the_build_takes_the_gpus_of_the_machine(tmp_path, wish, gpus, expected):
    found, text = chosen(tmp_path, wish, gpus=gpus)
    assert found == expected, text
    assert ("will not be used" in text) == (gpus == "7.0")


@needs_cmake
def test_an_nvcc_that_does_not_know_the_wheels_list_is_refused(tmp_path):
    found, text = chosen(tmp_path, "WHEEL", known="75;80;86;89;90")
    assert found is None
    assert "cannot compile for 100, 120" in text and "CMAKE_CUDA_ARCHITECTURES" in text


@needs_cmake
def test_the_machines_gpus_are_asked_of_the_driver(tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\nprintf '8.0\\n9.0\\n8.0\\n'\n")
    tool.chmod(0o755)
    script = tmp_path / "ask.cmake"
    script.write_text(
        f'cmake_minimum_required(VERSION 3.25)\ninclude("{ROOT}/cmake/PenstockArchitectures.cmake")\n'
        'penstock_gpus_here(list)\nmessage(STATUS "list=${list}")\n'
    )
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(
        [CMAKE, "-P", str(script)],
        env=os.environ | path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "list=8.0;9.0" in ran.stdout + ran.stderr


def test_every_listed_gpu_runs_what_a_wheel_has():
    for gpu in ["7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1"]:
        major, minor = map(int, gpu.split("."))
        assert _core.gpu_code(major, minor, WHEEL) == "machine code", gpu
        assert _core.gpu_code(major, minor, "75;90") != "none", gpu
    assert _core.gpu_code(13, 0, WHEEL) == "PTX"
    assert _core.gpu_code(8, 0, "90") == "none"  # what an A100 had of the old default
    assert _core.gpu_code(10, 0, "90") == "PTX"
    assert _core.gpu_code(7, 0, WHEEL) == "none"


def test_the_sentence_says_how_to_rebuild():
    text = _core.no_kernels_for("GPU 0 (NVIDIA A100)", 8, 0, "90")
    for word in (
        "GPU 0 (NVIDIA A100)",
        "compute capability 8.0",
        "machine code for 9.0, PTX for 9.0",
        "pip install . -C cmake.define.CMAKE_CUDA_ARCHITECTURES=80",
    ):
        assert word in text
    assert text.count("\n") == 0


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not on the PATH")
@pytest.mark.parametrize("ci, gpu, wanted", [
    ("true", False, "75"), ("true", True, "AUTO"), ("", False, "AUTO"), ("", True, "AUTO")])  # fmt: skip
def test_one_architecture_where_no_kernel_will_run(tmp_path, ci, gpu, wanted):
    """What `make` hands to CMake; a driver is a program called nvidia-smi on the PATH."""
    for name in ("bash", "find", "grep", "nproc", "python3", *(["true"] if gpu else [])):
        (tmp_path / ("nvidia-smi" if name == "true" else name)).symlink_to(shutil.which(name))
    asked = subprocess.run(
        [shutil.which("make"), "--eval", "told: ; @: $(info $(ARCHITECTURES))", "told"],
        env={"PATH": str(tmp_path), "CI": ci}, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert asked.stdout.split() == [wanted]


def test_show_config_lists_the_architectures():
    config = _core.config()
    if not config["cuda"]:
        pytest.skip("this build has no CUDA")
    assert config["cuda_kernels"] in ps.show_config()
    for code in re.findall(r"\d+", config["cuda_architectures"]):
        assert f"{int(code) // 10}.{int(code) % 10}" in config["cuda_kernels"]


def test_explain_says_that_a_gpu_is_left_idle(monkeypatch):
    sentence = _core.no_kernels_for("GPU 0 (NVIDIA A100)", 8, 0, "90")
    seen = [{"name": "NVIDIA A100", "capability": "8.0", "code": "none", "why": sentence}]
    monkeypatch.setattr(_core, "gpus_seen", lambda: seen)
    monkeypatch.setattr(_core, "device_count", lambda: 0)
    monkeypatch.setattr(_core, "why_no_gpu", lambda gpu=0: sentence)
    A = ps.csr_array(np.eye(3))
    assert sentence in A.explain().reason
    assert sentence in explain(A, 8, 1, None).reason
    with pytest.raises(ps.PlacementError, match="CMAKE_CUDA_ARCHITECTURES=80"):
        A.dot(np.ones(3), schedule=ps.InCore(device=0))
    with pytest.raises(ps.PlacementError, match="CMAKE_CUDA_ARCHITECTURES=80"):
        ps.InCore(device=0)._lower()


def test_gpus_that_are_seen_are_described():
    for gpu in _core.gpus_seen():
        assert re.fullmatch(r"\d+\.\d+", gpu["capability"])
        assert gpu["code"] in ("machine code", "PTX", "none")
        assert bool(gpu["why"]) == (gpu["code"] == "none")
    usable = [gpu["code"] != "none" for gpu in _core.gpus_seen()]
    assert _core.device_count() == (usable.index(False) if False in usable else len(usable))


def test_the_readers_are_told_which_gpus_and_drivers():
    for name in ("README.md", "docs/install.md"):
        text = (ROOT / name).read_text()
        assert "7.5" in text and "580" in text, name
