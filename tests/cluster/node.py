"""A node: a process in namespaces of its own (network, host name, processes, mounts, System V memory) that starts what
it is told, as sshd does: `node.py serve FOLDER NAME ADDRESS`; and who tells it: `node.py HOST WORDS...`, as ssh does.

A host is reached by FOLDER/HOST.socket; CLUSTER_FOLDER names the folder. A command gets the standard streams of who
tells it, and of its environment nothing, as under ssh. Its words are joined and go to a shell. Nothing but the standard
library is imported.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

FOLDER = "CLUSTER_FOLDER"
_LOGIN = ("HOME", "LANG", "PATH", "SHELL", "USER", FOLDER)  # what a login sets


def _mount(kind: str, where: str) -> None:
    subprocess.run(["mount", "-t", kind, kind, where], check=True)


def _settle(folder: Path, name: str, address: str) -> None:
    """The node's own name, processes, memory, temporary files and interface."""
    socket.sethostname(name)
    _mount("proc", "/proc")
    _mount("tmpfs", "/dev/shm")
    _mount("tmpfs", "/tmp")
    os.chmod("/dev/shm", 0o1777)
    os.chmod("/tmp", 0o1777)
    subprocess.run(["mount", "--bind", str(folder / "hosts"), "/etc/hosts"], check=True)
    for words in (f"addr add {address} dev eth0", "link set lo up", "link set eth0 up"):
        subprocess.run(["ip", *words.split()], check=True)


def _answer(asker: socket.socket) -> None:
    """Starts what one asker wants, and tells it the exit code."""
    with asker:
        message, handles, _, _ = socket.recv_fds(asker, 1 << 16, 3)
        while not message.endswith(b"\n"):
            message += asker.recv(1 << 16)
        line, more = json.loads(message)
        environment = {name: os.environ[name] for name in _LOGIN if name in os.environ}
        stdin, stdout, stderr = handles
        try:
            code = subprocess.Popen(
                ["/bin/sh", "-c", line], env=environment | more, stdin=stdin, stdout=stdout,
                stderr=stderr, start_new_session=True,
            ).wait()  # fmt: skip
        finally:
            for handle in handles:
                os.close(handle)
        asker.sendall(str(code).encode())


def _serve(folder: Path, name: str, address: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(
            number, signal.SIG_DFL
        )  # the first process of its namespace hears none from within
    print("here", flush=True)  # in namespaces of its own
    sys.stdin.readline()  # its interface is there
    _settle(folder, name, address)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / f"{name}.socket"))
    listener.listen(64)
    print("ready", flush=True)
    while True:
        threading.Thread(target=_answer, args=(listener.accept()[0],), daemon=True).start()


def tell(folder: Path, host: str, line: str, streams: list[int], **more: str) -> int:
    """The exit code of a shell's line on a host; negative where a signal ended it. `more` goes to its environment."""
    with socket.socket(socket.AF_UNIX) as asker:
        asker.connect(str(folder / f"{host}.socket"))
        message = json.dumps([line, more]).encode() + b"\n"
        sent = socket.send_fds(asker, [message], streams)
        if sent < len(message):
            asker.sendall(message[sent:])
        answer = asker.recv(64)
    return int(answer or 255)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(Path(sys.argv[2]), *sys.argv[3:])
    else:
        host = sys.argv[1].rpartition("@")[2]
        code = tell(Path(os.environ[FOLDER]), host, " ".join(sys.argv[2:]), [0, 1, 2])
        sys.exit(code if code >= 0 else 128 - code)
