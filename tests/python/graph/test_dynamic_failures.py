"""What a DynamicGraph keeps when something fails: a compaction that is given up, a disk, a byte of the log."""

import asyncio
import os
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from penstock._dynamic import files
from penstock._dynamic.state import State

import penstock as ps

N = 20


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "graph.penstock")
    ps.csr_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(N, N)).save(name)
    return name


def add(G, i):
    G.add_edges([i], [(i + 5) % N], [100.0 + i])


def added(path):
    """The batches of add() that the next opening finds."""
    with ps.DynamicGraph.open(path) as G:
        return batches(G)


def batches(G):
    dense = G.to_csr().toarray()
    return [i for i in range(N) if dense[i, (i + 5) % N] == 100 + i]


class Gate:
    """Stops a compaction when the new store is written, and before it is in its place."""

    def __init__(self, monkeypatch, when="write_store"):
        self.reached, self.go, self.calls = threading.Event(), threading.Event(), 0
        whole = getattr(files, when)

        def stopped(*args, **keywords):
            self.calls += 1
            self.reached.set()
            assert self.go.wait(20)
            return whole(*args, **keywords)

        monkeypatch.setattr(files, when, stopped)


def test_a_future_that_is_cancelled_does_not_end_the_compaction(path, monkeypatch):
    gate = Gate(monkeypatch)
    with ps.DynamicGraph.open(path) as G:
        add(G, 0)
        future = G.compact(background=True)
        assert gate.reached.wait(20)

        async def impatient():
            await asyncio.wait_for(asyncio.wrap_future(future), 0.05)

        with pytest.raises(TimeoutError):
            asyncio.run(impatient())
        assert not future.cancel()
        add(G, 1)
        assert G.compact(background=True) is future
        gate.go.set()
        future.result(20)
        assert gate.calls == 1
        add(G, 2)
    assert added(path) == [0, 1, 2]


def test_close_waits_and_lets_no_other_compaction_begin(path, monkeypatch):
    gate = Gate(monkeypatch)
    G = ps.DynamicGraph.open(path)
    add(G, 0)
    future = G.compact(background=True)
    assert gate.reached.wait(20)
    add(G, 1)
    closing = threading.Thread(target=G.close)
    closing.start()
    while not G._closed:
        pass
    with pytest.raises(ValueError, match="is closed"):
        G.compact()
    with pytest.raises(ValueError, match="is closed"):
        add(G, 2)
    assert closing.is_alive()
    gate.go.set()
    closing.join(20)
    assert not closing.is_alive()
    future.result(20)
    assert added(path) == [0, 1]


def test_a_thread_that_does_not_start_leaves_the_graph_usable(path, monkeypatch):
    with ps.DynamicGraph.open(path) as G:
        add(G, 0)

        def no_thread(_):
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_thread)
            with pytest.raises(RuntimeError, match="start new thread"):
                G.compact(background=True)
        G.compact()
        assert G.changes == 0
    assert added(path) == [0]


def test_a_store_that_cannot_be_opened_again(path, monkeypatch):
    """It is in its place with its log: what is changed from then on counts."""
    with ps.DynamicGraph.open(path) as G:
        add(G, 0)
        with monkeypatch.context() as patch:
            patch.setattr(files, "open_store", failing(OSError(24, "Too many open files")))
            with pytest.raises(OSError, match="Too many"):
                G.compact()
        add(G, 1)
        assert batches(G) == [0, 1]
    assert added(path) == [0, 1]


@pytest.mark.parametrize("what", ["forms_of", "sync"])
def test_a_compaction_that_cannot_tell_what_is_on_the_disk(path, monkeypatch, what):
    with ps.DynamicGraph.open(path) as G:
        add(G, 0)
        whole = files.write_store
        with monkeypatch.context() as patch:

            def then_fails(*args, **keywords):
                whole(*args, **keywords)
                patch.setattr(files, what, failing(OSError(24, "Too many open files")))

            patch.setattr(files, "write_store", then_fails)
            with pytest.raises(OSError, match="Too many"):
                G.compact()
        assert (
            len(os.listdir(f"{path}.changes")) == 2
        )  # either store may be there after a power cut
        for change in (lambda: add(G, 1), G.compact, lambda: G.add_vertices(1)):
            with pytest.raises(RuntimeError, match="open it again"):
                change()
        assert batches(G) == [0]
    assert added(path) == [0]
    assert len(os.listdir(f"{path}.changes")) == 1


