"""The result files of the benchmarks: what is kept, how it reads, and what --raw writes besides."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bench_files import BENCH, read_report, results
from test_bench import run

from penstock.dist import _network, _oracle_products

pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)
MOST_BYTES = 1_000_000  # of all committed results
ROW = {"role": "ours", "status": "ok", "median": 1.23456789, "each": {"halo": 0.1, "wait": None}}


def report(cases: list[dict[str, Any]], name: str = "toy_cpu") -> dict[str, Any]:
    return {
        "benchmark": name,
        "schema": results().SCHEMA,
        "command": ["python", f"bench/{name}.py"],
        "settings": {"repeats": 7},
        "skipped": [],
        "cases": cases,
    }


def test_what_is_written_is_read() -> None:
    lib = results()
    rows = {"a": ROW, "b": {**ROW, "extra": [1, 2]}, "c.d": {**ROW, "each": {}}}
    cases = [
        {"case": "named rows", "results": rows},
        {"case": "a list of rows", "predictions": [{"x": k, "y": k / 3} for k in range(5)]},
        {"case": "names with dots", "versions": [{"v1.2": 3}, {"v1.2": 4}]},
        {"case": "a dash", "rows": [{"x": "-"}, {"x": "y"}]},
        {"case": "nothing alike", "results": {"a": {"x": 1}, "b": {"y": 2}, "c": {"z": 3}}},
        {"case": "empty", "results": {}, "words": [], "none": None, "one": {"a": {}}},
    ]
    data = report(cases)
    text = lib.dumps(data)
    assert lib.loads(text) == data
    assert lib.dumps(lib.loads(text)) == text
    assert text.count('"table"') == 2
    with pytest.raises(ValueError, match="table"):
        lib.dumps(report([{"case": "a name that means something", "x": {"table": 1, "rows": 2}}]))


def test_fields_that_tables_share_stand_once() -> None:
    lib = results()
    rows = {"a": ROW, "b": {**ROW, "each": {"halo": 1.0}}}
    inner = {
        "who": {"x": 1, "predictions": [{"y": k, "z": -k} for k in range(3)]},
        "else": {"x": 2},
    }
    cases = [{"case": str(k), "results": rows, "more": inner} for k in range(3)]
    data = report([*cases, {"case": "alone", "rows": [{"x": 1, "q": 2}, {"x": 2, "q": 1}]}])
    whole, text = json.dumps(data), lib.dumps(data)
    assert lib.loads(text) == data and json.dumps(data) == whole
    assert lib.dumps(lib.loads(text)) == text
    assert text.count('"median"') == text.count('"halo"') + text.count('"each.halo"') == 1
    assert set(json.loads(text)["heads"]) == {"h0", "h1", "h2"} and text.count('"table":"h0"') == 3
    assert json.loads(text)["cases"][3]["rows"]["table"] == ["x", "q"]
    with pytest.raises(ValueError, match="heads"):
        lib.dumps({**data, "heads": 1})


def test_a_row_is_a_line() -> None:
    lib = results()
    rows = {f"who{k}": {**ROW, "median": k / 7, "note": "x" * 40} for k in range(8)}
    before = lib.dumps(report([{"case": "c", "results": rows}])).splitlines()
    rows["who3"]["median"] = 0.5
    after = lib.dumps(report([{"case": "c", "results": rows}])).splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1 and changed[0].strip().startswith('"who3":["ours"')


def test_what_is_kept() -> None:
    lib = results()
    result = {**ROW, "seconds": [1.0, 1.5], "first_call": 2.0, "spread": 0.123456, "error": 0.98765,
              "flops": 196466049.0, "count": 1234567890, "tie": 0.12500000049}  # fmt: skip
    case = {"case": "c", "seconds": 3.0, "results": {"one": result}, "ratios_of_minima": {"one": 1}}
    data = report([case])
    whole = json.dumps(data)
    kept = lib.slim(data)["cases"][0]
    assert json.dumps(data) == whole, "a report in memory stays as it is"
    assert kept["seconds"] == 3.0, "a time that is no list of turns"
    one = kept["results"]["one"]
    assert "seconds" not in one and "first_call" not in one and "ratios_of_minima" not in kept
    assert one["median"] == 1.2346 and one["spread"] == 0.123 and one["error"] == 0.988
    assert one["flops"] == 196466049.0 and one["count"] == 1234567890
    assert f"{one['tie']:.2f}" == f"{result['tie']:.2f}" == "0.13"
    network = {"case": "c", "network": {"rank_products": [[1.0, 2.0]]}, "results": {}}
    assert "network" in lib.slim(report([network]))["cases"][0]
    assert "network" not in lib.slim(report([network], "page_kogge2018"))["cases"][0]
    named = {"case": "c", "network": "fdr-infiniband", "results": {}}
    assert lib.slim(report([named], "page_kogge2018"))["cases"][0]["network"] == "fdr-infiniband"


def test_committed_results() -> None:
    lib = results()
    files = sorted((BENCH / "results").rglob("*.json"))
    assert len(files) > 20
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    for path in files:
        data = read_report(path)
        assert lib.is_report(data) and not data["quick"], path.name
        assert {"date", "command", "commit", "machine", "settings"} <= set(data), path.name
        assert lib.dumps(lib.slim(data)) == path.read_text(), f"{path.name} is not as it is written"
        for case in data["cases"]:
            for who, r in case["results"].items():
                right = r["status"] == "ok" and "median" in r
                assert not right or {"min", "spread", "error"} <= set(r), (path.name, who)


def test_raw(tmp_path: Path) -> None:
    lib, out, raw = results(), tmp_path / "out.json", tmp_path / "new" / "raw.json"
    words = ("--quick", "--matrices", "rmat10", "--contestants", "penstock,scipy", "--repeats", 3)
    run("spmv_cpu.py", *words, "--out", out)
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"], "raw turns only where asked for"
    run("spmv_cpu.py", *words, "--out", out, "--raw", raw)
    kept, everything = read_report(out), read_report(raw)
    assert lib.slim(everything) == kept
    for few, full in zip(kept["cases"], everything["cases"], strict=True):
        for who, r in full["results"].items():
            assert len(r["seconds"]) == 3 and r["min"] in r["seconds"]
            assert "seconds" not in few["results"][who]
    assert "2.00" not in run("compare.py", out, raw), "both kinds of files can be compared"


def scripts() -> list[str]:
    return sorted(p.name for p in BENCH.glob("*.py")) if BENCH.is_dir() else []


@pytest.mark.parametrize("script", scripts())
def test_options_of_every_script(script: str) -> None:
    """Each imports all it needs, GPU scripts too, and whoever writes results has both options for them. Those of
    multigrid and of cuts print counts, which are the same everywhere; that of wide graphs compares memory with what
    was predicted; those of rows between GPUs and of ranges print tables."""
    said = run(script, "--help")
    assert re.search(r"^usage: ", said)
    printed = (
        *("amg_convection.py", "amg_dist.py", "compare.py", "nx_backend.py", "plot.py"),
        *("oracle_ranges.py", "tile_cuts.py", "tile_rows_gpu.py", "wide.py"),
    )
    if script not in printed:
        assert "--raw" in said and "--out" in said


def test_rooms() -> None:
    """No folder grows over 40 files; lib/ knows nobody else, rivals/ only lib/, and nobody a program."""
    folders = [BENCH, *(p for p in BENCH.rglob("*") if p.is_dir() and p.name != "__pycache__")]
    assert all(sum(p.is_file() for p in folder.iterdir()) <= 40 for folder in folders)
    allowed = {"lib": {"lib"}, "rivals": {"lib", "rivals"}, "studies": {"lib", "rivals", "studies"}}
    rooms = {*allowed, *(name.removesuffix(".py") for name in scripts())} - {"io"}  # Python's own
    seen = 0
    for room, known in allowed.items():
        for path in (BENCH / room).rglob("*.py"):
            imports = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
            strangers = (set(imports) & rooms) - known
            assert not strangers, f"{path.relative_to(BENCH)} imports {strangers}"
            seen += bool(set(imports) & rooms)
    assert seen > 50


def _measured_over_predicted(name: str) -> list[tuple[dict[str, Any], float]]:
    found = []
    for case in read_report(BENCH / "results" / f"{name}.json")["cases"]:
        for r in case["results"].values():
            if r.get("predicted_seconds") and r.get("median"):
                found.append((case, r["median"] / r["predicted_seconds"]))
    return found


def test_ranges_hold_matrices_that_they_were_not_chosen_for() -> None:
    """Nine of ten, and the numbers of docs/scaling.md."""
    ranges, gathered = (table.splitlines()[1:] for table in run("oracle_ranges.py").split("\n\n"))
    text = (BENCH.parent / "docs" / "scaling.md").read_text()
    held = products = 0
    for line in ranges:
        job, (count, inside, width, out, others) = line[:24].strip(), line[24:].split()
        row = next(x for x in text.splitlines() if x.startswith(f"| {job} |"))
        assert row.endswith(f"| {inside} of {count} | {out} |")
        assert float(others) <= 1.031 * float(width)
        held, products = held + int(out), products + int(count)
    assert held >= 0.895 * products and f"{held} of {products}" in text
    words = [[float(n) for n in line[24:].split()] for line in gathered]
    of, without, far, spent, close, still_far = (sum(w[k] for w in words) for k in range(6))
    assert spent or (without, far) == (close, still_far)
    told = f"{close:.0f} of these {of:.0f} predictions are within 15 %, and {still_far:.0f} beyond 30 %"
    assert told in text.replace("\n", " ")


def test_nine_of_ten_measured_products_are_in_the_range_of_their_prediction() -> None:
    """The ranges of docs/scaling.md, of each kind of job."""
    inside: dict[str, list[bool]] = {}
    for case, ratio in _measured_over_predicted("page_kogge2018"):
        ranks, nodes = case["ranks"], case["part"] == "shaped"
        job = "ranks that share cores" if ranks > 2 else "a core for each rank"  # on two cores
        job = "several nodes" if nodes else "one rank" if ranks == 1 else job
        low, high = _network.SPREAD[job]
        inside.setdefault(job, []).append(low <= ratio <= high)
    assert set(inside) == set(_network.SPREAD) - {"a preset"}
    low, high = _oracle_products.SPREAD
    names = ("brock2024", "brock2024_gpus")
    for case, ratio in (found for n in names for found in _measured_over_predicted(n)):
        job = "tiles on one rank" if case.get("ranks", case.get("gpus")) == 1 else "tiles"
        inside.setdefault(job, []).append(low <= ratio <= high)
    text = (BENCH.parent / "docs" / "scaling.md").read_text()
    for job, hits in inside.items():
        assert sum(hits) >= 0.9 * len(hits), job
        assert f"| {sum(hits)} of {len(hits)} |" in text, job
