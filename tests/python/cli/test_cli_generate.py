"""`penstock generate`: every kind, its seed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from test_cli import refused, run, run_json

import penstock as ps

KINDS = {
    "rmat": (["--scale", "8", "--edge-factor", "4"], (256, 256)),
    "bter": (["--scale", "9", "--edge-factor", "4"], (512, 512)),
    "uniform": (["--rows", "100", "--cols", "50", "--nnz-per-row", "3"], (100, 50)),
    "advection-diffusion": (["--edge", "5"], (125, 125)),
    "laplacian": (["--shape", "6,7"], (42, 42)),
    "banded": (["--rows", "20", "--diagonals=-3,0,3"], (20, 20)),
    "road-grid": (["--nx", "9", "--ny", "8"], (72, 72)),
    "random-geometric": (["-n", "300"], (300, 300)),
    "barabasi-albert": (["--vertices", "300", "--edges", "3"], (300, 300)),
    "watts-strogatz": (["-n", "300", "-k", "4", "-p", "0.2"], (300, 300)),
    "planted-partition": (["--groups", "7", "--size", "9", "--p-out", "0.1"], (63, 63)),
    "stochastic-block": (["--sizes", "30,20", "--p", "0.5,0.1;0.1,0.5"], (50, 50)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_generate_every_kind(kind, tmp_path):
    words, shape = KINDS[kind]
    d = run_json("generate", kind, *words, tmp_path / "g.penstock")
    a = ps.open(tmp_path / "g.penstock")
    assert a.shape == shape == (d["rows"], d["cols"])
    assert a.nnz == d["nnz"] > 0


def test_generate_is_seeded(tmp_path):
    names = [tmp_path / f"{n}.penstock" for n in range(3)]
    for name, seed in zip(names, (1, 1, 2), strict=True):
        run_json("generate", "rmat", "--scale", "8", "--seed", seed, name)
    one, same, other = (ps.open(name) for name in names)
    np.testing.assert_array_equal(one.indices, same.indices)
    assert not np.array_equal(one.indices, other.indices)


def test_generate_names_bad_arguments(tmp_path):
    out = tmp_path / "g.npz"
    assert "hexagonal" in refused(run("generate", "hexagonal", out))
    assert "6,x" in refused(run("generate", "laplacian", "--shape", "6,x", out))
    refused(run("generate", "rmat", "--a", "0.9", "--b", "0.9", out))
    refused(run("generate", "rmat", "--scale", "0", out))
    refused(run("generate"))
    assert not out.exists()


def test_generate_a_lift(tmp_path, monkeypatch):
    a = ps.generate.rmat(7, dtype="float32", seed=1)
    a.save(tmp_path / "g.v1.mtx")
    monkeypatch.chdir(tmp_path)
    run_json("generate", "lift", "g.v1.mtx", "--copies", "5", "--mix", "0.2", "--seed", "3")
    made = ps.open(tmp_path / "g-x5.penstock")
    expected = ps.generate.lift(ps.load("g.v1.mtx"), 5, 0.2, seed=3)
    np.testing.assert_array_equal(made.indices, expected.indices)
    np.testing.assert_array_equal(made.data, expected.data)
    d = run_json("generate", "lift", "g.v1.mtx", "big.npz", "--edges", "1e4", "--dtype", "pattern")
    assert 1e4 <= d["nnz"] < 1e4 + a.nnz
    assert d["dtype"] in ("bool", "pattern")
    assert "--copies or --edges" in refused(run("generate", "lift", "g.v1.mtx", "x.npz"))
    assert "big.npz exists" in refused(
        run("generate", "lift", "g.v1.mtx", "big.npz", "--copies", "2")
    )
    assert "no-such" in refused(run("generate", "lift", "no-such.mtx", "--copies", "2"))
    bad = run("generate", "stochastic-block", "x.npz", "--sizes", "3,4", "--p", "0.1")
    assert "give 2 numbers for each of 2 groups" in refused(bad)


def test_generate_on_a_gpu_that_does_not_exist(tmp_path):
    out = tmp_path / "g.penstock"
    for kind, size in (("rmat", "--scale"), ("uniform", "--rows")):
        result = run("generate", kind, size, "30", "--gpu", "32767", out)
        assert result.exit_code in (1, 2)  # no CUDA in this build, or no such GPU
        assert "GPU 32767" in result.stderr or "no GPU can be used" in result.stderr
    assert not out.exists()
