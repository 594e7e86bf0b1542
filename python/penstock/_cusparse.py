"""Where pip put cuSPARSE, for the extension, which opens it when first asked for."""

from __future__ import annotations

import importlib.util
from pathlib import Path

# The folders of nvidia-cusparse for CUDA 13, and of nvidia-cusparse-cu12.
_FOLDERS = ("cu13/lib", "cu13/lib64", "cusparse/lib")


def find() -> str | None:
    """The path of libcusparse.so.12 in the installed wheels of NVIDIA; None where there is none."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return None
    for root in (spec.submodule_search_locations or []) if spec else []:
        for folder in _FOLDERS:
            library = Path(root) / folder / "libcusparse.so.12"
            if library.is_file():
                return str(library)
    return None
