"""The package is typed: mypy accepts a user's program and finds the mistakes in another."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps

ROOT = Path(ps.__file__).parent

GOOD = """
import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped, unused-ignore]
import penstock as ps

A = ps.csr_array(sp.eye_array(3, format="csr"), dtype=np.float64)
y: np.ndarray = A.dot(np.ones(3), alpha=2.0, schedule=ps.Streamed(device="cpu", block="1MiB"), semiring="min_plus")
rows, cols = A.shape
part = A[0:2]
with ps.options(device_memory="1GB") as now, ps.record() as events:
    z = A.T @ y
print(rows + cols, A.nnz, A.dtype.itemsize, A.explain(y).seconds * 2, events[0]["tiles"], now.device_memory)
B: ps.csr_array = A.astype(np.float32).copy()
chosen: str = B.prepare("auto")
ps.set_num_threads(ps.num_threads())
ps.load("a.mtx").save("b.penstock")
C: ps.csr_array = ps.open("b.penstock", validate=True)
G = ps.generate.rmat(8, undirected=False)
E: ps.csr_array = A.to(ps.host)
told: str = A.prepare(schedule=ps.Streamed(device="cpu", codec="raw", keep=False), products=10)
v: np.ndarray = ps.empty(3, place=ps.host)
print(ps.device(0).ordinal, ps.InCore(device=0, kernel="packed"), A.explain().alternatives, ps.options(gpus=0))
A.release()
"""

BAD = """
import penstock as ps

A = ps.csr_array((2, 2))
A.dot([1.0, 2.0], algoritm="balanced")  # codespell:ignore
A.nonsense
ps.Streamed(blocks=3)
n: str = A.nnz
ps.options(5)
"""


def mypy(program, tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: pip install mypy")
    file = tmp_path / "program.py"
    file.write_text(program)
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nmypy_path = {ROOT.parent}\nfollow_imports = silent\n")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(config),
        "--cache-dir",
        str(tmp_path / "c"),
        str(file),
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout


@pytest.mark.timeout(120)
def test_a_good_program_passes(tmp_path):
    assert "Success" in (said := mypy(GOOD, tmp_path)), said


@pytest.mark.timeout(120)
def test_mistakes_are_found(tmp_path):
    said = mypy(BAD, tmp_path)
    for line in (5, 6, 7, 8, 9):
        assert f"program.py:{line}: error" in said, said
    assert "Found 5 errors" in said


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "py.typed").is_file()


def test_the_stub_has_what_the_extension_has():
    stubs = [
        p for p in (Path(ps._core.__file__).parent / "_core.pyi", ROOT / "_core.pyi") if p.is_file()
    ]
    if not stubs:
        pytest.skip("the extension was copied here without its stub, which an installation has")
    text = stubs[0].read_text()
    compile(text, "_core.pyi", "exec")
    for name in dir(ps._core):
        if not name.startswith("_"):
            assert f"def {name}(" in text or f"class {name}" in text, f"{name} is not in {stubs[0]}"
