"""Text files that all ranks read: the same blocks, bit for bit, and the same refusals as of the whole file."""

import gzip
import os
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from dist_support import PARTITIONS, RANKS, SECONDS, matrices, random_owners, run
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._io import matrix_market
from penstock._io._part import newlines, part_blocks
from test_dist_load import same_as_whole, signature

import penstock as ps
from penstock.dist import _file

HEAD = "%%MatrixMarket matrix coordinate "


@pytest.fixture(autouse=True)
def many_rounds(monkeypatch):
    """Blocks of a line or two."""
    monkeypatch.setattr(_file, "ROUND", 64)
    monkeypatch.setattr(_file, "LEAST", 24)


@pytest.fixture
def parts_alone(monkeypatch):
    """Nobody may read a whole file."""

    def refuse(path, **_):
        raise AssertionError(f"{path} was read by one rank")

    monkeypatch.setattr("penstock._io.formats.load", refuse)


def distributed(path):
    return lambda comm, p: ps.dist.csr_array(path, comm, p, halo="isend")


def compare(path, ranks, partition):
    """The ranks' blocks against those of the matrix that the ordinary reader makes."""
    a = ps.load(path)
    if partition == "owners":
        partition = random_owners(a, ranks, 4)
    same_as_whole(a, ranks, partition, distributed(path))


@st.composite
def texts(draw):
    """(suffix, text) of coordinate files and edge lists, with entries given twice, comments, blank lines and either end
    of lines."""
    n = draw(st.integers(1, 12))
    m = n if (square := draw(st.booleans())) else draw(st.integers(1, 12))
    field = draw(st.sampled_from(("real", "integer", "pattern")))
    symmetry = draw(st.sampled_from(("general", "symmetric", "skew-symmetric"))) if square else "general"  # fmt: skip
    if field == "pattern" and symmetry == "skew-symmetric":
        symmetry = "symmetric"
    edges = draw(st.sampled_from(("no", "ids", "noted")))
    if edges != "no":
        symmetry = "general"
    pairs = draw(
        st.lists(st.tuples(st.integers(1, n), st.integers(1, m)), min_size=edges == "ids", max_size=40)
    )  # fmt: skip
    if symmetry == "skew-symmetric":
        pairs = [(i, j) for i, j in pairs if i != j]
    if draw(st.booleans()):
        long = symmetry == "general"
        pairs = [(1, j) if long and k % 3 == 0 else (i, j) for k, (i, j) in enumerate(pairs)]
    rng = np.random.default_rng(len(pairs))
    blank = draw(st.sampled_from((" ", "\t", "  ")))
    base = 1 if edges == "no" else 0
    lines = []
    for i, j in pairs:
        value = {"real": repr(rng.normal()), "integer": str(rng.integers(-9, 9)), "pattern": ""}[
            field
        ]
        lines.append(blank.join((str(i - 1 + base), str(j - 1 + base), value)).strip())
        if draw(st.integers(0, 9)) == 0:
            lines.append(draw(st.sampled_from(("", "% a comment", "   "))))
    if edges == "no":
        head = [f"{HEAD}{field} {symmetry}", "% here", f"{n} {m} {len(pairs)}"]
    else:
        head = [f"# shape {n} {m}"] if edges == "noted" else ["# ids"]
    end = draw(st.sampled_from(("\n", "\r\n"))) if edges == "no" else "\n"
    text = end.join(head + lines) + (end if draw(st.booleans()) else "")
    return (".mtx" if edges == "no" else ".txt"), text


@given(texts(), st.sampled_from(RANKS), st.sampled_from((*PARTITIONS[:-1], "owners")))
@settings(max_examples=120, deadline=None)
def test_as_the_whole_file(tmp_path_factory, file, ranks, partition):
    suffix, text = file
    path = tmp_path_factory.mktemp("file") / f"a{suffix}"
    path.write_bytes(text.encode())
    compare(path, ranks, partition)


@given(matrices(), st.sampled_from(RANKS[1:]), st.sampled_from((".mtx", ".txt", ".csv")))
@settings(max_examples=40, deadline=None)
def test_files_of_our_own(tmp_path_factory, a, ranks, suffix):
    path = tmp_path_factory.mktemp("file") / f"a{suffix}"
    if suffix == ".csv" and (a.nnz == 0 or a.shape[0] != a.shape[1]):
        suffix, path = ".mtx", path.with_suffix(".mtx")
    ps.save(path, a)
    compare(path, ranks, "balanced")


