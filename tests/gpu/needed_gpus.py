"""Skips a test that names more GPUs than there are."""

import pytest

from penstock import _core


def needs(devices):
    if max(devices) >= _core.device_count():
        pytest.skip(f"{max(devices) + 1} GPUs are needed, {_core.device_count()} can be used")
