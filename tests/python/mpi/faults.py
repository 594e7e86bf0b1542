"""Rank 1 fails in the way that is asked for, while the others wait for it."""

import os
import signal
import sys
import time

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
    world.barrier()
except ps.dist.CommError as error:
    if world.rank != 1:
        print(f"rank {world.rank} heard: {error}", flush=True)
    raise
