"""What all tests of graphs share."""

import pytest

import penstock as ps


@pytest.fixture(autouse=True)
def same_number_of_threads():
    """A test may set another number."""
    before = ps.num_threads()
    yield
    ps.set_num_threads(before)
