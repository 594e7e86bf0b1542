"""Samples of a `csr_array` for PyTorch Geometric's loaders, in the place of its own sampler.

Needs PyTorch Geometric (`pip install torch_geometric`), and neither pyg-lib nor torch-sparse.

    sampler = ps.pyg.NeighborSampler(data, [10, 10])
    loader = torch_geometric.loader.NodeLoader(data, sampler, batch_size=1024)

On a GPU (`device=`, or edges that are there) samples are tensors on that GPU, and rows of features that are there or in
pinned memory are read by it.

Without a Data object, edges and features are in stores: `data = (ps.pyg.FeatureStore(), ps.pyg.GraphStore())`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag
from penstock._arrays.tensors import torch_layout
from penstock._matrix.csr import csr_array
from penstock._matrix.given import as_matrix
from penstock._plan.schedules import gpu_count
from penstock.csgraph._gpu import chosen_gpu
from penstock.csgraph._graph import incoming
from penstock.sample import _pyg_checks as checks
from penstock.sample.feature_cache import FeatureCache
from penstock.sample.features import gather
from penstock.sample.subgraphs import neighbors

try:
    import torch
    from torch_geometric import data as pyg_data
    from torch_geometric import sampler as pyg_sampler
    from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample
    from torch_geometric.sampler.utils import to_csc

    from penstock.sample._pyg_arrays import as_tensor, index_for, pinned_times, times_of
except ImportError as e:
    raise ImportError("ps.pyg needs PyTorch Geometric: pip install torch torch_geometric") from e

__all__ = ["FeatureStore", "GraphStore", "NeighborSampler"]

_ONE = ("", "", "")  # the type of the edges of a graph without types


class NeighborSampler(pyg_sampler.BaseSampler):  # type: ignore[misc]
    """Draws edges into the seeds, then into the vertices found, as PyTorch Geometric's NeighborSampler does.

    Parameters
    ----------
    data : Data, HeteroData, or a tuple of a FeatureStore and a `ps.pyg.GraphStore`
        Edges by their ends are made of it once, and kept: changes that follow are not seen.
    num_neighbors : list of int, or dict of such lists by the type of edge
        Edges that are drawn of each vertex in each hop; -1 for all. A sample of a type of vertices that has no edges
        is the seeds.
    replace, disjoint : bool
        As for `ps.sample.neighbors`; what has a time is always disjoint.
    weight_attr : str, optional
        The attribute of the edges in proportion to which they are drawn. Data and HeteroData only.
    time_attr : str, optional
        The attribute, of the vertices or of the edges, with integer times: an edge is used for a seed if it, or the
        vertex it comes from, is not later. Seeds without a time of their own have that of the vertex. Data and
        HeteroData only.
    device : "cpu", the number of a GPU, `ps.device(n)`, or None
        The GPU that draws. Seeds go there, and samples are tensors there, so that the loader
        must run in this process (`num_workers=0`). The edges of Data and HeteroData are copied there; those of a
        GraphStore stay in the GPU's memory or in pinned memory, and are pinned if they are elsewhere. Times are pinned.
        None: the GPU where the edges are, or the CPU.

    Raises ValueError for attributes that are not there, or have another length than the edges or vertices, and for both
    kinds with stores, for edges outside the vertices, a GraphStore without edges, and fanouts below -1; TypeError for
    data of other types, an edge_index that is no integers of shape (2, edges), complex weights, fanouts that are no
    lists of integers, and for `adj_t` that is PyTorch's own sparse tensor. Sampling raises as `ps.sample.neighbors`.

    Random numbers come from PyTorch's (`torch.manual_seed`): every mini-batch draws anew, and workers differ. All
    threads draw (`ps.set_num_threads`); in a loader's worker it is as many as PyTorch has there, one unless set.
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        *,
        replace: bool = False,
        disjoint: bool = False,
        weight_attr: str | None = None,
        time_attr: str | None = None,
        device: Any = None,
    ) -> None:
        checks.require_fanouts(num_neighbors)
        self.num_neighbors = pyg_sampler.NumNeighbors(num_neighbors)
        self.replace = flag(replace, "replace")
        self._disjoint = flag(disjoint, "disjoint")
        self.weighted = weight_attr is not None
        self.node_time: Any = None
        self._edge_times: dict[Any, np.ndarray] | None = None
        self._perm: dict[Any, Any] = {}
        self._into: dict[Any, csr_array] = {}
        self._alone: dict[str, csr_array] = {}
        if isinstance(data, tuple):
            for name, given in (("weight_attr", weight_attr), ("time_attr", time_attr)):
                if given is not None:
                    raise ValueError(
                        f"{name}={given!r} is for Data and HeteroData, and data are stores: leave it out"
                    )
            self._from_stores(data)
        elif isinstance(data, pyg_data.HeteroData):
            self.num_nodes: Any = {t: data[t].num_nodes for t in data.node_types}
            for t in data.edge_types:
                self._add(t, data[t], self.num_nodes[t[0]], self.num_nodes[t[2]], weight_attr)
            self._add_times(data, time_attr)
        elif isinstance(data, pyg_data.Data):
            self.num_nodes = data.num_nodes
            self._add(_ONE, data, self.num_nodes, self.num_nodes, weight_attr)
            self._add_times(data, time_attr)
        else:
            raise TypeError(
                f"data is a {type(data).__name__}: give Data, HeteroData or a tuple of stores"
            )
        self._to_gpu(self._gpu_of_edges(data) if device is None else device)

    def _to_gpu(self, device: Any) -> None:
        """Lets a GPU draw, if it is one."""
        some = next(
            iter(self._into.values()), None
        )  # of data with types, there may be no edges at all
        gpu = None if device is None or some is None else chosen_gpu(some, device)
        self._device = None if gpu is None else torch.device("cuda", gpu)
        if gpu is None:
            return
        if self._edge_times is not None:
            self._edge_times = {t: pinned_times(x) for t, x in self._edge_times.items()}
        for key, a in self._into.items():
            # What `_add` has made is in host memory; stores have matrices that stay where they are.
            if a.place not in ("device", "pinned"):
                self._into[key] = a.to(f"device:{gpu}" if key in self._perm else "pinned")
        self._perm = {t: p if p is None else p.to(self._device) for t, p in self._perm.items()}

    def _gpu_of_edges(self, data: Any) -> Any:
        """The GPU where the edges are, or None; also where that GPU may not be used."""
        if isinstance(data, tuple):
            there = [a for a in self._into.values() if a.place == "device"]
            return _core.ordinal(there[0]._core) if there else None
        usable = gpu_count()
        stores = data.edge_stores
        found = [x for s in stores for x in (s.get("edge_index"), s.get("adj_t")) if x is not None]
        for x in found:
            # Of torch-sparse's tensors it is a method.
            device = x.device() if callable(x.device) else x.device
            if device.type == "cuda" and device.index < usable:
                return device.index
        return None

    @property
    def is_hetero(self) -> bool:
        return isinstance(self.num_nodes, dict)

    @property
    def disjoint(self) -> bool:
        return self._disjoint or self._edge_times is not None

    @property
    def edge_permutation(self) -> Any:
        """The edge of `data` for each of the sampler's, or None where they are the same."""
        return self._perm if self.is_hetero else self._perm.get(_ONE)

    def sample_from_nodes(self, index: Any, **kwargs: Any) -> Any:
        """SamplerOutput, or HeteroSamplerOutput, for a NodeSamplerInput."""
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: Any, neg_sampling: Any = None, **kwargs: Any) -> Any:
        """The same for an EdgeSamplerInput."""
        return edge_sample(
            index, self._sample, self.num_nodes, self.disjoint, self.node_time, neg_sampling
        )

    def _add(
        self, key: Any, store: Any, sources: int, destinations: int, weight_attr: str | None
    ) -> None:
        """Keeps the edges of one type by their ends."""
        if torch_layout(getattr(store, "adj_t", None)):
            raise TypeError(
                f"adj_t is PyTorch's sparse tensor, which PyTorch Geometric's loaders cannot cut: give {_of(key)}"
                "edge_index = torch_geometric.utils.to_edge_index(adj_t)[0].flip(0)"
            )
        if weight_attr is not None and weight_attr not in store:
            raise ValueError(f"weight_attr={weight_attr!r} is no attribute of the edges{_of(key)}")
        checks.require_edges(store, sources, destinations, _of(key))
        colptr, row, perm = to_csc(store, device="cpu")
        values = None
        if weight_attr is not None:
            checks.require_weights(store[weight_attr], row.numel(), weight_attr, _of(key))
            weights = store[weight_attr].reshape(-1)
            values = (weights.cpu() if perm is None else weights.cpu()[perm]).numpy()
            values = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
        self._perm[key] = perm
        self._into[key] = csr_array._from_parts(
            colptr.numel() - 1, sources, np.ascontiguousarray(colptr.numpy(), dtype=np.int64),
            row.numpy().astype(np.int32), values,
        )  # fmt: skip

    def _add_times(self, data: Any, time_attr: str | None) -> None:
        if time_attr is None:
            return
        nodes = [s for s in data.node_stores if time_attr in s]
        if self.is_hetero:
            edges = [s for s in data.edge_stores if time_attr in s]
            if nodes and edges:
                raise ValueError(f"time_attr={time_attr!r} is there for vertices and for edges")
            of_nodes = bool(nodes)
            found: Any = data.collect(time_attr) if nodes or edges else None
        else:
            of_nodes = bool(nodes) and data.is_node_attr(time_attr)
            found = {_ONE: data[time_attr]} if nodes else None
        if found is None:
            raise ValueError(f"time_attr={time_attr!r} is no attribute of the vertices or edges")
        self._edge_times = {}
        if of_nodes:
            self.node_time = found if self.is_hetero else found[_ONE]
            for key, a in self._into.items():
                times = self.node_time.get(key[0]) if self.is_hetero else self.node_time
                if times is not None:
                    flat = times_of(times)
                    checks.require_times(flat, a.shape[1], time_attr, f"vertices{_of(key[0])}")
                    self._edge_times[key] = flat[a.indices]
        else:
            for key, times in found.items():
                perm = self._perm[key]
                flat = times_of(times)
                checks.require_times(flat, self._into[key].nnz, time_attr, f"edges{_of(key)}")
                self._edge_times[key] = flat if perm is None else flat[perm.numpy()]

    def _from_stores(self, data: tuple[Any, ...]) -> None:
        if len(data) != 2:
            raise TypeError(
                f"data is a tuple of {len(data)}: give two stores, (ps.pyg.FeatureStore(), ps.pyg.GraphStore())"
            )
        graph = data[1]
        if not isinstance(graph, GraphStore):
            raise TypeError(
                f"the second store is a {type(graph).__name__}: give a ps.pyg.GraphStore"
            )
        if not graph.matrices:
            raise ValueError(
                "the GraphStore has no edges: set graph.matrices[None], or [source, relation, destination]"
            )
        matrices = {t: as_matrix(a, "GraphStore") for t, a in graph.matrices.items()}
        for t, a in matrices.items():
            turned = incoming(a) if a.shape[0] == a.shape[1] else a.T.formed()
            self._into[_ONE if t is None else t] = turned
        if None in matrices:
            self.num_nodes = matrices[None].shape[0]
        else:
            self.num_nodes = {}
            for t, a in matrices.items():
                self.num_nodes.update({t[0]: a.shape[0], t[2]: a.shape[1]})

    def _sample(self, seed: Any, seed_time: Any = None, **kwargs: Any) -> Any:
        with _threads_of_process():
            return self._drawn(seed, seed_time)

    def _drawn(self, seed: Any, seed_time: Any) -> Any:
        random = int(torch.randint(2**62, ()))
        how: dict[str, Any] = {
            "replace": self.replace, "weighted": self.weighted, "disjoint": self.disjoint, "seed": random,
        }  # fmt: skip
        seeds = seed if isinstance(seed, Mapping) else {"": seed}
        if self._edge_times is not None:
            how["time"] = {_turned(t): x for t, x in self._edge_times.items()}
            how["seed_time"] = {
                t: self._time_of(
                    t, v, seed_time[t] if isinstance(seed_time, Mapping) else seed_time
                )
                for t, v in seeds.items()
            }
        types = list(self._into)
        matrices = {_turned(t): a for t, a in self._into.items()}
        wanted = self.num_neighbors.get_values(types if self.is_hetero else None)
        if isinstance(wanted, Mapping):
            wanted = {_turned(t): wanted[t] for t in types}
        for t in self._alone_among(seeds):
            matrices[t, "", t] = self._without_edges(t)
            if isinstance(wanted, dict):
                wanted[t, "", t] = [0] * self.num_neighbors.num_hops
        S: Any = neighbors(
            matrices,
            {t: self._seeds(v) for t, v in seeds.items()},
            wanted,
            **how,
        )
        if not self.is_hetero:
            return pyg_sampler.SamplerOutput(
                node=as_tensor(S.vertices[""]), row=as_tensor(S.columns[_ONE]), col=as_tensor(S.rows[_ONE]),
                edge=as_tensor(S.edges[_ONE]) if _ONE in self._perm else None,
                batch=as_tensor(S.batch[""]) if self.disjoint else None,
                num_sampled_nodes=S.vertices_per_hop[""], num_sampled_edges=S.edges_per_hop[_ONE],
            )  # fmt: skip
        return self._hetero_output(S, types)

    def _alone_among(self, seeds: Mapping[str, Any]) -> list[str]:
        """The types of seeds that have vertices and no edges."""
        if not self.is_hetero:
            return []
        joined = {v for t in self._into for v in (t[0], t[2])}
        return [t for t in seeds if t not in joined and self.num_nodes.get(t) is not None]

    def _without_edges(self, t: str) -> csr_array:
        """The matrix of a type of vertices that no edge joins, so that its seeds have a place in samples."""
        if t not in self._alone:
            n = int(self.num_nodes[t])
            a = csr_array._from_parts(n, n, np.zeros(n + 1, np.int64), np.empty(0, np.int32), None)
            gpu = self._device
            self._alone[t] = a if gpu is None else a.to(f"device:{gpu.index}")
        return self._alone[t]

    def _seeds(self, v: Any) -> Any:
        if self._device is None:
            return v.cpu().numpy()
        return v.to(self._device, torch.long).contiguous()

    def _hetero_output(self, S: Any, types: list[Any]) -> Any:
        # Types of vertices without edges have no part in the sample.
        absent = [t for t in self.num_nodes if t not in S.vertices]
        node = {t: as_tensor(x) for t, x in S.vertices.items()}
        node.update({t: torch.empty(0, dtype=torch.long, device=self._device) for t in absent})
        hops = len(next(iter(S.vertices_per_hop.values())))
        edge = {t: as_tensor(S.edges[_turned(t)]) if t in self._perm else None for t in types}
        return pyg_sampler.HeteroSamplerOutput(
            node=node,
            row={t: as_tensor(S.columns[_turned(t)]) for t in types},
            col={t: as_tensor(S.rows[_turned(t)]) for t in types},
            edge=edge,
            batch={t: as_tensor(x) for t, x in S.batch.items()} if self.disjoint else None,
            num_sampled_nodes={**S.vertices_per_hop, **{t: [0] * hops for t in absent}},
            num_sampled_edges={t: S.edges_per_hop[_turned(t)] for t in types},
        )

    def _time_of(self, kind: str, seeds: Any, given: Any) -> np.ndarray:
        """The times of seeds: those given, or else those of the vertices."""
        if given is None:
            times = self.node_time.get(kind) if isinstance(self.node_time, dict) else self.node_time
            if times is None:
                raise ValueError(
                    "seeds without a time: give the loader input_time, or edge_label_time"
                )
            return times_of(times)[times_of(seeds)]
        return times_of(given)


