"""from_edges, from_edge_index and PyTorch's tensors: every form gives the same graph, and faults are named."""

import datetime
import sys

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

U = ["b", "a", "b", "d"]
V = ["a", "c", "a", "d"]
W = [1.0, 2.0, 4.0, 8.0]
NAMES = ["a", "b", "c", "d"]
WEIGHTED = np.array([[0, 0, 2, 0], [5, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 8.0]])


def frames():
    columns = {"source": U, "target": V, "cost": W}
    yield pl.DataFrame(columns)
    yield pl.DataFrame(columns).lazy()
    yield pl.DataFrame(columns).with_columns(pl.col("source", "target").cast(pl.Categorical))
    try:
        import pandas as pd

        yield pd.DataFrame(columns)
        yield pd.DataFrame(columns).astype({"source": "category", "cost": "Float64"})
    except ImportError:
        pass
    try:
        import pyarrow as pa

        yield pa.table(columns)
    except ImportError:
        pass


FRAMES = list(frames())


@pytest.mark.parametrize("frame", FRAMES, ids=lambda f: type(f).__module__.split(".")[0])
def test_frames(frame):
    g = ps.from_edges(frame, weight="cost")
    assert g.labels.tolist() == NAMES
    np.testing.assert_array_equal(g.matrix.toarray(), WEIGHTED)
    a, labels = ps.from_edges(frame)
    assert a.dtype == bool and labels.tolist() == NAMES
    np.testing.assert_array_equal(a.toarray(), WEIGHTED != 0)
    turned, _ = ps.from_edges(frame, source="target", target="source", weight="cost")
    np.testing.assert_array_equal(turned.toarray(), WEIGHTED.T)
    both, _ = ps.from_edges(frame, weight="cost", directed=False)
    np.testing.assert_array_equal(both.toarray(), np.maximum(WEIGHTED, WEIGHTED.T))


@pytest.mark.parametrize(
    "edges",
    [
        (U, V, W),
        (np.array(U), np.array(V), np.array(W)),
        (np.array(U, object), pl.Series(V), W),
        [*zip(U, V, W, strict=True)],
        [(u, v, {"cost": w, "other": 1}) for u, v, w in zip(U, V, W, strict=True)],
    ],
    ids=["lists", "arrays", "mixed", "tuples", "dicts"],
)
def test_arrays_and_lists(edges):
    weight = "cost" if isinstance(edges[0], tuple) and isinstance(edges[0][2], dict) else None
    g = ps.from_edges(edges, weight=weight)
    np.testing.assert_array_equal(g.matrix.toarray(), WEIGHTED)
    assert g.labels.tolist() == NAMES


def test_generators_and_pairs():
    a, labels = ps.from_edges(zip(U, V, strict=True))
    assert a.dtype == bool and labels.tolist() == NAMES
    a, labels = ps.from_edges(np.array([[5, 7], [7, 900]]))
    assert labels.tolist() == [5, 7, 900] and a.indices.tolist() == [1, 2]
    nx = pytest.importorskip("networkx")
    g = nx.karate_club_graph()
    a, labels = ps.from_edges(g.edges(data=True), weight="weight", directed=False)
    wanted = nx.to_scipy_sparse_array(g, nodelist=labels.tolist(), weight="weight")
    assert (a.to_scipy() != wanted).nnz == 0
    with pytest.raises(TypeError, match="G.edges"):
        ps.from_edges(g)


LABELS = {
    "integers": st.integers(-50, 50),
    "far integers": st.integers(-(2**62), 2**62),
    "beyond 64 bits": st.integers(2**63 - 2, 2**66),
    "strings": st.text(max_size=3).filter(lambda s: "\x00" not in s),
    "bytes": st.binary(max_size=2).filter(lambda b: b"\x00" not in b),
    "dates": st.dates(),
    "times": st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)),
    "floats": st.floats(-5, 5).map(lambda x: x + 0.0),
    "tuples": st.tuples(st.integers(0, 2), st.text(max_size=1)),
    "mixed": st.one_of(st.integers(0, 3), st.text(max_size=1), st.booleans().map(str)),
}


