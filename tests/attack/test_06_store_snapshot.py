"""A store is a snapshot: old or new at any time, whoever reads, writes or dies; and nothing else is touched."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from penstock._io import _atomic, _drafts, store

import penstock as ps

N = 200


def version(k):
    """Matrices of one shape and size: lengths of rows, columns and values all tell which one it is."""
    lengths = np.random.default_rng(k).multinomial(10 * N, np.ones(N) / N)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return ps.csr_array(
        (np.full(10 * N, float(k)), np.full(10 * N, k, np.int32), indptr), shape=(N, N)
    )


def which(a, versions):
    """The number of the version; the parts of several are a failure."""
    k = int(a.indices[0])
    b = versions[k]
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), f"{name} is not version {k}'s"
    return k


def run(code, *args, wait=True, **how):
    """A child with `version` of this file."""
    head = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom test_06_store_snapshot import *\n"
    head += "from penstock._io import _atomic, store\n"
    child = subprocess.Popen(
        [sys.executable, "-c", head + code, *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PENSTOCK_NUM_THREADS": "1"},
        **how,
    )
    if not wait:
        return child
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0, out
    return out


def names(folder):
    return sorted(p.name for p in Path(folder).iterdir())


@pytest.fixture
def quick(tmp_path):
    """A folder in memory, where fsync takes no time."""
    shm = Path("/dev/shm")
    if not (shm.is_dir() and os.access(shm, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shm, prefix="penstock-test-") as name:
        yield Path(name)


# Opening while others save

WRITER = """
versions = [version(k) for k in range(4)]
if sys.argv[3] == "renames":
    _atomic.exchange = lambda a, b: False
end, saves = time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    versions[saves % 4].save(sys.argv[1], packed=saves % 2 == 0)
    saves += 1
