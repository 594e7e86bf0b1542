"""What is given away: the source distribution, and how wheels are described, built and tried.

PENSTOCK_TEST_WHEEL=1 also builds a wheel without CUDA and tries it in empty environments, which takes minutes.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

needs_sources = pytest.mark.skipif(not (ROOT / "ci").is_dir(), reason="not in the repository")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The names of the files of a source distribution, without its folder."""
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed")
    folder = tmp_path_factory.mktemp("sdist")
    make = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", make], cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.glob("penstock_sparse-*.tar.gz")
    with tarfile.open(file) as archive:
        return {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}


@needs_sources
def test_the_source_distribution_has_no_tests(sdist):
    folders = {name.split("/")[0] for name in sdist if "/" in name}
    assert folders == {"src", "cmake", "python"}
    assert not [name for name in sdist if name.endswith((".so", ".pyc", "_core.pyi"))]


@needs_sources
def test_the_source_distribution_can_be_built(sdist):
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "PKG-INFO"):
        assert name in sdist
    tracked = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "src", "cmake", "python"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode == 0:
        here = {name for name in tracked.stdout.splitlines() if (ROOT / name).is_file()}
        assert here <= sdist


def test_wheels_are_described(project):
    assert project["project"]["name"] == "penstock-sparse"
    assert project["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    minors = [int(c.rsplit(".", 1)[1]) for c in project["project"]["classifiers"] if ":: 3." in c]
    assert minors == [10, 11, 12, 13, 14]
    ci = project["tool"]["cibuildwheel"]
    assert ci["manylinux-x86_64-image"] == ci["manylinux-aarch64-image"] == "manylinux_2_28"
    assert {"cp310-manylinux_*", "cp311-manylinux_*", "cp312-manylinux_*"} == set(ci["build"])
    assert ci["config-settings"]["cmake.define.PENSTOCK_CUDA_ARCHITECTURES"] == "WHEEL"
    for script in ("ci/requirements.py", "ci/wheel.py", "ci/wheel_test.py"):
        assert script in " ".join(map(str, ci.values())) and (ROOT / script).is_file()


@needs_sources
def test_the_lists_that_wheels_are_built_with_exist():
    for names in (["build", "wheel"], ["build", "wheel", "cuda"]):
        command = [sys.executable, str(ROOT / "ci" / "requirements.py"), *names]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert any(line.startswith("auditwheel") for line in lines)
        assert not any(line.startswith("penstock") for line in lines)


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_sources
def test_a_wheel_goes_to_the_pythons_of_its_tag():
    fits = script("wheel_test").fits
    stable = "penstock_sparse-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl"
    assert [minor for minor in range(10, 16) if fits(stable, minor)] == [12, 13, 14, 15]
    older = "penstock_sparse-0.1.0-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    assert [minor for minor in range(10, 16) if fits(older, minor)] == [10]


@needs_sources
def test_faulty_wheels_are_found(tmp_path):
    wheel = script("wheel")
    made = tmp_path / "penstock_sparse-0.1.0-cp312-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("penstock/_core.abi3.so", b"no library")
        archive.writestr("tests/test_a.py", b"")
    wheel.needed = lambda path: ["libc.so.6", "ld-linux-x86-64.so.2", "libcuda.so.1"]
    text = "\n".join(wheel.faults(made))
    assert "needs libcuda.so.1" in text and "libc.so.6" not in text
    assert "penstock_mpi_openmpi.so is missing" in text
    assert "tests/test_a.py does not belong" in text
    wheel.MOST_BYTES = 10
    assert "at most" in wheel.faults(made)[0]


def test_the_documents_say_how():
    text = (ROOT / "docs" / "install.md").read_text()
    for words in (
        "pip install . -C cmake.define.PENSTOCK_CUDA=OFF",
        "make wheel",
        "make wheel-test",
    ):
        assert words in text
    makefile = (ROOT / "Makefile").read_text()
    assert "ci/wheel.py --cuda $(WHEEL_CUDA)" in makefile and "ci/wheel_test.py" in makefile


def test_the_extension_needs_no_driver():
    from penstock import _core

    needed = script("wheel").needed(Path(_core.__file__))
    assert not [name for name in needed if name.startswith(("libcuda", "libcudart", "libnvrtc"))]


@pytest.mark.timeout(3600)
@pytest.mark.skipif(
    "PENSTOCK_TEST_WHEEL" not in os.environ, reason="PENSTOCK_TEST_WHEEL is not set"
)
def test_a_wheel_is_built_and_runs_the_readme(tmp_path):
    out = ["--out", str(tmp_path)]
    subprocess.run(
        [sys.executable, str(ROOT / "ci" / "wheel.py"), "--cuda", "OFF", *out], check=True
    )
    (made,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, str(ROOT / "ci" / "wheel_test.py"), str(made)], check=True)
