"""Products of tiled matrices, each rank at its own pace."""

from __future__ import annotations

import os
import socket
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer, seed_number
from penstock._choices import one_of, semiring_named
from penstock.dist._agree import about
from penstock.dist._gpu import _offer
from penstock.dist._matmul_out import multiply_into
from penstock.dist._tile_choice import choose, choose_cover
from penstock.dist._tile_model.balance import MOST_PRODUCTS, operations_per_byte
from penstock.dist._tiles import tiled_array

__all__ = ["matmul", "plan"]

ALGORITHMS = ("one_sided", "summa")
STATIONARY = ("auto", "a", "b", "c", "cover")
_MOST_INT = 2**31 - 1  # of the core
_STEAL = {False: "none", None: "none", True: "locality", "random": "random", "locality": "locality"}


def matmul(
    A: tiled_array,
    B: tiled_array,
    stationary: str = "auto",
    steal: bool | str = False,
    prefetch: int | None = None,
    semiring: str = "plus_times",
    *,
    algorithm: str = "one_sided",
    memory: int | None = None,
    seed: int | None = None,
    mask: tiled_array | None = None,
    replicas: int = 1,
    out: str | os.PathLike[str] | None = None,
    nodes: str | int | Sequence[int] | None = None,
    balance: bool | None = None,
) -> Any:
    """C = A B, tile by tile: SpMM where B is dense, SpGEMM where it is sparse. Each rank fetches the tiles that it
    needs by one-sided gets, without the ranks that own them, as in Brock, Buluç and Yelick (ICS 2024).

    Parameters
    ----------
    A : tiled_array
        Sparse.
    B : tiled_array
        Sparse or dense; its tile rows are as large as A's tile columns.
    stationary : str
        Whose tiles stay where they are, and whose owners do the work: "c" (A and B travel), "a" (B and sums for C), "b"
        (A and sums for C). "cover": B for some entries of A and C for the others, so that the fewest rows of B and of
        sums travel (a minimum vertex cover of each tile); for a dense B. The first product cuts A in two, on the CPU,
        and A keeps both parts, which take its memory once more. "auto": of "a", "b" and "c", what the model of
        `penstock scale` finds fastest, with the tiles as they are, on the network that `penstock probe --mpi` measured,
        or a preset; and of a dense B in host memory on several ranks, without `steal`, "cover" where that is faster by
        the model once products have waited on the network for as long as it takes to cut A.
    steal : bool or str
        Ranks that are done take parts of others' products, some rows of a tile, while their owners work on the rest:
        "locality" (or True) of products one of whose tiles they own, "random" of any. On GPUs whole products.
    prefetch : int, optional
        Products whose tiles are under way while one is computed; 0: none. 1 where it is None.
    semiring : str
        "plus_times" (float32 or float64, the same in A and B; A, or a sparse B, may be a pattern, and two patterns give
        counts in float64), "min_plus" (likewise, no patterns) or "or_and" (patterns; a dense B of bool or uint8). On
        GPUs there are "plus_times", and "or_and" of sparse patterns.
    algorithm : "one_sided" or "summa"
        "summa" is the rival in lockstep: all ranks broadcast tiles of A along grid rows and of B along grid columns,
        and C stays. It takes no `stationary`, `steal`, `prefetch`, `seed` or `replicas`.
    memory : int, optional
        Bytes that this rank may use for C and for what `nodes` lets its node share, of its GPU's memory where tiles are
        on one; by default what is available besides tiles on their way.
    seed : int, optional
        Of the order in which tiles are robbed; 0 where it is None. ValueError without `steal`, where nobody robs.
    mask : tiled_array, optional
        Of a product of sparse matrices: C keeps only what lies on the mask's stored entries, whatever their values, and
        nothing else is computed. Sparse, cut like C and on A's grid. "auto" is then "c": the mask lies where C does.
    replicas : int
        Of stationary "c" (and "auto" is then "c"): so many layers of ranks each sum up a copy of C over their share of
        the inner dimension and send it to its owner. For many ranks: each fetches about sqrt(replicas) times fewer
        bytes, and sums travel instead. It divides a side of the grid.
    out : path of a native store, optional
        Of a product of sparse matrices: C is computed by as many rows of tiles at a time as fit `memory`, and rank 0,
        which needs memory for one row of tiles besides, appends them. The store appears when it is complete. All ranks
        must reach the path.
    nodes : "auto", int or sequence of int, optional
        Which ranks are on one node: so many that follow one another, the number of each rank's node, or "auto", by the
        names of the hosts. What several ranks of a node need of another node's tile then crosses once, and is passed on
        within the node; sums of theirs for another node's tile are added there and cross once. All that is shared is
        fetched before the first product, and needs memory until the last; with `out` for each range of rows anew. With
        `steal`, a rank takes parts from ranks of its node, of products whose tiles are all there or shared there: so
        nothing more crosses. For tiles in host memory, and not by SUMMA. None: ranks know of no nodes.

    balance : bool, optional
        True: where the most loaded rank has 1.5 times the mean work or more, as counted before the product, parts of
        its products are dealt to others, which send their sums to the tiles' owners; tiles stay where they are. What is
        fetched and sent for it counts as work, at the price of the model's network. False: everything is done by the
        owner of what is stationary. None: True of two sparse matrices in host memory where `stationary` is "auto",
        ranks do not share CPUs, and none of `steal`, `replicas`, `nodes` and `out` is given. Not with these, SUMMA,
        "cover" or devices. `C.plan()` says what was dealt.

    Returns
    -------
    tiled_array, or with `out` the opened store (a csr_array)
        On A's grid, and on the devices of A's and B's tiles, which are the same. Its `.plan()` and `.times` say how it
        was made.

    Collective, all arguments but `memory` alike on all ranks. With stationary "c", no stealing and no `balance`, and by
    "summa", the result has the same bits each time; otherwise sums are taken in the order in which they come.

    TypeError: an argument is of another kind. ValueError: tiles or arguments do not fit. MemoryError, on all ranks and
    before anything is computed: C will not fit, with the numbers. NotCompiledError: no such types or semiring.
    CommError: another rank failed or did not come.
    """
    for name, matrix in (("A", A), ("B", B)):
        if not isinstance(matrix, tiled_array):
            raise TypeError(
                f"{name} is {type(matrix).__name__}: cut it with ps.dist.tiled_array first"
            )
    if mask is not None and not isinstance(mask, tiled_array):
        raise TypeError(f"mask is {type(mask).__name__}: cut it with ps.dist.tiled_array first")
    one_of("algorithm", algorithm, ALGORITHMS)
    if not isinstance(stationary, str) or stationary not in STATIONARY:
        raise ValueError(
            f"stationary={stationary!r} is unknown: choose one of {', '.join(STATIONARY)}; "
            "SUMMA is algorithm='summa'"
        )
    _require_plain(steal, prefetch, semiring, memory, seed, replicas, out, balance)
    if algorithm == "summa":
        _refuse_for_summa(stationary, steal, prefetch, seed, replicas, nodes)
    if seed is not None and _STEAL[steal] == "none":
        raise ValueError(
            f"seed={seed!r} with steal={steal!r}: it is the order in which ranks steal, and none "
            "does: leave seed out, or take steal='locality' or 'random'"
        )
    of_ranks = None if nodes is None else _nodes(A.comm, nodes)
    if balance:
        _require_free_to_deal(A, algorithm, stationary, steal, replicas, out, of_ranks)
    ahead = 1 if prefetch is None else int(prefetch)
    seed = 0 if seed is None else int(seed)
    memory, replicas = None if memory is None else int(memory), int(replicas)
    if replicas != 1 and stationary not in ("auto", "c"):
        raise ValueError(f"replicas={replicas} are copies of C: stationary='c', not {stationary!r}")
    with about(
        A.comm,
        "matmul",
        A=_kind(A),
        B=_kind(B),
        mask=None if mask is None else _kind(mask),
        algorithm=algorithm,
        stationary=stationary,
        steal=_STEAL[steal],
        prefetch=ahead,
        semiring=semiring,
        seed=seed,
        replicas=replicas,
        out=None if out is None else os.fspath(out),
        nodes=None if of_ranks is None else of_ranks,
        balance=balance,
    ):
        kind = "summa" if algorithm == "summa" else stationary
        if balance is None:
            plain = _STEAL[steal] == "none" and replicas == 1 and of_ranks is None and out is None
            balance = kind == "auto" and B.sparse and A.device is None and A.comm.size > 1 and plain
            forced = False
        else:
            forced = balance
        if forced:
            _require_few_products(A, B)
        deal = _price(A, B, forced) if balance else -1.0
        return _multiply(
            A, B, kind, steal, ahead, semiring, memory, seed, mask, replicas, out, of_ranks, deal
        )


