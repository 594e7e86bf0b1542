"""What passes as plain text has no fault, and is what SciPy and polars read it as."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from penstock._io import _tidy
from penstock._io._faults import Lines, Unreadable
from penstock._io._polars_text import Columns
from penstock._io._scipy_text import read_entries
from penstock._io._tidy import is_plain, plain_lines, squeezed, tidied

BIG = 10**9
NUMBERS = {"ij": "", "ijv": "v", "ijn": "n", "ijvw": "vw"}

tokens = st.one_of(
    st.integers(1, 99).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text("0123456789.-+eEdx", max_size=5),
)
texts = st.lists(
    st.tuples(st.lists(tokens, max_size=5), st.sampled_from([" ", " ", " ", "  ", "\t"])),
    max_size=4,
).map(lambda lines: "".join(gap.join(words) + "\n" for words, gap in lines).encode())


def expected(block, lines):
    """The entries by Python's own int and float; None where a line has a fault."""
    found = []
    for line in block.split(b"\n"):
        if lines.is_comment(line):
            continue
        if lines._problem(line.strip(b" \t\r")):
            return None
        row, col, *values = line.lower().replace(b"d", b"e").split()
        found.append((int(row), int(col), *map(float, values)))
    return found


@settings(max_examples=1500, deadline=None)
@given(texts, st.sampled_from(sorted(NUMBERS)))
@example(b"1 2.5 3\n", "ijv")
@example(b"1 2\n1 1 1 1\n", "ijv")
@example(b"1 1 1e-.5\n", "ijv")
@example(b"1 1 1e+5\n", "ijv")
def test_a_reader_takes_a_block_whole_or_not_at_all(block, columns):
    lines = Lines(columns, 1, BIG, BIG, "", "%")
    wanted = expected(block, lines)
    if is_plain(block, columns) and block:
        faults = [lines._problem(line) for line in block.split(b"\n")[:-1]]
        assert not any(fault and "outside" not in fault for fault in faults)
    readers = [read_entries] + ([Columns().read] if columns in ("ij", "ijv") else [])
    for read in readers:
        try:
            row, col, values, base = read(block, lines)
        except Unreadable:
            assert wanted is None
            continue
        if wanted is None:  # only a range may be wrong, which is looked at later
            assert ((row < base) | (row >= BIG + base) | (col < base) | (col >= BIG + base)).any()
            continue
        assert (row - base + 1).tolist() == [entry[0] for entry in wanted]
        assert (col - base + 1).tolist() == [entry[1] for entry in wanted]
        if values is not None and wanted and len(columns) > 2:
            parts = np.asarray(values).view(values.dtype.type(0).real.dtype)
            assert parts.tolist() == [number for entry in wanted for number in entry[2:]]


@pytest.mark.parametrize("step", [1, 7, 64])
def test_pieces_of_any_size_give_the_same_answer(monkeypatch, step):
    monkeypatch.setattr(_tidy, "STEP", step)
    good = b"".join(b"%d %d %.3g\n" % (i, i * i, i / 7) for i in range(1, 200))
    assert plain_lines(good, "ijv") == 199
    for bad in (
        good[:-1],
        good + b"1 1\n",
        good + b"\n",
        b" " + good,
        good[:90] + b"x" + good[90:],
    ):
        assert plain_lines(bad, "ijv") == -1


def test_tidying():
    assert squeezed(b"\n  1  2 \n\n \n3 4") == b"1 2\n3 4\n"
    assert squeezed(b"  \n ") == b"\n"
    assert tidied(b"% c\n 1\t2\r\n\n% d\n3   4", "%") == b"1 2\n3 4\n"
    assert tidied(b'"1" , 2\n3,"4"\n', "", ",") == b"1,2\n3,4\n"
