"""`penstock spgemm`, and the check behind its --verify."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from penstock._check.spgemm import verify_spgemm
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions always keep them apart
        runner = CliRunner()
    return runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def matrix():
    return sp.random_array((300, 300), density=0.03, rng=np.random.default_rng(0), format="csr")


@pytest.fixture
def file(tmp_path, matrix):
    path = tmp_path / "a.npz"
    sp.save_npz(path, matrix)
    return path


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "max_times", "or_and"])
def test_says_how_large_and_checks(file, matrix, semiring):
    result = run("spgemm", file, "--semiring", semiring, "--verify", "--json")
    assert result.exit_code == 0, result.stderr
    d = json.loads(result.stdout)
    assert d["check"]["ok"] is True
    assert d["check"]["rows"] == 64
    assert d["product"]["nnz"] == (matrix @ matrix).nnz
    assert d["products"] == int(np.diff(matrix.indptr)[matrix.indices].sum())
    assert d["gflops"] == pytest.approx(2 * d["products"] / d["seconds"] / 1e9)


def test_writes_the_product_and_the_transpose(file, matrix, tmp_path):
    for name in ("c.npz", "c.mtx", "c.penstock"):
        result = run("spgemm", file, file, "--transpose", "-o", tmp_path / name, "--verify")
        assert result.exit_code == 0, result.stderr
        assert "right" in result.stdout
        assert f"C written to {tmp_path / name}" in result.stdout
        c = ps.load(tmp_path / name)
        assert np.allclose(c.toarray(), (matrix @ matrix.T).toarray())
    again = run("spgemm", file, "-o", tmp_path / "c.npz")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run("spgemm", file, "-o", tmp_path / "c.npz", "--force").exit_code == 0


def test_bad_input(file, tmp_path):
    wide = tmp_path / "w.npz"
    sp.save_npz(wide, sp.random_array((300, 7), density=0.1, format="csr"))
    result = run("spgemm", wide)
    assert result.exit_code == 2
    assert "columns must be as many as B's rows" in result.stderr
    result = run("spgemm", file, "--memory", "10KB")
    assert result.exit_code == 1
    assert "10 KB are allowed" in result.stderr
    assert run("spgemm", file, "--semiring", "xor").exit_code == 2


def test_the_check_finds_faults(matrix):
    a = ps.csr_array(matrix)
    c = (a @ a).to_scipy()
    assert verify_spgemm(a, a, c).ok
    wrong = c.copy()
    wrong.data = wrong.data.copy()
    wrong.data[17] *= 1 + 1e-9
    assert "C x" in verify_spgemm(a, a, wrong).problem
    moved = c.copy()
    moved.indices = moved.indices.copy()
    moved.indices[0], moved.indices[1] = moved.indices[1], moved.indices[0]
    assert "ascend" in verify_spgemm(a, a, moved).problem
    assert "C is" in verify_spgemm(a, a, c[:5]).problem
    low = ps.spgemm(a, a, semiring="min_plus").to_scipy()
    low.data = low.data + 1
    assert "values" in verify_spgemm(a, a, low, "min_plus", samples=300).problem
    pattern = ps.spgemm(a, a, semiring="or_and")
    assert verify_spgemm(a, a, pattern, "or_and", samples=300).ok
    assert "columns" in verify_spgemm(a, a, a.astype(bool), "or_and", samples=300).problem
