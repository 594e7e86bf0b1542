"""Rank 1 fails in the way that is asked for, while the others wait for it: `faults.py HOW [PATTERN NODE_RANKS]`."""

import os
import signal
import sys
import time

import numpy as np

import penstock as ps
from penstock import _core

if sys.argv[1] == "early":
    raise ValueError("no luck")
world = ps.dist.world()
world.barrier()
if sys.argv[1] == "claims":
    t = _core.make_transport(world, 64)
    while world.rank != 1 or t.fetch_add(1, 0) < 5000:
        t.fetch_add(1, 0)
D = None
if len(sys.argv) > 2:  # exchanges by put; where rank 0 has no ghosts, it waits for room at rank 1
    pattern, node_ranks = sys.argv[2], int(sys.argv[3])
    world = _core.mpi_comm(0, None, 0x7FFFFFFF, node_ranks)
    A = ps.csr_array(np.tri(64) if pattern == "one-way" else np.ones((64, 64)))
    D = ps.dist.csr_array(A, world, halo="put")
    for _ in range(20):
        D @ np.ones(D.local_shape[1])
if world.rank == 1:
    match sys.argv[1]:
        case "raise" | "claims":
            raise ValueError("no luck")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(7)
        case "file":
            ps.load("no such matrix.mtx")
        case "tell":
            world.fail("tired")
            time.sleep(1)
if sys.argv[1] == "caught":  # nobody fails, and nobody comes
    try:
        world.barrier() if world.rank else time.sleep(1.5)
    except ps.dist.CommError as error:
        print(f"patience ended: {error}", flush=True)
    os._exit(0)
try:
    while D is not None:
        D @ np.ones(D.local_shape[1])
    world.barrier()
except ps.dist.CommError as error:
    if world.rank != 1:
        print(f"rank {world.rank} heard: {error}", flush=True)
    raise
