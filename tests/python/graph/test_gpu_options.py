"""GpuOptions: what it takes, and where functions refuse it. No option is read and ignored."""

import dataclasses
import inspect

import numpy as np
import pytest
import scipy.sparse.csgraph as scg
from penstock.csgraph import GpuOptions, _gpu

import penstock as ps
from penstock import _core

FUNCTIONS = {
    name: getattr(ps.csgraph, name)
    for name in (
        "bfs",
        "connected_components",
        "sssp",
        "dijkstra",
        "betweenness_centrality",
        "triangle_count",
        "triangles",
        "pagerank",
        "louvain",
        "leiden",
        "label_propagation",
    )
}
ON_CPU = ("bellman_ford", "minimum_spanning_tree")  # take a device, and have no code for GPUs yet
BY_ANOTHER = (
    "shortest_path",  # takes a device for dijkstra, which it calls
    "personalized_pagerank",  # has no field to read
)
PLANS = ("explain",)  # takes what the function takes of which it tells
READ = {
    "bfs": {"method", "access", "placement", "sample", "counted"},
    "connected_components": {"method", "access", "placement", "sample", "counted"},
    "sssp": {"method", "access", "placement", "cache", "counted"},
    "dijkstra": {"method", "access", "placement", "cache", "counted"},
    "betweenness_centrality": {"access", "placement", "counted"},
    "triangle_count": {"access", "placement", "counted"},
    "triangles": {"access", "placement", "counted"},
    "pagerank": {"access", "placement", "counted"},
    "louvain": {"placement"},
    "leiden": {"placement"},
    "label_propagation": {"placement"},
}
OTHER = {
    "method": "top_down",
    "access": "merged",
    "placement": "pinned",
    "sample": 8,
    "cache": "1MiB",
    "counted": True,
}


@pytest.fixture(scope="module")
def graph():
    return ps.generate.rmat(6, seed=3)


@pytest.fixture
def one_gpu(monkeypatch):
    """One GPU is counted, which nobody comes to: what is tested is refused before."""
    monkeypatch.setattr(_core, "device_count", lambda: 1)
    monkeypatch.setattr(_gpu, "link_up", lambda gpu: 50e9)
    monkeypatch.setattr(_core, "gpu_info", lambda gpu: {"free_bytes": 1 << 34})

    def graph(*args):
        raise InterruptedError("the graph goes to the GPU")

    monkeypatch.setattr(_core, "gpu_graph", graph)
    monkeypatch.setattr(_core, "orient_edges_gpu", graph)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"method": "sideways"}, "method='sideways' is unknown: choose one of auto, top_down"),
        ({"access": "random"}, "access='random' is unknown"),
        ({"placement": "attic"}, "placement='attic' is unknown"),
        ({"sample": 5}, "sample=5 is unknown: choose one of 0, 4, 8, 16"),
        ({"cache": "much"}, "cache='much' is not a size"),
        ({"cache": -1}, "cache=-1 is outside"),
    ],
)
def test_bad_values_are_refused_when_it_is_made(given, message):
    with pytest.raises(ValueError, match=message):
        GpuOptions(**given)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"sample": False}, "sample=False is not an integer: choose one of 0, 4, 8, 16"),
        ({"sample": 4.0}, "sample=4.0 is not an integer"),
        ({"sample": "4"}, "sample='4' is not an integer"),
        ({"method": np.array(["top_down"])}, "method=array.* is not text: choose one of auto"),
        ({"access": ["packed"]}, "access=.* is not text: choose one of auto, strided"),
        ({"placement": None}, "placement=None is not text: choose one of auto, pinned"),
    ],
)
def test_values_of_another_type(given, message):
    with pytest.raises(TypeError, match=message):
        GpuOptions(**given)


def test_integers_and_text_of_numpy():
    assert GpuOptions(sample=np.int32(8)) == GpuOptions(sample=8)
    assert GpuOptions(access=np.str_("merged")) == GpuOptions(access="merged")


@pytest.mark.parametrize("wanted", [np.array(["packed"]), ["raw"], None, True])
def test_lists_are_text(graph, wanted):
    for call in (ps.csgraph.bfs, ps.csgraph.connected_components, ps.csgraph.explain):
        with pytest.raises(
            TypeError, match="lists=.* is not text: choose one of auto, raw, packed"
        ):
            call(graph, lists=wanted)


