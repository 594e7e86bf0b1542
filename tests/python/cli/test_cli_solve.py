"""`penstock solve`: what it prints and writes, its exit codes, and what it says of bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.cli.solve_choice import METHODS, PRECONDITIONERS, RESTARTED
from test_cli import refused, run, run_json

import penstock as ps


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.mtx"
    ps.generate.laplacian((20, 20)).save(path)
    return path


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("precond", PRECONDITIONERS[1:])
def test_methods(file, method, precond):
    d = run_json(
        "solve", file, "--method", method, "--precond", precond, "--rtol", "1e-9", "--verify"
    )
    assert d["converged"] and d["info"] == 0 and d["check"]["ok"]
    assert d["method"] == method and d["preconditioner"] == precond
    assert d["check"]["residual"] == pytest.approx(d["residual"], rel=1e-3)
    assert len(d["residuals"]) == d["iterations"] + 1


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
def test_vectors_in_files(file, tmp_path, suffix):
    if suffix == ".parquet":
        pl = pytest.importorskip("polars")
    A = ps.load(file)
    x0 = np.random.default_rng(0).random(400)
    np.save(tmp_path / "b.npy", A @ x0)
    first, again = tmp_path / f"x{suffix}", tmp_path / "y.npy"
    result = run("solve", file, "--rhs", tmp_path / "b.npy", "--rtol", "1e-12", "-o", first)
    assert (
        result.exit_code == 0 and "converged" in result.stdout and "x written to" in result.stdout
    )
    if suffix == ".npy":
        x = np.load(first)
    elif suffix == ".csv":
        x = np.loadtxt(first)
    else:
        x = pl.read_parquet(first)["x"].to_numpy()
    np.testing.assert_allclose(x, x0, rtol=1e-8)
    assert (
        run("solve", file, "--rhs", first, "-o", again).exit_code == 0
    )  # x is a right-hand side, too
    assert "exists" in refused(run("solve", file, "-o", again))
    assert run("solve", file, "-o", again, "--force").exit_code == 0


def test_exit_code_where_it_does_not_converge(file, tmp_path):
    result = run("solve", file, "--precond", "none", "--maxiter", "2", "--verify")
    assert result.exit_code == 1 and "maxiter" in result.stdout and "NOT REACHED" in result.stdout
    path = tmp_path / "i.npz"
    sp.save_npz(path, sp.csr_array(np.diag([1.0, -3.0])))
    result = run("solve", path, "--method", "cg", "--precond", "none")
    assert result.exit_code == 1 and "not positive definite" in result.stdout
    d = run_json(
        "solve", path, "--method", "gmres", "--precond", "none", "--rhs", "random", "--seed", "3"
    )
    assert d["iterations"] == 2


@pytest.mark.parametrize("method", METHODS[1:])
def test_every_failure_is_an_exit_code(file, tmp_path, method):
    short = ("--maxiter", "1", *(("--restart", "1") if method in RESTARTED else ()))
    result = run("solve", file, "--method", method, "--precond", "none", *short)
    assert result.exit_code == 1 and "maxiter" in result.stdout
    d = failed_json("solve", file, "--method", method, "--precond", "none", "--rtol", "1e-30")
    assert not d["converged"] and d["info"] != 0 and d["reason"] and d["advice"]
    S = ps.load(file).to_scipy().copy()
    S.data[5] = np.nan
    sp.save_npz(tmp_path / "nan.npz", S)
    d = failed_json("solve", tmp_path / "nan.npz", "--method", method, "--precond", "none")
    assert d["info"] < 0 and "= nan" in d["reason"]
    S = sp.lil_array(ps.load(file).to_scipy())
    S[7], S[:, 7] = 0, 0
    sp.save_npz(tmp_path / "empty.npz", sp.csr_array(S))
    d = failed_json("solve", tmp_path / "empty.npz", "--method", method, "--precond", "none")
    assert "row 7 of A has no entries" in d["reason"]


def test_options(file):
    d = run_json(
        "solve", file, "--dtype", "float32", "--rtol", "1e-4", "--verify", "--threads", "1"
    )
    assert d["matrix"]["dtype"] == "float32" and d["check"]["ok"]
    d = run_json("solve", file, "--device-memory", "16KiB", "--no-prepare", "--verify")
    assert d["check"]["ok"]
    few = run_json("solve", file, "--method", "gmres", "--restart", "2")
    many = run_json("solve", file, "--method", "gmres", "--restart", "50")
    assert few["iterations"] > many["iterations"]
    few = run_json("solve", file, "--method", "fgmres", "--restart", "2")
    assert few["iterations"] > many["iterations"]
    d = run_json("solve", file, "--precond", "block_jacobi", "--blocks", "5", "--shift", "0.01")
    assert d["converged"]


def test_bad_input(file, tmp_path):
    assert "choose one of auto, cg" in refused(run("solve", file, "--method", "magic"))
    assert "choose one of auto, none" in refused(run("solve", file, "--precond", "magic"))
    assert "--method gmres" in refused(run("solve", file, "--restart", "5"))
    assert "--shift" in refused(run("solve", file, "--precond", "jacobi", "--shift", "0.1"))
    assert "--blocks" in refused(run("solve", file, "--precond", "ic0", "--blocks", "2"))
    assert "no such file" in refused(run("solve", file, "--rhs", tmp_path / "none.npy"))
    np.save(tmp_path / "short.npy", np.ones(3))
    assert "400 rows" in refused(run("solve", file, "--rhs", tmp_path / "short.npy"))
    (tmp_path / "words.txt").write_text("one two")
    assert "words.txt" in refused(run("solve", file, "--rhs", tmp_path / "words.txt"))
    assert "must end in" in refused(run("solve", file, "-o", tmp_path / "x.mat"))
    path = tmp_path / "wide.npz"
    sp.save_npz(path, sp.random_array((3, 5), density=0.5, format="csr", rng=0))
    assert "square" in refused(run("solve", path))


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """Diagonal, with 2,100 eigenvalues: conjugate gradients without M take more than 1,000 steps."""
    path = tmp_path_factory.mktemp("hard") / "d.npz"
    sp.save_npz(
        path, sp.dia_array((np.geomspace(1, 1e9, 2100)[None], [0]), shape=(2100, 2100)).tocsr()
    )
    return path


def failed_json(*words):
    result = run(*words, "--json")
    assert result.exit_code == 1, result.stderr
    return json.loads(result.stdout)


def test_residuals_in_json_are_thinned_beyond_a_thousand(hard):
    words = ("solve", hard, "--precond", "none", "--rtol", "1e-14", "--maxiter", "1500")
    every = failed_json(*words, "--all-residuals")
    assert every["iterations"] == 1500 and not every["residuals_thinned"]
    assert every["residual_iterations"] == list(range(1501))
    thin = failed_json(*words)
    kept = thin["residual_iterations"]
    assert thin["residuals_thinned"] and thin["residuals_total"] == 1501
    assert len(kept) == len(thin["residuals"]) == 1000
    assert kept[0] == 0 and kept[-1] == 1500 and set(np.diff(kept)) == {1, 2}
    assert thin["residuals"] == [every["residuals"][k] for k in kept]


def test_amg(file, tmp_path):
    d = run_json("solve", file, "--precond", "amg", "--rtol", "1e-9")
    assert d["method"] == "cg" and d["preconditioner"] == "amg" and d["iterations"] < 20
    assert "with amg" in run("solve", file, "--precond", "amg").stdout
    ps.csr_array(sp.csr_array(np.triu(np.ones((30, 30))))).save(tmp_path / "upper.npz")
    assert "not symmetric" in refused(run("solve", tmp_path / "upper.npz", "--precond", "amg"))


def test_complex_systems(tmp_path):
    steps = np.exp(1j * np.arange(99))
    a = sp.diags_array([np.full(100, 2.5), -steps, -steps.conj()], offsets=[0, 1, -1])
    ps.csr_array(sp.csr_array(a)).save(tmp_path / "hermitian.npz")
    ps.csr_array(sp.csr_array(a + 1j * sp.eye_array(100))).save(tmp_path / "general.npz")
    for file, method, more in [
        ("hermitian.npz", "cg", []),
        ("general.npz", "bicgstab", []),
        ("hermitian.npz", "cg", ["--precond", "amg"]),
        ("general.npz", "gmres", ["--method", "gmres", "--precond", "none"]),
    ]:
        out = tmp_path / "x.npy"
        d = run_json("solve", tmp_path / file, "--verify", "--force", "-o", out, *more)
        assert d["method"] == method and d["check"]["ok"] is True
        x = np.load(out)
        s = sp.csr_array(a if file == "hermitian.npz" else a + 1j * sp.eye_array(100))
        assert x.dtype == np.complex128 and np.linalg.norm(s @ x - 1) <= 1.001 * d["target"]
    csv = tmp_path / "x.csv"
    assert run("solve", tmp_path / "general.npz", "-o", csv).exit_code == 0
    assert abs(np.loadtxt(csv, dtype=complex) - x).max() < 1e-3
    assert "real numbers" in refused(run("solve", tmp_path / "general.npz", "--precond", "ilu0"))
    assert "complex" in refused(
        run("solve", tmp_path / "general.npz", "-o", tmp_path / "x.parquet")
    )
    short = run("solve", tmp_path / "general.npz", "--maxiter", "1")
    assert short.exit_code == 1 and "ilu0" not in short.stdout and "--maxiter above" in short.stdout


def test_a_solve_that_does_not_converge_names_a_preconditioner(file, hard, tmp_path):
    short = ("--maxiter", "2", "--rtol", "1e-12")
    assert "--precond ic0" in run("solve", file, "--precond", "none", *short).stdout
    for method, precond, wanted in (
        ("cg", "jacobi", "--precond ic0"),
        ("gmres", "none", "--precond ilu0"),
        ("bicgstab", "chebyshev", "--precond ilu0"),
        ("cg", "ic0", "--precond block_jacobi"),
    ):
        how = ("--method", method, "--precond", precond, *short)
        if method == "gmres":
            how += ("--restart", "2")
        advice = failed_json("solve", file, *how)["advice"]
        assert any(one.startswith(wanted) for one in advice), (method, precond, advice)
    assert run_json("solve", file)["advice"] == []  # converged


def test_advice_names_no_factor_that_could_not_be_made():
    from penstock.cli.solve_choice import Choice, advice

    info = type("Info", (int,), {"reason": "maxiter"})(5)
    tried = Choice("cg", "jacobi", 0.0, None, "", ["ic0: breaks down at row 3"])
    ideas = advice(tried, info, False, 5000)
    assert ideas[0] == "--precond block_jacobi"
    assert not any("ic0" in one for one in ideas)
