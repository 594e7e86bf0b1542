"""What is found out about the lengths of a graph's edges."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.cli import device
from penstock.cli.app import app
from penstock.csgraph import _graph, shortest_paths
from typer.testing import CliRunner

import penstock as ps
from penstock import _core


def made(edges, n=6, dtype=np.float64):
    order = sorted(range(len(edges)), key=lambda k: edges[k][0])
    heads = np.array([edges[k][1] for k in order], np.int32)
    values = np.array([edges[k][2] for k in order], dtype)
    tails = np.array([edge[0] for edge in edges], np.int64)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))]).astype(np.int64)
    return ps.csr_array._from_parts(n, n, indptr, heads, values)


edge_lists = st.lists(st.tuples(*[st.integers(0, 5)] * 2, st.integers(0, 3)), max_size=12)


@given(edges=edge_lists, mirrored=st.booleans(), dtype=st.sampled_from([np.float32, np.float64]))
@settings(max_examples=200, deadline=None)
def test_symmetric_weights(edges, mirrored, dtype):
    if mirrored:
        edges = edges + [(j, i, w) for i, j, w in reversed(edges)]
    expected = sorted(edges) == sorted((j, i, w) for i, j, w in edges)
    a = made(edges, dtype=dtype)
    assert _core.symmetric_weights(a._core) is expected
    assert _core.path_weights(a._core, symmetric=True).symmetric is expected
    assert _core.path_weights(a._core).symmetric is None


def test_asked_for_once(monkeypatch):
    """The pass over the weights says whether edges have their mirrors, where a search on a GPU asks that, too."""
    asked = []
    look = _core.path_weights

    def path_weights(a, **how):
        asked.append(how)
        return look(a, **how)

    monkeypatch.setattr(_core, "path_weights", path_weights)
    a = made([(0, 1, 2), (1, 0, 2), (2, 3, 1)])
    assert shortest_paths.weights_of(a, mirrored=True).symmetric is False
    assert a._derived.symmetric_weights is False
    assert shortest_paths.weights_of(a, mirrored=True) is shortest_paths.weights_of(a)
    assert asked == [{"symmetric": True}]
    b = made([(0, 1, 2), (1, 0, 2)])
    b._derived.symmetric_pattern = False  # known by somebody: nothing is looked at
    assert shortest_paths.weights_of(b, mirrored=True).symmetric is None
    assert not _graph.symmetric_weights(b) and asked[-1] == {"symmetric": False}
    assert shortest_paths.finite_weights(b) and len(asked) == 2
    c = made([(0, 1, 2), (1, 0, np.inf)])
    assert not shortest_paths.finite_weights(c) and asked[-1] == {"narrow": False}
    assert c._derived.path_weights is None and shortest_paths.weights_of(c).nbytes == 0
    with pytest.raises(ValueError, match="0 -> 1 has weight -2"):
        shortest_paths.finite_weights(made([(0, 1, -2)]))


def test_large():
    a = ps.generate.rmat(12, seed=3)
    assert _core.symmetric_weights(a._core)
    tails = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    lengths = ((tails * 31) ^ (a.indices.astype(np.int64) * 31)) % 97 + 1.0
    b = ps.csr_array((lengths, a.indices, a.indptr), shape=a.shape)
    assert _core.symmetric_weights(b._core)
    lengths[lengths.size // 3] += 1
    b = ps.csr_array((lengths, a.indices, a.indptr), shape=a.shape)
    assert not _core.symmetric_weights(b._core)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([3.0, 2.0, 7.5], 2.0), ([0.0, 1.0], 0.0), ([np.inf, 4.0], 4.0), ([np.inf], 0.0), ([], 0.0)],
)
def test_smallest(lengths, expected):
    edges = [(0, k + 1, w) for k, w in enumerate(lengths)]
    assert _core.path_weights(made(edges)._core).smallest == expected


@pytest.mark.skipif(_core.device_count() > 0, reason="a GPU is usable here")
def test_the_command_line_falls_back_with_one_line(tmp_path):
    path = tmp_path / "graph.penstock"
    ps.save(path, ps.generate.rmat(8, seed=3))
    words = ["sssp", str(path), "--device-memory", "1GB", "--placement", "pinned", "--trace"]
    result = CliRunner().invoke(app, [*words, "--verify"])
    assert result.exit_code == 0, result.output
    assert result.stdout.replace("\n", " ").count("ran on the CPU") == 1
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert told["device"] == "cpu" and told["note"] == device.NO_GPU
    wrong = CliRunner().invoke(app, ["sssp", str(path), "--access", "random"])
    assert wrong.exit_code == 2


def test_steps_in_words():
    steps = [{"kind": "push"}, {"kind": "small"}, {"kind": "pull"}]
    assert device._steps(steps) == "push, many in one small kernel, pull"
