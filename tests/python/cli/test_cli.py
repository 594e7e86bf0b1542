"""The command line: what it prints, its exit codes, and what it says of bad input."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import real_file
from penstock.cli import ui
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps

ESCAPE = "\x1b"
SMALL_DEMO = ["demo", "--scale", "10", "--edge", "12", "--repeats", "2"]


@pytest.fixture
def matrix():
    return sp.random_array((300, 200), density=0.03, rng=np.random.default_rng(0), format="csr")


@pytest.fixture
def file(tmp_path, matrix):
    path = tmp_path / "a.npz"
    sp.save_npz(path, matrix)
    return path


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions always keep them apart
        runner = CliRunner()
    return runner.invoke(app, [str(word) for word in words])


def run_json(*words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(result, code=2):
    """One line on stderr, nothing on stdout; returns the line."""
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("penstock: ")
    return result.stderr


# Demo


def test_demo_streams_through_a_smaller_ring_and_checks():
    d = run_json(*SMALL_DEMO)
    assert d["ok"] is True
    assert len(d["results"]) == 2
    for r in d["results"]:
        in_core, streamed = r["runs"][:2]
        assert in_core["trace"]["schedule"] == "in_core"
        assert streamed["trace"]["schedule"] == "streamed"
        assert streamed["trace"]["tiles"] > 1
        assert streamed["trace"]["ring_bytes"] < r["matrix"]["bytes"] / 4
        assert streamed["trace"]["copied_bytes"] >= r["matrix"]["bytes"]
        for one in (in_core, streamed):
            check = one["check"]
            assert check["complete"]
            assert check["rows"] == r["matrix"]["rows"]
            assert check["error"] <= check["bound"] < 1e-10


def test_demo_prints_a_table_and_what_was_shown():
    result = run(*SMALL_DEMO)
    assert result.exit_code == 0
    assert "in core" in result.stdout
    assert "streamed" in result.stdout
    assert "Every row agrees with SciPy's product" in " ".join(result.stdout.split())
    assert ESCAPE not in result.stdout
    assert result.stderr == ""


def test_demo_of_a_file_and_of_a_store(tmp_path, file, matrix):
    for name in (file, tmp_path / "a.penstock"):
        ps.csr_array(matrix).save(tmp_path / "a.penstock")
        d = run_json("demo", name, "--device-memory", "4KiB", "--repeats", "1")
        (r,) = d["results"]
        assert r["matrix"]["nnz"] == matrix.nnz
        assert r["ring_limit_bytes"] == 4096
        assert ("open_seconds" in r) == (name == file)  # a store is mapped where it is


def test_demo_fails_where_a_product_is_wrong(file, monkeypatch):
    right = ps.csr_array.dot

    def wrong(self, x, *, out=None, schedule=None, **rest):
        y = right(self, x, out=out, schedule=schedule, **rest)
        if isinstance(schedule, ps.Streamed):
            y[7] += 1e-6
        return y

    monkeypatch.setattr(ps.csr_array, "dot", wrong)
    result = run("demo", file, "--repeats", "1")
    assert result.exit_code == 1
    assert "WRONG" in result.stdout
    assert "A product is wrong" in result.stdout
    shown = run("demo", file, "--repeats", "1", "--json")
    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["ok"] is False


def test_demo_wants_a_ring_smaller_than_the_matrix(file):
    assert "must be streamed" in refused(run("demo", file, "--device-memory", "1GiB"))
    assert "'lots' is not a size" in refused(run("demo", file, "--device-memory", "lots"))
    refused(run("demo", "--scale", "99"))


def test_demo_refuses_a_matrix_without_entries(tmp_path):
    sp.save_npz(tmp_path / "e.npz", sp.csr_array((3, 3)))
    assert "no nonzeros" in refused(run("demo", tmp_path / "e.npz"))


REAL = {
    "social": "soc-Slashdot0902.txt.gz",
    "web": "cnr-2000.mtx.gz",
    "road": "road-seattle.mtx.gz",
    "finite elements": "bcsstk18.mtx.gz",
    "circuit": "G2_circuit.mtx.gz",
    "rectangular": "lp_ken_11.mtx.gz",
    "complex": "pegase13659-Ybus.mtx.gz",
}


@pytest.mark.parametrize("kind", REAL)
def test_demo_of_real_files(kind):
    d = run_json("demo", real_file(REAL[kind]), "--repeats", "1")
    assert d["ok"] is True
    assert d["results"][0]["runs"][1]["trace"]["tiles"] > 1


# Info


def test_info_in_json(file, matrix):
    d = run_json("info", file)
    assert (d["rows"], d["cols"], d["nnz"], d["dtype"]) == (300, 200, matrix.nnz, "float64")
    degrees = np.diff(matrix.indptr)
    assert d["row_degrees"]["max"] == degrees.max()
    assert sum(d["row_degrees"]["histogram"]) == 300
    assert d["bytes"]["coo"] == matrix.nnz * 16
    assert d["bytes"]["ell"] == 300 * (degrees.max() * 12 + 4)
    assert d["symmetry"]["kind"] == "none"


def test_info_in_words(file):
    plain = run("info", file)
    assert plain.exit_code == 0
    assert "entries a row" in plain.stdout
    assert ESCAPE not in plain.stdout
    assert "┌" not in plain.stdout
    assert "┌" in run("info", file, "--spy").stdout


def test_info_of_matrices_without_rows_or_entries(tmp_path):
    for shape in ((0, 0), (0, 5), (5, 0), (4, 4)):
        ps.csr_array(shape).save(tmp_path / "e.penstock")
        result = run("info", tmp_path / "e.penstock", "--spy")
        assert result.exit_code == 0, result.stderr
        assert "0 nonzeros" in result.stdout


def test_info_draws_a_png(file, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "a.png"
    assert run("info", file, "--plot", out).exit_code == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_info_names_the_package_for_plots(file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = refused(run("info", file, "--plot", tmp_path / "a.png"), code=1)
    assert "pip install 'penstock-sparse[plot]'" in line


def test_info_checks_the_plot_before_the_work(file):
    assert ".png" in refused(run("info", file, "--plot", "a.gif"))
    assert "no such folder" in refused(run("info", file, "--plot", "nowhere/a.png"))


# Convert


def test_convert_there_and_back(tmp_path, file, matrix):
    store, text, back = (tmp_path / f"b{s}" for s in (".penstock", ".mtx", ".npz"))
    d = run_json("convert", file, store)
    assert d["nnz"] == matrix.nnz
    assert d["file_bytes"] > matrix.nnz * 12
    for source, target in ((store, text), (text, back)):
        assert run("convert", source, target).exit_code == 0
    assert abs(sp.load_npz(back) - matrix).max() == 0


def test_convert_changes_the_values_type(tmp_path, file):
    run_json("convert", file, tmp_path / "p.penstock", "--dtype", "pattern")
    assert ps.open(tmp_path / "p.penstock").dtype == bool
    line = refused(run("convert", file, tmp_path / "q.npz", "--dtype", "int8"))
    assert "int8" in line
    assert "float32" in line


def test_convert_refuses_to_overwrite(tmp_path, file):
    out = tmp_path / "b.npz"
    out.write_text("precious")
    assert "--force" in refused(run("convert", file, out))
    assert out.read_text() == "precious"
    assert run("convert", file, out, "--force").exit_code == 0
    assert sp.load_npz(out).shape == (300, 200)


def test_convert_names_bad_paths(tmp_path, file):
    assert "no-such.mtx" in refused(run("convert", tmp_path / "no-such.mtx", tmp_path / "b.npz"))
    assert "nowhere" in refused(run("convert", file, tmp_path / "nowhere" / "b.npz"))
    assert "weird" in refused(run("convert", file, tmp_path / "b.weird"))


def test_convert_edge_list_options(tmp_path):
    (tmp_path / "g.txt").write_text("1 2\n2 3\n2 3\n")
    out = tmp_path / "g.penstock"
    run_json("convert", tmp_path / "g.txt", out, "--undirected", "--base", "1")
    dense = ps.open(out).to_scipy().toarray() != 0
    np.testing.assert_array_equal(dense, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


# Multiply


def test_multiply_measures_and_predicts(file, matrix, tmp_path):
    y = tmp_path / "y.npy"
    d = run_json("multiply", file, "--verify", "--repeats", "2", "--seed", "3", "--out", y)
    assert d["check"]["ok"] is True
    assert d["trace"]["kernel_bytes"] >= matrix.nnz * 12
    assert d["predicted"]["schedule"] == d["trace"]["schedule"] == "in_core"
    x = np.random.default_rng(3).uniform(-1, 1, 200)
    np.testing.assert_allclose(np.load(y), matrix @ x, rtol=1e-12, atol=1e-15)
    assert "exists" in refused(run("multiply", file, "--out", y))


def test_multiply_streams_in_blocks(file):
    words = ["--schedule", "streamed", "--block", "2KiB", "--slots", "2", "--threads", "1"]
    d = run_json("multiply", file, *words, "--verify")
    assert d["trace"]["schedule"] == "streamed"
    assert d["trace"]["tiles"] > 5
    assert d["trace"]["ring_bytes"] <= 2 * (2048 + 128)  # slots are rounded up to cache lines


def test_multiply_under_a_limit_of_device_memory(file):
    d = run_json("multiply", file, "--device-memory", "4KiB", "--verify")
    assert d["trace"]["schedule"] == "streamed"
    assert ps.options.device_memory is None  # and the setting is gone again


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "max_times", "or_and"])
@pytest.mark.parametrize("transpose", [[], ["--transpose"]])
def test_multiply_semirings(file, semiring, transpose):
    d = run_json("multiply", file, "--semiring", semiring, "--verify", *transpose)
    assert d["check"]["ok"] is True
    assert d["check"]["rows"] == (200 if transpose else 300)


@pytest.mark.parametrize("algorithm", ["balanced", "blocked", "binned"])
@pytest.mark.parametrize("dtype", ["pattern", "float32", "float64"])
def test_multiply_algorithms_and_types(file, algorithm, dtype):
    d = run_json("multiply", file, "--algorithm", algorithm, "--dtype", dtype, "--verify")
    assert d["matrix"]["dtype"] == dtype
    assert d["check"]["ok"] is True


def test_multiply_of_complex_values_and_what_is_not_built_for_them(file):
    assert run_json("multiply", file, "--dtype", "complex64", "--verify")["check"]["ok"] is True
    result = run("multiply", file, "--dtype", "complex64", "--algorithm", "binned")
    assert "use balanced" in refused(result, code=1)


def test_multiply_keeps_the_number_of_threads(file):
    before = ps.num_threads()
    run_json("multiply", file, "--threads", "1")
    assert ps.num_threads() == before


def test_multiply_says_what_it_did(file):
    result = run("multiply", file, "--verify", "--explain")
    assert result.exit_code == 0
    for words in ("GFLOP/s", "predicted", "right: error", "schedule: in_core"):
        assert words in result.stdout


def test_multiply_explains_what_it_considered(file):
    result = run("multiply", file, "--device-memory", "4KiB", "--gpus", "0", "--explain")
    assert result.exit_code == 0
    for words in ("schedule: streamed", "exceed", "binds", "considered:", "in_core on the CPU"):
        assert words in result.stdout
    assert ps.options.gpus is None


def test_multiply_by_gpus_that_are_not_there(file):
    absent = str(ps._core.device_count() + 1)
    assert "usable here" in refused(run("multiply", file, "--gpus", absent))
    assert "--schedule streamed" in refused(run("multiply", file, "--codec", "packed"))
    assert "--schedule streamed" in refused(run("multiply", file, "--no-keep", "--gpus", "0"))
    assert "codec='zip'" in refused(
        run("multiply", file, "--schedule", "streamed", "--codec", "zip")
    )
    assert "--gpus" in refused(run("multiply", file, "--transpose", "--gpus", "1"))
    for name in ("in_core", "zero_copy"):
        told = refused(run("multiply", file, "--schedule", name, "--gpus", "1"))
        assert "--gpus: only a matrix that streams has this" in told


def test_multiply_fails_where_wrong(file, monkeypatch):
    monkeypatch.setattr("penstock.csr_array.dot", lambda self, x, *, out=None, **_: _zeros(self, x))
    result = run("multiply", file, "--verify", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["check"]["ok"] is False


def _zeros(a, x):
    with_event = {
        "seconds": 1.0,
        "kernel_bytes": 1,
        "schedule": "none",
        "kernel": "none",
        "tiles": 0,
    }
    from penstock._plan.report import active

    events = active()
    if events is not None:
        events.append(with_event)
    return np.zeros(a.shape[0])


def test_multiply_refuses_what_does_not_go_together(file):
    assert "--schedule streamed" in refused(run("multiply", file, "--block", "1KiB"))
    assert "--transpose" in refused(run("multiply", file, "--transpose", "--schedule", "streamed"))
    assert "quickly" in refused(run("multiply", file, "--algorithm", "quickly"))
    assert "sideways" in refused(run("multiply", file, "--schedule", "sideways"))
    assert "zero_plus" in refused(run("multiply", file, "--semiring", "zero_plus"))
    assert ".npy" in refused(run("multiply", file, "--out", "y.txt"))
    refused(run("multiply", file, "--schedule", "zero_copy"))


# Doctor, and the frame around the commands


def test_doctor():
    d = run_json("doctor")
    assert d["machine"]["host_read"] > 0
    assert {p["name"] for p in d["packages"]} >= {"polars", "matplotlib", "mpi4py"}
    missing = [p for p in d["packages"] if p["version"] is None]
    assert all(any(p["name"] in line for line in d["advice"]) for p in missing)
    words = run("doctor")
    assert words.exit_code == 0
    assert "reading memory" in words.stdout


def test_doctor_names_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setattr("penstock.cli.doctor._version", lambda name: None)
    result = run("doctor")
    assert result.exit_code == 0
    assert "pip install polars" in result.stdout


def test_doctor_asks_nvidia_smi(monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'Some GPU, 8192 MiB, 580.1, 9.0'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (gpu,) = run_json("doctor")["gpus"]
    assert (
        gpu.items() >= {"name": "Some GPU", "compute_cap": "9.0", "driver_version": "580.1"}.items()
    )
    tool.write_text("#!/bin/sh\necho 'driver mismatch' >&2\nexit 9\n")
    d = run_json("doctor")
    assert d["gpus"] == []
    assert "driver mismatch" in d["gpu_note"]


def test_usage():
    assert f"penstock {ps.__version__}" in run("--version").stdout
    for words in (["--help"], [], ["info", "--help"], ["generate", "rmat", "--help"]):
        result = run(*words)
        assert result.exit_code == 0
        assert "Usage" in result.stdout
    assert "penstock info --help" in refused(run("info"))
    assert "inffo" in refused(run("inffo"))
    assert "--bogus" in refused(run("info", "--bogus", "x"))


def test_missing_and_broken_files(tmp_path):
    for command in (["info"], ["multiply"], ["demo"]):
        assert "no-such.mtx" in refused(run(*command, tmp_path / "no-such.mtx"))
    junk = tmp_path / "junk.mtx"
    junk.write_bytes(bytes(range(256)))
    assert "junk.mtx" in refused(run("info", junk))
    (tmp_path / "empty").mkdir()
    assert "empty" in refused(run("info", tmp_path / "empty"))


def test_debug_shows_the_traceback(tmp_path):
    result = run("info", tmp_path / "none.mtx", "--debug")
    assert isinstance(result.exception, ui.InputError)


def test_an_error_of_ours_is_one_line(file, monkeypatch):
    def broken(*_, **__):
        raise KeyError("inside")

    monkeypatch.setattr("penstock._check.stats.describe", broken)
    assert "--debug" in refused(run("info", file), code=1)


def test_json_has_no_nan(capsys):
    ui.emit_json({"a": float("nan"), "b": np.float32(1), "c": np.arange(2), "d": Path("x")})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": 1.0, "c": [0, 1], "d": "x"}
