"""README.md and the pages of docs/: short enough, with links that lead somewhere, names that exist, and all of them."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import penstock as ps

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.is_file(), reason="README.md is not beside the tests")

PAGES = sorted((ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAME = re.compile(r"(?<![\w.])ps((?:\.[A-Za-z]\w*)+)")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)


def links(text: str) -> list[str]:
    """Targets of the links and pictures of a page that are files, without what stands in code."""
    found = LINK.findall(re.sub(r"`[^`\n]*`", "", FENCED.sub("", text)))
    return [target for target in found if "://" not in target and not target.startswith("#")]


def lost(page: Path, text: str) -> list[str]:
    """The links of a page that lead to no file."""
    return [target for target in links(text) if not (page.parent / target.split("#")[0]).is_file()]


def unknown(text: str) -> list[str]:
    """The names `ps.a.b` of a page that the package does not have."""
    missing = []
    has_pyg = importlib.util.find_spec("torch_geometric") is not None
    for dotted in set(NAME.findall(text)):
        if dotted.startswith(".pyg") and not has_pyg:
            continue  # the module cannot be imported
        value = ps
        for part in dotted.split(".")[1:]:
            if not hasattr(value, part):
                missing.append(f"ps{dotted}")
                break
            value = getattr(value, part)
    return sorted(missing)


def test_the_readme_is_short_and_has_one_figure() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    assert text.count("![") == 1


def test_a_table_of_the_readme_has_at_most_six_rows() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(tables) == 3
    assert all(table.count("\n") <= 2 + 6 for table in tables)


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    assert not lost(page, page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_names_of_the_package_exist(page: Path) -> None:
    assert not unknown(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_examples_are_python(page: Path) -> None:
    for code in PYTHON.findall(page.read_text(encoding="utf-8")):
        if ">>>" not in code:
            compile(code, page.name, "exec")


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    pages = sorted(page.relative_to(ROOT / "docs").as_posix() for page in PAGES)
    assert pages == sorted(re.findall(r"[:-] ([\w/.-]+\.md)$", nav, re.MULTILINE))
    groups = re.findall(r"^  - (\w+):", nav, re.MULTILINE)
    wanted = ["Start", "Tutorials", "Gallery", "Guides", "Reference", "Studies", "Development"]
    assert groups == wanted


def test_signatures_have_types() -> None:
    asked: dict[str, Callable[..., object]] = {}
    for name, value in public().items():
        if isinstance(value, type):
            methods = inspect.getmembers(value, inspect.isfunction)
            asked |= {f"{name}.{m}": f for m, f in methods if not m.startswith("_")}
        elif inspect.isfunction(value):
            asked[name] = value
    # SciPy's functions have SciPy's signatures.
    asked = {n: f for n, f in asked.items() if "scipy" not in str(inspect.unwrap(f).__module__)}
    assert len(asked) > 100
    bare = []
    for name, function in asked.items():
        typed = set(inspect.get_annotations(function)) | {"self", "cls"}
        bare += [f"{name}({p})" for p in inspect.signature(function).parameters if p not in typed]
        bare += [] if "return" in typed else [f"{name}() -> ?"]
    assert not bare


def public(module: ModuleType = ps) -> dict[str, object]:
    """Every name in `__all__` of the package and of its public modules, with what it stands for."""
    found: dict[str, object] = {}
    for name in module.__all__:
        value = getattr(module, name)
        found[f"{module.__name__}.{name}"] = value
        if isinstance(value, ModuleType):
            found |= public(value)
    return found


def listed(text: str) -> set[str]:
    """The names that a page documents: by a directive, its heading, or a row of a table."""
    directives = re.findall(r"^::: ([\w.]+)$|^ +heading: ([\w.]+)$", text, re.MULTILINE)
    rows = re.findall(r"^\| `ps\.([\w.]+)[^`]*` \|", text, re.MULTILINE)
    return {one or other for one, other in directives} | {f"penstock.{name}" for name in rows}


def test_the_api_page_lists_every_public_name() -> None:
    names = set(public()) | {"penstock.nx_backend"}
    backend = importlib.import_module("penstock.nx_backend")
    names |= set(public(backend))
    told = listed((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
    if importlib.util.find_spec("torch_geometric"):
        names |= {"penstock.pyg"} | set(public(importlib.import_module("penstock.pyg")))
    else:  # the module cannot be imported
        told = {name for name in told if not name.startswith("penstock.pyg")}
    # A package whose names are listed one by one needs no entry of its own.
    packages = {name for name in names if isinstance(public().get(name), ModuleType)}
    assert sorted(names - told - packages) == []
    assert sorted(told - names - {"penstock._plan.options.Options"}) == [], "names that are gone"


def test_classes_are_in_capwords_and_matrices_as_scipy_has_them() -> None:
    """One rule: what is a matrix is called some_array; all other classes are in CapWords."""
    classes = {name: value for name, value in public().items() if isinstance(value, type)}
    assert {"penstock.dist.csr_array", "penstock.dist.tiled_array"} <= set(classes)
    for name, value in classes.items():
        last = name.rpartition(".")[2]
        if {"shape", "dtype", "nnz"} <= set(dir(value)):
            assert re.fullmatch(r"[a-z]+_array", last), name
        else:
            assert re.fullmatch(r"([A-Z][a-z]*)+0?", last), name


def test_where_a_computation_runs_is_called_device() -> None:
    asked: dict[str, set[str]] = {}
    for name, value in public().items():
        if callable(value) and not isinstance(value, Exception | ModuleType):
            with contextlib.suppress(ValueError):  # of the compiled module
                asked[name] = set(inspect.signature(value).parameters)
    assert "device" in asked["penstock.Streamed"] & asked["penstock.dist.tiled_array"]
    other = {"gpu", "gpus", "devices", "where", "on", "folder"}
    assert not {name: other & names for name, names in asked.items() if other & names}


def test_faults_are_found() -> None:
    text = "[a](docs/no_such_page.md) `[b](c.md)` [d](LICENSE) [e](https://example.org) ps.csgraph.no_such"
    assert lost(README, text) == ["docs/no_such_page.md"]
    assert unknown(text) == ["ps.csgraph.no_such"]
    page = (
        "::: penstock.a\n\n::: x.Y\n    options:\n      heading: penstock.y\n| `ps.f(n)` | it |\n"
    )
    assert listed(page) == {"penstock.a", "x.Y", "penstock.y", "penstock.f"}
