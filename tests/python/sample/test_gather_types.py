"""ps.sample.gather of rows whose types NumPy does not have, and of tensors that are no plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps


def test_no_rows():
    for shape in ((0, 3), (0,), (0, 2, 2)):
        got = ps.sample.gather(np.empty(shape, np.float32), [])
        assert got.shape == shape and got.dtype == np.float32
        with pytest.raises(ValueError, match=r"ids\[0\]=0 is outside 0 rows"):
            ps.sample.gather(np.empty(shape), [0])


@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32", "complex64", "bool"]
)
@pytest.mark.parametrize("shape", [(9,), (9, 4), (9, 2, 3), (9, 0), (0, 4)])
def test_rows_of_tensors_are_pytorchs(name, shape):
    torch = pytest.importorskip("torch")
    numbers = torch.arange(int(np.prod(shape))).float().reshape(shape)
    x = numbers.to(getattr(torch, name))
    ids = np.array([8, 0, 8, 3] if shape[0] else [], np.int64)
    # PyTorch itself does not index float8 on the CPU; its bytes are integers.
    bits = x.view(torch.int8) if x.element_size() == 1 else x
    expected = bits[torch.from_numpy(ids)].view(x.dtype)
    got = ps.sample.gather(x, ids)
    own = name.startswith(("bfloat", "float8"))
    assert isinstance(got, torch.Tensor if own else np.ndarray)
    got = torch.as_tensor(got)
    assert got.dtype == x.dtype and got.shape == expected.shape
    assert torch.equal(got.to(torch.complex64), expected.to(torch.complex64))
    out = torch.empty_like(expected)
    assert ps.sample.gather(x, ids, out) is out
    assert torch.equal(out.to(torch.complex64), expected.to(torch.complex64))


def test_tensors_that_are_refused():
    torch = pytest.importorskip("torch")
    x = torch.ones(4, 3)
    short = x.bfloat16()
    for features, match in (
        (x.clone().requires_grad_(), "require a gradient.*detach"),
        (short.clone().requires_grad_(), "require a gradient.*detach"),
        (x.to(torch.complex64).conj(), "no plain dense tensor"),
        (x.to_sparse(), "no plain dense tensor"),
        (x.to("meta"), "features is on meta"),
    ):
        with pytest.raises(TypeError, match=match):
            ps.sample.gather(features, [0])
    with torch.no_grad():
        assert ps.sample.gather(x.clone().requires_grad_(), [0]).tolist() == [[1, 1, 1]]
    with pytest.raises(TypeError, match=r"ids must be integers, not torch.bfloat16"):
        ps.sample.gather(x, torch.ones(2, dtype=torch.bfloat16))
    with pytest.raises(ValueError, match="side by side"):
        ps.sample.gather(short.T, [0])
    for out in (
        torch.empty(1, 3),
        torch.empty(1, 3, dtype=torch.int16),
        np.empty((1, 3), np.int16),
    ):
        with pytest.raises(
            ValueError, match=r"out must be a C-contiguous tensor .* torch.bfloat16"
        ):
            ps.sample.gather(short, [0], out)
    with pytest.raises(ValueError, match="shares memory"):
        ps.sample.gather(short, [0], short[:1])
