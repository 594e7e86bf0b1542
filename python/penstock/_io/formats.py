"""Reading and writing: `load`, `open`, `save`, and the table of formats."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from penstock._io import (
    _append,
    dimacs,
    edge_list,
    gapbs,
    harwell_boeing,
    hmetis,
    matrix_market,
    metis,
    parquet,
    scipy_npz,
    store,
)
from penstock._io._entries import first_lost, too_large
from penstock._io._errors import broken, inflation_limit
from penstock._io._pipes import copied, is_pipe
from penstock._io.binary import anndata, emogi, galois, matlab, npy_edges, petsc, webgraph
from penstock._io.store import open_store
from penstock._matrix.csr import csr_array

_BOEING = tuple(f".{v}{s}a" for v in "ricp" for s in "ushrz")


class Format(NamedTuple):
    """A row of the table of formats."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., csr_array]
    write: Callable[..., None] | None
    packed: bool  # whether .gz may follow the suffix
    description: str
    tells: Callable[[Any], bool] | None = (
        None  # whether a file is its own, where others share the suffix
    )
    folder: bool = False  # whether it is one
    files: tuple[str, ...] = ()  # what is put behind the name, where it is no file itself


FORMATS = (
    Format("store", (".penstock",), store.load_store, store.save_store, False, "the native store, a folder"),
    Format("matrix-market", (".mtx", ".mm"), matrix_market.read, matrix_market.write, True, "Matrix Market"),
    Format("edge-list", (".txt", ".tsv", ".csv", ".el", ".wel", ".edges"), edge_list.read, edge_list.write, True,
           "edges, one a line: SNAP, CSV, GAPBS text"),
    Format("parquet", (".parquet", ".pq"), parquet.read, parquet.write, False, "edges in Parquet"),
    Format("npz", (".npz",), scipy_npz.read, scipy_npz.write, False, "SciPy's save_npz"),
    Format("arrow", (".arrow", ".feather", ".ipc"), parquet.read_arrow, parquet.write_arrow, False,
           "edges in Arrow IPC files"),
    Format("npy", (".npy",), npy_edges.read, None, False, "edges in NumPy arrays, larger than memory"),
    Format("webgraph", (".graph",), webgraph.read, None, False, "WebGraph's BVGraph", webgraph.is_webgraph),
    Format("metis", (".graph", ".metis"), metis.read, metis.write, True, "METIS and DIMACS-10 graphs"),
    Format("galois", (".gr",), galois.read, galois.write, False, "Galois' binary graphs", galois.is_galois),
    Format("dimacs", (".gr",), dimacs.read, dimacs.write, True, "DIMACS shortest-path graphs"),
    Format("harwell-boeing", (".hb", ".rb", *_BOEING), harwell_boeing.read, None, True,
           "Harwell- and Rutherford-Boeing"),
    Format("gapbs", (".sg", ".wsg"), gapbs.read, gapbs.write, False, "GAPBS serialized graphs"),
    Format("hmetis", (".hgr",), hmetis.read, hmetis.write, True, "hMETIS hypergraphs, nets x cells"),
    Format("emogi", (".bel", *(f".bel{part}" for part in emogi.PARTS)), emogi.read, emogi.write, False,
           "EMOGI's graphs", files=emogi.PARTS[:2]),
    Format("petsc", (".petsc", ".dat"), petsc.read, petsc.write, False, "PETSc's binary matrices"),
    Format("matlab", (".mat",), matlab.read, None, False, "MATLAB's .mat, versions 4 to 7.3"),
    Format("h5ad", (".h5ad",), anndata.read_h5ad, None, False, "AnnData, observations x variables"),
    Format("10x", (".h5",), anndata.read_10x, None, False, "10x Genomics, barcodes x features"),
    Format("zarr", (".zarr",), anndata.read_zarr, None, False, "AnnData in Zarr, a folder", folder=True),
)  # fmt: skip


def find_format(path: Any, name: str | None = None, *, writing: bool = False) -> Format:
    """The row of the table for a name, or for the suffix of a path. Where several formats share a suffix, a
    file that is read tells by itself, and all but one are written only by name."""
    if name is not None:
        for row in FORMATS:
            if row.name == name:
                return row
        raise ValueError(f"format={name!r}: choose one of {', '.join(row.name for row in FORMATS)}")
    text = os.fspath(path).lower().rstrip("/")
    packed = text.endswith(".gz")
    text = os.path.basename(text.removesuffix(".gz"))
    for row in FORMATS:
        if not any(text.endswith(s) and len(text) > len(s) for s in row.suffixes):
            continue
        if row.tells is not None and (
            writing or packed or not os.path.isfile(path) or not row.tells(path)
        ):
            continue
        if packed and not row.packed:
            raise broken(path, f"a packed {row.name} file is not read: unpack it with gunzip first")
        return row
    known = ", ".join(s for row in FORMATS for s in row.suffixes if s not in _BOEING)
    suffix = os.path.splitext(text)[1]
    raise broken(
        path, f"the suffix {suffix!r} is not known: rename it, or pass format=; known are {known}"
    )


