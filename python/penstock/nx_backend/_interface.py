"""The object that NetworkX loads: its functions under NetworkX's names, conversions, and what to leave alone."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import networkx as nx
from _penstock_networkx import FUNCTIONS

from penstock.nx_backend import (
    _bellman_ford,
    _communities,
    _components,
    _dag,
    _degrees,
    _distances,
    _generic,
    _links,
    _made,
    _paths,
    _rank,
    _rules,
    _spectral,
    _subgraphs,
    _tests,
    _traverse,
    _trees,
    _triangles,
)
from penstock.nx_backend._convert import convert_from_nx, convert_to_nx

_modules = (
    *(_components, _paths, _rank, _traverse, _triangles, _bellman_ford, _dag, _degrees),
    *(_communities, _distances, _generic, _links, _made, _spectral, _subgraphs, _trees),
)


# algorithm of csgraph -> the functions that stand on it; those that this build lacks are left to NetworkX
_STANDS_ON = {
    "dijkstra": [name for name in FUNCTIONS if "dijkstra" in name],
    "betweenness.source_sums": ["betweenness_centrality"],
    "triangles": ["triangles", "clustering", "average_clustering", "transitivity"],
}


# other parameters that a version of NetworkX gives a function
_OTHER_PARAMETERS = {"leiden_communities": _communities.leiden_communities_by_modularity}


def _function(name: str) -> Callable[..., Any]:
    """The one module that defines it; others may import it."""
    found = (getattr(module, name, None) for module in _modules)
    return next(f for m, f in zip(_modules, found, strict=True) if f and f.__module__ == m.__name__)


def _is_built(name: str) -> bool:
    algorithm = next((a for a, functions in _STANDS_ON.items() if name in functions), None)
    if algorithm is None:
        return True
    module, _, inner = f"penstock.csgraph.{algorithm}".rpartition(".")
    try:
        return hasattr(importlib.import_module(module), inner)
    except ImportError:
        return False


def _has_same_parameters(name: str, function: Callable[..., Any]) -> bool:
    """Whether the installed NetworkX calls a function as we know it. The dispatcher passes every parameter, so a
    version with another list would fail; it runs in NetworkX instead."""
    known = nx.utils.backends._registered_algorithms.get(name)
    if known is None:
        return False
    theirs = [p for p in inspect.signature(known).parameters if not p.startswith("backend")]
    return theirs == list(inspect.signature(function).parameters)


class BackendInterface:
    """See networkx.utils.backends for what each name means to the dispatcher."""

    convert_from_nx = staticmethod(convert_from_nx)
    convert_to_nx = staticmethod(convert_to_nx)
    on_start_tests = staticmethod(_tests.on_start_tests)

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        for name in FUNCTIONS:
            for function in filter(None, (_function(name), _OTHER_PARAMETERS.get(name))):
                if _is_built(name) and _has_same_parameters(name, function):
                    self._functions[name] = function
                    setattr(self, name, function)

    def can_run(self, name: str, args: Any, kwargs: Any) -> bool | str:
        """True, or in words why not."""
        return _rules.why_not(name, self._functions[name], args, kwargs) or True

    def should_run(self, name: str, args: Any, kwargs: Any) -> bool | str:
        """True, or in words why NetworkX is the better choice."""
        return _rules.why_rather_not(name, self._functions[name], args, kwargs) or True


backend_interface = BackendInterface()
