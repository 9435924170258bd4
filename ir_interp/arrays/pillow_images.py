"""Pillow images: a Pillow call gives the bytes that Pillow computes for their mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.arrays.request import Request
from ir_interp.errors import SpecError
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import resize

MODES = ("L", "LA", "RGB", "RGBA", "I;16", "I", "F")
"""The modes of Pillow whose values are intensities."""


def resized(x: Any, request: Request, missing: Missing) -> Any:
    """Return an image resized to (height, width); its mode is kept.

    Raises SpecError for a mode whose values are not intensities, such as palette indices.
    """
    from PIL import Image

    if x.mode not in MODES:
        raise SpecError(f"x has mode {x.mode!r}; expected one of {', '.join(MODES)}; use x.convert('RGB')")
    if missing.nodata is not None or missing.valid:
        raise SpecError("nodata has no effect on a Pillow image; pass np.asarray(x)")
    values = np.asarray(x)
    spec = request.bound(values.shape, values.dtype.name, mode=x.mode, is_image=True)
    return Image.fromarray(resize(values, spec), x.mode)
