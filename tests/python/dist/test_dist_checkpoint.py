"""Checkpoints of distributed solves: what is interrupted goes on, on any number of ranks; what is wrong is refused."""

import json

import numpy as np
import pytest
from test_dist_solvers import METHODS as MANY
from test_dist_solvers import grid_matrix, on_ranks, solve, vector

import penstock as ps
from penstock.dist import linalg as dist

METHODS = [*MANY, "fgmres"]
RTOL = 1e-9


class Killed(Exception):
    pass


def interrupt(n, S, b, method, path, at, partition="contiguous", **kwargs):
    """A solve that ends after the iteration `at`, as a job does whose time is up."""
    count = [0]

    def each(comm, D):
        def stop(value):
            count[0] += comm.rank == 0
            if comm.rank == 0 and count[0] == at:
                raise Killed

        more = {"callback_type": "pr_norm"} if method == "gmres" else {}
        return {"callback": stop, **more}

    with pytest.raises(Killed):
        solve(n, S, b, method, partition, each, checkpoint=path, rtol=RTOL, **kwargs)


def options(method):
    return {"restart": 7} if "gmres" in method else {}


@pytest.mark.parametrize("M", [None, "ic0", "jacobi"])
@pytest.mark.parametrize("method", METHODS)
def test_the_same_ranks_go_on_to_the_same_bits(tmp_path, method, M):
    S, path = grid_matrix(), tmp_path / "state"
    b = vector(S.shape[0])
    kwargs = {"M": M, **options(method)}
    x, whole = solve(3, S, b, method, rtol=RTOL, **kwargs)
    assert whole == 0 and whole.resumed == 0
    interrupt(3, S, b, method, path, at=whole.iterations - 2, checkpoint_every=5, **kwargs)
    y, rest = solve(3, S, b, method, rtol=RTOL, checkpoint=path, checkpoint_every=5, **kwargs)
    assert 0 < rest.resumed < whole.iterations == rest.iterations
    assert np.array_equal(x, y) and np.array_equal(rest.residuals, whole.residuals)
    assert not path.exists()  # nothing is left to go on with


@pytest.mark.parametrize("method", METHODS)
def test_other_ranks_go_on(tmp_path, method):
    S, path = grid_matrix(), tmp_path / "state"
    b = vector(S.shape[0])
    x, whole = solve(1, S, b, method, rtol=RTOL, **options(method))
    ways = [(4, "label_propagation"), (1, "contiguous"), (3, "bins"), (8, "balanced")]
    at, last = 8, 0
    for n, partition in ways:
        interrupt(n, S, b, method, path, at, partition, checkpoint_every=4, **options(method))
        state = json.loads((path / "state.json").read_text())
        assert last < state["iterations"] and len(state["parts"]) == n
        assert len(list(path.glob("at-*"))) == 1  # older states have gone
        last = state["iterations"]
    y, rest = solve(2, S, b, method, rtol=RTOL, checkpoint=path, **options(method))
    assert rest == 0 and rest.resumed == last
    assert rest.iterations == pytest.approx(whole.iterations, abs=2)
    np.testing.assert_allclose(y, x, atol=1e-6)


