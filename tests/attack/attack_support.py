"""What attacks share."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run_alone(code: str, *args: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs code that may end its process in one of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)