def is_there(path: Any, name: str | None = None) -> bool:
    """Whether there is a file or folder, or what a format keeps in several files."""
    if os.path.exists(path):
        return True
    try:
        row = find_format(path, name)
    except ValueError:
        return False
    return any(os.path.exists(f"{os.fspath(path)}{end}") for end in row.files)


def _require_there(path: Any, row: Format) -> None:
    """Refuses a name with nothing behind it, and a folder for a file."""
    if row is store_row:
        return
    if row.files:
        return  # the reader says which of its files is missing
    if row.folder != os.path.isdir(path) or not (row.folder or os.path.isfile(path)):
        raise broken(
            path,
            "is not a folder, as this format is"
            if row.folder
            else "is a folder and not a store"
            if os.path.isdir(path)
            else "is not a file, but a device or a socket: save what it gives to a file first",
        )


def _of_pipe(path: Any, name: str | None) -> Format:
    """The format of what comes through a pipe, which is one file."""
    if name is None:
        try:
            row = find_format(path)
        except ValueError:
            raise broken(
                path,
                "is a pipe, whose name does not tell the format: pass format= (--from of convert and info), or save it "
                "to a file first",
            ) from None
    else:
        row = find_format(path, name)
    if row is store_row or row.folder or row.files or row.name == "webgraph":
        raise broken(path, f"is a pipe, and {row.name} is more than one file: give their name")
    return row


def _call(function: Callable[..., Any], row: Format, path: Any, *args: Any, **options: Any) -> Any:
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind == p.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise TypeError(
                f"{path}: format {row.name} has no option {name!r}; it has: {', '.join(known) or 'none'}"
            )
    return function(path, *args, **options)


def load(path: str | os.PathLike[str], *, format: str | None = None, dtype: Any = None,
         max_rows: int | None = None, max_inflation: float | None = None, **options: Any) -> csr_array:  # fmt: skip
    """Reads a matrix or graph of any format into memory.

    Parameters
    ----------
    path : a file, packed with gzip or not, or the folder of a store
        What comes through a pipe (/dev/stdin, a FIFO) is copied to a temporary file first, and needs `format`.
    format : optional
        A name of docs/formats.md; by default the suffix decides.
    dtype : optional
        Of the values: bool (only the pattern), float32, float64, complex64 or complex128. By default float64 or
        complex128, and a pattern where the file has no values. Integers must fit float64 exactly.
    max_rows : optional
        The most rows to accept. By default a matrix of over 2^24 rows with fewer than one entry in 1024 of them is
        refused, since it is nearly always a damaged header, and row offsets take 8 bytes a row.
    max_inflation : float, optional
        How many times its own size a packed file (gzip, .npz, Parquet) may unpack to; 200 where it is None, and 256 MiB
        are always allowed. `math.inf` allows everything.

    Other Parameters
    ----------------
    directed, base, shape, columns, separator, header : options of edge lists
        directed=False adds the mirror of every edge; base is the first id (0); shape is (rows, cols) where the
        largest id does not tell;
        columns are the places of source, target and weight; header says whether a CSV has a first
        line of names (by default: if nothing on it is an integer).
    duplicates : "sum", "min", "max" or "keep", option of edge lists and DIMACS graphs
        What becomes of an entry that is given twice. Sums, as in SciPy, but "min" for DIMACS.
    weighted : option of GAPBS graphs
    layer, key, variable, weights, scalar, target, weight, offsets, extra : options of other formats
        docs/formats.md has them.

    Raises ValueError for a file that cannot be read, with its name, the line, what is wrong and what to do about it;
    FileNotFoundError for a missing one. NaN and infinities are numbers here.

    >>> import pathlib, tempfile, penstock as ps
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "graph.txt")
    >>> _ = path.write_text("# a triangle\\n0 1\\n1 2\\n2 0\\n")
    >>> ps.load(path, directed=False)
    <3x3 csr_array, pattern, 6 stored values, 56 B, host memory>
    >>> folder.cleanup()
    """
    stored = store.is_store(path)  # which puts one back
    if not stored and not is_there(path, format):
        raise FileNotFoundError(f"{os.fspath(path)}: there is no such file")
    if is_pipe(path):
        row = _of_pipe(path, format)
        given: dict[str, Any] = {
            "dtype": dtype,
            "max_rows": max_rows,
            "max_inflation": max_inflation,
        }
        with copied(path, row.suffixes[0]) as copy:
            return load(copy, format=row.name, **given, **options)
    row = store_row if format is None and stored else find_format(path, format)
    _require_there(path, row)
    with inflation_limit(max_inflation):
        a = _call(row.read, row, path, dtype=dtype, max_rows=max_rows, **options)
    if dtype is None or np.dtype(dtype) == a.dtype:
        return a
    try:
        with np.errstate(over="ignore"):
            made = a.astype(dtype)
    except (TypeError, ValueError) as error:
        raise broken(path, str(error)) from error
    if (k := first_lost(a.data, made.data)) is not None:
        raise broken(path, f"entry {k}: {too_large(a.data[k], made.dtype)}")
    return made


