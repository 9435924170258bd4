"""Telemetry of runtimes, which this program disables in its own processes.

OpenVINO's Python tools report to Google Analytics that they were imported, and keep an identifier in ~/intel; without
their package openvino_telemetry they do not. onnxruntime from 1.29 on reports every session to Microsoft, with the name
of the model and a digest of its weights, unless a variable forbids it. Neither the user's files nor the user's
environment is changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PACKAGE = "openvino_telemetry"
_VARIABLE = "ORT_DISABLE_TELEMETRY"


@contextmanager
def openvino_silent() -> Iterator[None]:
    """Import OpenVINO inside this context without telemetry: it does not find the package that would report.

    If it was imported before, it stays as it is.
    """
    if _PACKAGE in sys.modules:
        yield
        return
    sys.modules[_PACKAGE] = None  # type: ignore[assignment]  # an import of it fails
    try:
        yield
    finally:
        del sys.modules[_PACKAGE]


def silent_environment() -> dict[str, str]:
    """Return the environment for a process that runs models."""
    return {**os.environ, _VARIABLE: "1"}
