"""`penstock doctor`: what is built, what this machine has, and what to install for the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json as _json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

from penstock.cli import ui

# package: (what for, what to install)
OPTIONAL = {
    "polars": ("edge lists, .gr and Parquet", "pip install polars"),
    "matplotlib": ("penstock info --plot", "pip install 'penstock-sparse[plot]'"),
    "mpi4py": ("ranks that an mpi4py program has", "pip install 'penstock-sparse[mpi]'"),
    "pytest": ("the tests", "pip install 'penstock-sparse[test]'"),
    "hypothesis": ("the tests", "pip install 'penstock-sparse[test]'"),
}


def _version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version(package: str) -> str | None:
    if importlib.util.find_spec(package) is None:
        return None
    return _version_of(package) or "unknown version"


def _packages() -> list[dict[str, Any]]:
    return [
        {"name": name, "version": _version(name), "for": use, "install": install}
        for name, (use, install) in OPTIONAL.items()
    ]


def _ask(tool: str, fields: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tool, f"--query-gpu={fields}", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )


def _nvidia_smi() -> tuple[list[dict[str, str]], str | None]:
    """The GPUs that the driver sees, and why none where it sees none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return [], "no nvidia-smi: no NVIDIA driver is installed"
    fields = "name,memory.total,driver_version,compute_cap"
    try:
        ran = _ask(tool, fields)
        if ran.returncode and "compute_cap" in ran.stdout + ran.stderr:  # a driver of before 2021
            ran = _ask(tool, fields := fields.removesuffix(",compute_cap"))
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"nvidia-smi does not answer: {error}"
    if ran.returncode:
        return [], "nvidia-smi: " + " ".join((ran.stdout + ran.stderr).split())
    rows = [
        dict(zip(fields.split(","), map(str.strip, line.split(",")), strict=False))
        for line in ran.stdout.splitlines()
    ]
    return rows, None if rows else "nvidia-smi lists no GPU"


def _kernels(gpu: dict[str, str], number: int, config: dict[str, Any]) -> dict[str, str]:
    """How this build's kernels run on a GPU: "machine code", "PTX" or "none", and the remedy where it is none."""
    from penstock import _core

    found = re.fullmatch(r"(\d+)\.(\d+)", gpu.get("compute_cap", ""))
    if not config["cuda"]:
        return {"kernels": "none", "remedy": config["why_no_cuda"]}
    if not found:  # an nvidia-smi that does not know the question
        return {"kernels": "unknown", "remedy": ""}
    capability, built = (int(found[1]), int(found[2])), config["cuda_architectures"]
    kernels = _core.gpu_code(*capability, built)
    name = f"GPU {number} ({gpu['name']})"
    remedy = "" if kernels != "none" else _core.no_kernels_for(name, *capability, built)
    return {"kernels": kernels, "remedy": remedy}


_KERNELS = {
    "machine code": "kernels: machine code",
    "PTX": "kernels: PTX, compiled by the driver at first use",
    "none": "kernels: none",
    "unknown": "kernels: unknown",
}


def _gpu_line(gpu: dict[str, str]) -> str:
    words = [gpu["name"], gpu["memory.total"], f"driver {gpu['driver_version']}"]
    if gpu.get("compute_cap"):
        words.append(f"compute capability {gpu['compute_cap']}")
    return ", ".join([*words, _KERNELS[gpu["kernels"]]])


# What one process under the MPI at hand says, as JSON on its last line.
_ASK_MPI = """
import json
from penstock import _core
from penstock.dist import _mpi
_mpi.load()
_core.mpi_start()
print(json.dumps({"name": _core.mpi_name(), "gpu_aware": _core.mpi_gpu_aware()}), flush=True)
_core.mpi_finish()
"""


