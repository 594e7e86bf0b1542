"""Two results of one benchmark, case by case.

    python bench/compare.py old.json new.json [--all] [--fail-below R]

Speed-up = old median / new median; above 1 the new one is faster. Ours only, unless --all.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from lib import results
from lib.report import show_table


def load(path: Path) -> dict[str, Any]:
    data = results.read(path)
    if not results.is_report(data):
        raise SystemExit(
            f"{path}: not a result of these benchmarks (schema {results.SCHEMA}): run bench/*.py again"
        )
    return data


def medians(data: dict[str, Any], everybody: bool) -> dict[tuple[str, str], float]:
    return {
        (case["case"], name): r["median"]
        for case in data["cases"]
        for name, r in case["results"].items()
        if r["status"] == "ok" and (everybody or r["role"] == "ours")
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Why the two should not be compared, if anything."""
    found = [
        f"{key}: {old[key]} and {new[key]}"
        for key in ("benchmark", "quick")
        if old[key] != new[key]
    ]
    for key in ("cpu", "cpus", "threads", "memory_bytes", "os"):
        a, b = old["machine"].get(key), new["machine"].get(key)
        if a != b:
            found.append(f"machine {key}: {a} and {b}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument(
        "--all", action="store_true", help="rivals and probes too: how far the machine moved"
    )
    parser.add_argument(
        "--fail-below", type=float, help="exit status 1 if a speed-up of ours is below this"
    )
    args = parser.parse_args()
    old, new = load(args.old), load(args.new)
    for text in differences(old, new):
        print(f"caution: not the same {text}")
    before, after = medians(old, args.all), medians(new, args.all)
    both = [key for key in before if key in after]
    for only, where in (
        (before.keys() - after.keys(), args.old),
        (after.keys() - before.keys(), args.new),
    ):
        if only:
            some = ", ".join(" / ".join(key) for key in sorted(only)[:3])
            print(f"only in {where.name}: {len(only)}: {some}{', ...' if len(only) > 3 else ''}")
    if not both:
        print("no case is in both")
        return 1
    speedups = [before[key] / after[key] for key in both]
    rows = [
        [key[0], key[1], f"{before[key] * 1e3:.3f}", f"{after[key] * 1e3:.3f}", f"{s:.2f}"]
        for key, s in zip(both, speedups, strict=True)
    ]
    mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
    rows.append(["geometric mean", "", "", "", f"{mean:.2f}"])
    show_table(
        f"{args.old.name} -> {args.new.name}", ["case", "who", "old ms", "new ms", "speed-up"], rows
    )
    ours = medians(new, False)
    slower = [
        key
        for key, s in zip(both, speedups, strict=True)
        if key in ours and s < (args.fail_below or 0)
    ]
    return 1 if slower else 0


if __name__ == "__main__":
    raise SystemExit(main())