@pytest.mark.parametrize("partition", [*PARTITIONS[:-1], "owners"])
@pytest.mark.parametrize("suffix", [".mtx", ".txt"])
def test_nobody_reads_it_whole(tmp_path, partition, suffix, parts_alone, monkeypatch):
    """Also one where rows have entries in all parts, a row that `bins` split, and rounds of some thousand entries."""
    monkeypatch.setattr(_file, "LEAST", 1 << 14)
    rng = np.random.default_rng(3)
    n = 20_000
    row = np.where(rng.random(n) < 0.5, 7, rng.integers(0, 4000, n))
    a = ps.csr_array((rng.standard_normal(n), (row, rng.integers(0, n, n))), shape=(n, n))
    assert ps.partition.bins(a, 3)._core.pieces[0].size
    path = tmp_path / f"a{suffix}"
    ps.save(path, a)
    p = random_owners(a, 3, 1) if partition == "owners" else partition
    same_as_whole(a, 3, p, distributed(path))


@pytest.mark.parametrize("partition", ["balanced", "bins"])
@pytest.mark.parametrize("ranks", RANKS)
def test_rows_are_as_long_as_they_are_once_equal_entries_are_summed(tmp_path, ranks, partition):
    """Row 0 has one entry, given 200 times: by what the file says, it would be most of the matrix."""
    path = tmp_path / "a.mtx"
    lines = ["1 3 0.1"] * 200 + [f"{1 + k % 9} {1 + k % 8} 1.5" for k in range(60)]
    path.write_text(f"{HEAD}real general\n9 9 {len(lines)}\n" + "\n".join(lines))
    compare(path, ranks, partition)


def test_a_given_partition_with_rows_in_pieces(tmp_path):
    row = np.concatenate([np.zeros(90, np.int64), np.arange(90) % 40])
    a = ps.csr_array((np.arange(180.0), (row, np.arange(180) % 90)), shape=(90, 90))
    ps.save(tmp_path / "a.mtx", a)
    p = ps.partition.bins(a, 4)
    assert p._core.pieces[0].size
    same_as_whole(a, 4, p, distributed(tmp_path / "a.mtx"))
    with pytest.raises(ValueError, match="partition is of a matrix"):
        run(lambda c: ps.dist.csr_array(tmp_path / "a.mtx", c, ps.partition.bins(a[:9], c.size)), 2)
    with pytest.raises(ValueError, match="4 parts, but there are 2 ranks"):
        run(lambda c: ps.dist.csr_array(tmp_path / "a.mtx", c, p), 2)


