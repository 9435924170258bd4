"""Check that every attribute of a layer is read by its emitter, has no effect, or is unknown to OpenVINO too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


def _names(rows: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    return {kind: frozenset(names) for kind, names in rows.items()}


WITHOUT_EFFECT = _names(
    {
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
        "maxpool": ("exclude-pad",),  # the model optimizer wrote it to every pooling
        "regionyolo": ("anchors", "axis", "end_axis"),  # the output port shows what is flattened
        "rnncell": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "rnnsequence": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "topk": ("stable",),  # ONNX takes the first of equal values in any case
    }
)
"""Names of attributes by layer type in lower case that change nothing in any layer."""

READ_WHERE_EFFECTIVE = _names(
    {
        "deformablepsroipooling": ("part_size", "trans_std"),  # only offsets have them
        "matrixnms": ("gaussian_sigma",),  # of a Gaussian decay
        "maxpool": ("axis",),  # of places, if they have a reader
        "mvn": ("eps",),  # of a variance that is divided by
        "priorbox": (
            "flip",  # of ratios
            "min_max_aspect_ratios_order",  # of sizes
            "offset",  # of a step that does not follow from the sizes
        ),
        "psroipooling": ("spatial_bins_x", "spatial_bins_y"),  # of the bilinear mode
        "regionyolo": ("mask", "num"),  # one of them counts the anchors
        "roipooling": (
            "output_size",  # without output_roi
            "spatial_scale",  # of the method max; bilinear regions are shares of the map
        ),
        "scatterelementsupdate": ("use_init_val",),  # of a reduction
    }
)
"""Names of attributes by layer type in lower case that an emitter reads only in layers where they decide."""

WRITTEN_OF_OLD = _names(
    {
        "priorbox": ("img_h", "img_size", "img_w", "step_h", "step_w"),
        "priorboxclustered": ("flip", "img_h", "img_size", "img_w"),
        "variadicsplit": ("axis",),
    }
)
"""Attributes that the Model Optimizer of 2020 to 2022 wrote, and no release of OpenVINO reads (IR 10 and 11)."""


def without_effect(kind: str) -> frozenset[str]:
    """Return the attributes of a layer type that change nothing in any layer."""
    return WITHOUT_EFFECT.get(kind.lower(), frozenset()) | _TYPES


def may_stay_unread(kind: str) -> frozenset[str]:
    """Return the attributes of a layer type that have no effect, or none if an emitter leaves them unread."""
    return without_effect(kind) | READ_WHERE_EFFECTIVE.get(kind.lower(), frozenset())


def check_unread(op: Op) -> Iterator[str]:
    """Yield a note for each attribute that OpenVINO does not know either, and which therefore has no effect.

    Raises UnsupportedLayerError for an attribute that was not read and may have an effect, with the closest name.
    """
    unread = op.layer.attributes.keys() - op.read - may_stay_unread(op.layer.type)
    for name in sorted(unread & WRITTEN_OF_OLD.get(op.layer.type.lower(), frozenset())):
        unread.remove(name)
        yield f"{op.layer.where}@{name}: the Model Optimizer wrote it, and no release of OpenVINO reads it"
    if not unread:
        return
    effective = openvino_attributes.names(op.layer.type, op.layer.version or 0)
    for name in sorted(unread):
        if effective is None or name in effective:
            known = closest(name, op.read) if op.read else f"{op.layer.type} has none"
            raise UnsupportedLayerError(f"unknown attribute; {known}", f"{op.layer.where}@{name}")
        meant = hint(name, effective)
        yield f"{op.layer.where}@{name}: OpenVINO has no such attribute and ignores it{meant}"
