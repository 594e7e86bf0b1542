"""Reading and writing matrices for the commands, with the checks that come before long work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from penstock.cli.ui import InputError, human_bytes


def read_matrix(path: Path, **how: Any) -> Any:
    """A csr_array from a file of any format, or mapped from a folder of the native store."""
    import penstock as ps
    from penstock._io.formats import is_there
    from penstock._io.store import is_store

    if not is_there(path) and not is_store(path):  # which puts one back
        raise InputError(f"{path}: no such file or folder")
    folder = path.is_dir() and path.suffix.lower() != ".zarr"
    return ps.open(path) if folder and not how else ps.load(path, **how)


def read_any_numbers(path: Path) -> tuple[Any, tuple[int, int]]:
    """The same, and the shape; of a text file with numbers beyond 32 bits what has entries, numbered anew."""
    from penstock._io._errors import LargeNumber

    try:
        a = read_matrix(path)
    except LargeNumber:
        from penstock.dist._wide.alone import renumbered

        found = renumbered(path) if path.is_file() else None
        if found is None:
            raise
        return found
    return a, a.shape


def check_output(path: Path, force: bool) -> None:
    from penstock._io._pipes import stays
    from penstock._io.formats import is_there

    if stays(path):
        return
    if is_there(path) and not force:
        raise InputError(f"{path} exists: choose another name, or --force to replace it")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise InputError(f"{parent}: no such folder to write {path.name} to")


def is_stdout(path: Path) -> bool:
    """Whether what is written there goes where the standard output goes."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def bytes_on_disk(path: Path) -> int | None:
    """None for what is no file: a pipe, a device, an open descriptor."""
    from penstock._io._pipes import stays

    if stays(path):
        return None
    if not path.exists():  # a format of several files
        return sum(p.stat().st_size for p in path.parent.glob(f"{path.name}.*"))
    if path.is_dir():
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path.stat().st_size


def require_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"{folder} has {human_bytes(free)} free, {human_bytes(needed)} are needed: "
            "set TMPDIR to another folder"
        )


def summary(a: Any, name: str) -> dict[str, Any]:
    """What every command says of a matrix."""
    rows, cols = a.shape
    kind = "pattern" if a.dtype == bool else str(a.dtype)
    return {
        "name": name,
        "rows": rows,
        "cols": cols,
        "nnz": a.nnz,
        "dtype": kind,
        "bytes": a.nbytes,
    }


def describe(s: dict[str, Any]) -> str:
    """summary() in words."""
    shape = f"{s['rows']:,} x {s['cols']:,}, {s['nnz']:,} nonzeros"
    return f"{shape}, {s['dtype']}, {human_bytes(s['bytes'])}"
