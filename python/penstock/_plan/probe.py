"""What this machine's links and memories give, measured once and kept: `measured`, `measure`, and
`machine` on top of them.

Both `measured` and `measure` return this layout. B/s are bytes per second and floats, as are
seconds::

    {"gpus": [{"gpu": 0, "name": str, "bus": str, "driver": str, "memory_bytes": int,
               "cache_bytes": int, "multiprocessors": int,
               "h2d": {"latency_s": s, "bytes_per_s": B/s},       # s(n) = latency + n / rate
               "d2h", "h2d_2_streams", "d2h_2_streams",           # pinned memory too
               "pageable_h2d", "pageable_d2h":                    # as "h2d"
               "h2d_curve": [[bytes, B/s], ...],                  # and one for each fit
               "duplex": {"h2d_bytes_per_s": B/s, "d2h_bytes_per_s": B/s},  # both at once
               "duplex_curve": [[bytes each way, up B/s, down B/s], ...],
               "zero_copy": {"strided", "merged", "misaligned", "aligned": B/s of useful bytes},
               "device_read": B/s, "device_copy": B/s read plus written,
               "peer": None | {"gpu": int, "copy": B/s, "load": B/s | None},  # to the next GPU
               "launch_s": s, "copy_s": s,      # empty kernel, 8-byte copy: call to synchronised
               "launch_call_s": s, "copy_call_s": s, "event_s": s, "synchronize_s": s}, ...],
     "together": {"1": {"h2d", "d2h", "duplex", "zero_copy": B/s of so many GPUs at once,
                        "peer_copy", "peer_load": B/s | None}, "2": ..., "4": ...},
     "one_sided": None | {"transport": str, "gpus": [int, int], "gets": [[bytes, s], ...],
                          "queued": [[bytes, s], ...],  # each of 4 under way at once
                          "claim_s": s, "claim_at_once_s": s},  # None: no two that reach each other
     "host": {"read": B/s, "copy": B/s read plus written, "cache_read": B/s},
     "seconds": s, "measured_at": ISO 8601 in UTC, "key": str, "version": 2}

Without a GPU "gpus" and "together" are empty. The result is kept as JSON in the user's cache folder
(PENSTOCK_CACHE overrides it), in a file named after a hash of the CPU, the GPUs, their places on the bus
and the driver: other hardware, another file. Where the folder cannot be written, nothing is kept
and all else works.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import hashlib
import json
import math
import os
import threading
from pathlib import Path
from typing import Any

from penstock import _core
from penstock._io._atomic import atomic_file
from penstock._plan.picture import MachineFacts

VERSION = 2  # of the layout: part of the key, so older files are not read
FITS = ("h2d", "d2h", "h2d_2_streams", "d2h_2_streams", "pageable_h2d", "pageable_d2h")
PATTERNS = ("strided", "merged", "misaligned", "aligned")
_NUMBERS = ("memory_bytes", "device_read", "device_copy", "launch_s", "launch_call_s", "copy_s")
_DRIVER = Path("/proc/driver/nvidia/version")

_lock = threading.Lock()  # two probes at once would measure each other
_memory: dict[str, dict[str, Any]] = {}  # by key: what this process has measured or read
_problem: str | None = None


def _driver() -> str:
    """The driver's version line, which changes with every release; empty where there is none."""
    with contextlib.suppress(OSError, IndexError):
        return _DRIVER.read_text().splitlines()[0]
    return ""


@functools.cache
def key() -> str:
    """Of this machine as the process sees it: CPU and how many, GPUs and their buses, driver."""
    host = _core.topology()
    parts = [VERSION, host["cpu"], host["cpus"], _core.gpu_identities(), _driver()]
    if emulated := os.environ.get("PENSTOCK_EMULATE_GPU"):  # its figures are another GPU's
        parts.append(emulated)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def cache_file() -> Path:
    """Where the result for this machine is kept, whether it is there or not."""
    folder = os.environ.get("PENSTOCK_CACHE")
    if not folder:
        import platformdirs

        folder = platformdirs.user_cache_dir("penstock")
    return Path(folder).expanduser() / f"probe-{key()}.json"


def cache_problem() -> str | None:
    """Why the last result could not be kept; None where it could."""
    return _problem


def _positive(*values: Any) -> bool:
    return all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) and v > 0
        for v in values
    )


def _sound_curve(points: Any, width: int) -> bool:
    return len(points) > 0 and all(len(p) == width and _positive(*p) for p in points)


