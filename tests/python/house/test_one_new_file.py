"""New semirings and a new partitioner are what ARCHITECTURE.md says: one file, and one place elsewhere.

The slow test does it: it adds a semiring over numbers, one over bool, and a partitioner to a copy of the tree by what
the table says, compiles the core there without optimisation, and uses them from Python. That takes minutes of two
cores, so it runs where PENSTOCK_TEST_NEW_FILE=1 is set. The others run always: they compare what Python takes with the
lists of the core, and look for lists beside these.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from penstock._choices import SEMIRINGS, in_words
from penstock._plan.codecs import FORMS
from penstock.cli.app import app
from penstock.csgraph.gpu_options import check_names
from typer.testing import CliRunner

import penstock as ps
from penstock import _core

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(ps.__file__).parent
LISTS = {
    "semirings": _core.semirings(),
    "codecs": _core.codecs(),
    "partitioners": _core.partitioners(),
    "halos": _core.halos(),
    "gpu_halos": _core.gpu_halos(),
    "access_policies": _core.access_policies(),
    "edge_placements": _core.edge_placements(),
    "measures": _core.measures(),
    "algorithms": _core.algorithms(),
}
NAMES = {kind: [row.name for row in rows] for kind, rows in LISTS.items()}
A = ps.csr_array(np.array([[0.0, 5.0], [2.0, 1.0]]))


def refused(call, kind: str) -> None:
    """An unknown name is refused by a message that lists the core's names, in their order and no others."""
    with pytest.raises(ValueError, match="no_such_name") as caught:
        call("no_such_name")
    listed = ", ".join(NAMES[kind])
    assert re.search(rf"(of|auto,) {listed}(?!\w|, (?!or |which )\w)", str(caught.value)), caught


@pytest.mark.parametrize("kind", LISTS)
def test_every_name_of_the_core_says_what_it_is(kind):
    assert len(NAMES[kind]) == len(set(NAMES[kind])) >= 3
    assert all(row.text and not row.text.endswith(".") for row in LISTS[kind])
    assert "auto" not in NAMES[kind]


def test_semirings_are_those_of_the_core():
    assert list(SEMIRINGS) == NAMES["semirings"]
    x = np.array([1.0, 10.0])
    for name, s in SEMIRINGS.items():
        rows = [slice(*A.indptr[i : i + 2]) for i in range(2)]
        terms = [s.products(A.data[row], x[A.indices[row]]) for row in rows]
        y = A.dot(x.astype(bool) if s.boolean else x, semiring=name)
        assert np.array_equal(y, [s.sums.reduce([s.zero, *term]) for term in terms]), name
        assert s.sums(s.zero, y[0]) == y[0] and s.products(s.one, y[0]) == y[0]
        assert ps.spgemm(A, A, semiring=name).shape == (2, 2)
        assert A.add(A, name).shape == (2, 2)
    refused(lambda name: A.dot(x, semiring=name), "semirings")
    refused(lambda name: ps.spgemm(A, A, semiring=name), "semirings")
    refused(lambda name: A.add(A, name), "semirings")
    for wrong in (None, ["min_plus"], 1):  # no name at all
        with pytest.raises(ValueError, match="choose one of plus_times"):
            A.dot(x, semiring=wrong)
        with pytest.raises(ValueError, match="choose one of auto, raw"):
            ps.Streamed(device="cpu", codec=wrong)


def test_codecs_and_algorithms_are_those_of_the_core():
    assert list(FORMS) == NAMES["codecs"]
    for name, form in FORMS.items():
        made = form.make(A, 0)
        assert form.there(A) and made.nbytes > 0 and form.size(A) > 0, name
    assert {c.name for c in LISTS["codecs"] if c.automatic} == {"raw", "packed"}
    assert all(c.copies >= 1 and c.nonzeros_per_byte > 0 for c in LISTS["codecs"])
    for codec in ("auto", *NAMES["codecs"]):
        ps.Streamed(device="cpu", codec=codec)
    refused(lambda name: ps.Streamed(device="cpu", codec=name), "codecs")
    x = np.ones(2)
    for algorithm in ("auto", *NAMES["algorithms"]):
        assert np.array_equal(A.dot(x, algorithm=algorithm), A @ x)
    refused(lambda name: A.dot(x, algorithm=name), "algorithms")


