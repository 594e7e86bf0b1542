"""ps.sample.gather against NumPy's indexing."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.complex128, bool])
@pytest.mark.parametrize(
    "shape", [(1,), (500,), (500, 1), (500, 7), (500, 128), (50, 3, 5), (9, 0)]
)
def test_rows_are_numpys(shape, dtype):
    rng = np.random.default_rng(1)
    x = (rng.random(shape) * 100).astype(dtype)
    for count in (0, 1, 1000):
        ids = rng.integers(0, shape[0], count)
        got = ps.sample.gather(x, ids)
        assert got.dtype == x.dtype and np.array_equal(got, x[ids])
        out = np.empty_like(got)
        assert ps.sample.gather(x, ids.astype(np.int32), out) is out
        assert np.array_equal(out, got)


def test_rows_with_a_distance():
    x = np.arange(600.0).reshape(100, 6)[::2, 1:4]
    assert np.array_equal(ps.sample.gather(x, [3, 0, 49]), x[[3, 0, 49]])


def test_mapped_files(tmp_path):
    x = np.random.default_rng(1).random((3000, 40)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ids = np.random.default_rng(2).integers(0, 3000, 5000)
    assert np.array_equal(ps.sample.gather(np.load(tmp_path / "x.npy", mmap_mode="r"), ids), x[ids])


def test_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(4, 3)
    assert np.array_equal(ps.sample.gather(x, torch.tensor([2, 2, 0])), x.numpy()[[2, 2, 0]])


@pytest.mark.parametrize(
    ("error", "match", "how"),
    [
        (ValueError, r"ids\[1\]=4 is outside 4 rows", {"ids": [0, 4]}),
        (ValueError, r"ids\[0\]=-1", {"ids": [-1]}),
        (TypeError, "ids must be integers", {"ids": [0.5]}),
        (ValueError, "out must be", {"out": np.empty((2, 3), np.float32)}),
        (
            ValueError,
            r"out must be .* ndarray given is of shape \(1, 3\)",
            {"out": np.empty((1, 3))},
        ),
        (ValueError, "out must be .* list given is no array", {"out": [0, 0]}),
        (TypeError, r"ids has shape \(2, 1\): .* ids.ravel", {"ids": [[0], [1]]}),
        (ValueError, "features has 1 masked", {"features": np.ma.masked_equal([0, 1], 1)}),
        (ValueError, "side by side", {"features": np.zeros((3, 4)).T}),
        (ValueError, r"steps of \(-24, 8\) .* ascend", {"features": np.zeros((4, 3))[::-1]}),
        (TypeError, r"0 dimensions .* shape \(n, ...\)", {"features": None}),
        (TypeError, "features of type object", {"features": np.array([None, 1])}),
    ],
)
def test_refusals(error, match, how):
    with pytest.raises(error, match=match):
        ps.sample.gather(**{"features": np.zeros((4, 3)), "ids": [0, 1], **how})


def test_out_is_no_part_of_features():
    x = np.zeros((4, 3))
    with pytest.raises(ValueError, match="shares memory"):
        ps.sample.gather(x, [0, 1], x[:2])
