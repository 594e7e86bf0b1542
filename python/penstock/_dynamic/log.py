"""The changes of a store since it was written: a file of batches, each of which is on the disk before it counts.

    name.penstock.changes/
      <generation>.log    the changes of the store of that generation (`_io/store.py` names it by what is in it)

A log is a head and records. A record is a batch: how many vertices the graph has, and the core's sorted changes. Its
checksum tells whether it is whole; what a process that died was writing is cut off at the next opening. The folder is
locked by the process that has the graph open.

A store and its log are replaced in this order, each step on the disk before the next: the new store as a draft, the new
log beside the old one, the new store in the place of the old one, the old log is removed. Whenever the process ends,
the store that is there has its log, and the other log is left over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import warnings
import weakref
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import MAX_COLS
from penstock._io._atomic import atomic_file, sync
from penstock._io._drafts import let_go
from penstock._io._errors import broken
from penstock._matrix.csr import csr_array

_HEAD = struct.Struct("<8s32s10s?xI")  # magic, generation, dtype, directed, checksum of these
_MAGIC = b"PSTKLOG1"
_RECORD = struct.Struct("<IIQQ")  # checksum of the rest, 0, vertices, changes
_ENDING = ".log"


class ChangesFolder:
    """The folder of a store's logs, locked. ValueError where another process, or another graph, has it open."""

    def __init__(self, store: str) -> None:
        self.path = f"{os.path.realpath(store)}.changes"
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path)
            sync(os.path.dirname(self.path))
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise broken(
                store, "is open for changes already: close the other DynamicGraph first"
            ) from None
        # Also where nobody closes the graph; a child process does not end the lock of its parent.
        self.close = weakref.finalize(self, _unlock, descriptor, os.getpid())

    def log_of(self, generation: str) -> str:
        """The path of a generation's log."""
        return os.path.join(self.path, f"{generation}{_ENDING}")

    def require_none_lost(self, generation: str) -> None:
        """ValueError where there are changes of another version of the store, and none of this one: then it was no
        compaction that has replaced the store."""
        names = [name for name in os.listdir(self.path) if name.endswith(_ENDING)]
        if f"{generation}{_ENDING}" in names:
            return
        for name in names:
            log = os.path.join(self.path, name)
            if not name.startswith(".") and os.path.getsize(log) > _HEAD.size:
                raise broken(
                    log,
                    "has changes of another version of the store, which has been replaced since: put the other version "
                    "back, or remove this file to lose them",
                )

    def remove_others(self, generation: str) -> None:
        """Removes logs of stores that are not there any more, and drafts: who wrote them had the lock, and is gone."""
        for name in os.listdir(self.path):
            draft = name.startswith(".") and name.endswith(".part")
            if draft or (name.endswith(_ENDING) and name != f"{generation}{_ENDING}"):
                os.unlink(os.path.join(self.path, name))


def _unlock(descriptor: int, owner: int) -> None:
    if os.getpid() == owner:
        let_go(descriptor)
    else:
        os.close(descriptor)


def _head(generation: str, dtype: np.dtype, directed: bool) -> bytes:
    body = _HEAD.pack(_MAGIC, generation.encode(), dtype.name.encode(), directed, 0)[:-4]
    return body + struct.pack("<I", zlib.crc32(body))


def _record(delta: Any, vertices: int) -> list[Any]:
    keys, values = delta.to_arrays()
    head = struct.pack("<IQQ", 0, vertices, keys.size)
    parts: list[Any] = [head, memoryview(keys.view(np.uint8))]
    if values is not None:
        parts.append(memoryview(values.view(np.uint8)))
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return [struct.pack("<I", crc), *parts]