@pytest.mark.parametrize("kind", list(LABELS))
@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_labels_come_back(kind, data):
    edges = data.draw(st.lists(st.tuples(LABELS[kind], LABELS[kind]), max_size=12))
    g = ps.from_edges(edges)
    seen = {label for edge in edges for label in edge}
    assert g.matrix.shape == (len(seen), len(seen)) and len(g.labels) == len(seen)
    back = set()
    row = np.repeat(np.arange(len(seen)), np.diff(g.matrix.indptr))
    for i, j in zip(row, g.matrix.indices, strict=True):
        back.add((i, j))
    wanted = {(g.index_of(u), g.index_of(v)) for u, v in edges}
    assert back == wanted
    for label in seen:
        told = g.label_of(g.index_of(label))
        # np.asarray drops a NUL at the end of a string
        assert told == label if isinstance(label, str) else np.all(told == np.asarray(label)[()])
    if seen and kind not in ("beyond 64 bits", "tuples", "mixed"):
        assert np.all(g.labels[1:] > g.labels[:-1])
    assert g.index_of(list(seen)).tolist() == [g.index_of(label) for label in seen]
    with pytest.raises(KeyError):
        g.index_of("not a label at all")


def test_integers_as_they_are():
    u, v = np.array([0, 3], np.uint16), np.array([1, 1], np.int32)
    a, labels = ps.from_edges((u, v), num_nodes=6)
    assert a.shape == (6, 6) and labels == range(6)
    g = ps.from_edges((u, v), relabel=False)
    assert g.matrix.shape == (4, 4)
    assert g.index_of(3) == 3 and g.label_of([2, 0]).tolist() == [2, 0] and g.label_of(1) == 1
    with pytest.raises(KeyError):
        g.index_of(4)
    with pytest.raises(IndexError, match="4 is outside"):
        g.label_of([0, 4])
    g = ps.from_edges((u, v))
    assert g.labels.tolist() == [0, 1, 3] and g.index_of(3) == 2
    assert ps.from_edges([], num_nodes=3).matrix.shape == (3, 3)
    assert ps.from_edges([]).matrix.shape == (0, 0)
    keep = ps.from_edges(([0, 0], [1, 1], [2.0, 3.0]), relabel=False, sum_duplicates=False).matrix
    assert keep.data.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8"])
def test_types_of_weights(dtype):
    a, _ = ps.from_edges(([0], [1], np.ones(1, dtype)))
    assert a.dtype == (dtype if dtype == "float32" else "float64") and a.data[0] == 1


