"""Text files whose numbers are beyond 2^31, read by ranks, against the entries that were written."""

from __future__ import annotations

import functools
import gzip
import json
import re

import numpy as np
import pytest
from penstock.cli import files
from penstock.cli.app import app
from penstock.dist._wide import alone, numbers, room
from typer.testing import CliRunner

import penstock as ps
from penstock.dist import _file

N = 2**33


def drawn(seed=1, count=4000):
    rng = np.random.default_rng(seed)
    near = np.array([0, 2**31 - 1, 2**31, 2**32, N - 1])
    row, col = (np.where(rng.random(count) < 0.2, rng.choice(near, count), rng.integers(0, N, count))
                for _ in range(2))  # fmt: skip
    return row, col, rng.integers(1, 99, count).astype(float)


def lines(row, col, values, base, separator=" "):
    columns = [row + base, col + base] + ([] if values is None else [values.astype(int)])
    return "".join(separator.join(map(str, line)) + "\n" for line in zip(*columns, strict=True))


def matrix_market(entries, kind="real", symmetry="general"):
    row, col, values = entries
    head = f"%%MatrixMarket matrix coordinate {kind} {symmetry}\n% numbers of 64 bits\n{N} {N} {len(row)}\n"
    return head + lines(row, col, None if kind == "pattern" else values, 1)


def products(source, ranks, **how):
    """(numbers, A x, A.T x) of all ranks, for an x that knows its numbers."""

    def work(comm):
        D = ps.dist.csr_array(source(comm), comm, **how)
        x = (D.cols % 1013).astype(float)
        return D.rows, D @ x, D.T @ x, np.array([D.shape, (D.nnz, 0)])

    parts = ps.dist.run(work, ranks)
    return [*(np.concatenate([p[k] for p in parts]) for k in range(3)), parts[0][3]]


