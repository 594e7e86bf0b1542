"""The native store: what is in it, how fast it opens, what it refuses, and that it is written whole or not at all."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from penstock._io import _atomic, _npy, store

import penstock as ps


def random_matrix(rows=200, cols=300, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random((rows, cols)) < 0.05
    row, col = np.nonzero(mask)
    data = np.ones(row.size, bool) if dtype is bool else rng.standard_normal(row.size).astype(dtype)
    return ps.csr_array((data, (row, col)), shape=(rows, cols))


def same(a, b):
    return (
        all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("indptr", "indices", "data"))
        and a.dtype == b.dtype
    )


@pytest.fixture
def saved(tmp_path):
    a = random_matrix()
    a.save(tmp_path / "a.penstock")
    return a, tmp_path / "a.penstock"


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64, np.complex64, np.complex128])
def test_round_trip(tmp_path, dtype):
    a = random_matrix(dtype=dtype)
    path = tmp_path / "a.penstock"
    a.save(path)
    b = ps.open(path, validate=True)
    assert same(a, b) and b.place == "mapped" and ps.load(path).place == "host"
    np.testing.assert_array_equal(b @ np.ones(300), a @ np.ones(300))
    np.testing.assert_array_equal(np.load(path / "indices.npy"), a.indices)
    header = json.loads((path / "header.json").read_text())["binsparse"]
    assert header["format"] == "CSR" and header["number_of_stored_values"] == a.nnz
    assert header["data_types"]["values"] == next(
        k for k, v in store.VALUES.items() if v == a.dtype.name
    )
    if dtype is bool:
        assert np.load(path / "data.npy").tolist() == [1]


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 3)])
def test_empty(tmp_path, shape):
    ps.csr_array(shape).save(tmp_path / "a.penstock")
    assert ps.open(tmp_path / "a.penstock", validate=True).shape == shape


def edit(path, **changes):
    header = json.loads((path / "header.json").read_text())
    header["binsparse"].update(changes)
    (path / "header.json").write_text(json.dumps(header))


HEADER_FAULTS = [
    ({"format": "CSC"}, "'CSC'"),
    ({"shape": [200, 301.5]}, "shape"),
    ({"shape": [-1, 3]}, "shape"),
    ({"shape": [200]}, "shape"),
    ({"shape": [201, 300]}, "indptr.npy"),
    ({"number_of_stored_values": 10**19}, "count"),
    ({"number_of_stored_values": 7}, "indices.npy"),
    ({"number_of_stored_values": True}, "count"),
    ({"data_types": None}, "data_types"),
    ({"shape": [200, 2**31]}, "shape"),
    (
        {"data_types": {"pointers_to_1": "int32", "indices_1": "int32", "values": "float64"}},
        "pointers_to_1",
    ),
    (
        {"data_types": {"pointers_to_1": "int64", "indices_1": "int32", "values": "float32"}},
        "data.npy",
    ),
    ({"data_types": {"pointers_to_1": "int64", "indices_1": "int32", "values": ["x"]}}, "values"),
]


@pytest.mark.parametrize("change, piece", HEADER_FAULTS)
def test_headers_that_lie(saved, change, piece):
    _, path = saved
    edit(path, **change)
    with pytest.raises(ValueError, match="write it again") as error:
        ps.open(path)
    assert piece in str(error.value) and str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"binsparse": 3}',
        "\xff",
        "[" * 100000,
        '{"binsparse": {"shape": ' + "9" * 5000 + "}}",
    ],
)
def test_headers_that_are_not_json(saved, text):
    _, path = saved
    (path / "header.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"header\.json.*write it again"):
        ps.open(path)


def test_a_later_version(saved):
    _, path = saved
    header = json.loads((path / "header.json").read_text())
    header["penstock"]["version"] = 99
    (path / "header.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match="update penstock"):
        ps.open(path)


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_arrays_that_are_damaged(saved, name):
    a, path = saved
    file = path / f"{name}.npy"
    good = file.read_bytes()
    for bad in (
        good[:-1],
        good + b"\0",
        good[: len(good) // 2],
        b"",
        b"junk" * 100,
        good[:20],
        good.replace(b"<", b">", 1),
    ):
        file.write_bytes(bad)
        with pytest.raises(ValueError, match=rf"{name}\.npy"):
            ps.open(path)
    np.save(file, np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="plain numbers"):
        ps.open(path)
    file.unlink()
    with pytest.raises(ValueError, match=rf"no {name}\.npy"):
        ps.open(path)
    assert a.nnz


def test_validate_reads_every_index_and_value(saved):
    a, path = saved
    indices = np.array(a.indices)
    indices[1234] = 300  # between the samples of the cheap check, or not: validate must see it
    np.save(path / "indices.npy", indices)
    with pytest.raises(ValueError, match=r"300.*outside.*write it again"):
        ps.open(path, validate=True)
    with pytest.raises(ValueError, match="outside"):
        ps.load(path)
    np.save(path / "indices.npy", a.indices)
    data = np.array(a.data)
    data[77] += 1
    np.save(path / "data.npy", data)
    ps.open(path)
    with pytest.raises(ValueError, match=r"data\.npy.*checksum"):
        ps.open(path, validate=True)


def test_indptr_must_end_at_nnz(saved):
    a, path = saved
    indptr = np.array(a.indptr)
    indptr[-1] -= 1
    np.save(path / "indptr.npy", indptr)
    with pytest.raises(ValueError, match="indptr ends at"):
        ps.open(path)


def test_paths(tmp_path, saved):
    _, path = saved
    with pytest.raises(FileNotFoundError):
        ps.open(tmp_path / "none")
    with pytest.raises(ValueError, match=r"penstock\.load"):
        ps.open(path / "indptr.npy")
    with pytest.raises(ValueError, match="not a penstock store"):
        ps.open(tmp_path)


# Opening


def sparse_store(folder: Path, megabytes: int) -> None:
    """A store of empty columns 0 whose files are holes: any size, no disk."""
    rows, nnz = 1 << 20, megabytes * (1 << 20) // 12 >> 20 << 20
    folder.mkdir()
    header = {
        "version": "0.1",
        "format": "CSR",
        "shape": [rows, 10],
        "number_of_stored_values": nnz,
        "data_types": {"pointers_to_1": "int64", "indices_1": "int32", "values": "float64"},
    }
    (folder / "header.json").write_text(json.dumps({"binsparse": header}))
    np.save(folder / "indptr.npy", np.arange(rows + 1, dtype=np.int64) * (nnz // rows))
    for name, dtype in (("indices", "<i4"), ("data", "<f8")):
        with open(folder / f"{name}.npy", "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": dtype, "fortran_order": False, "shape": (nnz,)}
            )
            file.truncate(file.tell() + nnz * np.dtype(dtype).itemsize)


@pytest.mark.parametrize("megabytes", [256, 1024])
def test_opens_in_milliseconds(tmp_path, megabytes):
    sparse_store(tmp_path / "a.penstock", megabytes)
    ps.open(tmp_path / "a.penstock")
    times = []
    for _ in range(7):
        start = time.process_time()  # of this process alone, whatever else the machine does
        a = ps.open(tmp_path / "a.penstock")
        times.append(time.process_time() - start)
    assert a.nbytes > megabytes * 0.9 * 2**20
    assert sorted(times)[3] < 0.05


# Writing

FAIL_AT = ["np_header", "fsync", "rename", "exchange", "json"]


@pytest.mark.parametrize("where", FAIL_AT)
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("there", [False, True])
def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, where, error, there):
    path = tmp_path / "a.penstock"
    old, new = random_matrix(), random_matrix(seed=1)
    if there:
        old.save(path)

    def fail(*_, **__):
        raise error

    def fail_last(a, b):
        if str(a).endswith(".part") and not path.exists():
            raise error
        return real_rename(a, b)

    real_rename = os.rename
    with monkeypatch.context() as patch:
        if where == "rename":  # the last one, where there is no exchange
            patch.setattr(os, "rename", fail_last)
            patch.setattr(_atomic, "exchange", lambda *_: False)
        elif where == "exchange":
            patch.setattr(_atomic, "exchange", fail)
            if not there:
                patch.setattr(os, "rename", fail)
        elif where == "json":
            patch.setattr(store.json, "dump", fail)
        elif where == "fsync":
            patch.setattr(os, "fsync", fail)
        else:
            patch.setattr(_npy.np.lib.format, "write_array_header_1_0", fail)
        with pytest.raises(type(error)):
            new.save(path)
    assert [p.name for p in tmp_path.iterdir()] == (["a.penstock"] if there else [])
    if there:
        assert same(ps.open(path, validate=True), old)
    new.save(path)
    assert same(ps.open(path, validate=True), new)


@pytest.mark.parametrize("name", ["a.mtx", "a.txt.gz", "a.npz", "a.sg"])
def test_a_failed_file_leaves_what_was_there(tmp_path, monkeypatch, name):
    path = tmp_path / name
    a = random_matrix(50, 50, bool)
    a.save(path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
        with pytest.raises(OSError, match="no"):
            random_matrix(50, 50, bool, seed=1).save(path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(FileNotFoundError, match="create it first"):
        a.save(tmp_path / "none" / name)


def is_whole(path):
    try:
        return ps.open(path, validate=True).nnz > 0
    except ValueError:
        return False


def test_a_killed_writer_leaves_the_old_store(tmp_path):
    """SIGKILL at random moments: the store at the path is always whole, old or new."""
    path = tmp_path / "a.penstock"
    random_matrix(seed=0).save(path)
    code = (
        "import numpy as np, penstock as ps, sys\n"
        "rng = np.random.default_rng(1)\n"
        "n = 2_000_000\n"
        "a = ps.csr_array((rng.random(n), (rng.integers(0, 5000, n), rng.integers(0, 5000, n))))\n"
        "print('ready', flush=True)\n"
        "while True: a.save(sys.argv[1])\n"
    )
    for wait in (0.01, 0.05, 0.12):
        writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert ps.open(path, validate=True).nnz
        assert [p.name for p in tmp_path.iterdir()] == [path.name]  # opening tidied up


def test_only_a_store_is_replaced(tmp_path):
    folder = tmp_path / "thesis.penstock"
    folder.mkdir()
    (folder / "chapter").write_text("do not lose this")
    with pytest.raises(ValueError, match="not replaced"):
        random_matrix().save(folder)
    assert (folder / "chapter").read_text() == "do not lose this"
    (tmp_path / "file.penstock").write_text("x")
    with pytest.raises(ValueError, match="is a file"):
        random_matrix().save(tmp_path / "file.penstock")


def test_a_store_is_replaced_while_it_is_mapped(saved):
    a, path = saved
    mapped = ps.open(path)
    mapped.save(path)
    random_matrix(seed=2).save(path)
    assert same(mapped, a) and not same(ps.open(path), a)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_writing_takes_no_second_copy(tmp_path):
    """A mapped store of 400 MB is written again where only 100 MB more of the address space may be used."""
    sparse_store(tmp_path / "a.penstock", 384)
    a = ps.open(tmp_path / "a.penstock")
    limit = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), limit[1]))
    try:
        a.save(tmp_path / "b.penstock")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    assert ps.open(tmp_path / "b.penstock").nnz == a.nnz
