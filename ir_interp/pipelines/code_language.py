"""The languages and libraries of generated source code."""

from __future__ import annotations

from enum import Enum


class CodeLanguage(Enum):
    """Python with the pipeline's own libraries and NumPy, Python with OpenCV only, C++ with OpenCV, or torch."""

    NUMPY = "numpy"
    OPENCV = "opencv"
    CPP = "cpp"
    TORCH = "torch"
