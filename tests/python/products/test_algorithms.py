"""Algorithms, vector widths and numbers of threads: the same answers, NaN and infinity included."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import _core

ALGORITHMS = ["balanced", "blocked", "binned", "stencil"]
TYPES = [(np.float64, np.float64), (np.float32, np.float32), (bool, np.float64), (bool, np.float32)]


def skewed(rows=3000, cols=2500, seed=1):
    """Short rows, empty rows and one that holds 200,000 entries, which blocks split."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.zipf(1.5, rows) - 1, 300)
    lengths[7] = 200_000
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, cols, indptr[-1]).astype(np.int32)
    return (rng.integers(-4, 5, indptr[-1]).astype(float), indices, indptr), (rows, cols)


def banded(n=4000):
    a = sp.diags_array(
        np.ones((5, 1)) * [1.0, 2, 3, 4, 5.0][0], offsets=[-60, -1, 0, 1, 60], shape=(n, n)
    )
    a = sp.csr_array(a)
    a.data[a.indptr[n // 2] : a.indptr[n // 2 + 500]] = (
        np.arange(a.indptr[n // 2 + 500] - a.indptr[n // 2]) % 7
    )
    return (a.data, a.indices, a.indptr), (n, n)


def wide():
    """Several blocks of 64k columns and rows."""
    rng = np.random.default_rng(4)
    a = sp.random_array((150_000, 200_000), density=1e-5, format="csr", rng=rng)
    a.data[:] = rng.integers(1, 5, a.nnz)
    return (a.data, a.indices, a.indptr), a.shape


CASES = {
    "skewed": skewed,
    "banded": banded,
    "wide": wide,
    "one row": lambda: skewed_row(True),
    "one column": lambda: skewed_row(False),
}


def skewed_row(row):
    rng = np.random.default_rng(3)
    S = sp.csr_array(rng.integers(0, 3, (1, 70_000)).astype(float))
    S = S if row else sp.csr_array(S.T)
    return (S.data, S.indices, S.indptr), S.shape


def cases():
    for name in CASES:
        parts, shape = CASES[name]()
        for of_matrix, of_x in TYPES:
            data = parts[0] != 99 if of_matrix is bool else parts[0].astype(of_matrix)
            x = np.random.default_rng(9).integers(-8, 9, shape[1]).astype(of_x)
            yield name, (data, *parts[1:]), shape, x


def answers():
    """name, algorithm, type: bytes of the product; integers in floats, so every order gives the same."""
    found = {}
    for name, parts, shape, x in cases():
        A = ps.csr_array(parts, shape=shape)
        for algorithm in ALGORITHMS:
            found[name, algorithm, str(A.dtype), str(x.dtype)] = A.dot(x, algorithm=algorithm)
    return found


def test_every_algorithm_is_exact():
    found = answers()
    for name, parts, shape, x in cases():
        S = sp.csr_array((parts[0].astype(x.dtype), *parts[1:]), shape=shape)
        wanted = S @ x
        for algorithm in ALGORITHMS:
            got = found[name, algorithm, str(parts[0].dtype), str(x.dtype)]
            np.testing.assert_array_equal(got, wanted, err_msg=f"{name} {algorithm}")


@pytest.mark.parametrize("simd", ["scalar", "avx2"])
def test_every_vector_width_agrees(simd, tmp_path):
    code = (
        "import numpy as np, sys; sys.path.insert(0, sys.argv[1]); import test_algorithms as t;"
        "from penstock import _core; print(_core.config()['simd']);"
        "np.savez(sys.argv[2], *t.answers().values())"
    )
    there = {**os.environ, "PENSTOCK_SIMD": simd}
    command = [sys.executable, "-c", code, os.path.dirname(__file__), str(tmp_path / "a.npz")]
    done = subprocess.run(command, env=there, capture_output=True, text=True, check=True)
    if done.stdout.strip() != simd:
        pytest.skip(f"this processor has no {simd}: it ran as {done.stdout.strip()}")
    with np.load(tmp_path / "a.npz") as file:
        for (what, here), key in zip(answers().items(), file.files, strict=True):
            np.testing.assert_array_equal(file[key], here, err_msg=str(what))


def test_an_unknown_vector_width_is_refused():
    there = {**os.environ, "PENSTOCK_SIMD": "avx1024"}
    done = subprocess.run(
        [sys.executable, "-c", "import penstock"], env=there, capture_output=True, text=True
    )
    assert done.returncode and "avx1024" in done.stderr and "scalar" in done.stderr


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0]


@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
@pytest.mark.parametrize("of_matrix, of_x", TYPES)
def test_nan_and_infinity_as_in_scipy(algorithm, of_matrix, of_x):
    """inf * 0 stored is NaN and reaches its row alone, in whatever lane or block it lies."""
    for name in ("skewed", "banded"):
        (data, indices, indptr), shape = CASES[name]()
        rng = np.random.default_rng(11)
        if of_matrix is bool:
            data = np.ones(len(data), bool)
        else:
            data = data.astype(of_matrix)
            at = rng.integers(0, len(data), len(data) // 400)
            data[at] = rng.choice(SPECIAL, len(at))
        x = rng.integers(-3, 4, shape[1]).astype(of_x)
        at = rng.integers(0, shape[1], 60)
        x[at] = rng.choice(SPECIAL, 60)
        wanted = sp.csr_array((data.astype(of_x), indices, indptr), shape=shape) @ x
        assert np.isnan(wanted).any() and np.isinf(wanted).any() and np.isfinite(wanted).sum() > 500
        A = ps.csr_array((data, indices, indptr), shape=shape)
        np.testing.assert_array_equal(A.dot(x, algorithm=algorithm), wanted, err_msg=name)


def test_transposed_nan_and_infinity():
    S = sp.csr_array(np.array([[np.inf, 1.0, np.nan], [2.0, 0.0, 0.0]]))
    x = np.array([0.0, np.inf])
    np.testing.assert_array_equal(ps.csr_array(S).T @ x, S.T @ x)


@pytest.fixture
def threads():
    before = ps.num_threads()
    yield ps.set_num_threads
    ps.set_num_threads(before)


@pytest.mark.parametrize("of_matrix, of_x", [*TYPES, (np.complex128, np.complex128)])
def test_bits_do_not_depend_on_threads(threads, of_matrix, of_x):
    """Random mantissas: any change in the order of additions would show."""
    rng = np.random.default_rng(8)
    (data, indices, indptr), shape = skewed()
    noise = rng.standard_normal(len(data))
    A = ps.csr_array(
        (noise.astype(of_matrix) if of_matrix is not bool else noise != 0, indices, indptr),
        shape=shape,
    )
    x = rng.standard_normal(shape[1]).astype(of_x)
    complex_ = np.dtype(of_x).kind == "c"
    ways = [dict(algorithm=a) for a in (["balanced"] if complex_ else ALGORITHMS)]
    ways += [dict(schedule=ps.Streamed(device=["cpu"] * d, block=4096, slots=2)) for d in (1, 2)]
    seen = {}
    for n in (1, 2, 3, 7):
        threads(n)
        assert ps.num_threads() == n
        for way in ways:
            fresh = ps.csr_array((A.data, A.indices, A.indptr), shape=shape)
            bits = fresh.dot(x, **way).tobytes()
            assert seen.setdefault(str(way), bits) == bits, f"{way} on {n} threads"
        np.testing.assert_allclose(
            A.T @ x[:1].repeat(shape[0]), A.to_scipy().T @ x[:1].repeat(shape[0]), rtol=1e-3
        )


def test_threads_out_of_range(threads):
    for n in (0, -1, 5000):
        with pytest.raises(ValueError, match=str(n)):
            threads(n)
    with pytest.raises(TypeError):
        threads("two")


def test_prepare_chooses_and_says_what_it_chose():
    small = ps.csr_array(np.eye(3)[[0, 2, 1]])
    assert small.prepare() == "balanced" and _core.plan_bytes(small._core) == 0
    parts, shape = banded()
    band = ps.csr_array(parts, shape=shape)
    assert band.prepare() == "stencil" and 0 < _core.plan_bytes(band._core) < band.nbytes
    x = np.arange(shape[1], dtype=float)
    wanted = band.to_scipy() @ x
    for name in ALGORITHMS:
        assert band.prepare(name) == name
        with ps.record() as t:
            np.testing.assert_allclose(band @ x, wanted)
        assert t[0]["kernel"] == name
    assert ps.csr_array(*skewed()).prepare("binned") == "binned"
    with pytest.raises(ValueError, match="'magic'"):
        band.prepare("magic")
    with pytest.raises(ps.NotCompiledError, match="balanced"):
        ps.csr_array(np.eye(3) * 1j).prepare("blocked")
    with pytest.raises(ps.NotCompiledError, match="balanced"):
        band.dot(x, semiring="min_plus", algorithm="blocked")
    np.testing.assert_array_equal(
        band.dot(x, semiring="min_plus"),  # no plan for it: the rows are walked
        ps.csr_array(parts, shape=shape).dot(x, semiring="min_plus"),
    )


def test_every_file_of_an_instruction_set_is_compiled():
    """One that a pattern of the build misses would only make products slower."""
    library = Path(__file__).resolve().parents[3] / "src/penstock"
    if not library.is_dir():
        pytest.skip("the sources are not beside the tests")
    suffixes = {"x86_64": ("_avx2.cpp", "_avx512.cpp"), "aarch64": ("_neon.cpp",)}
    mine = suffixes.get(platform.machine(), ())
    there = sorted(p.name for p in library.rglob("*.cpp") if p.name.endswith(mine))
    assert sorted(_core.config()["simd_files"].split()) == there
