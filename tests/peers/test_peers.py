"""The tests of SciPy and NetworkX, from the installed packages, with ours in the place of theirs.

allowed/SUITE.txt lists the tests that fail here, under lines with # that say why. A failure that is not listed
fails, and so does a listed test that passes. The lists are for one minor version, which their first line names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SUITES = {
    "csgraph": "scipy.sparse.csgraph.tests",
    "base": "scipy.sparse.tests.test_base",
    "iterative": "scipy.sparse.linalg._isolve.tests.test_iterative",
    "networkx": "networkx",
}
# Tests that ran at least; fewer, and something is amiss.
LEAST = {"csgraph": 100, "base": 150, "iterative": 700, "networkx": 5000}
QUIETLY = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "substitute"]
SLOW = pytest.mark.skipif(
    "CI" not in os.environ and "PENSTOCK_TEST_PEERS" not in os.environ,
    reason="takes minutes: make test-peers, or CI=true",
)


def allowed(suite: str) -> tuple[str, dict[str, str]]:
    """The version that a list is for, and its tests with their reasons. It raises for a test without a reason."""
    first, *lines = (HERE / "allowed" / f"{suite}.txt").read_text(encoding="utf-8").splitlines()
    reason, tests = "", {}
    for line in lines:
        if line.startswith("#"):
            reason = line.removeprefix("#").strip()
        elif line.strip():
            assert reason, f"{suite}.txt: {line} has no reason above it"
            assert line not in tests, f"{suite}.txt: {line} stands there twice"
            tests[line.strip()] = reason
        else:
            reason = ""
    return first.removeprefix("# "), tests


def run(suite: str, folder: Path) -> tuple[dict[str, str], str]:
    """The outcome of each test, and what pytest said."""
    told = folder / "outcomes.json"
    settings = {"PEERS_SUITE": suite, "PEERS_OUTCOMES": str(told)}
    environment = dict(os.environ)
    if suite == "networkx":
        from nx_support import environment as with_backend

        settings |= {"NETWORKX_TEST_BACKEND": "penstock", "NETWORKX_FALLBACK_TO_NX": "True"}
        environment = with_backend(folder)
    paths = [str(HERE), *filter(None, [environment.get("PYTHONPATH")])]
    environment |= settings | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", *QUIETLY, "--pyargs", SUITES[suite]]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert told.is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(told.read_text(encoding="utf-8")), done.stdout


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "suite", [s if s != "networkx" else pytest.param(s, marks=SLOW) for s in SUITES]
)
def test_their_tests_pass_but_for_those_listed(suite: str, tmp_path: Path) -> None:
    wanted, listed = allowed(suite)
    package, minor = wanted.split()
    if not version(package).startswith(minor + "."):
        pytest.skip(f"the list is for {wanted}, {version(package)} is installed")
    outcomes, said = run(suite, tmp_path)
    failed = {name for name, outcome in outcomes.items() if outcome == "failed"}
    assert len(outcomes) >= LEAST[suite], said[-3000:]
    assert sorted(failed - listed.keys()) == [], "these fail, and are not listed"
    assert sorted(listed.keys() - failed) == [], "these are listed, and pass or are gone"


@pytest.mark.parametrize("suite", SUITES)
def test_lists_are_well_formed(suite: str) -> None:
    wanted, listed = allowed(suite)
    assert wanted.split()[0] in ("scipy", "networkx")
    assert all(len(reason) > 10 for reason in listed.values())
