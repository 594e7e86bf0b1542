"""JSON that a reader can compare line by line.

Rows that have the same fields (contestants of a case, predictions) are written as a table: the names of the fields
once, then a line for each row. Names that several tables share stand once in the file, under "heads". `loads` gives
the rows back as dicts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

_WIDTH = 120  # characters: what is shorter stands on one line
_ABSENT = "-"  # a field that a row of a table does not have
_SPARSE = 2.5  # a table may have so many cells for each that is filled


def _flattened(row: dict[str, Any]) -> dict[str, Any]:
    """Fields of dicts in a row as fields of the row: "each.halo". Names that have a dot stay where they are."""
    found = {}
    for key, item in row.items():
        if isinstance(item, dict) and item and not any("." in name for name in (key, *item)):
            found |= {f"{key}.{name}": cell for name, cell in _flattened(item).items()}
        else:
            found[key] = item
    return found


def _nested(row: dict[str, Any]) -> dict[str, Any]:
    """The opposite of `_flattened`."""
    found: dict[str, Any] = {}
    for key, item in row.items():
        *outer, name = key.split(".")
        at = found
        for part in outer:
            at = at.setdefault(part, {})
        at[name] = item
    return found


def _table(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]] | None:
    """(fields, cells) of rows that have much the same fields; None of others."""
    if any("." in key for row in rows for key in row):
        return None
    for given in ([_flattened(row) for row in rows], rows):
        fields = list(dict.fromkeys(key for row in given for key in row))
        marked = any(cell == _ABSENT for row in given for cell in row.values())
        if not marked and len(fields) * len(given) <= _SPARSE * sum(len(row) for row in given):
            cells = [[_packed(row.get(name, _ABSENT)) for name in fields] for row in given]
            return fields, cells
    return None


def _packed(value: Any) -> Any:
    """`value` with tables in place of rows: {"table": fields, "rows": a list, or a dict by name}."""
    if isinstance(value, dict) and set(value) == {"table", "rows"}:
        raise ValueError('a report may not have a dict of "table" and "rows": choose other names')
    if isinstance(value, (dict, list)) and len(value) > 1:
        rows = list(value.values()) if isinstance(value, dict) else value
        found = _table(rows) if all(isinstance(row, dict) and row for row in rows) else None
        if found:
            fields, cells = found
            named = dict(zip(value, cells, strict=True)) if isinstance(value, dict) else cells
            return {"table": fields, "rows": named}
    if isinstance(value, dict):
        return {key: _packed(item) for key, item in value.items()}
    return [_packed(item) for item in value] if isinstance(value, list) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"table", "rows"}:
        return {key: _unpacked(item) for key, item in value.items()}
    fields, rows = value["table"], value["rows"]

    def row(cells: list[Any]) -> dict[str, Any]:
        pairs = zip(fields, cells, strict=True)
        return _nested({name: _unpacked(cell) for name, cell in pairs if cell != _ABSENT})

    if isinstance(rows, dict):
        return {name: row(cells) for name, cells in rows.items()}
    return [row(cells) for cells in rows]


def _with_heads(packed: dict[str, Any]) -> dict[str, Any]:
    """The lists of fields that several tables have, as "heads" before the cases: {"h0": fields}. These tables have the
    name in place of the list."""
    if "heads" in packed:
        raise ValueError('a report may not have "heads": choose another name')
    tables = list(_tables(packed))
    counts = Counter(tuple(table["table"]) for table in tables)
    shared = [fields for fields, count in counts.items() if count > 1]  # as they appear
    names = {fields: f"h{k}" for k, fields in enumerate(shared)}
    for table in tables:
        table["table"] = names.get(tuple(table["table"]), table["table"])
    if not names:
        return packed
    heads = {name: list(fields) for fields, name in names.items()}
    return {**packed, "heads": heads, "cases": packed["cases"]}


def _tables(packed: Any) -> Iterator[dict[str, Any]]:
    """All of them, those in tables too."""
    if isinstance(packed, dict) and set(packed) == {"table", "rows"}:
        yield packed
        packed = packed["rows"]
    items = packed.values() if isinstance(packed, dict) else packed
    if isinstance(packed, (dict, list)):
        for item in items:
            yield from _tables(item)


def _flat(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _lines(value: Any) -> str:
    """On one line what is short. Of a long dict all plain fields share a line, and each other field begins one. A row
    of a table is one line, however long. Lines are not indented, which would take a twentieth of a file."""
    flat = _flat(value)
    if not isinstance(value, (dict, list)) or len(flat) <= _WIDTH:
        return flat
    if isinstance(value, list):
        if not any(isinstance(item, (dict, list)) for item in value):
            return flat
        return "[\n" + ",\n".join(map(_lines, value)) + "\n]"
    if set(value) == {"table", "rows"}:
        return _table_lines(value)
    plain = {
        key: item for key, item in value.items() if not (item and isinstance(item, (dict, list)))
    }
    items = [_flat(plain)[1:-1]] if plain else []
    items += [f"{_flat(key)}:{_lines(item)}" for key, item in value.items() if key not in plain]
    return "{\n" + ",\n".join(items) + "\n}"


def _table_lines(table: dict[str, Any]) -> str:
    rows = table["rows"]
    if isinstance(rows, dict):
        items = [f"{_flat(name)}:{_flat(cells)}" for name, cells in rows.items()]
        begin, end = "{", "}"
    else:
        items = [_flat(cells) for cells in rows]
        begin, end = "[", "]"
    head = f'{{"table":{_flat(table["table"])},"rows":{begin}\n'
    return head + ",\n".join(items) + f"\n{end}}}"


def dumps(data: dict[str, Any]) -> str:
    """The text of a file, for `loads`. `data["cases"]` never becomes one table: each case begins lines of its own."""
    packed = {key: _packed(item) for key, item in data.items() if key != "cases"}
    cases = [_packed(case) for case in data["cases"]]
    return _lines(_with_heads({**packed, "cases": cases})) + "\n"


def loads(text: str) -> Any:
    """What `dumps` was given, with the fields of a table's rows in the table's order."""
    data = json.loads(text)
    heads = data.pop("heads", {}) if isinstance(data, dict) and "cases" in data else {}
    for table in list(_tables(data)):
        if isinstance(table["table"], str):
            table["table"] = heads[table["table"]]
    return _unpacked(data)
