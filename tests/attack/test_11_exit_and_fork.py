"""Threads in the library when the interpreter ends or the process forks, and threads that cannot be started."""

from __future__ import annotations

import subprocess
import sys

import pytest

SETUP = """
import multiprocessing, os, resource, signal, sys, threading, time
import numpy as np
import penstock as ps
A = ps.generate.rmat(13, 16, seed=1, dtype=np.float64)
L = ps.generate.laplacian((40, 40, 40))
x, b = np.ones(A.shape[1]), np.ones(L.shape[0])
"""


def start(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SETUP + code, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


# --- exit -----------------------------------------------------------------------------------------

EXIT = """
def ranks(comm):
    D = ps.dist.csr_array(L, comm)
    while True:
        D @ np.ones(D.local_shape[1])
def objects(comm):
    while True:
        comm.collect({"rank": comm.rank, "text": "x" * 1000})
def apply(v):
    return sum((v for _ in range(10)), L @ v)
calls = {
    "product": lambda: A @ x,
    "transposed": lambda: A.T @ x,
    "spgemm": lambda: A @ A,
    "cg": lambda: ps.linalg.cg(L, b, rtol=1e-12),
    "cg with a callback": lambda: ps.linalg.cg(L, b, rtol=1e-12, callback=lambda v: sum(range(999))),
    "cg of a function": lambda: ps.linalg.cg(LinearOperator(L.shape, matvec=apply, dtype=float), b),
    "bfs": lambda: ps.csgraph.bfs(A, 0),
    "pagerank": lambda: ps.csgraph.pagerank(A),
    "generate": lambda: ps.generate.rmat(15, 8),
    "ranks": lambda: ps.dist.run(ranks, 3),
    "objects": lambda: ps.dist.run(objects, 3),
}
from scipy.sparse.linalg import LinearOperator
call, began = calls[sys.argv[1]], threading.Event()
def go():
    while True:
        began.set()
        call()
for _ in range(int(sys.argv[2])):
    threading.Thread(target=go, daemon=True).start()
began.wait()
time.sleep(0.3)
print("bye")
"""
CALLS = ("product", "transposed", "spgemm", "cg", "cg with a callback", "cg of a function", "bfs",
         "pagerank", "generate", "ranks", "objects")  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "calls, threads", [(CALLS, 1), (("product", "cg with a callback", "ranks"), 3)]
)
def test_the_interpreter_ends_quietly_around_daemon_threads(calls, threads):
    waiting = list(calls)
    while waiting:
        now, waiting = waiting[:4], waiting[4:]
        started = {call: start(EXIT, call, str(threads)) for call in now}
        for call, process in started.items():
            out, error = process.communicate(timeout=60)
            assert (process.returncode, out, error) == (0, "bye\n", ""), call


@pytest.mark.timeout(60)
def test_functions_that_run_at_exit_still_multiply():
    code = """
import atexit
def last():
    try:
        found = ps.dist.run(lambda comm: comm.size, 2)
    except RuntimeError as error:  # from Python 3.12 on
        assert sys.version_info >= (3, 12) and "while the program ends" in str(error), error
        found = [2, 2]
    found += ps.dist.run(lambda comm: comm.size, 1)
    print(found, float((A @ x).sum()) == float(A.sum()))
atexit.register(last)
threading.Thread(target=lambda: [A @ x for _ in range(10**9)], daemon=True).start()
time.sleep(0.2)
"""
    out, error = start(code).communicate(timeout=60)
    assert (out, error) == ("[2, 2, 1] True\n", "")


# --- fork -----------------------------------------------------------------------------------------

READERS = """
folder = sys.argv[1] + "/"
W = ps.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
ends = "txt csv parquet gr wel mtx mtx.gz npz penstock".split()
files = [folder + "a." + end for end in ends]
for file in files:
    W.save(file)
def nnz(file):
    return ps.load(file).nnz
def tried(file):
    try:
        return nnz(file) == W.nnz
    except RuntimeError as error:
        return "get_context('spawn')" in str(error)
if sys.argv[2] == "used":
    assert all(nnz(file) == W.nnz for file in files)
begun = time.monotonic()
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map_async(tried, files).get(timeout=20)
    works = pool.map_async(nnz, files[5:]).get(timeout=20)
print(all(found), set(works) == {W.nnz}, time.monotonic() - begun < 10)
"""


@pytest.mark.timeout(90)
def test_forked_processes_load_or_say_at_once_why_not(tmp_path):
    used = start(READERS, str(tmp_path), "used")
    out, error = used.communicate(timeout=60)
    assert out == "True True True\n", error
    unused = start(READERS.replace("W.save(file)", "pass"), str(tmp_path), "unused")
    out, error = unused.communicate(timeout=60)
    assert out == "True True True\n", error


@pytest.mark.timeout(60)
def test_a_child_of_a_process_that_only_imported_polars_reads_text(tmp_path):
    code = """
import polars
file = sys.argv[1] + "/a.txt"
open(file, "w").write("0 1\\n1 2\\n")
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map_async(ps.load, [file]).get(timeout=20)[0].nnz)
"""
    out, error = start(code, str(tmp_path)).communicate(timeout=60)
    assert out == "2\n", error