def test_measures():
    for measure in NAMES["measures"]:
        assert ps.csgraph.similarity(A, [(0, 1)], measure).tolist() == [0.0]
    refused(lambda name: ps.csgraph.similarity(A, [(0, 1)], name), "measures")
    refused(lambda name: ps.csgraph.most_similar(A, [0], 1, name), "measures")
    refused(lambda name: _core.similarity(A._core, *np.zeros((2, 1), np.int32), name), "measures")


def test_partitioners_and_halos_are_those_of_the_core():
    for name in NAMES["partitioners"]:
        assert name in ps.partition.__all__ and name in ps.dist.LAYOUTS
        assert getattr(ps.partition, name)(A, 2).kind == name
    refused(lambda name: _core.partition(A._core, name, 2), "partitioners")

    def work(comm):
        refused(lambda name: ps.dist.csr_array(A, comm, name), "partitioners")
        refused(lambda name: ps.dist.csr_array(A, comm, halo=name), "halos")
        refused(lambda name: ps.dist.csr_array(A, comm, halo=name, device=ps.host), "gpu_halos")
        return [(ps.dist.csr_array(A, comm, halo=h) @ np.ones(2)).tolist() for h in NAMES["halos"]]

    assert ps.dist.run(work, 1)[0] == [[5.0, 3.0]] * len(NAMES["halos"])


def test_access_policies_and_placements_are_those_of_the_core():
    for kind, argument in (("access_policies", "access"), ("edge_placements", "placement")):
        for name in ("auto", *NAMES[kind]):
            check_names(**{argument: name})
        refused(lambda name, argument=argument: check_names(**{argument: name}), kind)


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("multiply", ["semirings", "codecs", "algorithms"]),
        ("spgemm", ["semirings"]),
        ("partition", ["partitioners"]),
        ("scale", ["partitioners"]),
        ("bfs", ["access_policies", "edge_placements"]),
    ],
)
def test_the_help_of_a_command_lists_the_names_of_the_core(command, kinds):
    wide = {"COLUMNS": "400", "TERMINAL_WIDTH": "400", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, [command, "--help"], env=wide)
    assert result.exit_code == 0
    for kind in kinds:
        lists = {in_words(NAMES[kind]), ", ".join(NAMES[kind]), "|".join(NAMES[kind])}
        assert any(names in result.stdout for names in lists), (kind, result.stdout)


# Literals that name three of a list and are no list of choices, by file, with the reason.
ELSEWHERE = {
    ("_plan/codecs.py", "codecs"): "what makes each form of a matrix",
    ("_plan/probe.py", "access_policies"): "patterns of the probe, of which one is no policy",
    ("cli/probe.py", "access_policies"): "patterns of the probe, of which one is no policy",
    ("partition.py", "partitioners"): "functions that have a docstring of their own",
    ("dist/_oracle.py", "partitioners"): "the layouts that are compared unless told otherwise",
    ("cli/scale.py", "partitioners"): "the layouts that are compared unless told otherwise",
}


