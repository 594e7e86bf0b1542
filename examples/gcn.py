"""A graph convolutional network of two layers (Kipf and Welling 2017), trained on the whole graph at once.

    python examples/gcn.py --scale 14 --epochs 30
    python examples/gcn.py --scale 20 --features 64 --device-memory 200MB
    python examples/gcn.py --scale 20 --features 64 --device cuda --device-memory 200MB

The graph is an R-MAT. A vertex's label is what two rounds of means over its neighbours make of random features: nobody
learns it from the vertex's own. The graph stays a `csr_array`, and only its products (`ps.torch.matmul`) are part of
PyTorch's program. Features and weights are tensors on `--device`.

On the CPU, edges that take more than `--device-memory` are streamed through the GPU where there is one; without one,
and with `--streamed`, through the caches of the CPU. With `--device cuda`, the graph is on the GPU beside the tensors,
unless its edges take more than `--device-memory`: then they stay in pinned host memory, and are streamed.

A smaller graph of the same kind is trained beside `torch.sparse`, which must find the same losses. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

import penstock as ps

Product = Callable[[torch.Tensor], torch.Tensor]
TOLERANCE = 1e-3  # of a loss: float32, added up in two orders, epoch after epoch
COMPARED = 30  # epochs: what two orders of a sum differ by grows from step to step


def normalised(graph: ps.csr_array) -> ps.csr_array:
    """D^-1/2 (A + I) D^-1/2 in float32, of a pattern without self loops."""
    n = graph.shape[0]
    loops = graph + ps.csr_array((np.ones(n, bool), np.arange(n), np.arange(n + 1)), shape=(n, n))
    scale = (1 / np.sqrt(loops.sum(axis=1))).astype(np.float32)
    return loops.scale(rows=scale, cols=scale)


class Gcn(torch.nn.Module):
    """softmax(S relu(S X W1) W2), where `product` is x -> S x."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(features, hidden)
        self.second = torch.nn.Linear(hidden, classes)

    def forward(self, product: Product, x: torch.Tensor) -> torch.Tensor:
        return product(self.second(torch.relu(product(self.first(x)))))


class Task:
    """A graph, features, labels, and which vertices are for training."""

    def __init__(self, scale: int, features: int, classes: int, device: str) -> None:
        self.matrix = normalised(ps.generate.rmat(scale, 16, seed=1))
        n, self.classes = self.matrix.shape[0], classes
        draw = torch.Generator().manual_seed(1)
        self.x = torch.randn(n, features, generator=draw)
        teacher = torch.randn(features, classes, generator=draw)
        seen = self.matrix @ (self.matrix @ (self.x @ teacher))
        self.labels = (seen - seen.mean(0)).argmax(1)
        self.training = torch.rand(n, generator=draw) < 0.7
        self.device = device
        self.x, self.labels, self.training = (
            t.to(device) for t in (self.x, self.labels, self.training)
        )


def train(
    task: Task, product: Product, hidden: int, epochs: int, show: bool
) -> tuple[Gcn, list[float], float]:
    """The model, the loss of each epoch, and the seconds of a step, without the first one, which gets things ready."""
    torch.manual_seed(0)
    model = Gcn(task.x.shape[1], hidden, task.classes).to(task.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    losses, begin = [], time.perf_counter()
    for epoch in range(epochs):
        if epoch == 1:
            begin = time.perf_counter()
        optimizer.zero_grad()
        scores = model(product, task.x)
        loss = torch.nn.functional.cross_entropy(scores[task.training], task.labels[task.training])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if show:
            print(f"epoch {epoch:3}: loss {losses[-1]:.4f}")
    return model, losses, (time.perf_counter() - begin) / max(1, epochs - 1)


def right(task: Task, product: Product, model: Gcn) -> tuple[float, float]:
    """The share of vertices that were not trained on whose label the model finds, and that of the commonest label."""
    with torch.no_grad():
        found = model(product, task.x).argmax(1)
    others = task.labels[~task.training]
    most = torch.bincount(others).max().item() / len(others)
    return (found[~task.training] == others).double().mean().item(), most


def of(matrix: ps.csr_array, schedule: str | None = None) -> Product:
    return lambda x: ps.torch.matmul(matrix, x, schedule=schedule)


def too_large(matrix: ps.csr_array, args: argparse.Namespace) -> bool:
    """Whether its edges take more than `--device-memory`."""
    return args.device_memory is not None and matrix.nbytes > ps.options.device_memory


def placed(matrix: ps.csr_array, device: str, streamed: bool) -> ps.csr_array:
    """The matrix where its products read it: on the GPU of the tensors, in pinned memory to be streamed there."""
    if device == "cpu":
        return matrix
    return matrix.to(ps.pinned if streamed else ps.device(torch.device(device).index or 0))


def compare(scale: int, args: argparse.Namespace) -> None:
    """The same training by torch.sparse on a graph of 2**scale vertices."""
    task = Task(scale, args.features, args.classes, args.device)
    theirs_matrix = task.matrix.to_torch().to(args.device)
    streamed = args.device != "cpu" and too_large(task.matrix, args)
    ours_matrix = placed(task.matrix, args.device, streamed)
    product = of(ours_matrix, "streamed" if streamed else None)
    _, ours, our_step = train(task, product, args.hidden, args.epochs, False)
    _, theirs, their_step = train(
        task, lambda x: torch.sparse.mm(theirs_matrix, x), args.hidden, args.epochs, False
    )
    pairs = list(zip(ours, theirs, strict=True))[:COMPARED]
    error = max(abs(a - b) / b for a, b in pairs)
    print(
        f"{task.matrix.nnz:,} entries: {1 / our_step:.1f} steps a second, torch.sparse {1 / their_step:.1f}; "
        f"the losses differ by {error:.1e}"
    )
    if not error < TOLERANCE:
        raise SystemExit("torch.sparse finds other losses")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=14, help="2**scale vertices of an R-MAT graph")
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--classes", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--device-memory", help="of a GPU, such as 200MB: more edges are streamed")
    parser.add_argument("--device", default="cpu", help="of the tensors: cpu, cuda or cuda:n")
    parser.add_argument("--streamed", action="store_true", help="streamed in any case")
    parser.add_argument(
        "--compare-scale", type=int, default=12, help="of the graph for torch.sparse"
    )
    args = parser.parse_args()
    if args.device_memory is not None:
        ps.options.device_memory = args.device_memory
    if torch.device(args.device).type not in ("cpu", "cuda"):
        parser.error(f"--device {args.device}: give cpu, cuda or cuda:n")
    if args.device != "cpu" and not torch.cuda.is_available():
        parser.error(f"--device {args.device}: PyTorch finds no GPU here, leave it out")
    task = Task(args.scale, args.features, args.classes, args.device)
    streamed = args.streamed or too_large(task.matrix, args)
    matrix = placed(task.matrix, args.device, streamed)
    product = of(matrix, "streamed" if streamed else None)
    print(f"{matrix!r}")
    with ps.record() as done:
        model, _, step = train(task, product, args.hidden, args.epochs, True)
    ways = sorted({f"{event['schedule']} ({event['kernel']})" for event in done})
    found, most = right(task, product, model)
    print(
        f"{1 / step:.1f} steps a second, products {', '.join(ways)}; {found:.0%} of the other vertices right, "
        f"the commonest label {most:.0%}"
    )
    compare(min(args.scale, args.compare_scale), args)


if __name__ == "__main__":
    main()
