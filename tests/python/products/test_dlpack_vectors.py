"""Products whose vectors say that they are on a GPU, and who may write to what."""

import numpy as np
import pytest
from fake_gpus import NEEDS_PLANS, fake_gpus  # noqa: F401
from penstock._plan import streaming
from test_streaming import A, matrix, x  # noqa: F401

import penstock as ps
from penstock import _core

pytestmark = NEEDS_PLANS


class OnGpu:
    """An array that says it is on a GPU; its bytes are NumPy's."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.__cuda_array_interface__ = array.__array_interface__
        self.handed = 0

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream=None, **_):
        self.handed += stream == 1


def test_vectors_on_a_gpu(A, x, fake_gpus, monkeypatch):  # noqa: F811
    plain = streaming.multiply

    def multiply(a, plan, v, y, *rest):
        v, y = (z.array if isinstance(z, OnGpu) else z for z in (v, y))
        return plain(a, plan, v, y, *rest)

    monkeypatch.setattr(streaming, "multiply", multiply)
    there, y = OnGpu(x), OnGpu(np.empty(2000))
    for how in (None, ps.Streamed(device=0), ps.InCore(device=0)):
        y.array[:] = np.nan
        with ps.record() as t:
            assert A.dot(there, out=y, schedule=how) is y
        np.testing.assert_array_equal(y.array, A.to_scipy() @ x)
        assert len(t) == 1
    assert there.handed == y.handed == 3  # their libraries' streams are waited for
    assert A.dot(there, out=np.empty(2000)).shape == (2000,)
    A.dot(x, out=y)
    for args, error, words in [
        ({"x": there}, TypeError, "give out="),
        ({"x": OnGpu(x[:5]), "out": y}, ValueError, r"x has shape \(5,\)"),
        ({"x": OnGpu(np.ones((12_000, 2, 2))), "out": y}, ValueError, "where all arrays are"),
        ({"x": OnGpu(x.astype(np.float32)), "out": y}, TypeError, "float64 is needed"),
        ({"x": there, "out": OnGpu(np.empty(2000, np.float32))}, TypeError, "out is float32"),
        ({"x": there, "beta": 1.0}, ValueError, "beta"),
        ({"x": there, "out": y, "algorithm": "blocked"}, ValueError, "'blocked' is for the CPU"),
        ({"x": there, "out": y, "schedule": ps.InCore()}, ps.PlacementError, "host memory"),
        ({"x": there, "out": y, "schedule": ps.Streamed(cpu=True)}, ps.PlacementError, "CPU"),
    ]:
        with pytest.raises(error, match=words):
            A.dot(args.pop("x"), **args)
    assert "x is on a GPU" in matrix().explain(there).reason
    with ps.options(gpus=0), pytest.raises(ps.PlacementError, match="turned off"):
        A.dot(there, out=y)
    square = ps.csr_array(np.eye(4))
    both = np.ones(12)
    v = OnGpu(both[:4])
    for out in (v, OnGpu(both[:4]), OnGpu(both[3:7]), both[2:6]):
        with pytest.raises(ValueError, match="overlaps"):
            square.dot(v, out=out)
    square.dot(v, out=both[4:8])
    read_only = np.ones(4)
    read_only.flags.writeable = False
    for out in (OnGpu(both[4::2]), both[4::2], read_only):  # a copy would get the result
        with pytest.raises(ValueError, match="out must be C-contiguous and writable"):
            square.dot(v, out=out)
    with pytest.raises(ValueError, match="x must be C-contiguous"):
        square.dot(OnGpu(both[4::2]), out=np.empty(4))


def test_the_core_writes_to_the_caller_s_y_or_not_at_all(A, x):  # noqa: F811
    plan = _core.stream_plan(A._core, [-1])
    plan.multiply(np.repeat(x, 2)[::2], y := np.empty(2000))
    np.testing.assert_array_equal(y, A.to_scipy() @ x)
    with pytest.raises(TypeError):
        plan.multiply(x, np.empty(4000)[::2])
    short = matrix(longest=40)
    for product, form in [
        (_core.multiply_packed, _core.pack(short._core)),
        (_core.multiply_ell_g, _core.to_ell_g(short._core)),
    ]:
        product(form, x, y)
        np.testing.assert_array_equal(y, short.to_scipy() @ x)
        with pytest.raises(RuntimeError):  # no cast
            product(form, x, np.empty(4000)[::2])