def literals(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    """The line and the words of every tuple, list, set, dict and text, docstrings aside."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            yield (
                node.lineno,
                {
                    p.value
                    for p in parts
                    if isinstance(p, ast.Constant) and isinstance(p.value, str)
                },
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docs:
                yield node.lineno, set(re.split(r"\W+", node.value))


def lists_in(file: str, text: str) -> list[tuple[str, str, int]]:
    """(file, kind, line) of what names at least three of a kind."""
    return [
        (file, kind, line)
        for line, words in literals(ast.parse(text))
        for kind, names in NAMES.items()
        if len(words & set(names)) >= 3
    ]


def test_no_other_file_lists_the_names():
    found, files = [], [f for f in PACKAGE.rglob("*.py") if "__pycache__" not in f.parts]
    for file in files:
        name = file.relative_to(PACKAGE).as_posix()
        found += lists_in(name, file.read_text(encoding="utf-8"))
    assert len(files) > 100
    assert [f for f in found if f[:2] not in ELSEWHERE] == []
    assert {f[:2] for f in found} == set(ELSEWHERE)  # an entry that is needed no longer goes


def test_a_list_would_be_found():
    words = '("plus_times", "min_plus", "or_and")'
    assert lists_in("x.py", f"K = {words}") == [("x.py", "semirings", 1)]
    assert lists_in("x.py", 'help = "raw, packed or ell_g."') == [("x.py", "codecs", 1)]
    assert lists_in("x.py", f"def f():\n    '''{words}'''\n") == []


# What is added to the copy: exactly what the table of ARCHITECTURE.md names.
SEMIRING = """#pragma once
#include <limits>

#include "penstock/semiring/semiring.hpp"

namespace penstock {

/// Bottlenecks: the least over all paths of a path's largest step.
template <class T>
struct MinMax {
  using value_type = T;
  static constexpr SemiringInfo kInfo{"min_max", "minimum", "maximum", "least bottlenecks of paths"};
  static constexpr T zero() { return std::numeric_limits<T>::infinity(); }
  static constexpr T one() { return -std::numeric_limits<T>::infinity(); }
  static constexpr T add(T a, T b) { return b < a ? b : a; }
  static constexpr T mul(T a, T b) { return a < b ? b : a; }
};
static_assert(Semiring<MinMax<float>>);

}  // namespace penstock
"""
BOOLEAN_SEMIRING = """#pragma once
#include <cstdint>

#include "penstock/semiring/semiring.hpp"

namespace penstock {

/// The field of two elements: whether the number of paths is odd.
struct XorAnd {
  using value_type = std::uint8_t;
  static constexpr SemiringInfo kInfo{"xor_and", "logical_xor", "logical_and", "parities of numbers of paths"};
  static constexpr value_type zero() { return 0; }
  static constexpr value_type one() { return 1; }
  static constexpr value_type add(value_type a, value_type b) { return a ^ b; }
  static constexpr value_type mul(value_type a, value_type b) { return a & b; }
};
static_assert(BooleanSemiring<XorAnd> && !PatternSemiring<XorAnd>);

}  // namespace penstock
"""
PARTITIONER = """#include "penstock/core/reserve.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock::partition {

/// Rows dealt out one by one, as cards are.
Partition dealt(const Csr<One>& a, std::int64_t parts) {
  auto p = begin(a, parts, PartitionKind::dealt);
  const auto owners = allocate_apart<Index>(a.rows);
  for (std::int64_t r = 0; r < a.rows; ++r) owners.data[r] = static_cast<Index>(r % parts);
  p.row_owners = owners;
  own_columns(p);
  return p;
}

}  // namespace penstock::partition
"""
USES = """
import numpy as np, penstock as ps
from penstock import _core
from penstock.cli.app import app
from typer.testing import CliRunner

assert _core.__file__.startswith(ROOT), _core.__file__
assert "min_max" in [s.name for s in _core.semirings()]
rng = np.random.default_rng(7)
for dtype in (np.float32, np.float64):
    dense = rng.standard_normal((60, 50)).astype(dtype) * (rng.random((60, 50)) < 0.2)
    A, x = ps.csr_array(dense), rng.standard_normal(50).astype(dtype)
    want = np.array([min((max(v, w) for v, w in zip(row, x) if v), default=np.inf) for row in dense])
    assert np.array_equal(A.dot(x, semiring="min_max"), want)
    X = np.stack([x, -x], 1)
    assert np.array_equal(A.dot(X, semiring="min_max")[:, 0], want)
    streamed = A.dot(x, semiring="min_max", schedule=ps.Streamed(device="cpu", codec="packed"))
    assert np.array_equal(streamed, want)
    C = ps.spgemm(A, A.T, semiring="min_max").toarray()
    i, j = 3, 8
    both = (dense[i] != 0) & (dense[j] != 0)
    assert C[i, j] == min(np.maximum(dense[i], dense[j])[both], default=0)
    from penstock._check.product import verify
    assert verify(A, x, want.astype(dtype), "min_max").ok
    assert not verify(A, x, want.astype(dtype) + 1, "min_max").ok
    assert np.array_equal(A.T.dot(want.astype(dtype), semiring="min_max"),
                          [min((max(v, w) for v, w in zip(c, want) if v), default=np.inf) for c in dense.T])

def odd(counts):
    return np.asarray(counts) % 2 == 1