print(saves)
"""


def test_a_draft_that_holds_a_replaced_store_is_not_taken(tmp_path):
    """Between mkdir and open of a draft, another writer can use its name, and leave there what it replaced."""
    made = []

    def make(path):
        os.mkdir(path)
        made.append(path)
        if len(made) == 1:
            Path(path, "indptr.npy").touch()
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    part, descriptor = _drafts.claim(str(tmp_path / "a.penstock"), make, ("indptr.npy",))
    assert part == made[1] and os.listdir(part) == []
    _drafts.let_go(descriptor)
    again, descriptor = _drafts.claim(str(tmp_path / "a.penstock"), make, ("indptr.npy",))
    assert again == made[0]  # what lay there was nobody's, and is gone
    _drafts.let_go(descriptor)


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_readers_see_one_version_while_writers_replace_it(quick, way):
    path, versions = quick / "a.penstock", [version(k) for k in range(4)]
    versions[0].save(path)
    writers = [run(WRITER, path, 1.5, way, wait=False) for _ in range(2)]
    opens, seen, missing = 0, set(), 0
    while any(w.poll() is None for w in writers):
        missing += not path.exists()
        seen.add(which(ps.open(path, validate=opens % 5 == 0), versions))
        opens += 1
    saves = [int(w.communicate()[0]) for w in writers]
    assert all(w.returncode == 0 for w in writers) and min(saves) > 3 and opens > 20
    assert len(seen) > 1
    assert not (missing and way == "exchange")
    ps.open(path)
    assert names(quick) == ["a.penstock"]


def test_a_store_that_is_replaced_in_the_middle_of_opening(tmp_path, monkeypatch):
    path, versions = tmp_path / "a.penstock", [version(k) for k in range(3)]
    versions[1].save(path)
    real, left = store._array, [versions[2]]

    def meanwhile(at, said, name, *rest):
        if name == "data" and left:
            left.pop().save(path)
        return real(at, said, name, *rest)

    monkeypatch.setattr(store, "_array", meanwhile)
    assert which(ps.open(path), versions) in (1, 2)
    assert which(ps.open(path), versions) == 2


def test_a_store_that_is_copied_over_in_the_middle_of_opening(tmp_path, monkeypatch):
    path, versions = tmp_path / "a.penstock", [version(k) for k in range(3)]
    versions[1].save(path)
    versions[2].save(tmp_path / "b.penstock")
    real, left = store._array, [1]

    def meanwhile(at, said, name, *rest):
        found = real(at, said, name, *rest)
        if name == "indices" and left:
            left.pop()
            for file in (tmp_path / "b.penstock").iterdir():  # new inodes, as rsync makes them
                shutil.copy(file, tmp_path / "file")
                os.replace(tmp_path / "file", path / file.name)
        return found

    monkeypatch.setattr(store, "_array", meanwhile)
    assert which(ps.open(path), versions) == 2


def test_what_is_mapped_stays(tmp_path):
    path, versions = tmp_path / "a.penstock", [version(k) for k in range(3)]
    versions[1].save(path)
    mapped = ps.open(path)
    mapped.save(path)
    versions[2].save(path)
    versions[2].save(path)
    assert which(mapped, versions) == 1 and which(ps.open(path), versions) == 2
    np.testing.assert_array_equal(mapped @ np.ones(N), versions[1] @ np.ones(N))


@pytest.mark.parametrize("kind", ["csr_array", "tiles"])
def test_ranks_open_one_version(tmp_path, monkeypatch, kind):
    path, versions = tmp_path / "a.penstock", [version(k) for k in range(3)]
    versions[1].save(path)
    real, calls, lock = store.open_store, [], threading.Lock()

    def meanwhile(folder, **how):
        with lock:
            found = real(folder, **how)
            calls.append(found)
            if len(calls) == 1:
                versions[2].save(path)
        return found

    monkeypatch.setattr(store, "open_store", meanwhile)

    def work(comm):
        if kind == "tiles":
            return ps.dist.tiled_array(str(path), comm=comm).collect()
        D = ps.dist.csr_array(str(path), comm)
        return D.collect(D @ np.ones(len(D.rows)))

    for found in ps.dist.run(work, 2):
        if kind == "tiles":
            assert which(found, versions) == 2
        else:
            np.testing.assert_array_equal(found, versions[2] @ np.ones(N))
    assert len(calls) >= 4


# Writers that die

KILLED = """
path, way = Path(sys.argv[1]), sys.argv[2]
versions = [version(k) for k in range(3)]
if way == "renames":
    _atomic.exchange = lambda a, b: False
CALLS = ["open", "mkdir", "rename", "unlink", "rmdir", "fsync", "chmod", "listdir"]

def die_at(k, after):
    count = [0]
    def wrapped(real):
        def call(*args, **how):
            count[0] += 1
            if count[0] == k and not after:
                os._exit(9)
            found = real(*args, **how)
            if count[0] == k:
                os._exit(9)
            return found
        return call
    for name in CALLS:
        setattr(os, name, wrapped(getattr(os, name)))
    if way == "exchange":
        _atomic.exchange = wrapped(_atomic.exchange)

deaths, kept = 0, set()
for after in (False, True):
    k = 0
    while True:
        k += 1
        shutil.rmtree(path, ignore_errors=True)
        versions[1].save(path)
        child = os.fork()
        if child == 0:
            try:
                die_at(k, after)
                versions[2].save(path, packed=True)
                os._exit(0)
            finally:
                os._exit(77)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        if way == "exchange":
            assert (path / "header.json").exists(), (k, after)
        if k % 3 == 0:  # who saves next tidies up as well
            versions[0].save(path)
            assert which(ps.open(path, validate=True), versions) == 0
        else:
            kept.add(which(ps.open(path, validate=True), versions))
        assert names(path.parent) == [path.name], (k, after, names(path.parent))
        if code == 0:
            break
        deaths += 1
