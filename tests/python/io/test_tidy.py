"""What passes as plain text has no fault, and is what SciPy and polars read it as."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from penstock._io import _scipy_text
from penstock._io._faults import Lines, Unreadable
from penstock._io._polars_text import Columns
from penstock._io._scipy_text import read_entries
from penstock._io._tidy import is_plain, squeezed, tidied

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


def test_one_bad_line_among_many_is_found():
    good = b"".join(b"%d %d %.3g\n" % (i, i * i, i / 7) for i in range(1, 200_000))
    assert is_plain(good, "ijv")
    middle = good.index(b"\n", len(good) // 2)
    for at in (0, middle, len(good) - 1):
        for junk in (b"x", b" 1", b" ", b"\n\n"):
            assert not is_plain(good[:at] + junk + good[at:], "ijv")
    assert not is_plain(good[:-1], "ijv")


@pytest.mark.parametrize("count", [1, 99, 200_000])
def test_a_file_is_plain_whatever_its_size(tmp_path, count):
    lines = [b"%d %d %.3g\n" % (i, i, i / 7) for i in range(1, count + 1)]
    for text, plain in (
        (b"".join(lines), True),
        (b"".join(lines)[:-1], True),
        (b"".join(lines)[:-9], False),
    ):
        path = tmp_path / "a"
        path.write_bytes(text)
        with open(path, "rb", buffering=0) as file:
            assert _scipy_text._all_plain(file, "ijv", count) == plain


def test_tidying():
    assert squeezed(b"\n  1  2 \n\n \n3 4") == b"1 2\n3 4\n"
    assert squeezed(b"  \n ") == b"\n"
    assert tidied(b"% c\n 1\t2\r\n\n% d\n3   4", "%") == b"1 2\n3 4\n"
    assert tidied(b'"1" , 2\n3,"4"\n', "", ",") == b"1,2\n3,4\n"
