"""Checkpoints: what is damaged is refused by name, what is not ours stays, and a job may die at any step."""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.dist import _checkpoint

SHAPE = (12, 12)
METHODS = ["cg", "pipecg", "bicgstab", "gmres"]


def solve(path, ranks=2, method="cg", stop=None, seed=0, every=3, partition="contiguous"):
    """(x, info) of a small solve."""
    a = ps.generate.laplacian(SHAPE)
    b = np.random.default_rng(seed).standard_normal(a.shape[0])
    more = {"restart": 5} if method == "gmres" else {}
    if partition == "cyclic":
        partition = np.arange(a.shape[0]) % ranks

    def work(comm):
        D = ps.dist.csr_array(a, comm, partition=partition)
        x, info = getattr(ps.dist.linalg, method)(
            D, D.share(b), rtol=1e-9, maxiter=stop, checkpoint=path, checkpoint_every=every, **more
        )
        return D.collect(x), info

    return ps.dist.run(work, ranks)[0]


def tree(path):
    return {
        str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()
    }


def refused(path, match, **how):
    before = tree(path)
    with pytest.raises(ValueError, match=match) as error:
        solve(path, **how)
    assert str(path) in str(error.value)
    assert "to begin anew, or give another checkpoint=" in str(error.value)
    assert tree(path) == before


# What is not ours stays


def test_the_user_s_folders_stay(tmp_path):
    path = tmp_path / "run1"
    elsewhere = tmp_path / "elsewhere"
    for folder in ("at-home", "at-5", "at-5-0123abcd", "at-7-89abcdef/part-0.npy", "other"):
        (path / folder).mkdir(parents=True)
        (path / folder / "thesis.tex").write_text("years of work")
    (path / "at-9-01234567").mkdir()
    (path / "at-9-01234567" / "part-0.npy").write_text("theirs, too")
    elsewhere.mkdir()
    (elsewhere / "f").write_text("1")
    (path / "at-1-aaaaaaaa").symlink_to("../elsewhere")
    before = {str(p.relative_to(path)) for p in path.rglob("*")}
    assert solve(path, stop=8)[1] == 8
    assert before <= {str(p.relative_to(path)) for p in path.rglob("*")}
    assert solve(path)[1] == 0
    assert {str(p.relative_to(path)) for p in path.rglob("*")} == before
    assert (elsewhere / "f").exists()


def test_what_a_user_puts_into_a_state_s_folder_stays(tmp_path):
    solve(tmp_path / "run", stop=8)
    (folder,) = (tmp_path / "run").glob("at-*")
    (folder / "notes.txt").write_text("mine")
    assert solve(tmp_path / "run")[1] == 0
    assert set(tree(tmp_path / "run")) <= {
        f"{folder.name}/notes.txt",
        f"{folder.name}/{_checkpoint._MARK}",
    }
    assert (folder / "notes.txt").exists()


def test_the_folder_goes_only_where_it_was_made(tmp_path):
    made, given = tmp_path / "made", tmp_path / "given"
    given.mkdir()
    for path in (made, given):
        assert solve(path, stop=8)[1] == 8
        _, info = solve(path)
        assert info == 0 and info.resumed == 8
    assert not made.exists() and list(given.iterdir()) == []


def test_a_state_json_of_the_user_s_is_neither_read_nor_replaced(tmp_path):
    (tmp_path / "state.json").write_text('{"version": 4, "resources": []}')
    refused(tmp_path, "is not the state of a solve")
    (tmp_path / "state.json").write_text('{"format": 1, "folder": "at-8-0123abcd"}')
    refused(tmp_path, "is of format 1, this library reads 2")
    (tmp_path / "state.json").write_text('"text"')
    refused(tmp_path, "is not the state of a solve")


# What is damaged is refused


