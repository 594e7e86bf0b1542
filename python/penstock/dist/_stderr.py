"""Standard error of a job's ranks and of its mpiexec, whose banners say less than the launcher knows."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from penstock.dist import _rank

_OPEN_MPI_RULE = re.compile(r"-{60,}$")
_OPEN_MPI_WORDS = re.compile(
    r"\b(prterun|prte|mpirun|mpiexec|MPI_ABORT|Primary job|An MPI communication peer process)\b"
)
_OPEN_MPI_LOST = re.compile(r"(\[\S+:\d+\] \*\*\* )An error occurred in Socket closed")
_OPEN_MPI_LOST_END = "and MPI will try to terminate"
_OPEN_MPI_SSH = re.compile(r"\[\S+:\d+\] plm:ssh: Warning: setpgid")
_MPICH_WORDS = re.compile(
    r"={20}|=   |YOUR APPLICATION TERMINATED|This typically refers|Please see the FAQ|Abort\(\d+\) on node"
)
_MPICH_ABORT = re.compile(
    r"Abort\(\d+\) on node \d+ \(rank \d+ in comm \d+\): application called MPI_Abort\("
)
_PATIENCE = 0.1  # seconds until the beginning of a line is shown without its end


class Lost:
    """What Open MPI says in a rank whose partner is gone: a few lines that begin alike. All else that begins so, a
    crash say, is none of it."""

    def __init__(self) -> None:
        self._begins: str | None = None

    def takes(self, line: str) -> bool:
        """Whether the next line belongs to it."""
        if found := _OPEN_MPI_LOST.match(line):
            self._begins = found[1]
            return True
        if self._begins is None or not line.startswith(self._begins):
            return False
        if _OPEN_MPI_LOST_END in line:
            self._begins = None
        return True


class Complaints:
    """What mpiexec itself says, line by line. Its banners are held back: they are shown only where nothing better is
    known of a failure. Ranks on other hosts speak through it, too, so what is no banner is shown."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self.reports: list[dict[str, Any]] = []  # of ranks on other hosts
        self.finished = False  # rank 0, on another host
        self._block: list[str] = []
        self._lost = Lost()

    def feed(self, line: str) -> list[str]:
        """The lines to show now."""
        line, told, report = line.replace("\0", "").partition(_rank.TOLD)
        if told:
            with contextlib.suppress(ValueError):
                found = json.loads(report)
                if isinstance(found, dict) and {"rank", "size", "at"} <= found.keys():
                    self.reports.append(found)
                self.finished |= found == _rank.FINISHED
            return self.feed(line + "\n") if line else []
        rule = _OPEN_MPI_RULE.match(line.strip()) is not None
        if self._block or rule:
            self._block.append(line)
            if (rule and len(self._block) > 1) or len(self._block) > 30:
                return self.end()
            return []
        if _MPICH_WORDS.match(line) or _OPEN_MPI_SSH.match(line) or self._lost.takes(line):
            self.held.append(line)
            return []
        return [line]

    def end(self) -> list[str]:
        """A block that has ended, or never will: the lines to show of it."""
        block, self._block = self._block, []
        if not _OPEN_MPI_WORDS.search("".join(block)):
            return block
        self.held += block
        return []


def show(lines: Iterable[str]) -> None:
    """Writes them to this process's standard error."""
    for line in lines:
        sys.stderr.write(line)
    sys.stderr.flush()


class Errors:
    """Both, shown as they come. Each rank has a FIFO of its own in the job's folder, so that lines stay whole and
    nobody takes them for mpiexec's; of theirs only what the MPI in them says of an abort is held back."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self.complaints = Complaints()
        self._lost = Lost()
        self._selector = selectors.DefaultSelector()
        for rank in range(ranks):
            fifo = folder / f"{_rank.ERRORS}{rank}"
            os.mkfifo(fifo, 0o600)
            # To be read and written: it has no end while ranks come and go.
            self._selector.register(os.open(fifo, os.O_RDWR | os.O_NONBLOCK), selectors.EVENT_READ)
        self._stop, self._wake = os.pipe()
        self._selector.register(self._stop, selectors.EVENT_READ)
        self._begun: dict[int, bytes] = {}  # lines without their ends
        self._threads: list[threading.Thread] = []

    def start(self, mpiexec: IO[str]) -> None:
        """Shows what comes, on threads."""
        for play, words in ((self._ranks, ()), (self._mpiexec, (mpiexec,))):
            thread = threading.Thread(target=play, args=words, daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """When the job has ended: what has been written is shown."""
        os.close(self._wake)
        for thread in self._threads:
            thread.join(5)
        if not any(thread.is_alive() for thread in self._threads):
            for key in list(self._selector.get_map().values()):
                os.close(key.fd)
            self._selector.close()

    def _mpiexec(self, stream: IO[str]) -> None:
        for line in stream:
            show(self.complaints.feed(line))
        show(self.complaints.end())

    def _ranks(self) -> None:
        ended = False
        while True:
            ready = self._selector.select(0 if ended else _PATIENCE if self._begun else None)
            files = [key.fd for key, _ in ready if key.fd != self._stop]
            for file in files:
                self._read(file)
            if not files:
                for file in list(self._begun):
                    self._show(self._begun.pop(file))
                if ended:
                    return
            if not ended and len(files) < len(ready):
                self._selector.unregister(self._stop)
                os.close(self._stop)
                ended = True

    def _read(self, file: int) -> None:
        with contextlib.suppress(BlockingIOError):
            whole, end, rest = (self._begun.pop(file, b"") + os.read(file, 1 << 16)).rpartition(
                b"\n"
            )
            self._show(whole + end)
            if rest:
                self._begun[file] = rest

    def _show(self, text: bytes) -> None:
        for line in text.decode(errors="replace").splitlines(keepends=True):
            if _MPICH_ABORT.match(line) or self._lost.takes(line):
                self.complaints.held.append(line)
            else:
                show([line])