def open(
    path: str | os.PathLike[str], *, validate: bool = False, trusted: bool = False
) -> csr_array:
    """Maps a store into memory, in milliseconds whatever its size; larger than memory is fine.

    A store is input. Opening looks at the header, the sizes of the files and a sample of the entries. The first use
    that reads entries checks all row offsets and columns, once, in at most the time of a product: nothing that a store
    holds makes a call read or write outside its arrays. A range of rows, A[i:j], checks these rows alone.

    Parameters
    ----------
    path : str or PathLike
        The store, a folder.
    validate : bool
        Check all of this now, and compare every checksum, those of the values among them.
    trusted : bool
        Check nothing at the first use: for stores that this program has written itself. A damaged one may then end the
        process.

    The files must not be changed in place while the matrix is in use. Replacing the store with `save` is safe, also in
    the middle of opening, because the old files live on until nobody maps them. A file that has been cut is refused by
    the next call; one that is cut while a call reads it ends the process, as the system does not tell otherwise.

    Raises ValueError where the store is damaged, with the file and what to do; FileNotFoundError for a missing one.

    >>> import os, tempfile, penstock as ps
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "a.penstock")
    >>> ps.csr_array(([1.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 2)).save(path)
    >>> ps.open(path)
    <2x2 csr_array, float64, 2 stored values, 48 B, mapped memory>
    >>> folder.cleanup()
    """
    return open_store(path, validate=validate, trusted=trusted)


def save(
    path: str | os.PathLike[str], A: Any, *, format: str | None = None, **options: Any
) -> None:
    """Writes a matrix: the native store (`.penstock`), or the format that the suffix or `format` names; `.gz` packs it.

    The file appears whole or not at all, and what it replaces stays until then; its mode stays, too. A store that also
    holds files which are not its own is not replaced, a FIFO or a character device is written to, and block devices and
    sockets are refused (ValueError). Options: `base` of edge lists,
    `compressed` of .npz, `directed` of GAPBS graphs, `packed` of the native store: True adds the packed form, in which
    columns take few bits and values the shortest type that holds them exactly, so that less travels to GPUs; "only"
    leaves the CSR arrays out, which `open` then unpacks into memory; `sample` of the native store, for graphs: the 4, 8
    or 16 neighbours of highest degree of each vertex (4 bytes a slot), which searches on a GPU ask first and need not
    look for after `open`. None writes those that a graph was opened with or that a GPU has looked for, True looks for 4
    where there are none, a number for as many, False leaves them out; `lists` of the native store, for graphs: packed
    neighbour lists, 4 to 17 bits an edge, which searches on GPUs and, of graphs larger than memory, on the CPU read
    where they lie. None writes those that a graph was opened with, True packs them where there are none, False leaves
    them out. Raises ValueError where a format cannot hold the matrix.
    """
    row = find_format(path, format, writing=True)
    if row.write is None:
        raise broken(path, f"{row.name} files are only read: save as .mtx or .penstock")
    _call(
        row.write, row, path, A if isinstance(A, csr_array) else csr_array(A, copy=False), **options
    )


def save_blocks(
    path: Any, shape: tuple[int, int], dtype: np.dtype, blocks: Iterable[csr_array]
) -> csr_array:
    """Consecutive blocks of rows as one native store, which is then mapped."""
    _append.save_blocks(path, shape, dtype, blocks)
    return open_store(path)


store_row = FORMATS[0]
__all__ = ["FORMATS", "Format", "find_format", "load", "open", "save"]
