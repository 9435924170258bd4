"""Every layer type that can be written, with its emitter: each module of ``emitters/`` has a table of its own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator

from ..onnx.graph import Graph
from . import emitters
from .op import Op

Emitter = Callable[[Graph, Op], str | tuple[str, ...]]
"""Adds the nodes of a layer and returns its outputs; raises UnsupportedLayerError or InexactError to refuse."""


def _tables() -> Iterator[dict[str, Emitter]]:
    for module in pkgutil.iter_modules(emitters.__path__, emitters.__name__ + "."):
        yield importlib.import_module(module.name).TABLE


EMITTERS: dict[str, Emitter] = {kind.lower(): emit for table in _tables() for kind, emit in table.items()}
"""By layer type in lower case: OpenVINO reads types in any."""