assert [s.boolean for s in _core.semirings() if s.name in ("min_max", "xor_and")] == [False, True]
from penstock._check.spgemm import verify_spgemm
for dtype in (bool, np.float32, np.float64):
    ones = rng.random((300, 250)) < 0.05
    ones[7] = True  # a row with many products
    A, S = ps.csr_array(ones.astype(dtype)), ones.astype(np.int64)
    x, X = rng.random(250) < 0.5, rng.random((250, 3)) < 0.5
    assert np.array_equal(A.dot(x, semiring="xor_and"), odd(S @ x))
    assert np.array_equal(A.dot(X, semiring="xor_and"), odd(S @ X))
    z = rng.random(300) < 0.5
    assert np.array_equal(A.T.dot(z, semiring="xor_and"), odd(S.T @ z))
    how = ps.Streamed(device="cpu", codec="packed", block=4096)
    assert np.array_equal(A.dot(x, semiring="xor_and", schedule=how), odd(S @ x))
    y = rng.random(300) < 0.5
    more = y.copy()
    A.dot(x, out=more, beta=True, semiring="xor_and")
    assert np.array_equal(more, odd(S @ x + y))
    assert verify(A, x, odd(S @ x), "xor_and").ok and not verify(A, x, ~odd(S @ x), "xor_and").ok
    assert verify(A, z, odd(S.T @ z), "xor_and", transposed=True).ok
    for accumulator in ("auto", "merge", "hash", "dense"):
        C = ps.spgemm(A, A.T, semiring="xor_and", accumulator=accumulator)
        assert np.array_equal(C.toarray(), odd(S @ S.T)) and C.nnz == odd(S @ S.T).sum(), accumulator
        assert verify_spgemm(A, A.T.formed(), C, "xor_and").ok
    assert not verify_spgemm(A, A.T.formed(), ps.spgemm(A, A.T, semiring="or_and"), "xor_and").ok
    on = rng.random((300, 300)) < 0.1
    masked = ps.spgemm(A, A.T, semiring="xor_and", mask=ps.csr_array(on))
    assert np.array_equal(masked.toarray(), odd(S @ S.T) & on)
    other = rng.random((300, 250)) < 0.5
    both = A.add(ps.csr_array(other), "xor_and")
    assert np.array_equal(both.toarray(), ones ^ other) and both.nnz == (ones ^ other).sum()
L = ps.generate.laplacian((40, 41), dtype=bool)  # most rows repeat the row above
n = L.to_scipy().astype(np.int64)
assert np.array_equal(ps.spgemm(L, L, semiring="xor_and").toarray(), odd((n @ n).toarray()))
shown = CliRunner().invoke(app, ["multiply", "--help"], env={"COLUMNS": "300"}).stdout
assert "min_max" in shown and "xor_and" in shown

A = ps.csr_array(dense)
P = ps.partition.dealt(A, 4)
assert P.kind == "dealt" and P.owners.tolist() == [r % 4 for r in range(60)]
m = P.metrics(A)
assert m.nnz.sum() == A.nnz and m.nnz.tolist() == [int((dense[p::4] != 0).sum()) for p in range(4)]
S = ps.generate.laplacian((9, 8))

def work(comm):
    D = ps.dist.csr_array(S, comm, "dealt")
    made = ps.dist.csr_array(__import__("functools").partial(ps.generate.laplacian, (9, 8)), comm, "dealt")
    v = D.share(np.arange(72.0))
    return D.partition, D.collect(D @ v), made.collect(made @ v)

for kind, y, z in ps.dist.run(work, 3)[:1]:
    assert kind == "dealt" and np.allclose(y, S @ np.arange(72.0)) and np.array_equal(y, z)
assert "dealt" in ps.dist.LAYOUTS
assert "dealt" in CliRunner().invoke(app, ["partition", "--help"], env={"COLUMNS": "300"}).stdout
print("used")
"""


def table_of_one_new_file() -> dict[str, tuple[str, str]]:
    """The rows of ARCHITECTURE.md's table: what to add, the new file, the one place elsewhere."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## One new file")[1]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    return {what.strip(): (new.strip(), place.strip()) for what, new, place in rows}


