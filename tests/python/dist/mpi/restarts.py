"""Solves that go on from their states: `restarts.py FOLDER MAXITER [kill]`, of all methods, one after the other.

With `kill`, rank 1 is killed in the last one. Prints a line a method on rank 0: where it went on, and where it is."""

import os
import signal
import sys

import numpy as np

import penstock as ps

METHODS = {
    "cg": {},
    "pipecg": {"M": "jacobi"},
    "bicgstab": {},
    "fgmres": {"restart": 7, "M": "chebyshev"},
    "gmres": {"restart": 7},
}
RTOL = 1e-9


def killed_after(iterations):
    """A callback that counts them."""
    seen = []

    def callback(_):
        seen.append(1)
        if len(seen) == iterations:
            os.kill(os.getpid(), signal.SIGKILL)

    return callback


def main(folder, maxiter, kill=""):
    comm = ps.dist.world()
    a = ps.generate.laplacian((14, 14))
    b = np.random.default_rng(1).standard_normal(a.shape[0])
    # Owners that differ between jobs: rows of a rank are no range.
    D = ps.dist.csr_array(a, comm, partition=np.arange(a.shape[0], dtype=np.int32) % comm.size)
    for method, options in METHODS.items():
        if kill and method == list(METHODS)[-1] and comm.rank == 1:
            options = {**options, "callback": killed_after(20), "callback_type": "pr_norm"}
        elif method == "gmres":
            options = {**options, "callback": lambda _: None, "callback_type": "pr_norm"}
        cycles = int(maxiter) // 8 if method == "fgmres" else int(maxiter)
        x, info = getattr(ps.dist.linalg, method)(
            D, D.share(b), rtol=RTOL, maxiter=cycles, checkpoint_every=6,
            checkpoint=os.path.join(folder, method), **options,
        )  # fmt: skip
        residual = np.linalg.norm(a.to_scipy() @ D.collect(x) - b) / np.linalg.norm(b)
        if comm.rank == 0:
            print(method, info.resumed, info.iterations, int(info), float(residual), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