@functools.cache
def saved(method, partition="contiguous", seed=0):
    """The files of a solve of two ranks that was cut short."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "run")
        solve(
            path, method=method, stop=2 if method == "gmres" else 8, partition=partition, seed=seed
        )
        return tree(path)


def put(path, files):
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def part(files, which="part-1.npy"):
    return next(name for name in files if name.endswith(which))


def changed(data, at, new):
    return data[:at] + new + data[at + len(new) :]


DAMAGE = {
    "zeros": lambda d: d[:128] + bytes(len(d) - 128),
    "one bit": lambda d: changed(d, 300, bytes([d[300] ^ 1])),
    "the last bit": lambda d: d[:-1] + bytes([d[-1] ^ 128]),
    "not a number": lambda d: changed(d, 200, b"\xff" * 8),
    "cut": lambda d: d[: len(d) // 2],
    "empty": lambda d: b"",
    "longer": lambda d: d + bytes(8),
    "header": lambda d: changed(d, 9, b"junk"),
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("method", METHODS)
def test_damaged_vectors(tmp_path, method, kind):
    files = dict(saved(method))
    name = part(files)
    files[name] = DAMAGE[kind](files[name])
    put(tmp_path, files)
    for ranks in (2, 3):
        refused(tmp_path, r"part-1\.npy is damaged or of another state", method=method, ranks=ranks)


def test_damaged_numbers_of_rows(tmp_path):
    files = dict(saved("cg", "cyclic"))
    name = part(files, "rows-0.npy")
    rows = files[name]
    files[name] = changed(rows, 136, rows[128:136])
    refused(put(tmp_path, files), r"rows-0\.npy is damaged")


def test_missing_parts(tmp_path):
    files = dict(saved("cg"))
    del files[part(files)]
    refused(put(tmp_path, files), r"part-1\.npy cannot be read .No such file")


def test_parts_of_other_ranks_and_other_states_are_refused(tmp_path):
    files, later = dict(saved("cg")), saved("cg", seed=1)
    mine = part(files)
    for theirs in (files[part(files, "part-0.npy")], later[part(later)]):
        shutil.rmtree(tmp_path)
        refused(put(tmp_path, {**files, mine: theirs}), r"part-1\.npy is damaged or of another")
    state = later["state.json"]
    shutil.rmtree(tmp_path)
    refused(put(tmp_path, {**files, "state.json": state}), "state of another solve: checksum of b")
    refused(put(tmp_path, {**files, "state.json": state}), r"part-[01]\.npy cannot be read", seed=1)


EDITS = [
    {"iterations": "x"},
    {"iterations": -5},
    {"iterations": 9},
    {"folder": "../../../etc"},
    {"folder": 5},
    {"parts": [[0, 99999999, 1, 1]]},
    {"parts": 5},
    {"parts": [[0, 72], [0, 72]]},
    {"scalars": []},
    {"scalars": [float("nan")] * 9},
    {"scalars": [1e300] * 3},
    {"residuals": ["a"]},
    {"residuals": None},
    {"vectors": 9},
    {"made": None},
    {"digest": "00"},
    {"digest": None},
]


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_edited_states(tmp_path, edit):
    files = dict(saved("cg"))
    files["state.json"] = json.dumps({**json.loads(files["state.json"]), **edit}).encode()
    refused(put(tmp_path, files), "is damaged, or was edited")


@pytest.mark.parametrize("edit", [e for e in EDITS if "digest" not in e], ids=str)
def test_edited_states_with_a_checksum_end_in_no_other_error(tmp_path, edit):
    files = dict(saved("cg"))
    state = {**json.loads(files["state.json"]), **edit}
    del state["digest"]
    state["digest"] = _checkpoint._digest(state)
    files["state.json"] = json.dumps(state).encode()
    put(tmp_path, files)
    with contextlib.suppress(ValueError):
        solve(tmp_path, stop=40)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100000, b'{"format": 2}'])
def test_states_that_are_no_states(tmp_path, text):
    files = {**saved("cg"), "state.json": text}
    refused(put(tmp_path, files), "cannot be read|is not the state|is damaged")


def test_states_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "state.json")
    refused(tmp_path, "is not the state of a solve")
    os.unlink(tmp_path / "state.json")
    (tmp_path / "state.json").mkdir()
    refused(tmp_path, "is not the state of a solve")


def test_missing_keys(tmp_path):
    whole = json.loads(saved("cg")["state.json"])
    for key in whole:
        state = {k: v for k, v in whole.items() if k != key}
        files = {**saved("cg"), "state.json": json.dumps(state).encode()}
        refused(put(tmp_path, files), "is damaged|is not the state")


def test_text_that_says_the_same_is_the_same(tmp_path):
    files = dict(saved("cg"))
    files["state.json"] = json.dumps(json.loads(files["state.json"]), indent=3).encode()
    x, info = solve(put(tmp_path / "a", files))
    y, _ = solve(put(tmp_path / "b", saved("cg")))
    assert info == 0 and info.resumed == 8 and np.array_equal(x, y)


# Jobs that die

KILLED = """
import os, shutil, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import numpy as np
from test_07_checkpoints import solve
from penstock.dist import _checkpoint
path = Path(sys.argv[2])
NAMES = ["open", "mkdir", "replace", "unlink", "rmdir", "fsync"]
wanted, whole = solve(path.parent / "none", every=10**6)
k, deaths, resumed = 0, 0, set()
while True:
    k += 1
    shutil.rmtree(path, ignore_errors=True)
    child = os.fork()
    if child == 0:
        count = [0]
        def wrapped(real):
            def call(*args, **how):
                count[0] += 1
                if count[0] == k:
                    os._exit(9)
                return real(*args, **how)
            return call
        try:
            for name in NAMES:
                setattr(os, name, wrapped(getattr(os, name)))
            solve(path, stop=7)
            os._exit(0)
        finally:
            os._exit(77)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9), code
    x, info = solve(path)
    assert np.array_equal(x, wanted) and info.iterations == whole.iterations, k
    resumed.add(info.resumed)
    left = [p.name for p in path.rglob("*")] if path.exists() else []
    assert not left, (k, left)
    if code == 0:
        break
    deaths += 1