def of_entries(row, col, values):
    return products(lambda comm: ps.dist.Entries(
        row[comm.rank :: comm.size], col[comm.rank :: comm.size],
        None if values is None else values[comm.rank :: comm.size], shape=(N, N)), 2)  # fmt: skip


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def gzipped(path):
    """Two members, as tools that pack in parallel write them."""
    packed, text = path.with_name(f"{path.name}.gz"), path.read_bytes()
    packed.write_bytes(
        gzip.compress(text[: len(text) // 3]) + gzip.compress(text[len(text) // 3 :])
    )
    return packed


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", ["a.mtx", "a.tsv", "a.csv", "a.el", "pattern.mtx", "noted.txt"])
def test_files(tmp_path, name, ranks, packed):
    row, col, values = drawn()
    pattern = name in ("pattern.mtx", "a.el", "noted.txt")
    if name.endswith(".mtx"):
        text = matrix_market((row, col, values), "pattern" if pattern else "real")
    else:
        text = lines(
            row,
            col,
            None if pattern else values,
            0,
            {".csv": ",", ".tsv": "\t"}.get(name[-4:], " "),
        )
        text = {"noted.txt": f"# shape {N} {N}\n", "a.csv": "source,target,weight\n"}.get(
            name, ""
        ) + text
    path = written(tmp_path, name, text)
    path = gzipped(path) if packed else path
    found = products(lambda comm: path, ranks)
    expected = of_entries(row, col, None if pattern else values)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric"])
def test_symmetric_files(tmp_path, symmetry, packed):
    row, col, values = drawn(2, 300)
    row, col = np.maximum(row, col), np.minimum(row, col)
    apart = row != col
    row, col, values = row[apart], col[apart], values[apart]
    sign = 1 if symmetry == "symmetric" else -1
    path = written(tmp_path, "s.mtx", matrix_market((row, col, values), "real", symmetry))
    path = gzipped(path) if packed else path
    expected = of_entries(
        np.append(row, col), np.append(col, row), np.append(values, sign * values)
    )
    for ours, theirs in zip(products(lambda comm: path, 2), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_an_edge_list_of_one_vertex_beyond(tmp_path, monkeypatch):
    """The largest number decides: 2^31 - 2 is the last of an ordinary matrix."""
    monkeypatch.setattr(numbers, "LIMIT", 1 << 20)
    for largest, listed in (((1 << 20) - 1, False), (1 << 20, True)):
        path = written(tmp_path, "a.tsv", f"0\t{largest}\n{largest}\t3\n")

        def work(comm, path=path):
            D = ps.dist.csr_array(path, comm)
            return D.listed, D.shape, D.nnz

        assert set(ps.dist.run(work, 2)) == {(listed, (largest + 1,) * 2, 2)}


FAULTS = {
    "outside": (matrix_market(drawn()).replace("4000\n", f"4000\n{N + 1} ", 1),
                r"a\.mtx:\d+: row number 8589934593 is outside 1 .. 8589934592"),
    "too many": (matrix_market(drawn()) + "1 1 1\n", r"a\.mtx:4004: more entries than the 4000"),
    "too few": (matrix_market(drawn()).rsplit("\n", 2)[0] + "\n", r"a\.mtx:3: the file ends after 3999"),
    "words": (matrix_market(drawn()) .replace("\n1 ", "\nx ", 1), r"a\.mtx:\d+: row number 'x' is not an integer"),
    "2^64": (f"%%MatrixMarket matrix coordinate pattern general\n3 {2**64} 1\n1 1\n", r"a\.mtx:2: .*is over"),
    "2^62": (f"%%MatrixMarket matrix coordinate pattern general\n3 {2**62} 1\n1 1\n",
             r"a\.mtx:2: 4611686018427387904 columns exceed 4611686018427387903"),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_name_the_line(tmp_path, fault, packed):
    text, message = FAULTS[fault]
    path = written(tmp_path, "a.mtx", text)
    if packed:
        path, message = gzipped(path), message.replace("mtx:", "mtx.gz:")
    with pytest.raises(ValueError, match=message):
        ps.dist.run(lambda comm: ps.dist.csr_array(path, comm).nnz, 3)


def test_an_id_of_more_than_62_bits(tmp_path):
    for number in (2**62, 2**63, 2**64 + 5):
        path = written(tmp_path, "a.tsv", f"0\t1\n5\t{number}\n")
        with pytest.raises(ValueError, match=rf"a\.tsv:2: .*{number}.*(outside|too large)"):
            ps.dist.run(lambda comm, path=path: ps.dist.csr_array(path, comm).nnz, 2)


def test_one_process_names_the_remedy(tmp_path):
    """Nothing wraps where numbers have 32 bits: readers, the store and the commands."""
    market = written(tmp_path, "a.mtx", matrix_market(drawn()))
    packed = gzipped(market)
    edges = written(tmp_path, "c.tsv", f"0\t1\n{2**31 - 1}\t2\n")
    for path in (market, packed, edges):
        with pytest.raises(ValueError, match=rf"{path.name}:\d+: .*ps\.dist\.csr_array"):
            ps.load(path)
    run = CliRunner().invoke(app, ["convert", str(edges), str(tmp_path / "c.penstock")])
    assert run.exit_code != 0 and not (tmp_path / "c.penstock").exists()


def test_other_ways_to_share_out_are_refused(tmp_path):
    path = written(tmp_path, "a.mtx", matrix_market(drawn()))
    for how, message in (
        ({"partition": "bins"}, "'contiguous' or 'balanced'"),
        ({"partition": "label_propagation"}, "'contiguous' or 'balanced'"),
        ({"scatter": "masters"}, "scatter='direct' alone"),
        ({"sums": "gather"}, "sums='owners' alone"),
    ):
        with pytest.raises(ValueError, match=message):
            ps.dist.run(lambda comm, how=how: ps.dist.csr_array(path, comm, **how).nnz, 2)


def test_the_partition_command_numbers_what_is_listed_anew(tmp_path):
    row, col, values = drawn(5, 900)
    path = written(tmp_path, "a.mtx", matrix_market((row, col, values)))
    ids = np.union1d(row, col)
    small = ps.csr_array(
        (values, (np.searchsorted(ids, row), np.searchsorted(ids, col))), shape=(len(ids),) * 2
    )
    run = CliRunner().invoke(app, ["partition", str(path), "-n", "5", "--compare", "--json"])
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert (told["rows"], told["cols"], told["listed_rows"], told["nnz"]) == (
        N,
        N,
        len(ids),
        small.nnz,
    )
    found = {m["method"]: m["halo_volume"] for m in told["methods"]}
    assert set(found) >= {"balanced", "bins"}
    for name in ("balanced", "bins", "label_propagation"):
        assert found[name] == getattr(ps.partition, name)(small, 5).metrics(small).halo_volume
    packed = CliRunner().invoke(app, ["partition", str(gzipped(path)), "-n", "5", "--json"])
    assert json.loads(packed.stdout)["listed_rows"] == len(ids)
    words = CliRunner().invoke(app, ["partition", str(path), "-n", "5"])
    assert (
        words.exit_code == 0
        and f"{len(ids):,} rows and {len(ids):,} columns have entries" in words.output
    )
    broken = written(
        tmp_path, "b.mtx", matrix_market((row, col, values)).replace("900\n", "901\n", 1)
    )
    run = CliRunner().invoke(app, ["partition", str(broken), "-n", "5"])
    assert (
        run.exit_code != 0
        and "b.mtx:3: the file ends after 900 of the 901" in run.output.replace("\n", " ")
    )


def test_at_the_limit(tmp_path):
    """2^31 rows or columns are listed; 2^31 - 1 rows of few entries are refused, as ever."""

    def work(comm, path):
        D = ps.dist.csr_array(path, comm)

        def whole(part):
            return np.concatenate(comm.collect(part)).tolist()

        return (
            D.listed,
            D.shape,
            D.nnz,
            whole(D.rows),
            whole(D.cols),
        )

    last = 2**31 - 1
    edges = written(tmp_path, "a.tsv", f"0\t{last}\n{last}\t3\n")
    told = ps.dist.run(lambda comm: work(comm, edges), 2)[1]
    assert told[:3] == (True, (2**31, 2**31), 2)
    assert told[3] == [0, 3, last]
    wide = written(
        tmp_path,
        "b.mtx",
        f"%%MatrixMarket matrix coordinate real general\n3 {2**31} 2\n3 {2**31} 5\n1 1 2\n",
    )
    told = ps.dist.run(lambda comm: work(comm, wide), 2)[0]
    assert told[:3] == (True, (3, 2**31), 2) and told[3] == [0, 2] and told[4] == [0, last]
    tall = written(
        tmp_path,
        "c.mtx",
        f"%%MatrixMarket matrix coordinate pattern general\n{2**31} 3 1\n{2**31} 3\n",
    )
    told = ps.dist.run(lambda comm: work(comm, tall), 2)[0]
    assert told[:3] == (True, (2**31, 3), 1) and told[3] == [last] and told[4] == [2]
    fewer = written(tmp_path, "d.tsv", f"0\t{last - 1}\n")
    with pytest.raises(ValueError, match=f"{last} rows for 1 entries"):
        ps.dist.run(lambda comm: work(comm, fewer), 2)


def on_all_ranks(work, ranks, kind):
    """What each rank says, all of which raise."""

    def told(comm):
        try:
            work(comm)
        except kind as error:
            comm.barrier()  # they go on together
            return str(error)
        return None

    return ps.dist.run(told, ranks)


def test_a_rank_without_memory_is_one_on_all(tmp_path, monkeypatch):
    row, col = np.arange(3000), np.arange(3000)[::-1] + 2**32
    path = written(tmp_path, "a.mtx", matrix_market((row, col, None), "pattern"))
    add, asked = _file.add, []

    def failing(held, row, col, values, base, *rest):
        if (row - base == 2999).any():
            raise MemoryError("none is left")
        add(held, row, col, values, base, *rest)

    monkeypatch.setattr(_file, "add", failing)
    told = on_all_ranks(lambda comm: ps.dist.csr_array(path, comm), 3, MemoryError)
    assert told == ["rank 2: none is left"] * 2 + ["none is left"]
    monkeypatch.setattr(_file, "add", lambda *_: asked.append(1))
    monkeypatch.setattr(room, "UNASKED", 0)
    monkeypatch.setattr(room, "available", lambda: 5000 * 16)  # 3000 are read, and as many travel
    told = on_all_ranks(lambda comm: ps.dist.csr_array(path, comm), 3, MemoryError)
    assert all("of this machine (3) need" in t for t in told)
    reads = [int(re.search(r"would read (\d+) entries", t)[1]) for t in told]
    assert 3000 <= sum(reads) <= 3003  # a line may reach into the next part
    assert not asked
    monkeypatch.setattr(_file, "add", add)
    monkeypatch.setattr(room, "available", lambda: 6100 * 16)
    assert ps.dist.run(lambda comm: ps.dist.csr_array(path, comm).nnz, 3) == [3000] * 3


@pytest.mark.parametrize("ranks", [1, 3])
def test_packed_files_that_cannot_be_read(tmp_path, monkeypatch, ranks):
    def read(path, **how):
        return ps.dist.run(lambda comm: ps.dist.csr_array(path, comm, **how).nnz, ranks)

    path = gzipped(written(tmp_path, "a.mtx", matrix_market(drawn())))
    for how in ({"partition": "bins"}, {"sums": "gather"}):
        with pytest.raises(ValueError, match="contiguous|owners"):
            read(path, **how)
    with pytest.raises(ValueError, match="rank 0 reads the file alone"):
        read(path, scatter="masters")
    text = matrix_market(drawn(), "complex")
    body = "".join(f"{line} 1\n" for line in text.splitlines()[3:])
    whole = "\n".join(text.splitlines()[:3]) + "\n" + body
    with pytest.raises(ps.NotCompiledError, match="these are complex"):
        read(gzipped(written(tmp_path, "c.mtx", whole)))
    skewed = matrix_market(
        (np.array([5, N - 1]), np.array([2, N - 1]), np.ones(2)), "real", "skew-symmetric"
    )
    with pytest.raises(ValueError, match="d.mtx.gz: entry 1: a nonzero on the diagonal"):
        read(gzipped(written(tmp_path, "d.mtx", skewed)))
    short = tmp_path / "e.tsv.gz"
    short.write_bytes(gzip.compress(f"0\t{2**31}\n1\t2\n".encode())[:-9])
    with pytest.raises(ValueError, match="ends early"):
        read(short)
    monkeypatch.setattr(room, "UNASKED", 0)
    monkeypatch.setattr(room, "available", lambda: 5000 * 24)  # 4000 are read, and as many travel
    with pytest.raises(MemoryError, match="would read .* use more machines"):
        read(path)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("scale", [31, 33])
def test_ranks_of_one_machine_share_its_memory(monkeypatch, scale, ranks):
    monkeypatch.setattr(room, "UNASKED", 0)
    make = functools.partial(ps.generate.rmat, scale, 4000 / 2**scale, seed=1, undirected=False)
    for bytes_there, fits in ((2 * 3900 * 16, False), (2 * 4100 * 16, True)):
        monkeypatch.setattr(room, "available", lambda n=bytes_there: n)
        told = on_all_ranks(lambda comm: ps.dist.csr_array(make, comm), ranks, MemoryError)
        assert [t is None for t in told] == [fits] * ranks


def test_partition_reads_a_broken_file_once(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(alone, "renumbered", lambda path: calls.append(path))
    head = "%%MatrixMarket matrix coordinate pattern general\n"
    for name, text in (
        ("a.tsv", "0\t1\n1\tx\n"),
        ("b.tsv", "0\t1\n1\n"),
        ("c.tsv", "0\t-1\n"),
        ("d.mtx", f"{head}3 3 1\n1 9999999999\n"),
    ):
        path = written(tmp_path, name, text)
        with pytest.raises(ValueError, match=rf"{name}:\d"):
            files.read_any_numbers(path)
    assert not calls
    wide = written(tmp_path, "e.tsv", f"0\t1\n{2**31}\t2\n")
    with pytest.raises(ValueError, match=r"e\.tsv:2"):
        files.read_any_numbers(wide)
    assert calls == [wide]


def test_one_rank_reads_an_edge_list_as_one_process_does(tmp_path, monkeypatch):
    """In one pass, unless an id is too large for it."""
    readers, made = _file._Readers, []
    monkeypatch.setattr(_file, "_Readers", lambda *given: made.append(1) or readers(*given))
    for largest, parts in ((7, 0), (2**31 - 1, 1)):
        path = written(tmp_path, "a.tsv", f"0\t{largest}\n{largest}\t3\n")
        assert ps.dist.run(lambda comm, path=path: ps.dist.csr_array(path, comm).nnz, 1) == [2]
        assert len(made) == parts


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("how", [{"partition": "label_propagation"}, {"scatter": "masters"}])
def test_what_rank_0_reads_alone_names_the_other_way(tmp_path, how, ranks):
    path = written(tmp_path, "a.tsv", f"0\t1\n{2**31}\t3\n")
    with pytest.raises(
        ValueError, match=r"a\.tsv:2: .*partition='contiguous' or 'balanced' and scatter='direct'"
    ):
        ps.dist.run(lambda comm: ps.dist.csr_array(path, comm, **how).nnz, ranks)


@pytest.mark.parametrize("partition", ["balanced", "contiguous"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_fewer_rows_than_ranks(rows, partition):
    """All entries of a row on one rank, whose columns are listed by all."""
    rng = np.random.default_rng(rows)
    col = np.unique(rng.integers(0, N, 50))
    row = rng.integers(0, rows, col.size)
    values = rng.integers(1, 9, col.size).astype(float)

    def work(comm):
        mine = slice(comm.rank, None, comm.size)
        D = ps.dist.csr_array(
            ps.dist.Entries(row[mine], col[mine], values[mine], shape=(rows, N)),
            comm,
            partition=partition,
        )
        return D.rows, D @ (D.cols % 1013).astype(float), D.cols

    parts = ps.dist.run(work, 4)
    expected = np.bincount(row, values * (col % 1013), minlength=rows)
    ids = np.concatenate([p[0] for p in parts])
    np.testing.assert_array_equal(ids, np.unique(row))
    np.testing.assert_array_equal(np.concatenate([p[1] for p in parts]), expected[ids])
    np.testing.assert_array_equal(np.concatenate([p[2] for p in parts]), col)