def failing(error):
    def fails(*_, **__):
        raise error

    return fails


def test_a_store_that_another_program_puts_there_while_ours_is_written(path, monkeypatch):
    gate = Gate(monkeypatch)
    with ps.DynamicGraph.open(path) as G:
        add(G, 0)
        future = G.compact(background=True)
        assert gate.reached.wait(20)
        ps.csr_array(([9.0], ([3], [3])), shape=(N, N)).save(path)
        gate.go.set()
        with pytest.raises(ValueError, match="has been replaced"):
            future.result(20)
    assert ps.load(path).nnz == 1
    assert len(os.listdir(f"{path}.changes")) == 1


def test_a_batch_that_memory_has_no_room_for_is_not_in_the_log(path, monkeypatch):
    with ps.DynamicGraph.open(path) as G:
        count = G.components()[0]
        add(G, 0)
        with monkeypatch.context() as patch:
            patch.setattr(State, "after", failing(MemoryError()))
            with pytest.raises(MemoryError):
                add(G, 1)
        assert batches(G) == [0]
        assert G.components()[0] == count - 1
        add(G, 2)
        assert G.components()[0] == count - 2
    assert added(path) == [0, 2]


def test_an_interrupt_after_the_batch_was_written(path, monkeypatch):
    with ps.DynamicGraph.open(path) as G:
        G.components()
        append = G._store.log.append

        def interrupted(*args):
            append(*args)
            raise KeyboardInterrupt

        monkeypatch.setattr(G._store.log, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            add(G, 3)
        in_memory, count = batches(G), G.components()[0]
        assert count == ps.csgraph.connected_components(G.to_csr())[0]
    assert added(path) == in_memory


def test_what_could_not_be_cut_off_is_written_over(path, monkeypatch):
    with ps.DynamicGraph.open(path) as G:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", failing(OSError(5, "Input/output error")))
            patch.setattr(os, "fsync", failing(OSError(5, "Input/output error")))
            with pytest.raises(OSError, match="Input"):
                G.add_edges(np.arange(10), np.arange(10))
        add(G, 0)
        with open(G._store.log.path, "ab") as file:
            file.write(b"left over")
        add(G, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert added(path) == [0, 1]


def test_a_relative_path_is_kept_when_the_process_goes_elsewhere(path, monkeypatch):
    monkeypatch.chdir(os.path.dirname(path))
    with ps.DynamicGraph.open(os.path.basename(path)) as G:
        add(G, 0)
        os.mkdir("elsewhere")
        monkeypatch.chdir("elsewhere")
        G.compact()
        add(G, 1)
        assert os.listdir(".") == []
    assert added(path) == [0, 1]


def test_every_damaged_byte_before_the_last_batch_is_refused(path):
    with ps.DynamicGraph.open(path) as G:
        add(G, 0)
        G.add_vertices(1)
        add(G, 1)
        last = G._store.log.end
        add(G, 2)
    (name,) = os.listdir(f"{path}.changes")
    log = Path(f"{path}.changes", name)
    whole = log.read_bytes()
    assert len(whole) - last == 40
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        log.write_bytes(damaged)
        if at < last:
            with pytest.raises(ValueError, match=r"damaged|directed"):
                ps.DynamicGraph.open(path)
            assert log.read_bytes() == damaged
        else:
            with pytest.warns(RuntimeWarning, match="no whole batch"):
                ps.DynamicGraph.open(path).close()
            kept = Path(f"{log}.cut")
            assert kept.read_bytes() == damaged[last:]
            kept.unlink()
    damaged = bytearray(whole[:-7])  # the last one cut, and the length of the first one damaged
    damaged[56 + 16] ^= 64
    log.write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged batch at byte 56"):
        ps.DynamicGraph.open(path)
    log.write_bytes(whole)
    with ps.DynamicGraph.open(path) as G:
        assert G.number_of_edges() == 5


def test_forms_are_those_of_the_store(path):
    A = ps.open(path)
    for packed in (True, "only", False):
        A.save(path, packed=packed)
        with ps.DynamicGraph.open(path) as G:
            add(G, 0)
            G._state.base._derived.packed = False  # as of one that cannot be packed
            G.compact()
        assert files.forms_of(path)[1] == {"packed": packed, "sample": False, "lists": False}
