"""Ranks that have nobody to exchange with, no rows or no entries: everything distributed works under MPI."""

import re

import pytest
from ranks_support import job, mpi_or_skip


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_everything_works_where_a_rank_has_no_partner(ranks, tmp_path):
    mpi = mpi_or_skip()
    done = job(mpi, ranks, "no_partners.py", str(tmp_path), "short" * (ranks == 4), timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(rf"\d matrices on {ranks} ranks of .*\n", done.stdout)
