"""Tests that need a GPU: skipped, with the reason, where there is none."""

import os

import pytest

from penstock import _core

# JAX would take three quarters of the GPU's memory, which tests in other processes need.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU and a build with CUDA")
    config.addinivalue_line("markers", "gpu_small: a few short ones, for compute-sanitizer")


def why_not() -> str | None:
    if not _core.config()["cuda"]:
        return "this build has no CUDA: install a toolkit and build with -DPENSTOCK_CUDA=ON"
    if _core.device_count() == 0:
        return "no GPU can be used by this process (is there a driver?)"
    return None


def pytest_collection_modifyitems(items):
    if reason := why_not():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason=reason))