def _require_plain(
    steal: Any,
    prefetch: Any,
    semiring: Any,
    memory: Any,
    seed: Any,
    replicas: Any,
    out: Any,
    balance: Any,
) -> None:
    """TypeError or ValueError, before any message, for what is no such argument of any product: of the same arguments
    the same error on all ranks."""
    if not isinstance(steal, Hashable) or steal not in _STEAL:
        raise ValueError(
            f"steal={steal!r} is unknown: choose one of False, True, 'random', 'locality'"
        )
    if prefetch is not None:
        integer(prefetch, "prefetch", 0, _MOST_INT)
    integer(replicas, "replicas", 1, _MOST_INT)
    if not isinstance(semiring, str):
        semiring_named(semiring)  # which says what there is
    if memory is not None:
        try:
            integer(memory, "memory", 0)
        except TypeError as error:
            raise TypeError(f"{error}: give bytes, as 10**9, or None") from None
    if seed is not None:
        seed_number(seed)
    if balance is not None:
        flag(balance, "balance")
    if not (out is None or isinstance(out, (str, os.PathLike))):
        raise TypeError(f"out={out!r}: give the path of a store, or None")


def _price(A: tiled_array, B: tiled_array, forced: bool) -> float:
    """`operations_per_byte`, which A remembers for any B of these tiles."""
    kind = B.shape, B.tiles, B.dtype, B.sparse, B.nnz == 0, forced
    if kind not in A._auto.prices:
        A._auto.prices[kind] = operations_per_byte(A._core.map, B._core.map, A.comm, forced=forced)
    return A._auto.prices[kind]