assert kept == {1, 2}
print(deaths)
"""


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_a_writer_that_dies_at_any_step_leaves_a_whole_store(quick, way):
    folder = quick / "d"
    folder.mkdir()
    assert int(run(KILLED, folder / "a.penstock", way)) > 40


def test_a_killed_writer(tmp_path):
    path, versions = tmp_path / "a.penstock", [version(k) for k in range(4)]
    versions[0].save(path)
    writer = run(WRITER, path, 60, "exchange", wait=False)
    time.sleep(1.5)
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    which(ps.open(path, validate=True), versions)
    assert names(tmp_path) == ["a.penstock"]


HOLDS = """
with _atomic.atomic_folder(sys.argv[1], store.FILES) as part:
    Path(part, "indptr.npy").write_bytes(b"begun")
    print(part, flush=True)
    time.sleep(60)
"""


def test_drafts_of_living_writers_stay(tmp_path):
    path, a = tmp_path / "a.penstock", version(1)
    a.save(path)
    writer = run(HOLDS, path, wait=False)
    draft = Path(writer.stdout.readline().strip())
    a.save(path)
    ps.open(path)
    assert (draft / "indptr.npy").exists() and draft.parent == tmp_path
    writer.kill()
    writer.communicate()
    ps.open(path)
    assert names(tmp_path) == ["a.penstock"]


def test_leftovers_that_are_not_ours_stay(tmp_path):
    path, a = tmp_path / "a.penstock", version(1)
    a.save(path)
    like = Path(_drafts._path(str(path), 0))
    like.mkdir()
    (like / "thesis.tex").write_text("years")
    aside = tmp_path / ".a.penstock.0.replaced"
    aside.mkdir()
    (aside / "thesis.tex").write_text("years")
    a.save(path)
    ps.open(path)
    assert (like / "thesis.tex").exists() and (aside / "thesis.tex").exists()


def test_without_locks(tmp_path, monkeypatch):
    """As on some network file systems: what dead writers left stays, everything else works."""

    def none(*_):
        raise OSError(37, "No locks available")

    path, versions = tmp_path / "a.penstock", [version(k) for k in range(3)]
    monkeypatch.setattr(_drafts.fcntl, "flock", none)
    monkeypatch.setattr(_atomic, "exchange", lambda *_: False)
    draft = Path(_drafts._path(str(path), 0))
    draft.mkdir()
    for k in range(3):
        versions[k].save(path)
        assert which(ps.open(path), versions) == k
        assert names(tmp_path) == [draft.name, "a.penstock"]


def test_files_that_died_are_replaced(tmp_path):
    path = tmp_path / "a.mtx"
    code = (
        "with _atomic.atomic_file(sys.argv[1]) as f:\n f.write(b'half')\n f.flush()\n os._exit(0)"
    )
    run(code, path)
    assert len(names(tmp_path)) == 1 and not path.exists()
    version(1).save(path)
    assert names(tmp_path) == ["a.mtx"]


def test_a_product_that_fails_while_it_is_written(tmp_path):
    from penstock._io._append import save_blocks

    path, a = tmp_path / "a.penstock", version(1)
    a.save(path)

    def blocks():
        yield a
        raise MemoryError("no more")

    with pytest.raises(MemoryError):
        save_blocks(path, (2 * N, N), a.dtype, blocks())
    assert ps.open(path, validate=True).shape == (N, N) and names(tmp_path) == ["a.penstock"]


def test_generations(tmp_path):
    """The same matrix has the same wherever it is saved; stores of before have none."""
    path = tmp_path / "a.penstock"

    def generation():
        return json.loads((path / "header.json").read_text())["penstock"]["generation"]

    version(1).save(path)
    first = generation()
    version(2).save(path)
    assert generation() != first
    version(1).save(path)
    assert generation() == first
    header = json.loads((path / "header.json").read_text())
    del header["penstock"]["generation"]
    (path / "header.json").write_text(json.dumps(header))
    assert which(ps.open(path, validate=True), [version(k) for k in range(2)]) == 1
