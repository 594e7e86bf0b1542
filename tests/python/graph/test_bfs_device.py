"""What searches on GPUs share with those of the CPU, where there is no GPU: names, many sources, the command line."""

import json

import numpy as np
import pytest
from penstock.cli import device, ui
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


def test_many_sources_are_rows(graph):
    starts = [5, 0, 5, 1023]
    levels, trees = ps.csgraph.bfs(graph, sources=starts, return_predecessors=True, device="cpu")
    assert levels.shape == trees.shape == (4, 1024) and levels.dtype == trees.dtype == np.int32
    for row, tree, start in zip(levels, trees, starts, strict=True):
        ps.csgraph.verify_bfs(graph, start, row, tree)
    assert ps.csgraph.bfs(graph, sources=[], device="cpu").shape == (0, 1024)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"sources": [3, 1024]}, r"sources\[1\]=1024 is outside"),
        ({"device": "gpu"}, "device='gpu' is unknown"),
        ({"device": 99}, "usable here"),
        ({"device": -1}, "usable here"),
    ],
)
def test_bad_names_are_refused(graph, given, message):
    with pytest.raises(ValueError, match=message):
        ps.csgraph.bfs(graph, **given)
    with pytest.raises(TypeError):
        ps.csgraph.bfs(graph, sources=[0.5])


@no_gpu
def test_without_a_gpu_everything_runs_on_the_cpu(graph):
    with ps.options(device_memory="1GB"):
        assert _gpu.chosen_gpu(graph, None) is None
        levels = ps.csgraph.bfs(graph, 3)
    assert np.array_equal(levels, ps.csgraph.bfs(graph, 3, device="cpu"))


def test_the_choice_of_a_device(graph, monkeypatch):
    monkeypatch.setattr(_core, "device_count", lambda: 2)
    large = ps.generate.rmat(16, seed=1)
    assert _gpu.chosen_gpu(large, None) is None
    with ps.options(device_memory="1GB"):
        assert _gpu.chosen_gpu(large, None) == 0
        assert _gpu.chosen_gpu(graph, None) is None  # small
        assert _gpu.chosen_gpu(large, "cpu") is None
    assert _gpu.chosen_gpu(graph, 1) == 1
    with pytest.raises(ValueError, match="2 GPUs are usable"):
        _gpu.chosen_gpu(graph, 2)


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions always keep them apart
        runner = CliRunner()
    return runner.invoke(app, [str(word) for word in words])


@no_gpu
def test_the_command_line_falls_back_with_one_line(file):
    result = run("bfs", file, "--device-memory", "1GB", "--trace", "--verify")
    assert result.exit_code == 0, result.stderr
    assert (
        result.stdout.replace("\n", " ").count("ran on the CPU") == 1 and "right" in result.stdout
    )
    told = json.loads(run("bfs", file, "--trace", "--json").stdout)
    assert told["device"] == "cpu" and told["note"] == device.NO_GPU
    assert "device" not in json.loads(run("bfs", file, "--json").stdout)


@pytest.mark.parametrize(
    "words, message",
    [
        (("--access", "random"), "access='random' is unknown"),
        (("--placement", "attic"), "placement='attic' is unknown"),
        (("--device-memory", "much"), "--device-memory='much' is not a size"),
    ],
)
def test_bad_words_are_refused_with_and_without_a_gpu(file, words, message):
    result = run("bfs", file, *words)
    assert result.exit_code == 2 and message in result.stderr.replace("\n", " ")


def event(placement="pinned", requests=(60, 0, 0, 40)):
    sizes = dict(zip((32, 64, 96, 128), requests, strict=True))
    read = {"bytes": sum(k * v for k, v in sizes.items()), "requests": sizes}
    facts = dict.fromkeys((f"{p}_bytes" for p in ("offset", "edge", "sample", "cache", "other")), 0)
    facts |= {"gpu": 0, "placement": placement, "used_bytes": 3 << 20, "budget": 1 << 30}
    facts |= {"sample_bytes": 2 << 20, "offset_bytes": 1 << 20}
    steps = [{"kind": "small", "levels": 7}, {"kind": "bottom_up", "levels": 1}]
    return {"read": read, "edge_bytes": 70_400, "graph": facts, "steps": steps}


