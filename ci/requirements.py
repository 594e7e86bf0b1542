"""Prints requirements of pyproject.toml, one a line: `build`, `run`, or the name of an extra."""

import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
lists = {
    "build": project["build-system"]["requires"],
    "run": project["project"]["dependencies"],
    **project["project"]["optional-dependencies"],
}
for name in sys.argv[1:]:
    if name not in lists:
        sys.exit(f"no list of requirements is called {name!r}: there are {', '.join(lists)}")
    print(*(line.replace(" ", "") for line in lists[name]), sep="\n")
