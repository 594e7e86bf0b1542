"""The methods and preconditioners that a name stands for: checks, messages, `Solver` and the command line read these
two lists, and nothing else names them all."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Method(NamedTuple):
    """`products` with A and `vectors` read or written, an iteration; `kept` more vectors for each that a restarted
    method keeps. `core`: its vectors may be on a GPU, and `refine` takes it. `definite`: A must be symmetric positive
    definite. `text` says what it is for."""

    module: str
    products: int
    vectors: float
    kept: int
    core: bool
    text: str
    definite: bool = False


METHODS = {
    "cg": Method("krylov", 1, 10, 0, True, "symmetric positive definite A", True),
    "pipecg": Method("krylov", 1, 15, 0, True, "the same, over many ranks", True),
    "minres": Method("_methods.minimal_residual", 1, 17, 0, False, "symmetric A, also indefinite"),
    "bicgstab": Method("krylov", 2, 17, 0, True, "any A"),
    "gmres": Method("krylov", 1, 8, 2, True, "any A; residuals never rise"),
    "fgmres": Method("_methods.flexible_gmres", 1, 8, 3, False, "any A, with an M that changes"),
    "block_cg": Method(
        "_methods.block_gradients", 1, 18, 0, False, "cg for several right-hand sides", True
    ),
}


class Kind(NamedTuple):
    """A preconditioner's class, as module and name, and what making one takes of a CPU, in seconds a nonzero: the least
    of six runs, a 64^3 Laplacian, G2_circuit and bcsstk18, which agreed to a factor of 1.5. `setup_gpu`: of a GPU,
    where it makes them: Laplacians of 128^3 and 256^3 on an H100 took 1.5 and 1.0 ns. `streams`: of a matrix that is
    streamed, too. `complex`: of complex matrices, too."""

    module: str
    name: str
    setup: float
    setup_gpu: float | None = None
    streams: bool = False
    complex: bool = False


# An incomplete factor that breaks down mostly exists a little off: bcsstk18 takes 431 iterations with a hundredth.
SHIFTS = (0.0, 1e-2, 1e-1)

PRECONDITIONERS = {
    "jacobi": Kind("preconditioners", "Jacobi", 1e-9, complex=True),
    "block_jacobi": Kind("preconditioners", "BlockJacobi", 5e-9),
    "ilu0": Kind("preconditioners", "ILU0", 35e-9),
    "ic0": Kind("preconditioners", "IC0", 30e-9),
    "chebyshev": Kind("preconditioners", "Chebyshev", 30e-9, complex=True),
    "amg": Kind("multigrid", "AMG", 300e-9, 1.2e-9, True, True),
}


def method_named(name: str) -> Any:
    """The function of `penstock.linalg` that a method's name stands for. ValueError where there is none."""
    if name not in METHODS:
        raise ValueError(f"method={name!r} is unknown: choose one of {', '.join(METHODS)}")
    return getattr(importlib.import_module(f"penstock.linalg.{METHODS[name].module}"), name)


def preconditioner_named(name: str) -> Any:
    """The class that M=name stands for. ValueError where there is none."""
    if name not in PRECONDITIONERS:
        raise ValueError(f"M={name!r} is unknown: choose one of {', '.join(PRECONDITIONERS)}")
    kind = PRECONDITIONERS[name]
    return getattr(importlib.import_module(f"penstock.linalg.{kind.module}"), kind.name)
