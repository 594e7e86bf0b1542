"""Real files: every row of the data folder's INDEX.md, and its folder of small, odd and broken files."""

import gzip
import io
import re
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from data_files import DATA

import penstock as ps

ROW = re.compile(r"^\| (\S+\.\w+) \| (\d+) \| (\d+) \| (\d+) \| (\S[^|]*?) \|", re.MULTILINE)
UNDIRECTED = {"musae_git_edges.csv.gz"}

INDEX = ROW.findall((DATA / "INDEX.md").read_text()) if (DATA / "INDEX.md").exists() else []
SMALL = sorted((DATA / "small").glob("*"))
pytestmark = pytest.mark.skipif(not INDEX, reason=f"no real data in {DATA}: set PENSTOCK_DATA")


def parameters():
    rows = []
    for name, *numbers, symmetric in INDEX:
        slow = [pytest.mark.slow] if int(numbers[2]) > 3_000_000 else []
        rows.append(pytest.param(name, *map(int, numbers), symmetric, marks=slow, id=name))
    return rows


def test_the_index_is_read():
    assert len(INDEX) > 40 and len(SMALL) > 100


@pytest.mark.parametrize("name, rows, cols, nnz, symmetric", parameters())
def test_real_file(name, rows, cols, nnz, symmetric):
    how = {"directed": False} if name in UNDIRECTED else {}
    a = ps.load(DATA / name, **how)
    assert (*a.shape, a.nnz) == (rows, cols, nnz)
    if symmetric == "yes" and nnz < 2_000_000:
        b = a.to_scipy()
        assert (b != b.T).nnz == 0
    if name.endswith(".mtx.gz") and nnz < 1_000_000:
        assert_same(a, scipy.io.mmread(DATA / name))


def assert_same(a, reference):
    """NaN equals NaN; explicit zeros count as entries of both, and sums of duplicates may round otherwise."""
    b = sp.csr_array(reference)
    b.sum_duplicates()
    assert a.shape == b.shape
    got = a.to_scipy()
    if sp.issparse(reference):
        assert np.array_equal(got.indptr, b.indptr) and np.array_equal(got.indices, b.indices)
        np.testing.assert_allclose(got.data, b.data, rtol=1e-14)
    else:
        np.testing.assert_array_equal(got.toarray(), reference)


@pytest.mark.parametrize("path", SMALL, ids=lambda p: p.name)
def test_small_file(path):
    """Loads, equal to what SciPy reads, or is refused in a sentence that names it."""
    try:
        a = ps.load(path)
    except ValueError as error:
        message = str(error)
        assert message.startswith(str(path)) and len(message) < 600
        assert path.name in REFUSED, message
        return
    assert path.name not in REFUSED
    if path.suffix == ".mtx":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reference = scipy.io.mmread(path)
            except (ValueError, OverflowError):
                return  # a dialect that SciPy does not know
        assert_same(a, reference)


REFUSED = [
    "cholmod_cha.mtx",  # hermitian, with complex numbers on the diagonal
    "cholmod_fullcha.mtx",
    "cholmod_fullcrud.mtx",
    "cholmod_fullcrud2.mtx",
    "cholmod_mangle1.mtx",
    "cholmod_mangle2.mtx",
    "cholmod_mangle3.mtx",
    "cholmod_mangle4.mtx",
    "cholmod_one.tri.mtx",
    "cholmod_two.tri.mtx",
    "full_noheader.mtx",
    "mangled1.mtx",
    "mangled2.mtx",
    "mangled3.mtx",
    "mangled4.mtx",
    "mangled5.mtx",
    "mangled6.mtx",
    "mangled7.mtx",
    "mangled8.mtx",
    "mangled9.mtx",
    "mangled10.mtx",
    "mangled11.mtx",
    "mangled12.mtx",
    "mangled13.mtx",
    "mangled15.mtx",
    "mangled16.mtx",
    "mangled_format.mtx",
    "matrix_fp32.mtx",
    "matrix_fp64.mtx",
    "matrix_int64.mtx",
    "matrix_uint64.mtx",
    "skew_int64.mtx",
    "west0067_noheader.mtx",
]


def without_right_hand_sides(text):
    """SciPy refuses a file that has them; they follow the matrix, and a line of the header speaks of them."""
    title, cards, kind, formats, *rest = text.splitlines(keepends=True)
    pointers, indices, values, sides = (int(n) for n in cards.split()[1:5])
    if sides == 0:
        return text
    cards = "".join(f"{n:14d}" for n in (pointers + indices + values, pointers, indices, values, 0))
    return "".join(
        [title, cards + "\n", kind, formats[:52] + "\n", *rest[1 : 1 + pointers + indices + values]]
    )


@pytest.mark.parametrize("name", ["small/west0479.rua", "sherman5.hb.gz"])
def test_harwell_boeing_against_scipy(name):
    opened = gzip.open if name.endswith(".gz") else open
    with opened(DATA / name, "rt") as file:
        text = io.StringIO(without_right_hand_sides(file.read()))
    assert_same(ps.load(DATA / name), scipy.io.hb_read(text, spmatrix=False))


def test_rutherford_boeing_pattern_against_its_matrix_market_twin():
    twin = ps.load(DATA / "small" / "cholmod_can___24.mtx")
    a = ps.load(DATA / "small" / "can_24.psa")
    assert np.array_equal(a.indptr, twin.indptr) and np.array_equal(a.indices, twin.indices)


def test_linear_program_in_two_formats():
    a, b = (ps.load(DATA / "small" / f"lp_afiro.{suffix}") for suffix in ("rra", "mtx"))
    assert np.array_equal(a.indices, b.indices)
    np.testing.assert_allclose(a.data, b.data, rtol=1e-14)


def test_duplicate_arcs_keep_the_shortest():
    shortest, added = (ps.load(DATA / "bremen_dist.gr.gz", duplicates=d) for d in ("min", "sum"))
    assert np.array_equal(ps.load(DATA / "bremen_dist.gr.gz").data, shortest.data)
    assert (shortest.data <= added.data).all() and (shortest.data < added.data).any()
    assert ps.load(DATA / "bremen_dist.gr.gz", duplicates="keep").nnz == shortest.nnz + 1198
