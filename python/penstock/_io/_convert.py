"""From a file to another, and where the formats allow it without the matrix in memory."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import Any

import numpy as np

from penstock._io._append import Growing
from penstock._io._atomic import atomic_folder
from penstock._io._errors import broken, inflation_limit
from penstock._io.binary.webgraph import open_graph
from penstock._io.formats import find_format, load, save
from penstock._io.store import FILES, HEADER, describe, is_store, open_store, require_replaceable


def streams(source: Any, out: Any, *, format: str | None = None, to: str | None = None, dtype: Any = None,
            sample: Any = None, **options: Any) -> bool:  # fmt: skip
    """Whether `convert` needs no matrix in memory: from WebGraph's graphs to a store."""
    if not os.path.isfile(source) or sample or not (dtype is None or np.dtype(dtype) == np.bool_):
        return False
    if options.keys() - {"max_rows", "max_inflation", "offsets"}:
        return False  # `load` says what is wrong with them
    return (
        find_format(source, format).name == "webgraph"
        and find_format(out, to, writing=True).name == "store"
    )


def convert(source: str | os.PathLike[str], out: str | os.PathLike[str], *, format: str | None = None,
            to: str | None = None, dtype: Any = None, packed: bool | str = False, sample: bool | int | None = None,
            lists: bool | None = None, **options: Any) -> None:  # fmt: skip
    """Reads a matrix or graph in one format and writes it in another.

    A graph of WebGraph's goes to a store block by block: in memory are 16 bytes a vertex and some blocks of 2 MiB a
    thread, whatever the number of edges. Other formats are read as `load` does, and written as `save` does.

    Parameters
    ----------
    source, out : str or PathLike
        A file, or the folder of a store.
    format, to : str, optional
        Their formats, where the suffix does not tell: names of docs/formats.md.
    dtype : optional
        Of the values, as in `load`.
    packed, sample, lists : options of stores, as in `save`
    **options : of the format that is read, as in `load`

    Raises ValueError and FileNotFoundError as `load` and `save` do.

    >>> import pathlib, tempfile, penstock as ps
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name)
    >>> _ = path.joinpath("a.txt").write_text("0 1\\n1 2\\n2 0\\n")
    >>> ps.convert(path / "a.txt", path / "a.penstock", directed=False, packed=True)
    >>> ps.open(path / "a.penstock").nnz
    6
    >>> folder.cleanup()
    """
    if streams(source, out, format=format, to=to, dtype=dtype, sample=sample or lists, **options):
        stream_webgraph(source, out, packed=packed, **options)
        return
    if format is None and dtype is None and not options and is_store(source):
        a = open_store(source)
    else:
        a = load(source, format=format, dtype=dtype, **options)
    given = {"packed": packed or None, "sample": sample, "lists": lists}
    save(out, a, format=to, **{name: value for name, value in given.items() if value is not None})


def stream_webgraph(source: Any, out: Any, *, packed: bool | str = False, max_rows: int | None = None,
                    max_inflation: float | None = None, offsets: bool | None = None) -> None:  # fmt: skip
    """A store with the same bytes as `save` makes of the loaded graph, whole or not at all."""
    if packed not in (False, True, "only"):
        raise ValueError(f"packed={packed!r}: give True, False or 'only'")
    folder = os.fspath(out)
    require_replaceable(folder)
    with inflation_limit(max_inflation):
        graph, said = open_graph(source, max_rows, offsets)
    kinds = {"indices": np.int32, "indptr": np.int64, "data": np.uint8} if packed != "only" else {}
    if packed:
        kinds |= {"packed": np.uint8, "packed_directory": np.int64}
    with atomic_folder(folder, FILES) as part:
        files = {name: Growing(part, name, kind) for name, kind in kinds.items()}
        try:
            _fill(source, graph, files)
        finally:
            for file in files.values():
                file.close()
        form = None
        if packed:
            bits = 8 * files["packed"].size / said.arcs if said.arcs else 0.0
            form = SimpleNamespace(value_kind="none", bits_per_nonzero=bits)
        whole: Any = SimpleNamespace(
            shape=(said.nodes, said.nodes), nnz=said.arcs, dtype=np.dtype(bool)
        )
        crc32 = {name: file.crc32 for name, file in files.items()}
        with open(os.path.join(part, HEADER), "x", encoding="utf-8") as text:
            json.dump(describe(whole, crc32, form), text, indent=2)
            text.write("\n")
            text.flush()
            os.fsync(text.fileno())


def _fill(source: Any, graph: Any, files: dict[str, Growing]) -> None:
    while not graph.packed:
        try:
            blocks, columns = graph.pack_next()
        except ValueError as error:
            raise broken(source, str(error)) from error
        if "packed" in files:
            for block in blocks:
                files["packed"].add(block)
        if "indices" in files:
            files["indices"].add(columns)
    if "packed" in files:
        files["packed_directory"].add(graph.directory())
    if "indices" in files:
        files["indptr"].add(graph.indptr)
        files["data"].add(np.ones(1, np.uint8))
