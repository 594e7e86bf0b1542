"""Matrices and distributions drawn with characters."""

from __future__ import annotations

from typing import Any

import numpy as np

_bayer = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]])
_braille = np.array(
    [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]
)  # bit of each dot, 4 down and 2 across
_shades = " .:-=+*#%@"
_bar = " ▏▎▍▌▋▊▉█"


def spy_size(rows: int, cols: int, width: int, max_height: int = 32) -> tuple[int, int]:
    """(lines, characters) that keep the matrix's proportions, a character being twice as high as
    wide."""
    if not rows or not cols:
        return 1, 1
    wide = width
    high = round(wide * rows / cols / 2)
    if high > max_height:
        high, wide = max_height, round(2 * max_height * cols / rows)
    return max(high, 2), max(wide, 4)


def _resize(density: np.ndarray, high: int, wide: int) -> np.ndarray:
    """Entries per dot: cells that share a dot are added up, a cell wider than a dot is repeated."""

    def fold(a: np.ndarray, n: int) -> np.ndarray:
        if a.shape[0] <= n:
            return a[np.arange(n) * a.shape[0] // n]
        return np.add.reduceat(a, np.arange(n) * a.shape[0] // n, axis=0)

    return fold(fold(density, high).T, wide).T


def _levels(counts: np.ndarray) -> np.ndarray:
    """0 where there is nothing, else up to 1 with the logarithm of the count."""
    most = counts.max(initial=0)
    return np.log1p(counts) / np.log1p(most) if most else np.zeros(counts.shape)


def spy(density: np.ndarray, lines: int, chars: int, ascii_only: bool = False) -> list[str]:
    """A spy plot of counts. Braille dots, denser where more entries are (an ordered dither of the
    logarithm), or shades of ASCII.

    >>> import numpy as np
    >>> spy(np.eye(8), 2, 4)
    ['⠑⢄⠀⠀', '⠀⠀⠑⢄']
    """
    if not density.size:
        return [" " * chars] * lines
    if ascii_only:
        level = _levels(_resize(density, lines, chars))
        steps = np.ceil(level * (len(_shades) - 1)).astype(int)
        return ["".join(_shades[k] for k in line) for line in steps]
    level = _levels(_resize(density, 4 * lines, 2 * chars))
    threshold = np.tile((_bayer + 0.5) / 16, (lines, (chars + 1) // 2))[:, : 2 * chars]
    dots = level > threshold
    cells = dots.reshape(lines, 4, chars, 2) * _braille[None, :, None, :]
    return ["".join(chr(0x2800 + k) for k in line) for line in cells.sum(axis=(1, 3))]


def boxed(lines: list[str], ascii_only: bool = False) -> str:
    """The plot within the matrix's borders."""
    corners, side, top = ("++++", "|", "-") if ascii_only else ("┌┐└┘", "│", "─")
    width = len(lines[0]) if lines else 0
    body = [f"{side}{line}{side}" for line in lines]
    return "\n".join(
        [corners[0] + top * width + corners[1], *body, corners[2] + top * width + corners[3]]
    )


def bar(share: float, width: int, ascii_only: bool = False) -> str:
    """A bar of `share` of `width` characters, to an eighth of one; what is not zero shows."""
    if ascii_only:
        return "#" * max(round(share * width), share > 0)
    eighths = max(round(share * width * 8), share > 0)
    return "█" * (eighths // 8) + (_bar[eighths % 8] if eighths % 8 else "")


def histogram(counts: tuple[int, ...], width: int, ascii_only: bool = False) -> Any:
    """Rows "2^(k-1)-2^k - 1", count, bar, in `width` characters: the bars are linear in the
    count."""
    from rich.table import Table

    t = Table.grid(padding=(0, 1))
    t.add_column(justify="right", style="dim", no_wrap=True)
    t.add_column(justify="right", no_wrap=True)
    t.add_column(style="cyan", no_wrap=True)
    first = next((k for k, n in enumerate(counts) if n), len(counts))
    rows = []
    for k, n in enumerate(counts[first:], first):
        low, high = (0, 0) if k == 0 else (1 << (k - 1), (1 << k) - 1)
        rows.append((str(low) if low == high else f"{low:,}-{high:,}", f"{n:,}", n))
    taken = (
        max((len(r[0]) for r in rows), default=0) + max((len(r[1]) for r in rows), default=0) + 2
    )
    for label, number, n in rows:
        t.add_row(label, number, bar(n / max(counts), max(width - taken, 8), ascii_only))
    return t
