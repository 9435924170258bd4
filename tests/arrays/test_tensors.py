"""Tensors of torch become tensors: the same bits, type and device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ir_interp

torch = pytest.importorskip("torch")
resize: Any = ir_interp.resize  # whose result is of the kind of its argument
RNG = np.random.default_rng(3)
CHW = RNG.integers(0, 256, (3, 48, 64), np.uint8)
GREY = RNG.random((48, 64)).astype(np.float32)


def test_torch_agrees() -> None:
    """What ``resize(x, sizes)`` means is torch's bilinear."""
    theirs = torch.nn.functional.interpolate(torch.from_numpy(GREY)[None, None], (100, 40), mode="bilinear")[0, 0]
    np.testing.assert_allclose(resize(GREY, (100, 40)), theirs.numpy(), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "uint8"])
def test_a_tensor_becomes_one(dtype: str) -> None:
    x = torch.from_numpy(CHW[None].copy()).to(getattr(torch, dtype))
    y = resize(x, (24, 32))
    assert (y.dtype, tuple(y.shape)) == (x.dtype, (1, 3, 24, 32))
    wide = resize(x.to(torch.float64).numpy(), (24, 32))
    step = {"uint8": 0.5, "bfloat16": 1.0, "float16": 0.25}.get(dtype, 1e-4)
    np.testing.assert_allclose(y.to(torch.float64).numpy(), wide, atol=step)
    meta = resize(x.to("meta"), (24, 32))
    assert (meta.device.type, meta.dtype, tuple(meta.shape)) == ("meta", x.dtype, (1, 3, 24, 32))


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (torch.zeros(4, 4, requires_grad=True), {}, "x requires gradients, which are not computed here; pass x.detach()"),
    (torch.zeros(4, 4).to_sparse(), {}, "x is a torch.sparse_coo tensor on cpu; expected a dense one on the CPU"),
    (torch.zeros(4, 4), {"out": GREY}, "out has no effect on a torch tensor"),
]


@pytest.mark.parametrize(("x", "more", "said"), REFUSED, ids=[row[2][:30] for row in REFUSED])
def test_what_is_refused(x: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(ir_interp.SpecError) as caught:
        resize(x, (2, 2), **more)
    assert said in str(caught.value)
