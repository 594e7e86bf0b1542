"""The command line: `penstock demo | info | convert | generate | multiply | solve | doctor`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The entry point. Exit codes: 0 done, 1 the operation failed, 2 bad usage or input, 130
    interrupted."""
    try:
        from penstock.cli.app import app

        app()
    except KeyboardInterrupt:  # during the imports; the application handles its own
        print("penstock: interrupted", file=sys.stderr, flush=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


__all__ = ["main"]
