"""Headers of .npy files are read by ranks that are threads, all at once.

NumPy reads them with ast.literal_eval, whose count of depths older CPythons keep for all threads together. Where
garbage is collected within it, and a finalizer lets another thread go on that is there too, one of them gets a
SystemError: about one call in 30,000 when it is provoked. Here every call lets the others go on, and says whether it
was alone.
"""

import ast
import os
import threading
import time

import numpy as np
import pytest
from penstock._io import _npy


def read_header(path):
    with open(path, "rb") as file:
        assert _npy.read_header(path, file, os.path.getsize(path))[0] == (7,)


@pytest.mark.parametrize("read", [read_header, _npy.map_any], ids=["store", "checkpoint"])
def test_one_thread_at_a_time_evaluates_a_header(tmp_path, monkeypatch, read):
    np.save(tmp_path / "a.npy", np.zeros(7))
    literal_eval, inside, most = ast.literal_eval, [], []

    def watched(text):
        inside.append(None)
        most.append(len(inside))
        time.sleep(0.001)
        value = literal_eval(text)
        inside.pop()
        return value

    monkeypatch.setattr(ast, "literal_eval", watched)
    threads = [threading.Thread(target=read, args=(str(tmp_path / "a.npy"),)) for _ in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == [1] * 20
