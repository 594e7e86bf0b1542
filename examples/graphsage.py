"""GraphSAGE on mini-batches: neighbourhoods and features come from matrices and arrays, not from tensors on a device.

    python examples/graphsage.py
    python examples/graphsage.py --vertices 20000000 --budget 4GB --device cuda

Vertices are of hidden groups, and most of their edges stay in the group; their features say little about it. Two layers
(Hamilton, Ying, Leskovec 2017) learn the groups of one half, and are tested on the other.

`--budget` is what edges and features may take of the device's memory. With `--device cuda` they are on the GPU if they
fit, and else in pinned memory, of which the GPU reads what it draws. With `--device cpu` they are in memory if they
fit, and else in mapped files. PyTorch Geometric's loader runs over `ps.pyg`; where pyg-lib or torch-sparse is
installed, an epoch of its own sampler is timed, too, with all edges and features as tensors in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch_geometric.typing as pyg_has
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader, NodeLoader
from torch_geometric.nn import SAGEConv

import penstock as ps

FANOUTS = [10, 10]
BATCH = 512


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


class Training:
    """A network, the labels, and where it learns them."""

    def __init__(self, args: argparse.Namespace, group: np.ndarray) -> None:
        torch.manual_seed(1)
        self.device = torch.device(args.device)
        self.labels = torch.from_numpy(group).to(self.device)
        self.learn, self.test = (torch.arange(half, group.size, 2) for half in (0, 1))
        self.model = Sage(args.features, 32, args.groups).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

    def guesses(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """What the network says of the seeds of a batch, and what is true."""
        batch = batch.to(self.device)
        seeds = batch.n_id[: batch.batch_size]
        return self.model(batch.x, batch.edge_index)[: batch.batch_size], self.labels[seeds]

    def epoch(self, loader: Any) -> float:
        """The mean loss of one pass over the half that is learnt."""
        total = 0.0
        for batch in loader:
            self.optimizer.zero_grad()
            guess, truth = self.guesses(batch)
            loss = torch.nn.functional.cross_entropy(guess, truth)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * truth.numel()
        return total / self.learn.numel()

    @torch.no_grad()
    def right(self, loader: Any) -> float:
        """The share of seeds whose group the network finds."""
        found = 0
        for batch in loader:
            guess, truth = self.guesses(batch)
            found += int((guess.argmax(dim=1) == truth).sum())
        return found / self.test.numel()


def placed(
    A: ps.csr_array, x: np.ndarray, device: torch.device, budget: int, folder: Path
) -> tuple[ps.csr_array, Any]:
    """Edges and features where the device reads them: in its memory, or beside it where they exceed the budget."""
    fits = A.nbytes + x.nbytes <= budget
    if device.type == "cuda":
        where = "on the GPU" if fits else "in pinned memory"
        if fits:
            A, features = A.to(ps.device(device.index or 0)), torch.from_numpy(x).to(device)
        else:
            A, features = A.to(ps.pinned), ps.empty(x.shape, x.dtype, ps.pinned)
            features[...] = x
    else:
        where = "in memory" if fits else "in mapped files"
        features = x
        if not fits:
            A.save(folder / "graph.penstock")
            np.save(folder / "features.npy", x)
            A = ps.open(folder / "graph.penstock")
            features = np.load(folder / "features.npy", mmap_mode="r")
    print(
        f"{A.nbytes / 1e6:.1f} MB of edges and {x.nbytes / 1e6:.1f} MB of features, "
        f"budget {budget / 1e6:.1f} MB: {where}"
    )
    return A, features


def train(A: ps.csr_array, x: Any, task: Training, epochs: int) -> float:
    """Epochs over Penstock's sampler; returns the share of the other half that is found."""
    features, graph = ps.pyg.FeatureStore(), ps.pyg.GraphStore()
    features[None, "x"] = x
    graph.matrices[None] = A
    stores = (features, graph)
    device = "cpu" if task.device.type == "cpu" else task.device.index or 0
    sampler = ps.pyg.NeighborSampler(stores, FANOUTS, device=device)
    loader = NodeLoader(stores, sampler, input_nodes=task.learn, batch_size=BATCH, shuffle=True)
    begin = time.perf_counter()
    for epoch in range(epochs):
        print(f"epoch {epoch + 1}: loss {task.epoch(loader):.4f}")
    minutes = (time.perf_counter() - begin) / 60
    print(f"{epochs / minutes:.1f} epochs a minute")
    return task.right(NodeLoader(stores, sampler, input_nodes=task.test, batch_size=BATCH))


def time_its_own(A: ps.csr_array, x: np.ndarray, task: Training) -> None:
    """One epoch, training included, over PyTorch Geometric's own sampler, where it has one."""
    if not (pyg_has.WITH_PYG_LIB or pyg_has.WITH_TORCH_SPARSE):
        print("PyTorch Geometric's own loader is not timed: pyg-lib and torch-sparse are missing")
        return
    ends = np.stack([np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices])
    data = Data(torch.from_numpy(x), torch.from_numpy(ends).long(), num_nodes=A.shape[0])
    loader = NeighborLoader(data, FANOUTS, input_nodes=task.learn, batch_size=BATCH, shuffle=True)
    begin = time.perf_counter()
    task.epoch(loader)
    minutes = (time.perf_counter() - begin) / 60
    print(f"PyTorch Geometric's own loader: {1 / minutes:.1f} epochs a minute")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vertices", type=int, default=20_000)
    parser.add_argument("--degree", type=int, default=20)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--groups", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--budget", default="4MB", help="for edges and features (4MB)")
    parser.add_argument("--device", default="cpu", help="of the network: cpu, cuda or cuda:n")
    args = parser.parse_args()
    if args.device.partition(":")[0] not in ("cpu", "cuda"):
        parser.error(f"--device {args.device}: give cpu, cuda or cuda:n")
    if args.device != "cpu" and not torch.cuda.is_available():
        parser.error(f"--device {args.device}: PyTorch finds no GPU here, leave it out")
    try:
        with ps.options(device_memory=args.budget):
            budget = ps.options.device_memory
    except ValueError as e:
        parser.error(f"--budget {args.budget}: {e}")
    rng = np.random.default_rng(1)
    edges, group = grouped_graph(args.vertices, args.degree, args.groups, rng)
    meaning = rng.normal(size=(args.groups, args.features)) * 0.2
    x = (meaning[group] + rng.normal(size=(args.vertices, args.features))).astype(np.float32)
    task = Training(args, group)
    with tempfile.TemporaryDirectory() as folder:
        A, features = placed(edges, x, task.device, budget, Path(folder))
        right = train(A, features, task, args.epochs)
        del A, features  # before their files go
    print(f"{right:.0%} of the other half are right")
    if right < 0.8:
        raise SystemExit("the network has learnt too little: something is wrong")
    time_its_own(edges, x, task)


if __name__ == "__main__":
    main()