def add_line(file: Path, after: str, line: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(after) == 1, (file, after)
    file.write_text(text.replace(after, after + line), encoding="utf-8")


in_the_tree = pytest.mark.skipif(
    not (ROOT / "ARCHITECTURE.md").is_file(), reason="the sources are not beside the tests"
)


@in_the_tree
def test_the_table_names_files_that_exist():
    rows = table_of_one_new_file()
    assert {"semiring", "partitioner", "halo strategy"} <= set(rows)
    for what, (_, place) in rows.items():
        for name in re.findall(r"`(\w+/[\w/]+\.(?:hpp|cpp|py))`", place):
            folders = (ROOT / "src/penstock", PACKAGE)
            assert any((folder / name).is_file() for folder in folders), f"{what}: {name}"


@in_the_tree
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(os.environ.get("PENSTOCK_TEST_NEW_FILE") != "1",
                    reason="compiles the core: set PENSTOCK_TEST_NEW_FILE=1")  # fmt: skip
@pytest.mark.skipif(not shutil.which("cmake"), reason="needs CMake")
def test_semirings_and_a_partitioner_are_one_new_file_each(tmp_path):
    rows, copy = table_of_one_new_file(), tmp_path / "tree"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.split(
        b"\0"
    ):
        source = ROOT / os.fsdecode(name)
        if name and source.is_file():
            target = copy / os.fsdecode(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    library = copy / "src/penstock"

    assert rows["semiring"] == (
        "`semiring/foo.hpp`", "its include and its line in `semiring/semirings.hpp`",
    )  # fmt: skip
    (library / "semiring/min_max.hpp").write_text(SEMIRING, encoding="utf-8")
    list_of_semirings = library / "semiring/semirings.hpp"
    add_line(list_of_semirings, '#include "penstock/semiring/max_times.hpp"\n',
             '#include "penstock/semiring/min_max.hpp"\n')  # fmt: skip
    text = list_of_semirings.read_text(encoding="utf-8")
    last = re.search(r"^  X\(MaxTimes, __VA_ARGS__\)$", text, re.MULTILINE)
    assert last
    add_line(list_of_semirings, last[0], " X(MinMax, __VA_ARGS__)")
    (library / "semiring/xor_and.hpp").write_text(BOOLEAN_SEMIRING, encoding="utf-8")
    add_line(list_of_semirings, '#include "penstock/semiring/plus_times.hpp"\n',
             '#include "penstock/semiring/xor_and.hpp"\n')  # fmt: skip
    add_line(list_of_semirings, "#define PENSTOCK_BOOLEAN_SEMIRINGS(X, ...) X(OrAnd, __VA_ARGS__)",
             " X(XorAnd, __VA_ARGS__)")  # fmt: skip

    assert rows["partitioner"] == (
        "`partition/foo.cpp`", "a line of the list in `partition/partition.hpp`",
    )  # fmt: skip
    (library / "partition/dealt.cpp").write_text(PARTITIONER, encoding="utf-8")
    add_line(library / "partition/partition.hpp", '  X(label_propagation, graph, "neighbours together")',
             ' X(dealt, shape, "rows dealt out one by one")')  # fmt: skip

    build, launcher = tmp_path / "build", shutil.which("ccache")
    options = [
        "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DPENSTOCK_CUDA=OFF",
        "-DPENSTOCK_MPI=OFF", "-DPENSTOCK_UNITY=ON", f"-DPython_EXECUTABLE={sys.executable}",
        *(["-G", "Ninja"] if shutil.which("ninja") else []),
        *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []),
    ]  # fmt: skip
    ran = {"check": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    try:
        subprocess.run(["cmake", "-S", copy, "-B", build, *options], **ran)
        subprocess.run(["cmake", "--build", build, "--target", "_core", "-j", "2"], **ran)
        (module,) = build.glob("_core*.so")
        shutil.copy(module, copy / "python/penstock")
        use = f"ROOT = {str(copy)!r}\n{USES}"
        env = os.environ | {"PYTHONPATH": str(copy / "python")}
        done = subprocess.run([sys.executable, "-c", use], env=env, cwd=tmp_path, **ran)
    except subprocess.CalledProcessError as error:
        pytest.fail(f"{error.cmd}\n{error.stdout[-4000:]}")
    assert done.stdout.strip() == "used"
