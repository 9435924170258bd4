"""The library that resizes the images of a pipeline, and the languages of generated source code."""

from __future__ import annotations

from enum import Enum


class Backend(Enum):
    """Pillow images or torchvision tensors: their resizes, and the order of sums, differ."""

    PIL = "pil"
    TORCHVISION = "torchvision"


class CodeLanguage(Enum):
    """Python with the pipeline's own libraries and NumPy, Python with OpenCV only, C++ with OpenCV, or torch."""

    NUMPY = "numpy"
    OPENCV = "opencv"
    CPP = "cpp"
    TORCH = "torch"
