"""Types of arrays."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any element type and shape."""

Weighted = tuple[Array, Array]
"""The taps of an axis: indices and weights [out, taps]."""
