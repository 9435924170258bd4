"""Every layer type that can be written, with its emitter."""

from __future__ import annotations

from collections.abc import Callable

from converters.ir_to_onnx import (
    activations,
    attention,
    constants,
    control_flow,
    convolutions,
    detection_output,
    detectron,
    elementwise,
    gathers,
    lookups,
    matmul,
    multiclass,
    normalisations,
    padding,
    patches,
    pooling,
    priors,
    proposals,
    quantisation,
    rearrangements,
    recurrent,
    reductions,
    refused,
    regions,
    resizes,
    scatters,
    selections,
    sequences,
    shapes,
    slices,
    spectra,
    suppression,
)
from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.op import Op

_FAMILIES = (
    activations,
    attention,
    constants,
    control_flow,
    convolutions,
    detection_output,
    detectron,
    elementwise,
    gathers,
    lookups,
    matmul,
    multiclass,
    normalisations,
    padding,
    patches,
    pooling,
    priors,
    proposals,
    quantisation,
    rearrangements,
    recurrent,
    reductions,
    refused,
    regions,
    resizes,
    scatters,
    selections,
    sequences,
    shapes,
    slices,
    spectra,
    suppression,
)

Emitter = Callable[[Graph, Op], str | tuple[str, ...]]
"""Adds the nodes of a layer and returns its outputs; raises UnsupportedLayerError or InexactError to refuse."""

EMITTERS: dict[str, Emitter] = {kind.lower(): emit for family in _FAMILIES for kind, emit in family.TABLE.items()}
"""By layer type in lower case: OpenVINO reads types in any."""
