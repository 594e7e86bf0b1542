"""What mkdocs makes of docs/: a page for each public name and each program, the home page, and all without a build."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from test_docs import PAGES, README, ROOT, links, listed, lost

import penstock as ps

pytestmark = pytest.mark.skipif(not README.is_file(), reason="README.md is not beside the tests")


def script(name: str) -> ModuleType:
    """A script of ci/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "ci" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["docs_home", "docs_reference", "docs_stub", "docstrings"])
def test_the_hooks_do_what_their_examples_say(name: str) -> None:
    if name == "docstrings":
        pytest.importorskip("griffe", reason="the tools of `make docs` are not installed")
    result = doctest.testmod(script(name))
    assert result.failed == 0 < result.attempted


def test_the_home_page_ends_with_the_readme_with_links_that_start_in_docs() -> None:
    home = script("docs_home")
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert page.count(home.HERE) == 1
    text = home.beneath(README.read_text(encoding="utf-8"))
    assert "## Install" in text and "# Penstock" not in text
    assert links(text) and not lost(ROOT / "docs" / "index.md", text)


def test_each_public_name_has_a_page_that_a_search_finds() -> None:
    reference = script("docs_reference")
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    entries = [entry for section in reference.sections(text) for entry in section.entries]
    names = [entry.name for entry in entries]
    assert len(names) == len(set(names)) > 100
    assert set(names) == listed(text) - {"penstock._plan.options.Options"}
    groups = [pages for group in reference.navigation(text) for pages in group.values()]
    shown = {page for pages in groups[1:] for item in pages for page in item.values()}
    assert shown == {entry.page for entry in entries}
    for entry in entries:
        page = entry.text()
        if entry.path:
            assert re.search(rf"^::: {entry.path}$", page, re.MULTILINE)
            assert f"heading: {entry.name}\n" in page
        else:  # nothing to read: what its table says
            assert page.startswith(f"# {entry.name}\n") and entry.above
    summary = reference.overview(text, text, dict.fromkeys(names, "words"))
    assert ":::" not in summary
    assert not [name for name in names if f"({reference.FOLDER}/{name}.md)" not in summary]


def test_guides_name_what_the_list_has() -> None:
    """A `:::` of a guide becomes a link to the page of that name."""
    reference = script("docs_reference")
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    paths = {entry.path for section in reference.sections(text) for entry in section.entries}
    for page in PAGES:
        assert set(re.findall(r"^::: ([\w.]+)$", page.read_text("utf-8"), re.MULTILINE)) <= paths


def test_the_stub_of_the_documentation_is_that_of_the_build() -> None:
    stub = Path(ps._core.__file__).parent / "_core.pyi"
    if not stub.is_file():
        pytest.skip("the extension was copied here without its stub, which an installation has")
    made = script("docs_stub")
    assert made.KEPT.read_text(encoding="utf-8") == made.public(stub.read_text(encoding="utf-8")), (
        f"python ci/docs_stub.py {stub}"
    )


def test_the_gallery_has_a_page_for_each_program() -> None:
    gallery = script("docs_gallery")
    found = {one.name: one for one in gallery.examples()}
    assert set(found) == {path.stem for path in (ROOT / "examples").glob("*.py")}
    one = found["heat_equation"]
    assert one.title == "The heat equation by conjugate gradients"
    page = one.text(pictured=True)
    assert page.startswith(f"# {one.title}\n") and "](heat_equation.png)" in page
    assert "def main() -> None:" in page and '"""The heat equation' not in page
    cards = gallery.cards(gallery.examples())
    assert all(f"({name}.md)" in cards for name in found)
    assert gallery.HERE in (ROOT / "docs" / gallery.INDEX).read_text(encoding="utf-8")


@pytest.mark.skipif(
    not importlib.util.find_spec("material") or not importlib.util.find_spec("mkdocstrings"),
    reason="the tools of `make docs` are not installed",
)
def test_the_site_is_built_without_the_extension(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    kept = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(line, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("penstock.csr_array", "penstock.dist.Comm", "penstock.csgraph.bfs"):
        page = (tmp_path / "reference" / name / "index.html").read_text(encoding="utf-8")
        assert f"<title>{name} - Penstock</title>" in page and "doc-signature" in page
    index = (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")
    assert '"title":"penstock.csgraph.bfs"' in index
    assert "logo.svg" in (tmp_path / "index.html").read_text(encoding="utf-8")
