"""`penstock probe`: how fast this machine's links and memories are, measured once and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli import ui

PLOT_HELP = "Write a picture of bandwidth against transfer size: .png, .svg or .pdf."
MPI_HELP = "Measure messages between MPI ranks instead, for `penstock scale --network measured`."
RANKS_HELP = "With --mpi: how many ranks are started."
REFRESH_HELP = "Measure again, whatever the cache knows."


def _rate(value: float | None) -> str:
    """
    >>> _rate(54.96e9), _rate(4.42e12), _rate(None)
    ('55.0', '4420', '-')
    """
    if value is None:
        return "-"
    return f"{value / 1e9:.0f}" if value >= 1e12 else f"{value / 1e9:.1f}"


def _size(n: int) -> str:
    """
    >>> _size(65536), _size(1 << 30)
    ('64 KiB', '1 GiB')
    """
    return ui.size(n).replace(".0 ", " ")


def _name(g: dict[str, Any]) -> str:
    return f"{g['gpu']}: {g['name']}"


def _transfers(g: dict[str, Any]) -> Any:
    """Bandwidth of one GPU's link for every size; a fit's latency and rate below."""
    curves = ["h2d", "d2h", "h2d_2_streams", "d2h_2_streams", "pageable_h2d", "pageable_d2h"]
    heads = ["up", "down", "up x 2", "down x 2", "pageable up", "pageable down", "both ways"]
    t = ui.table("transfer", *heads)
    rates = [dict(g[f"{c}_curve"]) for c in curves]
    both = {bytes: up + down for bytes, up, down in g["duplex_curve"]}
    for n in rates[0]:
        t.add_row(_size(n), *(_rate(r.get(n)) for r in rates), _rate(both.get(n)))
    t.add_section()
    t.add_row("fit: GB/s", *(_rate(g[c]["bytes_per_s"]) for c in curves), "")
    t.add_row("fit: latency", *(ui.seconds(g[c]["latency_s"]) for c in curves), "")
    return t


def _memories(gpus: list[dict[str, Any]]) -> Any:
    heads = ["aligned", "misaligned", "merged", "strided", "read", "copy", "peer copy", "peer load"]
    t = ui.table("GPU", *heads)
    for g in gpus:
        z, peer = g["zero_copy"], g["peer"] or {"copy": None, "load": None}
        values = [z["aligned"], z["misaligned"], z["merged"], z["strided"]]
        values += [g["device_read"], g["device_copy"], peer["copy"], peer["load"]]
        t.add_row(_name(g), *(_rate(v) for v in values))
    return t


def _links(gpus: list[dict[str, Any]]) -> Any:
    """One line a GPU, where there are several."""
    t = ui.table("GPU", "bus", "up", "down", "both ways", "pageable up", "pageable down")
    for g in gpus:
        one = [g[c]["bytes_per_s"] for c in ("h2d", "d2h")]
        pageable = [g[c]["bytes_per_s"] for c in ("pageable_h2d", "pageable_d2h")]
        values = [*one, sum(g["duplex"].values()), *pageable]
        t.add_row(_name(g), g["bus"], *(_rate(v) for v in values))
    return t


def _together(sums: dict[str, dict[str, Any]]) -> Any:
    names = ["h2d", "d2h", "duplex", "zero_copy", "peer_copy", "peer_load"]
    t = ui.table("GPUs at once", "up", "down", "both ways", "zero-copy", "peer copy", "peer load")
    for n, s in sums.items():
        t.add_row(n, *(_rate(s[name]) for name in names))
    return t


def _calls(gpus: list[dict[str, Any]]) -> Any:
    heads = ["launch", "copy", "launch call", "copy call", "event", "synchronize"]
    t = ui.table("GPU", *heads)
    for g in gpus:
        values = [g[f"{name.replace(' ', '_')}_s"] for name in heads]
        t.add_row(_name(g), *(f"{v * 1e6:.2f}" for v in values))
    return t


def _gets(one_sided: dict[str, Any]) -> Any:
    """Gets of every size; claims below."""
    t = ui.table("get", "time", "GB/s", "4 under way: GB/s")
    for (n, s), (_, each) in zip(one_sided["gets"], one_sided["queued"], strict=True):
        t.add_row(_size(n), ui.seconds(s), _rate(n / s), _rate(n / each))
    t.add_section()
    t.add_row("claim", ui.seconds(one_sided["claim_s"]), "", "")
    t.add_row("claim, both at once", ui.seconds(one_sided["claim_at_once_s"]), "", "")
    return t


def comparisons(r: dict[str, Any]) -> list[str]:
    """What the figures mean for a choice of schedule, in sentences."""
    lines = []
    for g in r["gpus"][:1]:
        link = g["h2d"]["bytes_per_s"]
        z = g["zero_copy"]
        lines += [
            f"Pinned memory is copied up {link / g['pageable_h2d']['bytes_per_s']:.1f} times as fast "
            "as pageable memory.",
            f"Aligned zero-copy reads reach {z['aligned'] / link:.0%} of the copies, those 32 bytes "
            f"off {z['misaligned'] / link:.0%}, strided ones {z['strided'] / link:.0%}.",
            f"Device memory is read {g['device_read'] / link:.0f} times as fast as the link copies; "
            f"a copy of {ui.size(g['h2d']['latency_s'] * link)} takes twice its time on the wire.",
        ]
    counts = list(r["together"])
    if len(counts) > 1:
        most, one = r["together"][counts[-1]], r["together"]["1"]
        up, zero = most["h2d"] / one["h2d"], most["zero_copy"] / one["zero_copy"]
        lines.append(
            f"{counts[-1]} GPUs at once are copied to {up:.1f} times as fast as one, and read host "
            f"memory {zero:.1f} times as fast; the CPU reads it at "
            f"{_rate(r['host']['read'])} GB/s."
        )
    return lines


def _show(r: dict[str, Any], source: str) -> None:
    import penstock as ps

    host, gpus, out = r["host"], r["gpus"], ui.console()
    words = [ui.plural(len(gpus), "GPU"), source] if gpus else [source]
    ui.headline(out, ps.machine()["cpu"] or "this machine", ", ".join(words))
    rates = f"read {_rate(host['read'])}, copied {_rate(host['copy'])}"
    out.print(f"host memory, GB/s: {rates} (read plus written), cache {_rate(host['cache_read'])}")
    if not gpus:
        out.print("no GPU can be used here: nothing else to measure (see penstock doctor)")
        return
    first = (
        f"transfers of GPU {_name(gpus[0])}" if len(gpus) > 1 else f"transfers, {gpus[0]['name']}"
    )
    one_sided = r["one_sided"]
    pair = one_sided["gpus"] if one_sided else ("", "")
    tables = {
        f"{first}, GB/s (up: to the GPU; x 2: on two streams)": _transfers(gpus[0]),
        "every GPU's link, GB/s of the fits": _links(gpus) if len(gpus) > 1 else None,
        "zero-copy reads of pinned memory, device memory, the next GPU; GB/s": _memories(gpus),
        "all at once, GB/s together": _together(r["together"]) if len(gpus) > 1 else None,
        "one-sided: GPU {} from GPU {}, until the bytes are there".format(*pair): one_sided
        and _gets(one_sided),
        "calls, microseconds (launch, copy: until synchronised)": _calls(gpus),
    }
    for title, body in tables.items():
        if body is not None:
            ui.heading(out, title)
            out.print(body)
    for line in comparisons(r):
        out.print(line)


def _obtain(refresh: bool, quiet: bool) -> tuple[dict[str, Any], bool]:
    """The result, and whether it was measured now."""
    from penstock._plan import probe as _probe

    found = None if refresh else _probe.measured()
    if found is not None:
        return found, False
    with ui.progress(1, quiet=quiet) as step:
        step.next("measuring memory and links, up to 30 seconds")
        return _probe.measure(), True


def probe(
    json: ui.Json = False,
    plot: Annotated[Path | None, typer.Option(help=PLOT_HELP)] = None,
    refresh: Annotated[bool, typer.Option("--refresh", help=REFRESH_HELP)] = False,
    mpi: Annotated[bool, typer.Option("--mpi", help=MPI_HELP)] = False,
    ranks: Annotated[int | None, typer.Option("--ranks", "-n", min=1, help=RANKS_HELP)] = None,
) -> None:
    """Measure host memory, and for every GPU and all at once: copies of pinned and pageable memory,
    zero-copy reads, device memory, and transfers between GPUs.

    Takes up to 30 seconds, once: the result is kept in the user's cache folder (or PENSTOCK_CACHE) for
    this hardware and driver, and read from there afterwards. With --mpi a job of several ranks measures
    messages and memory, for about three seconds.
    """
    from penstock import _core
    from penstock._plan import probe as _probe
    from penstock.cli import figure

    if mpi:
        from penstock.cli.probe_mpi import probe_mpi

        if plot is not None:
            raise ui.InputError("--plot draws transfers to GPUs: leave it out with --mpi")
        probe_mpi(ranks or 2, refresh, json)
        return
    if ranks is not None:
        raise ui.InputError("--ranks is for --mpi: GPUs and memory are measured by one process")

    if plot is not None:
        figure.check_plot(plot)
        if _core.device_count() == 0:
            raise ui.OperationError("--plot draws transfers to GPUs, and no GPU can be used here")
    result, fresh = _obtain(refresh, json)
    if plot is not None:
        from penstock.cli.probe_figure import save_plot

        save_plot(result, plot)
    problem, file = _probe.cache_problem(), str(_probe.cache_file())
    if json:
        facts = {"cache_file": file, "from_cache": not fresh, "cache_problem": problem}
        ui.emit_json({**result, **facts, "plot": None if plot is None else str(plot)})
        return
    when = f"measured {result['measured_at']} in {ui.seconds(result['seconds'])}"
    kept = f"kept in {file}" if problem is None else f"not kept ({problem})"
    _show(result, f"{when}, {kept}" if fresh else f"from {file}, {when}; --refresh measures again")
    if plot is not None:
        ui.console().print(f"picture: {plot}", soft_wrap=True)
