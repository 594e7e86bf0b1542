"""A rank that ends in the midst of a collective call, a product or a solve: every other rank is told who and why within
seconds, and nothing of the job is left. Ranks of MPI, and ranks that are threads."""

import json
import os
import signal
import sys
import threading
import time

import mpi_jobs
import pytest
from penstock.dist._agree import agreed

import penstock as ps

sys.path.append(str(mpi_jobs.SCRIPTS))
import deaths  # a script of ranks, whose work ranks that are threads do here

RANKS = 3
SECONDS = 10.0  # from the end of a rank to that of the job
AGAIN = 2.0  # after what was raised in a destructor, which ignores it
WAYS = {
    "raise": (1, "failed: ValueError: no luck"),
    "exit": (7, "ended with exit code 7; the others were stopped"),
    "kill": (137, "was killed by signal 9 (SIGKILL); the others were stopped"),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("where", ["collective", "product", "solver"])
def test_ranks_of_mpi_are_told_and_leave_nothing(tmp_path, where):
    jobs = []
    for how in WAYS:
        temporary = tmp_path / how / "tmp"
        temporary.mkdir(parents=True)
        words = ("deaths.py", where, how, str(tmp_path / how))
        jobs.append((words, {"TMPDIR": str(temporary)}))
    ended = mpi_jobs.play_all(mpi_jobs.open_mpi_or_skip(), RANKS, jobs)
    for (how, (code, message)), job in zip(WAYS.items(), ended, strict=True):
        folder = tmp_path / how
        assert job.code == code, job
        assert job.err.splitlines()[-1] == f"penstock: rank {deaths.VICTIM} of {RANKS} {message}"
        assert job.err.count("penstock: ") == 1 and "prterun" not in job.err, job.err
        assert job.err.count("Traceback") == (how == "raise"), job.err
        assert job.at - float((folder / "died").read_text()) < SECONDS
        # Ranks that hear of an exception may be stopped before they say so; of others they cannot hear.
        told = f"heard: rank {deaths.VICTIM} of {RANKS} failed: ValueError: no luck"
        expected = {f"rank {r} {told}" for r in range(RANKS) if r != deaths.VICTIM}
        assert set(job.out.splitlines()) <= (expected if how == "raise" else set())
        # Nothing is left
        assert os.listdir(folder / "tmp") == [] and mpi_jobs.processes(folder) == []
        places = {text.rpartition(":")[2] for text in json.loads((folder / "job").read_text())}
        assert any(place.startswith("/dev/shm/") for place in places)
        assert not any(os.path.exists(place) for place in places)


@pytest.mark.timeout(120)
def test_the_first_rank_may_end_as_well(tmp_path):
    """Others have their copies of what it holds for all: windows, the job's folder."""
    wheres = ("product", "wide")
    jobs = []
    for where in wheres:
        (tmp_path / where / "tmp").mkdir(parents=True)
        words = ("deaths.py", where, "kill", str(tmp_path / where), "0")
        jobs.append((words, {"TMPDIR": str(tmp_path / where / "tmp")}))
    ended = mpi_jobs.play_all(mpi_jobs.open_mpi_or_skip(), RANKS, jobs)
    for where, job in zip(wheres, ended, strict=True):
        folder = tmp_path / where
        assert job.code == WAYS["kill"][0], job
        assert job.err.splitlines()[-1] == f"penstock: rank 0 of {RANKS} {WAYS['kill'][1]}"
        assert job.err.count("penstock: ") == 1, job.err
        assert job.at - float((folder / "died").read_text()) < SECONDS
        assert os.listdir(folder / "tmp") == [] and mpi_jobs.processes(folder) == []
        places = {text.rpartition(":")[2] for text in json.loads((folder / "job").read_text())}
        assert places and not any(os.path.exists(place) for place in places)


@pytest.mark.parametrize("where", deaths.WHERE)
@pytest.mark.parametrize("victim", [0, 1])
def test_ranks_that_are_threads_are_told(where, victim):
    """Rank 0 is on the main thread, and is interrupted in the midst of C++; another one raises between two pieces."""
    heard, threads, begun = {}, threading.active_count(), []

    def end(_=None, frame=None):
        while frame is not None:
            # An error there is one of all ranks: a little later.
            if frame.f_code is agreed.__code__:
                return signal.setitimer(signal.ITIMER_REAL, 0.02, AGAIN)
            frame = frame.f_back
        begun.append(time.monotonic())
        raise ValueError("no luck")

    def work(comm):
        piece = deaths.endless(where, comm)
        try:
            comm.barrier()  # which the others may still be in when one has failed
            if comm.rank == victim == 0:
                signal.setitimer(signal.ITIMER_REAL, deaths.SECONDS, AGAIN)
            for turn in range(10**9):
                if comm.rank == victim == 1 and turn == 3 * (where != "solver"):
                    end()
                piece()
        except ps.dist.CommError as error:
            heard[comm.rank] = (str(error), time.monotonic())
            raise
        finally:
            if comm.rank == 0:
                signal.setitimer(signal.ITIMER_REAL, 0)

    before = signal.signal(signal.SIGALRM, end)
    try:
        with pytest.raises(ValueError, match="no luck"):
            ps.dist.run(work, 4, timeout=60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert sorted(heard) == sorted({0, 1, 2, 3} - {victim})
    for text, at in heard.values():
        assert text == f"rank {victim} failed: ValueError: no luck"
        assert at - begun[0] < SECONDS
    assert threading.active_count() == threads
