"""What one `penstock run` leaves on a host, and how it is cleared: its processes, its folder and its shared memory.

A job has a folder in the temporary directory and one of the same name in /dev/shm, and holds a lock on both as long
as its launcher lives. Who gets the lock knows that the job is dead: ranks, which then end, and later launchers, which
remove the folders. Processes are known by a variable of their environment that no other job has.

Run as a script this is the warden: it starts beside the launcher, in a session of its own so that no signal to the
launcher's group reaches it, waits until the launcher is gone, and ends and removes what that has not. Nothing but
the standard library is imported.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

PREFIX = f"penstock-run-{socket.gethostname()}-"  # hosts may share the folder, and know nothing of each other's locks
SHARED = Path("/dev/shm")
_LOCK, _SEGMENTS = "lock", "segments"  # the names that ranks know, _rank's
_DONE = b"."  # the launcher's last word to its warden


def _take(folder: Path) -> int | None:
    """The lock of a folder as an open file, or None where it is held, or there is none."""
    handle = None
    with contextlib.suppress(OSError):
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return handle
    if handle is not None:
        os.close(handle)
    return None


def _made(base: Path) -> tuple[Path, int]:
    """A new folder, and its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        with contextlib.suppress(FileNotFoundError):  # a launcher that sweeps was quicker
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(
                OSError
            ):  # some network file systems have no locks, and then nobody sweeps
                fcntl.flock(handle, fcntl.LOCK_EX)
            if (folder / _LOCK).exists():
                return folder, handle
            os.close(handle)


def _remove_segments(folder: Path) -> None:
    """Shared memory that ranks of the job have had, outside of its folders."""
    with contextlib.suppress(OSError):
        for name in set((folder / _SEGMENTS).read_text().splitlines()):
            with contextlib.suppress(OSError):
                (SHARED / os.path.basename(name)).unlink()


def sweep(base: Path) -> None:
    """Removes the folders of dead jobs of this user. A folder of which that cannot be told is left alone."""
    for folder in base.glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            if about.st_uid != os.geteuid() or folder.is_symlink() or not folder.is_dir():
                continue
            if (handle := _take(folder)) is not None:
                _remove_segments(folder)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(handle)
            elif about.st_mtime < time.time() - 60:
                folder.rmdir()  # of a job that died before it had a lock; refused where there is anything in it


def processes(mark: bytes) -> Iterator[int]:
    """Processes that were started with this variable, `NAME=value`; not the calling one."""
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                    yield int(name)


def end(mark: bytes, seconds: float = 5.0) -> None:
    """Kills them, and those that they start meanwhile."""
    until = time.monotonic() + seconds
    while (found := list(processes(mark))) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


class Job:
    """The folders of one job, locked; with its warden."""

    def __init__(self, variable: str) -> None:
        base = Path(tempfile.gettempdir())
        sweep(base)
        self.folder, lock = _made(base)
        self._locks = [lock]
        self.shared: Path | None = None  # for segments of shared memory
        if os.access(SHARED, os.W_OK | os.X_OK):
            sweep(SHARED)
            with contextlib.suppress(OSError):
                self.shared, lock = _made(SHARED)
                self._locks.append(lock)
        self.mark = (variable, f"{socket.gethostname()}:{self.folder}")
        self._warden: subprocess.Popen[bytes] | None = None

    def _marked(self) -> bytes:
        return os.fsencode("=".join(self.mark))

    def guard(self) -> None:
        """Starts the warden."""
        folders = [str(f) for f in (self.folder, self.shared) if f is not None]
        environment = {k: v for k, v in os.environ.items() if k != self.mark[0]}
        self._warden = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, "=".join(self.mark), *folders],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
            pass_fds=self._locks, start_new_session=True, env=environment,
        )  # fmt: skip

    def processes(self) -> Iterator[int]:
        """The job's on this host."""
        return processes(self._marked())

    def end(self) -> None:
        """Kills every process of the job."""
        end(self._marked())

    def close(self) -> None:
        """Removes the folders and lets the warden go."""
        remove(folder for folder in (self.folder, self.shared) if folder is not None)
        if self._warden is not None:
            with contextlib.suppress(OSError):
                self._warden.communicate(_DONE)
        for lock in self._locks:
            os.close(lock)


def remove(folders: Iterable[Path]) -> None:
    """Removes folders and the segments that they list; again where a process that was being killed has written."""
    for folder in folders:
        _remove_segments(folder)
        for _ in range(3):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.05)


def _watch(mark: str, folders: list[str]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != _DONE:
        end(os.fsencode(mark))
        remove(Path(f) for f in folders)


if __name__ == "__main__":
    _watch(sys.argv[1], sys.argv[2:])
