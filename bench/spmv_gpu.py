"""SpMV on one GPU: in core, streamed and zero-copy, against this GPU's measured bandwidths.

    python bench/spmv_gpu.py --out build/spmv_gpu.json [--scale 1.0] [--repeats 9]

Kernel times are CUDA events around the kernels alone, x and y on the GPU. `call` is the whole
product with x and y in ordinary host memory. Bytes are the least that a product moves: the matrix,
x and y once. cuSPARSE is timed through CuPy where it imports, in turns with ours.
"""

import argparse
import json
import statistics
import time

import numpy as np
from matrices_gpu import arrays, laplacian, power_law, uniform
from rival_cusparse import about, cupy_runs

from penstock import _core


def whole_call(matrix, x, y, how, repeats):
    seconds = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        trace = _core.product(matrix, x, y, how)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[1:]), trace


def rows_for(name, dtype, cols, indptr, indices, limits, repeats, rival):
    vector = np.dtype(dtype or "float64")
    rng = np.random.default_rng(7)
    values = None if dtype is None else rng.standard_normal(len(indices)).astype(dtype)
    x = rng.standard_normal(cols).astype(vector)
    rows, nnz = len(indptr) - 1, len(indices)
    a = _core.Matrix.from_arrays(rows, cols, indptr, indices, values, every_index=False)
    least = a.nbytes + (rows + cols) * vector.itemsize
    on_device, pinned = _core.to_place(a, "device"), _core.to_place(a, "pinned")
    theirs = cupy_runs(rival, indptr, indices, values, (rows, cols), x) if rival else {}
    ours, other = [], {name: [] for name in theirs}
    for _ in range(repeats):
        (seconds,), expected = _core.time_spmv_gpu(on_device, x, repeats=1)
        ours.append(seconds)
        for name_of_theirs, once in theirs.items():
            other[name_of_theirs].append(once())
    tolerance = 1e-3 if vector == np.float32 else 1e-9

    def right(got, what):
        assert np.abs(got - expected).max() <= tolerance * np.abs(expected).max(), (
            f"{name}: {what} is wrong"
        )

    y = np.zeros(rows, vector)

    def row(what, seconds, limit):
        rate = least / seconds / 1e9
        return dict(
            matrix=name,
            dtype=dtype or "pattern",
            rows=rows,
            nnz=nnz,
            what=what,
            ms=seconds * 1e3,
            gflops=2 * nnz / seconds / 1e9,
            gbs=rate,
            fraction=rate / limits[limit],
        )

    out = [row("in core, kernel", statistics.median(ours), "device")]
    for name_of_theirs, seconds in other.items():
        out.append(row(f"cuSPARSE {name_of_theirs}", statistics.median(seconds), "device"))
        right(theirs[name_of_theirs].y.get(), "cuSPARSE")
    cases = [
        ("in core, call", on_device, _core.in_core(0), "device"),
        ("streamed, pinned, call", pinned, _core.streamed([0]), "link"),
        ("zero-copy, pinned, call", pinned, _core.zero_copy(0), "link"),
    ]
    for what, matrix, how, limit in cases:
        y[:] = np.nan
        seconds, _ = whole_call(matrix, x, y, how, max(repeats // 2, 3))
        out.append(row(what, seconds, limit))
        right(y, what)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="JSON file to write")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="size of the matrices; 1 is about 1 GB each"
    )
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    if _core.device_count() == 0:
        raise SystemExit(
            "no GPU can be used here; penstock.show_config() and nvidia-smi may tell why"
        )
    try:
        import cupy
    except ImportError:
        cupy = None
    copies = {"device": ("device", "device", 2), "link": ("device", "pinned", 1)}
    limits = {
        k: n * (1 << 30) / statistics.median(_core.time_copy_gpu(1 << 30, to, source)) / 1e9
        for k, (to, source, n) in copies.items()
    }
    print(
        "GB/s: device copy (read + write) {device:.0f}, pinned to device {link:.1f}".format(
            **limits
        )
    )
    rng = np.random.default_rng(1)
    rows = int(4e6 * args.scale)
    made = {
        "power law": lambda: power_law(rng, rows, 24),
        "uniform 20": lambda: uniform(rng, rows, 20),
        "laplacian 3d": lambda: laplacian(int(256 * args.scale ** (1 / 3))),
    }
    results = []
    print(f"{'matrix':14}{'type':9}{'what':25}{'ms':>9}{'GFLOP/s':>9}{'GB/s':>8}{'of limit':>9}")
    for name, make in made.items():
        cols, indptr, indices = arrays(make())
        for dtype in ("float64", "float32", None):
            for r in rows_for(name, dtype, cols, indptr, indices, limits, args.repeats, cupy):
                results.append(r)
                line = (
                    "{matrix:14}{dtype:9}{what:25}{ms:9.3f}{gflops:9.1f}{gbs:8.0f}{fraction:9.2f}"
                )
                print(line.format(**r), flush=True)
    here = {"limits_gbs": limits, "config": _core.config(), "topology": _core.topology()}
    if cupy:
        here |= about(cupy)
    with open(args.out, "w") as f:
        json.dump({**here, "repeats": args.repeats, "results": results}, f, indent=1)


if __name__ == "__main__":
    main()
