"""Every layer type that can be written, with its emitter."""

from __future__ import annotations

from collections.abc import Callable

from converters.ir_to_onnx import (
    activations,
    constants,
    convolutions,
    elementwise,
    gathers,
    matmul,
    normalisations,
    padding,
    pooling,
    quantisation,
    rearrangements,
    reductions,
    resizes,
    scatters,
    selections,
    shapes,
    slices,
)
from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.op import Op

_FAMILIES = (
    activations,
    constants,
    convolutions,
    elementwise,
    gathers,
    matmul,
    normalisations,
    padding,
    pooling,
    quantisation,
    rearrangements,
    reductions,
    resizes,
    scatters,
    selections,
    shapes,
    slices,
)

Emitter = Callable[[Graph, Op], str | tuple[str, ...]]
"""Adds the nodes of a layer and returns its outputs; raises UnsupportedLayerError or InexactError to refuse."""

EMITTERS: dict[str, Emitter] = {kind.lower(): emit for family in _FAMILIES for kind, emit in family.TABLE.items()}
"""By layer type in lower case: OpenVINO reads types in any."""
