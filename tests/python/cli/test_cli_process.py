"""The command line as a process: streams, signals, start-up."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

ESCAPE = "\x1b"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.npz"
    rng = np.random.default_rng(0)
    sp.save_npz(path, sp.random_array((300, 200), density=0.03, rng=rng, format="csr"))
    return path


def process(*words, **options):
    command = [sys.executable, "-m", "penstock", *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def seconds_of(p):
    """Seconds of processors that a process has had."""
    fields = Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_process_is_quiet_when_piped(file):
    p = process("demo", "--scale", "10", "--edge", "12", "--repeats", "2")
    out, err = p.communicate(timeout=120)
    assert p.returncode == 0
    assert err == ""
    assert ESCAPE not in out


def test_a_process_fails_without_a_traceback(tmp_path):
    p = process("info", tmp_path / "none.mtx")
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (2, "")
    assert err.count("\n") == 1
    p = process("info", tmp_path / "none.mtx", "--debug")
    assert "Traceback" in p.communicate(timeout=60)[1]


def test_help_starts_fast():
    """Seconds of a processor: what else the machine does would count in those of a clock."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process("--help").communicate(timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert 0 < min(times) < 1.0


def test_interrupt_exits_130(file):
    p = process("multiply", file, "--repeats", 10**9)
    while p.poll() is None and seconds_of(p) < 2:  # the start-up takes one at most
        time.sleep(0.05)
    assert p.poll() is None
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (130, "")
    assert err.strip() == "penstock: interrupted"


def test_a_reader_that_goes_away(file):
    p = process("info", file)
    p.stdout.close()
    p.wait(timeout=60)
    assert p.returncode != 0
    assert "Traceback" not in p.stderr.read()


def test_output_without_utf8(file):
    p = process("info", file, "--spy", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0, err
    assert out.isascii()


def shell(line, folder):
    """A line of sh in a folder, with `penstock` for the command."""
    line = line.replace("penstock ", f"'{sys.executable}' -m penstock ")
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60
    )


SMALL = "%%MatrixMarket matrix coordinate real general\n%\n3 3 2\n1 1 1.5\n3 2 2\n"


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_the_standard_output_gets_the_matrix_alone(tmp_path, name):
    (tmp_path / "a.mtx").write_text(SMALL)
    write = f"penstock convert a.mtx {name} --to matrix-market"
    p = shell(f"{write} | cat", tmp_path)
    assert p.stdout == SMALL
    assert "nonzeros" in p.stderr and f"{name}: written (" in p.stderr
    p = shell(f"{{ echo before; {write} --json; echo after; }} > log", tmp_path)
    assert (tmp_path / "log").read_text() == f"before\n{SMALL}after\n"
    assert '"file_bytes": null' in p.stderr


def test_pipes_are_read(tmp_path):
    (tmp_path / "a.mtx").write_text(SMALL)
    p = shell("cat a.mtx | penstock convert /dev/stdin z.npz --from matrix-market", tmp_path)
    assert p.returncode == 0, p.stderr
    assert ps.load(tmp_path / "z.npz").toarray()[2, 1] == 2
    p = shell("penstock info <(gzip -c a.mtx) --from matrix-market", tmp_path)
    assert p.returncode == 0 and "3 x 3, 2 nonzeros" in p.stdout
    for line, words in [
        ("cat a.mtx | penstock info /dev/stdin", "or save it to a file first"),
        ("echo x | penstock info /dev/stdin --from matrix-market", "/dev/stdin:1: the file starts"),
        ("cat a.mtx | penstock info /dev/stdin --from store", "store is more than one file"),
    ]:
        p = shell(line, tmp_path)
        assert p.returncode == 2 and words in p.stderr and p.stderr.count("\n") == 1, p.stderr


def test_an_interrupt_while_modules_are_imported():
    code = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "numpy":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from _penstock_command import main
main()
"""
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (p.returncode, p.stdout, p.stderr) == (130, "", "penstock: interrupted\n")