FAULTS = [
    (dict(edges=(["a", None], ["b", "c"])), ValueError, r"sources\[1\] is missing"),
    (dict(edges=([1.0, 2.0], [1.0, np.nan])), ValueError, r"targets\[1\] is missing"),
    (dict(edges=(["a"], ["b", "c"])), ValueError, "sources has 1 entries and targets 2"),
    (dict(edges=([0], [1], [1.0, 2.0])), ValueError, r"weights has shape \(2,\)"),
    (dict(edges=([0, 1], [1, 0], [1.0, np.nan])), ValueError, r"weights\[1\] is missing or NaN"),
    (dict(edges=([0], [1], ["x"])), TypeError, "weights are numbers"),
    (dict(edges=([0], [1], [2**60 + 1])), ValueError, "beyond 2\\^53"),
    (dict(edges=[("a", "b"), ("a", "b", 1.0)]), ValueError, r"edges\[1\] = .* has a weight"),
    (dict(edges=[("a", "b", {}), ("a", "b")], weight="w"), ValueError, r"edges\[0\] .* no 'w'"),
    (dict(edges=[("a", "b")], weight="w"), ValueError, "no third part"),
    (dict(edges=["ab"]), TypeError, r"edges\[0\] = 'ab'"),
    (dict(edges=[("a", [1])]), TypeError, r"targets\[0\] = \[1\] cannot name a vertex"),
    (dict(edges=("a", "b")), TypeError, "give single edges as a list"),
    (dict(edges=3), TypeError, "cannot read edges from int"),
    (dict(edges=np.zeros((2, 3))), ValueError, r"shape \(2, 3\)"),
    (dict(edges=FRAMES[0], source="from"), KeyError, "source='from' is not a column"),
    (dict(edges=FRAMES[0], weight="w"), KeyError, "weight='w' .* 'source', 'target', 'cost'"),
    (dict(edges=FRAMES[0], num_nodes=4), TypeError, "column 'source' has .* entries like 'b'"),
    (dict(edges=([0], [5]), num_nodes=5), ValueError, r"targets\[0\] = 5 is outside the 5 vert"),
    (dict(edges=([0], [-1]), relabel=False), ValueError, r"targets\[0\] = -1"),
    (dict(edges=([0], [2**31]), relabel=False), ValueError, "2147483649 vertices: .* 2\\^31 - 1"),
    (dict(edges=([0], [1]), num_nodes=2**31), ValueError, "2147483648 vertices"),
    (dict(edges=([0], [1]), num_nodes=2.5), TypeError, "num_nodes=2.5"),
    (dict(edges=([0], [1]), num_nodes=2, relabel=True), ValueError, "relabel=True"),
    (
        dict(edges=pl.DataFrame({"source": [1, None], "target": [1, 2]})),
        ValueError,
        r"column 'source'\[1\] is missing",
    ),
    (
        dict(edges=pl.DataFrame({"source": [1], "target": [2], "w": [None]}), weight="w"),
        ValueError,
        r"column 'w'\[0\] is missing",
    ),
]


@pytest.mark.parametrize("arguments, error, message", FAULTS, ids=[m for _, _, m in FAULTS])
def test_faults(arguments, error, message):
    with pytest.raises(error, match=message):
        ps.from_edges(**arguments)


def test_missing_in_pandas():
    pd = pytest.importorskip("pandas")
    good = pd.DataFrame({"source": ["a", "b"], "target": ["b", "a"], "w": [1.0, 2.0]})
    for column, value in (("source", None), ("target", np.nan), ("w", np.nan)):
        bad = good.copy()
        bad.loc[1, column] = value
        with pytest.raises(ValueError, match=rf"column '{column}'\[1\] is missing"):
            ps.from_edges(bad, weight="w")
    times = pd.DataFrame({"source": pd.to_datetime(["2020-01-01", None]), "target": [1, 2]})
    with pytest.raises(ValueError, match=r"column 'source'\[1\] is missing"):
        ps.from_edges(times)
    nullable = pd.DataFrame({"source": pd.array([1, None], "Int64"), "target": [1, 2]})
    with pytest.raises(ValueError, match=r"column 'source'\[1\] is missing"):
        ps.from_edges(nullable)


def test_times_of_pandas():
    pd = pytest.importorskip("pandas")
    days = pd.to_datetime(["2020-03-01", "2020-01-01"])
    g = ps.from_edges(pd.DataFrame({"source": days, "target": days[::-1]}))
    assert g.index_of(days[0]) == 1 and g.index_of(np.datetime64("2020-01-01")) == 0
    assert g.index_of(list(days)).tolist() == [1, 0]
    with pytest.raises(KeyError):
        g.index_of(pd.Timestamp("2021-01-01"))


def test_many_edges():
    """Against SciPy, with integers, far integers and strings."""
    rng = np.random.default_rng(1)
    u, v = rng.integers(0, 3000, (2, 50_000))
    w = rng.integers(1, 9, 50_000).astype(float)
    ids = np.unique(np.concatenate([u, v]))
    wanted = sp.csr_array(
        (w, (np.searchsorted(ids, u), np.searchsorted(ids, v))), shape=[len(ids)] * 2
    )
    for name in (lambda x: x, lambda x: x * 10**12 - 5, lambda x: np.char.zfill(x.astype(str), 5)):
        a, labels = ps.from_edges((name(u), name(v), w))
        assert (a.to_scipy() != wanted).nnz == 0
        assert labels.tolist() == name(ids).tolist()


