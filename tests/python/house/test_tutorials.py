"""The tutorials do what they show: their examples as doctests, a page at a time, and their scripts as processes."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "tutorials"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the tutorials are not beside the tests"
)
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")
GUIDES = [FOLDER.parent / "learning.md"]  # that are run as tutorials are
BLOCK = re.compile(r"^```(\w+)(?: title=\"([\w.]+)\")?\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NEEDS = {"from_networkx": "networkx", "dataframe_to_pagerank": "pandas"}
WITH_PYG = (
    "torch",
    "ps.pyg",
    "batch.",
)  # in blocks that are left out where PyTorch Geometric is missing
HAS_PYG = importlib.util.find_spec("torch_geometric") is not None


def blocks(text: str) -> list[tuple[str, str, str, int]]:
    """(language, title, code, line) of each fenced block."""
    return [
        (m[1], m[2] or "", m[3], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)
    ]


def check(name: str, text: str) -> doctest.TestResults:
    """Runs the examples of a page, one after the other, in one namespace."""
    shared: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for language, title, code, line in blocks(text):
        if language == "python" and not title:
            assert ">>>" in code, f"{name}, line {line}: code that nothing runs"
            if not HAS_PYG and any(word in code for word in WITH_PYG):
                continue
            test = doctest.DocTestParser().get_doctest(code, shared, name, f"{name}.md", line)
            runner.run(test, clear_globs=False)
            shared = test.globs
    return doctest.TestResults(*runner.summarize(verbose=False)[:2])


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # PyTorch's
@pytest.mark.parametrize("page", [*PAGES, *GUIDES], ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_shows(page: Path) -> None:
    if page.stem in NEEDS:
        needed = pytest.importorskip(NEEDS[page.stem])
        if page.stem == "from_networkx" and "penstock" not in needed.config.backends:
            pytest.skip("penstock is not installed, so NetworkX does not find it")
    result = check(page.stem, page.read_text(encoding="utf-8"))
    assert result.failed == 0
    assert result.attempted > 10


def test_there_are_five_tutorials() -> None:
    assert len(PAGES) >= 5
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert all(f"({page.name})" in index for page in PAGES)


def has_mpi() -> bool:
    from penstock.dist import _mpi_find

    try:
        return _mpi_find.find() is not None
    except Exception:
        return False


def shell(text: str) -> list[tuple[str, str]]:
    """(command, what it prints) of the console blocks."""
    found = []
    for language, _, code, _ in blocks(text):
        if language == "console":
            command, _, output = code.partition("\n")
            found.append((command.removeprefix("$ "), output.strip()))
    return found


def test_scripts_run_as_the_page_says(tmp_path: Path) -> None:
    text = (FOLDER / "to_a_cluster.md").read_text(encoding="utf-8")
    scripts = {title: code for language, title, code, _ in blocks(text) if title}
    for title, code in scripts.items():
        (tmp_path / title).write_text(code)
    lines = shell(text)
    assert scripts and len(lines) == 2
    for command, output in lines:
        words = shlex.split(command)
        if words[0] == "penstock":
            if not has_mpi():
                pytest.skip("no MPI: pip install 'penstock-sparse[mpi]'")
            words = ["python", "-m", *words]
        words[0] = sys.executable
        python = os.pathsep.join(
            [str(Path(ps.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        )
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": python},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == output


def test_faults_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("x", "```python\n>>> 1 + 1\n3\n```\n").failed == 1
    assert check("x", "```python\n>>> a = 2\n```\ntext\n```python\n>>> a\n2\n```\n").failed == 0
    with pytest.raises(AssertionError, match="nothing runs"):
        check("x", "```python\na = 2\n```\n")
