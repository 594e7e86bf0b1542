"""`penstock doctor`: what is built, what this machine has, and what to install for the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json as _json
import os
import shutil
import subprocess
import sys
from typing import Any

from penstock.cli import ui

# package: (what for, what to install)
OPTIONAL = {
    "polars": ("edge lists, .gr and Parquet", "pip install polars"),
    "matplotlib": ("penstock info --plot", "pip install 'penstock[plot]'"),
    "mpi4py": ("ranks that an mpi4py program has", "pip install 'penstock[mpi]'"),
    "pytest": ("the tests", "pip install 'penstock[test]'"),
    "hypothesis": ("the tests", "pip install 'penstock[test]'"),
}


def _version(package: str) -> str | None:
    if importlib.util.find_spec(package) is None:
        return None
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown version"


def _packages() -> list[dict[str, Any]]:
    return [
        {"name": name, "version": _version(name), "for": use, "install": install}
        for name, (use, install) in OPTIONAL.items()
    ]


def _nvidia_smi() -> tuple[list[dict[str, str]], str | None]:
    """The GPUs that the driver sees, and why none where it sees none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return [], "no nvidia-smi: no NVIDIA driver is installed"
    fields = "name,memory.total,driver_version"
    try:
        ran = subprocess.run(
            [tool, f"--query-gpu={fields}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"nvidia-smi does not answer: {error}"
    if ran.returncode:
        return [], "nvidia-smi: " + " ".join((ran.stdout + ran.stderr).split())
    rows = [
        dict(zip(fields.split(","), line.split(", "), strict=False))
        for line in ran.stdout.splitlines()
    ]
    return rows, None if rows else "nvidia-smi lists no GPU"


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
    advice = []
    if gpus and not config["cuda"]:
        advice.append(
            f"{len(gpus)} GPUs are here, but CUDA is not built in: "
            "pip install '.[cuda]' in the sources"
        )
    elif gpus and not usable:
        advice.append("the driver sees GPUs that the CUDA runtime cannot use: update the driver")
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
    out.print("\n[bold]measured[/]")
    rates = {
        "reading memory": f"{machine['host_read'] / 1e9:.1f} GB/s",
        "copying memory": f"{machine['host_copy'] / 1e9:.1f} GB/s",
        "reading cache": f"{machine['cache_read'] / 1e9:.1f} GB/s "
        f"(last level, {ui.size(machine['cache_bytes'])})",
    }
    out.print(ui.facts(rates))
    out.print("\n[bold]GPUs[/]")
    lines = {
        f"{n}": f"{g['name']}, {g['memory.total']}, driver {g['driver_version']}"
        for n, g in enumerate(gpus)
    }
    out.print(ui.facts(lines) if lines else f"none ({why})", soft_wrap=True, markup=bool(lines))
    out.print("\n[bold]several ranks[/]")
    out.print(ui.facts(_mpi_lines(mpi)))
    out.print("\n[bold]optional packages[/]")
    out.print(ui.facts({p["name"]: p["version"] or "missing" for p in packages}))
    if advice:
        out.print("\n[bold]to install[/]")
        for line in advice:
            out.print(f"- {line}", soft_wrap=True, markup=False)
