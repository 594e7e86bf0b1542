"""A rank ends in the midst of what all ranks do for ever: `deaths.py WHERE HOW FOLDER [RANK]`.

The end comes as a signal, so that the work is under way, in C++, wherever that is. FOLDER gets the time of it, and what
this job has on its host."""

import functools
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import penstock as ps

# product: one-sided, of tiles; device: the same in a device's memory; wide: numbers of 64 bits
WHERE = ("collective", "product", "device", "summa", "spmv", "search", "wide", "solver")
HOW = ("raise", "exit", "kill")
SECONDS = 0.3  # of work before the end
VICTIM = 1


def end(how):
    """What ends a rank: an exception, an exit code without a word, or SIGKILL."""
    match how:
        case "raise":
            raise ValueError("no luck")
        case "exit":
            os._exit(7)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)


def endless(where, comm):
    """One piece of the work, to be called again and again; a solver's goes on for ever. Collective."""
    a = ps.generate.rmat(9, 8, seed=3, dtype=np.float64)
    match where:
        case "collective":
            large = np.zeros(1 << 16)  # more than travels in the first message
            return lambda: comm.all_reduce(large)
        case "product" | "summa" | "device":
            device = {"device": "cpu"} if where == "device" else {}
            t = ps.dist.tiled_array(a, comm, 64, 64, **device)
            how = {"algorithm": "summa"} if where == "summa" else {"stationary": "a", "steal": True}
            return lambda: ps.dist.matmul(t, t, **how)
        case "spmv":
            D = ps.dist.csr_array(a, comm)
            return lambda: D @ np.ones(D.local_shape[1])
        case "search":
            D = ps.dist.csr_array(a, comm)
            return lambda: ps.dist.csgraph.bfs(D, 0, return_predecessors=True)
        case "wide":
            make = functools.partial(ps.generate.rmat, 33, 1e-6, seed=3)
            return lambda: ps.dist.csr_array(make, comm, "contiguous").T  # made anew each time
        case "solver":
            D = ps.dist.csr_array(ps.generate.laplacian((40, 40)), comm)
            b = np.random.default_rng(comm.rank).standard_normal(len(D.rows))
            return lambda: ps.dist.linalg.cg(D, b, rtol=0, atol=0, maxiter=10**7)
    raise ValueError(f"{where} is none of {WHERE}")


def main(where, how, folder, victim=VICTIM):
    comm = ps.dist.world()
    if comm.rank == 0:
        here = [v for k, v in os.environ.items() if k == "PENSTOCK_RUN_JOB" or "_backing_dir" in k]
        Path(folder, "job").write_text(json.dumps(here))
    work = endless(where, comm)
    comm.barrier()

    def now(*_):
        Path(folder, "died").write_text(str(time.time()))
        end(how)

    if comm.rank == int(victim):
        signal.signal(signal.SIGALRM, now)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        while True:
            work()
    except ps.dist.CommError as error:
        print(f"rank {comm.rank} heard: {error}", flush=True)
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
