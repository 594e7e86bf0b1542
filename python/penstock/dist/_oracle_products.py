"""Which algorithm a product of tiles should take on so many ranks, and where it stops scaling, before a job starts.

Bytes, messages and flops are counted; seconds are a model's (`penstock.dist._tile_price`).

>>> import penstock as ps
>>> f = ps.dist.predict_products(ps.generate.rmat(10, seed=1), [1, 4, 16], "summit", op="spmm", columns=32)
>>> f.algorithms()[:3], f.at("c", 16).messages_all
(['c', 'a', 'b'], 96)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import integer
from penstock._matrix.given import as_matrix
from penstock._matrix.spgemm import spgemm_estimate
from penstock.dist._network import Network
from penstock.dist._oracle import WORTH, Forecast, _network, _ranks, _time
from penstock.dist._roofline import Roofline, roofline
from penstock.dist._tile_counts import count_spgemm, count_spmm
from penstock.dist._tile_price import (
    ALGORITHMS,
    NODES,
    REPLICATED,
    ProductPrediction,
    as_dict,
    price_product,
)

__all__ = ["OPERATIONS", "ProductForecast", "local_efficiency", "predict_products"]

OPERATIONS = ("spmm", "spgemm")
_KNOWN = ALGORITHMS | REPLICATED | NODES
# Measured over predicted seconds, on measured networks: of the products of bench/brock2024.py on 2 or 4 ranks or GPUs,
# which it was chosen by, 233 of 251 lie between.
SPREAD = (0.35, 1.6)


@dataclass(frozen=True)
class ProductForecast(Forecast):
    """Predictions by algorithm and number of ranks, and a roofline of each number of ranks. `rows` are
    ProductPredictions; layouts of the base class are the algorithms here, and `irregular` is 1 over the efficiency."""

    rooflines: list[Roofline] = field(default_factory=list)
    op: str = "spmm"
    columns: int = 0  # of a dense B

    def algorithms(self) -> list[str]:
        return self.layouts()

    def between(self, p: Any) -> tuple[float, float]:
        """As of the base class; of a preset network as wide as of any product there, which nobody measured."""
        low, high = SPREAD if self.network.measured else self.network.spread(p.ranks)
        return low * p.seconds, high * p.seconds

    def words(self) -> list[str]:
        """The recommendation, in sentences."""
        p: Any = self.recommended()
        base, last = self.base(), self.ranks()[-1]
        out = [
            f"Use {p.algorithm} ({_KNOWN[p.algorithm]}) on {_ranks_of(p)}: {_time(p.seconds)} a "
            f"product ({self._range(p)}), {self.speedup(p):.3g} times {_ranks_of(base)}, "
            f"{self.efficiency(p):.0%} of ideal."
        ]
        least = min(self.rows, key=lambda q: q.seconds)
        end: Any = self.at(least.layout, self.stops(least.layout))
        if end.ranks < last:
            out.append(
                f"Scaling stops at {_ranks_of(end)} ({end.algorithm}): {_time(end.seconds)}, of which "
                f"{end.communicate / end.seconds:.0%} is communication, "
                f"{end.accumulate / end.seconds:.0%} accumulation, "
                f"{end.imbalance / end.seconds:.0%} waiting for the slowest rank."
            )
        elif end.ranks > p.ranks:
            out.append(
                f"It gets faster up to {end.ranks:,} ranks ({end.algorithm}), the most asked for: "
                f"{_time(end.seconds)}, {self.efficiency(end):.0%} of ideal; above {p.ranks:,} ranks it is "
                f"less than {WORTH:.0%}."
            )
        found = {q.algorithm: q for q in self.rows if q.ranks == p.ranks}
        lockstep: Any = found.get("summa")
        if lockstep and p.algorithm != "summa":
            out.append(
                f"There bulk-synchronous SUMMA takes {lockstep.seconds / p.seconds:.2f} times as long."
            )
        r = next((r for r in self.rooflines if r.ranks == p.ranks), None)
        if r:
            out.append(
                f"There the {r.bound} bounds the product, C stationary: it takes at least {_time(r.seconds)}."
            )
        return out

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        best: Any = self.recommended()
        return {
            "kind": self.kind,
            "op": self.op,
            "columns": self.columns,
            "network": self.network.name,
            "network_source": self.network.source,
            "efficiency": 1 / self.irregular,
            "predictions": [
                {**as_dict(p), "between": list(self.between(p)), "speedup": self.speedup(p),
                 "efficiency": self.efficiency(p)}
                for p in self.rows
            ],
            "rooflines": [r.as_dict() for r in self.rooflines],
            "stops": {name: self.stops(name) for name in self.algorithms()},
            "recommended": {"algorithm": best.algorithm, "ranks": best.ranks},
            "words": self.words(),
            "left_out": self.left_out,
        }  # fmt: skip


def _ranks_of(p: Any) -> str:
    return f"{p.ranks:,} rank{'s' * (p.ranks > 1)}"


def predict_products(
    A: Any,
    ranks: Iterable[int],
    network: Any = "hdr-infiniband",
    *,
    op: str = "spmm",
    B: Any = None,
    columns: int = 128,
    algorithms: Iterable[str] = tuple(ALGORITHMS),
    tiles: int = 1,
    prefetch: int = 1,
    efficiency: float = 1.0,
    step: Callable[[str], None] | None = None,
) -> ProductForecast:
    """Strong scaling of a product of tiles over a 2-D grid of ranks, none of which runs.

    Parameters
    ----------
    A : csr_array
        Read twice for each number of ranks; SpGEMM costs about a product of A with itself.
    ranks : iterable of int
        Each becomes the most square grid, no wider than high.
    network : Network or str
        A name in `penstock.dist.networks`, or what `calibrate` measured.
    op : str
        "spmm" with a dense B, or "spgemm".
    B : csr_array, optional
        Of spgemm; A itself by default.
    columns : int
        Of B, where it is dense.
    algorithms : iterable of str
        What stays ("a", "b", "c"), "+random" or "+locality" for stealing, "c*2", "c*4" or "c*8" for
        copies of C where the grid has them, "+nodes" where ranks of a node share what crosses between nodes
        (`nodes=` of `ps.dist.matmul`), and "summa".
    tiles : int
        Times as many each way as the least common multiple of the grid's sides (columns of a dense B: as the grid has
        columns): the more, the finer work is shared.
    prefetch : int
        0: gets and products in turn.
    efficiency : float
        Of local products, to the local roofline.
    step : callable, optional
        Told in words what comes next.

    Returns
    -------
    ProductForecast

    Raises
    ------
    ValueError
        Unknown algorithm, operation or network; nothing to predict.
    TypeError
        Ranks, columns, tiles or prefetch that are no integers.
    """
    A, net, names = as_matrix(A, "predict_products"), _network(network), list(algorithms)
    if op not in OPERATIONS:
        raise ValueError(f"op {op!r} is not one of {', '.join(OPERATIONS)}")
    for name in names:
        if name not in _KNOWN:
            raise ValueError(f"algorithm {name!r} is not one of {', '.join(_KNOWN)}")
    if not names:
        raise ValueError("algorithms: at least one")
    if integer(tiles, "tiles", 0) < 1:
        raise ValueError(f"tiles {tiles}: at least 1")
    integer(columns, "columns", 1)
    integer(prefetch, "prefetch", 0)
    B = A if B is None else as_matrix(B, "predict_products")
    compression = spgemm_estimate(A, B).compression if op == "spgemm" else 1.0
    rows: list[ProductPrediction] = []
    roofs, left_out = [], {}
    for p in _ranks(ranks):
        if step:
            step(f"{op}, {p:,} ranks")
        try:
            if op == "spmm":
                c = count_spmm(A, columns, p, tiles=tiles, gathers=net.gathers)
            else:
                c = count_spgemm(A, B, p, tiles=tiles, compression=compression, gathers=net.gathers)
        except MemoryError as e:
            left_out[f"{op}, {p} ranks"] = str(e)
            continue
        roofs.append(roofline(c, net, efficiency=efficiency))
        for name in names:
            try:
                rows.append(price_product(c, net, name, prefetch=prefetch, efficiency=efficiency))
            except ValueError as e:  # copies that the grid does not have
                left_out[f"{name}, {p} ranks"] = str(e)
    if not rows:
        raise ValueError("nothing could be predicted: " + "; ".join(left_out.values()))
    dense = columns if op == "spmm" else 0
    found: Any = rows  # the base class knows predictions of y = A x
    return ProductForecast(net, "strong", found, 1 / efficiency, left_out, roofs, op, dense)


def local_efficiency(
    A: Any, B: Any, network: Network, *, columns: int = 128, threads: int = 1, seconds: float = 0.3
) -> float:
    """How much of its local roofline a product reaches on this machine, which must be the one that `network` was
    measured on: with `threads`, those of a rank. B None: dense, of so many columns; else a sparse matrix. Times a few
    products."""
    A = as_matrix(A, "local_efficiency")
    if B is None:
        c = count_spmm(A, columns, 1)
        other: Any = np.ones((A.shape[1], columns), np.float64 if A.dtype == np.bool_ else A.dtype)
    else:
        c, other = count_spgemm(A, B, 1), as_matrix(B, "local_efficiency")
    best, begin = float("inf"), time.perf_counter()
    with _core.ThreadsHere(threads):
        for turn in range(100):
            start = time.perf_counter()
            A @ other
            best = min(best, time.perf_counter() - start)
            if turn >= 1 and time.perf_counter() - begin > seconds:
                break
    model = price_product(c, network, "c").compute - network.call_s
    return model / max(best - network.call_s, 1e-9) if model > 0 else 1.0
