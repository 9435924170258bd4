"""The library that resizes the images of a pipeline."""

from __future__ import annotations

from enum import Enum


class Backend(Enum):
    """Pillow images or torchvision tensors: their resizes, and the order of sums, differ."""

    PIL = "pil"
    TORCHVISION = "torchvision"
