"""The ranks of bench/dist_cpu.py: processes under `penstock run`, or threads of one process.

    penstock run -n 2 bench/studies/dist_cpu/worker.py FOLDER
    python bench/studies/dist_cpu/worker.py FOLDER 16 # 16 ranks that are threads

Commands come as lib/fifo_ranks.py sends them; FOLDER has b.npy where a matrix is multiplied. "open" makes a matrix
under a name, "multiply", "cpu" and "solve" use it, "tiles" makes tiles, "square" multiplies them by themselves,
"fetch" leaves the last result, or A A b, in x.npy, "memory" tells each rank's peak.
Seconds are from a barrier of all ranks to the next: the slowest counts.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps


def status(key: str) -> int:
    """A line of this process's memory, in bytes."""
    text = Path("/proc/self/status").read_text()
    return 1024 * int(next(w for w in text.splitlines() if w.startswith(key + ":")).split()[1])


def source_of(what: Any) -> Any:
    """A path, {"rmat": scale} or {"laplacian": edge}: every rank makes its part of these."""
    if isinstance(what, str):
        return what
    if "laplacian" in what:
        return functools.partial(ps.generate.laplacian, (what["laplacian"],) * 3)
    return functools.partial(ps.generate.rmat, what["rmat"], dtype=np.float64, seed=1)


class Rank:
    """What a rank keeps between commands."""

    def __init__(self, comm: Any, folder: Path) -> None:
        self.comm, self.folder = comm, folder
        self.made: dict[str, tuple[Any, np.ndarray, np.ndarray]] = {}
        self.last: tuple[Any, np.ndarray] | None = None
        self.tiled: Any = None
        self.squared: Any = None

    def open(self, c: dict[str, Any]) -> dict[str, Any]:
        D = ps.dist.csr_array(source_of(c["source"]), self.comm, **c.get("how", {}))
        b = D.share(np.load(self.folder / "b.npy", mmap_mode="r"))
        y = np.zeros(D.local_shape[0])
        begin = time.perf_counter()
        kernel = D.prepare() if c["prepare"] else "balanced"
        spent = time.perf_counter() - begin
        D.dot(b, out=y)  # makes the exchanges
        self.made[c["name"]] = (D, b, y)
        m = D.metrics()
        return {"prepare_seconds": spent, "kernel": kernel, "halo": D.halo["strategy"], "imbalance": m.imbalance,
                "halo_entries": m.halo_volume, "partial_sums": m.partial_volume,
                "messages": m.messages}  # fmt: skip

    def multiply(self, c: dict[str, Any]) -> dict[str, Any]:
        D, b, y = self.made[c["name"]]
        for _ in range(c["calls"]):
            D.dot(b, out=y)
        self.last = (D, y)
        return {}

    def cpu(self, c: dict[str, Any]) -> dict[str, Any]:
        """CPU seconds of a product, the slowest rank's: waiting ranks that are threads sleep."""
        begin = time.thread_time()
        self.multiply(c)
        spent = np.array([(time.thread_time() - begin) / c["calls"]])
        self.comm.all_reduce(spent, "max")
        return {"cpu": float(spent[0])}

    def solve(self, c: dict[str, Any]) -> dict[str, Any]:
        D, b, _ = self.made[c["name"]]
        for _ in range(c["calls"]):
            x, info = ps.dist.linalg.cg(D, b, rtol=c["rtol"], maxiter=c["maxiter"], M=c["M"])
        self.last = (D, x)
        return {"iterations": info.iterations}

    def tiles(self, c: dict[str, Any]) -> dict[str, Any]:
        self.tiled = ps.dist.tiled_array(c["source"], self.comm)
        return {"grid": list(self.tiled.grid), "tiles": list(self.tiled.tiles)}

    def square(self, c: dict[str, Any]) -> dict[str, Any]:
        for _ in range(c["calls"]):
            self.squared = None
            self.squared = ps.dist.matmul(self.tiled, self.tiled)
        return {"algorithm": self.squared.times["algorithm"]}

    def fetch(self, _: dict[str, Any]) -> dict[str, Any]:
        if self.squared is not None:
            whole = self.squared.collect()
            if self.comm.rank == 0:
                np.save(self.folder / "x.npy", whole @ np.load(self.folder / "b.npy"))
            return {}
        assert self.last is not None
        whole = self.last[0].collect(self.last[1], root=0)
        if whole is not None:
            np.save(self.folder / "x.npy", whole)
        return {}

    def memory(self, c: dict[str, Any]) -> dict[str, Any]:
        """Bytes of each rank: `share` (two blocks, vectors, ghosts), and the most that the process had above what it
        has now, from loading to the end of a product."""
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what is used now
        before = status("VmRSS")
        D = ps.dist.csr_array(source_of(c["source"]), self.comm, **c["how"])
        loaded = status("VmHWM") - before
        D.dot(np.ones(D.local_shape[1]))
        mine = [status("VmHWM") - before, loaded, status("VmRSS") - before]
        found = self.comm.all_gather(np.array(mine, np.int64))
        m = D.metrics()
        keys = ("peak", "loading", "after")
        return {"share": m.bytes.tolist(), "nnz": m.nnz.tolist(), "halo": m.halo.tolist()} | {
            k: found[:, i].tolist() for i, k in enumerate(keys)
        }

    def serve(self) -> None:
        first = self.comm.rank == 0
        with (
            open(self.folder / f"command.{self.comm.rank}") as commands,
            open(self.folder / "answer" if first else os.devnull, "w") as answers,
        ):
            for line in commands:
                c = json.loads(line)
                self.comm.barrier()
                begin = time.perf_counter()
                answer = getattr(self, c["do"])(c) if c["do"] != "end" else {}
                self.comm.barrier()
                answer["seconds"] = time.perf_counter() - begin
                answers.write(json.dumps(answer) + "\n")
                answers.flush()
                if c["do"] == "end":
                    return


def main() -> None:
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        ranks = int(sys.argv[2])
        ps.dist.run(lambda comm: Rank(comm, folder).serve(), ranks)
    else:
        Rank(ps.dist.world(), folder).serve()


if __name__ == "__main__":
    main()
