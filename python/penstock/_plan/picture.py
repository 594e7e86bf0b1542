"""What a notebook shows: small SVGs of bars, of an Explanation's seconds and of a machine's bandwidths."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock._plan.report import Explanation

WIDTH, LEFT, ROW = (
    520,
    170,
    22,
)  # pixels: of the picture, of the names, of a bar and the gap above it
BINDS, OTHER = (
    "#d9822b",
    "#5b9bc8",
)  # legible on white and on black, with the text in the page's colour
LONGEST_NAME = 26  # characters
_LINKS = (("to it", "h2d"), ("from it", "d2h"))


def _duration(seconds: float) -> str:
    """
    >>> _duration(0.00123), _duration(2.5), _duration(4.2e-7)
    ('1.23 ms', '2.5 s', '0.42 us')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _rate(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e9:.3g} GB/s"


def bars(
    rows: list[tuple[str, float, bool]],
    longest: float = 0.0,
    words: Callable[[float], str] = _duration,
) -> str:
    """An SVG of horizontal bars: name, number, whether it stands out. `longest`, or the largest, fills the width;
    `words` writes a number.

    >>> bars([("link", 2.0, True), ("memory", 1.0, False)]).count("<rect")
    2
    """
    longest = max(longest, *(number for _, number, _ in rows)) or 1.0
    room = WIDTH - LEFT - 90
    parts = []
    for n, (name, number, best) in enumerate(rows):
        y = n * ROW
        short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
        wide = max(room * number / longest, 1.0)
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 15}" text-anchor="end">{escape(short)}'
            f"<title>{escape(name)}</title></text>"
            f'<rect x="{LEFT}" y="{y + 4}" width="{wide:.1f}" height="14" rx="2" '
            f'fill="{BINDS if best else OTHER}"/>'
            f'<text x="{LEFT + wide + 6:.1f}" y="{y + 15}">{words(number)}</text>'
        )
    high = ROW * len(rows) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" '
        f'height="{high}" style="max-width:100%" font-family="sans-serif" font-size="12" '
        f'fill="currentColor" role="img">{"".join(parts)}</svg>'
    )


def html(e: Explanation) -> str:
    """What `Explanation._repr_html_` returns."""
    lines = [f"<b>{escape(e.schedule)}</b>: {escape(e.reason)}"]
    if e.uses:
        rate = e.flops / e.seconds / 1e9 if e.seconds else 0.0
        lines.append(
            f"predicted {_duration(e.seconds)} a product, {rate:.3g} GFLOP/s at most; "
            f"<b>{escape(e.binding)}</b> binds"
        )
    if e.first_call_seconds:
        lines.append(f"before the first product: {_duration(e.first_call_seconds)}")
    used = [(str(u["resource"]), float(u["seconds"]), u["resource"] == e.binding) for u in e.uses]
    considered = [(str(o["schedule"]), float(o["seconds"]), False) for o in e.alternatives]
    parts = ["<br>".join(lines)]
    longest = max((seconds for _, seconds, _ in used + considered), default=0.0)
    if used:
        parts.append(bars(used, longest))
    if considered:
        parts.append("<br>considered, seconds of one product:<br>" + bars(considered, longest))
    if e.figures:
        parts.append(f"<br><small>bandwidths: {escape(e.figures)}</small>")
    return f'<div class="penstock-explanation">{"".join(parts)}</div>'


class MachineFacts(dict[str, Any]):
    """What `ps.machine` returns: a dict, which a notebook shows as bars of bandwidths."""

    def _repr_html_(self) -> str:
        host = (("memory", "host_read"), ("memory, copied", "host_copy"), ("cache", "cache_read"))
        rows = [(name, float(self[key]), False) for name, key in host]
        for n, gpu in enumerate(self["gpus_measured"]):
            rows += [(f"GPU {n}, {way}", gpu[f]["bytes_per_s"], True) for way, f in _LINKS]
            rows.append((f"GPU {n}, its memory", gpu["device_read"], True))
        cores = f"{escape(str(self['cpu'] or 'CPU'))}, {self['cpus']} CPUs"
        gpus = f", {self['gpus']} GPUs" if self["gpus"] else ", no GPU"
        unknown = self["gpus"] and not self["gpus_measured"]
        probe = (
            "<br><small>the GPUs are not measured yet: penstock probe</small>" if unknown else ""
        )
        return f'<div class="penstock-machine"><b>{cores}</b>{gpus}<br>{bars(rows, words=_rate)}{probe}</div>'
