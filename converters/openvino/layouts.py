"""Models with the channels of images last, given inputs and outputs with the channels second."""

from __future__ import annotations

import openvino as ov
from openvino.preprocess import PrePostProcessor

from ir_interp.errors import UnsupportedLayerError
from ir_interp.options.image_options import IMAGE_RANK


def with_channels_second(model: ov.Model, name: str) -> ov.Model:
    """Return a model whose inputs and outputs of rank 4 are NCHW in place of NHWC; ``name`` is that of its source.

    Their names and order stay. Raises UnsupportedLayerError for an input or output whose rank is dynamic.
    """
    names = [port.get_names() for port in (*model.inputs, *model.outputs)]
    processor = PrePostProcessor(model)
    for ports, end in ((model.inputs, processor.input), (model.outputs, processor.output)):
        for place, port in enumerate(ports):
            if _rank(port, name) == IMAGE_RANK:
                end(place).tensor().set_layout(ov.Layout("NCHW"))
                end(place).model().set_layout(ov.Layout("NHWC"))
    moved = processor.build()
    for port, known in zip((*moved.inputs, *moved.outputs), names, strict=True):
        port.get_tensor().set_names(known)
    return moved


def _rank(port: ov.Output, name: str) -> int:
    rank = port.get_partial_shape().rank
    if rank.is_dynamic:
        problem = f"{port.get_any_name()!r} has a dynamic rank, so its channels cannot be moved"
        raise UnsupportedLayerError(f"{problem}; convert it without --layout", name)
    return int(rank.get_length())
