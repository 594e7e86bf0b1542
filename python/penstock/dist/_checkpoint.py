"""States of long solves: a folder that always holds a whole one, written by all ranks, read by any number of them.

PATH/state.json        what the state is, and the name of its folder; replaced in one step
PATH/at-120-6f3a/      part-0.npy ...: of each rank, its vectors as rows; rows-0.npy ...: the numbers of their entries
                       in the whole vector, where they are not one range
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file, sync
from penstock.dist._agree import agreed
from penstock.linalg.preconditioners import mix

_STATE = "state.json"
_FORMAT = 1


def checksum(comm: Any, rows: np.ndarray, values: np.ndarray) -> int:
    """Of a vector, the same for every way to share it out. `rows`: the numbers of the entries here. Collective."""
    bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64).astype(np.uint64)
    h = mix(rows.astype(np.uint64) ^ mix(bits + np.uint64(1)))
    # 24 bits of each: the sum does not overflow below 2^39 entries
    sums = np.array([np.sum(h >> np.uint64(40), dtype=np.uint64)]).astype(np.int64)
    comm.all_reduce(sums, "sum")
    return int(sums[0])


class Checkpoint:
    """The states of one solve. All methods are collective. `about` tells solves apart; every rank has the same."""

    def __init__(self, comm: Any, path: Any, rows: np.ndarray, about: dict[str, Any]) -> None:
        self.comm, self.path, self.rows = comm, os.path.realpath(os.fspath(path)), rows
        self.about = {"format": _FORMAT, **about}
        self.resumed = 0  # the iteration that load() went on from

    def load(self, vectors: list[np.ndarray]) -> tuple[int, list[float], list[float]] | None:
        """Fills the vectors with this rank's entries. None where there is no state."""
        state = self.comm.share(self._tell(), root=0)
        if state is None:
            return None
        if "error" in state:
            raise ValueError(state["error"])
        agreed(self.comm, lambda: self._read(state, vectors))
        self.resumed = int(state["iterations"])
        return self.resumed, state["residuals"], state["scalars"]

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
        first, count = _range(self.rows)
        parts = self.comm.all_gather(np.array([first, count], dtype=np.int64))
        state = {
            **self.about,
            "folder": name,
            "iterations": iterations,
            "residuals": residuals,
            "scalars": scalars,
            "vectors": len(vectors),
            "parts": np.asarray(parts).tolist(),
        }
        try:
            agreed(self.comm, lambda: self._write(folder, vectors))
            agreed(self.comm, lambda: self._publish(state))
        except BaseException:
            if self.comm.rank == 0:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    def remove(self) -> None:
        """After a solve that converged: nothing is left to go on with."""
        if self.comm.rank == 0 and os.path.isdir(self.path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, _STATE))
            self._remove_folders("")
            with contextlib.suppress(OSError):  # something of the user's lies in it
                os.rmdir(self.path)
        self.comm.barrier()

    def _tell(self) -> dict[str, Any] | None:
        """On the first rank: the state there is, or what is wrong with it."""
        file = os.path.join(self.path, _STATE)
        if self.comm.rank != 0 or not os.path.exists(file):
            return None
        remedy = "remove that folder to begin anew, or give another checkpoint="
        try:
            with open(file, encoding="utf-8") as f:
                state = json.load(f)
            wrong = [k for k, v in self.about.items() if state.get(k) != v]
            state["folder"], state["iterations"], state["parts"]
        except (OSError, ValueError, KeyError, AttributeError) as e:
            return {"error": f"{file} cannot be read ({type(e).__name__}: {e}): {remedy}"}
        if wrong:
            kept = ", ".join(f"{k} {state.get(k)} (here {self.about[k]})" for k in wrong)
            return {"error": f"{self.path} holds the state of another solve: {kept}: {remedy}"}
        return state

    def _write(self, folder: str, vectors: list[np.ndarray]) -> None:
        os.makedirs(folder, exist_ok=True)
        rank = self.comm.rank
        _save(os.path.join(folder, f"part-{rank}.npy"), vectors)
        if _range(self.rows)[0] < 0:
            _save(os.path.join(folder, f"rows-{rank}.npy"), [self.rows])
        sync(folder)

    def _publish(self, state: dict[str, Any]) -> None:
        if self.comm.rank != 0:
            return
        with atomic_file(os.path.join(self.path, _STATE)) as f:
            f.write(json.dumps(state).encode())
        self._remove_folders(state["folder"])

    def _remove_folders(self, keep: str) -> None:
        for name in os.listdir(self.path):
            if name.startswith("at-") and name != keep:
                shutil.rmtree(os.path.join(self.path, name), ignore_errors=True)

    def _read(self, state: dict[str, Any], vectors: list[np.ndarray]) -> None:
        if state["vectors"] != len(vectors):
            raise ValueError(
                f"{self.path} holds {state['vectors']} vectors, this solve has {len(vectors)}: give the same M, or "
                "another checkpoint="
            )
        folder = os.path.join(self.path, state["folder"])
        found = 0
        for part, (first, count) in enumerate(state["parts"]):
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
                f"{self.path} holds {found} of the {len(self.rows)} entries that this rank owns: remove it to begin "
                "anew"
            )

    def _part(self, folder: str, name: str, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        try:
            values = np.load(os.path.join(folder, name), mmap_mode="r")
        except (OSError, ValueError, EOFError) as e:
            raise ValueError(
                f"{folder}: {name} cannot be read ({e}): remove {self.path} to begin anew"
            ) from e
        if values.shape != shape or values.dtype != dtype:
            raise ValueError(
                f"{folder}: {name} holds {values.dtype} {values.shape}, not {np.dtype(dtype)} {shape}: remove "
                f"{self.path} to begin anew"
            )
        return values


def _range(rows: np.ndarray) -> tuple[int, int]:
    """(first, count); first is -1 where ascending row numbers have gaps."""
    n = len(rows)
    if n == 0:
        return 0, 0
    first = int(rows[0])
    return (first if int(rows[-1]) - first == n - 1 else -1), n


def _save(path: str, vectors: list[np.ndarray]) -> None:
    """Vectors of one type and length as the rows of an array, without a copy of them."""
    header = {
        "descr": np.lib.format.dtype_to_descr(vectors[0].dtype),
        "fortran_order": False,
        "shape": (len(vectors), len(vectors[0])),
    }
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for v in vectors:
            file.write(memoryview(np.ascontiguousarray(v)).cast("B") if len(v) else b"")
        file.flush()
        os.fsync(file.fileno())