@given(st.text("ab\n", max_size=60), st.integers(1, 6), st.integers(1, 9), st.integers(0, 5))
@settings(deadline=None)
def test_every_line_is_in_one_part(tmp_path_factory, text, parts, size, start):
    data = text.encode()
    start = min(start, data.rfind(b"\n", 0, start) + 1)
    path = tmp_path_factory.mktemp("part") / "a"
    path.write_bytes(data)
    cuts = [start + (len(data) - start) * r // parts for r in range(parts + 1)]
    found, at = b"", start
    for first, last in pairwise(cuts):
        for block, begin in part_blocks(path, first, last, start, size):
            assert begin == at and first <= begin < last
            found, at = found + block, at + len(block)
            assert block.endswith(b"\n") or at == len(data)
    assert found == data[start:]
    assert newlines(path, start, len(data)) == data[start:].count(b"\n")


GOOD = [f"{1 + k % 9} {1 + k % 7} {k}.5" for k in range(40)]


def mtx(lines, count=None, kind="real general", shape="9 9"):
    count = len(lines) if count is None else count
    return f"{HEAD}{kind}\n% a comment\n{shape} {count}\n" + "\n".join(lines) + "\n"


def with_line(k, line):
    return [*GOOD[:k], line, *GOOD[k + 1 :]]


def test_several_threads_of_a_rank_parse(tmp_path, parts_alone):
    """Blocks in order: of a fault in two of them, the first is told."""
    a = ps.generate.uniform(90, 90, 5, seed=1, dtype=np.float64)
    path, bad = tmp_path / "a.mtx", tmp_path / "b.mtx"
    ps.save(path, a)
    bad.write_text(
        mtx(with_line(35, "x 1 1")).replace("8 3 36.5", "y 1 1").replace("7 6 5.5", "1 1 z")
    )

    def load(comm, source):
        return signature(ps.dist.csr_array(source, comm, halo="isend"))

    how = {"timeout": SECONDS, "threads_per_rank": 3}
    assert ps.dist.run(load, 2, path, **how) == run(load, 2, a)
    told = ps.dist.run(refused, 2, bad, **how)
    assert set(told) == {refusal(bad)}


def refusal(path):
    """Of the ordinary reader."""
    with pytest.raises(ValueError) as wanted:
        matrix_market.read(path)
    return ValueError, str(wanted.value)


@pytest.mark.parametrize("partition", ["balanced", "contiguous"])
@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize(
    "text",
    [
        mtx(with_line(0, "1 2 x")),
        mtx(with_line(19, "1 10 4")),
        mtx(with_line(30, "0 1 4")),
        mtx(with_line(39, "1 1")),
        mtx(with_line(25, "1 1 2 3")),
        mtx(with_line(25, "1 1 1e999")),  # only the second pass looks at how large it is
        mtx([f"{1 + k % 9} 1 {k}" for k in range(30)] + ["1 1 9007199254740993"], kind="integer general"),
        mtx(GOOD, 39),
        mtx(GOOD, 12),
        mtx([*GOOD[:9], "% between", "", *GOOD[9:]], 20),
        mtx(GOOD, 41),
        mtx(GOOD, 10**9),
        mtx(GOOD, shape="9 6"),
        mtx(GOOD, shape="9"),
        mtx(GOOD, kind="real hermitian"),
        mtx(GOOD, kind="rational general"),
    ],
)  # fmt: skip
def test_refused_as_the_whole_file_is(tmp_path, text, ranks, partition, parts_alone):
    """With the same words, the number of the line among them, on every rank; and the ranks go on."""
    path = tmp_path / "a.mtx"
    path.write_text(text)
    told = run(lambda c: refused(c, path, partition), ranks)
    assert told == [refusal(path)] * ranks


def refused(comm, path, partition="balanced"):
    """What this rank is told; a barrier shows that the ranks go on."""
    try:
        ps.dist.csr_array(path, comm, partition)
    except Exception as e:
        comm.barrier()
        return type(e), str(e)
    raise AssertionError("not refused")


EDGES = ["0 1", "3 2", "2 0"] * 12


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "\n".join([*EDGES, "0 x", *EDGES]), "{path}:37: column number 'x' is not an integer: node ids .*"),
        ("a.txt", "\n".join([*EDGES, "0 -1"]), "{path}:37: column number -1 is outside 0 .. 4611686018427.*: node .*"),
        ("a.txt", "# shape 4 4\n" + "\n".join([*EDGES, "0 4"]), "{path}:38: column number 4 is outside 0 .. 3: .*"),
        ("a.txt", "# ids\n" + "\n".join([*EDGES, "0 1 5"]), "{path}:38: the line goes on with '5' after 2 fields"),
        ("a.csv", "source,target\n" + "\n".join([*EDGES, "7"]).replace(" ", ","), "{path}:38: .* 1 of the 2 fields"),
        ("a.txt", "\n".join([*EDGES, "0 900000000"]), "{path}: 900000001 rows for 37 entries: .*renumber the ids.*"),
        ("a.txt", f"# shape {2**31 - 1} 4\n" + "\n".join(EDGES), "{path}: 2147483647 rows for 36 entries: .*"),
        ("a.txt", "# nothing\n", "{path}: there are no edges: pass shape= .*"),
        ("a.mtx", mtx(["2 1 3", "3 1 4", "3 3 5"], shape="3 3", kind="real skew-symmetric"),
         "{path}:6: a nonzero on the diagonal, at row 2: .* zeros there; drop the entry or read .*"),
    ],
)  # fmt: skip
def test_other_refusals(tmp_path, name, text, message, parts_alone):
    path = tmp_path / name
    path.write_text(text)
    told = run(lambda c: refused(c, path), 3)
    assert len(set(told)) == 1 and told[0][0] is ValueError
    assert re.fullmatch(message.format(path=re.escape(str(path))), told[0][1]), told[0][1]


def test_complex_values_are_refused_before_they_are_read(tmp_path, parts_alone):
    path = tmp_path / "a.mtx"
    path.write_text(f"{HEAD}complex general\n2 2 1\n1 1 2.0 3.0\n")
    for kind, text in run(lambda c: refused(c, path), 2):
        assert kind is ps._core.NotCompiledError and "complex" in text


