"""What saving leaves alone: modes, files of others, devices, and what is there where a disk is full."""

import json
import os
import shutil
import stat
import threading

import pytest
from penstock._io import _atomic, store
from test_06_store_snapshot import names, run, version

import penstock as ps


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.npz", "a.txt", "a.penstock"])
def test_modes_stay(tmp_path, name):
    path, a = tmp_path / name, version(1)
    before = os.umask(0o022)
    try:
        a.save(path)
        folder = path.is_dir()
        files = sorted(path.iterdir()) if folder else [path]
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if folder else 0o644)
        for mode in (0o600, 0o640, 0o664):
            for file in files:
                file.chmod(mode)
            if folder:
                path.chmod(mode | 0o100)
            a.save(path, **({"packed": True} if folder else {}))
            assert stat.S_IMODE(path.stat().st_mode) == (mode | 0o100 if folder else mode)
            files = sorted(path.iterdir()) if folder else [path]
            assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {mode}
    finally:
        os.umask(before)


def test_drafts_of_private_files_are_private(tmp_path):
    path, a = tmp_path / "a.penstock", version(1)
    a.save(path)
    path.chmod(0o700)
    with _atomic.atomic_folder(path, store.FILES) as part:
        assert stat.S_IMODE(os.stat(part).st_mode) == 0o700
        for file in path.iterdir():
            shutil.copy(file, part)
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "a.txt").chmod(0o600)
    with _atomic.atomic_file(tmp_path / "a.txt") as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_folders_with_other_files_are_not_replaced(tmp_path):
    path, a = tmp_path / "a.penstock", version(1)
    a.save(path)
    (path / "NOTES.txt").write_text("mine")
    (path / "results").mkdir()
    before = {p.name: p.stat().st_ino for p in path.iterdir()}
    for save in (a.save, lambda p: ps.spgemm(a, a, out=p)):
        with pytest.raises(ValueError, match=r"NOTES\.txt, results.*move.*choose another name"):
            save(path)
        assert {p.name: p.stat().st_ino for p in path.iterdir()} == before
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "header.json").write_text(json.dumps({"binsparse": {}}))
    (foreign / "precious.bin").write_bytes(b"1")
    with pytest.raises(ValueError, match=r"precious\.bin"):
        ps.save(foreign, a, format="store")
    assert (foreign / "precious.bin").exists() and names(tmp_path) == ["a.penstock", "foreign"]


def test_files_that_come_while_a_store_is_written_stay(tmp_path):
    path, a = tmp_path / "a.penstock", version(1)
    a.save(path)
    with (
        pytest.raises(ValueError, match=r"NOTES\.txt"),
        _atomic.atomic_folder(path, store.FILES),
    ):
        (path / "NOTES.txt").write_text("mine")
    assert names(tmp_path) == ["a.penstock"] and (path / "NOTES.txt").exists()


SUFFIXES = ["mtx", "mtx.gz", "txt", "csv", "npz", "parquet", "gr", "hgr"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_fifos_are_written_to(tmp_path, suffix):
    a = ps.generate.laplacian((9, 9))
    a = a.astype(bool) if suffix == "hgr" else a
    path, copy = tmp_path / f"fifo.{suffix}", tmp_path / f"copy.{suffix}"
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: copy.write_bytes(path.read_bytes()))
    reader.start()
    a.save(path)
    reader.join()
    assert stat.S_ISFIFO(path.stat().st_mode) and len(names(tmp_path)) == 2
    assert ps.load(copy).nnz == a.nnz


def device(folder, name, minor):
    """A character device that a failure of the test may destroy: not the system's own where that could be replaced."""
    if not os.access("/dev", os.W_OK):
        return f"/dev/{name}"
    path = folder / name
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.write_bytes(b"")
    except OSError as error:
        pytest.skip(f"no device of one's own: {error}")
    return path


def test_devices(tmp_path):
    a = version(1)
    null, full = device(tmp_path, "null", 3), device(tmp_path, "full", 7)
    ps.save(null, a, format="matrix-market")
    assert stat.S_ISCHR(os.stat(null).st_mode)
    with pytest.raises(OSError, match="No space"):
        ps.save(full, a, format="matrix-market")
    assert stat.S_ISCHR(os.stat(full).st_mode)


def test_sockets_and_block_devices(tmp_path, monkeypatch):
    import socket

    a = version(1)
    path = tmp_path / "s.mtx"
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path.name)  # a whole path may be too long
        with pytest.raises(ValueError, match="is a socket"):
            a.save(path)
        assert stat.S_ISSOCK(path.stat().st_mode)
    os.mkfifo(tmp_path / "f.penstock")
    with pytest.raises(ValueError, match="is a file"):
        a.save(tmp_path / "f.penstock")
    if os.geteuid() == 0:
        try:
            os.mknod(tmp_path / "b.mtx", 0o600 | stat.S_IFBLK, os.makedev(7, 250))
        except PermissionError:
            return
        with pytest.raises(ValueError, match="is a block device"):
            a.save(tmp_path / "b.mtx")
        assert stat.S_ISBLK((tmp_path / "b.mtx").stat().st_mode)


def test_links_and_long_names(tmp_path):
    a = ps.generate.laplacian((9, 9))
    a.save(tmp_path / "real.penstock")
    (tmp_path / "link.penstock").symlink_to("real.penstock")
    version(2).save(tmp_path / "link.penstock")
    assert (tmp_path / "link.penstock").is_symlink()
    assert ps.open(tmp_path / "real.penstock").indices[0] == 2
    for name in ("x" * 246 + ".penstock", "x" * 250 + ".mtx"):
        a.save(tmp_path / name)
        a.save(tmp_path / name)
        assert ps.load(tmp_path / name).nnz == a.nnz


FULL = """
import resource
folder, old, new = Path(sys.argv[1]), ps.generate.laplacian((3, 3)), ps.generate.laplacian((60, 60))
for name in ("a.mtx", "a.mtx.gz", "a.npz", "a.txt", "a.csv", "a.penstock", "p.penstock"):
    how = {"packed": True} if name[0] == "p" else {}
    old.save(folder / name, **how)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, limit[1]))  # as a disk that is full
    try:
        new.save(folder / name, **how)
        raise AssertionError(name)
    except OSError:
        pass
    try:
        if name == "a.penstock":
            ps.spgemm(new, new, out=folder / name)
            raise AssertionError("spgemm")
    except OSError:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert ps.load(folder / name).nnz == old.nnz
    assert names(folder) == [name], names(folder)
    shutil.rmtree(folder / name) if (folder / name).is_dir() else os.unlink(folder / name)
"""


def test_a_full_disk(tmp_path):
    run(FULL, tmp_path)
