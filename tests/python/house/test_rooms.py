"""The house: who imports whom, in Python and in C++, and how many files a folder holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "penstock"
LIBRARY = ROOT / "src" / "penstock"
MOST_FILES = 40  # in one folder

# A room of the package may import those before it at the top of its modules, and none after it.
ROOMS = ("_arrays", "_plan", "_product", "_matrix", "_check")

INCLUDE = re.compile(r'^\s*#\s*include\s*"(penstock/[^"]+)"', re.MULTILINE)
HEADERS = {".hpp", ".cuh"}

Graph = dict[str, set[str]]


def cycle_of(graph: Graph) -> list[str]:
    """The names along one cycle, the first one again at the end; empty where there is none."""
    done: set[str] = set()
    for start in sorted(graph):
        path: list[str] = []
        waiting: list[tuple[str, Iterator[str]]] = []
        if start not in done:
            path.append(start)
            waiting.append((start, iter(sorted(graph.get(start, ())))))
        while waiting:
            name, rest = waiting[-1]
            following = next(rest, None)
            if following is None:
                done.add(name)
                path.pop()
                waiting.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following not in done:
                path.append(following)
                waiting.append((following, iter(sorted(graph.get(following, ())))))
    return []


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package by the names under which they are imported."""
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in (
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
    )


def _named(node: ast.AST, package: str) -> Iterator[str]:
    """What an import names, each as a module that may be one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, *([base] if base else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _walk(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """All that runs beneath a node, and whether it runs in a function only."""
    for child in ast.iter_child_nodes(node):
        if _only_for_types(child):
            for other in child.orelse:  # type: ignore[attr-defined]
                yield other, inside
                yield from _walk(other, inside)
            continue
        yield child, inside
        function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _walk(child, inside or function)


def _lazy(node: ast.AST) -> Iterator[str]:
    """The modules in a table `_lazy`, from which a package's `__getattr__` imports."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_lazy":
        assert isinstance(node.value, ast.Dict), ast.unparse(node)
        yield from (str(ast.literal_eval(value)) for value in node.value.values if value)


def imports_of(package: Path) -> Iterator[tuple[str, str, int, bool]]:
    """(importer, imported, line, whether in a function only) for the modules of a package.

    Who imports `a.b.c` runs `a` and `a.b`, too; what contains the importer is running already. A package with a table
    `_lazy` counts twice: as itself, which its modules bring with them, and as `a.*`, its names, which bring what the
    table lists.
    """
    modules = modules_of(package)
    for name, path in modules.items():
        inner = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node, inside in _walk(ast.parse(path.read_text(encoding="utf-8"))):
            line = getattr(node, "lineno", 0)
            for target in _lazy(node):
                known = target if target in modules else f"{inner}.{target}"
                yield from ((f"{name}.*", t, line, False) for t in _run_by(known, name, modules))
            for target in _named(node, inner):
                yield from ((name, t, line, inside) for t in _run_by(target, name, modules))


def _run_by(target: str, importer: str, modules: dict[str, Path]) -> Iterator[str]:
    """What an import of `target` runs: a module, or a name in one, and the packages around it. The compiled `_core`
    imports `_cusparse` alone, which imports nothing of ours."""
    if target.split(".")[1:2] == ["_core"]:
        return
    module = target if target in modules else target.rpartition(".")[0]
    if module in modules and modules[module].name == "__init__.py" and module != importer:
        yield f"{module}.*"
    while module:
        if module in modules and not f"{importer}.".startswith(f"{module}."):
            yield module
        module = module.rpartition(".")[0]


def graph_of(package: Path) -> Graph:
    graph: Graph = {}
    for importer, imported, _, _ in imports_of(package):
        graph.setdefault(importer, set()).add(imported)
    return graph


def headers_of(library: Path) -> Graph:
    """Of each header, those that it includes."""
    files = [path for path in library.rglob("*") if path.suffix in HEADERS]
    return {
        path.relative_to(library.parent).as_posix(): set(INCLUDE.findall(path.read_text("utf-8")))
        for path in files
    }


def crowded(folders: Iterable[Path], most: int = MOST_FILES) -> dict[str, int]:
    """Folders that hold more files than `most`, of those given and all beneath them."""
    found = {}
    for top in folders:
        for folder in [top, *(path for path in top.rglob("*") if path.is_dir())]:
            if "__pycache__" not in folder.parts:
                kinds = {".cpp", ".cu", ".py", ".c", ".in", ".sh", ".md", ".json"} | HEADERS
                files = [f for f in folder.iterdir() if f.is_file() and f.suffix in kinds]
                if len(files) > most:
                    found[folder.relative_to(ROOT).as_posix()] = len(files)
    return found


