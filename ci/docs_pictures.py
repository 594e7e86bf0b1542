"""Draws the pictures of docs/gallery/: every program of examples/ that knows `--picture`, in few colours to stay small.

python ci/docs_pictures.py [NAME ...]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLOURS = 64


def drawing() -> list[str]:
    """The programs that draw."""
    found = sorted((ROOT / "examples").glob("*.py"))
    return [path.stem for path in found if '"--picture"' in path.read_text(encoding="utf-8")]


def draw(name: str) -> int:
    """Runs one program on its small input; the bytes of its picture."""
    from PIL import Image

    path = ROOT / "docs" / "gallery" / f"{name}.png"
    program = ROOT / "examples" / f"{name}.py"
    subprocess.run(
        [sys.executable, program, "--picture", path], check=True, stdout=subprocess.DEVNULL
    )
    Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    return path.stat().st_size


if __name__ == "__main__":
    for each in sys.argv[1:] or drawing():
        print(f"{each}: {draw(each):,} bytes")
