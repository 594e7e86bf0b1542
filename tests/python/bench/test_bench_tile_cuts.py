"""bench/tile_cuts.py on toy inputs."""

from __future__ import annotations

from study_support import NEEDS_BENCH
from test_bench import run

pytestmark = NEEDS_BENCH


def test_cuts_by_work_are_more_even() -> None:
    said = run("tile_cuts.py", "--quick", "--matrices", "rmat10", "--ranks", 4)
    rows = [line.split() for line in said.splitlines() if line.startswith("rmat10")]
    found = {kind: [float(n) for n in numbers] for _, _, kind, *numbers in rows}
    assert list(found) == ["area", "nonzeros", "flops"]
    together = {kind: numbers[0] * numbers[1] for kind, numbers in found.items()}
    assert together["nonzeros"] <= 1.02 * together["area"]
    assert found["flops"][2] <= 1.02 * found["area"][2]
    assert all(number >= 1 for numbers in found.values() for number in numbers)
    assert all(numbers[3] <= 2.01 for numbers in found.values())


def test_waits_are_shares_of_time() -> None:
    how = ("--waits", "--repeats", 1, "--columns", 4, "--matrices", "rmat10")
    said = run("tile_cuts.py", "--quick", *how)
    row = next(line for line in said.splitlines() if line.startswith("rmat10"))
    shares = [float(n) for n in row.replace("(", " ").replace(")", " ").split()[2:]]
    assert len(shares) == 10
    assert all(0 <= share <= 1 for share in shares[2::2])
