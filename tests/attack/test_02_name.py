"""The distribution is penstock-sparse: `penstock` on PyPI is another project."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What would install the stranger: the plain name after pip's command, or with an extra.
OLD = re.compile(
    r"pip3? install(?: +[^#;`\s]+)* +['\"]?pen"
    + r"stock(?![-\w/.])|(?<![-\w])pen"
    + r"stock\[[a-z]"
)


def tracked() -> list[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip("no git here")
    paths = [ROOT / name for name in ran.stdout.splitlines()]
    return [p for p in paths if p.is_file() and p != Path(__file__)]


def test_nothing_names_the_strangers_package():
    found = []
    for path in tracked():
        if path.name == "CHANGELOG.md" or "results" in path.parts:
            continue  # what was, and figures
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{n}: {line}"
            for n, line in enumerate(lines, 1)
            if OLD.search(line)
        ]
    assert not found, "\n".join(found)


OFFENCES = [
    "pip install pen" + "stock",
    "pip install 'pen" + "stock[mpi]'",
    '"pen' + 'stock[cuda]"',
    "pip install -U pen" + "stock;",
]
GOOD = [
    "pip install penstock-sparse",
    "pip install 'penstock-sparse[mpi]'",
    "pip install ./penstock",
    "penstock run",
]


def test_the_search_finds_and_spares_what_it_should():
    assert all(OLD.search(line) for line in OFFENCES)
    assert not any(OLD.search(line) for line in GOOD)


def test_the_metadata_agree():
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^name = "penstock-sparse"', text, re.MULTILINE)
    assert re.search(
        r'^penstock = "_penstock_command:main"', text, re.MULTILINE
    )  # the command keeps its name
    assert "penstock-sparse" in (ROOT / "CITATION.cff").read_text()
    assert "penstock-sparse" in (ROOT / "README.md").read_text()


def test_the_installed_distribution_has_the_name():
    try:
        about = importlib.metadata.distribution("penstock-sparse")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed here: it is used where it was built")
    assert about.metadata["Name"] == "penstock-sparse"
    assert {e.name for e in about.entry_points} >= {"penstock"}
