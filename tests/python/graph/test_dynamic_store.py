"""A store that is open for changes: what its log keeps, and what is there after a process was killed at any time."""

import gc
import os
import select
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

N = 300


def base():
    rng = np.random.default_rng(7)
    ends = rng.integers(N, size=(2, 2000))
    return ps.csr_array((rng.integers(1, 9, 2000).astype(float), ends), shape=(N, N))


def batch(i):
    """The changes of step i: edges to add with values that name the step, and some of the step before to remove."""
    rng = np.random.default_rng(100 + i)
    rows, cols = rng.integers(N, size=(2, 40))
    before = np.random.default_rng(100 + i - 1).integers(N, size=(2, 40))[:, :10]
    return (rows, cols, np.full(40, 1000.0 + i)), tuple(before)


def change(G, i):
    add, remove = batch(i)
    G.update(add=add, remove=remove, missing="ignore")
    if i % 7 == 0:
        G.add_vertices(2)


def after(steps):
    """The matrix after so many steps, without a store."""
    dense = base().toarray()
    for i in range(steps):
        (rows, cols, values), (u, v) = batch(i)
        dense[u, v] = 0
        for r, c, w in zip(rows, cols, values, strict=True):
            dense[r, c] = w
        if i % 7 == 0:
            dense = np.pad(dense, ((0, 2), (0, 2)))
    return dense


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "graph.penstock")
    base().save(name)
    return name


def logs(path):
    return [name for name in os.listdir(f"{path}.changes") if not name.endswith(".cut")]


def test_changes_are_there_after_opening_again(path):
    for begin in range(0, 20, 5):
        with ps.DynamicGraph.open(path) as G:
            assert np.array_equal(G.to_csr().toarray(), after(begin))
            for i in range(begin, begin + 5):
                change(G, i)
            if begin == 10:
                G.compact()
                assert G.changes == 0
                assert G.to_csr().place == "mapped"
                assert np.array_equal(ps.load(path).toarray(), after(15))
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(20))
        assert len(logs(path)) == 1


def test_changes_during_a_compaction_are_in_the_new_log(path):
    with ps.DynamicGraph.open(path) as G:
        change(G, 0)
        done = 1
        for _ in range(5):
            future = G.compact(background=True)
            while not future.done():
                change(G, done)
                done += 1
            future.result()
        assert np.array_equal(G.to_csr().toarray(), after(done))
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(done))


def test_a_compaction_that_changes_nothing(path):
    with ps.DynamicGraph.open(path) as G:
        free = np.argwhere(base().toarray() == 0)[0]
        G.add_edges(*free)
        G.remove_edges(*free)
        G.compact()
        change(G, 0)
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(1))


def test_a_store_keeps_its_packed_lists(tmp_path):
    name = str(tmp_path / "graph.penstock")
    base().save(name, lists=True, packed=True, sample=4)
    with ps.DynamicGraph.open(name) as G:
        change(G, 0)
        G.compact()
    A = ps.open(name, validate=True)
    assert A._derived.packed_lists is not None
    assert A._derived.packed is not None
    assert A._derived.neighbour_sample[0] == 4


def test_one_writer(path):
    with (
        ps.DynamicGraph.open(path),
        pytest.raises(ValueError, match="open for changes already"),
    ):
        ps.DynamicGraph.open(path)
    ps.DynamicGraph.open(path).close()


def test_a_graph_that_nobody_closes_lets_go(path):
    G = ps.DynamicGraph.open(path)
    change(G, 0)
    del G
    gc.collect()
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(1))


def test_a_forked_process_does_not_change_the_store(path):
    with ps.DynamicGraph.open(path) as G:
        change(G, 0)
        child = os.fork()
        if child == 0:
            try:
                change(G, 1)
            except RuntimeError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        change(G, 1)
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(2))


def test_a_batch_that_was_cut_is_dropped(path):
    with ps.DynamicGraph.open(path) as G:
        change(G, 0)
        change(G, 1)
    (name,) = logs(path)
    log = f"{path}.changes/{name}"
    size = os.path.getsize(log)
    whole = Path(log).read_bytes()
    first = 0
    for cut in (size - 1, size - 17, size - 700):
        with open(log, "r+b") as file:
            file.truncate(cut)
        with pytest.warns(RuntimeWarning, match="no whole batch"), ps.DynamicGraph.open(path) as G:
            found = G.to_csr().toarray()
        assert np.array_equal(found, after(1))
        first = os.path.getsize(log)
        with open(log, "wb") as file:
            file.write(whole)
    with open(log, "r+b") as file:  # a byte of the last batch
        file.seek(first + 100)
        file.write(bytes([whole[first + 100] ^ 1]))
    with pytest.warns(RuntimeWarning, match="no whole batch"):
        G = ps.DynamicGraph.open(path)
    with G:
        assert np.array_equal(G.to_csr().toarray(), after(1))
        change(G, 1)
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(2))


