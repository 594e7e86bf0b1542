"""ps.pyg beneath PyTorch Geometric's own loaders."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.loader import (  # noqa: E402
    LinkNeighborLoader,
    NeighborLoader,
    NodeLoader,
)
from torch_geometric.utils import k_hop_subgraph  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


def random_data(n=200, m=1500, seed=1):
    rng = torch.Generator().manual_seed(seed)
    return Data(
        x=torch.arange(n).float().reshape(-1, 1),
        edge_index=torch.randint(n, (2, m), generator=rng),
        edge_attr=torch.arange(m),
        time=torch.randint(100, (n,), generator=rng),
        weight=torch.rand(m, generator=rng),
        num_nodes=n,
    )


def random_hetero(seed=1):
    rng = torch.Generator().manual_seed(seed)
    data = HeteroData()
    data["user"].x = torch.arange(50.0).reshape(-1, 1)
    data["item"].x = torch.arange(80.0).reshape(-1, 1)
    for t, m in (
        (("user", "buys", "item"), 300),
        (("item", "by", "user"), 250),
        (("user", "knows", "user"), 200),
    ):
        sizes = data[t[0]].num_nodes, data[t[2]].num_nodes
        data[t].edge_index = torch.stack([torch.randint(s, (m,), generator=rng) for s in sizes])
        data[t].edge_attr = torch.arange(m)
    return data


def test_node_loader_gives_edges_of_the_graph():
    data = random_data()
    sampler = ps.pyg.NeighborSampler(data, [4, 3])
    seen = []
    for batch in NodeLoader(data, sampler, batch_size=30):
        seeds = batch.n_id[: batch.batch_size]
        seen += seeds.tolist()
        assert (batch.x.reshape(-1) == batch.n_id).all()
        whole = data.edge_index[:, batch.e_id]
        assert (batch.n_id[batch.edge_index] == whole).all()
        assert (batch.edge_attr == batch.e_id).all()
        into = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes)
        degree = torch.bincount(data.edge_index[1], minlength=data.num_nodes)
        assert (into[: batch.batch_size] == degree[seeds].clamp(max=4)).all()
        assert sum(batch.num_sampled_nodes) == batch.num_nodes
        assert sum(batch.num_sampled_edges) == batch.num_edges
        second = slice(batch.batch_size, sum(batch.num_sampled_nodes[:2]))
        assert (into[second] == degree[batch.n_id[second]].clamp(max=3)).all()
    assert seen == list(range(data.num_nodes))


def test_all_neighbours_are_pygs_k_hop_subgraph():
    data = random_data(n=300, m=500)
    sampler = ps.pyg.NeighborSampler(data, [-1, -1])
    for batch in NodeLoader(data, sampler, batch_size=5):
        nodes, *_ = k_hop_subgraph(batch.input_id, 2, data.edge_index, num_nodes=300)
        assert set(batch.n_id.tolist()) == set(nodes.tolist())


def test_neighbor_loader_and_workers():
    data = random_data()
    sampler = ps.pyg.NeighborSampler(data, [4, 3])
    loader = NeighborLoader(data, [4, 3], neighbor_sampler=sampler, batch_size=50, num_workers=2)
    batches = list(loader)
    assert sum(b.batch_size for b in batches) == data.num_nodes
    assert all((b.n_id[b.edge_index] == data.edge_index[:, b.e_id]).all() for b in batches)


def threads_that_draw(_):
    with ps.pyg._threads_of_process():
        return ps.num_threads()


def test_workers_have_as_many_threads_as_pytorch_gives_them():
    before = ps.num_threads()
    ps.set_num_threads(3)
    try:
        assert threads_that_draw(None) == 3
        loader = torch.utils.data.DataLoader(range(4), num_workers=2, collate_fn=threads_that_draw)
        assert list(loader) == [1] * 4
    finally:
        ps.set_num_threads(before)


def test_every_batch_draws_anew_and_pytorchs_seed_repeats_it():
    data = random_data(m=8000)
    sampler = ps.pyg.NeighborSampler(data, [4])
    loader = NodeLoader(data, sampler, batch_size=200)
    torch.manual_seed(3)
    first, second = next(iter(loader)).e_id, next(iter(loader)).e_id
    assert (first != second).any()
    torch.manual_seed(3)
    assert (next(iter(loader)).e_id == first).all()


@pytest.mark.parametrize("neg", [None, "binary", "triplet"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_link_neighbor_loader(neg, disjoint):
    data = random_data()
    sampler = ps.pyg.NeighborSampler(data, [3, 2], disjoint=disjoint)
    loader = LinkNeighborLoader(
        data, [3, 2], edge_label_index=data.edge_index, batch_size=100, neighbor_sampler=sampler,
        neg_sampling=neg,
    )  # fmt: skip
    for i, batch in enumerate(loader):
        edges = data.edge_index[:, 100 * i : 100 * (i + 1)]
        if neg == "triplet":
            assert (batch.n_id[batch.src_index] == edges[0]).all()
            assert (batch.n_id[batch.dst_pos_index] == edges[1]).all()
        else:
            label = batch.n_id[batch.edge_label_index]
            assert (label[:, : edges.shape[1]] == edges).all()
        assert (batch.n_id[batch.edge_index] == data.edge_index[:, batch.e_id]).all()


def test_types():
    data = random_hetero()
    counts = {
        ("user", "buys", "item"): [3, 2],
        ("item", "by", "user"): [2, 2],
        ("user", "knows", "user"): [4, 0],
    }
    sampler = ps.pyg.NeighborSampler(data, counts)
    for batch in NodeLoader(data, sampler, input_nodes="item", batch_size=16):
        assert batch["item"].batch_size <= 16
        for t in data.edge_types:
            ends = torch.stack(
                [batch[v].n_id[batch[t].edge_index[i]] for i, v in ((0, t[0]), (1, t[2]))]
            )
            assert (ends == data[t].edge_index[:, batch[t].e_id]).all()
            into = torch.bincount(batch[t].edge_index[1])
            assert into.numel() == 0 or into.max() <= max(counts[t])
        for v in data.node_types:
            assert (batch[v].x.reshape(-1) == batch[v].n_id).all()


@pytest.mark.parametrize("disjoint", [False, True])
def test_links_between_types(disjoint):
    data = random_hetero()
    t = ("user", "buys", "item")
    sampler = ps.pyg.NeighborSampler(data, [3, 2], disjoint=disjoint)
    loader = LinkNeighborLoader(
        data, [3, 2], edge_label_index=(t, data[t].edge_index), batch_size=64,
        neighbor_sampler=sampler, neg_sampling="binary",
    )  # fmt: skip
    for i, batch in enumerate(loader):
        edges = data[t].edge_index[:, 64 * i : 64 * (i + 1)]
        index = batch[t].edge_label_index[:, : edges.shape[1]]
        assert (batch["user"].n_id[index[0]] == edges[0]).all()
        assert (batch["item"].n_id[index[1]] == edges[1]).all()


def test_times_of_vertices_and_of_edges():
    data = random_data()
    data.when = torch.arange(1500) % 100
    for attribute in ("time", "when"):
        sampler = ps.pyg.NeighborSampler(data, [5, 5], time_attr=attribute)
        until = torch.full((200,), 40)
        for batch in NodeLoader(data, sampler, input_time=until, batch_size=64):
            times = data.time[data.edge_index[0]] if attribute == "time" else data.when
            assert (times[batch.e_id] <= 40).all() and batch.e_id.numel() > 0
            assert (batch.batch[batch.edge_index[0]] == batch.batch[batch.edge_index[1]]).all()
    own = ps.pyg.NeighborSampler(data, [5], time_attr="time")
    for batch in NodeLoader(data, own, batch_size=64):
        source, destination = batch.n_id[batch.edge_index]
        assert (data.time[source] <= data.time[destination]).all()
    with pytest.raises(ValueError, match="seeds without a time"):
        next(iter(NodeLoader(data, ps.pyg.NeighborSampler(data, [5], time_attr="when"))))


def test_weights():
    data = random_data()
    data.weight[::2] = 0
    sampler = ps.pyg.NeighborSampler(data, [-1], weight_attr="weight")
    for batch in NodeLoader(data, sampler, batch_size=64):
        assert (batch.e_id % 2 == 1).all()


def test_stores(tmp_path):
    data = random_data()
    np.save(tmp_path / "x.npy", data.x.numpy())
    graph, features = ps.pyg.GraphStore(), ps.pyg.FeatureStore()
    row, col = data.edge_index.numpy()
    A = ps.csr_array((np.ones(row.size, bool), (row, col)), shape=(200, 200))
    graph.matrices[None] = A
    features[None, "x"] = np.load(tmp_path / "x.npy", mmap_mode="r")
    stores = (features, graph)
    sampler = ps.pyg.NeighborSampler(stores, [4, 3])
    dense = A.toarray()
    count = 0
    for batch in NodeLoader(stores, sampler, input_nodes=torch.arange(200), batch_size=30):
        assert (batch.x.reshape(-1) == batch.n_id).all()
        source, destination = batch.n_id[batch.edge_index].numpy()
        assert dense[source, destination].all()
        count += batch.batch_size
    assert count == 200


def test_stores_of_types():
    data = random_hetero()
    graph, features = ps.pyg.GraphStore(), ps.pyg.FeatureStore()
    for t in data.edge_types:
        size = (data[t[0]].num_nodes, data[t[2]].num_nodes)
        graph.put_edge_index(data[t].edge_index, edge_type=t, layout="coo", size=size)
    for v in data.node_types:
        features.put_tensor(data[v].x, group_name=v, attr_name="x", index=None)
    sampler = ps.pyg.NeighborSampler((features, graph), [4, 3])
    loader = NodeLoader(
        (features, graph), sampler, input_nodes=("user", torch.arange(50)), batch_size=20
    )
    for batch in loader:
        for t in data.edge_types:
            i, j = batch[t].edge_index
            pairs = {*zip(*data[t].edge_index.tolist(), strict=True)}
            got = zip(batch[t[0]].n_id[i].tolist(), batch[t[2]].n_id[j].tolist(), strict=True)
            assert set(got) <= pairs
        assert (batch["item"].x.reshape(-1) == batch["item"].n_id).all()


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_graph_store_gives_back_what_it_was_given(layout):
    graph = ps.pyg.GraphStore()
    index = {
        "coo": (torch.tensor([0, 0, 1]), torch.tensor([1, 2, 0])),
        "csr": (torch.tensor([0, 2, 3]), torch.tensor([1, 2, 0])),
        "csc": (torch.tensor([1, 0, 0]), torch.tensor([0, 1, 2, 3])),
    }[layout]
    t = ("a", "r", "b")
    graph.put_edge_index(index, edge_type=t, layout=layout, size=(2, 3))
    assert graph.matrices[t].toarray().tolist() == [[False, True, True], [True, False, False]]
    again = graph.get_edge_index(edge_type=t, layout=layout, size=(2, 3))
    assert all((a == b).all() for a, b in zip(again, index, strict=True))
    assert graph.remove_edge_index(edge_type=t, layout=layout) and not graph.get_all_edge_attrs()


@pytest.mark.parametrize(
    ("change", "how", "error", "match"),
    [
        ({}, {"num_neighbors": 3}, TypeError, "num_neighbors=3 must be a sequence"),
        ({}, {"num_neighbors": [1.5]}, TypeError, r"num_neighbors\[0\]=1.5"),
        ({}, {"num_neighbors": [1, -2]}, ValueError, r"num_neighbors\[1\]=-2"),
        ({"w": torch.ones(5)}, {"weight_attr": "w"}, ValueError, r"shape \(5,\): .* each of 3"),
        ({"w": torch.ones(3, 2)}, {"weight_attr": "w"}, ValueError, r"shape \(3, 2\)"),
        ({"w": torch.ones(3) * 1j}, {"weight_attr": "w"}, TypeError, "complex64: give real"),
        (
            {"time": torch.arange(9)},
            {"time_attr": "time"},
            ValueError,
            "9 numbers: .* each of 3 edges",
        ),
        ({"edge_index": torch.ones(1, 3).long()}, {}, TypeError, r"shape \(2, edges\), not .*1, 3"),
        ({"edge_index": torch.ones(2, 3)}, {}, TypeError, "integers .* not torch.float32"),
        ({"edge_index": torch.tensor([[0, 4], [1, 1]])}, {}, ValueError, "the source 4, .* are 4"),
        ({"edge_index": torch.tensor([[0, 1], [1, -1]])}, {}, ValueError, "the destination -1"),
    ],
)
def test_attributes_that_do_not_fit(change, how, error, match):
    data = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
    for name, value in change.items():
        data[name] = value
    with pytest.raises(error, match=match):
        ps.pyg.NeighborSampler(data, **{"num_neighbors": [1], **how})


def test_stores_that_do_not_fit():
    with pytest.raises(ValueError, match="the GraphStore has no edges"):
        ps.pyg.NeighborSampler((ps.pyg.FeatureStore(), ps.pyg.GraphStore()), [1])
    with pytest.raises(TypeError, match=r"features\['x'\]: give features\[group, name\]"):
        ps.pyg.FeatureStore()["x"] = np.zeros((3, 2))


def test_bad_arguments():
    data = random_data()
    with pytest.raises(TypeError, match="data is a str"):
        ps.pyg.NeighborSampler("x", [1])
    with pytest.raises(TypeError, match="second store is a Data"):
        ps.pyg.NeighborSampler((ps.pyg.FeatureStore(), data), [1])
    with pytest.raises(ValueError, match="time_attr='when'"):
        ps.pyg.NeighborSampler(data, [1], time_attr="when")
    with pytest.raises(ValueError, match="for Data and HeteroData"):
        ps.pyg.NeighborSampler((ps.pyg.FeatureStore(), ps.pyg.GraphStore()), [1], weight_attr="w")
