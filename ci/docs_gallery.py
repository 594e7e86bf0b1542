"""For mkdocs alone: the gallery, out of examples/ and docs/gallery/: a page for each program, one of all pictures."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
INDEX = "gallery/index.md"
HERE = "<!-- the programs of examples/ -->"


@dataclass(frozen=True)
class Example:
    """A program: its docstring begins with a title, and after a colon comes its story."""

    name: str
    title: str
    story: str
    code: str

    @property
    def page(self) -> str:
        return f"gallery/{self.name}.md"

    def text(self, pictured: bool) -> str:
        """The page."""
        parts = [f"# {self.title}"]
        if pictured:
            parts.append(f"![{self.title}]({self.name}.png){{ .drawn }}")
        parts += [self.story, f"The whole program, `examples/{self.name}.py`:"]
        parts.append(f"```python\n{self.code.strip()}\n```")
        return "\n\n".join(parts) + "\n"


def example(path: Path) -> Example:
    """What a program says of itself."""
    source = path.read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(source)) or ""
    head, _, rest = doc.partition("\n\n")
    title, _, said = " ".join(head.split()).rstrip(".").partition(": ")
    story = f"{said[:1].upper()}{said[1:]}.\n\n{rest}" if said else rest
    code = re.sub(r'\A""".*?"""\n', "", source, count=1, flags=re.DOTALL)
    return Example(path.stem, title, story.strip(), code)


def examples(folder: Path = ROOT / "examples") -> list[Example]:
    """All programs; those with a picture first."""
    found = [example(path) for path in sorted(folder.glob("*.py"))]
    return sorted(found, key=lambda one: not pictured(one.name))


def pictured(name: str) -> bool:
    return (ROOT / "docs" / "gallery" / f"{name}.png").is_file()


def cards(found: list[Example]) -> str:
    """The pictures, each a link to its program."""
    lines = ['<div class="gallery" markdown>\n']
    for one in found:
        face = f"![]({one.name}.png)" if pictured(one.name) else ""
        lines.append(f"[{face}<span>{one.title}</span>]({one.name}.md){{ .card }}")
    return "\n".join([*lines, "\n</div>"])


def on_config(config: Any, **_: Any) -> Any:
    for group in config.nav:
        if group.get("Gallery") == INDEX:
            group["Gallery"] = [INDEX, *({one.title: one.page} for one in examples())]
    return config


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    from mkdocs.structure.files import File

    for one in examples():
        text = one.text(pictured(one.name))
        files.append(File.generated(config, one.page, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    if page.file.src_uri != INDEX:
        return markdown
    return markdown.replace(HERE, cards(examples()))