def test_what_a_trace_says(monkeypatch):
    monkeypatch.setattr(_core, "device_count", lambda: 1)
    on = device.OnDevice(trace=True)
    rows = device.as_rows(on, event())
    assert rows["device"] == "GPU 0, edges pinned"
    assert "over the link, 0.1 of the lists' bytes" in rows["read"]
    assert rows["requests"] == "100: 32 B 60%, 128 B 40%"
    assert rows["steps"] == "7 in one small kernel, bottom-up"
    assert "samples 2.0 MiB" in rows["held"] and "caches" not in rows["held"]
    assert "from device memory" in device.as_rows(on, event("device"))["read"]
    assert device.as_rows(on, event(requests=(0, 0, 0, 0)))["requests"] == "none"
    assert device.as_json(on, event())["trace"]["amplification"] == pytest.approx(0.1)
    assert on.arguments() == {"device": 0, "gpu_options": GpuOptions()}
    assert on.arguments(counted=True)["gpu_options"] == GpuOptions(counted=True)
    assert device.OnDevice().arguments() == {} and device.as_rows(device.OnDevice(), None) == {}


def test_the_command_names_its_gpus(monkeypatch):
    monkeypatch.setattr(_core, "device_count", lambda: 2)
    on = device.OnDevice(gpus=2)
    assert on.wanted and on.arguments()["device"] == [0, 1]
    assert device.as_rows(on, None) == {"device": "GPUs 0, 1"}
    assert device.as_rows(on, event() | {"gpus": [0, 1]})["device"] == "GPUs 0, 1, edges pinned"
    assert device.as_json(on, None)["gpus"] == 2
    with pytest.raises(ui.InputError, match="--gpus 3: 2 usable"):
        device.OnDevice(gpus=3).arguments()
    monkeypatch.setattr(_core, "device_count", lambda: 0)
    assert on.arguments() == {"device": "cpu"}


def test_several_gpus_where_they_are_named_or_one_is_too_small(monkeypatch, graph):
    monkeypatch.setattr(_core, "device_count", lambda: 4)
    monkeypatch.setattr(_core, "gpu_info", lambda gpu: {"free_bytes": 1 << 34})
    monkeypatch.setattr(_gpu, "_SMALL", 1)
    assert _gpu.chosen_gpus(graph, [1, 1, 3]) == [1, 1, 3]
    assert _gpu.chosen_gpus(graph, (np.int64(2),)) == [2]
    assert _gpu.chosen_gpus(graph, 3) == [3] and _gpu.chosen_gpus(graph, "cpu") == []
    for bad, message in (([], "at least one"), ([0, "cpu"], "GPUs alone"), ([0, 4], "4 GPUs are")):
        with pytest.raises(ValueError, match=message):
            _gpu.chosen_gpus(graph, bad)
    # vertices, the last offset, edges, pieces of long lists
    room = graph.shape[0] * 42 + 8 + graph.nnz * 4 + _core.cut_list_bytes(graph.nnz)
    for gpus, memory, expected in (
        (2, room, [0]),
        (2, room - 1, [0, 1]),
        (8, room - 1, [0, 1, 2, 3]),
        (None, room - 1, [0]),
        (1, room - 1, [0]),
        (0, room - 1, []),
        (2, None, []),
    ):
        with ps.options(gpus=gpus, device_memory=memory):
            assert _gpu.chosen_gpus(graph, None) == expected, (gpus, memory)
    with ps.options(gpus=2, device_memory=room - 1):
        assert _gpu.chosen_gpus(graph, [1, 0]) == [1, 0]
        for beyond in (2, [0, 3]):
            with pytest.raises(ValueError, match=r"2 GPUs are usable here \(options.gpus=2\)"):
                _gpu.chosen_gpus(graph, beyond)


def test_what_is_no_device_is_refused_by_name(graph):
    for bad in (0.5, ps.pinned, ps.managed, [0.5]):
        with pytest.raises(TypeError, match="is not one device: give"):
            ps.csgraph.bfs(graph, device=bad)
    with pytest.raises(TypeError, match=r"device=\[0, 1\] is not one device"):
        ps.csgraph.sssp(graph, device=[0, 1])
    for function in (
        ps.csgraph.triangle_count,
        ps.csgraph.betweenness_centrality,
        ps.csgraph.pagerank,
    ):
        with pytest.raises(TypeError, match="is not one device: give"):
            function(graph, device=[0.5])
        with pytest.raises(ValueError, match="name at least one GPU"):
            function(graph, device=[])
    assert np.array_equal(
        ps.csgraph.bfs(graph, device=ps.host), ps.csgraph.bfs(graph, device="cpu")
    )


@no_gpu
def test_several_gpus_are_refused_where_there_is_none(graph):
    with pytest.raises(ValueError, match="0 GPUs are usable"):
        ps.csgraph.bfs(graph, 0, device=[0, 0])
    with pytest.raises(ValueError, match="0 GPUs are usable"):
        ps.csgraph.connected_components(graph, device=[0, 0])
    if not _core.config()["cuda"]:
        with pytest.raises(ps.NotCompiledError, match="no CUDA"):
            _core.gpu_parts(graph._core, [0, 0])