@pytest.mark.parametrize("values", [False, True])
def test_a_rank_that_cannot_read_on(tmp_path, monkeypatch, values):
    """In either pass: the others are told who and why."""
    path = tmp_path / "a.mtx"
    path.write_text(mtx(GOOD))
    walk = _file._Readers._walk

    def torn(parsed):
        yield next(parsed)
        raise OSError(f"{path}: the disk is gone")

    def walk_of(self, with_values):
        found = walk(self, with_values)
        if with_values == values and self._comm.rank == 1:
            found._parsed = torn(found._parsed)
        return found

    monkeypatch.setattr(_file._Readers, "_walk", walk_of)
    told = run(lambda c: refused(c, path), 3)
    words = f"{path}: the disk is gone"
    assert told == [(OSError, f"rank 1: {words}"), (OSError, words), (OSError, f"rank 1: {words}")]


@pytest.mark.parametrize("change", ["another", "fewer"])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, change):
    path = tmp_path / "a.mtx"
    path.write_text(mtx(GOOD))
    count = _file._core.count_among

    def then_change(comm, *how):
        found = count(comm, *how)
        comm.barrier()
        if comm.rank == 0:
            text = mtx([*GOOD[:-1], "1 1 2.0"]) if change == "another" else mtx(GOOD[:-3], 40)
            path.write_text(text)
        comm.barrier()
        return found

    monkeypatch.setattr(_file._core, "count_among", then_change)
    for kind, text in run(lambda c: refused(c, path), 3):
        assert kind is ValueError and text.startswith(f"{path}: ") and "changed" in text


def test_what_one_rank_reads(tmp_path, monkeypatch):
    """Packed files, arrays and other formats, files that not all ranks see, and layouts that ask for all of it."""
    a = ps.generate.uniform(30, 30, 3, seed=1, dtype=np.float64)
    for name in ("a.mtx", "a.txt.gz", "a.npz"):
        ps.save(tmp_path / name, a)
    dense = "\n".join(map(repr, a.toarray().T.ravel().tolist()))
    (tmp_path / "b.mtx").write_text(f"%%MatrixMarket matrix array real general\n30 30\n{dense}\n")
    (tmp_path / "c.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    monkeypatch.setattr(_file, "_Readers", None)
    for name in ("a.txt.gz", "a.npz", "b.mtx", "c.mtx.gz"):
        same_as_whole(a, 3, "balanced", distributed(tmp_path / name))
    same_as_whole(a, 3, "label_propagation", distributed(tmp_path / "a.mtx"))
    wanted = run(lambda c: signature(ps.dist.csr_array(a, c, "grid", halo="isend")), 4)
    path = tmp_path / "a.mtx"
    masters = {"scatter": "masters", "halo": "isend"}
    assert run(lambda c: signature(ps.dist.csr_array(path, c, "grid", **masters)), 4) == wanted
    same_as_whole(a, 3, "balanced", lambda c, p: ps.dist.csr_array(
        path if c.rank == 0 else tmp_path / "elsewhere.mtx", c, p, halo="isend"))  # fmt: skip
    same_as_whole(a, 1, "balanced", distributed(path))


def test_a_missing_file_is_missed_by_all(tmp_path):
    told = run(lambda c: refused(c, tmp_path / "no.mtx"), 3)
    assert [kind for kind, _ in told] == [FileNotFoundError] * 3
    (tmp_path / "no.what").write_text("1")
    assert all(
        "suffix '.what'" in text for _, text in run(lambda c: refused(c, tmp_path / "no.what"), 3)
    )


PEAK = """
import sys
from itertools import pairwise
from pathlib import Path
import numpy as np, penstock as ps

def status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key + ":")).split()[1])

def load(comm, path):
    d = ps.dist.csr_array(path, comm, halo="isend")
    d @ np.ones(d.local_shape[1])
    return d.metrics().bytes.sum()

ps.dist.run(load, 2, sys.argv[2])  # what is made once, and libraries that are loaded
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
held = ps.dist.run(load, 2, sys.argv[1])[0]
print((status("VmHWM") - before) / held)
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks are Linux's")
def test_reading_takes_little_beside_the_shares(tmp_path):
    """The peak of both ranks over their shares; it was 5.4 on one of them when it read the file."""
    for name, rows in (("a", 150_000), ("b", 3000)):
        a = ps.generate.uniform(rows, rows, 24, seed=4, dtype=np.float64)
        ps.save(tmp_path / f"{name}.mtx", a)
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, sorted(tmp_path.iterdir()))],
        capture_output=True, text=True, timeout=SECONDS, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.5
