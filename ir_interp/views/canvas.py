"""Figures of Matplotlib, where it is installed: made, written, and what all have in common."""

from __future__ import annotations

import io
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.views.explanation import AxisTable

NEEDED = "pictures need Matplotlib: pip install 'ir-interp[plot]'"
"""The advice if Matplotlib is not installed."""

EDGE = 9.0
"""The longest edge of a picture, in inches."""

_DPI = 150  # pixels an inch of a PNG
_POINTS = 72  # of an inch
_LETTER = 0.6  # the width of most letters, by the size of the font


def save(figure: Any, path: Path, kind: FileKind) -> None:
    """Write a figure as PNG or SVG."""
    if kind is FileKind.DRAWING:
        path.write_bytes(svg(figure))
    else:
        figure.savefig(path, format="png", dpi=_DPI)


def svg(figure: Any) -> bytes:
    """Return a figure as SVG, the same whenever it is drawn."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "ir-interp"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def are_possible() -> bool:
    """Say whether Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def figure_of(width: float, height: float) -> Any:
    """Return an empty figure of these inches. Raises IrInterpError where Matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise IrInterpError(NEEDED) from None

    class Shown(Figure):
        """A figure that notebooks show, whatever shows those of pyplot."""

        def _repr_svg_(self) -> str:
            return svg(self).decode("utf-8")

    return Shown(figsize=(width, height), layout="constrained")


def plain(name: str) -> str:
    """Return a name as Matplotlib shows it, which takes what stands between dollars for a formula."""
    return name.replace("$", r"\$")


def headline(text: str, width: float, size: float = 10.0) -> str:
    """Return a title on as many lines as it needs above a figure of a ``width`` in inches, for a ``size`` in points."""
    return plain(textwrap.fill(text, max(1, int(width * _POINTS / (_LETTER * size)))))


def lengths(axis: AxisTable) -> str:
    """Return the lengths of an axis, before and after, in words."""
    return f"axis {axis.axis}: {axis.in_size} -> {' or '.join(dict.fromkeys(map(str, axis.out_sizes)))}"


def marker_size(count: int, largest: float = 10.0) -> float:
    """Return the size of a marker of which ``count`` stand side by side."""
    return max(2.0, min(largest, 0.55 * _POINTS * EDGE / max(count, 1)))
