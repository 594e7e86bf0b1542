"""The rules script finds what it must find, and nothing else."""

import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "ci" / "rules.py"


@pytest.fixture(scope="module")
def rules():
    spec = importlib.util.spec_from_file_location("rules", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def faults(rules, path, text):
    return [fault for _, fault in rules.check_text(path, text)]


KERNEL = "src/penstock/kernel/x.cpp"
OFFENCES = [
    (KERNEL, '#include "penstock/bind/bind.hpp"', "may not include bind/"),
    ("src/penstock/core/x.cpp", '#include "penstock/format/csr.hpp"', "may not include format/"),
    (KERNEL, '#include "penstock/unheard/of.hpp"', "not in the list"),
    ("src/penstock/unheard/x.cpp", "int x;", "not in the list"),
    (KERNEL, 'printf("%d", n);', "printing"),
    (KERNEL, 'std::fprintf(stderr, "no");', "printing"),
    (KERNEL, "  std::cout << n;", "printing"),
    (KERNEL, "  std::cerr << n;", "printing"),
    (KERNEL, "if (bad) exit(1);", "exit"),
    (KERNEL, "std::abort();", "exit"),
    (KERNEL, "std::terminate();", "exit"),
    ("src/penstock/comm/x.cpp", "MPI_Abort(c, 1);", "exit"),
    (KERNEL, "check(cudaMalloc(&p, n));", "CUDA allocation"),
    (KERNEL, "cudaMallocAsync(&p, n, s);", "CUDA allocation"),
    (KERNEL, "cudaHostAlloc(&p, n, 0);", "CUDA allocation"),
    (KERNEL, "MPI_Send(p, n);", "MPI outside"),
    (KERNEL, "#ifdef __AVX2__", "preprocessor"),
    (KERNEL, "#  if defined(X)", "preprocessor"),
    ("src/penstock/core/config.cpp", "#if 1", "preprocessor"),
    ("src/penstock/core/x.hpp", "int x;", "pragma once"),
    ("tests/unit/x.hpp", "int x;", "pragma once"),
    (KERNEL, "int x;\n" * 501, "501 lines"),
    ("python/penstock/x.py", "x = 1\n" * 501, "501 lines"),
    ("docs/x.md", "see /" + "work/data", "path of one machine"),
    ("tests/x.py", "open('/" + "farm/a')", "path of one machine"),
    ("CMakeLists.txt", "add_compile_options(-march" + "=native)", "this processor alone"),
]


@pytest.mark.parametrize(("path", "text", "word"), OFFENCES)
def test_an_offence_is_found_once(rules, path, text, word):
    found = faults(rules, path, text)
    assert len(found) == 1
    assert word in found[0]


ALLOWED = [
    ("src/penstock/bind/x.cpp", '#include "penstock/core/error.hpp"'),
    (KERNEL, '#include "penstock/kernel/row_blocks.hpp"\n#include "penstock/format/csr.hpp"'),
    (KERNEL, 'throw Error(code, "printf(1), exit(1) and std::cout");  // not abort()'),
    (KERNEL, "#ifdef __AVX2__  // rules: ok, the compiler's own macro"),
    (KERNEL, "at_exit(f); request.abort(); p->exit();"),
    (KERNEL, "std::snprintf(buffer, n, format);"),
    ("src/penstock/core/device_cuda.cpp", "check(cudaMalloc(&p, n));"),
    ("src/penstock/comm/comm_mpi.cpp", "MPI_Send(p, n);"),
    ("src/penstock/core/config.hpp.in", "#pragma once\n#if @X@\n#endif"),
    ("src/penstock/core/x.hpp", "#pragma once\nint x;"),
    ("bench/x.cpp", 'printf("%d", n); exit(1);'),
    ("src/penstock/bind/x.cpp", "int x;\n" * 500),
]


@pytest.mark.parametrize(("path", "text"), ALLOWED)
def test_what_is_allowed_passes(rules, path, text):
    assert faults(rules, path, text) == []


def test_the_line_is_named(rules):
    assert [n for n, _ in rules.check_text(KERNEL, "int a;\n\nexit(1);\n")] == [3]


def test_the_folders_are_those_of_the_tree(rules):
    library = ROOT / "src/penstock"
    there = {str(p.parent.relative_to(library)) for p in library.rglob("*.?pp")}
    assert there == set(rules.FOLDERS)


def test_an_archive_without_git_is_read_with_its_folders_called_dist(tmp_path, rules, monkeypatch):
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    for name in (
        "src/penstock/dist/halo/x.cpp",
        "python/penstock/dist/x.py",
        "dist/wheel.txt",
        "build/x.cpp",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text("")
    assert rules.tracked_files() == ["python/penstock/dist/x.py", "src/penstock/dist/halo/x.cpp"]


def test_the_repository_keeps_its_rules():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 faults" in done.stdout


def test_a_fault_is_printed_and_fails(tmp_path, rules, monkeypatch, capsys):
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    bad = tmp_path / "src/penstock/core/x.cpp"
    bad.parent.mkdir(parents=True)
    bad.write_text("void f() {\n  std::abort();\n}\n")
    assert rules.main([str(bad)]) == 1
    assert "src/penstock/core/x.cpp:2: no exit" in capsys.readouterr().out


def test_its_examples(rules):
    result = doctest.testmod(rules)
    assert (result.failed, result.attempted) == (0, 2)
