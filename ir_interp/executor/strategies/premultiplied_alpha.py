"""8-bit images multiplied by their last channel, and divided by it again, in Pillow's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_OPAQUE = 255


def multiplied(x: NDArray[Any]) -> NDArray[Any]:
    """Return an image whose other channels are multiplied by the last, over 255, rounded."""
    wide = x.astype(np.uint32)
    product = wide[..., :-1] * wide[..., -1:] + 128
    return np.concatenate([((product >> 8) + product) >> 8, wide[..., -1:]], axis=-1).astype(x.dtype)


def divided(x: NDArray[Any]) -> NDArray[Any]:
    """Return an image whose other channels are divided by the last, over 255, truncated; unchanged where that is 0."""
    wide = x.astype(np.uint32)
    alpha = wide[..., -1:]
    # The product of two bytes needs 16 bits, and a colour above its alpha would exceed 255.
    quotient = np.minimum(wide[..., :-1] * _OPAQUE // np.maximum(alpha, 1), _OPAQUE)
    unchanged = (alpha == 0) | (alpha == _OPAQUE)
    return np.concatenate([np.where(unchanged, wide[..., :-1], quotient), alpha], axis=-1).astype(x.dtype)
