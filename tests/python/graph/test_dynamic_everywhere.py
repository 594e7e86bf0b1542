"""DynamicGraph and its transpose where functions take a graph or a matrix, and graphs of complex numbers."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

N = 30


def changed(symmetric=False):
    """A graph with a dominant diagonal, and what it was changed to."""
    rng = np.random.default_rng(1)
    dense = np.where(rng.random((N, N)) < 0.15, rng.integers(1, 5, (N, N)), 0) + 50.0 * np.eye(N)
    G = ps.DynamicGraph(ps.csr_array(dense + dense.T if symmetric else dense))
    G.add_edges([3, 7, 29], [9, 1, 0], [2.0, 3.0, 1.0])
    if symmetric:
        G.add_edges([9, 1, 0], [3, 7, 29], [2.0, 3.0, 1.0])
    G.remove_edges([4], [4])
    G.add_edges([4], [4], [50.0])
    return G, G.to_csr()


B = np.ones(N)
FUNCTIONS = {
    "cg": lambda A: ps.linalg.cg(A, B)[0],
    "gmres": lambda A: ps.linalg.gmres(A, B)[0],
    "block_cg": lambda A: ps.linalg.block_cg(A, np.eye(N)[:, :2])[0],
    "minres": lambda A: ps.linalg.minres(A, B)[0],
    "fgmres": lambda A: ps.linalg.fgmres(A, B)[0],
    "AMG": lambda A: ps.linalg.AMG(A).matvec(B),
    "eigsh": lambda A: ps.linalg.eigsh(A, k=2, return_eigenvectors=False, v0=B),
    "svds": lambda A: ps.linalg.svds(A, k=2, return_singular_vectors=False, v0=B),
    "spsolve": lambda A: ps.linalg.spsolve(A, B),
    "lgmres": lambda A: ps.linalg.lgmres(A, B)[0],
    "norm": ps.linalg.norm,
    "laplacian": lambda A: ps.csgraph.laplacian(A).toarray(),
    "maximum_flow": lambda A: ps.csgraph.maximum_flow(A, 0, 5).flow_value,
    "partition": lambda A: ps.partition.bins(A, 3).owners,
    "metrics": lambda A: ps.partition.contiguous(A, 3).metrics(A).nnz,
    "degree": ps.reorder.degree,
    "rcm": ps.reorder.rcm,
    "bandwidth": ps.reorder.bandwidth,
    "tril": lambda A: ps.tril(A).toarray(),
    "bfs": lambda A: ps.csgraph.bfs(A, 3),
    "components": lambda A: ps.csgraph.connected_components(A)[1],
    "pagerank": ps.csgraph.pagerank,
    "sssp": lambda A: ps.csgraph.sssp(A, 3),
    "neighbors": lambda A: ps.sample.neighbors(A, [3, 4], [2, 2], weighted=True).edges,
    "neighbors of types": lambda A: ps.sample.neighbors({("a", "r", "a"): A}, {"a": [3]}, [-1]).edges["a", "r", "a"],
    "random_walks": lambda A: ps.sample.random_walks(A, None, 5),
    "csr_array": lambda A: ps.csr_array(A).toarray(),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_the_graph_of_now(name):
    G, A = changed(name in ("AMG", "cg", "eigsh", "minres"))
    function = FUNCTIONS[name]
    for given, matrix in ((G, A), (G.T, A.T.formed())):
        assert np.allclose(function(given), function(matrix), rtol=1e-9, atol=1e-9, equal_nan=True)


def test_searches_of_the_transpose_follow_changes():
    G, _ = changed()
    for _ in range(3):
        assert np.array_equal(ps.csgraph.bfs(G.T, 9), ps.csgraph.bfs(G.to_csr().T.formed(), 9))
        G.remove_edges([3], [9], missing="ignore")
        G.add_edges([9], [11], [1.0])
    assert "transpose of" in repr(G.T) and G.T.directed


def test_undirected_graphs_of_complex_numbers():
    base = ps.csr_array(np.array([[0, 1j, 0], [1j, 0, 2], [0, 2, 3j]]))
    G = ps.DynamicGraph(base, directed=False)
    G.add_edges([0], [2], [1 + 2j])
    dense = G.to_csr().toarray()
    assert dense[0, 2] == dense[2, 0] == 1 + 2j and np.array_equal(dense, dense.T)
    for other in ([[0, 1j], [-1j, 0]], [[0, 1j], [0, 0]]):
        with pytest.raises(ValueError, match="directed=False: the matrix is not symmetric"):
            ps.DynamicGraph(ps.csr_array(np.array(other)), directed=False)


def test_a_store_that_the_process_is_in_is_not_compacted(tmp_path, monkeypatch):
    path = tmp_path / "g.penstock"
    ps.generate.rmat(6, seed=1).save(path, format="store")
    graph = ps.DynamicGraph.open(path)
    graph.add_edges([0], [63])
    monkeypatch.chdir(path)
    with pytest.raises(ValueError, match=r"compact\(\) replaces: leave it"):
        graph.compact()
    monkeypatch.chdir(tmp_path)
    graph.compact()
    assert ps.open(path)[0, 63] != 0
