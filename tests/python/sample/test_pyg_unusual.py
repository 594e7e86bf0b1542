"""ps.pyg with what is rare: types without edges or vertices, matrices of other kinds in stores, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from penstock.sample import _pyg_arrays  # noqa: E402
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.loader import LinkNeighborLoader, NodeLoader  # noqa: E402
from torch_geometric.sampler import NodeSamplerInput  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


def some_edges(n=10, m=30, seed=1):
    return torch.randint(n, (2, m), generator=torch.Generator().manual_seed(seed))


def typed():
    data = HeteroData()
    data["a"].x = torch.arange(10.0).reshape(-1, 1)
    data["c"].x = torch.arange(5.0).reshape(-1, 1)
    data["a", "s", "a"].edge_index = some_edges()
    return data


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("counts", [[3, 2], {("a", "s", "a"): [3, 2]}])
def test_seeds_of_a_type_without_edges_are_the_sample(disjoint, counts):
    data = typed()
    sampler = ps.pyg.NeighborSampler(data, counts, disjoint=disjoint)
    seen = []
    for batch in NodeLoader(data, sampler, input_nodes="c", batch_size=2):
        seen += batch["c"].n_id.tolist()
        assert batch["c"].batch_size == batch["c"].num_nodes == sum(batch["c"].num_sampled_nodes)
        assert (batch["c"].x.reshape(-1) == batch["c"].n_id).all()
        assert batch["a"].num_nodes == 0 and batch["a", "s", "a"].edge_index.shape == (2, 0)
        assert not disjoint or batch["c"].batch.tolist() == list(range(batch["c"].batch_size))
    assert seen == list(range(5))
    for batch in NodeLoader(data, sampler, input_nodes="a", batch_size=2):
        assert batch["c"].num_nodes == 0 and batch["a", "s", "a"].num_edges > 0
        assert set(batch.edge_types) == {("a", "s", "a")}


def test_links_to_a_type_without_edges():
    data = typed()
    links = torch.tensor([[1, 2, 3], [4, 0, 4]])
    sampler = ps.pyg.NeighborSampler(data, [2])
    loader = LinkNeighborLoader(
        data, [2], edge_label_index=(("a", "to", "c"), links), batch_size=3, neighbor_sampler=sampler
    )  # fmt: skip
    data["a", "to", "c"].edge_index = torch.empty((2, 0), dtype=torch.long)
    (batch,) = loader
    index = batch["a", "to", "c"].edge_label_index
    assert (batch["a"].n_id[index[0]] == links[0]).all()
    assert (batch["c"].n_id[index[1]] == links[1]).all()


def test_data_without_edges():
    data = HeteroData()
    data["c"].x = torch.arange(5.0)
    S = ps.pyg.NeighborSampler(data, [3, 1]).sample_from_nodes(
        NodeSamplerInput(None, torch.tensor([4, 1]), input_type="c")
    )
    assert S.node["c"].tolist() == [4, 1] and S.num_sampled_nodes == {"c": [2, 0, 0]}


def test_a_type_without_vertices():
    graph, features = ps.pyg.GraphStore(), ps.pyg.FeatureStore()
    features["a", "x"] = np.arange(10, dtype=np.float32).reshape(10, 1)
    features["e", "x"] = np.empty((0, 3), np.float32)
    graph.matrices["a", "s", "a"] = ps.csr_array(np.eye(10))
    graph.matrices["a", "r", "e"] = ps.csr_array((10, 0))
    stores = (features, graph)
    sampler = ps.pyg.NeighborSampler(stores, [3])
    loader = NodeLoader(stores, sampler, input_nodes=("a", torch.arange(10)), batch_size=4)
    for batch in loader:
        assert batch["e"].x.shape == (0, 3)
        assert (batch["a"].x.reshape(-1) == batch["a"].n_id).all()


def test_stores_take_what_becomes_a_matrix():
    index = some_edges(20, 90)
    A = ps.csr_array((np.ones(90, bool), tuple(index.numpy())), shape=(20, 20)).without_duplicates()
    changing = ps.DynamicGraph(A)
    outs = []
    for given in (A, A.to_scipy(), sp.coo_matrix(A.to_scipy()), A.T.formed().T, changing):
        graph, features = ps.pyg.GraphStore(), ps.pyg.FeatureStore()
        graph.matrices[None] = given
        sampler = ps.pyg.NeighborSampler((features, graph), [3, 2])
        torch.manual_seed(5)
        outs.append(sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([3, 7]))))
        for layout in ("coo", "csr", "csc"):
            ends = graph.get_edge_index(edge_type=None, layout=layout, size=(20, 20))
            assert ends[0].dtype == torch.long
    for out in outs[1:]:
        for name in ("node", "row", "col"):
            assert torch.equal(getattr(out, name), getattr(outs[0], name)), name


def test_features_of_sixteen_bits():
    features = ps.pyg.FeatureStore()
    x = torch.arange(30.0).reshape(10, 3).bfloat16()
    features[None, "x"] = x
    index = torch.tensor([3, 9, 3])
    got = features.get_tensor(group_name=None, attr_name="x", index=index)
    assert got.dtype == torch.bfloat16 and torch.equal(got, x[index])


@pytest.mark.parametrize("kind", ["M8[D]", "M8[s]", ">i8"])
def test_times_that_are_numpys(kind):
    data = Data(edge_index=some_edges(40, 400), num_nodes=40)
    times = np.random.default_rng(1).integers(0, 9, 40)
    data.time = torch.from_numpy(times)
    other = Data(edge_index=data.edge_index, num_nodes=40, time=times.astype(kind))
    outs = []
    for edges in (data, other):
        torch.manual_seed(5)
        sampler = ps.pyg.NeighborSampler(edges, [-1], time_attr="time")
        outs.append(sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(40))))
    assert 0 < outs[0].edge.numel() < 400 and torch.equal(outs[0].edge, outs[1].edge)


def test_times_for_a_gpu_are_pinned(monkeypatch):
    places = []

    def empty(shape, dtype, place):
        places.append(place)
        return np.empty(shape, dtype)

    monkeypatch.setattr(_pyg_arrays, "empty", empty)
    made = _pyg_arrays.pinned_times(np.array([3, 5], np.int32))
    assert made.dtype == np.int64 and made.tolist() == [3, 5] and places == ["pinned"]


def test_what_is_refused():
    data = Data(edge_index=some_edges(), num_nodes=10)
    stores = ps.pyg.FeatureStore(), ps.pyg.GraphStore()
    matrix = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.ones(2))
    hetero = typed()
    for error, match, given, how in (
        (ValueError, "weight_attr='w' is no attribute of the edges$", data, {"weight_attr": "w"}),
        (ValueError, r"weight_attr='w' .* of \('a', 's', 'a'\)", hetero, {"weight_attr": "w"}),
        (ValueError, "time_attr='t' is for Data and HeteroData", stores, {"time_attr": "t"}),
        (ValueError, "weight_attr='w' is for Data and HeteroData", stores, {"weight_attr": "w"}),
        (TypeError, r"data is a tuple of 1: give two stores", stores[:1], {}),
        (TypeError, "adj_t is PyTorch's sparse tensor", Data(adj_t=matrix, num_nodes=2), {}),
    ):
        with pytest.raises(error, match=match):
            ps.pyg.NeighborSampler(given, [3], **how)
    with pytest.raises(ValueError, match="of which A has no edges"):
        ps.pyg.NeighborSampler(hetero, [3]).sample_from_nodes(
            NodeSamplerInput(None, torch.tensor([0]), input_type="z")
        )
