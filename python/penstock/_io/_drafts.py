"""Hidden names beside a target, in which its next version is written: which are free, and which a dead writer left.

A draft is `.NAME.<host>-<slot>.part`. Its writer holds a lock (flock) on the file or folder itself, which ends with the
process, so that a draft that can be locked belongs to nobody. Slots are counted from 0: a look at the first few finds
what is left over, without reading the folder. Drafts of other hosts are not touched, because locks may not reach there;
where the file system has no locks, drafts of the dead stay.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Sequence

_LOOKED_AT = 8  # slots that tidy() knows: more writers at once are rare
_MOST = 1000
_LONGEST = 200  # bytes of the target's name in a draft's, which may have 255 in all


def hidden(real: str, ending: str) -> str:
    """`.NAME.ending` beside a path; of a name that is too long, its checksum."""
    folder, name = os.path.split(real)
    raw = os.fsencode(name)
    if len(raw) > _LONGEST:
        name = f"{zlib.crc32(raw):08x}"
    return os.path.join(folder, f".{name}.{ending}")


@functools.cache
def _host() -> str:
    return f"{zlib.crc32(os.fsencode(os.uname().nodename)):08x}"


def _path(real: str, slot: int) -> str:
    return hidden(real, f"{_host()}-{slot}.part")


def _locked(descriptor: int) -> bool | None:
    """Whether the lock is ours now; None where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def same(path: str, descriptor: int) -> bool:
    """Whether a path still leads to what is open."""
    try:
        there = os.lstat(path)
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _new(descriptor: int) -> bool:
    """Whether nobody has written anything. A folder is made and then opened, and much can happen in between."""
    now = os.fstat(descriptor)
    return not os.listdir(descriptor) if stat.S_ISDIR(now.st_mode) else now.st_size == 0


def let_go(descriptor: int) -> None:
    """Ends the lock, also where a child process has inherited it, and closes."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def claim(real: str, make: Callable[[str], int], names: Sequence[str]) -> tuple[str, int]:
    """(path, descriptor) of a new draft, locked until let_go(). `make` creates what is at a path, and opens it; it
    raises FileExistsError where something is there. `names`: what discard() may find in a folder."""
    for slot in range(_MOST):
        path = _path(real, slot)
        discard(path, names)
        try:
            descriptor = make(path)
        except (FileExistsError, FileNotFoundError):  # taken; or tidied up before it was locked
            continue
        # Else somebody tidies it up right now, or has done so, and what was opened is what another writer has replaced.
        if _locked(descriptor) is not False and same(path, descriptor) and _new(descriptor):
            return path, descriptor
        let_go(descriptor)
    raise FileExistsError(
        f"{real}: {_MOST} drafts lie beside it ({_path(real, 0)} ...): remove those that nobody writes"
    )


def discard(path: str, names: Sequence[str], *, ours: bool = False) -> None:
    """Removes a draft that nobody writes. Of a folder, files with these names alone; one that has others was not made
    here, and stays. `ours`: the caller's own, which has let it go; then what has other names stays alone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        locked = _locked(descriptor)
        if not (locked or (ours and locked is None)) or not same(path, descriptor):
            return
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.unlink(path)
        else:
            empty(descriptor, names, others=ours)
            os.rmdir(path)
    except OSError:
        pass
    finally:
        let_go(descriptor)


def empty(folder: int, names: Sequence[str], *, others: bool = False) -> None:
    """Removes the files with these names in a folder that is open; OSError where it has others, unless allowed."""
    there = os.listdir(folder)
    if not others and foreign(there, names):
        raise OSError("not only files of ours")
    for name in names:
        if name in there:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def foreign(there: Iterable[str], names: Sequence[str]) -> list[str]:
    """What else is in a folder. Names that NFS gives to removed files, until nobody maps them, do not count."""
    return sorted(n for n in there if n not in names and not n.startswith(".nfs"))


def tidy(real: str, names: Sequence[str]) -> None:
    """Removes what dead writers left beside a target. Never raises."""
    first = _path(real, 0)
    for slot in range(_LOOKED_AT):
        path = f"{first.removesuffix('0.part')}{slot}.part"
        if os.access(path, os.F_OK) and os.access(os.path.dirname(path), os.W_OK):
            discard(path, names)
