"""An empty path is no name of the current folder: nothing that writes takes that folder away, or leaves files in it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from penstock._io._atomic import atomic_file, atomic_folder
from penstock._io.formats import FORMATS, save_blocks
from penstock._io.store import FILES, require_replaceable

import penstock as ps

WRITTEN = [row.name for row in FORMATS if row.write is not None]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, which is empty and stays so, beneath another one that stays as it is."""
    folder = tmp_path / "above" / "here"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    before = os.stat(folder).st_ino
    yield folder
    assert os.stat(folder).st_ino == before and os.path.samefile(os.getcwd(), folder)
    assert os.listdir(folder) == [] and os.listdir(folder.parent) == ["here"]
    assert os.listdir(tmp_path) == ["above"]


@pytest.fixture
def a():
    return ps.generate.laplacian((4, 4))


@pytest.mark.parametrize("name", WRITTEN)
def test_no_format_is_written_to_an_empty_path(here, name):
    weighted = name in ("dimacs", "petsc")  # which hold no patterns
    a = ps.csr_array(np.array([[0, 1], [1, 0]], float if weighted else bool))
    for path in ("", b"")[: 2 if name == "store" else 1]:
        with pytest.raises(ValueError, match=r"is empty: give the name of a file or folder"):
            a.save(path, format=name)


@pytest.mark.parametrize("path", [".", "..", "../here", "../../above", "/", Path("")])
def test_a_store_takes_no_current_folder_and_none_above(here, a, path):
    with pytest.raises(ValueError, match="is the current folder, or holds it"):
        a.save(path, format="store")
    with pytest.raises(ValueError, match="is the current folder, or holds it"):
        a.save(path, format="matrix-market")


def test_a_link_to_the_current_folder_is_no_other_name(here, a, tmp_path_factory):
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(here)
    with pytest.raises(ValueError, match="is the current folder, or holds it"):
        a.save(link, format="store")


def test_what_all_writers_go_through_refuses_it(here):
    with pytest.raises(ValueError, match="is empty"):
        require_replaceable("")
    with pytest.raises(ValueError, match="is empty"), atomic_file(""):
        pass
    for path, what in (("", "is empty"), (".", "is the current folder")):
        with pytest.raises(ValueError, match=what), atomic_folder(path, FILES):
            pass


def test_other_writers_refuse_it(here, a):
    with pytest.raises(ValueError, match="is empty"):
        save_blocks("", a.shape, a.dtype, [a])
    graph = here.parent.parent.parent / f"{here.parent.parent.name}.txt"
    graph.write_text("0 1\n1 0\n")
    try:
        with pytest.raises(ValueError, match="is empty"):
            ps.convert(graph, "", to="store")
    finally:
        graph.unlink()
    with pytest.raises(ValueError, match="is empty"):
        ps.dist.networks["shared-memory"].save("")


@pytest.mark.parametrize("ranks", [1, 3])
def test_products_over_ranks_refuse_it(here, a, ranks):
    def work(comm):
        t = ps.dist.tiled_array(a, comm)
        for path, what in (("", "is empty"), (".", "is the current folder")):
            with pytest.raises(ValueError, match=what):
                ps.dist.matmul(t, t, out=path)
        return comm.rank

    assert ps.dist.run(work, ranks) == list(range(ranks))


@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_no_state_of_a_solve_is_kept_in_an_unnamed_folder(here, a, method):
    def work(comm):
        d = ps.dist.csr_array(a, comm, "contiguous")
        with pytest.raises(ValueError, match=r"checkpoint='' is empty: give the name of a folder"):
            getattr(ps.dist.linalg, method)(d, np.ones(len(d.rows)), checkpoint="")

    ps.dist.run(work, 2)


def test_a_folder_beside_the_current_one_is_written(here, a, tmp_path_factory):
    path = tmp_path_factory.mktemp("elsewhere") / "here"  # of the same name
    a.save(path, format="store")
    assert ps.open(path).nnz == a.nnz
    a.save(path, format="store")  # over itself


def test_the_command_line_refuses_it(here, tmp_path_factory):
    def said(where, out, *more):
        line = [
            sys.executable,
            "-m",
            "penstock",
            "generate",
            "laplacian",
            out,
            "--shape",
            "4,4",
            *more,
        ]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=where)
        assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr
        return done.stderr

    assert "choose another name" in said(here, "")
    assert "the suffix '' is not known" in said(here, "", "--force")
    inside = tmp_path_factory.mktemp("store") / "g.penstock"
    ps.generate.laplacian((3, 3)).save(inside)
    assert "is the current folder" in said(inside, "../g.penstock", "--force")
    assert ps.open(inside).shape == (9, 9)