@pytest.fixture(scope="module")
def ours() -> list[tuple[str, str, int, bool]]:
    """The imports of the package, read once."""
    return list(imports_of(PACKAGE))


def test_no_module_imports_itself_over_others():
    cycle = cycle_of(graph_of(PACKAGE))
    assert not cycle, " -> ".join(cycle)


def test_no_header_includes_itself_over_others():
    graph = headers_of(LIBRARY)
    assert len(graph) > 100
    cycle = cycle_of(graph)
    assert not cycle, " -> ".join(cycle)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_those_before_them_alone(room, ours):
    after = {f"penstock.{other}" for other in ROOMS[ROOMS.index(room) + 1 :]}
    wrong = [
        f"{importer}:{line} imports {imported}"
        for importer, imported, line, _ in ours
        if importer.startswith(f"penstock.{room}") and _room(imported) in after
    ]
    assert not wrong, "\n".join(wrong)


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_imports_in_functions_have_a_reason(ours):
    """Commands of the command line import what they run when they run. Elsewhere an import of our own in a function
    says why in a comment, on its line or above."""
    files, unexplained = modules_of(PACKAGE), set()
    for importer, _, line, later in ours:
        if later and not importer.startswith("penstock.cli"):
            path = files[importer]
            lines = path.read_text(encoding="utf-8").splitlines()
            at = line - 1
            while lines[at - 1].lstrip().startswith(("from penstock", "import penstock")):
                at -= 1  # one comment above serves imports one after the other
            if "#" not in lines[line - 1] and not lines[at - 1].lstrip().startswith("#"):
                unexplained.add(f"{path.relative_to(ROOT)}:{line}: {lines[line - 1].strip()}")
    assert not unexplained, "\n".join(sorted(unexplained))


@pytest.mark.parametrize("top", ["src/penstock", "python", "bench", "tests"])
def test_no_folder_is_crowded(top):
    found = crowded([ROOT / top])
    assert not found, f"more than {MOST_FILES} files: {found}"


# What looks must be able to find


def written(folder: Path, **modules: str) -> Path:
    """A package `house` of these modules."""
    package = folder / "house"
    package.mkdir()
    for name, text in {"__init__": "", **modules}.items():
        (package / f"{name}.py").write_text(text)
    return package


@pytest.mark.parametrize(
    "import_b",
    [
        "from house import b",
        "import house.b",
        "from . import b",
        "from .b import x",
        "def f():\n    from house.b import x",
        "if True:\n    import house.b",
    ],
)
def test_a_cycle_is_found(tmp_path, import_b):
    package = written(tmp_path, a=import_b, b="from house.c import y", c="import house.a")
    cycle = cycle_of(graph_of(package))
    assert sorted(set(cycle)) == ["house.a", "house.b", "house.c"] and cycle[0] == cycle[-1]


@pytest.mark.parametrize("where", ["a", "house.inner.a"])
def test_a_cycle_over_a_table_of_names_is_found(tmp_path, where):
    package = written(tmp_path, b="from house.inner import name")
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").write_text(f"_lazy = {{'name': {where!r}}}")
    (package / "inner" / "a.py").write_text("import house.b")
    assert set(cycle_of(graph_of(package))) == {"house.b", "house.inner.*", "house.inner.a"}
    (package / "b.py").write_text("import house.inner.c")  # which runs no table
    (package / "inner" / "c.py").touch()
    assert cycle_of(graph_of(package)) == []


def test_what_is_no_cycle_is_none(tmp_path):
    package = written(
        tmp_path,
        a="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house import b",
        b="from house import a, c",
        c="from house import a",
    )
    assert cycle_of(graph_of(package)) == []


def test_a_package_comes_with_its_modules(tmp_path):
    """`house.inner.x` runs `house/inner/__init__.py`, and so what that imports."""
    package = written(tmp_path, a="import house.inner.x")
    (package / "inner").mkdir()
    (package / "inner" / "x.py").touch()
    (package / "inner" / "__init__.py").write_text("import house.a")
    assert sorted(set(cycle_of(graph_of(package)))) == ["house.a", "house.inner"]


def test_headers_in_a_circle_are_found(tmp_path):
    library = tmp_path / "penstock"
    library.mkdir()
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (library / f"{name}.hpp").write_text(f'#pragma once\n#include "penstock/{other}.hpp"\n')
    assert len(set(cycle_of(headers_of(library)))) == 3
    (library / "c.hpp").write_text("#pragma once\n")
    assert cycle_of(headers_of(library)) == []


def test_a_crowded_folder_is_found():
    assert crowded([ROOT / "ci"], most=1)
