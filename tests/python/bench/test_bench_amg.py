"""The programs that count the iterations of multigrid, on toy grids."""

from __future__ import annotations

import re

import pytest
from test_bench import BENCH, run

pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)


def test_ranks_take_the_iterations_of_one_process() -> None:
    said = run("amg_dist.py", "--side", 10, "--ranks", "1,2", "--turns", 1)
    counts = re.findall(r"(\d) ranks: (\d+) iterations \(one: (\d+)\)", said)
    assert [n for n, _, _ in counts] == ["1", "2", "1", "2"]
    assert all(0 < int(ours) == int(one) < 60 for _, ours, one in counts)
    assert len(re.findall(r"weak scaling of work \d\.\d\d", said)) == 4


def test_convection_takes_fewer_iterations_than_ilu0_where_diffusion_rules() -> None:
    said = run("amg_convection.py", "--side", 40, "--eps", "1e-1")
    lines = re.findall(r"(\w+), 1e-1: (\d+), (\d+), (\d+), (\d+|not installed); \d\.\d\d", said)
    assert [line[0] for line in lines] == ["constant", "recirculating"]
    assert all(int(w) <= int(v) < int(ilu0) for _, v, w, ilu0, _ in lines)
