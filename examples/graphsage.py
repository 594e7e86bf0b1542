"""GraphSAGE on mini-batches: neighbourhoods and features come from a matrix and a mapped file, not from tensors.

    python examples/graphsage.py --vertices 20000 --epochs 5

Vertices are of hidden groups, and most of their edges stay in the group; their features say little about it. Two layers
(Hamilton, Ying, Leskovec 2017) learn the groups of one half, and are tested on the other. PyTorch
Geometric's loader runs over `ps.pyg`; where pyg-lib or torch-sparse is installed, its own sampler is timed beside it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch_geometric.typing as pyg_has
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader, NodeLoader
from torch_geometric.nn import SAGEConv

import penstock as ps


def grouped_graph(
    n: int, degree: int, groups: int, rng: np.random.Generator
) -> tuple[ps.csr_array, np.ndarray]:
    """Edges both ways, four in five of them within a group; and the group of each vertex."""
    group = rng.integers(0, groups, n)
    by_group = np.argsort(group, kind="stable")
    first = np.searchsorted(group[by_group], np.arange(groups + 1))
    row = np.repeat(np.arange(n), degree // 2)
    own = group[row]
    inside = by_group[first[own] + rng.integers(0, first[own + 1] - first[own])]
    column = np.where(rng.random(row.size) < 0.8, inside, rng.integers(0, n, row.size))
    ends = (np.concatenate([row, column]), np.concatenate([column, row]))
    return ps.csr_array((np.ones(2 * row.size, bool), ends), shape=(n, n)), group


class Sage(torch.nn.Module):
    def __init__(self, inputs: int, hidden: int, groups: int) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(inputs, hidden), SAGEConv(hidden, groups)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.second(self.first(x, edges).relu(), edges)
        return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vertices", type=int, default=20_000)
    parser.add_argument("--degree", type=int, default=20)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--groups", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    n = args.vertices
    A, group = grouped_graph(n, args.degree, args.groups, rng)
    meaning = rng.normal(size=(args.groups, args.features)) * 0.2
    labels = torch.from_numpy(group)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.npy"
        noise = rng.normal(size=(n, args.features))
        np.save(path, (meaning[group] + noise).astype(np.float32))
        features, graph = ps.pyg.FeatureStore(), ps.pyg.GraphStore()
        features[None, "x"] = np.load(path, mmap_mode="r")
        graph.matrices[None] = A
        stores = (features, graph)
        sampler = ps.pyg.NeighborSampler(stores, [10, 10])
        learn, test = torch.arange(0, n, 2), torch.arange(1, n, 2)
        loader = NodeLoader(stores, sampler, input_nodes=learn, batch_size=512, shuffle=True)
        model = Sage(args.features, 32, args.groups)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        begin = time.perf_counter()
        for epoch in range(args.epochs):
            total = 0.0
            for batch in loader:
                optimizer.zero_grad()
                guess = model(batch.x, batch.edge_index)[: batch.batch_size]
                loss = torch.nn.functional.cross_entropy(
                    guess, labels[batch.n_id[: batch.batch_size]]
                )
                loss.backward()
                optimizer.step()
                total += loss.item() * batch.batch_size
            print(f"epoch {epoch + 1}: loss {total / learn.numel():.4f}")
        minutes = (time.perf_counter() - begin) / 60
        print(f"{args.epochs / minutes:.1f} epochs a minute")
        right = 0
        with torch.no_grad():
            for batch in NodeLoader(stores, sampler, input_nodes=test, batch_size=512):
                guess = model(batch.x, batch.edge_index)[: batch.batch_size].argmax(dim=1)
                right += int((guess == labels[batch.n_id[: batch.batch_size]]).sum())
        del loader, batch, features, stores, sampler  # before the file goes
    print(f"{right / test.numel():.0%} of the other half are right")
    if right < 0.8 * test.numel():
        raise SystemExit("the network has learnt too little: something is wrong")
    if not (pyg_has.WITH_PYG_LIB or pyg_has.WITH_TORCH_SPARSE):
        print(
            "PyTorch Geometric's own sampler is not timed: neither pyg-lib nor torch-sparse is here"
        )
        return
    ends = np.stack([np.repeat(np.arange(n), np.diff(A.indptr)), A.indices])
    data = Data(edge_index=torch.from_numpy(ends), num_nodes=n)
    for name, own in (("ours", ps.pyg.NeighborSampler(data, [10, 10])), ("its own", None)):
        batches = NeighborLoader(
            data, [10, 10], input_nodes=learn, batch_size=512, neighbor_sampler=own
        )
        begin = time.perf_counter()
        for _ in batches:
            pass
        print(f"one epoch of samples, {name}: {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
