"""`penstock convert` and `info` with files of other programs."""

import bv_writer as bv
import numpy as np
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions always keep them apart
        runner = CliRunner()
    return runner.invoke(app, [str(word) for word in words])


def test_convert_of_other_programs_files(tmp_path):
    bv.write(tmp_path / "a.graph", bv.random_lists(30, 2))

    def done(*words):
        assert run(*words).exit_code == 0

    done("convert", tmp_path / "a.graph", tmp_path / "a.penstock", "--packed")
    done("convert", tmp_path / "a.graph", tmp_path / "b.penstock", "--option", "offsets=false")
    a, b = (ps.open(tmp_path / f"{x}.penstock") for x in "ab")
    assert np.array_equal(a.indices, b.indices) and a.nnz == b.nnz > 0
    done("convert", tmp_path / "a.penstock", tmp_path / "c.bel")
    assert "exists" in run("convert", tmp_path / "a.penstock", tmp_path / "c.bel").stderr
    done("info", tmp_path / "c.bel")
    done(
        "convert",
        tmp_path / "c.bel",
        tmp_path / "d.gr",
        "--to",
        "galois",
        "--option",
        "weights=false",
    )
    assert np.array_equal(ps.load(tmp_path / "d.gr").indices, a.indices)
    for option in ("layer=x", "nonsense"):
        result = run("convert", tmp_path / "a.graph", tmp_path / "e.penstock", "--option", option)
        assert result.exit_code == 2 and option.split("=")[0] in result.stderr