def _require_few_products(A: tiled_array, B: tiled_array) -> None:
    products = A.tiles[0] * A.tiles[1] * B.tiles[1]
    if products > MOST_PRODUCTS:
        raise ValueError(
            f"balance=True: {products} products of tiles are more than the {MOST_PRODUCTS} that are dealt: cut A and B "
            "into fewer tiles, or leave balance out"
        )


def _require_free_to_deal(
    A: tiled_array,
    algorithm: str,
    stationary: str,
    steal: bool | str,
    replicas: int,
    out: Any,
    nodes: Any,
) -> None:
    """Raises ValueError, or NotCompiledError, for what leaves no work to be dealt before the product."""
    for name, value, given in (
        ("algorithm", algorithm, algorithm != "one_sided"),
        ("stationary", stationary, stationary == "cover"),
        ("steal", steal, _STEAL[steal] != "none"),
        ("replicas", replicas, replicas != 1),
        ("out", out, out is not None),
        ("nodes", nodes, nodes is not None),
    ):
        if given:
            raise ValueError(
                f"balance=True with {name}={value!r}: work is dealt before the product, among ranks that know of no "
                f"nodes, and C has one copy in memory: leave {name} out, or balance"
            )
    if A.device is not None:
        raise _core.NotCompiledError(
            "balance=True: products of tiles on a device are not dealt in parts: cut the tiles without device=, or "
            "leave balance out"
        )


