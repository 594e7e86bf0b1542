"""The changes of a store since it was written: a file of batches, each of which is on the disk before it counts.

    name.penstock.changes/
      <generation>.log        the changes of the store of that generation (`_io/store.py` names it by what is in it)
      <generation>.log.cut    what was cut off its end; nothing reads it

A log is a head and records. A record is a batch: how many vertices the graph has, and the core's sorted changes. Its
head and its changes have a checksum each. What a process that died was writing is cut off at the next opening: a record
that is not whole, and behind which no other one begins. The folder is locked by the process that has the graph open.

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
_MAGIC = b"PSTKLOG2"
_RECORD = struct.Struct(
    "<IIQQ"
)  # checksum of the next three; of the changes; vertices, number of changes
_WORD = 4  # bytes: heads and records are multiples of it
_ENDING, _CUT = ".log", ".cut"


class ChangesFolder:
    """The folder of a store's logs, locked. ValueError where another process, or another graph, has it open."""

    def __init__(self, store: str) -> None:
        self.path = f"{os.path.realpath(store)}.changes"
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise broken(
                store, "is open for changes already: close the other DynamicGraph first"
            ) from None
        # Also where nobody closes the graph; a child process does not end the lock of its parent. At the process's end
        # the system ends the lock, when no thread compacts any more.
        self.close = weakref.finalize(self, _unlock, descriptor, os.getpid())
        self.close.atexit = False
        try:  # also what another process has made, and was killed
            sync(os.path.dirname(self.path))
            self.sync()
        except BaseException:
            self.close()
            raise

    def sync(self) -> None:
        """Makes the names of the logs survive a power cut."""
        sync(self.path)

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
    parts = [memoryview(a.view(np.uint8)) for a in (keys, values) if a is not None]
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    rest = _RECORD.pack(0, crc, vertices, keys.size)[_WORD:]
    return [struct.pack("<I", zlib.crc32(rest)) + rest, *parts]


def _bytes_of_change(base: csr_array) -> int:
    return 8 + (0 if base.dtype == np.bool_ else base.dtype.itemsize)


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
            if (
                self._file.seek(0, os.SEEK_END) != self.end
            ):  # after an error, what could not be cut off
                self._file.truncate(self.end)
                self._file.seek(self.end)
            written = sum(_write(self._file, part) for part in _record(delta, vertices))
            os.fdatasync(self._file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                self._file.truncate(self.end)
                os.fsync(self._file.fileno())
            raise
        self.end += written

    def is_at(self, path: str) -> bool:
        """Whether it is the file that is at a path."""
        return os.path.samestat(os.fstat(self._file.fileno()), os.stat(path))

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
        vertices, each = base.shape[0], _bytes_of_change(base)
        while (record := self._read(at, size, base, vertices)) is not None:
            yield record
            delta, vertices = record
            at += _RECORD.size + each * len(delta)
        if at < size:
            self._cut(at, size, each)
        self.end = at

    def _cut(self, at: int, size: int, each: int) -> None:
        """Moves what is no whole record to another file; ValueError where no process can have left it unfinished."""
        if self._begins_behind(at, size, each):
            raise broken(
                self.path,
                f"has a damaged batch at byte {at}, with others behind it: put back a copy of the log, or cut it there "
                "to lose these",
            )
        kept = f"{self.path}{_CUT}"
        with open(kept, "ab") as file:
            file.write(self._bytes(at, size - at))
            file.flush()
            os.fsync(file.fileno())
        sync(os.path.dirname(kept))
        warnings.warn(
            f"{self.path}: the last {size - at} bytes are no whole batch and are moved to {kept}: a process ended "
            "while it wrote them",
            RuntimeWarning,
            stacklevel=5,
        )
        self._file.truncate(at)
        os.fsync(self._file.fileno())

    def _begins_behind(self, at: int, size: int, each: int) -> bool:
        """Whether a record begins behind the one at `at`: then that one had been written to its end."""
        head = self._head_of(at)
        if head is not None:
            return at + _RECORD.size + head[2] * each < size
        if size - at < _RECORD.size:
            return False
        words = np.frombuffer(self._bytes(at, (size - at) // _WORD * _WORD), "<u4")
        # The upper halves of both counts are small, and there are vertices.
        starts = np.flatnonzero((words[2:-3] > 0) & (words[3:-2] == 0) & (words[5:] <= size >> 32))
        return any(self._head_of(at + _WORD * int(k)) is not None for k in starts)

    def _head_of(self, at: int) -> tuple[int, int, int] | None:
        """(checksum of the changes, vertices, number of changes) of the record at a place; None where none begins."""
        head = os.pread(self._file.fileno(), _RECORD.size, at)
        if len(head) < _RECORD.size or zlib.crc32(head[_WORD:]) != int.from_bytes(
            head[:_WORD], "little"
        ):
            return None
        crc, vertices, count = _RECORD.unpack(head)[1:]
        return crc, vertices, count

    def _read(self, at: int, size: int, base: csr_array, known: int) -> tuple[Any, int] | None:
        """(changes, vertices) of the record at a place; None where there is no whole one."""
        head, each = self._head_of(at), _bytes_of_change(base)
        if head is None:
            return None
        crc, vertices, count = head
        if count > (size - at) // each:
            return None
        body = self._bytes(at + _RECORD.size, count * each)
        if len(body) < count * each or zlib.crc32(body) != crc:
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
        return delta, vertices

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
