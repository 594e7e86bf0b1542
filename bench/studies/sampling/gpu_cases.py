"""The cases of bench/sample.py on one GPU: samples, walks and rows of features for tensors of PyTorch there, beside the
CPU's, PyTorch's and PyTorch Geometric's.

Times are of whole calls, until the GPU has come to the end. `penstock`: the graph is in the GPU's memory, `penstock,
pinned`: in pinned memory. Seeds and starts have edges. Of rows in pinned memory the probe is a copy of as many bytes
over the link, so that `fraction_of_probe` is the part of its rate. Through a cache, ids are the vertices of a sample,
and degrees those of the graph; `hits` is the part that was found in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from lib.graph_checks import Edges
from lib.harness import Case, Contestant
from rivals import pyg

import penstock as ps

LENGTH = 80
WIDTH = 128  # float32 a row of features
ROW = 4 * WIDTH
LOOKED_AT = 1 << 14  # walks
WALKS: dict[str, dict[str, float]] = {
    "uniform walks": {},
    "walks, restart=0.15": {"restart": 0.15},
    "node2vec p=0.5 q=2": {"p": 0.5, "q": 2.0},
    "node2vec p=4 q=0.25": {"p": 4.0, "q": 0.25},
}
Cases = Iterator[tuple[Case, list[Contestant]]]
Some = Callable[[int], Any]


def _waited(run: Callable[[], Any], gpu: int) -> Callable[[], Any]:
    def call() -> Any:
        found = run()
        torch.cuda.synchronize(gpu)
        return found

    return call


def _host(x: Any) -> np.ndarray:
    found: np.ndarray = x.cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    return found


def _case(what: str, check: Callable[[Any], float], row: bool = False, **about: Any) -> Case:
    about = {"what": what, **about}
    if row:
        return Case(what, check, traffic=float(ROW), about=about)
    return Case(what, check, work=1.0, rate="billions_a_second", about=about)


def samples(
    a: ps.csr_array, edges: Edges, there: dict[str, Any], some: Some, gpu: int, quick: bool
) -> Cases:
    def check(s: Any) -> float:
        vertices, rows, columns = (_host(x) for x in (s.vertices, s.rows, s.columns))
        return edges(vertices[rows], vertices[columns])

    for k in (1, 64 if quick else 8192, 128 if quick else 65536):
        seeds = some(k)
        draw = partial(ps.sample.neighbors, fanouts=pyg.FANOUTS)
        drawn = int(draw(a, seeds).edges.numel())
        contestants = [
            Contestant(name, _waited(partial(draw, g, seeds), gpu), "ours", units=drawn)
            for name, g in there.items()
        ]
        on_host = seeds.cpu().numpy()
        cpu = partial(draw, a, on_host, device="cpu")
        contestants.append(Contestant("penstock, CPU", cpu, "ours", units=drawn))
        if k == (64 if quick else 8192):  # its form of the graph takes 16 bytes an edge
            try:
                contestants.append(pyg.Graph(a).samples(on_host))
            except ImportError as why:
                print(f"PyTorch Geometric's sampler cannot take part: {why}", flush=True)
        yield _case(f"neighbors 10, 10 of {k}", check, seeds=k, edges_drawn=drawn), contestants


def walks(edges: Edges, there: dict[str, Any], some: Some, gpu: int, quick: bool) -> Cases:
    def check(w: Any, restarts: bool) -> float:
        walked = _host(w[:LOOKED_AT])
        step = walked[:, 1:] >= 0
        if restarts:
            step &= walked[:, 1:] != walked[:, :1]
        return edges(walked[:, :-1][step].astype(np.int64), walked[:, 1:][step])

    starts = some(100 if quick else 1 << 20)
    for what, how in WALKS.items():
        walk = partial(ps.sample.random_walks, starts=starts, length=LENGTH, **how)
        steps = starts.numel() * LENGTH
        yield (
            _case(what, partial(check, restarts="restart" in how), starts=starts.numel()),
            [
                Contestant(name, _waited(partial(walk, g), gpu), "ours", units=steps)
                for name, g in there.items()
            ],
        )


def _features(rows: int) -> np.ndarray:
    """Pinned rows that tell their numbers."""
    x = ps.empty((rows, WIDTH), np.float32, ps.pinned)
    x[:] = (np.arange(rows) % (1 << 24))[:, None]
    return x


def _are_rows(ids: Any) -> Callable[[Any], float]:
    expected = torch.remainder(ids, 1 << 24).to(torch.float32)

    def check(found: Any) -> float:
        ends = found[:, 0], found[:, WIDTH - 1]
        return 0.0 if all(torch.equal(x.to(expected.device), expected) for x in ends) else np.inf

    return check


def _link(k: int, gpu: int) -> Contestant:
    """A copy of as many bytes, side by side."""
    piece = torch.zeros(k, WIDTH).pin_memory()
    target = torch.empty_like(piece, device=f"cuda:{gpu}")
    copy = _waited(lambda: target.copy_(piece, non_blocking=True), gpu)
    return Contestant("copy", copy, "probe", check=lambda _: 0.0, units=k)


def gathers(rows: int, gpu: int, quick: bool) -> Cases:
    x = _features(rows)
    as_tensor = torch.from_numpy(x)
    device = f"cuda:{gpu}"
    for part in (rows // 16, rows // 4, rows):
        for k in (64, 128) if quick else (1 << 13, 1 << 15, 1 << 17, 1 << 20):
            ids = torch.randint(0, part, (k,), device=device)
            on_host, target = ids.cpu(), x[:part]
            read = _waited(partial(ps.sample.gather, target, ids), gpu)
            contestants = [_link(k, gpu), Contestant("penstock", read, "ours", units=k)]
            if part == rows:
                theirs = _waited(lambda at=on_host: as_tensor[at].to(device), gpu)
                contestants.append(Contestant("x[ids].cuda()", theirs, units=k))
            size = ROW * part >> 20
            yield (
                _case(f"{k} rows of {size} MiB pinned", _are_rows(ids), row=True, rows=k, mib=size),
                contestants,
            )
    y = as_tensor.to(device)
    each = {
        "penstock": ("ours", partial(ps.sample.gather, y, ids)),
        "x[ids]": ("rival", partial(y.__getitem__, ids)),
        "index_select": ("rival", partial(torch.index_select, y, 0, ids)),
    }
    yield (
        _case(f"{k} rows on the GPU", _are_rows(ids), row=True, rows=k),
        [Contestant(name, _waited(run, gpu), role, units=k) for name, (role, run) in each.items()],
    )


def cached(a: ps.csr_array, some: Some, gpu: int, quick: bool) -> Cases:
    """Rows of the vertices of a sample, through caches of several shares of the features."""
    n = a.shape[0]
    x = _features(n)
    ids = ps.sample.neighbors(a, some(64 if quick else 65536), pyg.FANOUTS).vertices
    k = int(ids.numel())
    contestants = [_link(k, gpu)]
    plain = _waited(partial(ps.sample.gather, x, ids), gpu)
    contestants.append(Contestant("penstock", plain, "ours", units=k))
    for share in (0.01, 0.1, 0.25):
        cache = ps.sample.FeatureCache(x, 4 * n + int(share * n) * ROW, a, device=gpu)
        ps.sample.gather(cache, ids)
        notes = {"hits": cache.counts().hits / k}
        read = _waited(partial(ps.sample.gather, cache, ids), gpu)
        name = f"penstock, cache of {share:.0%}"
        contestants.append(Contestant(name, read, "ours", units=k, notes=notes))
    what = f"{k} rows of a sample, {ROW * n >> 20} MiB pinned"
    yield _case(what, _are_rows(ids), row=True, rows=k), contestants


def cases(gpu: int, scale: int, gib: float, quick: bool) -> Iterator[Callable[[], Cases]]:
    """Each makes the inputs of a kind of work when it is called."""
    there = ps.generate.rmat(10 if quick else scale, seed=1, device=gpu)
    a = there.to(ps.pinned)
    torch.manual_seed(1)
    used = torch.from_numpy(np.flatnonzero(np.diff(a.indptr))).to(f"cuda:{gpu}")

    def some(k: int) -> Any:
        return used[torch.randint(0, used.numel(), (k,), device=used.device)]

    edges, both = Edges(a), {"penstock": there, "penstock, pinned": a}
    yield partial(samples, a, edges, both, some, gpu, quick)
    yield partial(walks, edges, both, some, gpu, quick)
    yield partial(cached, a, some, gpu, quick)
    yield partial(gathers, int((0.26 if quick else gib) * 2**30) // ROW, gpu, quick)
