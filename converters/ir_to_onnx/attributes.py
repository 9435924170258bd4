"""Check that every attribute of a layer is read by its emitter, has no effect, or is unknown to OpenVINO too."""

from __future__ import annotations

from collections.abc import Iterator

from ir_interp.errors import UnsupportedLayerError, closest, hint

from . import openvino_attributes
from .layer import Op

_TYPES = frozenset(  # the ports have these, too
    (
        "classes_index_type",
        "count_element_type",
        "destination_type",
        "index_element_type",
        "output_type",
        "roi_num_type",
        "sequence_length_type",
    )
)
_RECURRENT = ("activations_alpha", "activations_beta")  # of activations that the CPU plugin does not run
_WRITTEN_OF_OLD = ("activation_alpha", "activation_beta")  # by the model optimizer, which named them so

WITHOUT_EFFECT: dict[str, frozenset[str]] = {
    kind: frozenset(names)
    for kind, names in {
        "convolution": ("output_padding",),  # the model optimizer wrote it to every convolution
        "groupconvolution": ("output_padding",),
        "deformableconvolution": ("output_padding",),
        "detectionoutput": (
            "input_height",  # of boxes in pixels, which are refused
            "input_width",
            "num_classes",  # the input shapes determine it
            "objectness_score",  # of boxes that another detector refines, which are refused
        ),
        "divide": ("m_pythondiv",),  # the CPU plugin disregards it
        "grucell": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "grusequence": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "lstmcell": (*_RECURRENT, *_WRITTEN_OF_OLD, "weights_format"),  # OpenVINO ignores the last
        "lstmsequence": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "matrixnms": ("gaussian_sigma",),  # where scores decay linearly
        "maxpool": (
            "axis",  # of places without a reader
            "exclude-pad",  # the model optimizer wrote it to every pooling
        ),
        "mvn": ("eps",),  # where the variance stays
        "priorbox": (
            "flip",  # where there are no ratios
            "min_max_aspect_ratios_order",  # where there are no sizes
            "offset",  # where the step follows from the sizes
        ),
        "priorboxclustered": ("img_h", "img_w"),  # the model optimizer wrote them; an input has them
        "psroipooling": ("spatial_bins_x", "spatial_bins_y"),  # of the bilinear mode
        "deformablepsroipooling": ("part_size", "trans_std"),  # where there are no offsets
        "regionyolo": ("anchors", "axis", "end_axis", "mask", "num"),  # the output port shows what is flattened
        "rnncell": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "rnnsequence": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "roipooling": (
            "output_size",  # where output_roi is given
            "spatial_scale",  # where regions are sampled, which then are shares of the map
        ),
        "scatterelementsupdate": ("use_init_val",),  # where nothing is reduced
        "topk": ("stable",),  # ONNX takes the first of equal values in any case
    }.items()
}
"""Names of attributes by layer type in lower case that an emitter may leave unread."""


def may_stay_unread(kind: str) -> frozenset[str]:
    """Return the attributes of a layer type that have no effect, or none if an emitter leaves them unread."""
    return WITHOUT_EFFECT.get(kind.lower(), frozenset()) | _TYPES


def check_unread(op: Op) -> Iterator[str]:
    """Yield a note for each attribute that OpenVINO does not know either, and which therefore has no effect.

    Raises UnsupportedLayerError for an attribute that was not read and may have an effect, with the closest name.
    """
    unread = op.layer.attributes.keys() - op.read - may_stay_unread(op.layer.type)
    if not unread:
        return
    effective = openvino_attributes.names(op.layer.type, op.layer.version or 0)
    for name in sorted(unread):
        if effective is None or name in effective:
            known = closest(name, op.read) if op.read else f"{op.layer.type} has none"
            raise UnsupportedLayerError(f"unknown attribute; {known}", f"{op.layer.where}@{name}")
        meant = hint(name, effective)
        yield f"{op.layer.where}@{name}: OpenVINO has no such attribute and ignores it{meant}"
