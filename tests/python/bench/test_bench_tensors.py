"""bench/tensors.py on toy inputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_support import NEEDS_BENCH
from test_bench import checked, run

pytestmark = NEEDS_BENCH


def test_products_with_tensors(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "tensors.json"
    said = run("tensors.py", "--quick", "--repeats", 2, "--out", out)
    data = checked(out, "tensors", 2)
    assert {c["case"] for c in data["cases"]} == {
        "forward", "forward grad", "backward", "values", "sddmm"
    }  # fmt: skip
    assert all(r["status"] == "ok" for c in data["cases"] for r in c["results"].values())
    assert "torch.sparse us" in said
