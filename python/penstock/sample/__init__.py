"""Samples of large graphs, for learning: neighbourhoods, random walks, and rows of feature matrices.

On the CPU all run on all threads; `neighbors`, `random_walks` and `gather` also on a GPU, where the vertices that they
are given are there. What is drawn depends on `seed` alone: the numbers are hashes of the seed and of what draws,
so that results are the same for any number of threads, and on a GPU.

>>> import penstock as ps
>>> A = ps.generate.rmat(8, seed=1)
>>> S = ps.sample.neighbors(A, [3, 5], [4, 2], seed=1)
>>> S.vertices[:2].tolist(), S.edges_per_hop[0] <= 8
([3, 5], True)
>>> ps.sample.random_walks(A, [3, 5], 10, seed=1).shape
(2, 11)
"""

from __future__ import annotations

from penstock.sample.feature_cache import FeatureCache, GatherCounts
from penstock.sample.features import gather
from penstock.sample.subgraphs import HeteroSubgraph, Subgraph, neighbors
from penstock.sample.walks import personalized_pagerank, random_walks

__all__ = [
    "FeatureCache",
    "GatherCounts",
    "HeteroSubgraph",
    "Subgraph",
    "gather",
    "neighbors",
    "personalized_pagerank",
    "random_walks",
]
