"""Ranks of another program that take part in turns: told what to do through FIFOs, so that they take no CPU time while
they wait. Each reads one JSON object a line from command.RANK in a folder; rank 0 answers in `answer`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class FifoRanks:
    """`command(folder)` is the program's command line; `fill(folder)` leaves there what it reads. ImportError where it
    does not start, RuntimeError for what it answers with "error"."""

    def __init__(
        self,
        what: str,
        ranks: int,
        command: Callable[[Path], list[str]],
        fill: Callable[[Path], None],
        environment: dict[str, str],
    ) -> None:
        self.what, self.ranks = what, ranks
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-ranks-"))
        self.process: subprocess.Popen[bytes] | None = None
        self.commands: list[int] = []
        try:
            fill(self.folder)
            for name in ("answer", *(f"command.{r}" for r in range(ranks))):
                os.mkfifo(self.folder / name)
            self.process = subprocess.Popen(
                command(self.folder),
                env=environment,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            for r in range(ranks):
                self.commands.append(self._open(f"command.{r}"))
            self.answers = os.fdopen(os.open(self.folder / "answer", os.O_RDONLY))
        except BaseException:
            self.close()
            raise

    def _open(self, name: str) -> int:
        """A FIFO opens when the other side does; where that has died, its last words are the error."""
        assert self.process is not None
        for _ in range(6000):
            try:
                handle = os.open(self.folder / name, os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(handle, True)
                return handle
            except OSError:
                if self.process.poll() is not None:
                    raise ImportError(f"{self.what} did not start: {self._last_words()}") from None
                time.sleep(0.01)
        raise ImportError(f"{self.what} did not start within a minute")

    def ask(self, **command: Any) -> dict[str, Any]:
        """All ranks do it; rank 0's answer."""
        line = (json.dumps(command) + "\n").encode()
        for handle in self.commands:
            os.write(handle, line)
        said = self.answers.readline()
        if not said:
            raise RuntimeError(f"{self.what} ended: {self._last_words()}")
        answer: dict[str, Any] = json.loads(said)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _last_words(self) -> str:
        assert self.process is not None and self.process.stderr is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        if self.process.poll() is None:
            return "it still runs"
        words = self.process.stderr.read().decode(errors="replace").strip().splitlines()
        return next((w for w in words if "Error" in w), words[-1] if words else "without a word")

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            if len(self.commands) == self.ranks:
                with contextlib.suppress(Exception):
                    self.ask(do="end")
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.terminate()
        for handle in self.commands:
            with contextlib.suppress(OSError):
                os.close(handle)
        shutil.rmtree(self.folder, ignore_errors=True)
