"""Every supported layer type with its emitter: each module of ``emitters/`` has its own table."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from ..onnx.graph import Graph
from ..onnx.onnx_primitives import NodeTensor
from . import emitters
from .layer import Op

Emitter = Callable[[Graph, Op], str | NodeTensor | tuple[str | NodeTensor, ...]]
"""Adds the nodes of a layer and returns its outputs; raises UnsupportedLayerError or InexactError to refuse."""


def found() -> dict[str, Emitter]:
    """Return the emitters of all modules by layer type in lower case. Raises ValueError if two write one type."""
    written: dict[str, Emitter] = {}
    modules: dict[str, str] = {}
    for module in pkgutil.iter_modules(emitters.__path__):
        table: dict[str, Emitter] = importlib.import_module(f"{emitters.__name__}.{module.name}").TABLE
        for kind, emit in table.items():
            owner = modules.setdefault(kind.lower(), module.name)
            # One of two emitters would win by the order of files.
            if kind.lower() in written:
                raise ValueError(f"two emitters write {kind}: one of {owner}, one of {module.name}")
            written[kind.lower()] = emit
    return written


EMITTERS = found()
"""By layer type in lower case: OpenVINO ignores the case of types."""