def _sound_gpu(g: dict[str, Any]) -> bool:
    return (
        all(isinstance(g[text], str) for text in ("name", "bus", "driver"))
        and _positive(*(g[name] for name in _NUMBERS), *(g["zero_copy"][p] for p in PATTERNS))
        and _positive(*g["duplex"].values())
        and all(_positive(g[f]["bytes_per_s"]) and g[f]["latency_s"] >= 0 for f in FITS)
        and all(_sound_curve(g[f"{f}_curve"], 2) for f in FITS)
        and _sound_curve(g["duplex_curve"], 3)
        and (g["peer"] is None or _positive(g["peer"]["copy"]))
    )


def _sound_gets(d: dict[str, Any]) -> bool:
    return all(_sound_curve(d[c], 2) for c in ("gets", "queued")) and _positive(
        d["claim_s"], d["claim_at_once_s"]
    )


def _sound(d: Any) -> bool:
    """Whether a file's content is a result for this machine: files are damaged, cut off, or edited."""
    try:
        sums = [s[name] for s in d["together"].values() for name in ("h2d", "d2h", "zero_copy")]
        return (
            d["version"] == VERSION
            and d["key"] == key()
            and len(d["gpus"]) == _core.device_count()
            and isinstance(d["measured_at"], str)
            and _positive(*(d["host"][name] for name in ("read", "copy", "cache_read")))
            and _positive(d["seconds"], *sums)
            and bool(d["together"]) == bool(d["gpus"])
            and all(_sound_gpu(g) for g in d["gpus"])
            and (d["one_sided"] is None or _sound_gets(d["one_sided"]))
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _read(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        d = json.loads(path.read_text(encoding="utf-8"))
        if _sound(d):
            return d
    return None


def _keep(d: dict[str, Any]) -> None:
    """Writes the file whole or not at all."""
    global _problem

    path = cache_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(json.dumps(d, indent=1).encode())
        _problem = None
    except (OSError, ValueError) as error:
        _problem = f"{path.parent}: {getattr(error, 'strerror', None) or error}"


def measured() -> dict[str, Any] | None:
    """What is known of this machine without measuring: this process's result, else the file's, else
    None. Milliseconds. The layout is this module's docstring; do not change what is returned."""
    if key() not in _memory:
        found = _read(cache_file())
        if found is None:
            return None
        _memory[key()] = found
    return _memory[key()]


def measure(seconds: float = 30.0) -> dict[str, Any]:
    """Measures now, whatever is known, and keeps the result.

    Parameters
    ----------
    seconds : float
        What it may take; the driver's own start of each GPU comes on top. Large transfers are left
        out where the time is short.

    Returns
    -------
    dict
        The layout of this module's docstring.

    Raises
    ------
    MemoryError
        Where too little host or device memory is free.
    KeyboardInterrupt
        On Ctrl-C, at once; nothing is kept then.
    """
    from penstock.dist import _gets  # ranks and transports, only where something is measured

    with _lock:
        share = min(1.0, seconds / 30) if _core.device_count() > 1 else 0.0
        d: dict[str, Any] = json.loads(
            json.dumps(_core.probe(seconds - share))
        )  # lists, as in the file
        gpus = [g["gpu"] for g in d["gpus"] if g["gpu"] >= 0][:2]
        d["one_sided"] = _gets.measure_gets(gpus, share) if len(gpus) == 2 else None
        now = datetime.datetime.now(datetime.timezone.utc)
        d |= {"measured_at": now.isoformat(timespec="seconds"), "key": key(), "version": VERSION}
        _memory[key()] = d
        _keep(d)
    return d


def _known(ask: bool) -> dict[str, Any] | None:
    return measured() or (measure() if ask else None)


def machine(measure: bool = False) -> dict[str, Any]:
    """This machine: its CPU, memory, GPUs, and bandwidths in bytes per second.

    The host's bandwidths are measured at the first call, for about half a second. The GPUs' come from
    the cache that `penstock probe` fills, and are measured here only when asked for.

    Parameters
    ----------
    measure : bool
        Measure the GPUs, for up to 30 seconds, where the cache knows nothing of this machine.

    Returns
    -------
    dict
        cpu, cpus, gpus (how many), memory_bytes, available_bytes, cache_bytes; host_read, host_copy
        (read plus written), cache_read in bytes per second; gpus_measured (a dict a GPU: links,
        zero-copy reads, device memory, costs of calls), together (sums over 1, 2, 4, ... GPUs at once),
        measured_at (ISO 8601 in UTC). Where nothing is cached the last three are [], {} and None.
        A notebook shows the bandwidths as bars.

    Examples
    --------
    >>> import penstock as ps
    >>> m = ps.machine()
    >>> m["host_read"] > 0, len(m["gpus_measured"]) in (0, m["gpus"])
    (True, True)
    """
    known = _known(measure) or {"gpus": [], "together": {}, "measured_at": None}
    return MachineFacts(
        **_core.machine(),
        gpus_measured=known["gpus"],
        together=known["together"],
        measured_at=known["measured_at"],
    )
