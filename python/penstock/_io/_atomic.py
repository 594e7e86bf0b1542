"""Files and folders that appear whole or not at all: written under a temporary name beside the target, then renamed."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import Any, BinaryIO

from penstock._io._errors import broken


def _beside(path: str, ending: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{secrets.token_hex(4)}.{ending}")


def _target(path: Any) -> str:
    """The real path, so that a link stays a link; refuses a folder that is not there."""
    real = os.path.realpath(os.fspath(path))
    if not os.path.isdir(os.path.dirname(real)):
        raise FileNotFoundError(
            f"{path}: the folder {os.path.dirname(real)!r} does not exist: create it first"
        )
    return real


def sync(path: str) -> None:
    """Makes the names in a folder, or the bytes of a file, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_file(path: Any) -> Iterator[BinaryIO]:
    """A binary file to write; gzip where the path ends in `.gz`. What was there stays until the end of the block."""
    real = _target(path)
    if os.path.isdir(real):
        raise broken(path, "is a folder: choose the name of a file")
    part = _beside(real, "part")
    try:
        with open(part, "xb") as file:
            if real.endswith(".gz"):
                with gzip.GzipFile("", "wb", compresslevel=4, fileobj=file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    sync(os.path.dirname(real))


@contextlib.contextmanager
def atomic_folder(path: Any) -> Iterator[str]:
    """A folder to fill, which then takes the place of `path`. An older one stays whole until the new one is: it is
    renamed away, the new one renamed in, and only then removed."""
    real = _target(path)
    part = _beside(real, "part")
    try:
        os.mkdir(part)
        yield part
        sync(part)
        if os.path.isdir(real):
            old = _beside(real, "old")
            os.rename(real, old)
            try:
                os.rename(part, real)
            except BaseException:
                os.rename(old, real)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(part, real)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    sync(os.path.dirname(real))
