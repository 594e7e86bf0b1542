"""The goals of bench/page_kogge2018.py, met or missed, and what it says at its end."""

from __future__ import annotations

from lib.paper_tables import Report, Target, good, of_part, target
from lib.paper_tables import show as show_all

from studies.page_kogge2018.paper import MAD
from studies.page_kogge2018.tables import MEASURED, named, spread, tables

Rows = list[tuple[str, float]]


def predicted(data: Report, part: str, key: str = "predicted_over_measured") -> Rows:
    """How far off, either way, of every measured row."""
    found = []
    for c in of_part(data, part):
        for name in c["results"]:
            p = good(c, name).get(key)
            if p:
                found.append((f"{c['case']}: {name}", max(p, 1 / p)))
    return found


def counted(data: Report) -> Rows:
    """Bytes sent, predicted over counted by the ranks; layouts that end in a collective count by themselves."""
    found = []
    for part in MEASURED:
        for c in of_part(data, part):
            r = good(c, "ours")
            if r.get("sent_bytes") and r.get("predicted_bytes"):
                ratio = r["predicted_bytes"] / r["sent_bytes"]
                found.append((c["case"], max(ratio, 1 / ratio)))
    return found


def targets(data: Report) -> list[Target]:
    """At toy sizes these mean nothing: they are listed as not measured."""
    if data["quick"]:
        data = {**data, "cases": []}
    faster = [
        (c["case"], good(c, "naive")["median"] / good(c, "ours")["median"])
        for part in MEASURED for c in of_part(data, part)
        if "median" in good(c, "naive") and "median" in good(c, "ours") and c["ranks"] > 1
    ]  # fmt: skip
    found = [
        target(
            "bytes sent: the oracle's over the ranks', either way", 1.01, counted(data), most=True
        )
    ]
    for part in MEASURED:
        found.append(target(f"{part}: predicted time against measured, either way", 1.20,
                            predicted(data, part), most=True))  # fmt: skip
    found.append(target("ours: speed over the naive distribution, more than one rank", 1.0, faster))
    for method in MAD:
        got = spread(data, method)
        if method == "balanced" and got:
            found.append(
                target("balanced: median MAD", MAD[method][1], [("all", got[1])], most=True)
            )
    return found


def show(data: Report) -> None:
    stand_ins = sorted({named(c) for c in data["cases"] if c["stand_in"]})
    if stand_ins:
        print(
            f"\n{len(stand_ins)} of the matrices are stand-ins (*), made with the same rows, over "
            f"{data['settings']['shrink']}, and entries a row: their structure is ours."
        )
    show_all(data, tables(data))
