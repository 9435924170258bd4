"""Places of runtime faults: small nodes and layers. The outcome of each is in the runtime's own file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ir_interp.errors import Difference, ReadError, closest, spelled
from ir_interp.files.writing import scratch
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.meaning import differences

from ..audit.audited_resizes import Audited
from ..audit.auditing import audit
from ..predictions import RUNTIMES, runtimes_of
from ..runtimes.outcome import Kind
from ..runtimes.runtime import runtimes
from .conformance_kit import Layer, Node

_RUNTIMES = tuple(name for name in RUNTIMES if name != "openvino-converted" and ":" not in name)  # no earlier release
_OF_LAYERS = {name for name, runtime in runtimes().items() if runtime.of_layer}
_KINDS = (Kind.DIFFERS, Kind.CRASHES, Kind.REFUSED, Kind.SAME)
_IN_WORDS = {
    ("step", "ratio", "given"): "it uses the ratio of sizes instead of the scale",
    ("step", "given_unless_equal", "given"): "it copies an axis that keeps its size",
    ("length", "fractional", "whole"): "its align_corners uses scale * size without rounding it",
    ("step", "given", "none"): "",  # align_corners has a step of its own only with a fractional length
}
"""Differences in words, by the part, the runtime's value and the meaning's."""


def _sizes(*values: float) -> dict[str, tuple[float, ...]]:
    return {"sizes": values}


def _scales(*values: float) -> dict[str, tuple[float, ...]]:
    return {"scales": values}


_ANTIALIAS = {"mode": "linear", "antialias": 1}
_CORNERS = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
_SYMMETRIC = {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}
_ASYMMETRIC = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
_TF = {"mode": "nearest", "coordinate_transformation_mode": "tf_half_pixel_for_nn"}
_CROP = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
_POLICY = {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"}
_CUBIC = {"mode": "cubic"}
_SINGLE = {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"}
_IMAGE = (1, 1, 8, 9)
_IR_LINEAR = {"mode": "linear_onnx"}

PLACES: Mapping[str, Node | Layer] = {
    "fractional-scale": Node(attributes={"mode": "linear"}, given=_scales(1, 1, 1.3, 1)),
    "antialias": Node(attributes=_ANTIALIAS, given=_sizes(1, 1, 2, 3)),
    "antialias-cubic": Node(attributes={"mode": "cubic", "antialias": 1}, given=_sizes(1, 1, 2, 3)),
    "exclude-outside": Node(attributes={"mode": "cubic", "exclude_outside": 1}, given=_sizes(1, 1, 9, 9)),
    "antialias-exclude-outside": Node(attributes={**_ANTIALIAS, "exclude_outside": 1}, given=_sizes(1, 1, 2, 3)),
    "half-pixel-symmetric": Node(attributes=_SYMMETRIC, given=_sizes(1, 1, 8, 9)),
    "half-pixel-symmetric-scales": Node(attributes=_SYMMETRIC, given=_scales(1, 1, 1.7, 1.7)),
    "cubic-coefficient": Node(
        attributes={**_CUBIC, "cubic_coeff_a": -0.5, "coordinate_transformation_mode": "align_corners"},
        given=_sizes(1, 1, 9, 9),
    ),
    "cubic-before-first-pixel": Node(attributes=_CUBIC, given=_sizes(1, 1, 9, 9)),
    "nearest-half-up": Node(attributes={**_ASYMMETRIC, "nearest_mode": "round_prefer_ceil"}, given=_scales(1, 1, 2, 2)),
    "nearest-ceil": Node(attributes={**_ASYMMETRIC, "nearest_mode": "ceil"}, given=_scales(1, 1, 2, 2)),
    "nearest-tie": Node(
        shape=(1, 1, 1, 39), attributes={"mode": "nearest", "nearest_mode": "floor"}, given=_sizes(1, 1, 1, 27)
    ),
    "nearest-tie-pytorch": Node(
        shape=(1, 1, 13, 1),
        attributes={"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "pytorch_half_pixel"},
        given=_sizes(1, 1, 7, 1),
    ),
    "nearest-tie-scales": Node(
        shape=(1, 1, 1, 7), attributes={**_ASYMMETRIC, "nearest_mode": "round_prefer_ceil"}, given=_sizes(1, 1, 1, 4)
    ),
    "tf-half-pixel-kept-axis": Node(version=11, attributes={**_TF, "mode": "linear"}, given=_scales(1, 1, 1, 2)),
    "tf-half-pixel-ceil": Node(version=11, attributes={**_TF, "nearest_mode": "ceil"}, given=_sizes(1, 1, 8, 9)),
    "tf-half-pixel-floor": Node(version=11, attributes={**_TF, "nearest_mode": "floor"}, given=_sizes(1, 1, 8, 9)),
    "tf-half-pixel-sizes": Node(version=11, attributes=_TF, given=_sizes(1, 1, 8, 9)),
    "tf-half-pixel-scales": Node(version=11, attributes=_TF, given=_scales(1, 1, 3, 0.5)),
    "tf-half-pixel-coefficient": Node(
        version=11, attributes={**_TF, "mode": "cubic", "cubic_coeff_a": -0.5}, given=_scales(1, 1, 2, 2)
    ),
    "tf-half-pixel-exclude-outside": Node(
        version=11, attributes={**_TF, "mode": "cubic", "exclude_outside": 1}, given=_scales(1, 1, 2, 2)
    ),
    "nearest-tie-fraction": Node(
        shape=(1, 1, 10, 1), attributes={"mode": "nearest", "nearest_mode": "ceil"}, given=_scales(1, 1, 2.6, 1)
    ),
    "length-by-float32": Node(attributes={"mode": "linear"}, given=_scales(1, 1, 1.4, 1)),
    "corners-nearest-fraction": Node(
        attributes={"mode": "nearest", "nearest_mode": "ceil", "coordinate_transformation_mode": "align_corners"},
        given=_scales(1, 1, 2.6, 1),
    ),
    "one-output": Node(attributes=_CORNERS, given=_sizes(1, 1, 1, 9)),
    "corners-nearest-tie": Node(
        shape=(1, 1, 34, 1),
        attributes={"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "align_corners"},
        given=_scales(1, 1, 0.3, 1),
    ),
    "sizes-before-13": Node(version=11, attributes={"mode": "linear"}, given=_sizes(1, 1, 8, 9)),
    "upsample-nearest": Node(version=9, attributes={"mode": "nearest"}, given=_scales(1, 1, 1.7, 2)),
    "upsample-linear": Node(version=9, attributes={"mode": "linear"}, given=_scales(1, 1, 2.5, 2)),
    "upsample-linear-ratio": Node(version=9, attributes={"mode": "linear"}, given=_scales(1, 1, 1.3, 1.3)),
    "upsample-7": Node(version=7, attributes={"mode": "nearest"}, given=_scales(1, 1, 2, 2)),
    "upsample-7-fraction": Node(version=7, attributes={"mode": "nearest"}, given=_scales(1, 1, 1.7, 2)),
    "upsample-7-longer": Node(version=7, attributes={"mode": "linear"}, given=_scales(1, 1, 2.6, 1)),
    "upsample-7-linear": Node(version=7, attributes={"mode": "linear"}, given=_scales(1, 1, 1.3, 2)),
    "resize-10": Node(version=10, attributes={"mode": "nearest"}, given=_scales(1, 1, 0.6, 2)),
    "resize-10-linear": Node(version=10, attributes={"mode": "linear"}, given=_scales(1, 1, 2, 2)),
    "resize-10-ratio": Node(version=10, attributes={"mode": "linear"}, given=_scales(1, 1, 1.3, 1.3)),
    "single-row": Node(shape=(1, 1, 1, 6), attributes={"mode": "linear"}, given=_sizes(1, 1, 3, 9)),
    "axes-out-of-order": Node(
        version=18, attributes={"mode": "linear", "axes": [0, 1, 3, 2]}, given=_sizes(1, 1, 9, 8)
    ),
    "nearest-exclude-outside": Node(
        version=13,
        attributes={"mode": "nearest", "nearest_mode": "floor", "exclude_outside": 1},
        given=_scales(1, 1, 2, 2),
    ),
    "linear-channels-last": Node(shape=(1, 5, 6, 2), attributes={"mode": "linear"}, given=_sizes(1, 8, 9, 2)),
    "nearest-left-out": Node(attributes={"mode": "nearest"}, given=_scales(1, 1, 1.5, 2.6)),
    "policy": Node(attributes={**_POLICY, "axes": [2, 3]}, given=_sizes(8, 12)),
    "policy-negative-axes": Node(attributes={**_POLICY, "axes": [-2, -1]}, given=_sizes(8, 12)),
    "crop": Node(attributes=_CROP, given={"roi": (0, 0, 0.2, 0.2, 1, 1, 0.8, 0.8), **_sizes(1, 1, 8, 9)}),
    "crop-kept-scale": Node(attributes=_CROP, given={"roi": (0, 0, 0.2, 0.2, 1, 1, 0.8, 0.8), **_scales(1, 1, 1, 2)}),
    "crop-channels-last": Node(
        shape=(1, 6, 5, 2),
        attributes={**_CROP, "antialias": 1},
        given={"roi": (0, 0.4, -0.1, 0, 1, 1.3, 1.2, 1), **_sizes(1, 4, 9, 2)},
    ),
    "cubic-channels-last-kept": Node(shape=(1, 5, 6, 2), attributes=_CUBIC, given=_scales(1, 2, 1.1, 1)),
    "no-length-changes": Node(attributes={"mode": "linear"}, given=_scales(1, 1, 1.1, 1.1)),
    "kept-scale": Node(attributes={"mode": "linear"}, given=_scales(1, 1, 1.1, 2)),
    "antialias-kept-axis": Node(shape=_IMAGE, attributes=_ANTIALIAS, given=_scales(1, 1, 0.5, 1.05)),
    "antialias-int8": Node(dtype="int8", attributes=_ANTIALIAS, given=_sizes(1, 1, 2, 3)),
    "corners-fractional-length": Node(attributes=_CORNERS, given=_scales(1, 1, 1.3, 1.3)),
    "single-output": Node(attributes=_SINGLE, given=_sizes(1, 1, 1, 9)),
    "single-output-fraction": Node(attributes={**_SINGLE, "mode": "linear"}, given=_scales(1, 1, 0.3, 1.5)),
    "linear-rank-6": Node(shape=(1, 1, 1, 1, 4, 4), attributes={"mode": "linear"}, given=_sizes(1, 1, 1, 1, 8, 8)),
    "cubic-three-axes": Node(shape=(1, 2, 4, 4), attributes=_CUBIC, given=_sizes(1, 3, 8, 8)),
    "cubic-int8-volume": Node(shape=(1, 1, 2, 4, 4), dtype="int8", attributes=_CUBIC, given=_sizes(1, 1, 2, 8, 8)),
    "batch": Node(shape=(2, 2, 4, 4), attributes={"mode": "linear"}, given=_sizes(3, 2, 4, 4)),
    "ir-pads": Layer(
        shape=(1, 10, 9, 5),
        attributes={**_IR_LINEAR, "pads_begin": "0,0,0,0", "pads_end": "0,2,0,2"},
        given={"axes": (1, 2), **_sizes(20, 18)},
    ),
    "ir-pillow-axes": Layer(
        shape=(1, 4, 4, 4), attributes={"mode": "bilinear_pillow"}, given={"axes": (1, 2, 3), **_sizes(2, 2, 2)}
    ),
    "ir-area": Layer(version=1, attributes={"mode": "area", "axes": "2,3"}, given={"axes": (2, 3), **_sizes(8, 9)}),
    "ir-linear-rank-6": Layer(
        version=1,
        shape=(1, 1, 1, 1, 4, 4),
        attributes={"mode": "linear", "axes": "4,5"},
        given={"axes": (4, 5), **_sizes(8, 8)},
    ),
    "ir-cubic-uint8-volume": Layer(
        shape=(1, 1, 2, 4, 4), dtype="uint8", attributes=_CUBIC, given={"axes": (3, 4), **_sizes(8, 8)}
    ),
}
"""By name: nodes and layers where a runtime may be at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a runtime, and the place that shows it; ``name`` is the argument of ``reproduce``."""

    runtime: str
    place: str
    kind: Kind
    reason: str
    op: ResizeOp

    @property
    def name(self) -> str:
        """The runtime and the place."""
        return f"{self.runtime}:{self.place}"

    @property
    def causes(self) -> set[str]:
        """The parts of the reason, without varying numbers."""
        return causes(self.reason)


def causes(reason: str) -> set[str]:
    """Return the parts of a reason, without varying numbers."""
    return set(re.sub(r"\d+", "", reason).split("; "))


@cache
def faults() -> Mapping[str, Fault]:
    """Return the known faults, by name: for each runtime the first place for each reason."""
    by_name: dict[str, Fault] = {}
    covered: set[tuple[str, str]] = set()
    with scratch() as folder:
        for fault in _predicted(PLACES, folder, _RUNTIMES):
            new = {(fault.runtime, cause) for cause in fault.causes} - covered
            if new and fault.kind is not Kind.UNKNOWN:
                covered |= new
                by_name[fault.name] = fault
    return dict(sorted(by_name.items(), key=lambda item: (item[1].runtime, _KINDS.index(item[1].kind))))


def _predicted(names: Iterable[str], folder: Path, runtimes: Collection[str]) -> Iterator[Fault]:
    """Yield the faults of runtimes at some places, which are written into a folder."""
    for kind, asked in ((Node, set(runtimes)), (Layer, _OF_LAYERS & set(runtimes))):
        paths = [_path(name, folder) for name in names if isinstance(PLACES[name], kind)]
        for path in paths:
            PLACES[path.stem].save(path)
        rows, errors = audit(paths, runtimes=sorted(asked))
        if errors:
            raise errors[0]
        for row in rows:
            for runtime, verdict in row.predictions.items():
                if verdict.kind is not Kind.SAME:
                    place, why = Path(row.file).stem, reason(row, runtime)
                    yield Fault(runtime=runtime, place=place, kind=verdict.kind, reason=why, op=row.op)


def _path(name: str, folder: Path) -> Path:
    return folder / f"{name}{PLACES[name].suffix}"


def reason(row: Audited, runtime: str) -> str:
    """Return why a runtime is predicted to differ; the difference in meaning if its rules have no reason."""
    cause = re.sub(r"^shape .*", "", row.predictions[runtime].cause)
    prediction = runtimes_of(row.op)[runtime].predict(row.op)
    if cause or prediction.spec is None:
        return cause or prediction.reason
    apart = differences(row.op.spec, prediction.spec, row.op.shape)
    return "; ".join(filter(None, map(_in_words, apart))) or "float32 decides ties differently"


def _in_words(difference: Difference) -> str:
    part, computed, meant = difference.part, spelled(difference.offered), spelled(difference.needed)
    return _IN_WORDS.get((part, computed, meant), f"{part}: {computed}, not {meant}")


def save(name: str, folder: Path) -> tuple[Path, Fault]:
    """Write the place of a fault as a model. Raises ReadError for an unknown name."""
    runtime, _, place = name.partition(":")
    is_known = place in PLACES and runtime in _RUNTIMES
    fault = next(_predicted([place], folder, [runtime]), None) if is_known else None
    if fault is None:
        raise ReadError(f"unknown fault {name!r}; {closest(name, faults(), 'docs/faults.md')}")
    return _path(place, folder), fault
