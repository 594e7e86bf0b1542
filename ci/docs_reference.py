"""For mkdocs alone: a page for each public name, out of the list in docs/api.md, and the navigation that leads there.

api.md stays the one list. Each `::: name` of it becomes a page of its own, and so does each row of its table of
compiled names; on api.md itself a table with the first sentence of each docstring takes their place.
"""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "ci"))
from docs_stub import NAMES  # noqa: E402

LIST = "api.md"
FOLDER = "reference"
ROW = re.compile(r"^\| `ps\.([\w.]+)[^`]*` \| (.*) \|$", re.MULTILINE)


@dataclass
class Entry:
    """A public name: `path` is where its source is ("" where none can be read), `options` what mkdocstrings gets."""

    name: str
    path: str
    options: str = ""
    words: str = ""  # of its row, for names that are listed in a table
    above: str = ""  # the paragraph above the table

    @property
    def page(self) -> str:
        return f"{FOLDER}/{self.name}.md"

    def text(self) -> str:
        """The page."""
        options = self.options or f"    options:\n      heading: {self.name}\n"
        if "heading:" not in options:
            options += f"      heading: {self.name}\n"
        if not self.words:
            return f"::: {self.path}\n{options}"
        words = re.sub(r"\]\((?!https?:)", "](../", self.words)
        above = re.sub(r"\]\((?!https?:)", "](../", self.above)
        if not self.path:
            return f"# {self.name}\n\n{words[0].upper()}{words[1:]}.\n\n{above}\n"
        options += "      show_bases: true\n"
        return f"::: {self.path}\n{options}\n{words[0].upper()}{words[1:]}.\n"


@dataclass
class Section:
    """A heading of the list, and the entries beneath it."""

    title: str
    entries: list[Entry] = field(default_factory=list)


def sections(text: str) -> list[Section]:
    """The public names of the list, by its headings.

    >>> found = sections("# A\\n\\n::: p.f\\n\\n# B\\n\\n::: p._g\\n    options:\\n      heading: p.g\\n")
    >>> [(section.title, [entry.name for entry in section.entries]) for section in found]
    [('A', ['p.f']), ('B', ['p.g'])]
    """
    found: list[Section] = []
    for part in re.split(r"^(?=# )", text, flags=re.MULTILINE):
        if not part.startswith("# "):
            continue
        section = Section(part[2:].partition("\n")[0])
        for path, options in directives(part):
            name = re.search(r"heading: ([\w.]+)", options)
            section.entries.append(Entry(name[1] if name else path, path, options))
        for short, words, above in rows(part):
            last = short.rpartition(".")[2]
            path = f"penstock._core.{last}" if last in NAMES else ""
            section.entries.append(Entry(f"penstock.{short}", path, "", words, above))
        found.append(section)
    return found


def rows(text: str) -> list[tuple[str, str, str]]:
    """(name, what its row says, the paragraph above the table) of names that are listed in tables.

    >>> rows("These are SciPy's.\\n\\n| name | it uses |\\n| --- | --- |\\n| `ps.linalg.inv` | the entries |\\n")
    [('linalg.inv', 'it uses: the entries', "These are SciPy's.")]
    """
    found, above = [], ""
    for part in text.split("\n\n"):
        head = part.strip().split("\n")[0]
        column = head.strip("| ").rpartition("| ")[2]
        says = f"{column}: " if column != "what it is" else ""
        found += [(name, says + words, above) for name, words in ROW.findall(part)]
        above = "" if head.startswith(("|", "#", ":::")) else part
    return found


def directives(text: str) -> list[tuple[str, str]]:
    """(name, the indented lines after it) of each `:::`."""
    found = re.findall(r"^::: ([\w.]+)\n((?:    .*\n)*)", text + "\n", re.MULTILINE)
    return [(name, options) for name, options in found]


def overview(text: str, listed: str, first: dict[str, str]) -> str:
    """A page with tables of links in the place of directives. `listed` is the list, `first` what is said of a name."""
    names = {e.path: e for section in sections(listed) for e in section.entries if e.path}
    out: list[str] = []
    table = False
    for line in text.split("\n"):
        if line.startswith("::: "):
            entry = names[line[4:].strip()]
            if not table:
                out += ["| name | what it is |", "| --- | --- |"]
            table = True
            short = entry.name.replace("penstock", "ps", 1)
            out.append(f"| [`{short}`]({entry.page}) | {first.get(entry.name, '')} |")
        elif table and (not line or line.startswith("    ")):
            continue  # options, and the lines between directives
        else:
            row = ROW.fullmatch(line)
            if table:
                out.append("")
            table = False
            if row:
                line = re.sub(
                    r"`(ps\.([\w.]+)[^`]*)`", rf"[`\1`]({FOLDER}/penstock.\2.md)", line, count=1
                )
            out.append(line)
    return "\n".join(out)


def navigation(text: str) -> list[dict[str, Any]]:
    """What mkdocs.yml would say, had it a line for each name."""
    found: list[dict[str, Any]] = []
    for section in sections(text):
        # Without "penstock.", so that a name is found by its first letters.
        pages = [{entry.name.removeprefix("penstock."): entry.page} for entry in section.entries]
        found.append({section.title: pages})
    return [{"All names": LIST}, *found]


@functools.cache
def first_sentences(text: str) -> dict[str, str]:
    """What the docstring of each name begins with, read from the sources."""
    import griffe

    extensions = griffe.load_extensions(str(ROOT / "ci" / "docstrings.py"))
    package = griffe.load(
        "penstock", search_paths=[ROOT / "python"], allow_inspection=False, extensions=extensions
    )
    said: dict[str, str] = {}
    for section in sections(text):
        for entry in section.entries:
            if entry.words:
                continue  # the list says it
            try:
                item = package[entry.path.partition(".")[2]]
                doc = item.docstring.value if item.docstring else ""
            except (KeyError, griffe.AliasResolutionError):
                doc = ""
            head = " ".join(doc.split("\n\n")[0].split())
            said[entry.name] = head.replace("|", r"\|")
    return said


def on_config(config: Any, **_: Any) -> Any:
    listed = (ROOT / "docs" / LIST).read_text(encoding="utf-8")
    for group in config.nav:
        if group.get("Reference") == LIST:
            group["Reference"] = navigation(listed)
    return config


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    from mkdocs.structure.files import File

    listed = (ROOT / "docs" / LIST).read_text(encoding="utf-8")
    for section in sections(listed):
        for entry in section.entries:
            head = f"---\ntitle: {entry.name}\nsearch:\n  boost: 3\n---\n\n"
            files.append(File.generated(config, entry.page, content=head + entry.text()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    if "\n::: " not in markdown or page.file.src_uri.startswith(FOLDER):
        return markdown
    listed = (ROOT / "docs" / LIST).read_text(encoding="utf-8")
    return overview(markdown, listed, first_sentences(listed))
