"""PyTorch Geometric's sampler, which needs pyg-lib or torch-sparse, and its loaders with ours in its place.

`Graph(a)` raises ImportError where PyTorch Geometric is not installed, `samples` where its sampler has nothing to draw
with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lib.graph_checks import are_edges
from lib.harness import Contestant

NAME = "PyTorch Geometric"
FANOUTS = [10, 10]
BATCH = 1024  # seeds, or edges, of a mini-batch


def _contestant(name: str, run: Callable[[], Any], count: Callable[[Any], int], check: Any) -> Any:
    """`units` are the edges of one run, which another one may exceed or miss by a few."""
    role = "rival" if name == NAME else "ours"
    return Contestant(name, run, role, check=check, units=max(1, count(run())))


class Graph:
    """A csr_array as PyTorch Geometric's Data: edges into a vertex are those of its row."""

    def __init__(self, a: Any) -> None:
        import torch
        from torch_geometric.data import Data

        import penstock as ps

        torch.set_num_threads(ps.num_threads())
        torch.manual_seed(1)
        self._torch, self._a = torch, a
        row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
        edges = torch.from_numpy(np.stack([a.indices.astype(np.int64), row]))
        self._data = Data(edge_index=edges, num_nodes=a.shape[0])

    def _sampler(self, name: str) -> Any:
        if name != NAME:
            from penstock import pyg

            return pyg.NeighborSampler(self._data, FANOUTS)
        from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

        made = NeighborSampler(self._data, FANOUTS)
        made.sample_from_nodes(NodeSamplerInput(None, self._torch.tensor([0])))  # or ImportError
        return made

    def samples(self, seeds: np.ndarray) -> Contestant:
        """One sample of these seeds, by PyTorch Geometric's own sampler."""
        from torch_geometric.sampler import NodeSamplerInput

        sampler = self._sampler(NAME)
        given = NodeSamplerInput(None, self._torch.from_numpy(seeds))

        def check(s: Any) -> float:
            vertices = s.node.numpy()
            return are_edges(self._a, vertices[s.col.numpy()], vertices[s.row.numpy()])

        return _contestant(
            NAME, lambda: sampler.sample_from_nodes(given), lambda s: s.row.numel(), check
        )

    def _loads(self, name: str, loader: Any) -> Contestant:
        """All mini-batches of a loader."""

        def check(batches: list[Any]) -> float:
            worst = 0.0
            for b in batches:
                to = b.n_id[b.edge_index].numpy()
                worst = max(worst, are_edges(self._a, to[1], to[0]))
            return worst

        def count(batches: list[Any]) -> int:
            return sum(b.edge_index.shape[1] for b in batches)

        return _contestant(name, lambda: list(loader), count, check)

    def nodes(self, name: str, seeds: np.ndarray) -> Contestant:
        """Mini-batches of seeds, by NodeLoader with the sampler of that name."""
        from torch_geometric.loader import NodeLoader

        wanted = self._torch.from_numpy(seeds)
        return self._loads(
            name, NodeLoader(self._data, self._sampler(name), wanted, batch_size=BATCH)
        )

    def links(self, name: str, edges: np.ndarray) -> Contestant:
        """Mini-batches of edges, by LinkNeighborLoader with the sampler of that name."""
        from torch_geometric.loader import LinkNeighborLoader

        ends = self._data.edge_index[:, self._torch.from_numpy(edges)]
        loader = LinkNeighborLoader(
            self._data, FANOUTS, edge_label_index=ends, batch_size=BATCH,
            neighbor_sampler=self._sampler(name),
        )  # fmt: skip
        return self._loads(name, loader)
