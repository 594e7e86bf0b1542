"""EMOGI's and GAP's programs in bench/structure.py: what they may take of --minutes, and a run for them alone."""

from __future__ import annotations

import stat
import time
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from bench_files import read_report
from study_support import NEEDS_BENCH, main, program
from test_bench_structure import EMOGI, played

from penstock import _core

pytestmark = NEEDS_BENCH
GAP = """#!/bin/sh
{before}
case "$*" in *-a*) echo "BFS Tree has 300 nodes"; echo "There are 1 components";; esac
echo "Trial Time:            0.25000"
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("structure", monkeypatch)


def programs(folder: Path, before: str = ":") -> Path:
    for name in ("bfs", "cc"):
        file = folder / name
        file.write_text(GAP.format(before=before))
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return folder


WORDS = ("--quick", "--device", "cpu", "--graphs", "web", "--copies", 5, "--mix", 1)


def test_for_programs_alone_there_are_few_rows_and_roots(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "structure.json"
    words = (*WORDS, "--algorithms", "bfs,cc", "--programs-only", "--gap", programs(tmp_path))
    assert main(bench, monkeypatch, *words, "--out", out) == 0
    for case in read_report(out)["cases"]:
        assert set(case["results"]) == {"cpu", "gap"}, "no library"
        assert case["turns"] == 4
        assert case["results"]["gap"]["sources"] == (4 if case["algorithm"] == "bfs" else 1)


def test_a_program_that_takes_long_leaves_time_for_the_next_rows(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "structure.json"
    words = (*WORDS, "--algorithms", "bfs,cc", "--rivals", "", "--sources", 3)
    slow = programs(tmp_path, before="exec sleep 60")
    begin = time.monotonic()
    main(bench, monkeypatch, *words, "--minutes", 0.1, "--gap", slow, "--out", out)
    assert time.monotonic() - begin < 30
    data = read_report(out)
    assert [set(c["results"]) for c in data["cases"]] == [{"cpu"}, {"cpu"}]
    told = {s["what"]: s["why"] for s in data["skipped"]}
    assert "its share of --minutes" in told["gap: bfs webx5"]


@pytest.mark.skipif(_core.device_count() > 0, reason="plays a GPU where there is none")
def test_what_a_slow_program_had_done_is_kept(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EMOGI's program in core takes too long; its times over the link are there."""
    played(bench, monkeypatch)
    file, out = tmp_path / "bfs_32", tmp_path / "structure.json"
    slow = 'case "$*" in *"-m 0"*) exec sleep 60;; esac'
    file.write_text(EMOGI.replace("#!/bin/sh", f"#!/bin/sh\n{slow}"))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    words = ("--quick", "--graphs", "web", "--algorithms", "bfs", "--sources", 5, "--out", out)
    assert main(bench, monkeypatch, *words, "--minutes", 0.1, "--emogi", tmp_path) == 0
    data = read_report(out)
    (case,) = data["cases"]
    assert case["results"]["emogi"]["status"] == "ok"
    assert "emogi_in_core" not in case["results"]
    (told,) = [s["why"] for s in data["skipped"] if s["what"].startswith("emogi_in_core")]
    assert "its share of --minutes" in told


def test_roots_of_a_program_keep_to_its_time(bench: ModuleType) -> None:
    from studies.emogi2020.rivals import Patience

    def work(k: int, seconds: float) -> str:
        time.sleep(seconds)
        return str(k)

    works = [partial(work, k, 0.2) for k in range(4)]
    assert Patience(None).each([partial(work, k, 0) for k in range(4)]) == list("0123")
    assert Patience(0.01).each(works) == ["0"], "the first one, whatever it takes"
    assert Patience(0.5).each(works) in (["0"], ["0", "1"])
    with pytest.raises(TimeoutError, match=r"--minutes"):
        Patience(0).process(lambda timeout: "", 9)
