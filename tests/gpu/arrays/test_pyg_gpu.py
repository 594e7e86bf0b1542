"""ps.pyg where a GPU draws: beneath PyTorch Geometric's loaders, against the CPU's samples."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.loader import LinkNeighborLoader, NodeLoader  # noqa: E402
from torch_geometric.sampler import NodeSamplerInput  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


def random_data(n=200, m=1500, **more):
    rng = torch.Generator().manual_seed(1)
    return Data(
        x=torch.arange(n).float().reshape(-1, 1),
        edge_index=torch.randint(n, (2, m), generator=rng),
        edge_attr=torch.arange(m),
        num_nodes=n,
        **more,
    )


def drawn(sampler, seeds):
    torch.manual_seed(3)
    return sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor(seeds)))


def test_samples_are_the_cpus():
    data = random_data()
    on_cpu = drawn(ps.pyg.NeighborSampler(data, [4, 3]), [5, 9, 5])
    A = ps.csr_array((np.ones(1500, bool), tuple(data.edge_index.numpy())), shape=(200, 200))
    got = drawn(ps.pyg.NeighborSampler(data, [4, 3], device=0), [5, 9, 5])
    for name in ("node", "row", "col", "edge"):
        assert getattr(got, name).is_cuda
        assert torch.equal(getattr(got, name).cpu(), getattr(on_cpu, name)), name
    assert got.num_sampled_nodes == on_cpu.num_sampled_nodes
    graph = ps.pyg.GraphStore()
    outs = []
    for place, device in (("host", None), ("pinned", 0), ("host", 0), ("device", None)):
        graph.matrices[None] = A.to(place)
        outs.append(
            drawn(
                ps.pyg.NeighborSampler((ps.pyg.FeatureStore(), graph), [4, 3], device=device),
                [5, 9],
            )
        )
    for out in outs[1:]:
        assert out.node.is_cuda and torch.equal(out.node.cpu(), outs[0].node)


def test_loader():
    for data, device in ((random_data(), 0), (random_data().to("cuda"), None)):
        sampler = ps.pyg.NeighborSampler(data, [4, 3], device=device)
        for batch in NodeLoader(data, sampler, batch_size=30):
            assert batch.n_id.is_cuda
            n_id, e_id = batch.n_id.cpu(), batch.e_id.cpu()
            assert (batch.x.cpu().reshape(-1) == n_id).all()
            assert (n_id[batch.edge_index.cpu()] == data.edge_index.cpu()[:, e_id]).all()
            assert (batch.edge_attr.cpu() == e_id).all()


def test_links():
    data = random_data()
    sampler = ps.pyg.NeighborSampler(data, [4, 3], device=0)
    loader = LinkNeighborLoader(
        data, [4, 3], data.edge_index[:, :60], neg_sampling="binary", batch_size=20, neighbor_sampler=sampler
    )  # fmt: skip
    for batch in loader:
        assert (batch.x.reshape(-1) == batch.n_id.cpu()).all()


def test_types():
    data = HeteroData()
    data["user"].x, data["item"].x = torch.arange(50.0), torch.arange(80.0)
    for t, m in ((("user", "buys", "item"), 300), (("item", "by", "user"), 250)):
        data[t].edge_index = torch.stack(
            [torch.randint(data[v].num_nodes, (m,)) for v in (t[0], t[2])]
        )
    sampler = ps.pyg.NeighborSampler(data, [3, 3], device=0)
    for batch in NodeLoader(data, sampler, input_nodes="user", batch_size=20):
        for v in ("user", "item"):
            assert (batch[v].x == batch[v].n_id.cpu()).all()


def test_stores_of_features():
    x = np.random.default_rng(1).random((200, 8)).astype(np.float32)
    pinned = ps.empty(x.shape, x.dtype, ps.pinned)
    pinned[...] = x
    index = torch.tensor([3, 199, 3])
    for array, at, device in (
        (x, index.cuda(), "cpu"),
        (pinned, torch.stack([index, index], 1).cuda()[:, 0], "cuda"),  # every second of its memory
        (pinned, index.cuda(), "cuda"),
        (pinned, index, "cpu"),
        (torch.from_numpy(x).pin_memory(), index.cuda(), "cuda"),
        (torch.from_numpy(x).cuda(), index.cuda(), "cuda"),
        (torch.from_numpy(x).cuda(), index, "cuda"),
        (ps.sample.FeatureCache(pinned, "3KB", np.arange(200)), index.cuda(), "cuda"),
        (ps.sample.FeatureCache(pinned, "3KB", np.arange(200)), index, "cpu"),
        (ps.sample.FeatureCache(pinned, "3KB", np.arange(200), device="cpu"), index.cuda(), "cuda"),
    ):
        features = ps.pyg.FeatureStore()
        features[None, "x"] = array
        got = features.get_tensor(group_name=None, attr_name="x", index=at)
        assert got.device.type == device and np.array_equal(got.cpu(), x[index])


def test_samples_with_times_are_the_cpus():
    data = random_data(when=torch.arange(1500), year=torch.arange(200) % 50)
    until = torch.tensor([900, 1400, 20])
    index = NodeSamplerInput(None, torch.tensor([5, 9, 5]), time=until)
    for attribute in ("when", "year"):
        for edges in (data, data.clone().cuda()):
            how = {"time_attr": attribute}
            samples = []
            for device in ("cpu", 0):
                torch.manual_seed(7)
                sampler = ps.pyg.NeighborSampler(edges, [4, 3], device=device, **how)
                samples.append(sampler.sample_from_nodes(index))
            on_cpu, got = samples
            for name in ("node", "row", "col", "edge", "batch"):
                assert torch.equal(getattr(got, name).cpu(), getattr(on_cpu, name).cpu()), name


def test_weighted_samples_are_the_cpus():
    data = random_data(weight=torch.rand(1500, generator=torch.Generator().manual_seed(2)) ** 4)
    for replace in (False, True):
        how = {"weight_attr": "weight", "replace": replace}
        for edges in (data, data.clone().cuda()):  # whose lists PyG sorts differently
            on_cpu = drawn(ps.pyg.NeighborSampler(edges, [4, 3], device="cpu", **how), [5, 9, 5])
            got = drawn(ps.pyg.NeighborSampler(edges, [4, 3], device=0, **how), [5, 9, 5])
            for name in ("node", "row", "col", "edge"):
                assert torch.equal(getattr(got, name).cpu(), getattr(on_cpu, name)), name
