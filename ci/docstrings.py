"""For mkdocs alone: marks where the items of a docstring's section end, which griffe cannot see, and hands in the names
of the compiled module, so that nothing need be compiled.

Here a paragraph after Parameters or Returns has no heading, and neither have examples: griffe takes their lines for
more items, and for text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

STUB = Path(__file__).resolve().with_name("docs_core.stub")  # by ci/docs_stub.py

_ITEMS = {"Parameters", "Other Parameters", "Returns", "Yields", "Raises", "Attributes"}


def with_headings(text: str) -> str:
    """The text with "Notes" where the items of a section end, and "Examples" where these begin."""
    lines, out, section = text.split("\n"), [], ""
    for n, line in enumerate(lines):
        heads = n + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[n + 1])
        if heads:
            section = line
        elif line.startswith(">>>") and section != "Examples":
            section = "Examples"
            out += ["Examples", "--------"]
        elif section in _ITEMS and n and not lines[n - 1] and line and not line.startswith(" "):
            section = "Notes"
            out += ["Notes", "-----"]
        out.append(line)
    return "\n".join(out)


def one_by_one(text: str) -> str:
    """The text with an item for each of several names that share one: griffe gives all of them the first one's default.

    >>> print(one_by_one("Parameters\\n----------\\na, b : int\\n    Words."))
    Parameters
    ----------
    a : int
        Words.
    b : int
        Words.
    """
    shared = re.compile(r"^(\w+(?:, \w+)+) : (.+)\n((?: +.*\n?)*)", re.MULTILINE)

    def apart(item: re.Match[str]) -> str:
        names, kind, words = item.groups()
        words = words if not words or words.endswith("\n") else words + "\n"
        return "".join(f"{name} : {kind}\n{words}" for name in names.split(", "))

    return shared.sub(apart, text + "\n")[:-1]


class Headings(griffe.Extension):  # type: ignore[misc]
    def on_instance(self, *, obj: Any, **_: Any) -> None:
        if not obj.is_alias and obj.docstring is not None:
            obj.docstring.value = one_by_one(with_headings(obj.docstring.value))

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        code = STUB.read_text(encoding="utf-8")
        pkg.set_member("_core", griffe.visit("_core", filepath=STUB, code=code, parent=pkg))
