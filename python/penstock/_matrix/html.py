"""How a notebook shows a matrix: its numbers, and a small picture of where entries are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock._plan.report import human_bytes

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

_CELLS = 32  # along the longer side
_ROWS, _ENTRIES = 512, 64  # how many rows are looked at, and how many entries of each


def _counts(a: csr_array) -> np.ndarray:
    """How dense cells of the picture are, 0 to 1, by a sample of rows."""
    rows, cols = a.shape
    longest = max(rows, cols)
    high = max(1, min(_CELLS, rows, -(-_CELLS * rows // longest)))
    wide = max(1, min(_CELLS, cols, -(-_CELLS * cols // longest)))
    found = np.zeros((high, wide))
    some = np.unique(np.linspace(0, rows - 1, min(rows, _ROWS)).astype(np.int64))
    for row in some.tolist():
        first, last = int(a.indptr[row]), int(a.indptr[row + 1])
        step = max(1, (last - first) // _ENTRIES)
        at = a.indices[first:last:step].astype(np.int64) * wide // cols
        np.add.at(found[row * high // rows], at, float(step))
    return found / found.max() if found.any() else found


def _picture(a: csr_array, turned: bool) -> str:
    if 0 in a.shape or a.nnz == 0 or a.place == "device":
        return ""
    found = _counts(a)
    found = found.T if turned else found
    high, wide = found.shape
    cells = "".join(
        f'<rect x="{x}" y="{y}" width="1" height="1" fill-opacity="{0.25 + 0.75 * found[y, x]:.2f}"/>'
        for y, x in zip(*(index.tolist() for index in found.nonzero()), strict=True)
    )
    size = 128 / max(high, wide)
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{wide * size:.0f}" height="{high * size:.0f}" '
        'fill="currentColor" style="border:1px solid currentColor" role="img" '
        f'aria-label="where entries are">{cells}</svg>'
    )


def table(a: csr_array, turned: bool) -> str:
    """A table of what the matrix is, beside the picture."""
    shape = a.shape[::-1] if turned else a.shape
    share = a.nnz / (shape[0] * shape[1]) if 0 not in shape else 0.0
    lines = {
        "": "transpose of a csr_array" if turned else "csr_array",
        "shape": f"{shape[0]:,} x {shape[1]:,}",
        "dtype": "pattern" if a.dtype == np.bool_ else str(a.dtype),
        "stored": f"{a.nnz:,} ({share:.3g} of all entries)",
        "size": f"{human_bytes(a.nbytes)}, {a.place} memory",
    }
    cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in lines.items())
    return f'<div style="display:flex;gap:1em"><table>{cells}</table>{_picture(a, turned)}</div>'