# DLPack and PyTorch


class Exported:
    """An array that is known by DLPack alone, from a device where `kind` says so."""

    def __init__(self, array, kind=1, copies=True):
        self.array, self.kind, self.copies = np.array(array), kind, copies

    def __dlpack_device__(self):
        return (self.kind, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.kind != 1 and not (copy and self.copies and dl_device == (1, 0)):
            raise BufferError("no copy")
        return self.array.copy().__dlpack__(max_version=max_version)


@pytest.mark.parametrize("wrap", [np.array, Exported, lambda x: Exported(x, kind=2)])
def test_edge_index(wrap):
    index = [[0, 0, 2, 0], [1, 2, 1, 1]]
    a = ps.from_edge_index(wrap(index))
    assert a.dtype == bool and a.shape == (3, 3)
    np.testing.assert_array_equal(a.toarray(), [[0, 1, 1], [0, 0, 0], [0, 1, 0]])
    b = ps.from_edge_index(wrap(index), wrap(np.array([1, 2, 3, 4], np.float32)), num_nodes=4)
    assert b.dtype == np.float32 and b.shape == (4, 4)
    np.testing.assert_array_equal(b.data, [5, 2, 3])


def test_edge_index_faults():
    for bad in (np.zeros((3, 2), int), np.zeros((2, 2)), np.zeros(4, int)):
        with pytest.raises(ValueError, match="give integers of shape"):
            ps.from_edge_index(bad)
    with pytest.raises(ValueError, match=r"edge_index\[1\]\[0\] = 3 is outside the 3"):
        ps.from_edge_index([[0], [3]], num_nodes=3)
    with pytest.raises(ValueError, match="edge_weight has shape"):
        ps.from_edge_index([[0], [3]], [1.0, 2.0])
    with pytest.raises(TypeError, match=r"edge_index is in the memory of a device .* \.cpu\(\)"):
        ps.from_edge_index(Exported([[0], [1]], kind=2, copies=False))
    assert ps.from_edge_index(np.empty((2, 0))).shape == (0, 0)


class FakeTensor:
    """What csr_array reads of a sparse tensor."""

    def __init__(self, layout, shape, **parts):
        self.layout, self.shape = f"torch.sparse_{layout}", shape
        for name, part in parts.items():
            setattr(self, name, lambda part=part: Exported(part))

    def coalesce(self):
        return self


def test_sparse_tensors_by_their_interface():
    csr = FakeTensor(
        "csr", (2, 3), crow_indices=[0, 1, 3], col_indices=[2, 0, 1], values=[1.0, 2.0, 3.0]
    )
    coo = FakeTensor("coo", (2, 3), indices=[[0, 1, 1], [2, 0, 1]], values=[1.0, 2.0, 3.0])
    for tensor in (csr, coo):
        a = ps.csr_array(tensor)
        np.testing.assert_array_equal(a.toarray(), [[0, 0, 1], [2, 3, 0]])
        assert ps.csr_array(tensor, dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match=r"sparse_bsr: convert it with \.to_sparse_csr"):
        ps.csr_array(FakeTensor("bsr", (2, 2)))
    with pytest.raises(ValueError, match="two dimensions"):
        ps.csr_array(FakeTensor("csr", (2, 2, 2)))


def test_torch():
    torch = pytest.importorskip("torch")
    s = sp.random_array((20, 30), density=0.2, format="csr", rng=1)
    a = ps.csr_array(s)
    t = a.to_torch()
    assert t.layout == torch.sparse_csr
    np.testing.assert_array_equal(t.to_dense().numpy(), s.toarray())
    for tensor in (t, t.to_sparse_coo(), torch.from_numpy(s.toarray())):
        assert (ps.csr_array(tensor).to_scipy() != s).nnz == 0
    index = torch.tensor([[0, 1], [1, 2]])
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    assert ps.from_edge_index(index, weight).dtype == np.float32


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        ps.csr_array((2, 2)).to_torch()
