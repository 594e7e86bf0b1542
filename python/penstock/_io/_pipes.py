"""FIFOs, devices and open descriptors in the place of files: they are written to as they are, and copied to be read."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from penstock._io._errors import LargeNumber, broken

_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/dev/fd/(\d+)|/proc/(?:self|(\d+))/fd/(\d+)")


def own_descriptor(path: Any) -> int | None:
    """The descriptor of this process that a path names, as /dev/stdout does; None for any other path."""
    text = os.path.normpath(os.fsdecode(path))
    if text in _STREAMS:
        return _STREAMS[text]
    found = _NUMBERED.fullmatch(text)
    if found is None or found[2] not in (None, str(os.getpid())):
        return None
    return int(found[1] or found[3])


def stays(path: Any) -> bool:
    """Whether what is there is written to, and not replaced: an open descriptor, a FIFO or a character device."""
    if own_descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def duplicate(path: Any, number: int) -> int:
    """A copy of a descriptor of this process, to write where it stands: behind what Python's streams hold back."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or none
            stream.flush()
    try:
        return os.dup(number)
    except OSError as error:
        raise broken(path, "is not open: give the name of a file") from error


def is_pipe(path: Any) -> bool:
    """Whether bytes can be read from it once, one after the other."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def copied(path: Any, suffix: str) -> Iterator[str]:
    """The name of a temporary file with all that comes through a pipe; errors name the pipe."""
    with tempfile.NamedTemporaryFile(prefix="penstock-", suffix=suffix) as copy:
        with open(path, "rb") as pipe:
            shutil.copyfileobj(pipe, copy, 1 << 20)
        copy.flush()
        try:
            yield copy.name
        except ValueError as error:
            made = LargeNumber if isinstance(error, LargeNumber) else ValueError
            raise made(str(error).replace(copy.name, os.fsdecode(path))) from error
