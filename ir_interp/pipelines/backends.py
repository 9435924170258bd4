"""Which library resizes the images of a pipeline."""

from __future__ import annotations

from enum import Enum


class Backend(Enum):
    """Images of Pillow, or tensors of torchvision: their resizes, and the order of sums, differ."""

    PIL = "pil"
    TORCHVISION = "torchvision"
