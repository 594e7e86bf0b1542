"""Where a product stops scaling, before a job starts: counts for every number of ranks, priced; one layout recommended.

Bytes and messages are exact, by the partition's metrics; seconds are a model's (`penstock.dist._price`).

>>> import penstock as ps
>>> A = ps.generate.laplacian((24, 24, 24))
>>> f = ps.dist.predict_scaling(A, [1, 2, 4, 8], "hdr-infiniband", layouts=["contiguous", "bins"])
>>> f.best(8).layout
'contiguous'
>>> f.at("contiguous", 2).bytes_most, f.at("contiguous", 2).messages_all  # 24 x 24 points a side
(4608, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock._arguments import integer
from penstock._matrix.given import as_matrix
from penstock.dist._irregular import irregular_of, irregularity
from penstock.dist._layouts import LAYOUTS, Counts, count
from penstock.dist._local_price import BOUNDS, Irregular
from penstock.dist._network import Network, networks
from penstock.dist._price import HALOS, Prediction, as_dict, price

__all__ = ["Forecast", "irregular_of", "irregularity", "predict_scaling", "predict_weak_scaling"]

DEFAULT = ("contiguous", "balanced", "grid", "grid_reduce", "bins", "bins_gather")
WORTH = 0.5  # efficiency down to which more ranks are still recommended
_GAIN = 0.97  # of the time so far: less of a gain is none


@dataclass(frozen=True)
class Forecast:
    """Predictions by layout and number of ranks. Strong: one matrix; weak: as much for each rank."""

    network: Network
    kind: str  # "strong" or "weak"
    rows: list[Prediction]  # of each layout and number of ranks the faster halo
    irregular: float
    left_out: dict[str, str]  # what was not predicted, and why

    def ranks(self) -> list[int]:
        return sorted({r.ranks for r in self.rows})

    def layouts(self) -> list[str]:
        return list(dict.fromkeys(r.layout for r in self.rows))

    def of(self, layout: str) -> list[Prediction]:
        """By ranks."""
        return sorted((r for r in self.rows if r.layout == layout), key=lambda r: r.ranks)

    def at(self, layout: str, ranks: int) -> Prediction:
        """KeyError where it was not predicted."""
        for r in self.rows:
            if (r.layout, r.ranks) == (layout, ranks):
                return r
        raise KeyError(f"no prediction of {layout} on {ranks} ranks")

    def best(self, ranks: int) -> Prediction:
        """The fastest layout on so many ranks."""
        return min((r for r in self.rows if r.ranks == ranks), key=lambda r: r.seconds)

    def base(self) -> Prediction:
        """The fastest on the fewest ranks: what speedups are over."""
        return self.best(self.ranks()[0])

    def speedup(self, p: Prediction) -> float:
        """Over the fewest ranks; of weak scaling, by work done in the same time."""
        base = self.base()
        grown = p.ranks / base.ranks if self.kind == "weak" else 1.0
        return grown * base.seconds / p.seconds if p.seconds else 1.0

    def between(self, p: Prediction) -> tuple[float, float]:
        """Seconds between which nine of ten measured products are expected (`Network.spread`)."""
        low, high = self.network.spread(p.ranks)
        return low * p.seconds, high * p.seconds

    def efficiency(self, p: Prediction) -> float:
        return self.speedup(p) * self.base().ranks / p.ranks

    def stops(self, layout: str) -> int:
        """Strong: the ranks after which a product takes no less time. Weak: the last with WORTH of the efficiency."""
        found = self.of(layout)
        if self.kind == "weak":
            good = [p.ranks for p in found if self.efficiency(p) >= WORTH]
            return max(good, default=found[0].ranks)
        last = found[0]
        for p in found[1:]:
            if p.seconds < _GAIN * last.seconds:
                last = p
        return last.ranks

    def recommended(self) -> Prediction:
        """The fastest layout at the most ranks that still work at WORTH of one rank's speed."""
        good = [p for p in self.rows if self.efficiency(p) >= WORTH]
        most = max((p.ranks for p in good), default=self.ranks()[0])
        return self.best(most)

    def words(self) -> list[str]:
        """The recommendation, in sentences."""
        p, out = self.recommended(), []
        layout = LAYOUTS[p.layout].words if p.layout in LAYOUTS else ""
        name = f"{p.layout} ({layout})" if layout else p.layout
        halo = ", x sent whole to everyone" if p.halo == "sync" else ""
        out.append(
            f"Use {name} on {p.ranks:,} ranks{halo}: {_time(p.seconds)} a product ({self._range(p)}), "
            f"{self.speedup(p):.3g} times {self.base().ranks:,} rank{'s' * (self.base().ranks > 1)}, "
            f"{self.efficiency(p):.0%} of ideal."
        )
        out.append(f"Local products wait most for {BOUNDS[p.bound]}.")
        last = self.ranks()[-1]
        least = min(self.rows, key=lambda q: q.seconds)
        if self.kind == "weak":
            out.append(
                f"{p.layout} keeps {WORTH:.0%} of the efficiency up to {self.stops(p.layout):,} ranks."
            )
        else:
            end = self.at(least.layout, self.stops(least.layout))
            if end.ranks < last:
                after = next(q for q in self.of(end.layout) if q.ranks > end.ranks)
                why = f"there communication takes {end.communicate / end.seconds:.0%} of {_time(end.seconds)}"
                if after.compute > _GAIN * end.compute and after.compute > after.communicate:
                    why = f"there a product takes {_time(end.seconds)}, and more ranks compute no faster"
                out.append(
                    f"Scaling stops at {end.ranks:,} ranks ({end.layout}): {why}; on {after.ranks:,} ranks it takes "
                    f"{_time(after.seconds)}."
                )
            elif end.ranks > p.ranks:
                out.append(
                    f"It gets faster up to {end.ranks:,} ranks ({end.layout}), the most asked for: "
                    f"{_time(end.seconds)}, {self.efficiency(end):.0%} of ideal."
                )
        turn = [q.ranks for q in self.of(p.layout) if q.ratio > 1]
        if turn:
            out.append(
                f"From {turn[0]:,} ranks on, {p.layout} communicates longer than it computes."
            )
        return out

    def _range(self, p: Prediction) -> str:
        low, high = self.between(p)
        return f"{_time(low)} to {_time(high)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        rows = [
            {**as_dict(p), "between": list(self.between(p)), "speedup": self.speedup(p),
             "efficiency": self.efficiency(p)}
            for p in self.rows
        ]  # fmt: skip
        best = self.recommended()
        return {
            "kind": self.kind,
            "network": self.network.name,
            "network_source": self.network.source,
            "irregular": self.irregular,
            "predictions": rows,
            "stops": {name: self.stops(name) for name in self.layouts()},
            "recommended": {"layout": best.layout, "ranks": best.ranks, "halo": best.halo},
            "words": self.words(),
            "left_out": self.left_out,
        }


