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
