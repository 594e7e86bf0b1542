"""What joins the nodes: a bridge in namespaces of its own, `switch.py FOLDER NODES RATE DELAY`.

It is the first process of its namespace of processes: when it ends, in whatever way, the kernel ends all others there,
and removes the nodes, their links and their memory. It ends when its standard input does. Says "ready", or what is
missing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_NODE = Path(__file__).with_name("node.py")
BURST = 65536  # bytes that leave at once; a packet of the virtual interfaces has up to as many
_OWN = (
    "--net",
    "--uts",
    "--ipc",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--propagation",
    "private",
)


def address(number: int) -> str:
    """
    >>> address(0)
    '10.77.0.1'
    """
    return f"10.77.0.{number + 1}"


def name(number: int) -> str:
    return f"node{number}"


def _do(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")


def _shape(rate: int, delay: float, *where: str) -> None:
    """What leaves an interface: `rate` in bytes a second, after `delay` seconds; 0: as it is."""
    if delay:
        limit = str(max(1000, int(2 * rate * delay / 1000)))  # packets that may be on their way
        words = ["netem", "delay", f"{delay * 1e6:.0f}us", "limit", limit]
        words += ["rate", f"{8 * rate}bit"] * (rate > 0)
        _do(*where, *words)
    elif rate:
        _do(*where, "tbf", "rate", f"{8 * rate}bit", "burst", str(BURST), "latency", "200ms")


def _start(folder: Path, number: int) -> subprocess.Popen[str]:
    """A node, whose host name, address and interface are its own."""
    return subprocess.Popen(
        ["unshare", *_OWN, sys.executable, "-I", "-S", str(_NODE), "serve", str(folder), name(number),
         f"{address(number)}/24"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _await(node: subprocess.Popen[str], number: int, word: str) -> None:
    assert node.stdout is not None
    if node.stdout.readline() != f"{word}\n":
        sys.exit(f"{name(number)} did not start")


def _join(node: subprocess.Popen[str], number: int, rate: int, delay: float) -> None:
    assert node.stdin is not None and node.stdout is not None
    _await(node, number, "here")
    port = f"port{number}"
    _do("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(node.pid))
    _do("ip", "link", "set", port, "master", "switch", "up")
    _shape(rate, 0, "tc", "qdisc", "add", "dev", port, "root")  # what goes to the node
    into = ("nsenter", f"--net=/proc/{node.pid}/ns/net")
    _shape(rate, delay, *into, "tc", "qdisc", "add", "dev", "eth0", "root")  # and what it sends
    node.stdin.write("\n")
    node.stdin.flush()
    _await(node, number, "ready")


def main(folder: Path, nodes: int, rate: int, delay: float) -> None:
    _do("mount", "-t", "proc", "proc", "/proc")
    _do("ip", "link", "add", "switch", "type", "bridge")
    _do("ip", "link", "set", "switch", "up")
    _do("ip", "link", "set", "lo", "up")
    hosts = ["127.0.0.1 localhost", *(f"{address(k)} {name(k)}" for k in range(nodes))]
    (folder / "hosts").write_text("\n".join(hosts) + "\n")
    started = [_start(folder, number) for number in range(nodes)]
    for number, node in enumerate(started):
        _join(node, number, rate, delay)
    print("ready", flush=True)
    for line in sys.stdin:  # nodes that fail
        started[int(line)].kill()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
