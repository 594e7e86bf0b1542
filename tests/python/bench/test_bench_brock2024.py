"""The reproduction of brock-2024: every part's rows, stand-ins, predictions, figures, page, goals."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from bench_files import read_report
from study_support import NEEDS_BENCH, cases, main, program

import penstock as ps

pytestmark = NEEDS_BENCH
TINY = ("--quick", "--repeats", 1, "--ranks", "1,2", "--entries", 4000, "--matrices", "ldoor,isolates_subgraph4",
        "--measured", "ldoor", "--algorithms", "c,a,summa,c+locality")  # fmt: skip


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    brock2024 = program("brock2024", monkeypatch)
    from lib import report

    monkeypatch.setattr(
        report, "fingerprint", lambda threads: {"threads": threads}
    )  # probing takes seconds
    return brock2024


def test_every_part_has_rows_that_are_right(
    bench: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "files"
    folder.mkdir()
    ps.save(folder / "isolates_subgraph4.mtx", ps.generate.uniform(300, nnz_per_row=6, seed=1))
    out, plots = tmp_path / "b.json", tmp_path / "plots"
    status = main(bench, monkeypatch, *TINY, "--folder", folder, "--out", out, "--plots", plots)
    said, data = capsys.readouterr().out, read_report(out)
    assert status == 0, said
    assert (data["benchmark"], data["schema"], data["quick"]) == ("brock2024", 2, True)
    for part, wanted in (
        ("figure_1", 1),
        ("balance", 2),
        ("spmm", 2),
        ("spgemm", 2),
        ("oracle", 4),
        ("roofline", 2),
    ):
        assert len(cases(data, part)) == wanted, part
    labels = {c["matrix"]: c["stand_in"] for c in cases(data, "balance")}
    assert labels["isolates_subgraph4"] is None and "band" in labels["ldoor"]
    for c in [*cases(data, "spmm"), *cases(data, "spgemm")]:
        assert set(c["results"]) == {"c", "a", "summa", "c+locality"} and c["best_rival"] == "summa"
        for who, r in c["results"].items():
            assert r["status"] == "ok", f"{c['case']}, {who}: {r.get('reason')}"
            assert r["median"] > 0 and r["compute"] > 0 and r["predicted_seconds"] > 0
        assert c["results"]["c"]["fetched_bytes"] == c["results"]["c"]["predicted_bytes"], c["case"]
    (first,) = cases(data, "figure_1")
    assert first["end_to_end"] < 1.5 < 2 < first["per_stage"] and sum(
        first["by_rank"]
    ) == pytest.approx(64)
    left = cases(data, "roofline")[0]
    assert [r["columns"] for r in left["rows"]] == [128, 256, 512]
    assert {r["bound"] for r in left["rows"]} == {"network"}, "the paper says so"
    assert {t["met"] for t in data["targets"]} == {None}, "toy sizes meet and miss nothing"
    for words in ("Table 1", "Figure 1", "SpMM (figures 3 and 4)", "SpGEMM, A A", "Predicted for the paper's machines",
                  "Figure 2", "Goals", "ldoor*", "stand-ins"):  # fmt: skip
        assert words in said
    names = ("imbalance", "roofline", "spmm", "spgemm", "components", "accuracy")
    assert {p.name for p in plots.iterdir()} == {f"brock2024_{n}.svg" for n in names}
    from studies.brock2024 import plot

    text = "\n".join(plot.body("brock2024", data, "figures"))
    assert "asterisk" in text and "figures/brock2024_spmm.svg" in text and "| ldoor* |" in text


def test_part_of_gpus(
    bench: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the CPU in the place of GPUs."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(bench._core, "device_count", lambda: 0)
    out, plots = tmp_path / "b.json", tmp_path / "plots"
    words = ("--quick", "--parts", "gpus", "--gpus", "1,2", "--gpu-matrices", "skewed22,laplacian", "--repeats", 1,
             "--algorithms", "c,summa,a+locality", "--out", out, "--plots", plots)  # fmt: skip
    status = main(bench, monkeypatch, *words)
    said, data = capsys.readouterr().out, read_report(out)
    assert status == 0, said
    assert data["gpus_on_host"] and not data["skipped"]
    found = cases(data, "gpus")
    assert [(c["op"], c["gpus"]) for c in found] == [
        ("spmm", 1),
        ("spmm", 2),
        ("spgemm", 1),
        ("spgemm", 2),
    ]
    for c in found:
        assert set(c["results"]) == {"c", "summa"} | ({"a+locality"} if c["gpus"] > 1 else set())
        assert c["transport"] == "peer" and c["fewest"] == 1 and c["over_fewest"] > 0
        for who, r in c["results"].items():
            assert r["status"] == "ok", f"{c['case']}, {who}: {r.get('reason')}"
            assert r["of_roofline"] >= 0 and r["predicted_seconds"] > 0
        assert c["results"]["summa"]["broadcasts"] == "threads"
    for text in (
        "Strong scaling, the CPU in the place of each GPU",
        "not shuffled",
        "SUMMA's time over ours",
    ):
        assert text in said
    assert {p.name for p in plots.iterdir()} == {
        f"brock2024_gpus_{n}.svg" for n in ("spmm", "spgemm", "components")
    }


def test_goals_of_gpus(bench: ModuleType) -> None:
    from studies.brock2024.gpu_tables import targets

    row = {"status": "ok", "imbalance": 1.0, "of_reachable": 0.7}
    results = {"summa": row | {"median": 3.0}, "c": row | {"median": 2.0},
               "c+locality": row | {"median": 1.5, "imbalance": 0.3, "of_reachable": 0.9}}  # fmt: skip
    case = {"part": "gpus", "case": "x", "gpus": 4, "op": "spmm", "nnz_imbalance": 3.0, "fewest": 1,
            "over_fewest": 3.0, "results": results}  # fmt: skip
    facts = {"gets": [[8, 1e-6], [4 << 20, 1.0]], "probed_peer": float(8 << 20)}
    data = {"quick": False, "cases": [case], "gpus_measured": facts}
    got = {t["what"]: t["got"] for t in targets(data) if t["got"] is not None}
    assert got["SpMM, 4 GPUs and more: of the roofline with one GPU's local products"] == 0.9
    assert got["SpMM on GPUs, imbalance above 2: the same"] == 2.0
    assert got["GPUs: waiting that stealing leaves, imbalance above 2"] == 0.3
    assert got["GPUs: gets of 4 MB and more, of the probed peer copy"] == 0.5
    assert all(t["got"] is None for t in targets({**data, "gpus_on_host": True}))
    eight = {**case, "gpus": 8, "op": "spgemm", "over_fewest": 6.0, "nnz_imbalance": 1.0}
    got = {t["what"]: t["got"] for t in targets({**data, "cases": [case, eight]})}
    assert got["SpGEMM: speed of 8 GPUs over one, the best case"] == 6.0
    assert got["GPUs: time with stealing over without, balanced"] == 0.75


def test_a_wrong_tile_is_caught(bench: ModuleType) -> None:
    from studies.brock2024 import gpu_worker as worker
    from studies.brock2024.gpu_suite import dense

    a = ps.generate.rmat(7, 4, dtype=np.float32, seed=3)
    b = dense(a.shape[1], 4)
    p = worker.Problem(a, b)
    tile = np.ascontiguousarray((a @ b.whole)[32:96, 2:4])

    def fetch(rows: tuple[int, int]) -> np.ndarray:
        return tile[slice(*rows)]

    assert worker.dense_error(p, fetch, (32, 96), (2, 4)) <= 1
    at = tuple(np.argwhere(tile > 0)[0])
    tile[at] *= 1.001
    assert worker.dense_error(p, fetch, (32, 96), (2, 4)) > 1
    p = worker.Problem(a, None)
    whole = ps.spgemm(a, a).to_scipy().tocsr()
    part = ps.csr_array(whole[64:128, 0:64])
    assert worker.sparse_error(p, part, (64, 128), (0, 64)) <= 1
    values = np.array(part.data)
    values[np.argmax(values)] *= 1.01
    wrong = ps.csr_array((values, part.indices, part.indptr), shape=part.shape)
    assert worker.sparse_error(p, wrong, (64, 128), (0, 64)) > 1


def test_goals_read_the_rows(bench: ModuleType) -> None:
    from studies.brock2024.summary import targets

    row = {
        "status": "ok",
        "imbalance": 1.0,
        "predicted_over_product": 2.0,
        "fetched_bytes": 10,
        "predicted_bytes": 10,
    }
    stolen = row | {"median": 1.0, "imbalance": 0.4}
    results = {"summa": row | {"median": 3.0}, "c": row | {"median": 2.0}, "c+locality": stolen}
    case = {"part": "spmm", "case": "x", "ranks": 4, "nnz_imbalance": 5.0, "results": results}
    got = {t["what"]: t["got"] for t in targets({"quick": False, "cases": [case]})}
    assert got["SpMM, imbalance above 2: the same"] == 3.0
    assert got["waiting that stealing leaves, imbalance above 2"] == 0.4
    assert got["bytes fetched, C stationary: the model's over the ranks', either way"] == 1.0
    assert got["predicted time against measured, preparation apart, either way"] == 2.0
    even = {**case, "nnz_imbalance": 1.0}
    got = {t["what"]: t["got"] for t in targets({"quick": False, "cases": [even]})}
    assert got["time with stealing over without, balanced"] == 0.5


def test_stand_ins_have_the_papers_shape(bench: ModuleType) -> None:
    from penstock.dist._tile_counts import count_spmm
    from studies.brock2024 import suite
    from studies.brock2024.paper import TABLE_1

    for s in suite.sources(None, ["ldoor", "com-Orkut", "Nm7", "isolates_subgraph4"], 200_000):
        a, m = s.make(), TABLE_1[s.name]
        assert s.stand_in and a.dtype == np.float32
        assert a.nnz == pytest.approx(200_000, rel=0.4), s.name
        found = count_spmm(a, 1, 100).nnz_imbalance
        assert found == pytest.approx(m.imbalance, rel=0.35), s.name


def test_a_wrong_product_is_caught(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from studies.brock2024 import worker

    real = worker.error
    monkeypatch.setattr(worker, "error", lambda got, a, b: real(got * 2.0, a, b))
    out = tmp_path / "b.json"
    words = (*TINY[:-1], "c", "--matrices", "ldoor", "--parts", "spmm", "--out", out)
    assert main(bench, monkeypatch, *words) == 1
    data = read_report(out)
    assert {r["status"] for c in data["cases"] for r in c["results"].values()} == {"wrong"}


def test_options_are_checked(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for words in (
        ("--ranks", "0"),
        ("--folder", tmp_path / "none"),
        ("--matrices", "lena"),
        ("--algorithms", "d"),
    ):
        with pytest.raises(SystemExit) as e:
            main(bench, monkeypatch, *words)
        assert e.value.code == 2
