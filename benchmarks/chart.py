"""Draw the ratios of a benchmark run as a chart."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

_STYLES = {
    "onnxruntime": ("o", "0.0"),
    "openvino": ("s", "0.4"),
    "torch": ("^", "0.65"),
    "opencv": ("D", "0.8"),
    "fast": ("|", "0.0"),
}
_LABELS = {"fast": "ours with the extra fast"}


def draw(times: dict[str, dict[str, float | None]], path: Path) -> None:
    """Save a PNG: for every case the time of each peer as a multiple of ours, on a logarithmic axis."""
    names = list(times)[::-1]
    figure, axes = plt.subplots(figsize=(8, 0.36 * len(names) + 1.2), layout="constrained")
    for peer, (marker, shade) in _STYLES.items():
        points = [
            (times[name][peer] / times[name]["ours"], row) for row, name in enumerate(names) if times[name].get(peer)
        ]  # type: ignore[operator]
        if points:
            axes.scatter(
                *zip(*points, strict=True), marker=marker, color=shade, label=_LABELS.get(peer, peer), s=60, zorder=3
            )
    axes.axvline(1, color="0.3", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("time / that of ir_interp in NumPy alone (right of 1: ir_interp is faster)")
    axes.grid(axis="x", color="0.9")
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120)
