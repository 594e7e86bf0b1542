"""Files and folders that appear whole or not at all: written as a draft beside the target, which then takes its place.

A folder changes places with the older one in one step (renameat2 with RENAME_EXCHANGE), where the file system can do
that. Elsewhere it takes two renames: the older one to `.NAME.0.replaced`, the draft to NAME. A process that is killed
between them leaves nothing at NAME; whoever looks there next puts the older one back (`recover`). Each rename fails
where something is in the way, so that writers and readers need no lock: whose rename fails looks again.

`names` are those of the files that a folder may have. The first is removed first: without it a folder is not whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from penstock._io._drafts import claim, discard, empty, foreign, hidden, let_go, same, tidy
from penstock._io._errors import broken
from penstock._io._pipes import duplicate, own_descriptor

_TRIES = 1000
_ASIDE = 4
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST)
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)  # EPERM: some sandboxes


def require_named(path: Any) -> None:
    """Refuses an empty path, which would be the current folder, and any other name of that folder or one above it:
    what is put in its place would leave the process, and others, in a folder that is no longer there."""
    name = os.fspath(path)
    if not name:
        raise ValueError(f"path {name!r} is empty: give the name of a file or folder to write to")
    with contextlib.suppress(FileNotFoundError):  # of a current folder that was removed
        real, here = os.path.realpath(os.fsdecode(name)), os.path.realpath(os.getcwd())
        if os.path.commonpath((real, here)) == real:
            raise broken(
                name,
                f"is the current folder, or holds it ({here}), and is not replaced: choose another name",
            )


def _target(path: Any) -> str:
    """The real path, so that a link stays a link; refuses a folder that is not there."""
    require_named(path)
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


def _there(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _take_after(path: str, old: os.stat_result) -> None:
    """Gives a file or folder the owner, as far as that is allowed, and the mode of what it replaces."""
    now = os.stat(path)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(OSError):
            os.chown(path, old.st_uid, old.st_gid)
    os.chmod(path, stat.S_IMODE(old.st_mode))


@contextlib.contextmanager
def atomic_file(path: Any) -> Iterator[BinaryIO]:
    """A binary file to write; gzip where the path ends in `.gz`. What was there stays until the end of the block, and
    its mode beyond. A FIFO or a character device is written to, and stays what it is; so is an open descriptor that the
    path names (/dev/stdout), whatever is behind it. ValueError for a path that cannot be a file."""
    require_named(path)
    number = own_descriptor(path)
    if number is not None:
        with open(duplicate(path, number), "wb") as stream:
            yield stream
        return
    old = _there(path)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise broken(path, "is a folder: choose the name of a file")
    if old is not None and not stat.S_ISREG(old.st_mode):
        with _device(path, old.st_mode) as file, _packing(path, file) as out:
            yield out
        return
    real = _target(path)
    mode = 0o666 if old is None else 0o600  # nobody else reads a draft of what is private

    def make(name: str) -> int:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)

    part, descriptor = claim(real, make, ())
    try:
        with open(part, "wb", opener=lambda *_: os.dup(descriptor)) as file:
            with _packing(real, file) as out:
                yield out
            file.flush()
            os.fsync(descriptor)
        if old is not None:
            _take_after(part, old)
        os.replace(part, real)
    except BaseException:
        with contextlib.suppress(OSError):
            if same(part, descriptor):
                os.unlink(part)
        raise
    finally:
        let_go(descriptor)
    sync(os.path.dirname(real))


class _Packer:
    """Writes gzip to a file. Python's GzipFile keeps what it could not write in a buffer that knows it, and collecting
    that as garbage crashes some versions of Python 3.12 (a full disk is enough)."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pack = zlib.compressobj(4, zlib.DEFLATED, 16 + zlib.MAX_WBITS)  # no name, no time

    def write(self, data: Any) -> int:
        self._file.write(self._pack.compress(data))
        return memoryview(data).nbytes

    def flush(self) -> None:
        self._file.flush()

    def finish(self) -> None:
        self._file.write(self._pack.flush())


@contextlib.contextmanager
def _packing(path: Any, file: BinaryIO) -> Iterator[BinaryIO]:
    if os.fspath(path).endswith(".gz"):
        packer = _Packer(file)
        yield packer  # type: ignore[misc]
        packer.finish()  # not after an error: what is cut off shall not look whole
    else:
        yield file


def _device(path: Any, mode: int) -> BinaryIO:
    if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        what = "a socket" if stat.S_ISSOCK(mode) else "a block device"
        raise broken(path, f"is {what}, and is neither replaced nor written to: choose a file")
    return open(path, "wb")


