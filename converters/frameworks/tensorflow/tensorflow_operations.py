"""The operations of TensorFlow that resize."""

from __future__ import annotations

_FLAGS = ("align_corners", "half_pixel_centers")
RESIZES = {
    "ResizeBilinear": _FLAGS,
    "ResizeNearestNeighbor": _FLAGS,
    "ResizeBicubic": _FLAGS,
    "ResizeArea": ("align_corners",),
    "ScaleAndTranslate": ("kernel_type", "antialias"),
}
"""The operations that resize, and their attributes."""