@pytest.mark.parametrize("M", ["schwarz", "ic0", "block_jacobi", "chebyshev"])
@pytest.mark.parametrize("method", METHODS)
def test_other_ranks_go_on_with_the_preconditioner_that_they_have(tmp_path, method, M):
    """M of blocks is another one among other ranks: methods whose directions belong to it begin again from x."""
    S, path = grid_matrix(), tmp_path / "state"
    b, kwargs = vector(S.shape[0]), {"M": M, **options(method)}
    _, whole = solve(4, S, b, method, rtol=RTOL, **kwargs)
    interrupt(4, S, b, method, path, whole.iterations // 2 + 3, checkpoint_every=3, **kwargs)
    _, alone = solve(3, S, b, method, rtol=RTOL, **kwargs)
    y, rest = solve(3, S, b, method, rtol=RTOL, checkpoint=path, **kwargs)
    assert rest == 0 and 0 < rest.resumed < whole.iterations
    assert rest.iterations <= rest.resumed + alone.iterations
    assert len(rest.residuals) == rest.iterations + 1
    assert np.allclose(rest.residuals[: rest.resumed], whole.residuals[: rest.resumed], rtol=1e-6)
    assert np.linalg.norm(S @ y - b) < 2 * RTOL * np.linalg.norm(b)
    assert not path.exists()


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_k_cycle_goes_on_among_other_ranks(tmp_path, n):
    """An M that is no linear map, whose levels other ranks share in another way."""
    S, path = grid_matrix(40), tmp_path / "state"
    b = vector(S.shape[0])

    def on(ranks, **how):
        def each(comm, D):
            M = dist.AMG(D, cycle="K", rows_per_rank=100, max_coarse=20)
            return {"M": M, "restart": 3, "rtol": RTOL, **how}

        return solve(ranks, S, b, "fgmres", each=each)

    _, whole = on(3)
    assert whole == 0 and whole.iterations > 6
    _, cut = on(3, maxiter=1, checkpoint=path)
    assert int(cut) == 3 and (path / "state.json").exists()
    y, rest = on(n, checkpoint=path)
    assert rest == 0 and rest.resumed == 3
    assert rest.iterations == pytest.approx(whole.iterations, abs=1)
    assert np.linalg.norm(S @ y - b) < 2 * RTOL * np.linalg.norm(b)
    assert not path.exists()


def test_iterations_that_run_out_can_be_had_later(tmp_path):
    S, path = grid_matrix(), tmp_path / "state"
    b = vector(S.shape[0])
    _, info = solve(2, S, b, maxiter=7, rtol=RTOL, checkpoint=path)
    assert int(info) == 7 and (path / "state.json").exists()
    _, info = solve(4, S, b, maxiter=7, rtol=RTOL, checkpoint=path)
    assert int(info) == 7 and info.resumed == 7  # no more were allowed
    _, info = solve(4, S, b, rtol=RTOL, checkpoint=path)
    assert info == 0 and info.resumed == 7


def refuse(S, b, path, text, **kwargs):
    def work(comm, D):
        with pytest.raises(ValueError, match=text):
            dist.cg(D, D.share(b), rtol=RTOL, checkpoint=path, **kwargs)
        return True

    assert on_ranks(2, S, work) == [True, True]


def test_a_state_of_another_solve_is_refused(tmp_path):
    S, path = grid_matrix(), tmp_path / "state"
    b = vector(S.shape[0])
    solve(3, S, b, maxiter=5, rtol=RTOL, checkpoint=path)
    before = (path / "state.json").read_bytes()
    refuse(S, 2 * b, path, "checksum of b")
    refuse(S, b, path, "M none .here jacobi.", M="jacobi")
    refuse(grid_matrix(9), b[:81], path, "rows 196")
    swapped = b.copy()
    swapped[:2] = b[1::-1]
    refuse(S, swapped, path, "checksum of b")
    assert (path / "state.json").read_bytes() == before


def test_a_broken_state_is_refused(tmp_path):
    S, path = grid_matrix(), tmp_path / "state"
    b = vector(S.shape[0])
    solve(3, S, b, maxiter=5, rtol=RTOL, checkpoint=path)
    (part,) = path.glob("at-*/part-2.npy")
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    refuse(S, b, path, "part-2.npy is damaged")
    part.write_bytes(b"")
    refuse(S, b, path, "part-2.npy is damaged")
    np.save(part, np.zeros((2, 2)))
    refuse(S, b, path, "part-2.npy is damaged")
    part.unlink()
    refuse(S, b, path, "part-2.npy cannot be read .No such file")
    part.write_bytes(whole)
    (path / "state.json").write_text("{")
    refuse(S, b, path, "cannot be read")


def test_where_nothing_can_be_written(tmp_path):
    S = grid_matrix()
    (tmp_path / "file").write_text("in the way")

    def work(comm, D):
        with pytest.raises(OSError):
            dist.cg(
                D,
                D.share(vector(D.shape[0])),
                checkpoint=tmp_path / "file" / "state",
                checkpoint_every=1,
            )
        with pytest.raises(ValueError, match="checkpoint_every=0"):
            dist.cg(
                D, D.share(vector(D.shape[0])), checkpoint=tmp_path / "state", checkpoint_every=0
            )
        with pytest.raises(ValueError, match="one right-hand side"):
            dist.cg(D, np.ones((len(D.rows), 2)), checkpoint=tmp_path / "state")
        return True

    assert on_ranks(3, S, work) == [True] * 3


def test_a_state_is_whole_at_any_time(tmp_path, monkeypatch):
    """The disk fills up while a rank writes: the older state stays, and serves."""
    from penstock.dist import _checkpoint

    S, path = grid_matrix(), tmp_path / "state"
    b = vector(S.shape[0])
    save = _checkpoint._save

    def full(file, values):
        if "at-8-" in file and file.endswith("part-1.npy"):
            raise OSError(28, "No space left on device", file)
        return save(file, values)

    monkeypatch.setattr(_checkpoint, "_save", full)
    with pytest.raises(OSError, match="No space left"):
        solve(3, S, b, rtol=RTOL, checkpoint=path, checkpoint_every=4)
    assert [p.name.split("-")[1] for p in path.glob("at-*")] == ["4"]
    monkeypatch.undo()
    _, info = solve(3, S, b, rtol=RTOL, checkpoint=path)
    assert info == 0 and info.resumed == 4


def test_the_user_s_own_files_stay(tmp_path):
    S, path = grid_matrix(), tmp_path / "state"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    _, info = solve(2, S, vector(S.shape[0]), rtol=RTOL, checkpoint=path, checkpoint_every=3)
    assert info == 0 and [p.name for p in path.iterdir()] == ["notes.txt"]


def test_types_and_one_rank(tmp_path):
    S = grid_matrix().astype(np.float32)
    b = vector(S.shape[0]).astype(np.float32)
    path = tmp_path / "state"
    A = ps.csr_array(S)

    def work(comm):
        D = ps.dist.csr_array(A, comm)
        dist.cg(D, D.share(b), maxiter=3, rtol=1e-4, checkpoint=path)
        return dist.cg(D, D.share(b), rtol=1e-4, checkpoint=str(path))

    ((x, info),) = ps.dist.run(work, 1)
    assert info == 0 and info.resumed == 3 and x.dtype == np.float32