class Log:
    """A log that is open; `end` is where its last whole record ends."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115 (close() comes at the end)
        self.end = self._file.seek(0, os.SEEK_END)

    @staticmethod
    def create(
        path: str, generation: str, base: csr_array, directed: bool, tail: bytes = b""
    ) -> Log:
        """A new one, with the records of `tail`; whole and on the disk, or not there."""
        with atomic_file(path) as file:
            file.write(_head(generation, base.dtype, directed))
            file.write(tail)
        return Log(path)

    def append(self, delta: Any, vertices: int) -> None:
        """Writes a batch, and returns when it is on the disk; after an error it is not in the log."""
        try:
            self._file.seek(self.end)
            written = sum(_write(self._file, part) for part in _record(delta, vertices))
            os.fdatasync(self._file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                self._file.truncate(self.end)
                os.fsync(self._file.fileno())
            raise
        self.end += written

    def tail(self, begin: int) -> bytes:
        """The records from `begin` on."""
        return self._bytes(begin, self.end - begin)

    def _bytes(self, begin: int, count: int) -> bytes:
        """As many bytes as there are, at most `count`; one call of the system reads 2 GiB at most."""
        parts, left = [], count
        while left > 0 and (part := os.pread(self._file.fileno(), left, begin + count - left)):
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def replay(self, generation: str, base: csr_array, directed: bool) -> Iterator[tuple[Any, int]]:
        """(changes, vertices) of each batch. Cuts off what comes behind the last whole one, with a warning."""
        size, at = self.end, _HEAD.size
        if os.pread(self._file.fileno(), _HEAD.size, 0) != _head(generation, base.dtype, directed):
            raise self._of_another(base, directed)
        vertices = base.shape[0]
        while (record := self._read(at, size, base, vertices)) is not None:
            delta, vertices, at = record
            yield delta, vertices
        if at < size:
            self._require_last(at, size, base, vertices)
            warnings.warn(
                f"{self.path}: the last {size - at} bytes are no whole batch and are dropped: a process ended while it "
                "wrote them",
                RuntimeWarning,
                stacklevel=4,
            )
            self._file.truncate(at)
            os.fsync(self._file.fileno())
        self.end = at

    def _require_last(self, at: int, size: int, base: csr_array, known: int) -> None:
        """ValueError where a whole batch follows the broken one at `at`: then no process was writing it."""
        head = os.pread(self._file.fileno(), _RECORD.size, at)
        if len(head) < _RECORD.size:
            return
        count = _RECORD.unpack(head)[3]
        each = 8 + (0 if base.dtype == np.bool_ else base.dtype.itemsize)
        behind = at + _RECORD.size + count * each
        if behind < size and self._read(behind, size, base, known) is not None:
            raise broken(
                self.path,
                f"has a damaged batch at byte {at}, with whole ones behind it: put back a copy of the log, or cut it "
                "there to lose these",
            )

    def _read(self, at: int, size: int, base: csr_array, known: int) -> tuple[Any, int, int] | None:
        head = os.pread(self._file.fileno(), _RECORD.size, at)
        if len(head) < _RECORD.size:
            return None
        crc, _, vertices, count = _RECORD.unpack(head)
        each = 8 + (0 if base.dtype == np.bool_ else base.dtype.itemsize)
        if count > (size - at) // each:
            return None
        body = self._bytes(at + _RECORD.size, count * each)
        if len(body) < count * each or zlib.crc32(body, zlib.crc32(head[4:])) != crc:
            return None
        if not known <= vertices <= MAX_COLS:
            raise broken(
                self.path, f"has a batch of {vertices} vertices after {known}: it is damaged"
            )
        keys = np.frombuffer(body, np.uint64, count)
        values = None if each == 8 else np.frombuffer(body, base.dtype, count, 8 * count)
        try:
            delta = _core.EdgeDelta.from_arrays(base._core, keys, values, vertices)
        except ValueError as error:
            raise broken(self.path, f"{error}: it is damaged") from error
        return delta, vertices, at + _RECORD.size + len(body)

    def _of_another(self, base: csr_array, directed: bool) -> ValueError:
        found = os.pread(self._file.fileno(), _HEAD.size, 0)
        if len(found) == _HEAD.size and found[:8] == _MAGIC and found[50:51] != bytes([directed]):
            return broken(
                self.path, f"was begun with directed={not directed}: open the store with that"
            )
        return broken(
            self.path,
            "does not begin as the log of this store does: it is damaged; remove it to lose the changes, and open the "
            "store without them",
        )

    def close(self) -> None:
        self._file.close()


def _write(file: Any, part: Any) -> int:
    view, done = memoryview(part), 0
    while done < len(view):  # a write may take less than all, 2 GiB at most
        done += file.write(view[done:])
    return done
