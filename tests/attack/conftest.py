"""Programs that the tests start as ranks are no tests."""

collect_ignore = ["jobs"]
