"""Writes ci/docs_core.stub: the public names of the compiled module, out of the stub that a build makes.

    python ci/docs_stub.py python/penstock/_core.pyi

The documentation is built from it, so that nothing need be compiled. A test compares the two.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

KEPT = Path(__file__).resolve().with_name("docs_core.stub")
NAMES = (
    "PlacementError",
    "NotCompiledError",
    "CommError",
    "num_threads",
    "set_num_threads",
    "Comm",
)


def public(stub: str) -> str:
    """The imports of a stub, and what it says of NAMES.

    >>> print(public("import numpy\\nclass CommError(RuntimeError): ...\\ndef hidden(): ..."))
    import numpy
    <BLANKLINE>
    class CommError(RuntimeError):
        ...
    <BLANKLINE>
    """
    tree = ast.parse(stub)
    heads = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    kept = [node for node in tree.body if getattr(node, "name", None) in NAMES]
    return ast.unparse(ast.Module(heads, [])) + "\n\n" + ast.unparse(ast.Module(kept, [])) + "\n"


if __name__ == "__main__":
    KEPT.write_text(public(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