def _time(s: float) -> str:
    if s >= 1:
        return f"{s:.3g} s"
    return f"{s * 1e3:.3g} ms" if s >= 1e-3 else f"{s * 1e6:.3g} us"


def _network(network: Any) -> Network:
    if isinstance(network, Network):
        return network
    if isinstance(network, str) and network in networks:
        return networks[network]
    raise ValueError(f"network {network!r} is neither a Network nor one of {', '.join(networks)}")


def _ranks(ranks: Iterable[int]) -> list[int]:
    if isinstance(ranks, str) or not isinstance(ranks, Iterable):
        raise TypeError(f"ranks={ranks!r}: give a sequence of integers, as [1, 2, 4]")
    found = sorted({integer(n, "ranks", -(2**62)) for n in ranks})
    if not found or found[0] < 1:
        raise ValueError(f"ranks {found}: at least one number, from 1")
    return found


def _cheaper(c: Counts, network: Network, halo: str, irregular: Irregular) -> Prediction:
    halos = HALOS if halo == "auto" else (halo,)
    return min(
        (price(c, network, halo=h, irregular=irregular) for h in halos), key=lambda p: p.seconds
    )


def _forecast(
    kind: str, cases: Iterable[tuple[str, int, Callable[[], Counts]]], network: Network, halo: str,
    irregular: Irregular, step: Callable[[str], None] | None,
) -> Forecast:  # fmt: skip
    rows, left_out = [], {}
    for layout, ranks, make in cases:
        if step:
            step(f"{layout}, {ranks:,} ranks")
        try:
            rows.append(_cheaper(make(), network, halo, irregular))
        except (ValueError, MemoryError) as e:
            left_out[f"{layout}, {ranks} ranks"] = str(e)
    if not rows:
        raise ValueError("nothing could be predicted: " + "; ".join(left_out.values()))
    whole = irregular[0] if isinstance(irregular, tuple) else irregular
    return Forecast(network, kind, rows, whole, left_out)


