"""`penstock solve` without options, names of files in what the commands print, and bits of products."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import real_file
from penstock.cli import ui
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps

ROOT = Path(__file__).resolve().parents[2]


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def run_json(*words):
    result = run(*words, "--json")
    return result, json.loads(result.stdout)


def hard_matrix(n=2000):
    """Symmetric positive definite, rows scaled over eight orders of magnitude."""
    A = ps.generate.laplacian((n,)).to_scipy()
    d = sp.diags_array(np.logspace(0, 4, n))
    return ps.csr_array(d @ A @ d)


# Solve


def test_a_stiffness_matrix_is_solved_without_options():
    path = real_file("bcsstk18.mtx.gz")
    result, d = run_json("solve", path, "--verify")
    assert result.exit_code == 0 and d["converged"] and d["check"]["ok"]
    assert (d["method"], d["preconditioner"], d["shift"]) == ("cg", "ic0", 0.01)
    assert d["iterations"] < 1000 and d["iteration_limit"] == 5000
    assert "pivot" in d["not_made"][0]  # without a shift there is no factor
    said = run("solve", path).stdout
    assert "cg with ic0, shift 0.01 (the matrix is symmetric, with a positive diagonal)" in said
    assert "at most 5,000" in said and "not made" in said


def test_plain_cg_ends_soon_and_says_what_to_try():
    path = real_file("bcsstk18.mtx.gz")
    result, d = run_json("solve", path, "--precond", "none")
    assert result.exit_code == 1 and d["iterations"] == 5000
    assert any("--precond ic0" in line for line in d["advice"])
    assert any("--precond jacobi" in line for line in d["advice"])
    assert any("--maxiter above 5000" in line for line in d["advice"])
    assert len(result.stdout) < 100_000


@pytest.mark.parametrize(
    "words, expected",
    [
        (["--precond", "none", "--maxiter", "5"], ["--precond ic0", "--precond jacobi", "--maxiter above 5"]),
        (["--method", "gmres", "--precond", "none", "--maxiter", "1"], ["--precond ilu0", "bicgstab"]),
        (["--method", "bicgstab", "--precond", "jacobi", "--maxiter", "2"], ["--precond ilu0", "gmres"]),
    ],
)  # fmt: skip
def test_what_did_not_converge_gets_advice(tmp_path, words, expected):
    path = tmp_path / "a.mtx"
    hard_matrix().save(path)
    result = run("solve", path, *words)
    assert result.exit_code == 1 and "to try" in result.stdout
    assert all(word in result.stdout for word in expected)
    _, d = run_json("solve", path, *words)
    assert all(any(word in line for line in d["advice"]) for word in expected)


def test_a_solve_that_converges_gets_no_advice(tmp_path):
    path = tmp_path / "a.mtx"
    ps.generate.laplacian((20, 20)).save(path)
    result, d = run_json("solve", path)
    assert result.exit_code == 0 and d["advice"] == [] and d["not_made"] == []
    assert (d["method"], d["preconditioner"]) == ("cg", "ic0")
    assert "to try" not in run("solve", path).stdout


def test_methods_are_chosen_by_the_matrix(tmp_path):
    path = tmp_path / "a.npz"
    rng = np.random.default_rng(18)
    dense = np.where(rng.random((50, 50)) < 0.1, rng.standard_normal((50, 50)), 0) + 9 * np.eye(50)
    sp.save_npz(path, sp.csr_array(dense))
    result, d = run_json("solve", path, "--verify")
    assert result.exit_code == 0 and d["check"]["ok"]
    assert (d["method"], d["preconditioner"], d["chosen"]) == ("bicgstab", "ilu0", "not symmetric")
    sp.save_npz(path, sp.csr_array(np.diag([1.0, -3.0, 2.0])))
    result, d = run_json("solve", path)
    assert result.exit_code == 0 and d["method"] == "bicgstab"
    assert d["chosen"] == "symmetric, but the diagonal is not positive"
    sp.save_npz(path, sp.csr_array((np.zeros(2), [0, 1], [0, 1, 2])))
    _, d = run_json("solve", path)  # no factor, no diagonal
    assert d["preconditioner"] == "none" and len(d["not_made"]) == 4


def test_residuals_in_json_are_thinned(tmp_path):
    path = tmp_path / "a.mtx"
    hard_matrix().save(path)
    words = ("solve", path, "--precond", "none", "--maxiter", "3000")
    result, d = run_json(*words)
    at = d["residual_iterations"]
    assert len(d["residuals"]) == len(at) == 1000 and len(result.stdout) < 100_000
    assert at[0] == 0 and at[-1] == d["iterations"] and at == sorted(set(at))
    _, everything = run_json(*words, "--all-residuals")
    assert len(everything["residuals"]) == d["iterations"] + 1
    assert d["residuals"] == [everything["residuals"][k] for k in at]


# Names

NAMES = ["a[1].mtx", "[red]x.mtx", "[bold]b.mtx", "[red.mtx", ":smile:.mtx"]
COMMANDS = {
    "info": [], "multiply": ["--repeats", "1"], "spgemm": [], "solve": [], "bfs": [], "sssp": [], "cc": [],
    "scc": [], "pagerank": [], "triangles": [], "core": [], "betweenness": [], "partition": ["-n", "2"],
    "demo": ["--repeats", "1", "--device-memory", "2KiB"],
}  # fmt: skip


@pytest.fixture(scope="module")
def matrix():
    return ps.generate.laplacian((9, 9)).__abs__()


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_printed_as_they_are(command, matrix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in NAMES if command in ("info", "solve") else NAMES[1:2]:
        path = Path(name)
        matrix.save(path)
        result = run(command, path, *COMMANDS[command])
        assert result.exit_code == 0, (result.stdout, result.stderr)
        assert path.name in result.stdout
        assert json.loads(run(command, path, *COMMANDS[command], "--json").stdout)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_results_are_printed_as_they_are(name, matrix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix.save("a.mtx")
    for words in (
        ["generate", "laplacian", "--shape", "3,3", name],
        ["convert", "a.mtx", "c" + name],
    ):
        result = run(*words)
        assert result.exit_code == 0 and words[-1] in result.stdout
    for words in (["solve", "a.mtx"], ["bfs", "a.mtx"]):
        out = f"{words[0]}{name}.npy"
        result = run(*words, "-o", out)
        assert result.exit_code == 0 and f"written to {out}" in result.stdout
    result = run("info", "missing" + name)
    assert result.exit_code == 2 and "missing" + name in result.stderr


def test_names_on_a_terminal_are_printed_as_they_are(monkeypatch):
    """Lines, tables, headings and the progress bar, as rich draws them."""
    from rich.console import Console

    out = ui.console()
    assert isinstance(out, Console)
    for draw in (
        lambda name: ui.headline(out, name, name),
        lambda name: out.print(name),
        lambda name: out.print(ui.facts({"file": name})),
        lambda name: ui.heading(out, name),
        lambda name: out.print(_row(name)),
    ):
        for name in NAMES:
            with out.capture() as caught:
                draw(name)
            assert name in caught.get()
    pictured = io.StringIO()
    screen = Console(file=pictured, force_terminal=True, width=200)
    monkeypatch.setattr(ui, "console", lambda stderr=False: screen)
    monkeypatch.setattr(ui, "PATIENCE", 0.0)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with ui.progress(1) as step:
        step.next("reading [red]x.mtx")
        step._bar.start()
        step._bar.refresh()
    assert "reading [red]x.mtx" in pictured.getvalue()


def _row(name):
    t = ui.table("file", "n")
    t.add_row(name, name)
    return t


def test_no_command_prints_markup():
    for path in (ROOT / "python" / "penstock" / "cli").glob("*.py"):
        text = path.read_text()
        for word in ("[bold]", "[dim]", "[/]", "[red]", "[green]", "markup=True"):
            assert word not in text or path.name == "ui.py", (path.name, word)


# Bits


def bits(f):
    found = set()
    before = ps.num_threads()
    try:
        for threads in (1, 2, 3, 5):
            ps.set_num_threads(threads)
            found.add(np.ascontiguousarray(f()).tobytes())
    finally:
        ps.set_num_threads(before)
    return len(found)


def test_products_have_the_bits_that_are_promised():
    rng = np.random.default_rng(3)
    different = 0
    for seed in range(4):
        A = ps.generate.rmat(13, 24, seed=seed, dtype=np.float64)
        x, X = rng.standard_normal(A.shape[0]), rng.standard_normal((A.shape[0], 3))
        assert bits(lambda: A @ x) == bits(lambda: A @ X) == bits(lambda: A.T @ X) == 1  # noqa: B023
        assert bits(lambda: A.T.formed() @ x) == 1  # noqa: B023
        different += bits(lambda: A.T @ x) > 1  # noqa: B023
        np.testing.assert_allclose(A.T @ x, A.T.formed() @ x, rtol=1e-12, atol=1e-12)
    # The exception is said where products are: it goes when A.T @ x no longer is one.
    assert different and "number of threads" in ps.csr_array.dot.__doc__
    assert "number of threads" in " ".join(type(A.T).dot.__doc__.split())
