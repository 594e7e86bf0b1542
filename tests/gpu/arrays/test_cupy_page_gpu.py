"""The examples of docs/cupy.md."""

import doctest
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu
PAGE = Path(__file__).resolve().parents[3] / "docs" / "cupy.md"


def test_examples_of_the_page():
    pytest.importorskip("cupy")
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=options)
    assert tried >= 10 and failed == 0
