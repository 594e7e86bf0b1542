"""States of long solves: a folder that always holds a whole one, written by all ranks, read by any number of them.

PATH/state.json        what the state is, the name of its folder, and checksums of all of it; replaced in one step
PATH/at-120-6f3a91c5/  part-0.npy ...: of each rank, its vectors as rows; rows-0.npy ...: the numbers of their entries
                       in the whole vector, where they are not one range; penstock-checkpoint: says that it is ours

Whatever else is in PATH is the user's, and stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import zlib
from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file, sync
from penstock._io._drafts import tidy
from penstock._io._npy import map_any
from penstock.dist._agree import agreed
from penstock.linalg.preconditioners import mix

_STATE, _MARK = "state.json", "penstock-checkpoint"
_FORMAT = 2
_FOLDER = re.compile(r"at-[0-9]+-[0-9a-f]{8}")
_PART = re.compile(r"(part|rows)-[0-9]+\.npy")
_STEP = 1 << 26  # bytes between two looks at Ctrl-C


def checksum(comm: Any, rows: np.ndarray, values: np.ndarray) -> int:
    """Of a vector, the same for every way to share it out. `rows`: the numbers of the entries here. Collective."""
    bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64).astype(np.uint64)
    h = mix(rows.astype(np.uint64) ^ mix(bits + np.uint64(1)))
    # 24 bits of each: the sum does not overflow below 2^39 entries
    sums = np.array([np.sum(h >> np.uint64(40), dtype=np.uint64)]).astype(np.int64)
    comm.all_reduce(sums, "sum")
    return int(sums[0])


class Checkpoint:
    """The states of one solve. All methods are collective. `about` tells solves apart; every rank has the same. `tied`:
    the method's vectors belong to an M that depends on who owns which rows; where others own them, x alone counts."""

    def __init__(
        self, comm: Any, path: Any, rows: np.ndarray, about: dict[str, Any], tied: bool = False
    ) -> None:
        self.comm, self.path, self.rows = comm, os.path.realpath(os.fspath(path)), rows
        self.about = {"format": _FORMAT, **about}
        self._owners = _shared_out(comm, rows) if tied else 0
        self.resumed = 0  # the iteration that load() went on from
        self._file = os.path.join(self.path, _STATE)
        self._remedy = f"remove {self._file} to begin anew, or give another checkpoint="
        self._made = self._kept = False  # the folder PATH, and a state in it; on the first rank

    def load(self, vectors: list[np.ndarray]) -> tuple[int, list[float], list[float], bool] | None:
        """Fills the vectors with this rank's entries. None where there is no state. The last of the answer: whether x
        alone counts. ValueError, on all ranks, for a state that is damaged or of another solve."""
        state = self.comm.share(self._tell(), root=0)
        if state is None:
            return None
        if "error" in state:
            raise ValueError(state["error"])
        agreed(self.comm, lambda: self._verify(state))
        agreed(self.comm, lambda: self._read(state, vectors))
        self.resumed = state["iterations"]
        self._made, self._kept = state["made"], True
        anew = state.get("owners", 0) != self._owners
        return self.resumed, state["residuals"], state["scalars"], anew

    def save(
        self,
        iterations: int,
        residuals: list[float],
        scalars: list[float],
        vectors: list[np.ndarray],
    ) -> None:
        """OSError, on all ranks, where one cannot write; the older state then stays."""
        name = self.comm.share(f"at-{iterations}-{secrets.token_hex(4)}", root=0)
        folder = os.path.join(self.path, name)
        try:
            agreed(self.comm, lambda: self._begin(folder))
            mine = agreed(self.comm, lambda: self._write(folder, vectors))
            parts = self.comm.all_gather(np.array(mine, dtype=np.int64))
            state = {
                **self.about,
                "folder": name,
                "made": self._made,
                "owners": self._owners,
                "iterations": iterations,
                "residuals": residuals,
                "scalars": scalars,
                "vectors": len(vectors),
                "parts": np.asarray(parts).tolist(),  # first entry, entries, crc32 of part and rows
            }
            agreed(self.comm, lambda: self._publish(state))
        except BaseException:
            if self.comm.rank == 0 and self._named() != name:
                _remove(folder)
            raise

    def _named(self) -> str | None:
        """The folder that is published."""
        with contextlib.suppress(OSError, ValueError, RecursionError), open(self._file, "rb") as f:
            return json.loads(f.read()).get("folder")
        return None

    def remove(self) -> None:
        """After a solve that converged: nothing is left to go on with."""
        agreed(self.comm, self._clear)

    def _clear(self) -> None:
        if self.comm.rank != 0 or not self._kept:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._file)
        self._remove_folders("")
        tidy(self._file, ())
        if self._made:
            with contextlib.suppress(OSError):  # something of the user's lies in it
                os.rmdir(self.path)

    def _tell(self) -> dict[str, Any] | None:
        """On the first rank: the state there is, or what is wrong with it."""
        if self.comm.rank != 0 or not os.path.lexists(self._file):
            return None
        if not os.path.isfile(self._file):  # a FIFO would wait for a writer
            return {"error": f"{self._file} is not the state of a solve: {self._remedy}"}
        try:
            with open(self._file, "rb") as f:
                state = json.loads(f.read())
            digest = state.pop("digest", None) if isinstance(state, dict) else None
        except (OSError, ValueError, RecursionError) as e:
            return {"error": f"{self._file} cannot be read ({str(e)[:200]}): {self._remedy}"}
        if not isinstance(state, dict) or "format" not in state:
            return {"error": f"{self._file} is not the state of a solve: {self._remedy}"}
        if state["format"] != _FORMAT:
            wrong = f"is of format {state['format']!r:.20}, this library reads {_FORMAT}"
            return {"error": f"{self._file} {wrong}: {self._remedy}"}
        if digest != _digest(state) or not self._sound(state):
            wrong = "is damaged, or was edited: what it says has another checksum"
            return {"error": f"{self._file} {wrong}: {self._remedy}"}
        different = [k for k, v in self.about.items() if state.get(k) != v]
        if different:
            kept = ", ".join(f"{k} {state.get(k)} (here {self.about[k]})" for k in different)
            wrong = f"{self.path} holds the state of another solve: {kept}"
            return {"error": f"{wrong}: {self._remedy}"}
        return state

    @staticmethod
    def _sound(state: Any) -> bool:
        """Whether a state is what save() writes: types and lengths, for checksums tell no more than who wrote it."""
        names = ("folder", "iterations", "parts", "residuals", "scalars", "rows")
        folder, done, parts, residuals, scalars, n = map(state.get, names)
        return (
            isinstance(folder, str)
            and _FOLDER.fullmatch(folder) is not None
            and _count(done)
            and _count(state.get("vectors"))
            and _count(n)
            and isinstance(state.get("made"), bool)
            and isinstance(residuals, list)
            and isinstance(scalars, list)
            and all(isinstance(x, float) for x in residuals + scalars)
            and len(residuals) == done + 1
            and isinstance(parts, list)
            and all(isinstance(p, list) and len(p) == 4 for p in parts)
            and all(_count(x + 1 if i == 0 else x) for p in parts for i, x in enumerate(p))
            and all(max(p[0], 0) + p[1] <= n for p in parts)
        )

    def _begin(self, folder: str) -> None:
        if self.comm.rank != 0:
            return
        if not os.path.isdir(self.path):
            os.makedirs(self.path, exist_ok=True)
            self._made = True
        os.mkdir(folder)
        os.close(os.open(os.path.join(folder, _MARK), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))

    def _write(self, folder: str, vectors: list[np.ndarray]) -> tuple[int, int, int, int]:
        rank, (first, count) = self.comm.rank, _range(self.rows)
        crc = _save(os.path.join(folder, f"part-{rank}.npy"), vectors)
        rows = _save(os.path.join(folder, f"rows-{rank}.npy"), [self.rows]) if first < 0 else 0
        sync(folder)
        return first, count, crc, rows

    def _publish(self, state: dict[str, Any]) -> None:
        if self.comm.rank != 0:
            return
        with atomic_file(self._file) as f:
            f.write(json.dumps({**state, "digest": _digest(state)}).encode())
        self._kept = True
        self._remove_folders(state["folder"])

    def _remove_folders(self, keep: str) -> None:
        for name in os.listdir(self.path):
            if name != keep and _FOLDER.fullmatch(name):
                _remove(os.path.join(self.path, name))

    def _verify(self, state: dict[str, Any]) -> None:
        """Compares the checksums of all files; each rank those of its share of them."""
        folder = os.path.join(self.path, state["folder"])
        for part in range(self.comm.rank, len(state["parts"]), self.comm.size):
            first, count, crc, crc_rows = state["parts"][part]
            names = [(f"part-{part}.npy", crc)] if count else []
            names += [(f"rows-{part}.npy", crc_rows)] if count and first < 0 else []
            for name, wanted in names:
                try:
                    found = _crc32(os.path.join(folder, name))
                except OSError as e:
                    raise ValueError(
                        f"{folder}: {name} cannot be read ({e.strerror}): {self._remedy}"
                    ) from e
                if found != wanted:
                    raise ValueError(
                        f"{folder}: {name} is damaged or of another state: its checksum is {found}, not {wanted}: "
                        f"{self._remedy}"
                    )

    def _read(self, state: dict[str, Any], vectors: list[np.ndarray]) -> None:
        if state["vectors"] != len(vectors):
            raise ValueError(
                f"{self.path} holds {state['vectors']} vectors, this solve has {len(vectors)}: give the same M, or "
                "another checkpoint="
            )
        folder = os.path.join(self.path, state["folder"])
        found = 0
        for part, (first, count, *_) in enumerate(state["parts"]):
            if count == 0:
                continue
            if first >= 0:
                here = slice(*np.searchsorted(self.rows, (first, first + count)))
                there: Any = self.rows[here] - first
            else:
                rows = self._part(folder, f"rows-{part}.npy", (1, count), np.int64)[0]
                there = np.minimum(np.searchsorted(rows, self.rows), count - 1)
                here = rows[there] == self.rows
                there = there[here]
            if len(there) == 0:
                continue
            found += len(there)
            shape = (len(vectors), count)
            values = self._part(folder, f"part-{part}.npy", shape, vectors[0].dtype)
            for to, values_of_one in zip(vectors, values, strict=True):
                to[here] = values_of_one[there]
        if found != len(self.rows):
            raise ValueError(
                f"{self.path} holds {found} of the {len(self.rows)} entries that this rank owns: {self._remedy}"
            )

    def _part(self, folder: str, name: str, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        try:
            values = map_any(os.path.join(folder, name))
        except (OSError, ValueError, EOFError) as e:
            raise ValueError(f"{folder}: {name} cannot be read ({e}): {self._remedy}") from e
        if values.shape != shape or values.dtype != dtype:
            raise ValueError(
                f"{folder}: {name} holds {values.dtype} {values.shape}, not {np.dtype(dtype)} {shape}: {self._remedy}"
            )
        return values


def _shared_out(comm: Any, rows: np.ndarray) -> int:
    """Tells apart who owns which rows."""
    mine = np.array([zlib.crc32(np.ascontiguousarray(rows, np.int64))], np.int64)
    return zlib.crc32(np.ascontiguousarray(comm.all_gather(mine))) + 1


def _range(rows: np.ndarray) -> tuple[int, int]:
    """(first, count); first is -1 where ascending row numbers have gaps."""
    n = len(rows)
    if n == 0:
        return 0, 0
    first = int(rows[0])
    return (first if int(rows[-1]) - first == n - 1 else -1), n


def _save(path: str, vectors: list[np.ndarray]) -> int:
    """Vectors of one type and length as the rows of an array, without a copy of them. The crc32 of the file."""
    header = {
        "descr": np.lib.format.dtype_to_descr(vectors[0].dtype),
        "fortran_order": False,
        "shape": (len(vectors), len(vectors[0])),
    }
    start = io.BytesIO()
    np.lib.format.write_array_header_1_0(start, header)
    crc = zlib.crc32(start.getvalue())
    with open(path, "xb") as file:
        file.write(start.getvalue())
        for v in vectors:
            whole = memoryview(np.ascontiguousarray(v)).cast("B") if len(v) else b""
            for first in range(0, len(whole), _STEP):
                piece = whole[first : first + _STEP]
                crc = zlib.crc32(piece, crc)
                file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return crc


def _crc32(path: str) -> int:
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(_STEP):
            crc = zlib.crc32(piece, crc)
    return crc


def _digest(state: dict[str, Any]) -> str:
    """Of what a state says, however its text is laid out."""
    return hashlib.blake2b(json.dumps(state, sort_keys=True).encode(), digest_size=16).hexdigest()


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _remove(folder: str) -> None:
    """Removes a state's folder: our files, and it where nothing else is in it. One without our mark is not touched, but
    where it is empty. Never raises."""
    try:
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        names = os.listdir(here)
        if names and _MARK not in names:
            return
        for name in filter(_PART.fullmatch, names):
            os.unlink(name, dir_fd=here)
        if os.listdir(here) == [_MARK]:  # goes last: a part that is left would be without it
            os.unlink(_MARK, dir_fd=here)
        os.rmdir(folder)
    except OSError:
        pass
    finally:
        os.close(here)
