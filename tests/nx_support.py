"""For the tests of the NetworkX backend: random graphs, and calls made of both, NetworkX and Penstock."""

import math
import os
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from _penstock_networkx import FUNCTIONS, get_info  # noqa: E402
from child_environment import python_path  # noqa: E402
from penstock.nx_backend._interface import backend_interface  # noqa: E402

ROOT = Path(__file__).parents[1]
KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


def declared(group):
    """The entry point of a group as pyproject.toml has it."""
    text = (ROOT / "pyproject.toml").read_text()
    found = re.search(rf'\[project.entry-points."{group}"\]\npenstock = "(.+)"', text)
    return found[1]


def installed():
    return bool(entry_points(group="networkx.backends", name="penstock"))


def register():
    """An installed package is found by its entry points; a checkout on PYTHONPATH is introduced here."""
    backends = nx.utils.backends
    if "penstock" not in backends.backends:
        backends.backends["penstock"] = EntryPoint(
            "penstock", declared("networkx.backends"), "networkx.backends"
        )
        backends.backend_info["penstock"] = get_info()
        nx.config.backends = nx.utils.Config(penstock=nx.utils.Config(), **nx.config.backends)
        backends._dispatchable.__call__ = backends._dispatchable._call_if_any_backends_installed


register()


def environment(folder):
    """For a process that finds Penstock and its entry points, installed or not."""
    if not installed():
        metadata = folder / "penstock-0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: penstock\nVersion: 0\n")
        groups = ("networkx.backends", "networkx.backend_info")
        text = "".join(f"[{group}]\npenstock = {declared(group)}\n" for group in groups)
        (metadata / "entry_points.txt").write_text(text)
    return {**os.environ, "PYTHONPATH": python_path(str(folder))}


def needs(*names):
    """For tests of functions whose algorithm this build may lack."""
    lacking = [name for name in names if name not in backend_interface._functions]
    return pytest.mark.skipif(bool(lacking), reason=f"csgraph lacks what {lacking} stand on")


# Graphs and calls


@st.composite
def graphs(draw, kinds=(0, 1, 2, 3), loops=True, weights=("none", "ints", "floats", "some")):
    """Isolated nodes, self loops, parallel edges, zero weights, missing weights; labels of several types."""
    n = draw(st.integers(0, 9))
    name = draw(
        st.sampled_from([int, str, lambda i: (i, "x"), lambda i: 7 * i - 20, lambda i: n - 1 - i])
    )
    graph = KINDS[draw(st.sampled_from(kinds))]()
    if draw(st.booleans()):  # else nodes come in the order of the edges, isolated ones last
        graph.add_nodes_from(map(name, range(n)))
    end = st.integers(0, max(n - 1, 0))
    for u, v in draw(st.lists(st.tuples(end, end), max_size=3 * n if n else 0)):
        if u != v or loops:
            graph.add_edge(name(u), name(v))
    graph.add_nodes_from(map(name, range(n)))
    kind = draw(st.sampled_from(weights))
    number = (
        st.integers(0, 4) if kind in ("ints", "some") else st.sampled_from([0.0, 0.1, 0.7, 1.5])
    )
    for *_, data in graph.edges(data=True):
        if kind in ("ints", "floats") or (kind == "some" and draw(st.booleans())):
            data["weight"] = draw(number)
    return graph


def outcome(name, graph, args, kwargs):
    """The result with generators used up, or the type of the exception."""
    try:
        result = getattr(nx, name)(graph, *args, **kwargs)
        return list(result) if isinstance(result, Iterator) else result
    except (nx.NetworkXException, ValueError, KeyError, ZeroDivisionError, TypeError) as error:
        return type(error)


def both(name, graph, *args, **kwargs):
    ours = outcome(name, graph, args, {**kwargs, "backend": "penstock"})
    return ours, outcome(name, graph, args, {**kwargs, "backend": "networkx"})


def same(name, graph, *args, **kwargs):
    """Equal in value, in Python's types, and in the order of dicts and lists."""
    ours, theirs = both(name, graph, *args, **kwargs)
    assert ours == theirs, name
    assert repr(ours) == repr(theirs) or name in UNORDERED, name


# Sets are shown in an order of their own.
UNORDERED = {n for n in FUNCTIONS if "component" in n} | {"descendants_at_distance"}


def close(name, graph, *args, rtol=1e-9, **kwargs):
    ours, theirs = both(name, graph, *args, **kwargs)
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        assert ours == theirs or math.isclose(ours, theirs, rel_tol=rtol), name
        return
    assert list(ours) == list(theirs), name
    assert all(type(value) in (int, float) for value in ours.values())
    np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=rtol, atol=1e-12)


def some_node(data, graph):
    return data.draw(st.sampled_from([*graph, "nobody"]))


MANY = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
