"""What components on GPUs share with those of the CPU, where there is no GPU: names and the command line."""

import json

import numpy as np
import pytest
from penstock.cli import device
from penstock.cli.app import app
from penstock.csgraph import GpuOptions, _gpu
from typer.testing import CliRunner

import penstock as ps
from penstock import _core

no_gpu = pytest.mark.skipif(_core.device_count() > 0, reason="a GPU is usable here")


@pytest.fixture(scope="module")
def graph():
    return ps.generate.rmat(10, seed=3)


@pytest.fixture(scope="module")
def file(graph, tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "graph.penstock"
    ps.save(path, graph)
    return path


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions always keep them apart
        runner = CliRunner()
    return runner.invoke(app, [str(word) for word in words])


@pytest.mark.parametrize(
    "given, message",
    [
        ({"device": "gpu"}, "device='gpu' is unknown"),
        ({"device": 99}, "usable here"),
    ],
)
def test_bad_names_are_refused(graph, given, message):
    with pytest.raises(ValueError, match=message):
        ps.csgraph.connected_components(graph, **given)


def test_strong_components_stay_on_the_cpu(graph, monkeypatch):
    expected = ps.csgraph.connected_components(graph, connection="strong")
    monkeypatch.setattr(_core, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="strong components are found on the CPU"):
        ps.csgraph.connected_components(graph, connection="strong", device=0)
    with ps.options(device_memory="1GB"):
        count, labels = ps.csgraph.connected_components(graph, connection="strong")
    assert count == expected[0] and np.array_equal(labels, expected[1])


def test_a_list_of_gpus_takes_parts(graph, monkeypatch):
    """Two ranges where two GPUs are named, one graph where it is one; the trace says which."""
    twin = ps.csr_array._wrap(graph._core)  # shares nothing derived
    twin._derived.symmetric_pattern = True
    expected = ps.csgraph.connected_components(graph, device="cpu")
    asked = []

    class Parts:
        def facts(self):
            return {"gpu": 0, "gpus": [0, 1], "placement": "pinned", "edges": graph.nnz}

    def make(a, gpus, placement, budget, like, sample):
        asked.append((gpus, placement, budget, like, sample))
        return Parts()

    def find(out, incoming, method, access, sample, count):
        asked.append((out is incoming, method, access, sample, count))
        return *expected, {"missed": 0, "read": {"bytes": 96}, "seconds": 1e-3}

    monkeypatch.setattr(_core, "device_count", lambda: 2)
    monkeypatch.setattr(_gpu, "link_up", lambda gpu: 25e9)
    monkeypatch.setattr(_core, "gpu_parts", make)
    monkeypatch.setattr(_core, "components_parts", find)
    with ps.options(device_memory=1 << 30), ps.record() as events:
        how = GpuOptions(counted=True, sample=8)
        count, labels = ps.csgraph.connected_components(twin, device=[0, 1], gpu_options=how)
    assert count == expected[0] and np.array_equal(labels, expected[1])
    assert asked == [([0, 1], "auto", 1 << 30, None, None), (True, "auto", "auto", 8, True)]
    assert (events[-1]["gpus"], events[-1]["link_bytes"]) == ([0, 1], 96)


@no_gpu
def test_without_a_gpu_it_runs_on_the_cpu(graph):
    expected = ps.csgraph.connected_components(graph, device="cpu")
    with ps.options(device_memory="1GB"):
        count, labels = ps.csgraph.connected_components(graph)
    assert count == expected[0] and np.array_equal(labels, expected[1])


@no_gpu
def test_the_command_line_falls_back_with_one_line(file):
    result = run("cc", file, "--device-memory", "1GB", "--trace", "--verify")
    assert result.exit_code == 0, result.stderr
    assert " ".join(result.stdout.split()).count("ran on the CPU") == 1
    assert "right" in result.stdout
    told = json.loads(run("cc", file, "--access", "merged", "--json").stdout)
    assert told["device"] == "cpu" and told["note"] == device.NO_GPU
    assert "device" not in json.loads(run("cc", file, "--json").stdout)
    assert "device" not in json.loads(run("scc", file, "--json").stdout)


def test_bad_words_are_refused(file):
    result = run("cc", file, "--device-memory", "much")
    assert result.exit_code == 2 and "--device-memory='much' is not a size" in result.stderr


def test_betweenness_and_triangles_refuse_a_gpu_that_is_not_there(graph):
    for find in (
        ps.csgraph.betweenness_centrality,
        ps.csgraph.triangle_count,
        ps.csgraph.triangles,
    ):
        with pytest.raises(ValueError, match="usable here"):
            find(graph, device=99)


@pytest.mark.parametrize("scale", [3, 8, 13])
def test_oriented_lists_are_sorted_and_hold_every_edge_once(scale):
    a = ps.generate.rmat(scale, seed=scale)
    edges = _core.orient_edges(a._core)
    lists = ps.csr_array._wrap(_core.oriented_lists(edges))
    rows = np.repeat(np.arange(a.shape[0]), np.diff(lists.indptr))
    assert lists.nnz == a.nnz // 2 and (lists.indices < rows).all()
    same = rows[1:] == rows[:-1]
    assert (np.diff(lists.indices.astype(np.int64))[same] > 0).all()
    # Numbers are a permutation: degrees are the same, and triangles as many.
    degree = np.bincount(np.concatenate([rows, lists.indices]), minlength=a.shape[0])
    assert np.array_equal(np.sort(degree), np.sort(np.diff(a.indptr)))
    assert ps.csgraph.triangle_count(lists) == ps.csgraph.triangle_count(a)