def _mpi() -> dict[str, Any]:
    """The MPI that ranks would use, and what it says of itself: asked in a job of its own, because a broken MPI ends
    the process that asks."""
    from penstock.dist import CommError, _launch, _mpi_find

    facts: dict[str, Any] = dict.fromkeys(
        ("flavour", "library", "plugin", "mpiexec", "name", "gpu_aware", "problem")
    )
    try:
        mpi = _mpi_find.find()
        words, more = _launch.command(mpi, 1, None)
        facts |= {"flavour": mpi.flavour, "library": str(mpi.libmpi), "mpiexec": words[0]}
        facts["plugin"] = str(_mpi_find.plugin(mpi))
        ran = subprocess.run(
            [*words, sys.executable, "-c", _ASK_MPI],
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        if ran.returncode:
            facts["problem"] = f"{words[0]}: " + " ".join((ran.stdout + ran.stderr).split())[-300:]
        else:
            facts |= _json.loads(ran.stdout.splitlines()[-1])
    except (CommError, OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        facts["problem"] = " ".join(str(error).split())
    return facts


def _mpi_lines(mpi: dict[str, Any]) -> dict[str, str]:
    names = {"name": "MPI", "library": "library", "plugin": "plugin", "mpiexec": "launcher"}
    lines = {word: str(mpi[key]) for key, word in names.items() if mpi[key]}
    if mpi["gpu_aware"] is not None:
        lines["GPU memory"] = (
            "messages may lie there"
            if mpi["gpu_aware"]
            else "messages are copied to the host first"
        )
    if mpi["problem"]:
        lines["problem"] = mpi["problem"]
    return lines


def _advice(
    config: dict[str, Any], gpus: list[Any], usable: int, packages: list[dict[str, Any]]
) -> list[str]:
    from penstock import _core

    advice = []
    if gpus and not config["cuda"]:
        number = "1 GPU is" if len(gpus) == 1 else f"{len(gpus)} GPUs are"
        advice.append(f"{number} here, but {config['why_no_cuda']}")
    elif gpus and not usable and any(g["kernels"] != "none" for g in gpus):
        advice.append(_core.why_no_gpu())
    advice += [g["remedy"] for g in gpus if config["cuda"] and g["remedy"]]
    if _version_of("penstock") is not None:
        advice.append(
            "the package `penstock` of PyPI, which is another project, is installed over this one: pip uninstall "
            "penstock, then pip install --force-reinstall --no-deps penstock-sparse"
        )
    return advice + [
        f"{p['name']} is missing, for {p['for']}: {p['install']}"
        for p in packages
        if p["version"] is None
    ]


def doctor(json: ui.Json = False) -> None:
    """Say what is built in, what this machine has and how fast it is, and what to install for what
    is missing.

    Exit code 0 even where something optional is missing.
    """
    import penstock as ps
    from penstock import _core

    with ui.progress(1, quiet=json) as step:
        step.next("measuring memory bandwidth")
        machine = ps.machine()
    config, packages = _core.config(), _packages()
    gpus, why = _nvidia_smi()
    for number, gpu in enumerate(gpus):
        gpu |= _kernels(gpu, number, config)
    mpi = _mpi()
    advice = _advice(config, gpus, machine["gpus"], packages)
    if json:
        d = {
            "config": config,
            "machine": machine,
            "threads": ps.num_threads(),
            "gpus": gpus,
            "mpi": mpi,
        }
        ui.emit_json({**d, "gpu_note": why, "packages": packages, "advice": advice})
        return
    out = ui.console()
    out.print(ui.facts(dict(line.split(maxsplit=1) for line in ps.show_config().splitlines())))
    ui.heading(out, "measured")
    rates = {
        "reading memory": f"{machine['host_read'] / 1e9:.1f} GB/s",
        "copying memory": f"{machine['host_copy'] / 1e9:.1f} GB/s",
        "reading cache": f"{machine['cache_read'] / 1e9:.1f} GB/s "
        f"(last level, {ui.size(machine['cache_bytes'])})",
    }
    out.print(ui.facts(rates))
    ui.heading(out, "GPUs")
    lines = {f"{n}": _gpu_line(g) for n, g in enumerate(gpus)}
    out.print(ui.facts(lines) if lines else f"none ({why})", soft_wrap=True)
    ui.heading(out, "several ranks")
    out.print(ui.facts(_mpi_lines(mpi)))
    ui.heading(out, "optional packages")
    out.print(ui.facts({p["name"]: p["version"] or "missing" for p in packages}))
    if advice:
        ui.heading(out, "to do")
        for line in advice:
            out.print(f"- {line}", soft_wrap=True)
