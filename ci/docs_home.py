"""For mkdocs alone: the home page ends with README.md, whose links are those of the repository's root."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

HERE = "<!-- README.md, from its figure on -->"

# Pages of docs/ that show a file of the root.
SHOWN = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}


def from_docs(text: str) -> str:
    """The text with links that start in docs/. A file that is no page becomes plain text.

    >>> from_docs("[GPUs](docs/gpu.md), [contributing](CONTRIBUTING.md), [Apache-2.0](LICENSE)")
    '[GPUs](gpu.md), [contributing](contributing.md), Apache-2.0'
    """

    def moved(link: re.Match[str]) -> str:
        words, target = link.groups()
        if "://" in target or target.startswith("#"):
            return link.group()
        page = SHOWN.get(target) or target.removeprefix("docs/")
        return f"{words}({page})" if page != target else words.strip("[]")

    return re.sub(r"(\[[^\]]*\])\(([^)\s]+)\)", moved, text)


def beneath(readme: str) -> str:
    """What the home page shows of README.md: all but its title and its first words, which the page has in its own way.

    >>> beneath("# Title\\n\\nWords.\\n\\nOne number: 1.\\n")
    'One number: 1.\\n'
    """
    return from_docs(readme[readme.index("One number:") :])


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    if page.file.src_uri != "index.md":
        return markdown
    return markdown.replace(HERE, beneath((ROOT / "README.md").read_text(encoding="utf-8")))
