"""The graph commands: results, statistics, files, verification, exit codes."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions always keep them apart
        runner = CliRunner()
    return runner.invoke(app, [str(word) for word in words])


def run_json(*words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stderr or result.exception
    return json.loads(result.stdout)


def refused(*words, code=2):
    """One line on stderr, nothing on stdout; returns the line."""
    result = run(*words)
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """0 -> 1 -> 2 -> 3 with weights 2, 3, 4; 4 -> 5; 6 alone."""
    path = tmp_path_factory.mktemp("graphs") / "chain.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate real general\n7 7 4\n1 2 2\n2 3 3\n3 4 4\n5 6 1\n"
    )
    return path


@pytest.fixture(scope="module")
def social(tmp_path_factory):
    """An undirected R-MAT graph."""
    path = tmp_path_factory.mktemp("graphs") / "social.penstock"
    ps.save(path, ps.generate.rmat(10, seed=3))
    return path


@pytest.fixture(scope="module")
def social_nx(social):
    return nx.from_scipy_sparse_array(ps.open(social).to_scipy().astype(float))


def test_bfs_writes_a_row_a_vertex(chain, tmp_path):
    for suffix in ("npy", "csv", "parquet"):
        out = tmp_path / f"levels.{suffix}"
        d = run_json("bfs", chain, "--verify", "-o", out)
        assert d["check"] == {"ok": True, "fault": None}
        assert d["output"] == str(out)
        assert d["runs"][0]["source"] == 0
        assert d["runs"][0]["reached"] == 4
        assert d["runs"][0]["depth"] == d["runs"][0]["edges"] == 3
        if suffix == "npy":
            np.testing.assert_array_equal(np.load(out), [0, 1, 2, 3, -1, -1, -1])
        else:
            frame = pl.read_csv(out) if suffix == "csv" else pl.read_parquet(out)
            assert frame.columns == ["vertex", "level"]
            assert frame["vertex"].to_list() == list(range(7))
            assert frame["level"].to_list() == [0, 1, 2, 3, -1, -1, -1]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "levels.csv", "levels.npy", "levels.parquet"
    ]  # fmt: skip


def test_bfs_backwards_and_predecessors(chain, tmp_path):
    out = tmp_path / "tree.npy"
    assert run_json("bfs", chain, "--source", 2)["runs"][0]["reached"] == 2
    d = run_json(
        "bfs", chain, "--source", 2, "--undirected", "--predecessors", "--verify", "-o", out
    )
    assert d["undirected"] is True
    assert d["runs"][0]["reached"] == 4
    assert d["runs"][0]["edges"] == 3
    tree = np.load(out)
    assert tree["level"].tolist() == [2, 1, 0, 1, -1, -1, -1]
    assert tree["predecessor"].tolist() == [1, 2, -9999, 2, -9999, -9999, -9999]


def test_bfs_from_many(social):
    d = run_json("bfs", social, "--sources", 20, "--seed", 7, "--verify")
    sources = [r["source"] for r in d["runs"]]
    assert len(set(sources)) == 20
    assert sources == [
        r["source"] for r in run_json("bfs", social, "--sources", 20, "--seed", 7)["runs"]
    ]
    degrees = np.diff(ps.open(social).indptr)
    assert all(degrees[s] > 0 for s in sources)
    rates = [r["edges"] / r["seconds"] / 1e9 for r in d["runs"]]
    assert [r["gteps"] for r in d["runs"]] == pytest.approx(rates)
    assert d["gteps"]["harmonic_mean"] == pytest.approx(20 / sum(1 / r for r in rates))
    edges, seconds = (sum(r[key] for r in d["runs"]) for key in ("edges", "seconds"))
    assert d["gteps"]["overall"] == pytest.approx(edges / seconds / 1e9)
    assert d["gteps"]["min"] <= d["gteps"]["median"] <= d["gteps"]["max"]
    assert d["seconds"]["median"] == pytest.approx(np.median([r["seconds"] for r in d["runs"]]))


def test_edges_of_a_component_count_once(social, social_nx):
    r = run_json("bfs", social, "--sources", 1)["runs"][0]
    part = nx.node_connected_component(social_nx, r["source"])
    assert r["reached"] == len(part)
    assert r["edges"] == social_nx.subgraph(part).number_of_edges()


def test_text_says_what_json_says(social):
    result = run("bfs", social, "--sources", 4, "--verify")
    assert result.exit_code == 0
    for words in (
        "bfs from 4 random vertices",
        "harmonic mean",
        "verified",
        "right",
        "median of 4",
    ):
        assert words in result.stdout
    assert "social.penstock: 1,024 x 1,024" in result.stdout


def test_cc_and_scc(chain, social, social_nx, tmp_path):
    out = tmp_path / "parts.npy"
    d = run_json("cc", chain, "--verify", "-o", out)
    assert d["components"] == 3
    assert d["isolated"] == 1
    assert d["largest"][0] == {"component": 0, "vertices": 4}
    assert np.load(out).tolist() == [0, 0, 0, 0, 1, 1, 2]
    assert run_json("scc", chain, "--verify")["components"] == 7
    for command in ("cc", "scc"):
        d = run_json(command, social, "--verify")
        assert d["components"] == nx.number_connected_components(social_nx)
        assert d["check"]["ok"]


def test_core(social, social_nx, tmp_path):
    out = tmp_path / "core.csv"
    d = run_json("core", social, "--verify", "-o", out, "--top", 3)
    expected = nx.core_number(social_nx)
    assert pl.read_csv(out)["core"].to_list() == [expected[v] for v in range(1024)]
    assert d["largest_core"] == max(expected.values())
    assert [t["core"] for t in d["top"]] == [d["largest_core"]] * 3


def test_sssp(chain, tmp_path):
    out = tmp_path / "far.csv"
    d = run_json("sssp", chain, "--verify", "-o", out)
    assert d["runs"][0]["farthest"] == 9
    assert pl.read_csv(out)["distance"].to_list() == [0, 2, 5, 9, *[np.inf] * 3]
    d = run_json("sssp", chain, "--source", 3, "--undirected", "--verify", "--predecessors")
    assert d["runs"][0]["farthest"] == 9
    assert d["runs"][0]["reached"] == 4
    assert "--delta" in refused("sssp", chain, "--delta", 0)


def test_sssp_counts_edges_of_a_pattern(social, social_nx):
    r = run_json("sssp", social, "--sources", 1, "--verify")["runs"][0]
    assert r["farthest"] == max(
        nx.single_source_shortest_path_length(social_nx, r["source"]).values()
    )


def test_pagerank(social, social_nx, tmp_path):
    out = tmp_path / "ranks.npy"
    d = run_json("pagerank", social, "--tol", 1e-12, "--top", 5, "--verify", "-o", out)
    expected = nx.pagerank(social_nx, tol=1e-14, max_iter=500)
    np.testing.assert_allclose(np.load(out), [expected[v] for v in range(1024)], atol=1e-10)
    best = sorted(expected, key=lambda v: -expected[v])[:5]
    assert [t["vertex"] for t in d["top"]] == best
    assert "alpha" in refused("pagerank", social, "--alpha", 1.5)


def test_pagerank_both_ways_ignores_weights(chain, tmp_path):
    out = tmp_path / "ranks.npy"
    run_json("pagerank", chain, "--undirected", "--tol", 1e-12, "-o", out)
    plain = nx.Graph([(0, 1), (1, 2), (2, 3), (4, 5)])
    plain.add_node(6)
    expected = nx.pagerank(plain, tol=1e-14)
    np.testing.assert_allclose(np.load(out), [expected[v] for v in range(7)], atol=1e-10)


def test_triangles(social, social_nx):
    d = run_json("triangles", social, "--verify", "--top", 1)
    expected = nx.triangles(social_nx)
    assert d["triangles"] == sum(expected.values()) // 3
    assert d["top"][0]["triangles"] == max(expected.values())


def test_checks_of_ranks_and_triangles():
    from penstock._check.graph import verify_ranks, verify_triangles

    s = sp.random_array((80, 80), density=0.06, rng=np.random.default_rng(1), format="csr")
    a, g = ps.csr_array(s), nx.from_scipy_sparse_array(s, create_using=nx.DiGraph)
    for weighted in (True, False):
        found = nx.pagerank(g, tol=1e-10, max_iter=500, weight="weight" if weighted else None)
        ranks = np.array([found[v] for v in range(80)])
        verify_ranks(a, ranks, 0.85, 1e-7, weighted)
        with pytest.raises(ValueError, match="one more step"):
            verify_ranks(a, ranks, 0.85, 1e-7, not weighted)
    with pytest.raises(ValueError, match="sum to"):
        verify_ranks(a, ranks * 1.01, 0.85, 1e-7, False)
    plain = nx.Graph(g)
    plain.remove_edges_from(list(nx.selfloop_edges(plain)))
    counts = np.array([nx.triangles(plain)[v] for v in range(80)])
    assert counts.max() > 3
    verify_triangles(a, counts)
    counts[17] += 1
    with pytest.raises(ValueError, match="vertex 17"):
        verify_triangles(a, counts)


def test_betweenness(tmp_path):
    social, out = tmp_path / "few.penstock", tmp_path / "between.npy"
    graph = ps.generate.rmat(7, seed=3)
    ps.save(social, graph)
    social_nx = nx.from_scipy_sparse_array(graph.to_scipy().astype(float))
    d = run_json("betweenness", social, "--undirected", "-o", out)
    assert d["sources"] is None
    expected = nx.betweenness_centrality(social_nx)
    np.testing.assert_allclose(np.load(out), [expected[v] for v in range(128)], rtol=1e-6)
    assert run_json("betweenness", social, "--sources", 8, "--seed", 1)["sources"] == 8


def test_a_wrong_result_is_exit_code_1(chain, monkeypatch):
    from penstock import csgraph

    good = csgraph.bfs

    def wrong(*args, **kwargs):
        levels = good(*args, **kwargs)
        levels[3] += 1
        return levels

    monkeypatch.setattr(csgraph, "bfs", wrong)
    result = run("bfs", chain, "--verify")
    assert result.exit_code == 1
    assert "WRONG" in result.stdout
    result = run("bfs", chain, "--verify", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["check"]["ok"] is False
    assert run("bfs", chain).exit_code == 0


def test_refusals(chain, social, tmp_path):
    out = tmp_path / "there.npy"
    out.write_bytes(b"")
    assert "no such file" in refused("bfs", tmp_path / "nothing.mtx")
    assert "--source 7" in refused("bfs", chain, "--source", 7)
    assert "one of them" in refused("bfs", chain, "--source", 1, "--sources", 2)
    assert "only 4 vertices" in refused("bfs", chain, "--sources", 5)
    assert "exists" in refused("bfs", chain, "-o", out)
    assert ".parquet" in refused("bfs", chain, "-o", tmp_path / "levels.txt")
    assert "--source" in refused("bfs", social, "--sources", 2, "-o", tmp_path / "levels.npy")
    assert "no such folder" in refused("cc", chain, "-o", tmp_path / "no" / "c.npy")
    sp.save_npz(tmp_path / "wide.npz", sp.csr_array((3, 4)))
    assert "square" in refused("cc", tmp_path / "wide.npz")
    run_json("bfs", chain, "-o", out, "--force")
    assert np.load(out).size == 7
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_number_of_threads_is_restored(chain):
    before = ps.num_threads()
    assert run_json("cc", chain, "--threads", before + 1)["threads"] == before + 1
    assert ps.num_threads() == before