assert resumed == {0, 3, 6, 7}, resumed
print(deaths)
"""


def test_a_job_that_dies_at_any_step_goes_on_from_a_whole_state(tmp_path):
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=memory, prefix="penstock-test-") as name:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(Path(name, "run"))],
            capture_output=True,
            text=True,
            timeout=100,
            env={**os.environ, "PENSTOCK_NUM_THREADS": "1"},
        )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


def test_a_state_that_is_published_stays_where_what_follows_fails(tmp_path, monkeypatch):
    path, real = tmp_path / "run", _checkpoint.Checkpoint._remove_folders

    def fails(self, keep):
        if keep.startswith("at-6-"):
            raise OSError(5, "Input/output error", self.path)
        real(self, keep)

    monkeypatch.setattr(_checkpoint.Checkpoint, "_remove_folders", fails)
    with pytest.raises(OSError, match="Input/output"):
        solve(path)
    monkeypatch.undo()
    _, info = solve(path)
    assert info == 0 and info.resumed == 6 and not path.exists()


def test_a_full_disk(tmp_path):
    """Nothing of the state that did not fit is left, and the older one serves."""
    code = (
        "import sys, resource\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_07_checkpoints import *\n"
        "path = Path(sys.argv[1])\n"
        "solve(path, stop=3)\n"
        "before = tree(path)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "try:\n    solve(path)\n    raise SystemExit('no error')\nexcept OSError:\n    pass\n"
        "assert tree(path) == before\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=True, timeout=60)
    assert solve(tmp_path / "run")[1].resumed == 3


@pytest.mark.parametrize("method", METHODS)
def test_what_goes_on_has_the_same_bits(tmp_path, method):
    wanted, whole = solve(None, method=method)
    put(tmp_path / "run", saved(method))
    x, info = solve(tmp_path / "run", method=method)
    assert 0 < info.resumed < whole.iterations and np.array_equal(x, wanted)


def test_the_fuzzer_runs(tmp_path):
    fuzzer = Path(__file__).parents[1] / "fuzz" / "fuzz_checkpoint.py"
    done = subprocess.run(
        [sys.executable, str(fuzzer), "--seconds", "3", "--seed", "7", "--keep", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no finding" in done.stdout
