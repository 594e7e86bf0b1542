"""bench/tile_rows.py on toy inputs."""

from __future__ import annotations

from pathlib import Path

from study_support import NEEDS_BENCH
from test_bench import checked, run

pytestmark = NEEDS_BENCH


def test_bytes_against_the_least(tmp_path: Path) -> None:
    out = tmp_path / "tile_rows.json"
    said = run("tile_rows.py", "--quick", "--repeats", 2, "--ranks", "4", "--out", out)
    data = checked(out, "tile_rows", 2)
    assert len(data["cases"]) == 4 and "cover/bound" in said
    for case in data["cases"]:
        moved = {kind: r["bytes"] for kind, r in case["results"].items()}
        assert case["bound_bytes"] <= moved["cover"] <= 1.05 * case["bound_bytes"]
        assert moved["c"] <= case["between_bytes"] and moved["c"] <= moved["summa"]
        assert all(r["status"] == "ok" for r in case["results"].values())


def test_between_devices() -> None:
    said = run("tile_rows_gpu.py", "--quick", "--repeats", 1)
    moved = {}
    for line in said.splitlines():
        words = line.split()
        if words and words[0] == "rmat10":
            moved["square" if "A A" in line else "dense", words[-5]] = float(words[-4])
    assert moved["dense", "cover"] <= moved["dense", "c"] < 0.5 * moved["dense", "all"]
    assert moved["square", "c"] <= moved["square", "all"]
