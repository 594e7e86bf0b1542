"""Matrices and graphs made on the spot: seeded, and the same for any number of threads.

Every function returns a `csr_array` with sorted rows and, but for `lift`, without duplicates. `dtype` is `bool` (a
pattern, which stores no values), `float32` or `float64`. Bad arguments raise ValueError, and those of another type
TypeError, before anything is allocated; a matrix that cannot fit the free memory raises MemoryError. `rmat`,
`uniform` and `lift` also run on a GPU (`device`) and make the same matrices there, bit for bit.

No vertices, rows or groups make an empty matrix, where the model has one: `rmat`, `bter` and `barabasi_albert` need
some. Ranks (`ps.dist`) make no empty one.

`lift` makes a graph of any size that has the structure of a real one. `barabasi_albert`, `planted_partition`,
`random_geometric`, `stochastic_block` and `watts_strogatz` are models that NetworkX has, too: the same
distributions, other random numbers.

`_keep` is for ps.dist, whose ranks make some rows each: the result has those rows alone.
"""

from __future__ import annotations

from penstock.generate._bter import bter, bter_clustering, bter_degrees
from penstock.generate._drawn import rmat, uniform
from penstock.generate._grids import advection_diffusion, banded, laplacian, road_grid
from penstock.generate._lift import lift
from penstock.generate._models import (
    barabasi_albert,
    planted_partition,
    random_geometric,
    stochastic_block,
    watts_strogatz,
)

__all__ = [
    "advection_diffusion",
    "banded",
    "barabasi_albert",
    "bter",
    "bter_clustering",
    "bter_degrees",
    "laplacian",
    "lift",
    "planted_partition",
    "random_geometric",
    "rmat",
    "road_grid",
    "stochastic_block",
    "uniform",
    "watts_strogatz",
]
