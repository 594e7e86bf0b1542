"""PETSc as a process of its own, for bench/solve_cpu.py and bench/dist_cpu.py: petsc4py often lives in another Python
than penstock does.

    mpirun -n 2 python3 bench/rivals/petsc/worker.py FOLDER

Reads indptr.npy, indices.npy, data.npy and b.npy from FOLDER, and cuts.npy, the ranks' first rows, where it is there.
Every rank reads commands, one JSON object a line, from a FIFO of its own, command.RANK (a rank that waits there takes
no CPU time); rank 0 answers in the FIFO `answer`.
Commands: {"do": "setup", "ksp", "pc", "sub", "rtol", "restart", "maxiter"}, {"do": "solve", "calls"}, {"do":
"multiply", "calls"} (x = A b), {"do": "square", "calls"} (A A), {"do": "fetch"} (writes x, or A A b, to x.npy),
{"do": "end"}.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

try:
    from petsc4py import PETSc
except ModuleNotFoundError:  # Debian keeps it in PETSc's own folder, which a .pth file may not know
    sys.path += map(str, Path("/usr/lib/petscdir").glob("*/*/lib/python3/dist-packages"))
    from petsc4py import PETSc


def assemble(folder):
    indptr, indices, data = (
        np.load(folder / f"{n}.npy", mmap_mode="r") for n in ("indptr", "indices", "data")
    )
    n, comm = len(indptr) - 1, PETSc.COMM_WORLD
    cuts = [n * r // comm.size for r in range(comm.size + 1)]
    if (folder / "cuts.npy").exists():
        cuts = np.load(folder / "cuts.npy").tolist()
    first, last = cuts[comm.rank], cuts[comm.rank + 1]
    begin, end = int(indptr[first]), int(indptr[last])
    csr = (
        (indptr[first : last + 1] - begin).astype(PETSc.IntType),
        np.array(indices[begin:end], dtype=PETSc.IntType),
        np.array(data[begin:end]),
    )
    local = (last - first, n)
    a = PETSc.Mat().createAIJ(size=(local, local), csr=csr, comm=comm)
    a.assemble()
    b, x = a.createVecs()
    b.array[:] = np.load(folder / "b.npy", mmap_mode="r")[first:last]
    return a, b, x


def setup(a, c):
    options = PETSc.Options()
    for name in ("sub_ksp_type", "sub_pc_type", "sub_pc_factor_levels"):
        options.delValue(name)
    if c["pc"] == "bjacobi":
        options["sub_ksp_type"] = "preonly"
        options["sub_pc_type"] = c["sub"]
    ksp = PETSc.KSP().create(a.comm)
    ksp.setOperators(a)
    ksp.setType(c["ksp"])
    if c["ksp"] == "gmres":
        ksp.setGMRESRestart(c["restart"])
    ksp.setPCSide(PETSc.PC.Side.RIGHT if c["ksp"] in ("gmres", "bcgs") else PETSc.PC.Side.LEFT)
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.getPC().setType(c["pc"])
    if c["pc"] == "hypre":
        ksp.getPC().setHYPREType("boomeramg")
    ksp.setTolerances(rtol=c["rtol"], atol=1e-300, max_it=c["maxiter"])
    ksp.setFromOptions()
    ksp.setUp()
    if c["pc"] == "bjacobi":
        ksp.setUpOnBlocks()
    return ksp


def main():
    folder = Path(sys.argv[1])
    a, b, x = assemble(folder)
    comm = a.comm
    with (
        open(folder / f"command.{comm.rank}") as commands,
        open(folder / "answer" if comm.rank == 0 else os.devnull, "w") as answers,
    ):
        serve(folder, a, b, x, commands, answers)


def serve(folder, a, b, x, commands, answers):
    comm, ksp, squared = a.comm, None, None
    for line in commands:
        c = json.loads(line)
        answer = {}
        comm.barrier()
        begin = time.perf_counter()
        try:
            if c["do"] == "setup":
                if ksp is not None:
                    ksp.destroy()
                ksp = setup(a, c)
            elif c["do"] == "solve":
                for _ in range(c.get("calls", 1)):
                    x.set(0)
                    ksp.solve(b, x)
                answer = {
                    "iterations": ksp.getIterationNumber(),
                    "reason": int(ksp.getConvergedReason()),
                }
            elif c["do"] == "multiply":
                for _ in range(c["calls"]):
                    a.mult(b, x)
            elif c["do"] == "square":
                for _ in range(c["calls"]):
                    if squared is not None:
                        squared.destroy()
                    squared = a.matMult(a)
            elif c["do"] == "fetch":
                if squared is not None:
                    squared.mult(b, x)
                scatter, everything = PETSc.Scatter.toZero(x)
                scatter.scatter(x, everything)
                if comm.rank == 0:
                    np.save(folder / "x.npy", everything.array)
        except PETSc.Error as error:
            answer = {"error": str(error)}
        comm.barrier()
        answer["seconds"] = time.perf_counter() - begin
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if c["do"] == "end":
            break


if __name__ == "__main__":
    main()