def _refuse_for_summa(
    stationary: str,
    steal: bool | str,
    prefetch: int | None,
    seed: int | None,
    replicas: int,
    nodes: Any,
) -> None:
    """Raises ValueError for an argument that lockstep leaves no room for."""
    for name, value, given in (
        ("stationary", stationary, stationary != "auto"),
        ("steal", steal, _STEAL[steal] != "none"),
        ("prefetch", prefetch, prefetch is not None),
        ("seed", seed, seed is not None),
        ("replicas", replicas, replicas != 1),
        ("nodes", nodes, nodes is not None),
    ):
        if given:
            raise ValueError(
                f"{name}={value!r} with algorithm='summa': SUMMA works in lockstep and C stays, "
                f"leave {name} out, or take algorithm='one_sided'"
            )


def _nodes(comm: Any, nodes: Any) -> list[int]:
    """The number of each rank's node. ValueError where they are not so many numbers."""
    if isinstance(nodes, str) and nodes == "auto":
        return _numbered(comm.collect(socket.gethostname()))
    if isinstance(nodes, (int, np.integer)) and not isinstance(nodes, bool) and nodes > 0:
        return [rank // int(nodes) for rank in range(comm.size)]
    try:
        given = np.asarray(nodes)
    except ValueError:  # lists of several lengths
        given = np.zeros(0)
    if given.shape != (comm.size,) or given.dtype.kind not in "iu" or given.min(initial=0) < 0:
        raise ValueError(
            f"nodes={nodes!r}: 'auto', ranks of a node (at least 1), or the number of each of the {comm.size} ranks' "
            "node, from 0 on"
        )
    return _numbered(given.tolist())


def _numbered(names: list[Any]) -> list[int]:
    first = {name: n for n, name in enumerate(dict.fromkeys(names))}
    return [first[name] for name in names]


def _kind(matrix: tiled_array) -> str:
    rows, cols = matrix.shape
    return f"{rows} x {cols} {matrix.dtype} in tiles of {matrix.tile_shape} on {matrix.grid}"


def _multiply(
    A: tiled_array,
    B: tiled_array,
    kind: str,
    steal: bool | str,
    prefetch: int,
    semiring: str,
    memory: int | None,
    seed: int,
    mask: tiled_array | None,
    replicas: int,
    out: str | os.PathLike[str] | None,
    nodes: list[int] | None,
    deal: float,
) -> Any:
    """matmul, of arguments that are the same on all ranks. `kind`: "summa", or what is stationary. `deal`: operations
    in the time of a byte by which work is dealt; below 0: it is not."""
    if kind == "auto" and (mask is not None or replicas != 1):
        kind = "c"
    elif kind == "auto":
        on_gpus = A.device is not None and A.device.memory == "device"
        kind = choose(
            A.comm, A._core.map, B._core.map, steal=_STEAL[steal], prefetch=prefetch, gpus=on_gpus
        )
        if _STEAL[steal] == "none" and A.comm.size > 1 and A.device is None and deal < 0:
            kind = choose_cover(A, B, kind, prefetch=prefetch)
    if kind == "summa":
        _offer("nccl")  # for GPUs
    if out is not None:
        how = (
            kind,
            _STEAL[steal],
            prefetch,
            semiring,
            -1 if memory is None else memory,
            seed,
        )
        return multiply_into(out, A, B, how, mask, replicas, nodes)
    core, made_by, times = _core.tiles_multiply(
        A._core,
        B._core,
        kind,
        _STEAL[steal],
        prefetch,
        semiring,
        -1 if memory is None else memory,
        seed,
        None if mask is None else mask._core,
        replicas,
        nodes or [],
        deal,
    )
    times["algorithm"] = "summa" if kind == "summa" else "one_sided"
    times["stationary"], times["steal"] = "c" if kind == "summa" else kind, _STEAL[steal]
    return tiled_array._of(core, made_by, times)


def plan(A: Any, B: Any, stationary: str, replicas: int = 1) -> Any:
    """The products of tiles of A B under a stationary matrix "a", "b" or "c", with owners, bytes and flops, without
    computing anything; entries count as spread evenly within tiles. A and B: tiled_array, or directories of tiles."""
    return _core.tile_plan(_map(A), _map(B), stationary, replicas)


def _map(matrix: Any) -> Any:
    return matrix._core.map if isinstance(matrix, tiled_array) else matrix
