"""Ranks that disagree: every one of them is told, of which argument, with both sides; and of ranks that have gone."""

import re
import sys
from pathlib import Path

import pytest
from ranks_support import job, mpi_or_skip

import penstock as ps

sys.path.insert(0, str(Path(__file__).parent / "jobs"))
from disagreements import CLEAN, FATAL, tried


@pytest.mark.parametrize("ranks", [2, 3])
def test_threads_are_told_and_go_on(ranks):
    def work(comm):
        out = []
        for name, (call, words) in CLEAN.items():
            told, text, _ = tried(comm, call)
            out.append((name, told is ValueError and re.search(words, text), told, text))
            total = comm.all_gather(1).sum()
            assert total == comm.size
        return out

    for results in ps.dist.run(work, ranks, timeout=60):
        assert [r for r in results if not r[1]] == []


@pytest.mark.parametrize("name", FATAL)
def test_threads_are_told_late(name):
    call, words, kind = FATAL[name]
    heard = {}

    def work(comm):
        heard[comm.rank] = tried(comm, call)

    ps.dist.run(work, 2, timeout=60)
    for rank, (told, text, seconds) in heard.items():
        if kind is ps.dist.CommError and rank == 1:  # has gone
            continue
        assert told is kind and re.search(words, text) and seconds < 10, (rank, told, text)


@pytest.mark.parametrize("ranks", [2, 3])
def test_mpi_ranks_are_told_and_go_on(ranks):
    done = job(mpi_or_skip(), ranks, "disagreements.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{len(CLEAN)} disagreements on {ranks} ranks\n"


@pytest.mark.parametrize("name", FATAL)
def test_mpi_ranks_are_told_late(name):
    done = job(mpi_or_skip(), 2, "disagreements.py", name)
    assert sorted(done.stdout.splitlines()) == ["rank 0: fine", "rank 1: fine"], (
        done.stdout + done.stderr
    )
