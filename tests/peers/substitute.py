"""A pytest plugin: SciPy's own tests, with our functions and classes in the place of SciPy's.

A test module takes what it tests from SciPy while it is imported, so that is when the names lead to ours. What our
code takes from SciPy itself was imported before, or is imported later, and is SciPy's. PEERS_SUITE says which suite
runs, and PEERS_OUTCOMES is the file that receives the outcome of each test.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import penstock as ps

# suite -> the modules of SciPy whose names are replaced, and ours
REPLACED = {
    "csgraph": (["scipy.sparse.csgraph"], "penstock.csgraph"),
    "iterative": (["scipy.sparse.linalg", "scipy.sparse.linalg._isolve"], "penstock.linalg"),
    "base": ([], "penstock"),
    "networkx": ([], "penstock"),  # which calls a backend by itself
}
DTYPES = [np.bool_, np.float32, np.float64, np.complex64, np.complex128]
SUITE = os.environ["PEERS_SUITE"]
outcomes: dict[str, str] = {}


def ours() -> dict[str, Any]:
    """The public names that SciPy's module and ours share."""
    theirs, mine = REPLACED[SUITE]
    module = importlib.import_module(mine)
    shared = {n for m in theirs for n in module.__all__ if hasattr(importlib.import_module(m), n)}
    return {name: getattr(module, name) for name in sorted(shared)}


class Namespace(ModuleType):
    """A module of SciPy with our names in front, for tests that write `csgraph.laplacian`."""

    def __init__(self, theirs: ModuleType, mine: dict[str, Any]) -> None:
        super().__init__(theirs.__name__)
        self.__dict__.update(mine)
        self._theirs = theirs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)


@contextmanager
def replaced() -> Iterator[None]:
    mine = ours()
    modules = [importlib.import_module(name) for name in REPLACED[SUITE][0]]
    before = [{n: getattr(m, n) for n in mine if hasattr(m, n)} for m in modules]
    parents = [(m, *m.__name__.rpartition(".")) for m in modules]
    try:
        for module, names in zip(modules, before, strict=True):
            for name in names:
                setattr(module, name, mine[name])
        for module, parent, _, name in parents:
            setattr(importlib.import_module(parent), name, Namespace(module, mine))
        yield
    finally:
        for module, names in zip(modules, before, strict=True):
            for name, value in names.items():
                setattr(module, name, value)
        for module, parent, _, name in parents:
            setattr(importlib.import_module(parent), name, module)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: Any) -> Iterator[None]:
    if not isinstance(collector, pytest.Module) or SUITE == "networkx":
        yield
        return
    with replaced():
        module = collector.obj  # imports it
    if SUITE == "base":
        module.TestCSR.spcreator = staticmethod(ps.csr_array)
        module.supported_dtypes = DTYPES  # integers count as float64, which is documented
        module.issparse = ps.issparse  # SciPy's asks for its own classes
    yield


def is_of_ours(item: Any) -> bool:
    """Whether a test is of something that was replaced, and not of SciPy alone."""
    kind = item.cls.__name__ if item.cls is not None else ""
    if SUITE == "base":
        return kind == "TestCSR"
    if SUITE == "iterative":
        given = getattr(item, "callspec", None)
        values = [] if given is None else list(given.params.values())
        solvers = [getattr(value, "solver", value) for value in values]
        mine = list(ours().values())
        return kind.removeprefix("Test").lower() in ours() or any(s in mine for s in solvers)
    return True


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    chosen = [item for item in items if is_of_ours(item)]
    config.hook.pytest_deselected(items=[item for item in items if not is_of_ours(item)])
    items[:] = chosen


def pytest_runtest_logreport(report: Any) -> None:
    file = (
        report.location[0].rpartition("/networkx/")[2]
        if SUITE == "networkx"
        else Path(report.location[0]).name
    )
    name = "::".join([file, *(part for part in report.nodeid.split("::")[1:] if part)])
    if report.failed:
        outcomes[name] = "failed"
    elif report.when == "call" or report.skipped:
        outcomes.setdefault(name, report.outcome)


def pytest_sessionfinish() -> None:
    Path(os.environ["PEERS_OUTCOMES"]).write_text(json.dumps(outcomes), encoding="utf-8")
