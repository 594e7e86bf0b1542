"""What the commands share: output, progress, errors, numbers in words."""

from __future__ import annotations

import contextlib
import json as _json
import os
import sys
import threading
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from penstock._plan.report import human_bytes

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
PLAIN_WIDTH = 100  # columns where stdout is not a terminal
PATIENCE = 0.7  # seconds before a progress bar appears


class InputError(Exception):
    """Bad usage or input: exit code 2."""


class OperationError(Exception):
    """The operation failed: exit code 1."""


def explain_error(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and one line about it."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    import penstock

    bad_input = (
        InputError,
        ValueError,
        TypeError,
        FileNotFoundError,
        FileExistsError,
        IsADirectoryError,
    )
    if isinstance(error, (*bad_input, NotADirectoryError, PermissionError)):
        return 2, text
    if isinstance(error, (OperationError, OSError, penstock.NotCompiledError)):
        return 1, text
    if isinstance(error, MemoryError):
        return 1, text or "out of memory"
    if isinstance(error, ModuleNotFoundError):
        return 1, f"{text}: `penstock doctor` says what to install"
    return 1, f"{type(error).__name__}: {text} (add --debug for the traceback)"


def complain(text: str) -> None:
    print(f"penstock: {text}", file=sys.stderr, flush=True)


def console(stderr: bool = False) -> Any:
    """rich's console: plain text of a fixed width where it does not write to a terminal. It takes text as it is: names
    of files may look like markup ("[red]a.mtx") or emoji (":smile:.mtx"), so styles are arguments here, never words."""
    from rich.console import Console

    plain: dict[str, Any] = {"stderr": stderr, "highlight": False, "markup": False, "emoji": False}
    c = Console(**plain)
    if not c.is_terminal and "COLUMNS" not in os.environ:
        return Console(**plain, width=PLAIN_WIDTH)
    return c


def table(*columns: str) -> Any:
    """A table whose first column is text and whose others are numbers."""
    from rich import box
    from rich.table import Table

    t = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for n, name in enumerate(columns):
        t.add_column(name, justify="right" if n else "left", no_wrap=True)
    return t


def headline(out: Any, name: str, words: str) -> None:
    """A name in bold and what there is to say of it, on one line whatever its length."""
    from rich.text import Text

    out.print(Text.assemble((name, "bold"), ": ", words), soft_wrap=True)


def heading(out: Any, words: str) -> None:
    """Above a table of its own."""
    out.print(f"\n{words}", style="bold")


def marked(words: str, best: bool) -> Any:
    """A cell that stands out where it is the best one's."""
    from rich.text import Text

    return Text(words, style="bold" if best else "")


def facts(rows: dict[str, str]) -> Any:
    """Name and value, one pair a line."""
    from rich.table import Table
    from rich.text import Text

    t = Table.grid(padding=(0, 2))
    t.add_column(style="dim", no_wrap=True)
    t.add_column(overflow="fold")
    for name, value in rows.items():
        t.add_row(name, Text(value))
    return t


def emit_json(value: Any, stderr: bool = False) -> None:
    """Numbers that JSON does not have (NaN, infinity) become null."""
    text = _json.dumps(_plain(value), indent=2, allow_nan=False)
    print(text, file=sys.stderr if stderr else sys.stdout)


def _plain(value: Any) -> Any:
    import dataclasses

    import numpy as np

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


class Steps:
    """A progress bar over a known number of steps, on stderr and gone when done."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task, self._done = bar, task, -1

    def next(self, what: str) -> None:
        """The step before is finished, `what` begins."""
        self._done += 1
        if self._bar:
            self._bar.update(self._task, description=what, completed=self._done)

    def within(self, fraction: float) -> None:
        """How far the current step is."""
        if self._bar:
            self._bar.update(self._task, completed=self._done + fraction)


@contextlib.contextmanager
def progress(steps: int, quiet: bool = False) -> Iterator[Steps]:
    """Appears after PATIENCE seconds; nothing where `quiet`, or where stdout or stderr is not a
    terminal."""
    err = console(stderr=True)
    if quiet or not err.is_terminal or not sys.stdout.isatty():
        yield Steps(None, None)
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    what = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), what, BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=err, transient=True)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield Steps(bar, bar.add_task("", total=steps))
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def seconds(s: float) -> str:
    """
    >>> seconds(0.01234), seconds(2.5), seconds(3e-6)
    ('12.3 ms', '2.50 s', '3.0 us')
    """
    if s >= 1:
        return f"{s:.2f} s"
    return f"{s * 1e3:.3g} ms" if s >= 1e-3 else f"{s * 1e6:.1f} us"


def count(n: float) -> str:
    """
    >>> count(1234567), count(2.5)
    ('1,234,567', '2.5')
    """
    return f"{n:,}" if isinstance(n, int) else f"{n:,.4g}"


def size(n: int) -> str:
    return human_bytes(n)


def plural(n: int, noun: str, many: str | None = None) -> str:
    """
    >>> plural(1, "GPU"), plural(2000, "vertex", "vertices")
    ('1 GPU', '2,000 vertices')
    """
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"
