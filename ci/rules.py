#!/usr/bin/env python3
"""The house rules that no linter knows: python ci/rules.py [FILE ...] (all tracked files by default).

Prints one line per fault, `path:line: rule: remedy`, and exits with 1 if there is any. A line that must break a
rule says `rules: ok` and why. Needs nothing but Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The rooms of src/penstock: a room may include itself and the rooms before it.
FOLDERS = [
    *["core", "format", "semiring"],
    *["kernel", "kernel/vectors", "kernel/basis", "kernel/structure", "kernel/spmv", "kernel/spmm"],
    *["kernel/spgemm", "kernel/cusparse"],
    *["schedule", "schedule/probe", "schedule/device"],
    *[
        "graph",
        "graph/gpu",
        "graph/gpu/pack",
        "graph/bfs",
        "graph/cc",
        "graph/sssp",
        "graph/triangles",
    ],
    *["graph/pagerank", "graph/betweenness", "graph/community", "graph/similarity", "graph/truss"],
    "graph/dynamic",
    *["partition", "comm", "comm/mpi"],
    *["dist/share", "dist/link", "dist/halo", "dist/product", "dist/graph", "dist/tile"],
    *["solver", "solver/precondition", "solver/multigrid"],
    *["solver/multigrid/gpu", "solver/krylov"],
    *["io", "io/generate", "io/generate/models", "io/webgraph"],
    *["graph/sample"],
    *["bind", "bind/product", "bind/solve", "bind/graph", "bind/dist"],
]
CPP = {".cpp", ".hpp", ".cu", ".cuh", ".in"}
TEXT = CPP | {
    ".py",
    ".md",
    ".toml",
    ".cmake",
    ".txt",
    ".json",
    ".yaml",
    ".yml",
    ".cff",
    ".sh",
    ".pyi",
    "",
}
MAX_LINES = 500

INCLUDE = re.compile(r'^\s*#\s*include\s*"penstock/([\w/]+)/[\w.]+"')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")
PRINTS = re.compile(
    r"\b(?:f|v|vf)?printf\s*\(|\b(?:f?puts|putchar|perror)\s*\(|\bstd::(?:cout|cerr|clog)\b"
)
EXITS = re.compile(
    r"(?<![\w.>])(?:std::|::)?(?:_?exit|quick_exit|abort|terminate)\s*\(|\bMPI_Abort\b"
)
CUDA_MEMORY = re.compile(r"\bcuda(?:Malloc\w*|HostAlloc|HostRegister|Free\w*)\s*\(")
MPI = re.compile(r"\bMPI_\w+")
NATIVE = re.compile(r"-m(?:arch|tune|cpu)=native")
# Split so that this file does not break its own rule: folders of one machine, which say nothing to a reader.
MACHINE_PATHS = re.compile("/" + r"(?:work|farm)/")


def strip_comment(line: str) -> str:
    """The code of a line: without // comments and without what stands between double quotes.

    >>> strip_comment('f("abort()");  // exit()')
    'f("");  '
    """
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0]


def folder_of(path: str) -> str | None:
    """The room of src/penstock that holds a file; None outside it.

    >>> folder_of("src/penstock/kernel/spmv/spmv.hpp")
    'kernel/spmv'
    """
    parts = path.split("/")
    return "/".join(parts[2:-1]) if parts[:2] == ["src", "penstock"] and len(parts) > 3 else None


def check_library_line(folder: str, path: str, line: str) -> Iterator[str]:
    code = strip_comment(line)
    if included := INCLUDE.match(line):
        other = included[1]
        if folder in FOLDERS and other in FOLDERS and FOLDERS.index(other) > FOLDERS.index(folder):
            yield f"folder order: {folder}/ may not include {other}/, which comes after it"
        elif other not in FOLDERS:
            yield f"folder order: {other}/ is not in the list of folders (ci/rules.py)"
    if PRINTS.search(code):
        yield "no printing in the library: throw penstock::Error, or return the text"
    if EXITS.search(code):
        yield "no exit in the library: throw penstock::Error"
    if folder != "core" and CUDA_MEMORY.search(code):
        yield "no CUDA allocation outside core/: use penstock::allocate"
    if folder.split("/")[0] not in ("comm", "dist") and MPI.search(code):
        yield "no MPI outside comm/ and dist/: use penstock::Comm"
    if not path.endswith("core/config.hpp.in") and CONDITIONAL.match(line):
        yield "no preprocessor conditions: use core/config.hpp and if constexpr"


def check_text(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, fault) for every broken rule; `path` is relative to the root of the repository."""
    lines = text.splitlines()
    suffix = Path(path).suffix
    folder = folder_of(path)
    if len(lines) > MAX_LINES and (suffix in CPP or suffix == ".py"):
        yield MAX_LINES + 1, f"{len(lines)} lines, at most {MAX_LINES}: split the file by subject"
    header = suffix in (".hpp", ".cuh") or path.endswith(".hpp.in")
    if header and not any(line.strip() == "#pragma once" for line in lines):
        yield 1, "a header without #pragma once: add it as the first line"
    if folder is not None and suffix in CPP and folder not in FOLDERS:
        yield 1, f"folder order: {folder}/ is not in the list of folders (ci/rules.py)"
    for number, line in enumerate(lines, 1):
        if "rules: ok" in line:
            continue
        if MACHINE_PATHS.search(line):
            yield number, "a path of one machine: make it relative or an option"
        if NATIVE.search(line) and suffix != ".md":
            yield number, "code for this processor alone: choose SIMD paths at run time"
        if folder is not None and suffix in CPP:
            for fault in check_library_line(folder, path, line):
                yield number, fault


def tracked_files() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # an archive without .git
        files = (p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file())
        # What a build leaves at the root; folders of these names deeper down are the project's own.
        hidden = {".venv", "build", "dist", ".git"}
        return sorted(str(p) for p in files if p.parts[0] not in hidden)
    return done.stdout.splitlines()


def main(arguments: list[str]) -> int:
    names = [str(Path(a).resolve().relative_to(ROOT)) for a in arguments] or tracked_files()
    faults = read = 0
    for name in names:
        file = ROOT / name
        if file.suffix not in TEXT or not file.is_file() or name == "LICENSE":
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        read += 1
        for line, fault in check_text(name, text):
            faults += 1
            print(f"{name}:{line}: {fault}")
    print(f"rules: {read} files, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
