"""What `penstock probe --mpi` runs on every rank: measures, and writes the result where it is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from penstock.dist import _calibrate, world


def main(file: str) -> None:
    comm = world()
    facts = _calibrate.calibrate(comm)
    if comm.rank == 0:
        Path(file).write_text(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1])
