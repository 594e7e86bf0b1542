"""What a matrix keeps once it was made: other forms of it, plans, and what algorithms have found out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from penstock._arrays.libraries import Queuer
    from penstock._matrix.csr import csr_array
    from penstock._plan.choice import Choice
    from penstock._plan.streaming import Plans

_once = threading.Lock()


# Of a field that `release_gpu` frees: it holds memory of GPUs or locked pages, or is there for what does.
_GPU = {"gpu": True}


@dataclass(init=False)
class Derived:
    """None (or 0) is what nobody has made yet. Matrices never change, so that nothing here ever goes out of date.

    Fields are read and set from any thread: each is replaced as a whole, and two threads that make the same thing at
    once leave the one or the other. Where all must get the same one, `once` makes it. An object that holds nothing has
    no attributes of its own, since there is one a matrix.
    """

    # Of the entries
    row_order: tuple[bool, bool] | None = None  # (sorted, canonical)
    ascending: bool | None = None  # columns rise strictly in each row
    longest_list: int | None = None  # entries of the longest row
    transpose: csr_array | None = None
    pattern: csr_array | None = None  # the same entries without values
    refined: dict[str, csr_array] | None = (
        None  # of a float64 matrix in lower precision, for refinement
    )
    scipy_view: Any = None  # SciPy's csr_array over the same entries, of a small matrix
    generation: Any = None  # of the store that the matrix was opened from

    # Products on GPUs
    stream_plans: Plans | None = field(default=None, metadata=_GPU)
    packed: Any = field(
        default=None, metadata=_GPU
    )  # the core's packed form, or False where the rows cannot be packed
    packed_nnz: int | None = field(default=None, metadata=_GPU)  # of a block
    packed_estimate: int | None = None  # bytes
    ell_g: Any = field(default=None, metadata=_GPU)
    ell_g_block: int | None = field(default=None, metadata=_GPU)  # bytes
    on_gpu: tuple[int, Any] | None = field(
        default=None, metadata=_GPU
    )  # (GPU, the core's matrix there)
    device_matrix: tuple[int, Any] | None = field(
        default=None, metadata=_GPU
    )  # (GPU, the core's matrix as it is multiplied there)
    device_calls: dict[Any, Any] | None = field(
        default=None, metadata=_GPU
    )  # its products, by semiring, type and GPU
    queuers: dict[type, Queuer] | None = field(
        default=None, metadata=_GPU
    )  # class of x and y -> the product of vectors like the last ones
    torch_products: dict[Any, Callable[[Any], Any]] | None = field(
        default=None, metadata=_GPU
    )  # (transposed, type, GPU) -> the product with columns like the last ones, tensors of PyTorch
    transposed_structure: tuple[int, Any, Any] | None = field(
        default=None, metadata=_GPU
    )  # (GPU, the core's pattern of A^T there, which entry of A each of its is)
    device_ops: dict[str, Any] | None = field(
        default=None, metadata=_GPU
    )  # type of the vectors -> the core's operator in core, with what its products have prepared
    products: int = field(default=0, metadata=_GPU)  # that were large enough for GPUs
    gpu_choice: tuple[Any, Choice | None, str] | None = field(
        default=None, metadata=_GPU
    )  # (asked, found, why not)

    on_host: csr_array | None = field(
        default=None, metadata=_GPU
    )  # a copy of a matrix on a GPU, for what the CPU looks up in it

    read_by_gpu: tuple[str, csr_array] | None = field(
        default=None, metadata=_GPU
    )  # (place, a copy there for what reads it in place)

    # Of a graph
    symmetric_pattern: bool | None = None
    symmetric_weights: bool | None = None
    undirected: csr_array | None = None
    both_ways: csr_array | None = None
    simple: csr_array | Literal[True] | None = (
        None  # True: the matrix itself, which may not hold itself
    )
    without_repeats: csr_array | Literal[True] | None = None
    neighbour_sample: tuple[int, str, np.ndarray] | None = None
    neighbour_sample_checked: bool = True
    path_weights: Any = None
    finite_weights: bool | None = None
    sum_overflows: bool | None = None  # of weights that are finite and not negative
    largest_weights: np.ndarray | None = None  # of each row
    least_weight: float | None = None
    bfs_plan: Any = None
    missed_edges: int = 0  # that searches have walked for want of the reversed ones
    oriented: Any = None
    oriented_lists: csr_array | None = None
    oriented_gpu: tuple[Any, Any, csr_array | None] | None = field(
        default=None, metadata=_GPU
    )  # (asked, edges oriented there, their lists; None and None where they do not fit)
    pagerank: tuple[csr_array, np.ndarray, bool] | None = None  # (edges in, weights out, symmetric)
    weights_out: np.ndarray | None = (
        None  # of the vertices of a pattern, for PageRank over its lists
    )
    pagerank_plan: str | None = None
    pagerank_gpu_pattern: tuple[Any, np.ndarray, bool] | None = field(default=None, metadata=_GPU)
    pagerank_gpu_weighted: tuple[Any, np.ndarray, bool] | None = field(default=None, metadata=_GPU)
    packed_lists: Any = None  # the core's packed neighbour lists
    draws_packed: bool | None = None  # whether samples and walks read them, found by the first one
    list_sample: Any = None  # the core's look at some lists, by which all are packed
    packed_paths: Any = None  # the same lists with the lengths of the edges
    link_seconds: float = 0  # that traversals took whose lists came over the link
    link_calls: int = 0  # how many these were
    path_link_seconds: float = 0  # the same of shortest paths
    reads_of_paths: int = field(
        default=0, metadata=_GPU
    )  # of their packed lists, by other algorithms
    gpu_graph: tuple[Any, Any] | None = field(
        default=None, metadata=_GPU
    )  # (asked, the core's graph)
    sample_graphs: dict[int, Any] | None = field(
        default=None, metadata=_GPU
    )  # GPU: the core's graph as it is sampled there
    gpu_parts: tuple[Any, Any, Any] | None = field(
        default=None, metadata=_GPU
    )  # (asked, the core's graphs, cut as)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """The field of this name, made where it is None; the same one for all threads that ask at once."""
        known = getattr(self, name)
        if known is None:
            made = make()
            with _once:
                known = getattr(self, name)
                if known is None:
                    setattr(self, name, made)
                    known = made
        return known

    def take_facts(self, other: Derived) -> None:
        """What is known of the same entries in another memory."""
        for name in ("row_order", "ascending", "symmetric_pattern", "symmetric_weights"):
            if (known := getattr(other, name)) is not None:
                setattr(self, name, known)

    def release_gpu(self) -> None:
        """Lets go of what is kept on GPUs and for them."""
        for each in fields(self):
            if each.metadata.get("gpu"):
                vars(self).pop(each.name, None)

    def release(self) -> None:
        """Lets go of everything."""
        for each in fields(self):
            vars(self).pop(each.name, None)