def predict_scaling(
    A: Any,
    ranks: Iterable[int],
    network: Any = "hdr-infiniband",
    *,
    layouts: Iterable[str] = DEFAULT,
    halo: str = "auto",
    irregular: float | None = 1.0,
    step: Callable[[str], None] | None = None,
) -> Forecast:
    """Strong scaling of `A @ x`: the same matrix on every number of ranks, none of which runs.

    Parameters
    ----------
    A : csr_array
        Read twice for each layout and number of ranks.
    ranks : iterable of int
    network : Network or str
        A name in `penstock.dist.networks`, or what `calibrate` measured (`Network.of`, `Network.load`).
    layouts : iterable of str
        contiguous, balanced, grid, bins, label_propagation; and grid_reduce and bins_gather, which end as Page and
        Kogge's naive and balanced distributions do.
    halo : str
        "messages", "sync" (all of x to everyone), or "auto": the faster.
    irregular : float, optional
        How much slower than in order the local product reads memory; None: time products on this machine, which must be
        the one that `network` was measured on.
    step : callable, optional
        Told in words what comes next.

    Returns
    -------
    Forecast

    Raises
    ------
    ValueError
        Unknown layout, halo or network; nothing to predict.
    """
    A, net, wanted = as_matrix(A, "predict_scaling"), _network(network), list(layouts)
    if halo not in (*HALOS, "auto"):
        raise ValueError(f"halo {halo!r} is not one of auto, {', '.join(HALOS)}")
    for name in wanted:
        if name not in LAYOUTS:
            raise ValueError(f"layout {name!r} is not one of {', '.join(LAYOUTS)}")
    factor = irregularity(A, net) if irregular is None else irregular
    cases = (
        (name, p, lambda name=name, p=p: count(A, name, p)) for p in _ranks(ranks) for name in wanted
    )  # fmt: skip
    return _forecast("strong", cases, net, halo, factor, step)


def predict_weak_scaling(
    make: Callable[[int], Any],
    ranks: Iterable[int],
    network: Any = "hdr-infiniband",
    *,
    layouts: Iterable[str] = DEFAULT,
    halo: str = "auto",
    irregular: float = 1.0,
    step: Callable[[str], None] | None = None,
) -> Forecast:
    """Weak scaling: `make(ranks)` gives the matrix of so many ranks, or a list of its `Counts`.

    A matrix is made for each number of ranks and must fit this machine: a MemoryError ends the series. `stencil_counts`
    needs no matrix, however many ranks.

    >>> import penstock as ps
    >>> f = ps.dist.predict_weak_scaling(lambda p: ps.dist.stencil_counts((32, 32, 32), p), [1, 8, 64, 4096])
    >>> f.best(4096).layout, f.efficiency(f.best(4096)) > 0.5
    ('cubes', True)
    """
    net, wanted = _network(network), list(layouts)

    def cases() -> Iterable[tuple[str, int, Callable[[], Counts]]]:
        for p in _ranks(ranks):
            try:
                made = make(p)
            except MemoryError as e:
                yield "any", p, lambda e=e: _raise(e)
                return
            if isinstance(made, list):
                for c in made:
                    yield c.layout, p, lambda c=c: c
            else:
                for name in wanted:
                    yield name, p, lambda name=name, made=made, p=p: count(made, name, p)

    return _forecast("weak", cases(), net, halo, irregular, step)


def _raise(e: Exception) -> Any:
    raise e