def test_damage_in_the_middle_is_refused(path):
    with ps.DynamicGraph.open(path) as G:
        change(G, 1)
        change(G, 2)
    log = Path(f"{path}.changes", *logs(path))
    whole = log.read_bytes()
    log.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    with pytest.raises(ValueError, match="damaged batch at byte 56"):
        ps.DynamicGraph.open(path)
    assert len(log.read_bytes()) == len(whole)
    log.write_bytes(whole)
    with ps.DynamicGraph.open(path) as G:
        assert G.changes > 0


def test_a_broken_head_is_refused(path):
    with ps.DynamicGraph.open(path) as G:
        change(G, 0)
    (name,) = logs(path)
    with open(f"{path}.changes/{name}", "r+b") as file:
        file.write(b"?")
    with pytest.raises(ValueError, match="damaged"):
        ps.DynamicGraph.open(path)


def test_directed_is_as_the_log_was_begun(tmp_path):
    name = str(tmp_path / "graph.penstock")
    A = base()
    (A + A.T).save(name)
    with ps.DynamicGraph.open(name, directed=False) as G:
        G.add_edges([0], [1], [3.0])
    with pytest.raises(ValueError, match="directed=False"):
        ps.DynamicGraph.open(name)
    with ps.DynamicGraph.open(name, directed=False) as G:
        assert G.to_csr().toarray()[1, 0] == 3


def test_a_store_that_others_replace_is_not_overwritten(path):
    with ps.DynamicGraph.open(path) as G:
        change(G, 0)
        other = ps.csr_array(([1.0], ([0], [0])), shape=(N, N))
        other.save(path)
        with pytest.raises(ValueError, match="has been replaced"):
            G.compact()
        assert np.array_equal(G.to_csr().toarray(), after(1))
    assert ps.load(path).nnz == 1
    with pytest.raises(ValueError, match="changes of another version"):
        ps.DynamicGraph.open(path)
    base().save(path)
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(1))


def test_a_full_disk_leaves_the_graph_as_it_is(path, monkeypatch):
    with ps.DynamicGraph.open(path) as G:
        change(G, 0)

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", full)
            with pytest.raises(OSError, match="No space"):
                change(G, 1)
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                G.compact()
        assert np.array_equal(G.to_csr().toarray(), after(1))
        change(G, 1)
        G.compact()
    with ps.DynamicGraph.open(path) as G:
        assert np.array_equal(G.to_csr().toarray(), after(2))


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import penstock as ps
from test_dynamic_store import change
ps.set_num_threads(1)
G = ps.DynamicGraph.open(sys.argv[2])
step = int(sys.argv[3])
while True:
    if step % 5 == 2:
        G.compact(background=True)
    if step % 31 == 30:
        G.compact()
    change(G, step)
    step += 1
    print(step, flush=True)
"""


def run_until_killed(path, step, seconds):
    """Lets a process change the graph from a step on, kills it, and returns how many steps it had done."""
    here = os.path.dirname(__file__)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, here, path, str(step)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], 60)
    assert ready, "the process does nothing"
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    text = child.stdout.read().decode()
    assert child.wait() == -signal.SIGKILL, "the process ended by itself"
    whole = text[: text.rfind("\n") + 1].split()
    return int(whole[-1]) if whole else step


def test_a_store_survives_sigkill_at_any_time(path):
    rng = np.random.default_rng(int(os.environ.get("PENSTOCK_TEST_SEED", "3")))
    step = 0
    for _ in range(int(os.environ.get("PENSTOCK_TEST_KILLS", "6"))):
        acknowledged = run_until_killed(path, step, float(rng.uniform(0, 0.2)))
        ps.open(path, validate=True)
        with warnings.catch_warnings():  # of a batch that was being written
            warnings.simplefilter("ignore")
            G = ps.DynamicGraph.open(path)
        with G:
            matches = [k for k in (acknowledged, acknowledged + 1) if is_after(G, k)]
            assert matches, acknowledged
            step = matches[0]
        assert sorted(os.listdir(os.path.dirname(path))) == [
            "graph.penstock",
            "graph.penstock.changes",
        ]
        assert len(logs(path)) == 1


def is_after(G, step):
    """Whether it is the graph after a step. A step's edges and its new vertices are two batches: where only the first
    one is there, the second one is made up for."""
    found, expected = G.to_csr().toarray(), after(step)
    cut = found.shape[0] == expected.shape[0] - 2
    if not np.array_equal(found, expected[:-2, :-2] if cut else expected):
        return False
    if cut:
        G.add_vertices(2)
    return True
