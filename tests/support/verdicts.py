"""How a random resize compares between this program and a runtime, and what explains a difference."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ir_interp import Coordinates, Cubic, Nearest, ResizeSpec, resize
from ir_interp.converters.dialects.onnx import DIALECT as ONNX
from ir_interp.ir.interpolate_dialect import DIALECT as OPENVINO
from ir_interp.translation.dialect import Context, Semantics
from tests.support.configurations import IrCase, OnnxCase, known_openvino_bug
from tests.support.runtimes import Array, Crashed, Refused

Case = OnnxCase | IrCase
Answer = Array | Refused | Crashed

TOLERANCE = 2e-5  # of the input's magnitude: what float32 sums of a few hundred terms may differ by
DOUBLE_TOLERANCE = 1e-11  # the same in float64
LAST_PLACE = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # the relative step of types that are computed in float32

EXPLANATIONS = {
    "half": "integers: the sum is so near a half that float32 may round it either way",
    "O12": "onnxruntime's antialias makes every negative int8 a 0",
    "B9": "OpenVINO averages 8-bit integers of rank 5 in linear, and filters them in pillow modes, in an order that is "
    "not known; within 1",
    "edge": "tf_half_pixel_for_nn reaches so far beyond the edge that exclude_outside keeps little weight, and "
    "dividing by it magnifies float32 rounding; within 20 times the tolerance",
}
UNEXPLAINED = "UNEXPLAINED"


class Outcome(Enum):
    """How a comparison ended; the values are column titles."""

    EQUAL = "equal"
    DIFFERS = "differing"
    REFUSED = "refused"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How one case compared, why it differs or was left out, and what shows it."""

    case: Case
    outcome: Outcome
    reason: str = ""
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.reason or self.outcome.value}: {self.case}: {self.evidence}"


def spec_of(case: Case, semantics: Semantics = Semantics.RUNTIME) -> ResizeSpec:
    """Return what the product reads from the case."""
    given = {name: getattr(case, name, None) for name in ("axes", "sizes", "scales", "roi")}
    if isinstance(case, OnnxCase):
        version = max(version for version in ONNX.versions if version <= case.opset)
        numbers = {name: value for name, value in given.items() if value is not None and name != "axes"}
        context = Context(version=version, shape=case.shape, dtype=case.dtype, semantics=semantics)
        return ONNX.parse({**case.attributes, **numbers}, context)
    numbers = {name: value for name, value in given.items() if value is not None}
    attributes = {name: _typed(name, value) for name, value in case.attributes.items()}
    if case.version != 1:
        attributes["shape_calculation_mode"] = "sizes" if case.scales is None else "scales"
    context = Context(version=case.version, shape=case.shape, dtype=case.dtype, semantics=semantics)
    return OPENVINO.parse({**attributes, **numbers}, context)


def _typed(name: str, value: Any) -> Any:
    """Return an IR attribute as reading a file would leave it."""
    if name in ("align_corners", "antialias"):
        return bool(value)
    if name in ("pads_begin", "pads_end") and isinstance(value, str):
        return tuple(int(pad) for pad in value.split(","))
    return value


def left_out(case: Case) -> str | None:
    """Return the runtime's fault that leaves nothing to compare with, if there is one.

    Those that ``configurations`` never draws are not repeated here.
    """
    antialias = isinstance(case, OnnxCase) and bool(case.attributes.get("antialias"))
    return "O12" if antialias and case.dtype == "int8" else None


def compare(case: Case, answer: Answer) -> Verdict:
    """Compare the runtime's answer with the product's, run in the same arithmetic."""
    if isinstance(answer, Refused | Crashed):
        return Verdict(case=case, outcome=Outcome.REFUSED, reason=type(answer).__name__, evidence=answer.text)
    if (fault := left_out(case)) is not None:
        return Verdict(case=case, outcome=Outcome.LEFT_OUT, reason=fault)
    x, spec = case.array(), spec_of(case)
    ours = resize(x, spec)
    same = ours.dtype == answer.dtype and ours.shape == answer.shape
    if same and not differing(spec, x, ours, answer).any():
        return Verdict(case=case, outcome=Outcome.EQUAL)
    reason = _explanation(case, spec, ours, answer) if same else UNEXPLAINED
    evidence = first_difference(spec, x, ours, answer)
    return Verdict(case=case, outcome=Outcome.DIFFERS, reason=reason, evidence=evidence)


def _explanation(case: Case, spec: ResizeSpec, ours: Array, theirs: Array) -> str:
    x = case.array()
    if isinstance(spec.kernel, Nearest):
        return UNEXPLAINED
    if ours.dtype.kind == "f":
        near = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max() <= 20 * TOLERANCE * magnitude(x)
        return "edge" if near and magnifies(spec) else UNEXPLAINED
    if isinstance(case, OnnxCase):  # to the last bit
        return UNEXPLAINED
    if rounds(resize(x.astype(np.float64), spec), theirs, TOLERANCE * magnitude(x)):
        return "half"
    off = int(np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max())
    return "B9" if off <= 1 and known_openvino_bug(case) == "B9" and ours.dtype.itemsize == 1 else UNEXPLAINED


def magnifies(spec: ResizeSpec) -> bool:
    beyond = spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN
    return beyond and isinstance(spec.kernel, Cubic) and spec.kernel.exclude_outside


def magnitude(x: Array) -> float:
    """Return the largest absolute value; that to which errors are relative."""
    return float(np.abs(x.astype(np.float64)).max(initial=0.0))


def differing(spec: ResizeSpec, x: Array, ours: Array, theirs: Array) -> Array:
    """Return where two results for ``x`` differ: by any bit where it was copied or integers were made of it.

    A float16 may also be one unit in the last place off: both sides round a float32 once, and may do so on either
    side of a tie.
    """
    if ours.dtype.kind != "f" or isinstance(spec.kernel, Nearest):
        return np.asarray(ours != theirs)
    wide = ours.astype(np.float64)
    last_place = LAST_PLACE.get(ours.dtype.name, 0.0) * np.abs(wide)
    return np.asarray(np.abs(wide - theirs.astype(np.float64)) > TOLERANCE * magnitude(x) + last_place)


def rounds(values: Array, integers: Array, tolerance: float) -> bool:
    """Tell whether ``integers`` are the float64 ``values`` rounded and saturated, where these may be a little off."""
    bounds = np.iinfo(integers.dtype)
    inside = np.clip(values, float(bounds.min), float(bounds.max))
    return bool((np.abs(inside - integers.astype(np.float64)) <= 0.5 + tolerance).all())


def first_difference(spec: ResizeSpec, x: Array, ours: Array, theirs: Array) -> str:
    """Return the first differing element in words."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype} {list(ours.shape)}, not {theirs.dtype} {list(theirs.shape)}"
    where = np.argwhere(differing(spec, x, ours, theirs))
    if not len(where):
        return "only by less than the tolerance for runtimes"
    index = tuple(int(position) for position in where[0])
    return f"{len(where)} of {ours.size} differ, first {list(index)}: {ours[index]}, not {theirs[index]}"
