"""`penstock doctor` and `show_config` say why there is no CUDA, and for each GPU whether there are kernels for it."""

from __future__ import annotations

import json
import os

import pytest
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps
from penstock import _core

OFF = "CUDA was left out of this build (PENSTOCK_CUDA=OFF)"
WHEEL = "75-real;80-real;86-real;89-real;90-real;100-real;120"


@pytest.fixture
def pretend(monkeypatch, tmp_path):
    """doctor's facts with another configuration, and with GPUs that a made-up nvidia-smi lists."""

    def facts(gpus=(), **config):
        tool = tmp_path / "nvidia-smi"
        lines = "".join(f"echo '{line}'\n" for line in gpus)
        tool.write_text(f"#!/bin/sh\n{lines}" if gpus else "#!/bin/sh\nexit 9\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        real = _core.config()
        monkeypatch.setattr(_core, "config", lambda: real | config)
        monkeypatch.setattr("penstock.cli.doctor._mpi", lambda: dict.fromkeys(_MPI))
        result = CliRunner().invoke(app, ["doctor", "--json"])
        assert result.exit_code == 0, result.output
        words = CliRunner().invoke(app, ["doctor"])
        assert words.exit_code == 0
        return json.loads(result.stdout), " ".join(words.stdout.split())

    return facts


_MPI = ("flavour", "library", "plugin", "mpiexec", "name", "gpu_aware", "problem")
H200 = "NVIDIA H200, 143771 MiB, 580.95, 9.0"
A100 = "NVIDIA A100-SXM4-40GB, 40960 MiB, 580.95, 8.0"
B200 = "NVIDIA B200, 183359 MiB, 580.95, 10.0"
V100 = "Tesla V100-SXM2-16GB, 16384 MiB, 580.95, 7.0"


def test_a_build_without_cuda_says_which_reason_it_had():
    config = _core.config()
    if config["cuda"]:
        assert config["why_no_cuda"] == "" and config["cuda_kernels"] in ps.show_config()
        return
    assert config["why_no_cuda"] in ps.show_config()
    if "PENSTOCK_CUDA=OFF" in config["why_no_cuda"]:
        assert "nvcc" not in ps.show_config()


def test_doctor_says_that_cuda_was_left_out(pretend):
    d, words = pretend([H200], cuda=False, why_no_cuda=OFF)
    assert OFF in words and "nvcc" not in words
    assert any(line.startswith("1 GPU is here") and OFF in line for line in d["advice"])
    assert d["gpus"][0]["kernels"] == "none"


def test_doctor_says_that_nvcc_was_not_found(pretend):
    d, words = pretend([H200, H200], cuda=False, why_no_cuda="no nvcc was found: install it")
    assert "no nvcc was found: install it" in words
    assert any(line.startswith("2 GPUs are here") for line in d["advice"])


def test_doctor_says_for_each_gpu_how_it_gets_kernels(pretend):
    d, words = pretend(
        [H200, A100, B200, V100],
        cuda=True,
        cuda_compiler="nvcc 13.0.88",
        cuda_architectures="90",
        cuda_kernels="machine code for 9.0, PTX for 9.0",
        why_no_cuda="",
    )
    assert [g["kernels"] for g in d["gpus"]] == ["machine code", "none", "PTX", "none"]
    assert "machine code for 9.0, PTX for 9.0" in words
    assert "kernels: PTX, compiled by the driver at first use" in words
    a100 = next(line for line in d["advice"] if "GPU 1 (NVIDIA A100" in line)
    assert "pip install . -C cmake.define.CMAKE_CUDA_ARCHITECTURES=80" in a100
    v100 = next(line for line in d["advice"] if "GPU 3 (Tesla V100" in line)
    assert "before 7.5 are not supported" in v100


def test_a_wheel_has_machine_code_for_all(pretend):
    d, _ = pretend([H200, A100, B200], cuda=True, cuda_architectures=WHEEL, why_no_cuda="")
    assert {g["kernels"] for g in d["gpus"]} == {"machine code"}


def test_doctor_bears_an_nvidia_smi_that_does_not_know_capabilities(pretend, tmp_path):
    d, _ = pretend(
        ["GeForce RTX 2080, 8192 MiB, 470.1"], cuda=True, cuda_architectures="75", why_no_cuda=""
    )
    assert d["gpus"][0]["kernels"] == "unknown"


def test_doctor_warns_of_the_stranger(pretend, monkeypatch):
    monkeypatch.setattr(
        "penstock.cli.doctor._version_of", lambda name: "4.2" if name == "penstock" else None
    )
    d, _ = pretend()
    assert any("pip uninstall penstock" in line for line in d["advice"])
