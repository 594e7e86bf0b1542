"""What is found out about the lengths of a graph's edges."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.cli import device
from penstock.cli.app import app
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
    assert _core.symmetric_weights(made(edges, dtype=dtype)._core) is expected


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
