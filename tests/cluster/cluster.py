"""A cluster in one machine, for tests: nodes that share no memory, no processes, no host name and no temporary files,
and talk over links whose rate is given.

    with Cluster(4, rate=25e6) as c:
        done = c.run(0, ["penstock", "run", "-n", "8", "script.py"], timeout=60)
        c.left(0)

Its namespaces end with the process that made it, however that ends.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import node
import switch

ROOT = Path(__file__).resolve().parents[2]
_OWN = ("--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--propagation", "private")


class NotHere(Exception):
    """This machine does not allow it, or lacks a tool; the message says what."""


@dataclasses.dataclass(frozen=True)
class Done:
    """A command that has ended; `at` is the time of that, in seconds since 1970."""

    code: int
    out: str
    err: str
    at: float


class Cluster:
    """`nodes` nodes called node0, node1, ...

    Parameters
    ----------
    nodes : int
    rate : float
        Bytes a second that a node can send, and as many that it can receive; 0: as fast as this machine is.
    delay : float
        Seconds that each packet is late; needs a kernel with netem.
    slots : int
        Ranks of a node, for Open MPI's list of hosts.

    Raises
    ------
    NotHere
        Where namespaces are not allowed, or a tool or a part of the kernel is missing.
    """

    def __init__(self, nodes: int, rate: float = 0, delay: float = 0, slots: int = 2) -> None:
        self.nodes = nodes
        missing = [
            tool
            for tool in ("unshare", "nsenter", "ip", "tc", "mount", "ps")
            if not shutil.which(tool)
        ]
        if missing:
            raise NotHere(
                f"{', '.join(missing)} not found: apt-get install iproute2 procps util-linux"
            )
        if ROOT.is_relative_to("/tmp"):
            raise NotHere(f"{ROOT} is in /tmp, of which each node has its own: move it elsewhere")
        (ROOT / "build").mkdir(exist_ok=True)
        # A short path: the addresses of sockets are at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=ROOT / "build"))
        (self.folder / "nodes").write_text(
            "".join(f"{switch.name(k)} slots={slots}\n" for k in range(nodes))
        )
        self._log = open(self.folder / "log", "w+")  # noqa: SIM115  closed by close()
        user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
        self._switch = subprocess.Popen(
            ["unshare", *user, *_OWN, sys.executable, "-I", "-S", switch.__file__, str(self.folder), str(nodes),
             str(int(rate)), str(delay)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            start_new_session=True, env={**os.environ, node.FOLDER: str(self.folder)},
        )  # fmt: skip
        assert self._switch.stdout is not None
        if self._switch.stdout.readline() != "ready\n":
            self._log.seek(0)
            why = self._log.read().strip().splitlines() or ["unshare failed"]
            self.close()
            raise NotHere(why[-1 if why[0].startswith("Traceback") else 0])

    def run(self, number: int, words: Sequence[str], timeout: float, **more: str) -> Done:
        """A command on a node, with `more` in its environment. TimeoutError closes the whole cluster."""
        paths = [self.folder / f"{threading.get_ident()}-{name}" for name in ("out", "err")]
        codes: list[int] = []
        ended: list[float] = []

        def ask() -> None:
            with (
                open(os.devnull) as nothing,
                open(paths[0], "w") as out,
                open(paths[1], "w") as err,
            ):
                streams = [nothing.fileno(), out.fileno(), err.fileno()]
                line = f"cd {shlex.quote(str(ROOT))} && exec {shlex.join(words)}"
                codes.append(node.tell(self.folder, switch.name(number), line, streams, **more))
                ended.append(time.time())

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(timeout)
        said = [path.read_text(errors="replace") for path in paths]
        if not ended:
            self.close()
            raise TimeoutError(f"{shlex.join(words)} takes more than {timeout} s: {said}")
        return Done(codes[0] if codes[0] >= 0 else 128 - codes[0], *said, ended[0])

    def lose(self, number: int) -> None:
        """A node fails: its processes and its link are gone."""
        assert self._switch.stdin is not None
        self._switch.stdin.write(f"{number}\n")
        self._switch.stdin.flush()

    def left(self, number: int) -> list[str]:
        """Of what a job may leave on a node: files in /tmp and /dev/shm, and processes."""
        done = self.run(number, ["sh", "-c", "ls -A /tmp /dev/shm; ps -eo pid=,stat=,args="], 10)
        lines = [line.strip() for line in done.out.splitlines()]
        return [x for x in lines if x and x not in ("/tmp:", "/dev/shm:") and not self._own(x)]

    @staticmethod
    def _own(line: str) -> bool:
        """A process of the node itself, or one that has ended and waits for nobody."""
        number, state, *_ = *line.split(), "", ""
        ended = number.isdigit() and state.startswith("Z")  # "ZN" where it was niced
        return "node.py serve" in line or "ps -eo" in line or ended

    def close(self) -> None:
        """Ends all processes of the cluster, and removes its folder."""
        assert self._switch.stdin is not None
        self._switch.stdin.close()
        try:
            self._switch.wait(10)
        except subprocess.TimeoutExpired:
            self._switch.kill()
            self._switch.wait()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
