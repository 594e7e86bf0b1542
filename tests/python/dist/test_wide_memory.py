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
    directed = KIND == "directed"
    make = functools.partial(ps.generate.rmat, 33, count / 2**33, seed=1, undirected=not directed)
    if KIND == "file":
        make = PATH
    before = begin(comm)
    D = ps.dist.csr_array(make, comm)
    making = height(comm) - before
    held = status("VmRSS") - before
    plan = D._core.plan
    facts = [D.local_nnz, len(D.rows), int(plan["receive_offsets"][-1]), int(plan["send_offsets"][-1])]
    source = comm.share(int(D.rows[0]) if len(D.rows) else 0, 0)
    before = begin(comm)
    found = ps.dist.csgraph.bfs(D, source, return_predecessors=True,
                                 direction="bottom_up" if directed else "top_down")
    return facts, D.nbytes, held, making, height(comm) - before, D, found

ps.dist.run(lambda comm: work(comm, 2000)[0], RANKS)  # what the library takes once
print(json.dumps([p[:5] for p in ps.dist.run(lambda comm: work(comm, COUNT), RANKS)]))
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("ranks", "kind"), [(1, "rmat"), (4, "rmat"), (1, "file"), (4, "file"), (4, "directed")]
)
def test_memory_is_as_predicted(tmp_path, ranks, kind):
    count = 1_500_000  # edges, each stored twice unless they are directed
    if kind == "file":
        count = 700_000
        path = tmp_path / "a.mtx"
        pairs = np.sort(np.random.default_rng(1).integers(1, 2**33 + 1, (count, 2)))
        with path.open("w") as file:
            file.write(
                f"%%MatrixMarket matrix coordinate pattern symmetric\n{2**33} {2**33} {count}\n"
            )
            file.writelines(f"{i} {j}\n" for j, i in pairs.tolist())
    text = textwrap.dedent(SCRIPT).replace("RANKS", str(ranks)).replace("COUNT", str(count))
    text = text.replace("KIND", repr(kind)).replace("PATH", repr(str(tmp_path / "a.mtx")))
    kept = {
        "MALLOC_MMAP_THRESHOLD_": str(1 << 20)
    }  # freed blocks above go back to the system at once
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True,
                          env=os.environ | kept)  # fmt: skip
    parts, predicted = json.loads(done.stdout), []
    for (nnz, rows, ghosts, sent), nbytes, *_ in parts:
        given = (1 if kind == "directed" else 2) * count // ranks
        m = ps.dist.listed_memory(nnz, rows, ghosts, given=given, sent=sent)
        assert m.matrix - nbytes == 8 * rows + 4 * sent  # beside the arrays: the lists
        search = m.search
        if (
            kind == "directed"
        ):  # a graph of this kind that is turned around has about the same counts
            turned = ps.dist.listed_memory(nnz, rows, ghosts, sent=sent)
            search = max(turned.making, turned.matrix + m.search)
        predicted.append((m.matrix, m.making, search))
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