class GraphStore(pyg_data.GraphStore):  # type: ignore[misc]
    """Edges as `csr_array`s, in memory or mapped, for PyTorch Geometric's loaders.

        graph = ps.pyg.GraphStore()
        graph.matrices[None] = A                      # of vertices without types
        graph.matrices["user", "buys", "item"] = B    # or one matrix a type of edges

    An entry (i, j) is an edge from i to j. SciPy's sparse arrays, and a `DynamicGraph` as it is when a sampler is made,
    are taken, too. `put_edge_index` takes PyTorch Geometric's tensors.
    """

    def __init__(self) -> None:
        super().__init__()
        self.matrices: dict[Any, Any] = {}

    def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool:
        row, col = (x.numpy() for x in edge_index)
        size = edge_attr.size
        if size is None:
            raise ValueError("put_edge_index needs size=(sources, destinations)")
        layout = edge_attr.layout.value
        if layout == "coo":
            a = csr_array((np.ones(row.size, bool), (row, col)), shape=size)
        elif layout == "csr":
            a = csr_array((np.ones(col.size, bool), col, row), shape=size)
        else:
            a = csr_array((np.ones(row.size, bool), row, col), shape=size[::-1]).T.formed()
        self.matrices[edge_attr.edge_type] = as_matrix(a, "GraphStore")
        return True

    def _get_edge_index(self, edge_attr: Any) -> Any:
        given = self.matrices.get(edge_attr.edge_type)
        if given is None:
            return None
        a = as_matrix(given, "GraphStore")
        if edge_attr.layout.value == "csc":
            a = a.T.formed()
        # Copies: a tensor may be written, our arrays may not.
        ptr = torch.from_numpy(a.indptr.copy())
        to = as_tensor(a.indices.astype(np.int64))
        if edge_attr.layout.value == "coo":
            return torch.repeat_interleave(torch.arange(a.shape[0]), ptr.diff()), to
        return (to, ptr) if edge_attr.layout.value == "csc" else (ptr, to)

    def _remove_edge_index(self, edge_attr: Any) -> bool:
        return self.matrices.pop(edge_attr.edge_type, None) is not None

    def get_all_edge_attrs(self) -> list[Any]:
        """An EdgeAttr, in CSR, for each matrix."""
        return [pyg_data.EdgeAttr(t, "csr", size=a.shape) for t, a in self.matrices.items()]


