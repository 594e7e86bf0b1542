"""Times contestants against one another: interleaved, warmed up, verified, summarised by medians.

Each repeat gives every contestant a turn (A B C, A B C, ...), so a disturbance of the machine
falls on all of them; ratios inside a case are therefore steadier than the times. A turn is a short
pause (so that a rival's threads stop spinning), one untimed call (every contestant finds its own
data in the caches that the machine has) and enough timed calls to fill `turn_seconds`. Who
computes a wrong result is marked and not timed.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

_SETTLE_SECONDS = 0.003
_SLOW = (
    5.0  # a rival that needs over a second and this many times the fastest's time gets fewer turns
)
_SLOW_TURNS = 3
_MAX_CALLS = 10_000
_FEWEST = 3  # turns, where Settings.seconds asks for fewer


@dataclass
class Contestant:
    """`run()` does the work once. `reset()` poisons the output before a verification;
    `result(value)` turns what run() returned into what is checked. `role` is "ours", "rival" or
    "probe" (a yardstick: no ratio)."""

    name: str
    run: Callable[[], Any]
    role: str = "rival"
    reset: Callable[[], None] | None = None
    before: Callable[[], None] | None = None  # untimed, before each call; keeps a turn to one call
    result: Callable[[Any], Any] | None = None
    check: Callable[[Any], float] | None = None  # instead of the case's
    units: int = 1  # of work in one call (searches, say): times are of one unit
    timed: Callable[[], float] | None = None  # does its own timing, seconds a unit; run() checks
    prepare_seconds: float | None = None  # spent once, before the first call
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Case:
    """What everybody computes. `check(result)` returns the error as a multiple of what is allowed:
    at most 1 is right, NaN is wrong. `work` of a unit is in flops (or what `rate` counts, in
    billions a second), `traffic` in bytes that must move at least once (0: not told)."""

    name: str
    check: Callable[[Any], float]
    work: float = 0.0
    traffic: float = 0.0
    rate: str = "gflops"
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    repeats: int = 7
    turn_seconds: float = 0.05
    warm_turns: bool = True  # the untimed call in each turn; off where one call takes seconds
    seconds: float | None = None  # of a case: where it would take longer, fewer turns, but three

    def __post_init__(self) -> None:
        if self.repeats < 1 or not self.turn_seconds >= 0:
            raise ValueError(
                f"repeats={self.repeats}, turn_seconds={self.turn_seconds}: give at least 1 and 0"
            )


def verify(case: Case, who: Contestant) -> tuple[float, float]:
    """(error in multiples of the tolerance, seconds of the call), from a poisoned output."""
    for ready in (who.before, who.reset):
        if ready:
            ready()
    start = time.perf_counter()
    value = who.run()
    seconds = time.perf_counter() - start
    result = who.result(value) if who.result else value
    return float((who.check or case.check)(result)), seconds


def _turn(who: Contestant, calls: int, warm: bool) -> float:
    """Seconds a unit."""
    time.sleep(_SETTLE_SECONDS)
    if who.timed:
        return who.timed()
    if who.before:
        who.before()
    elif warm:
        who.run()
    run, start = who.run, time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / (calls * who.units)


def summary(seconds: list[float]) -> dict[str, Any]:
    middle = statistics.median(seconds)
    return {
        "median": middle,
        "min": min(seconds),
        "max": max(seconds),
        "spread": (max(seconds) - min(seconds)) / middle if middle else 0.0,
        "seconds": seconds,
    }


def _rates(case: Case, stats: dict[str, Any]) -> dict[str, float]:
    rates = {}
    if case.work:
        rates[case.rate] = case.work / stats["median"] / 1e9
    if case.traffic:
        rates["gb_per_s"] = case.traffic / stats["median"] / 1e9
    return rates


def _admit(
    case: Case, everybody: Iterable[Contestant], results: dict[str, Any]
) -> dict[str, Contestant]:
    """Verifies everybody; those who are right, by name."""
    admitted = {}
    for who in everybody:
        entry: dict[str, Any] = {"role": who.role, "status": "ok", **who.notes}
        if who.prepare_seconds is not None:
            entry["prepare_seconds"] = who.prepare_seconds
        results[who.name] = entry
        try:
            error, entry["first_call"] = verify(case, who)
        except Exception as e:  # a rival's failure is a result, not the end of the run
            entry |= {"status": "failed", "reason": f"{type(e).__name__}: {e}"}
            continue
        entry["error"] = error if math.isfinite(error) else None
        if error <= 1:
            admitted[who.name] = who
        else:
            entry |= {"status": "wrong", "reason": f"error is {error:.3g} times what is allowed"}
    return admitted


def measure(case: Case, everybody: Iterable[Contestant], settings: Settings) -> dict[str, Any]:
    """One case of the report: a result for each contestant, and ratios where ours met a rival."""
    results: dict[str, Any] = {}
    admitted = _admit(case, everybody, results)
    calls, once = {}, {}
    around = 0.0  # seconds of a turn of everybody
    for name, who in admitted.items():
        start = time.perf_counter()
        once[name] = _turn(who, 1, warm=settings.warm_turns)
        around += time.perf_counter() - start
        wanted = settings.turn_seconds / max(once[name] * who.units, 1e-9)
        calls[name] = 1 if who.before or who.timed else min(max(1, math.ceil(wanted)), _MAX_CALLS)
        around += (calls[name] - 1) * once[name] * who.units
    seconds: dict[str, list[float]] = {name: [] for name in admitted}
    whole = {name: once[name] * who.units for name, who in admitted.items()}
    patience = max(_SLOW * min(whole.values(), default=0.0), 1.0)
    turns = settings.repeats
    if settings.seconds is not None and around * turns > settings.seconds:
        turns = min(turns, max(_FEWEST, int(settings.seconds / around)))
    collecting = gc.isenabled()
    gc.disable()
    try:
        for repeat in range(turns):
            for name, who in admitted.items():
                slow = who.role == "rival" and whole[name] > patience
                if not slow or repeat < _SLOW_TURNS:
                    seconds[name].append(_turn(who, calls[name], settings.warm_turns))
    finally:
        if collecting:
            gc.enable()
    for name, who in admitted.items():
        results[name] |= {**summary(seconds[name]), "calls_per_turn": calls[name]}
        results[name] |= _rates(case, results[name])
        error, _ = verify(case, who)  # still right after all those calls?
        if not error <= 1:
            results[name] |= {
                "status": "wrong",
                "reason": f"after the timing, the error is {error:.3g}",
            }
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    entry = {
        "case": case.name,
        **case.about,
        "work": case.work,
        "traffic": case.traffic,
        "load": load,
        "turns": turns,
    }
    return entry | {"results": results} | compare(results)


def compare(results: dict[str, Any]) -> dict[str, Any]:
    """Best rival, and best rival's time / ours for each of ours: 1 or more is a win."""
    right = {name: r for name, r in results.items() if r["status"] == "ok" and "median" in r}
    rivals = [name for name, r in right.items() if r["role"] == "rival"]
    probe = next((r for r in right.values() if r["role"] == "probe"), None)
    for r in right.values():
        if r.get("prepare_seconds") is not None:
            r["prepare_calls"] = r["prepare_seconds"] / r["median"]
        if probe and r["role"] != "probe":
            r["fraction_of_probe"] = probe["median"] / r["median"]
    if not rivals:
        return {"best_rival": None, "ratios": {}, "ratios_of_minima": {}}
    best = min(rivals, key=lambda name: right[name]["median"])
    fastest = min(right[name]["min"] for name in rivals)
    ours = {name: r for name, r in right.items() if r["role"] == "ours"}
    return {
        "best_rival": best,
        "ratios": {name: right[best]["median"] / r["median"] for name, r in ours.items()},
        "ratios_of_minima": {name: fastest / r["min"] for name, r in ours.items()},
    }
