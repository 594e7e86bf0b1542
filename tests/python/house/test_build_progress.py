"""What a build says on the terminal while pip keeps its output."""

import fcntl
import importlib.util
import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

pytest.importorskip("scikit_build_core")
BACKEND = Path(__file__).resolve().parents[3] / "cmake" / "penstock_backend.py"
BUILD = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from penstock_backend import progress
with progress():
    print("-- Configuring", flush=True)
    subprocess.run(["sh", "-c", "for i in $(seq 40); do echo [$i/40] Building; done"], check=True)
print("after", flush=True)
"""


def lines_of_terminal(output):
    """(what the terminal of a build shows, its exit code); its standard output goes to `output`, as under pip."""
    ours, theirs = os.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    with open(output, "wb") as file:
        command = [sys.executable, "-c", BUILD, str(BACKEND.parent)]
        job = subprocess.Popen(
            command, stdout=file, stderr=file, stdin=theirs, preexec_fn=take_terminal
        )
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the last one that had it open has gone
            pass
        os.close(ours)
    return shown.decode().splitlines(), job.wait()


def test_a_terminal_is_told_each_tenth_and_pip_gets_every_line(tmp_path):
    shown, code = lines_of_terminal(tmp_path / "pip")
    assert code == 0
    assert shown == [f"  penstock: {4 * n} of 40 files compiled" for n in range(1, 11)]
    kept = (tmp_path / "pip").read_text().splitlines()
    assert kept == ["-- Configuring", *(f"[{n}/40] Building" for n in range(1, 41)), "after"]


def test_without_a_terminal_nothing_changes():
    command = [sys.executable, "-c", BUILD, str(BACKEND.parent)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, start_new_session=True
    )
    assert done.stdout.splitlines()[-1] == "after"
    assert len(done.stdout.splitlines()) == 42


def test_its_examples():
    import doctest

    spec = importlib.util.spec_from_file_location("penstock_backend", BACKEND)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert doctest.testmod(module).failed == 0
