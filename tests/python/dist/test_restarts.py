"""A job under MPI whose solves are stopped, or that is killed, goes on with other numbers of ranks."""

import os

import mpi_jobs
import pytest


@pytest.mark.timeout(120)
def test_a_killed_job_goes_on_with_other_numbers_of_ranks(tmp_path):
    """4 ranks, of which one is killed, then 2, then 3: each goes on where the last state was written."""
    libmpi, told = mpi_jobs.open_mpi_or_skip(), []
    for ranks, maxiter, kill in ((4, 10, True), (2, 16, False), (3, 1000, False)):
        words = (str(tmp_path), str(maxiter), *["kill"] * kill)
        job = mpi_jobs.play(libmpi, ranks, "restarts.py", *words)
        assert job.code == (137 if kill else 0), job.err
        lines = map(str.split, job.out.splitlines())
        told.append({method: [float(word) for word in words] for method, *words in lines})
    stopped, later, last = told
    for method in ("cg", "pipecg", "bicgstab"):  # resumed, iterations, info
        assert stopped[method][:3] == [0, 10, 10]
        assert later[method][:3] == [10, 16, 16]
        assert last[method][0] == 16 and last[method][2] == 0
    assert stopped["fgmres"][:3] == [0, 7, 7]  # a cycle, then the next
    assert later["fgmres"][:3] == [7, 14, 14]
    assert last["fgmres"][0] == 14 and last["fgmres"][2] == 0
    assert "gmres" not in stopped and later["gmres"][0] == 14  # the end of a cycle of 7
    assert last["gmres"][0] == later["gmres"][1] > 14
    assert all(found[3] < 2e-9 for found in last.values())  # what is left of b - A x, of b
    assert os.listdir(tmp_path) == []  # what has converged leaves no state
