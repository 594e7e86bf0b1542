"""The entry point of the command `penstock`: a package of its own, so that it catches Ctrl-C while Penstock is
imported."""

from __future__ import annotations

import sys


def main() -> None:
    """`penstock.cli.main`. Exit code 130, and one line on stderr, where it is interrupted."""
    try:
        from penstock.cli import main as command

        command()
    except KeyboardInterrupt:
        print("penstock: interrupted", file=sys.stderr, flush=True)
        sys.exit(130)