class FeatureStore(pyg_data.FeatureStore):  # type: ignore[misc]
    """Features of vertices as arrays of NumPy, in memory or mapped (`np.load(path, mmap_mode="r")`), or as tensors.

        features = ps.pyg.FeatureStore()
        features[None, "x"] = X              # the group is the type of vertex; None without types

    Rows are read by `ps.sample.gather`: by a GPU where the wanted vertices are there, and the array too, or pinned
    (`ps.empty(shape, dtype, ps.pinned)`); else by the CPU. Of a `ps.sample.FeatureCache` a GPU keeps some rows:

        features[None, "x"] = ps.sample.FeatureCache(X, "4GB", A)
    """

    def __init__(self) -> None:
        super().__init__()
        self._arrays: dict[tuple[Any, str], Any] = {}

    def __setitem__(self, key: tuple[Any, str], array: Any) -> None:
        """`features[group, name] = array`; the array is shared."""
        if not isinstance(key, tuple) or len(key) < 2:
            raise TypeError(
                f"features[{key!r}]: give features[group, name], and None as the only group"
            )
        group, name = key[:2]
        self._arrays[group, name] = array

    def _put_tensor(self, tensor: Any, attr: Any) -> bool:
        if attr.index is not None:
            return False  # features are written as a whole
        self._arrays[attr.group_name, attr.attr_name] = tensor
        return True

    def _get_tensor(self, attr: Any) -> Any:
        array = self._arrays.get((attr.group_name, attr.attr_name))
        if array is None:
            return None
        if isinstance(attr.index, torch.Tensor | np.ndarray):
            with _threads_of_process():
                return as_tensor(gather(array, index_for(array, attr.index)))
        rows = array.features if isinstance(array, FeatureCache) else array
        part = rows if attr.index is None else rows[attr.index]
        return part if isinstance(part, torch.Tensor) else torch.from_numpy(np.array(part))

    def _remove_tensor(self, attr: Any) -> bool:
        return self._arrays.pop((attr.group_name, attr.attr_name), None) is not None

    def _get_tensor_size(self, attr: Any) -> Any:
        array = self._arrays.get((attr.group_name, attr.attr_name))
        return None if array is None else tuple(array.shape)

    def get_all_tensor_attrs(self) -> list[Any]:
        """A TensorAttr for each array."""
        return [pyg_data.TensorAttr(group, name) for group, name in self._arrays]


def _threads_of_process() -> Any:
    """In a worker of a loader, as many threads as PyTorch gives it, which is one: workers share the CPUs."""
    if torch.utils.data.get_worker_info() is None:
        return nullcontext()
    return _core.ThreadsHere(torch.get_num_threads())


def _turned(t: Any) -> Any:
    """The type of the edges walked against their direction."""
    return t[::-1]


def _of(key: Any) -> str:
    """The type of the edges, for errors."""
    return "" if key in (_ONE, "") else f" of {key}"