def test_counted_is_a_bool_and_nothing_can_be_changed():
    with pytest.raises(TypeError, match="counted=1: give True or False"):
        GpuOptions(counted=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        GpuOptions().method = "top_down"
    assert GpuOptions(cache="1KiB") == GpuOptions(cache=1024)
    assert repr(GpuOptions()) == "GpuOptions()"


@pytest.mark.parametrize("name", ON_CPU)
def test_what_has_no_code_for_gpus_says_so(graph, one_gpu, name):
    function = getattr(ps.csgraph, name)
    with pytest.raises(ValueError, match=f'^{name} runs on the CPU: give device="cpu" or None$'):
        function(graph, device=0)
    function(graph, device="cpu")


def test_every_function_that_takes_a_device_takes_it_and_no_knob_beside_it():
    """Also those that the package gets one day."""
    knobs = {field.name for field in dataclasses.fields(GpuOptions)}
    for name in ps.csgraph.__all__:
        function = getattr(ps.csgraph, name)
        if inspect.isclass(function):
            continue
        parameters = set(inspect.signature(function).parameters)
        takes = name in FUNCTIONS or name in PLANS
        assert ("gpu_options" in parameters) == takes, name
        takes = takes or name in ON_CPU or name in BY_ANOTHER
        assert ("device" in parameters) == takes, name
        theirs = getattr(scg, name, None)  # SciPy has a `method` of its own
        theirs = set(inspect.signature(theirs).parameters) if theirs else set()
        assert not parameters & knobs - theirs, name


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("given", [{}, {"placement": "pinned"}])
def test_options_are_refused_on_the_cpu(graph, name, given):
    for device in ("cpu", None):
        with pytest.raises(ValueError) as caught:
            FUNCTIONS[name](graph, device=device, gpu_options=GpuOptions(**given))
        said = str(caught.value)
        assert said.startswith(f"{name}: gpu_options={GpuOptions(**given)!r} is for GPUs")
        assert "leave gpu_options out, or name a GPU, as in device=0" in said


def test_options_of_strong_components_are_refused(graph):
    with pytest.raises(ValueError, match=r"found on the CPU: leave gpu_options=GpuOptions\(\) out"):
        ps.csgraph.connected_components(graph, connection="strong", gpu_options=GpuOptions())


@pytest.mark.parametrize("field", OTHER)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_field_is_read_or_refused(graph, one_gpu, name, field):
    value = {
        "connected_components": "label_propagation",
        "sssp": "near_far",
        "dijkstra": "near_far",
    }
    given = value.get(name, "top_down") if field == "method" else OTHER[field]
    options = GpuOptions(**{field: given})
    if field in READ[name]:
        with pytest.raises(InterruptedError):
            FUNCTIONS[name](graph, device=0, gpu_options=options)
    else:
        with pytest.raises(ValueError, match=f"{name} does not read {field}=.* leave it out"):
            FUNCTIONS[name](graph, device=0, gpu_options=options)


@pytest.mark.parametrize(
    "name, method",
    [("bfs", "near_far"), ("connected_components", "top_down"), ("sssp", "top_down")],
)
def test_a_method_of_another_function_is_refused(graph, one_gpu, name, method):
    with pytest.raises(ValueError, match=f"method='{method}' is unknown: choose one of auto"):
        FUNCTIONS[name](graph, device=0, gpu_options=GpuOptions(method=method))


@pytest.mark.parametrize(
    "name, method, more",
    [
        ("bfs", "level_synchronous", {"sample": 8}),
        ("connected_components", "label_propagation", {"sample": 4}),
        ("sssp", "bellman_ford", {"cache": "1GB"}),
    ],
)
def test_a_baseline_uses_no_sample_and_no_cache(graph, one_gpu, name, method, more):
    (field,) = more
    with pytest.raises(ValueError, match=f"method='{method}' uses no {field}"):
        FUNCTIONS[name](graph, device=0, gpu_options=GpuOptions(method=method, **more))
    none = GpuOptions(method=method, **{field: 0})  # which is what it does
    with pytest.raises(InterruptedError):
        FUNCTIONS[name](graph, device=0, gpu_options=none)


def test_what_is_no_options_is_refused(graph):
    with pytest.raises(TypeError, match="gpu_options='pinned': give penstock.csgraph.GpuOptions"):
        ps.csgraph.bfs(graph, gpu_options="pinned")


def test_the_search_gets_what_was_asked_for(graph, monkeypatch):
    asked = []

    class Graph:
        def facts(self):
            return {"gpu": 0, "placement": "pinned", "edges": graph.nnz}

    def search(*args, **how):
        asked.append(how)
        return np.zeros(graph.shape[0], np.int32), None, {"missed": 0}

    monkeypatch.setattr(_core, "device_count", lambda: 1)
    monkeypatch.setattr(_gpu, "link_up", lambda gpu: 50e9)
    monkeypatch.setattr(_core, "gpu_info", lambda gpu: {"free_bytes": 1 << 34})
    monkeypatch.setattr(_core, "gpu_graph", lambda *args: Graph())
    monkeypatch.setattr(_core, "bfs_gpu", search)
    twin = ps.csr_array._wrap(graph._core)
    ps.csgraph.bfs(twin, device=0)
    how = GpuOptions(method="top_down", access="merged", sample=0, counted=True)
    ps.csgraph.bfs(twin, device=0, gpu_options=how)
    plain = {"method": "auto", "access": "auto", "sample": 4, "count": False}
    given = {"method": "top_down", "access": "merged", "sample": 0, "count": True}
    assert asked == [{**plain, "predecessors": False}, {**given, "predecessors": False}]
