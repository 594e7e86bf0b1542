"""A folder that is open: what is read of it is of one version, also while another takes its place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

from penstock._io._errors import broken

Found = TypeVar("Found")
TRIES = 100
MISSES = 5  # as many writers without an exchange may have moved it away just now


class Folder:
    """Files are looked up in the folder that was at `path` when it was opened, wherever that is now."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seen: dict[str, bytes] = {}
        # O_PATH: a folder that may be entered but not listed will do
        self._descriptor = os.open(
            path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
        )

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: Any) -> None:
        os.close(self._descriptor)

    def read(self, name: str, most: int) -> bytes:
        """The first bytes of a file, which is_as_read() compares again."""
        with self.open(name) as file:
            self._seen[name] = text = file.read(most)
        return text

    def is_as_read(self) -> bool:
        """Whether what was read is still there, or gone with the folder: nobody writes into it."""
        for name, text in self._seen.items():
            try:
                with self.open(name) as file:
                    if file.read(len(text)) != text:
                        return False
            except FileNotFoundError:
                return not self.is_current()
        return True

    def file(self, name: str) -> str:
        """The name that messages have."""
        return os.path.join(self.path, name)

    def has(self, name: str) -> bool:
        """Whether it is a file here."""
        try:
            return stat.S_ISREG(os.stat(name, dir_fd=self._descriptor).st_mode)
        except OSError:
            return False

    def open(self, name: str) -> BinaryIO:
        """To read; OSError with the whole name."""

        def opener(path: str, flags: int) -> int:
            try:
                return os.open(name, flags, dir_fd=self._descriptor)
            except OSError as error:
                error.filename = path
                raise

        return open(self.file(name), "rb", opener=opener)

    def is_current(self) -> bool:
        """Whether the path still leads here."""
        try:
            there = os.stat(self.path)
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))


def snapshot(path: str, look: Callable[[Folder], Found], recover: Callable[[], None]) -> Found:
    """What look() finds in a folder. What it finds wrong while the folder is replaced, it looks for again, and after
    recover() where there is none."""
    missed = 0
    for left in reversed(range(TRIES)):
        try:
            at = Folder(path)
        except FileNotFoundError:
            recover()
            missed += 1
            if missed < MISSES or (left and os.path.lexists(path)):
                continue
            raise
        with at:
            try:
                found = look(at)
            except (ValueError, OSError):
                if left and not at.is_current():
                    continue
                raise
            if at.is_as_read():
                return found
    raise broken(path, "is written to by another process: try again when it is whole")
