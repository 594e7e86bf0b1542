"""Writes graphs as WebGraph does, for tests: every code, and choices that its own compressor would not make."""

import random
from itertools import pairwise

DEFAULTS = {
    "OUTDEGREES": "GAMMA",
    "BLOCKS": "GAMMA",
    "RESIDUALS": "ZETA",
    "REFERENCES": "UNARY",
    "BLOCK_COUNT": "GAMMA",
    "OFFSETS": "GAMMA",
}


def fixed(n, width):
    return format(n, f"0{width}b") if width else ""


def gamma(n):
    return "0" * ((n + 1).bit_length() - 1) + bin(n + 1)[2:]


def delta(n):
    bits = bin(n + 1)[2:]
    return gamma(len(bits) - 1) + bits[1:]


def unary(n):
    return "0" * n + "1"


def zeta(n, k):
    h = ((n + 1).bit_length() - 1) // k
    left = 1 << (h * k)
    offset, size = n + 1 - left, (left << k) - left
    width = (size - 1).bit_length()
    short = (1 << width) - size  # so many codes have a bit less
    tail = fixed(offset, width - 1) if offset < short else fixed(offset + short, width)
    return unary(h) + tail


def nibble(n):
    groups = [n & 7]
    while n := n >> 3:
        groups.append(n & 7)
    return "".join("0" + fixed(g, 3) for g in groups[:0:-1]) + "1" + fixed(groups[0], 3)


def code(name, n, k):
    if name == "ZETA":
        return zeta(n, k)
    return {"GAMMA": gamma, "DELTA": delta, "UNARY": unary, "NIBBLE": nibble}[name](n)


def natural(n):
    return 2 * n if n >= 0 else -2 * n - 1


def as_bytes(bits):
    bits += "0" * (-len(bits) % 8)
    return int(bits or "0", 2).to_bytes(len(bits) // 8, "big")


def _blocks(copied):
    """Lengths of runs that are copied and left out in turn, the last one is not written."""
    runs, take = [], True
    for c in copied:
        if c == take and runs:
            runs[-1] += 1
        elif c == take:
            runs.append(1)
        else:
            runs += [1] if runs else [0, 1]
            take = c
    return runs[:-1]


def _intervals(extra, least, rng):
    found, i = [], 0
    while i < len(extra):
        j = i
        while j + 1 < len(extra) and extra[j + 1] == extra[j] + 1:
            j += 1
        if j - i + 1 >= least and rng.random() < 0.9:
            found.append((extra[i], j - i + 1))
        i = j + 1
    return found


def write(
    path,
    lists,
    *,
    window=7,
    min_interval=4,
    zeta_k=3,
    codes=None,
    seed=0,
    offsets=False,
    extra_lines="",
):
    """NAME.graph, NAME.properties and, with `offsets`, NAME.offsets; `path` is the .graph."""
    rng, names = random.Random(seed), DEFAULTS | (codes or {})
    bits, at, places = [], 0, [0]

    def put(field, n):
        bits.append(code(names[field], n, zeta_k))

    for x, own in enumerate(lists):
        begin = len(bits)
        put("OUTDEGREES", len(own))
        if own:
            back = rng.choice([0, *range(min(window, x) + 1)]) if window else 0
            if window:
                put("REFERENCES", back)
            extra = own
            if back:
                there = set(own)
                copied = [v in there and rng.random() < 0.95 for v in lists[x - back]]
                runs = _blocks(copied)
                put("BLOCK_COUNT", len(runs))
                for i, run in enumerate(runs):
                    put("BLOCKS", run - (i > 0))
                kept = {v for v, c in zip(lists[x - back], copied, strict=True) if c}
                extra = [v for v in own if v not in kept]
            if extra and min_interval:
                intervals = _intervals(extra, min_interval, rng)
                bits.append(gamma(len(intervals)))
                end = None
                for left, length in intervals:
                    bits.append(gamma(natural(left - x) if end is None else left - end - 1))
                    bits.append(gamma(length - min_interval))
                    end = left + length
                inside = {v for left, length in intervals for v in range(left, left + length)}
                extra = [v for v in extra if v not in inside]
            last = None
            for v in extra:
                put("RESIDUALS", natural(v - x) if last is None else v - last - 1)
                last = v
        at += sum(map(len, bits[begin:]))
        places.append(at)
    path.write_bytes(as_bytes("".join(bits)))
    flags = " | ".join(f"{f}_{c}" for f, c in names.items() if c != DEFAULTS[f])
    describe(
        path, len(lists), sum(map(len, lists)), window, min_interval, zeta_k, flags, extra_lines
    )
    if offsets:
        steps = [0] + [b - a for a, b in pairwise(places)]
        path.with_suffix(".offsets").write_bytes(
            as_bytes("".join(code(names["OFFSETS"], n, zeta_k) for n in steps))
        )


def describe(path, nodes, arcs, window=7, min_interval=4, zeta_k=3, flags="", extra_lines=""):
    path.with_suffix(".properties").write_text(
        f"#BVGraph properties\n#a date\nversion=0\nzetak={zeta_k}\nwindowsize={window}\nmaxrefcount=3\nnodes={nodes}\n"
        f"arcs={arcs}\nminintervallength={min_interval}\ncompressionflags={flags}\n"
        f"graphclass=it.unimi.dsi.webgraph.BVGraph\n{extra_lines}"
    )


def random_lists(n, seed, density=0.1):
    """Lists that are alike, with runs, and some that are empty."""
    rng, lists = random.Random(seed), []
    for _ in range(n):
        own = set()
        if rng.random() < 0.85:
            own |= {v for v in range(n) if rng.random() < density * rng.random()}
            for _again in range(rng.choice((0, 0, 1, 2))):
                first = rng.randrange(n)
                own |= set(range(first, min(n, first + rng.randrange(1, 15))))
            if lists and rng.random() < 0.7:
                own |= {
                    v
                    for v in lists[-rng.randrange(1, min(len(lists), 7) + 1)]
                    if rng.random() < 0.9
                }
        lists.append(sorted(own))
    return lists
