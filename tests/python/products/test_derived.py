"""What a matrix keeps: every field is freed by `release`, and by `release_gpu` those that are for GPUs."""

from __future__ import annotations

import copy
import threading
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from penstock._matrix.derived import Derived

import penstock as ps

NAMES = [field.name for field in fields(Derived)]
# Those that hold memory of a GPU or locked pages, whatever the class says of them.
HEAVY = {
    "stream_plans",
    "packed",
    "ell_g",
    "on_gpu",
    "gpu_graph",
    "gpu_parts",
    "pagerank_gpu_pattern",
    "pagerank_gpu_weighted",
}


class Kept:
    """Something of which one can tell that it is gone."""


def filled() -> Derived:
    derived = Derived()
    for name in NAMES:
        setattr(derived, name, Kept())
    return derived


def defaults() -> dict[str, Any]:
    return {field.name: field.default for field in fields(Derived)}


def test_release_frees_every_field():
    derived = filled()
    assert all(isinstance(getattr(derived, name), Kept) for name in NAMES)
    derived.release()
    assert {name: getattr(derived, name) for name in NAMES} == defaults()
    assert derived == Derived() and not vars(derived)


def test_release_gpu_frees_what_is_for_gpus_and_nothing_else():
    derived = filled()
    derived.release_gpu()
    freed = {name for name in NAMES if not isinstance(getattr(derived, name), Kept)}
    assert freed == {f.name for f in fields(Derived) if f.metadata.get("gpu")}
    assert freed >= HEAVY
    assert {name: getattr(derived, name) for name in freed} == {
        name: value for name, value in defaults().items() if name in freed
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_says_gpu_or_on_gpu_is_freed_with_them(name):
    """A new field of such a name cannot be forgotten."""
    derived = filled()
    derived.release_gpu()
    if "gpu" in name or "plans" in name:
        assert not isinstance(getattr(derived, name), Kept)


def test_nothing_is_kept_that_is_no_field():
    """What the library keeps is a field: a name that is none would not be freed."""
    A = ps.generate.rmat(8, seed=3)
    W = ps.csr_array((np.arange(A.nnz) + 1.0, A.indices, A.indptr), shape=A.shape)
    for graph in (A, W):
        graph @ np.ones(graph.shape[1])
        graph @ graph
        assert graph.T.formed() is graph.T.formed()
        graph.prepare(schedule=ps.Streamed(device="cpu", codec="packed"))
        ps.csgraph.bfs(graph, 0)
        ps.csgraph.sssp(graph, 0)
        ps.csgraph.pagerank(graph)
        ps.csgraph.connected_components(graph)
        ps.csgraph.triangle_count(graph)
        kept = set(vars(graph._derived))
        assert kept <= set(NAMES) and {"transpose", "stream_plans", "packed"} <= kept


def test_release_of_a_matrix_frees_its_plans():
    A = ps.generate.rmat(10, seed=1)
    A.prepare(schedule=ps.Streamed(device="cpu", codec="packed"))
    A.has_sorted_indices  # noqa: B018
    assert A._derived.stream_plans is not None and A._derived.packed is not None
    A.release()
    assert A._derived.stream_plans is None and A._derived.packed is None
    assert A._derived.row_order == (True, True)


def test_matrices_share_nothing_that_they_keep():
    A = ps.csr_array(np.eye(3))
    A.T.formed()
    assert copy.copy(A)._derived == Derived() and A._derived.transpose is not None


def test_once_gives_all_threads_the_same():
    derived, start = Derived(), threading.Barrier(8)
    found: list[Any] = []

    def ask() -> None:
        start.wait()
        found.append(derived.once("bfs_plan", Kept))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1
    assert derived.bfs_plan is found[0] and derived.once("bfs_plan", list) is found[0]
    with pytest.raises(AttributeError):
        derived.once("bfs_plans", Kept)
