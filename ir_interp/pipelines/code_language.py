"""The languages and libraries in which a pipeline is printed as source code."""

from __future__ import annotations

from enum import Enum


class CodeLanguage(Enum):
    """Python with the pipeline's own libraries and NumPy, Python with OpenCV alone, C++ with OpenCV, or torch."""

    NUMPY = "numpy"
    OPENCV = "opencv"
    CPP = "cpp"
    TORCH = "torch"
