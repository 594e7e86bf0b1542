"""Random matrices, partitions and ranks for the tests of distributed matrices."""

import numpy as np
from hypothesis import strategies as st

import penstock as ps
from penstock import _choices

RANKS = (1, 2, 3, 4, 8)
PARTITIONS = tuple(_choices.PARTITIONERS)
HALOS = tuple(_choices.HALOS)
SECONDS = 60  # a wait that takes longer is a hang


def run(f, ranks, *args):
    """`ps.dist.run` with a short patience."""
    return ps.dist.run(f, ranks, *args, timeout=SECONDS)


def how_of(name, steal=False, seed=None):
    """Arguments of ps.dist.matmul: "summa" is an algorithm, all else is what stays. `seed` is for those who steal."""
    if name == "summa":
        return {"algorithm": "summa"}
    return {"stationary": name, "steal": steal, "seed": seed if steal else None}


def solved_by_amg(n, S, near=None, partition="contiguous", method="cg", **how):
    """x, info, levels and M r of a random r, of ranks that agree."""
    A = ps.csr_array(S)
    rng = np.random.default_rng(3)
    b, r = rng.standard_normal((2, S.shape[0]))

    def work(comm):
        D = ps.dist.csr_array(A, comm, partition)
        M = ps.dist.linalg.AMG(D, None if near is None else near[D.rows], **how)
        x, info = getattr(ps.dist.linalg, method)(D, D.share(b), rtol=1e-8, M=M)
        return D.collect(x), info, M.levels, D.collect(M @ D.share(r))

    results = run(work, n)
    x, info, levels, z = results[0]
    for other in results[1:]:
        assert np.array_equal(other[0], x) and np.array_equal(other[3], z)
        assert np.array_equal(other[1].residuals, info.residuals) and other[2] == levels
    assert info == 0, info.reason
    assert np.linalg.norm(b - S @ x) <= 1.001e-8 * np.linalg.norm(b)
    return x, info, levels, (r, z)


def solved_twice(A, b, ranks, method, M=None, partition="contiguous", form=None, **named):
    """x and info with vectors on the device, which the CPU plays, and with the host's. `form`: what M is there."""
    solve = getattr(ps.dist.linalg, method)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host, partition=partition)
        C = ps.dist.csr_array(A, comm, partition=partition)
        mine, used = D.share(b, of="y"), []
        on_device = D._gpu.solve
        D._gpu.solve = lambda *a: used.append(a) or on_device(*a)
        # What M is made of is the matrix: its own for each.
        x, info = solve(D, mine, M=M(D) if callable(M) else M, **named)
        y, told = solve(C, mine, M=M(C) if callable(M) else M, **named)
        assert [a[0] for a in used] == [method], "the vectors were the host's"
        assert form is None or form in used[0][3], used[0][3]
        return D.collect(x), info, C.collect(y), told

    results = ps.dist.run(work, ranks)
    for x, info, _, _ in results:
        np.testing.assert_array_equal(x, results[0][0])
        np.testing.assert_array_equal(info.residuals, results[0][1].residuals)
    return results[0]


@st.composite
def matrices(draw, dtypes=(np.bool_, np.float32, np.float64), square=None):
    """Small ones: of no rows, no columns, no entries, with empty and with long rows."""
    rows, cols = draw(st.integers(0, 12)), draw(st.integers(0, 12))
    if draw(st.booleans()) if square is None else square:
        cols = rows
    pairs = st.tuples(st.integers(0, max(rows - 1, 0)), st.integers(0, max(cols - 1, 0)))
    entries = draw(st.lists(pairs, max_size=50 if rows and cols else 0))
    row, col = np.array(entries, np.int64).reshape(-1, 2).T
    if draw(st.booleans()):
        row = np.where(row % 3 == 0, 0, row)  # a long row, that bins split
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    values = np.random.default_rng(len(entries)).standard_normal(len(entries))
    return ps.csr_array((values.astype(dtype), (row, col)), shape=(rows, cols), dtype=dtype)


def partition_of(name, a):
    """`name`, or owners where it is "owners": ranks without rows among them."""
    if name == "label_propagation" and a.shape[0] != a.shape[1]:
        return "balanced"
    return name


def random_owners(a, ranks, seed):
    return np.random.default_rng(seed).integers(0, ranks, a.shape[0], dtype=np.int32)


def close(y, wanted, a):
    """Sums in another order: a few roundings of the largest term, of the type that multiplies."""
    tolerance = 1e-4 if np.asarray(wanted).dtype == np.float32 else 1e-10
    assert y.dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(y, wanted, rtol=tolerance, atol=tolerance * max(1, a.nnz))
