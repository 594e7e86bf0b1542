"""What matrices of listed numbers take, as predicted from their counts and as measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps

SCRIPT = """
import functools, json
import numpy as np
import penstock as ps

ps.set_num_threads(1)

def status(name):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(name))

def begin(comm):
    # Forgets the height so far.
    comm.barrier()
    if comm.rank == 0:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    comm.barrier()
    return status("VmRSS")

def height(comm):
    comm.barrier()
    return status("VmHWM")

def work(comm, count):
    make = functools.partial(ps.generate.rmat, 33, count / 2**33, seed=1)
    before = begin(comm)
    D = ps.dist.csr_array(make, comm)
    making = height(comm) - before
    held = status("VmRSS") - before
    plan = D._core.plan
    facts = [D.local_nnz, len(D.rows), int(plan["receive_offsets"][-1]), int(plan["send_offsets"][-1])]
    source = comm.share(int(D.rows[0]) if len(D.rows) else 0, 0)
    before = begin(comm)
    found = ps.dist.csgraph.bfs(D, source, return_predecessors=True, direction="top_down")
    return facts, D.nbytes, held, making, height(comm) - before, D, found

ps.dist.run(lambda comm: work(comm, 2000)[0], RANKS)  # what the library takes once
print(json.dumps([p[:5] for p in ps.dist.run(lambda comm: work(comm, COUNT), RANKS)]))
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("ranks", [1, 4])
def test_memory_is_as_predicted(ranks):
    count = 1_500_000  # edges, each stored twice
    text = textwrap.dedent(SCRIPT).replace("RANKS", str(ranks)).replace("COUNT", str(count))
    kept = {
        "MALLOC_MMAP_THRESHOLD_": str(1 << 20)
    }  # freed blocks above go back to the system at once
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True,
                          env=os.environ | kept)  # fmt: skip
    parts, predicted = json.loads(done.stdout), []
    for (nnz, rows, ghosts, sent), nbytes, *_ in parts:
        m = ps.dist.listed_memory(nnz, rows, ghosts, given=2 * count // ranks, sent=sent)
        assert m.matrix - nbytes == 8 * rows + 4 * sent  # beside the arrays: the lists
        predicted.append((m.matrix, m.making, m.search))
    measured = np.max([p[2:] for p in parts], axis=0)  # of the process, which has all ranks
    for name, ours, found in zip(
        ("matrix", "making", "search"), np.sum(predicted, axis=0), measured, strict=True
    ):
        assert 0.75 * ours < found < 1.35 * ours, (name, int(found), int(ours))


def test_bad_counts_are_named():
    with pytest.raises(ValueError, match="ghosts=-1"):
        ps.dist.listed_memory(5, 5, -1)
    with pytest.raises(TypeError, match="int32"):
        ps.dist.listed_memory(5, 5, 0, dtype=np.int32)