@contextlib.contextmanager
def atomic_folder(path: Any, names: Sequence[str]) -> Iterator[str]:
    """A folder to fill with files of these names, which then takes the place of `path`, and its mode. An older one
    stays whole until the new one is in its place; only files of these names are removed with it."""
    real = _target(path)
    recover(real, names)
    old = _latest(real)

    def make(name: str) -> int:
        os.mkdir(name, 0o777 if old is None else 0o700)
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    part, descriptor = claim(real, make, names)
    occupied = True
    try:
        yield part
        written = os.listdir(descriptor)
        if not same(part, descriptor) or not all(os.path.isfile(f"{part}/{n}") for n in written):
            raise FileNotFoundError(f"{part}: was removed while {path} was written: save it again")
        _take_modes(part, written, real, names)
        sync(part)
        require_ours(path, names)
        occupied = _put(part, real, names)
    finally:
        let_go(descriptor)
        if occupied:  # with what failed, or with what was replaced
            discard(part, names, ours=True)
        recover(real, names)  # where the second of two renames failed
    sync(os.path.dirname(real))


def _take_modes(part: str, written: list[str], real: str, names: Sequence[str]) -> None:
    old = _latest(real)
    if old is None:
        return
    for name in written:
        like = _there(os.path.join(real, name)) or _there(os.path.join(real, names[0]))
        if like is not None:
            _take_after(os.path.join(part, name), like)
    _take_after(part, old)


def _latest(real: str) -> os.stat_result | None:
    """What is replaced, also where another writer has moved it away just now."""
    found = (_there(path) for path in (real, *_replaced(real)))
    return next((s for s in found if s is not None), None)


def require_ours(folder: Any, names: Sequence[str]) -> None:
    """Refuses to replace a folder in which there is more."""
    try:
        found = foreign(os.listdir(folder), names)
    except FileNotFoundError:
        return
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise broken(
            folder,
            f"also holds {', '.join(found[:3])}{more}, which replacing the folder would remove: move what is not the "
            "store's elsewhere, or choose another name",
        )


def _put(part: str, real: str, names: Sequence[str]) -> bool:
    """Puts a draft in its place. True where the older folder is now where the draft was."""
    for _ in range(_TRIES):
        try:
            os.rename(part, real)  # in the place of nothing, or of an empty folder
        except OSError as error:
            if error.errno not in _IN_THE_WAY:
                raise
        else:
            _remove_replaced(real, names)
            return False
        with contextlib.suppress(FileNotFoundError):  # moved away by another writer
            if exchange(part, real):
                return True
            _remove_replaced(real, names)
            _move_away(real)
    raise OSError(errno.EBUSY, "other processes replace it all the time: try again", real)


@functools.cache
def _renameat2() -> Any:
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        text, number = ctypes.c_char_p, ctypes.c_int
        function.argtypes = (number, text, number, text, ctypes.c_uint)
    return function


def exchange(a: str, b: str) -> bool:
    """Lets two folders change places in one step; False where the system or the file system cannot."""
    function = _renameat2()
    if function is None:
        return False
    names = os.fsencode(a), os.fsencode(b)
    if function(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in _CANNOT:
        return False
    raise OSError(error, os.strerror(error), a, None, b)


def _replaced(real: str) -> list[str]:
    """Where older folders may be: several, because NFS keeps a folder whose files somebody has mapped."""
    start = hidden(real, "")
    return [f"{start}{k}.replaced" for k in range(_ASIDE)]


def _move_away(real: str) -> None:
    for aside in _replaced(real):
        try:
            os.rename(real, aside)
        except OSError as error:
            if error.errno not in _IN_THE_WAY:
                raise
        else:
            return


def recover(path: str, names: Sequence[str]) -> None:
    """Puts back what a writer without exchange() had moved away when it died, the latest where there are several.
    Removes what dead writers left. Never raises."""
    real = os.path.realpath(path)
    if not os.path.lexists(real):
        found = []
        for aside in _replaced(real):
            with contextlib.suppress(OSError):
                found.append((os.stat(os.path.join(aside, names[0])).st_mtime_ns, aside))
        if found:
            with contextlib.suppress(OSError):
                os.rename(max(found)[1], real)
    _remove_replaced(real, names)
    tidy(real, names)


def _remove_replaced(real: str, names: Sequence[str]) -> None:
    """Removes what was moved away, now that something is at `real`. Never raises."""
    for aside in _replaced(real):
        if not os.access(aside, os.F_OK):
            continue
        try:
            descriptor = os.open(aside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if os.path.isdir(real) and not same(real, descriptor):
                empty(descriptor, names)
                os.rmdir(aside)
        except OSError:
            pass
        finally:
            os.close(descriptor)
