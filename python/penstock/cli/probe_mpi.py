"""`penstock probe --mpi`: what messages between ranks cost, and memory with all of them at work."""

from __future__ import annotations

import json as _json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock.cli import ui


def _kept() -> dict[str, Any] | None:
    """What was measured here before; None where nothing, or nothing of use, is kept."""
    from penstock.dist import _calibrate, _network

    try:
        facts: dict[str, Any] = _json.loads(_calibrate.cache_file().read_text())
        _network.Network.of(facts)
    except (OSError, ValueError, AttributeError):
        return None
    return facts if "uneven_s" in facts else None  # older versions did not measure it


def _measure(ranks: int) -> dict[str, Any]:
    """In a job of its own. This process keeps the result: launchers bind ranks to a part of the machine, which would
    give it another name."""
    from penstock.dist import _calibrate, _launch

    with TemporaryDirectory(prefix="penstock-probe-") as folder:
        file = Path(folder) / "network.json"
        code, why = _launch.run(["-m", "penstock.dist._probe_job", str(file)], ranks)
        if code == 130:
            raise KeyboardInterrupt
        if code or not file.exists():
            raise ui.OperationError(why or f"the measuring job ended with exit code {code}")
        facts: dict[str, Any] = _json.loads(file.read_text())
    _calibrate.keep(facts)
    return facts


def _links(what: str, curves: dict[str, list[list[float]]]) -> Any:
    """Time and rate of every size, within a node and between nodes."""
    heads = [f"{word} {where}" for where in curves for word in ("time", "GB/s")]
    t = ui.table(what, *heads)
    for rows in zip(*curves.values(), strict=True):
        cells = [cell for n, s in rows for cell in (ui.seconds(s), f"{n / s / 1e9:.2f}")]
        t.add_row(ui.size(int(rows[0][0])).replace(".0 ", " "), *cells)
    return t


def show(facts: dict[str, Any], file: str, fresh: bool) -> None:
    out = ui.console()
    when = f"measured {facts['measured_at']}"
    kept = f"{when}, kept in {file}" if fresh else f"from {file}, {when}; --refresh measures again"
    ui.headline(out, facts["comm"], f"{ui.plural(facts['ranks'], 'rank')}, {kept}")
    if facts["curves"]:
        ui.heading(out, "messages, one way (inside: within a node; outside: between nodes)")
        out.print(_links("message", facts["curves"]))
    one_sided = facts["one_sided"]
    if one_sided:
        ui.heading(out, f"gets, one-sided ({one_sided['transport']}; the owner takes no part)")
        out.print(_links("get", one_sided["gets"]))
    rows = {}
    for where in ("inside", "outside"):
        link = facts[where]
        if link and where in facts["curves"]:
            rows[where] = (
                f"latency {ui.seconds(link['latency_s'])}, {link['bytes_per_s'] / 1e9:.2f} GB/s, "
                f"overhead {ui.seconds(link['overhead_s'])}, eager up to {ui.size(int(link['eager_bytes']))}"
            )
    if one_sided:
        alone = ", ".join(f"{s * 1e6:.2f} us {where}" for where, s in one_sided["claim_s"].items())
        rows["claims"] = (
            f"{alone}, {one_sided['claim_at_once_s'] * 1e6:.2f} us by all ranks at once (fetch-and-add)"
        )
    rows["memory"] = (
        f"triad {facts['rank_read'] / 1e9:.1f} GB/s on one rank, {facts['node_read'] / 1e9:.1f} on all of a node"
    )
    for name, words in (("rank_products", "one rank"), ("node_products", "all of a node at once")):
        points = facts.get(name) or []
        if points:
            rows[f"products, {words}"] = ", ".join(
                f"{rate / 1e9:.1f} GB/s at {ui.size(int(n))}" for n, rate in points
            )
    if facts.get("uneven_s") is not None:
        rows["rows of products"] = (
            f"{facts['row_s'] * 1e9:.2f} ns each, {facts['uneven_s'] * 1e9:.2f} ns more where lengths differ"
        )
    out.print(ui.facts(rows))


def probe_mpi(ranks: int, refresh: bool, json: bool) -> None:
    from penstock.dist import _calibrate

    facts = None if refresh else _kept()
    fresh = facts is None or facts["ranks"] != ranks
    if fresh or facts is None:
        with ui.progress(1, quiet=json) as step:
            step.next(f"measuring messages between {ranks} ranks")
            facts = _measure(ranks)
    file = str(_calibrate.cache_file())
    if json:
        ui.emit_json({**facts, "cache_file": file, "from_cache": not fresh})
    else:
        show(facts, file, fresh)
