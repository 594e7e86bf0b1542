"""Matrices and bars drawn with characters."""

from __future__ import annotations

import numpy as np
from penstock.cli.render import bar, boxed, spy, spy_size


def test_spy_shows_every_filled_corner_and_nothing_else():
    lines = spy(np.diag([5, 5, 5, 5, 5, 5, 5, 5]), 2, 4)
    assert lines == ["⠑⢄⠀⠀", "⠀⠀⠑⢄"]
    assert spy(np.zeros((3, 3)), 2, 3) == ["⠀⠀⠀"] * 2
    assert set("".join(spy(np.ones((9, 9)), 4, 8))) == {"⣿"}
    assert spy(np.eye(2), 2, 2, ascii_only=True) == ["@ ", " @"]
    assert spy(np.zeros((0, 4)), 2, 3) == ["   "] * 2


def test_spy_is_denser_where_there_is_more():
    density = np.tile(np.geomspace(1, 1e6, 32), (32, 1))
    dots = [[bin(ord(c) - 0x2800).count("1") for c in line] for line in spy(density, 8, 16)]
    columns = np.array(dots).sum(axis=0).reshape(-1, 2).sum(axis=1)  # a period of the dither
    assert columns[-1] > 3 * max(columns[0], 1)
    assert np.all(np.diff(columns) > 0)


def test_plot_sizes_keep_proportions():
    assert spy_size(1000, 1000, 60) == (30, 60)
    assert spy_size(1000, 1000, 200) == (32, 64)
    assert spy_size(10, 10_000, 60) == (2, 60)
    assert spy_size(10_000, 10, 60) == (32, 4)
    assert len(boxed(["ab"]).split("\n")) == 3


def test_bars():
    assert bar(0, 10) == ""
    assert bar(1, 10) == "█" * 10
    assert bar(1e-9, 10) == "▏"
    assert bar(0.5, 10, ascii_only=True) == "#####"
