"""The version of this program, and what else is at work."""

from __future__ import annotations

VERSION = "0.1.0"
_RUNTIMES = ("onnxruntime", "openvino", "onnx")


def versions() -> str:
    """Return this program and the runtimes that are installed, with their versions."""
    from importlib import metadata  # late: it takes a while

    known = [f"ir-interp {VERSION}"]
    for name in _RUNTIMES:
        try:
            known.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            known.append(f"{name} (not installed)")
    return ", ".join(known)
