"""Torch tensors: they share their memory with NumPy, and the result is a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir_interp.errors import SpecError


def resized(x: Any, resize: Callable[[Any], Any]) -> Any:
    """Return a tensor resized by a function of arrays; on the device "meta" only the shape is computed.

    Raises SpecError for a tensor that is not on the CPU, and for one that requires gradients, which are not computed.
    """
    import torch

    if x.requires_grad:
        raise SpecError("x requires gradients, which are not computed here; pass x.detach()")
    if x.device.type == "meta":
        # One element stands for all, so that a huge shape takes no memory.
        like = torch.zeros(1, dtype=x.dtype).expand(x.shape)
        return torch.empty(resize(_array(like)).shape, dtype=x.dtype, device="meta")
    if x.device.type != "cpu" or x.layout is not torch.strided:
        raise SpecError(f"x is a {x.layout} tensor on {x.device}; expected a dense one on the CPU, as x.cpu() returns")
    y = resize(_array(x))
    if x.dtype is torch.bfloat16:
        return torch.from_numpy(y.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(y)


def _array(x: Any) -> Any:
    import torch

    if x.dtype is not torch.bfloat16:
        return x.numpy()
    import ml_dtypes

    return x.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