FORKS = """
y, C, levels = A @ x, (A[:500] @ A).nnz, ps.csgraph.bfs(A, 0)
def everything():
    good = np.array_equal(A @ x, y) and (A[:500] @ A).nnz == C and np.array_equal(ps.csgraph.bfs(A, 0), levels)
    good = good and ps.dist.run(lambda comm: ps.dist.csr_array(L, comm).local_nnz, 2)[0] > 0
    return good and ps.linalg.cg(L, b)[1].converged
assert everything()
stop = []
def work():
    while not stop:
        busy()
calls = [lambda: None, lambda: A @ x, lambda: A[:500] @ A, lambda: ps.csgraph.bfs(A, 0),
         lambda: ps.dist.run(lambda comm: ps.dist.csr_array(L, comm).local_nnz, 2)]
ended = []
for busy in calls:
    stop.clear()
    thread = threading.Thread(target=work)
    thread.start()
    for turn in range(3):
        time.sleep(0.01 * turn)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if everything() else 5)
        ended.append(os.waitpid(child, 0)[1])
    stop.append(True)
    thread.join()
print(set(ended), everything())
"""


@pytest.mark.timeout(120)
def test_forked_processes_compute_while_a_thread_of_their_parent_did():
    out, error = start(FORKS).communicate(timeout=100)
    assert out == "{0} True\n", error


HELD = """
store = sys.argv[1] + "/a.penstock"
A.save(store)
y = A @ x
def copied():
    return ps.csr_array((A.data.copy(), A.indices.copy(), A.indptr.copy()), shape=A.shape)
make, use = {
    "plan": (copied, lambda B: B.prepare("blocked")),
    "check": (lambda: ps.open(store), lambda B: B @ x),
}[sys.argv[2]]
now, stop, ended = [make()], [], []
def work():
    while not stop:
        now[0] = B = make()
        use(B)
thread = threading.Thread(target=work)
thread.start()
for turn in range(20):
    time.sleep(0.003 * (turn % 5))
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if np.allclose(now[0] @ x, y, rtol=1e-12) else 5)
    ended.append(os.waitpid(child, 0)[1])
    if ended[-1]:
        break
stop.append(True)
thread.join()
print(set(ended), np.allclose(now[0] @ x, y, rtol=1e-12))
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("held", ["plan", "check"])
def test_a_child_does_not_wait_for_what_a_thread_of_its_parent_began(held, tmp_path):
    """A plan of a matrix that is being made, and a stored matrix that is being checked, at the fork."""
    out, error = start(HELD, str(tmp_path), held).communicate(timeout=100)
    assert out == "{0} True\n", error


# --- no thread to be had --------------------------------------------------------------------------

LIMITED = """
def ranks(of):
    return lambda: ps.dist.run(of, 3, timeout=20)
P = ps.generate.rmat(10, 8, seed=1)
calls = [
    lambda: A @ x,
    lambda: A @ A,
    ranks(lambda comm: (lambda D: D @ np.ones(D.local_shape[1]))(ps.dist.csr_array(L, comm))),
    ranks(lambda comm: (lambda D: ps.dist.linalg.cg(D, np.ones(D.local_shape[0]), maxiter=3))(
        ps.dist.csr_array(L, comm))),
    ranks(lambda comm: (lambda T: ps.dist.matmul(T, T).nnz)(ps.dist.tiled_array(P, comm))),
    ranks(lambda comm: ps.dist.csgraph.bfs(ps.dist.csr_array(P, comm), 0)),
]
for call in calls:
    call()
children = {}
for i, call in enumerate(calls):
    for more in (0, 1 << 20, 12 << 20, 48 << 20):
        child = os.fork()
        if child == 0:
            base = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (base + more, resource.RLIM_INFINITY))
            signal.alarm(40)
            try:
                call()
            except MemoryError:
                os._exit(3)
            os._exit(0)
        children[child] = i, more >> 20
for child, what in children.items():
    print(*what, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.timeout(150)
def test_without_memory_for_threads_calls_work_or_raise_memory_errors():
    out, error = start(LIMITED).communicate(timeout=140)
    lines = [line.split() for line in out.splitlines()]
    assert len(lines) == 24, error
    assert {code for _, _, code in lines} <= {"0", "3"}, out
    assert ["2", "0", "3"] in lines, "a rank without a thread"


@pytest.mark.timeout(60)
def test_ranks_that_had_begun_are_stopped_where_one_cannot():
    code = """
import _thread
real, started = _thread.start_new_thread, []
def fails(*args, **kwargs):
    started.append(args)
    if len(started) == 3:
        raise RuntimeError("can't start new thread")
    return real(*args, **kwargs)
name = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"
real = getattr(threading, name)
setattr(threading, name, fails)
begun = time.monotonic()
try:
    ps.dist.run(lambda comm: comm.barrier(), 5)
except MemoryError as error:
    print(error)
print(time.monotonic() - begun < 5, threading.active_count())
"""
    out, error = start(code).communicate(timeout=50)
    assert out.startswith("no thread for rank 3 of 5 (can't start new thread): take fewer"), error
    assert out.endswith("True 1\n")
