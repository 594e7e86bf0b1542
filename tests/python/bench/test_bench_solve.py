"""The benchmark of solvers on a toy matrix, and its check."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
from test_bench import BENCH, checked, run

REPEATS = 2
pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)


def test_solvers_on_a_toy_matrix(tmp_path: Path) -> None:
    out = tmp_path / "solve.json"
    run(
        "solve_cpu.py",
        "--quick",
        "--repeats",
        REPEATS,
        "--contestants",
        "penstock,penstock_blocks,scipy",
        "--out",
        out,
    )
    data = checked(out, "solve_cpu", REPEATS)
    assert {(c["method"], c["preconditioner"]) for c in data["cases"]} >= {
        ("cg", "none"),
        ("gmres", "ilu0"),
    }
    for case in data["cases"]:
        ours = case["results"]["penstock"]
        assert 5 < ours["iterations"] < 60
        assert ours["seconds_per_iteration"] == pytest.approx(
            ours["median"] / ours["iterations"], rel=1e-4
        )
        if "scipy" in case["results"]:
            assert abs(case["results"]["scipy"]["iterations"] - ours["iterations"]) <= 3
            assert case["best_rival"] == "scipy" and case["ratio_per_iteration"] > 0
        if (case["method"], case["preconditioner"]) == ("cg", "none"):
            assert 10 <= ours["vectors_per_iteration"] <= 11.5


def test_factors_on_a_toy_matrix(tmp_path: Path) -> None:
    """Where there is no GPU, with the CPU as a device."""
    out = tmp_path / "factors.json"
    said = run("factors_gpu.py", "--quick", "--repeats", REPEATS, "--out", out)
    cases = {c["case"]: c for c in checked(out, "factors_gpu", REPEATS)["cases"]}
    assert cases["line ic0"]["levels"] == 400
    assert cases["line dense blocks of 4"]["levels"] is None
    assert cases["laplacian8^3 ilu0"]["levels"] == 22
    solved = cases["cg laplacian8^3"]["results"]
    assert solved["ic0"]["iterations"] < solved["jacobi"]["iterations"]
    assert "M / product" in said and "laplacian20^2 ilu0" in said


def test_petsc_where_it_is(tmp_path: Path) -> None:
    python = shutil.which("python3", path="/usr/bin")
    if python is None or shutil.which("mpirun") is None:
        pytest.skip("needs mpirun and a system Python with petsc4py")
    worker = BENCH / "rivals" / "petsc" / "worker.py"
    probe = [
        python,
        "-c",
        f"import sys; sys.argv = ['x']; exec(open({str(worker)!r}).read().split('def assemble')[0])",
    ]
    if subprocess.run(
        probe, capture_output=True, env={"PATH": "/usr/bin:/bin"}, timeout=60
    ).returncode:
        pytest.skip("petsc4py is not there")
    out = tmp_path / "solve.json"
    names = "penstock,petsc_2,petsc_2_gamg,petsc_2_hypre"
    who = ("--contestants", names, "--methods", "cg:none,cg:ic0,cg:amg")
    run("solve_cpu.py", "--quick", "--repeats", REPEATS, *who,
        "--petsc-python", python, "--out", out)  # fmt: skip
    cases = {case["preconditioner"]: case for case in checked(out, "solve_cpu", REPEATS)["cases"]}
    assert [*cases] == ["none", "ic0", "amg"]
    for precond, case in cases.items():
        results = case["results"]
        if precond == "amg":  # set up and solved by each run
            assert {*results} == {"penstock", "petsc_2_gamg", "petsc_2_hypre"}
            assert all(0 < r["setup_seconds"] < r["median"] for r in results.values())
            assert case["ratio_per_iteration"] is None
        else:
            assert results["petsc_2"]["iterations"] >= results["penstock"]["iterations"]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    spec = importlib.util.spec_from_file_location("solve_cpu", BENCH / "solve_cpu.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_check_of_a_solve(bench: ModuleType) -> None:
    a = sp.csr_array(sp.diags_array([-1.0, 3.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50)))
    b = np.random.default_rng(0).random(50)
    check = bench.residual_check(a, b, 1e-6)
    x = np.linalg.solve(a.toarray(), b)
    assert check(x) < 1e-6
    x[7] += 1e-5
    assert check(x) > 1
    x[7] = np.nan
    assert not check(x) <= 1
    with pytest.raises(ValueError, match="shape"):
        check(x[:-1])


def test_a_worker_that_cannot_start_is_named(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    out = tmp_path / "solve.json"
    said = run("solve_cpu.py", "--quick", "--repeats", 1, "--contestants", "penstock,petsc_1", "--methods", "cg:none",
               "--petsc-python", sys.executable, "--out", out)  # fmt: skip
    assert "petsc" in said.lower()
