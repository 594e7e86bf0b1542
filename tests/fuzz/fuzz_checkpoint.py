"""Fuzzes the checkpoints of distributed solves: a damaged one is refused by name, or makes no difference.

    python tests/fuzz/fuzz_checkpoint.py --seconds 60 --seed 1

Solves of each method are cut short on 1 to 3 ranks, their checkpoints damaged (bytes, lengths, missing and foreign
files, JSON, parts of other solves), and taken up on 1 to 3 ranks (threads) in a child process. Right is a ValueError
that names the folder, which then stays as it was, or the bits that the undamaged checkpoint leads to. Some states are
edited and given a checksum again, which nobody does by accident: these may lead to other numbers, but to no other kind
of error. A crash, a hang, another exception or a wrong x ends the run with status 1, and what leads to it is kept in
--keep.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from penstock.dist import _checkpoint

METHODS = ("cg", "pipecg", "bicgstab", "gmres", "fgmres")
SECONDS_AN_INPUT = 20
SHAPE = (9, 8)
Files = dict[str, bytes]
VALUES: list[Any] = [0, 1, -1, 5, 2**31, 2**63, 10**30, 0.5, -0.0, 1e300, float("nan"), float("inf"), "", "x", "../..",
                     None, True, [], {}, [0], [[0, 72]], [[0, 72, 0, 0]], [[-1, 5, 1, 1]] * 3]  # fmt: skip


def resume(
    path: str, method: str, ranks: int, seed: int, stop: int | None = None
) -> dict[str, Any]:
    """What comes of a solve: its bits, or the error."""
    a = ps.generate.laplacian(SHAPE)
    b = np.random.default_rng(seed).standard_normal(a.shape[0])
    more = {"restart": 5} if "gmres" in method else {}

    def work(comm: Any) -> Any:
        D = ps.dist.csr_array(a, comm, partition="contiguous")
        solve = getattr(ps.dist.linalg, method)
        maxiter = 400 if stop is None else stop
        x, info = solve(
            D, D.share(b), rtol=1e-9, maxiter=maxiter, checkpoint=path, checkpoint_every=4, **more
        )
        return D.collect(x).tobytes().hex(), int(info)

    try:
        (x, info), *_ = ps.dist.run(work, ranks)
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {"x": x, "info": info}


def worker() -> int:
    """Answers the lines of its standard input."""
    for line in sys.stdin:
        print(json.dumps(resume(*json.loads(line))), flush=True)
    return 0


class Child:
    """A worker, started again after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None

    def ask(self, *question: Any) -> dict[str, Any]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__, "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], SECONDS_AN_INPUT)
        line = self._process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self._process.kill()
        code = self._process.wait()
        self._process = None
        return {"error": f"the process ended with {code}" if ready else "it hangs", "text": ""}

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def read(folder: Path) -> Files:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def write(folder: Path, files: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def mutated(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    kind = rng.randrange(7)
    at = rng.randrange(max(len(out), 1))
    if kind == 0 and out:
        out[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del out[at:]
    elif kind == 2:
        out[at : at + 8] = bytes(8)
    elif kind == 3:
        out[at:] = bytes(len(out) - at)
    elif kind == 4:
        out += bytes(rng.randrange(1, 100))
    elif kind == 5:
        out[at : at + 8] = b"\xff" * 8
    else:
        out[at:at] = rng.choice((b"0", b"-", b"e", b"{", b"[" * 5000, b'"', b"\xff", b"NaN"))
    return bytes(out)


def edited(text: bytes, rng: random.Random, seal: bool) -> bytes:
    """Another value somewhere in a state; with `seal`, its checksum again."""
    state = json.loads(text)
    state.pop("digest")
    name = rng.choice(sorted(state))
    kind = rng.randrange(3)
    if kind == 0:
        del state[name]
    elif kind == 1 and isinstance(state[name], list) and state[name]:
        state[name][rng.randrange(len(state[name]))] = rng.choice(VALUES)
    else:
        state[name] = rng.choice(VALUES)
    digest = _checkpoint._digest(state) if seal else json.loads(text)["digest"]
    return json.dumps({**state, "digest": digest}).encode()


def damage(files: Files, other: Files, rng: random.Random) -> tuple[Files, str]:
    """Other files, and how they may end: "same", "fresh" (as if there were none) or "any" (no other kind of error)."""
    out = dict(files)
    parts = [n for n in out if n != "state.json"]
    theirs = {Path(n).name: d for n, d in other.items()}
    kind = rng.randrange(8)
    if kind <= 2:
        name = rng.choice(sorted(out))
        out[name] = mutated(out[name], rng)
    elif kind == 3:
        name = rng.choice(sorted(out))
        del out[name]
        return out, "fresh" if name == "state.json" else "same"
    elif kind == 4:
        out["state.json"] = edited(out["state.json"], rng, False)
    elif kind == 5:
        out["state.json"] = edited(out["state.json"], rng, True)
        return out, "any"
    elif kind == 6:  # a part of another solve, or of another rank
        name = rng.choice(parts)
        if rng.random() < 0.5:
            out[name] = theirs.get(Path(name).name, b"")
        else:
            out[name] = out[rng.choice(parts)]
    else:
        out["state.json"] = theirs["state.json"]
    return out, "same"


def foreign(files: Files, rng: random.Random) -> Files:
    """What a user may have there."""
    names = ("notes.txt", "at-home/thesis.tex", "at-5-0123abcd/thesis.tex", "other/x")
    return {n: b"mine" for n in names if rng.random() < 0.3}


def check(
    answer: dict[str, Any], allowed: list[dict[str, Any]], path: Path, how: str
) -> str | None:
    if "error" in answer:
        if answer["error"] != "ValueError":
            return f"{answer['error']}: {answer['text']}"
        if how != "any" and str(path) not in answer["text"]:
            return f"a refusal that does not name the folder: {answer['text']}"
        return None
    return None if how == "any" or answer in allowed else f"another result, info {answer['info']}"


def loop(seconds: float, seed: int, keep: Path, folder: Path) -> int:
    rng, child, outcome = random.Random(seed), Child(), Counter[str]()
    path = folder / "state"
    bases, results = [], {}
    for method in METHODS:
        for ranks in (1, 2, 3):
            for b in (0, 1):
                resume(str(path), method, ranks, b, stop=2 if "gmres" in method else 9)
                bases.append((method, b, read(path)))
                assert "state.json" in bases[-1][2]
                shutil.rmtree(path)
    end, count = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end:
            at, ranks = rng.randrange(len(bases)), rng.randrange(1, 4)
            method, b, base = bases[at]
            files, how = damage(base, rng.choice(bases)[2], rng)
            mine = foreign(files, rng)
            for key, there in (((at, ranks), base), ((method, b, ranks), {})):
                if key not in results:
                    write(path, there)
                    results[key] = child.ask(str(path), method, ranks, b)
                    assert results[key].get("info") == 0, results[key]
            write(path, {**files, **mine})
            answer = child.ask(str(path), method, ranks, b)
            allowed = [results[at, ranks]] + [results[method, b, ranks]] * (how == "fresh")
            problem = check(answer, allowed, path, how)
            left = read(path) if path.exists() else {}
            if problem is None and "error" in answer and how != "any" and left != {**files, **mine}:
                problem = "a refusal that changed the folder"
            if problem is None and not mine.items() <= left.items():
                problem = "files of the user's are gone"
            count += 1
            outcome["refused" if "error" in answer else "same"] += 1
            if problem is not None:
                target = keep / f"finding-checkpoint-{seed}-{count}"
                write(target, {**files, **mine})
                print(
                    f"FINDING: {problem}\n  seed {seed}, input {count}, {method}, {ranks} ranks: {target}"
                )
                return 1
    finally:
        child.close()
    ends = f"{outcome['refused']} refused, {outcome['same']} went on"
    print(f"{count} checkpoints in {seconds:.0f} s, {ends}, no finding")
    # A few may be all alike.
    return 0 if count < 40 or (outcome["refused"] and outcome["same"]) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("."))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="penstock-fuzz-") as name:
        return loop(options.seconds, options.seed, options.keep, Path(name))


if __name__ == "__main__":
    os.environ.setdefault("PENSTOCK_NUM_THREADS", "2")
    sys.exit(main())
