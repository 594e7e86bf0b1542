"""What packed lists of a graph take: bytes, and the seconds in which the CPU packs them."""

from __future__ import annotations

from penstock import _core
from penstock._matrix.csr import csr_array

# What the CPU takes to pack the list entry of an edge, on one thread.
_PACK_SECONDS = 45e-9


def cpu_packs(graph: csr_array) -> bool:
    """Whether lists are known not to ascend, so that the CPU has to pack them."""
    order = graph._derived.row_order
    return order is not None and not order[0]


def pack_seconds(graph: csr_array) -> float:
    """What the CPU takes to pack the lists, once; 0 where they are packed.

    >>> import penstock as ps
    >>> pack_seconds(ps.generate.rmat(10, seed=1)) < 0.1
    True
    """
    return 0.0 if graph._derived.packed_lists is not None else packing_seconds(graph)


def packing_seconds(graph: csr_array) -> float:
    """The same, whether they are or not."""
    return float(_PACK_SECONDS * graph.nnz / _core.num_threads())


def sizes_of_packed(graph: csr_array) -> dict[str, int]:
    """Bytes of the packed lists and, of these, of heads and bases; estimated where nobody has packed them.

    >>> import penstock as ps
    >>> from penstock._io._neighbours import packed_lists
    >>> A = ps.generate.rmat(10, seed=1)
    >>> before = sizes_of_packed(A)["head_bytes"]
    >>> before == packed_lists(A).facts()["head_bytes"]
    True
    """
    n = graph.shape[0]
    return {
        "packed_bytes": packed_bytes(graph),
        "head_bytes": 4 * n + 8 * (-(-n // 64) + 1),
    }


def packed_bytes(graph: csr_array) -> int:
    """What the graph's packed lists take; an estimate where nobody has packed them.

    >>> import penstock as ps
    >>> A = ps.generate.rmat(10, seed=1)
    >>> packed_bytes(A) < 4 * A.nnz
    True
    """
    derived = graph._derived
    if derived.packed_lists is not None:
        return int(derived.packed_lists.facts()["bytes"])
    return int(derived.once("list_sample", lambda: _core.sample_lists(graph._core)).bytes)
