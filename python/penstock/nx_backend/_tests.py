"""NetworkX's own tests that cannot hold here, marked when they run with NETWORKX_TEST_BACKEND=penstock.

docs/networkx.md gives the same list to users.
"""

from __future__ import annotations

from typing import Any

# file -> test (or class.test) -> why it fails
XFAIL: dict[str, dict[str, str]] = {}


def on_start_tests(items: Any) -> None:
    """Called by NetworkX's conftest with the collected tests."""
    import pytest

    for item in items:
        reasons = XFAIL.get(item.path.name, {})
        cls = getattr(item, "cls", None)  # doctests have none
        name = item.name if cls is None else f"{cls.__name__}.{item.name}"
        reason = reasons.get(name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
