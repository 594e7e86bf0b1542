"""What counts as left behind on a node; needs no cluster."""

import pytest
from cluster import Cluster


@pytest.mark.parametrize("state", ["Z", "ZN", "Z+", "Zs", "ZNl"])
def test_processes_that_have_ended_are_not_left(state):
    assert Cluster._own(f"41 {state} [python] <defunct>")


def test_those_of_the_node_are_not_left():
    assert Cluster._own("7 SN python node.py serve /tmp/x node0")
    assert Cluster._own("52 RN+ ps -eo pid=,stat=,args=")


@pytest.mark.parametrize(
    "line", ["41 S python work.py", "41 SN Z", "41 RN+ python Z", "shm Zone", "Z", "lock-Z"]
)
def test_all_else_is_left(line):
    assert not Cluster._own(line)
