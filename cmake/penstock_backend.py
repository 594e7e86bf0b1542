"""scikit-build-core, which says on the terminal how far the compilation is.

pip keeps what a build prints to itself, so a user would look at a still line for minutes. The lines that ninja begins
with [files done/files] go on to pip; each tenth of them is also told to the terminal, where there is one.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

from scikit_build_core import build as backend
from scikit_build_core.build import *  # noqa: F403  (the hooks that are not given here)

_STEP = re.compile(rb"^\[(\d+)/(\d+)\]")


def tenths(lines: Any) -> Iterator[tuple[int, int]]:
    """(files done, files) of the lines in which a further tenth is done. A build with few files is not worth a word.

    >>> list(tenths([b"-- Configuring", *(b"[%d/40] Building" % n for n in range(1, 41))]))[:3]
    [(4, 40), (8, 40), (12, 40)]
    >>> list(tenths([b"[1/2] Linking"]))
    []
    """
    told = 0
    for line in lines:
        if found := _STEP.match(line):
            done, of = int(found[1]), int(found[2])
            if of >= 20 and done * 10 // of > told:
                told = done * 10 // of
                yield done, of


@contextlib.contextmanager
def progress() -> Iterator[None]:
    """What is written to standard output meanwhile reaches it, and is read for progress."""
    with contextlib.ExitStack() as stack:
        try:
            terminal = stack.enter_context(open("/dev/tty", "w"))
        except OSError:  # nobody looks
            yield
            return
        if os.isatty(1):  # all of it is seen already
            yield
            return
        before, (read, write) = os.dup(1), os.pipe()
        os.dup2(write, 1)
        os.close(write)
        with open(read, "rb") as pipe, open(before, "wb", buffering=0) as original:
            reader = threading.Thread(target=_tell, args=(pipe, original, terminal))
            reader.start()
            try:
                yield
            finally:
                os.dup2(original.fileno(), 1)  # closes the pipe's last writer: the reader ends
                reader.join()


def _tell(pipe: BinaryIO, original: Any, terminal: Any) -> None:
    def passed() -> Iterator[bytes]:
        for line in pipe:
            with contextlib.suppress(OSError):  # the pipe is emptied all the same: ninja would wait
                original.write(line)
            yield line

    for done, of in tenths(passed()):
        with contextlib.suppress(OSError):
            terminal.write(f"  penstock: {done} of {of} files compiled\n")
            terminal.flush()


def build_wheel(*arguments: Any, **named: Any) -> str:
    with progress():
        return backend.build_wheel(*arguments, **named)


def build_editable(*arguments: Any, **named: Any) -> str:
    with progress():
        return backend.build_editable(*arguments, **named)
