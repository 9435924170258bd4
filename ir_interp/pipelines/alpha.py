"""The rule of a pipeline for the fourth channel of an image."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError

CHANNELS = 4
_WHITE = 255


class AlphaRule(Enum):
    """The treatment of alpha before the first step."""

    REFUSED = "refused"
    DROPPED = "dropped"
    OVER_WHITE = "blended over white"

    @property
    def text(self) -> str:
        """The rule in words."""
        older = ", as transformers 5 does (transformers 4 drops alpha)" if self is AlphaRule.OVER_WHITE else ""
        return f"images with alpha: {self.value}{older}"


def without_alpha(x: NDArray[Any], rule: AlphaRule, name: str) -> NDArray[Any]:
    """Return an image, uint8 [height, width, 4], with 3 channels. Raises ShapeError if the pipeline refuses alpha."""
    if rule is AlphaRule.REFUSED:
        raise ShapeError(f"{name or 'the pipeline'} takes no images with alpha; expected uint8 [height, width, 3]")
    return blended(x[..., :3], x[..., 3:]) if rule is AlphaRule.OVER_WHITE else x[..., :3]


def blended(colours: NDArray[Any], alpha: NDArray[Any]) -> NDArray[Any]:
    """Return colours over white, as ``alpha_composite`` of Pillow rounds them: weights of 7 bits more than alpha."""
    whole = over_white(colours.astype(np.int32), alpha.astype(np.int32))
    pixels: NDArray[Any] = ((whole // 2 + whole * 128) // 2**15).astype(np.uint8)
    return pixels


def over_white(colours: Any, alpha: Any) -> Any:
    """Return 255 times the blended colours, plus 128: the sum that Pillow divides, for any kind of numbers."""
    return colours * alpha + (_WHITE - alpha) * _WHITE + 128
