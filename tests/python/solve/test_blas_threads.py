"""BLAS has its threads back when the last method that put them to sleep is done."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from penstock.linalg._methods.blas_threads import one_blas_thread

import penstock as ps

ctl = pytest.importorskip("threadpoolctl")


def threads() -> set[int]:
    """Of the BLAS libraries that had several."""
    return {lib["num_threads"] for lib in ctl.threadpool_info() if lib["user_api"] == "blas"}


def test_the_last_to_leave_gives_them_back() -> None:
    before = threads()
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=first)
    other.start()
    assert inside.wait(10)
    with one_blas_thread():
        leave.set()
        other.join(10)
        assert 1 in threads()
        with one_blas_thread():
            pass
        assert 1 in threads()
    assert threads() == before


def test_a_thread_other_than_the_first_one_may_be_last() -> None:
    before = threads()
    inside, leave = threading.Event(), threading.Event()

    def last() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=last)
    with one_blas_thread():
        other.start()
        assert inside.wait(10)
    assert 1 in threads()
    leave.set()
    other.join(10)
    assert threads() == before
    with one_blas_thread():  # nobody owns the libraries
        assert 1 in threads()
    assert threads() == before


def test_an_error_gives_them_back() -> None:
    before = threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        _ = 1 / 0
    assert threads() == before


def test_eigsh_wakes_no_thread_of_blas() -> None:
    """They would take processor time for a tenth of a second after the call."""
    if max(threads(), default=1) < 2:
        pytest.skip("BLAS has one thread here")
    a = ps.generate.laplacian((40, 50))
    ps.linalg.eigsh(a, k=12)
    time.sleep(0.5)
    ps.linalg.eigsh(a, k=12)
    time.sleep(0.01)  # the library's own threads sleep by then
    begin = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - begin < 0.05
    assert np.isfinite(ps.linalg.eigsh(a, k=12)[0]).all()
