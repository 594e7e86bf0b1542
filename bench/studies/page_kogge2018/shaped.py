"""Two nodes on one host: network namespaces joined by a veth pair that is made slow, and an mpiexec that takes them
for hosts. Needs root, `ip`, `tc`, `unshare` and Open MPI."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ADDRESSES = ("198.18.7.1", "198.18.7.2")  # of the range that RFC 2544 sets aside for benchmarks
_DELAY = "250us"
_AGENT = """#!/bin/sh
shift
exec ip netns exec {space} unshare --uts sh -c 'hostname {space}; exec sh -c "$0"' "$*"
"""


@dataclass(frozen=True)
class Link:
    """`front`: how a job of {n} ranks begins, the worker and its arguments behind it."""

    front: list[str]
    env: dict[str, str]
    words: str


def missing() -> str | None:
    """Why there can be no shaped link here; None where there can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    tools = [name for name in ("ip", "tc", "unshare") if shutil.which(name) is None]
    if tools:
        return f"no {' and no '.join(tools)} (Debian: apt-get install iproute2 util-linux)"
    from penstock.dist import _mpi_find

    if _mpi_find.find().flavour != "openmpi":
        return "namespaces are taken for hosts by Open MPI's mpiexec alone"
    space = f"pk{os.getpid()}t"
    done = _try("ip", "netns", "add", space)
    _try("ip", "netns", "del", space)
    return f"no network namespaces: {done}" if done else None


def _try(*words: str) -> str | None:
    """What went wrong, in a line."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return (
        None
        if done.returncode == 0
        else (done.stderr.strip() or f"{words[0]} failed").splitlines()[0]
    )


def _do(*words: str) -> None:
    if why := _try(*words):
        raise OSError(f"{' '.join(words)}: {why}")


def _shape(space: str, device: str, rate: str) -> str:
    """Bandwidth and, where the kernel has netem, latency; says which."""
    front = ("ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", device)
    if _try(*front, "root", "netem", "delay", _DELAY, "rate", rate) is None:
        return f"{rate}, {_DELAY} each way (netem)"
    _do(*front, "root", "tbf", "rate", rate, "burst", "8k", "latency", "100ms")
    return f"{rate} (tbf; no netem in this kernel, so no added latency)"


@contextlib.contextmanager
def two_nodes(rate: str) -> Iterator[Link]:
    """A link of `rate` (of tc: "1gbit") between two namespaces, which go when the block ends."""
    from penstock.dist import _mpi_find

    mpi = _mpi_find.find()
    mpiexec = mpi.tool("mpiexec", "mpirun")
    spaces, devices = [f"pk{os.getpid()}{c}" for c in "ab"], [f"pkv{os.getpid()}{c}" for c in "ab"]
    folder = Path(tempfile.mkdtemp(prefix="page-kogge-link-"))
    try:
        for space in spaces:
            _do("ip", "netns", "add", space)
        _do("ip", "link", "add", devices[0], "type", "veth", "peer", "name", devices[1])
        said = ""
        for space, device, address in zip(spaces, devices, _ADDRESSES, strict=True):
            _do("ip", "link", "set", device, "netns", space)
            inside = ("ip", "-n", space)
            _do(*inside, "addr", "add", f"{address}/30", "dev", device)
            _do(*inside, "link", "set", device, "up")
            _do(*inside, "link", "set", "lo", "up")
            said = _shape(space, device, rate)
        agent, hosts = folder / "agent", folder / "hosts"
        agent.write_text(_AGENT.format(space=spaces[1]))
        agent.chmod(0o755)
        hosts.write_text("".join(f"{address} slots=1\n" for address in _ADDRESSES))
        front = [
            "ip", "netns", "exec", spaces[0], str(mpiexec), "-n", "{n}", "--allow-run-as-root",
            "--hostfile", str(hosts), "--prtemca", "plm_ssh_agent", str(agent), "--map-by", "node",
            "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
            "-x", "PENSTOCK_MPI", "-x", "PYTHONPATH", "-x", "PENSTOCK_NUM_THREADS",
            "-x", "LD_LIBRARY_PATH", sys.executable,
        ]  # fmt: skip
        env = {
            "PYTHONPATH": "",
            "LD_LIBRARY_PATH": "",
            "OMPI_MCA_osc": "^ucx",
            "PMIX_MCA_psec": "native",
            **os.environ,
        }
        env |= {"PENSTOCK_MPI": str(mpi.libmpi), "PENSTOCK_NUM_THREADS": "1",
                "PATH": f"{Path(str(mpiexec)).parent}:{os.environ.get('PATH', '')}"}  # fmt: skip
        yield Link(front, env, said)
    finally:
        for space in spaces:
            _try("ip", "netns", "del", space)  # takes its device along
        _try("ip", "link", "del", devices[0])
        shutil.rmtree(folder, ignore_errors=True)
