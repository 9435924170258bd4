"""One resize of a model, made portable: kept, rewritten with other attributes, or decomposed.

Images of height 1 come first, for a runtime that resizes only higher ones: they get a second row, which is cropped
later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import onnx
from onnx import helper

from ir_interp.errors import InexactError, ReadError, SpecError
from ir_interp.plan.integer_sums import sums_integers
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.specs import Aspect, AtRunTime, Coordinates, Crop, ResizeSpec, Scales, Sizes
from ir_interp.translation.dialect import Context, Semantics
from ir_interp.translation.meaning import differences
from ir_interp.translation.translate import Grade, Translation, compared, translations

from ..decompose.decomposed_resize import decompose
from ..dialects.onnx import DIALECT
from ..onnx import operators
from ..onnx.neighbours import are_transposes_around, check_observed, may_change
from ..onnx.onnx_files import invalid, needed
from ..onnx.onnx_graph import Graph
from ..onnx.resize_form import OneResize, ends, inlined, is_long_as_inferred, model_of
from ..onnx.resize_nodes import ResizeNode, nodes_in
from ..reports import Form, FormPolicy, Row, text
from ..runtimes import onnxruntime
from ..runtimes.onnxruntime_optimiser import survives_transposes
from ..runtimes.outcome import Kind, Outcome, refused
from . import operator_sets
from .targets import FREEZE, Target

Resized = Callable[[str], str]
"""Adds a resize of a tensor to a graph; returns the output."""
SecondRow = Callable[[Graph, str, Resized], str]
"""Adds to a graph what resizes a tensor; returns the output."""

_RANK, _HEIGHT = 4, 2  # [batch, channels, height, width]
_SLICES_BY_INPUTS = 10  # the first operator set in which the ends of a Slice may be computed at run time
_ALL = 2**16  # rows that a crop leaves for each row beyond the first; times a height, int32 still holds it


def second_row(spec: ResizeSpec, rank: int, opset: int, *, measures: bool) -> SecondRow | None:
    """Return what adds a linear resize of images whose height may be 1; None if there is no such form.

    ``measures`` is whether the runtime slices at sizes of run time. ``spec`` is the resize as it is written.
    """
    has_sizes = isinstance(spec.target, Sizes) or spec.target is AtRunTime.SIZES
    if rank != _RANK or spec.axes is not None or not (has_sizes or isinstance(spec.target, Scales)):
        return None
    scale = spec.target.values[_HEIGHT] if isinstance(spec.target, Scales) else None
    if scale is not None and scale.is_integer() and spec.coordinates is not Coordinates.ALIGN_CORNERS:
        return lambda graph, x, resized: _with_last_row_twice(graph, x, int(scale), resized)
    if not measures or opset < _SLICES_BY_INPUTS or (scale or 0) >= _ALL:
        return None
    return lambda graph, x, resized: _of_two_rows(graph, x, scale, resized)


def _with_last_row_twice(graph: Graph, x: str, scale: int, resized: Resized) -> str:
    """Add a row to every image: with an integral scale, its outputs lie after all others."""
    last = operators.cut(graph, x, [-1], [operators.END], [_HEIGHT])
    taller = graph.node("Concat", x, last, axis=_HEIGHT)
    return operators.cut(graph, resized(taller), [0], [-scale], [_HEIGHT])


def _of_two_rows(graph: Graph, x: str, scale: float | None, resized: Resized) -> str:
    """Add a row to an image of height 1 alone, so that other heights, which sizes and corners depend on, stay."""
    height = operators.cut(graph, graph.node("Shape", x), [_HEIGHT], [_HEIGHT + 1], [0])
    first, axis = graph.ints([0]), graph.ints([_HEIGHT])
    rows = graph.node(
        "Add", height, graph.node("Div", graph.ints([1]), height)
    )  # 1 / 1 is 1, any other 1 / height is 0
    twice = graph.node("Concat", x, x, axis=_HEIGHT)
    result = resized(graph.node("Slice", twice, first, rows, axis))
    if scale is None:
        return result
    beyond = graph.node("Mul", graph.node("Sub", height, graph.ints([1])), graph.ints([_ALL]))
    return graph.node("Slice", result, first, graph.node("Add", beyond, graph.ints([int(scale)])), axis)


_GRADES = list(Grade)
_RESIZE = 10  # since this operator set an Upsample is a Resize
_BROADCAST = 8  # since this operator set every elementwise operation does


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New nodes in place of the one that produces ``output`` in a graph, which is nested ``depth`` deep."""

    graph: onnx.GraphProto
    depth: int
    output: str
    nodes: list[onnx.NodeProto]


@dataclass(slots=True, kw_only=True)
class Writer:
    """Decides on each resize in turn. ``edits`` are the changes, ``graph`` holds their names and constants."""

    target: Target
    policy: FormPolicy
    graph: Graph
    semantics: Semantics = Semantics.RUNTIME
    edits: list[Edit] = field(default_factory=list)

    def row(self, resize: ResizeNode) -> Row:
        """Return the row of a node. Raises InexactError if it has no form."""
        if around := self.target.around(resize):
            raise self._refusal(resize, f"{around}, whatever form the resize has")
        meant, prediction = self._meant(resize), self._prediction(resize)
        deviates = deviation(resize) if self.semantics is Semantics.RUNTIME else ""
        # Each step below is tried only if all before it failed: the fewest changes first.
        grade = self._grade(meant, prediction)
        within_onnx = self.target.opset is not None  # then a node keeps its behaviour, whatever that is
        stays = within_onnx or not (deviates or sums_integers(resize.op.spec, resize.op.dtype))
        if grade and stays and self.policy.form is not Form.DECOMPOSED:
            return self._row(meant, f"{_label(resize)}, kept", grade, prediction.condition)
        if deviates:
            raise self._refusal(resize, deviates)
        why = f"onnxruntime computes {resize.op.dtype} in its own steps"
        return self.rewritten(meant, _shortfall(meant, prediction) if not grade else "as asked" if stays else why)

    def _prediction(self, resize: ResizeNode) -> Outcome:
        """Return the target's outcome for a node as it stands, in the operator set that is written."""
        problem = operator_sets.problem(resize.node, resize.values.opset, self.graph.opset)
        return refused(problem) if problem else self.target.predict(resize)

    def _meant(self, resize: ResizeNode) -> ResizeNode:
        """Return a node with its meaning in the chosen reading. Raises InexactError if that has no form."""
        if self.semantics is Semantics.RUNTIME:
            return resize
        op = resize.op
        context = Context(version=op.version, shape=op.shape, dtype=op.dtype, semantics=self.semantics)
        try:
            if self.semantics is Semantics.OBSERVED:
                check_observed([resize])
            return replace(resize, op=replace(op, spec=DIALECT.parse(op.attributes, context)))
        except (ReadError, SpecError) as error:
            raise self._refusal(resize, str(error)) from None

    def rewritten(self, resize: ResizeNode, why: str) -> Row:
        """Put another node, or a subgraph, in a node's place. Raises InexactError if it has no form."""
        if resize.op.shape is None:
            raise self._refusal(resize, f"{why}; and the rank of its input is unknown")
        if self.policy.form is not Form.DECOMPOSED and not sums_integers(resize.op.spec, resize.op.dtype):
            # A second row for images of height 1 costs two nodes, so forms without it come first.
            for is_taller in (False, True):
                native = next(self._natives(resize, is_taller=is_taller), None)
                if native is not None:
                    return self._native(resize, *native, why, is_taller=is_taller)
        if self.policy.form is Form.NATIVE:
            raise self._refusal(resize, f"{why}; and no Resize with other attributes computes the same")
        return self._decomposed(resize, why)

    def _refusal(self, resize: ResizeNode, reason: str) -> InexactError:
        return InexactError(resize.op.name, self.target.name, reason=reason)

    def _row(self, resize: ResizeNode, form: str, grade: Grade, why: str = "") -> Row:
        note = "; ".join(filter(None, (why, self.target.note(resize.op))))
        return Row(name=resize.op.name, source=resize.op, form=form, grade=grade, note=note)

    def _grade(self, resize: ResizeNode, prediction: Outcome) -> Grade | None:
        """Return the grade of a prediction against the node's meaning; None if it is not exact enough, or uncertain."""
        if prediction.spec is None or prediction.condition:
            return None
        grade = compared(resize.op.spec, prediction.spec, resize.op.shape)
        return grade if self._is_enough(grade) else None

    def _is_enough(self, grade: Grade | None) -> bool:
        too_little = (
            None,
            Grade.EXACT_BUT_TIES,
            Grade.INTEGERS_WITHIN_1,
            Grade.EXACT_FOR_SHAPE if self.policy.strict else None,
        )
        return grade not in too_little

    def _natives(self, resize: ResizeNode, *, is_taller: bool) -> Iterator[tuple[Translation, OneResize, Grade]]:
        """Yield the Resizes with other attributes that onnxruntime and the target compute exactly, the best first.

        With ``is_taller`` they are those that the target computes of images that are never of height 1.
        """
        op, opset = resize.op, self.graph.opset
        # The newest definition that the operator set has is the one that its runtimes read.
        version = max(version for version in DIALECT.versions if version <= opset)
        if version < _RESIZE <= op.version and isinstance(op.spec.target, AtRunTime):
            return  # an Upsample shrinks nothing, but this may
        for translation in translations(op.spec, DIALECT, shape=op.shape, version=version):
            single, rewritten = model_of(op, translation, opset), replace(op, spec=translation.spec)
            # Shape inference would declare another size than the node returns, and other nodes may rely on it.
            guessed = isinstance(translation.spec.target, Scales) and not is_long_as_inferred(rewritten)
            if guessed or (is_taller and self._taller(op, translation) is None) or invalid(single.model):
                continue
            grade = self._lowest_grade(resize, translation, single, is_taller=is_taller)
            if grade is not None:
                yield translation, single, grade

    def _taller(self, op: ResizeOp, translation: Translation) -> SecondRow | None:
        opset, rank = self.graph.opset, len(op.shape or ())
        if opset < self.target.least_opset:
            return None
        return second_row(translation.spec, rank, opset, measures=not self.target.measures_nothing)

    def _lowest_grade(
        self, resize: ResizeNode, translation: Translation, single: OneResize, *, is_taller: bool
    ) -> Grade | None:
        """Return the target's grade for a new node; None if it, or onnxruntime, does not compute it."""
        grades = [translation.grade if self._is_enough(translation.grade) else None]
        for candidate in nodes_in(single.model, Path(resize.op.where)):  # none if nothing is left to resize
            runs = onnxruntime.outcome(candidate.op).spec == candidate.op.spec and self._stands(resize, candidate.op)
            if is_taller:  # its sizes of run time are those of the node: only around that it is seen what they leave
                prediction = replace(self.target.predict(replace(resize, op=candidate.op)), but_for="")
            else:
                prediction = self.target.predict(candidate)
            grades.append(self._grade(resize, prediction) if runs else None)
        sure = [grade for grade in grades if grade is not None]
        # Grades are declared from the best to the least, and the least one counts.
        return max(sure, key=_GRADES.index) if len(sure) == len(grades) else None

    def _stands(self, resize: ResizeNode, new: ResizeOp) -> bool:
        """Return whether onnxruntime computes a new node in place of the old one, possibly among Transposes."""
        has_all_entries = not {"axes", "keep_aspect_ratio_policy"} <= set(new.attributes)  # as ``inlined`` writes it
        return (has_all_entries and survives_transposes(new)) or not are_transposes_around(resize)

    def _native(
        self,
        resize: ResizeNode,
        translation: Translation,
        single: OneResize,
        grade: Grade,
        why: str,
        *,
        is_taller: bool,
    ) -> Row:
        """Put another Resize in a node's place."""
        inner = self._inner(resize)
        target = _target(resize)
        every = "axes" in translation.attributes and are_transposes_around(resize)

        def resized(x: str) -> str:
            tensors = {"x": x, "sizes": target, "scales": target}
            return inlined(inner, single, tensors, resize.op.shape if every else None)

        taller, x = self._taller(resize.op, translation) if is_taller else None, resize.node.input[0]
        self._replace(resize, inner, taller(inner, x, resized) if taller else resized(x))
        label = f"{single.model.graph.node[-1].op_type}-{translation.version}"
        changes = _changes(resize.op.attributes, translation.attributes) if translation.spec.axes != () else "a copy"
        changes += ", entries for every axis" if every else ""
        changes += ", a second row for images of height 1" if is_taller else ""
        return self._row(resize, f"{_label(resize)} -> {label}: {changes}", grade, why)

    def _decomposed(self, resize: ResizeNode, why: str) -> Row:
        """Put primitive operations in a node's place."""
        inner, x = self._inner(resize), resize.node.input[0]
        op, target = _of_what_changes(resize, inner)
        try:
            decomposed = decompose(self.target.primitives(inner, op), x, op, target=target, roi=_roi(resize))
        except SpecError as error:
            raise self._refusal(resize, f"{why}; and {error}") from None
        problem = self.target.problem(op, decomposed)
        if not problem and not self._is_enough(decomposed.grade):
            integers = decomposed.grade is Grade.INTEGERS_WITHIN_1
            problem = "integers would be off by 1" if integers else "it is exact for the static shape only"
        if problem:
            raise self._refusal(resize, why if problem == why else f"{why}; and in primitive operations, {problem}")
        result = str(decomposed.output)
        self._replace(resize, inner, inner.node("Identity", x) if result == x else result)
        problem = _invalid(resize, inner)
        if problem:
            raise self._refusal(resize, f"{why}; and primitive operations would not be valid: {problem}")
        if self.target.measures_nothing and any(node.op_type == "Shape" for node in inner.nodes):
            reason = f"{self.target.measures_nothing} would have to slice at sizes of run time"
            raise self._refusal(resize, f"{why}; and in primitive operations, {reason}; {FREEZE}")
        return self._row(resize, f"{_label(resize)} -> {decomposed.form}", decomposed.grade, why)

    def _inner(self, resize: ResizeNode) -> Graph:
        inner = self.graph.inner()
        inner.layer = resize.op.name
        return inner

    def _replace(self, resize: ResizeNode, inner: Graph, result: str) -> None:
        (output,) = resize.node.output
        inner.rename(result, output)
        inner.nodes[:] = needed(inner.nodes, [output])
        inner.name_nodes(0)
        values = resize.values
        self.edits.append(Edit(graph=values.graph, depth=values.depth, output=output, nodes=inner.nodes))


def deviation(resize: ResizeNode) -> str:
    """Return how onnxruntime's result deviates from the node's meaning; empty if it does not."""
    outcome, op = onnxruntime.outcome(resize.op), resize.op
    if outcome.kind is Kind.DIFFERS or outcome.spec not in (None, op.spec):
        return f"onnxruntime does not compute what it means: {outcome.reason}"
    return ""


def _shortfall(resize: ResizeNode, prediction: Outcome) -> str:
    """Return why a node cannot stay."""
    if prediction.spec is None:
        return prediction.reason
    apart = differences(resize.op.spec, prediction.spec, resize.op.shape)
    if prediction.condition:
        return f"it is computed {'only' if prediction.provided else 'as meant'} {prediction.condition}"
    if prediction.reason or apart:
        return prediction.reason or f"it would differ in {', '.join(map(str, apart))}"
    return "float32 may decide ties differently"


def _target(resize: ResizeNode) -> str:
    """Return the tensor of sizes or scales if they are known only at run time."""
    target = resize.op.spec.target
    return resize.tensor(target.value) if isinstance(target, AtRunTime) else ""


def _of_what_changes(resize: ResizeNode, graph: Graph) -> tuple[ResizeOp, str]:
    """Return a resize without axes that keep their size at run time, and its target."""
    op, target, spec = resize.op, _target(resize), resize.op.spec
    if target and spec.axes is not None and not op.attributes.get("axes"):  # a meaning from elsewhere
        return op, graph.node("Gather", target, graph.ints(list(resolve_axes(spec.axes, len(op.shape or ())))))
    plain = spec.axes is None and spec.aspect is Aspect.STRETCH and not isinstance(spec.coordinates, Crop)
    changing = sorted(may_change(resize)) if target and plain else []
    if not changing or len(changing) == len(op.shape or ()):
        return op, target
    return replace(op, spec=replace(spec, axes=tuple(changing))), graph.node("Gather", target, graph.ints(changing))


def _roi(resize: ResizeNode) -> str:
    """Return the tensor of a crop's windows if they are known only at run time."""
    coordinates = resize.op.spec.coordinates
    return resize.tensor("roi") if isinstance(coordinates, Crop) and coordinates.roi is None else ""


def _label(resize: ResizeNode) -> str:
    return f"{resize.node.op_type}-{resize.op.version}"


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """Return the attributes and inputs that were removed, added or changed."""
    old, new = ({name: text(value) for name, value in attributes.items()} for attributes in (before, after))
    gone = [f"without {name}" for name in old if name not in new]
    come = [f"{name}={value}" for name, value in new.items() if name not in old]
    other = [f"{name}={old[name]} -> {new[name]}" for name in old if old[name] != new.get(name, old[name])]
    return ", ".join([*gone, *other, *come]) or "the same attributes"


def _invalid(resize: ResizeNode, inner: Graph) -> str:
    """Return the problem of new nodes: what ONNX's checker finds, which does not check broadcasting."""
    if inner.opset < _BROADCAST and any(node.op_type in ("Max", "Min") for node in inner.nodes):
        return f"Max and Min do not broadcast before operator set {_BROADCAST}"
    names = [resize.node.input[0], _target(resize), resize.node.output[0]]
    *inputs, output = ends(resize.op)
    for value, name in zip((*inputs, output), filter(None, names), strict=True):
        value.name = name
    if roi := _roi(resize):
        inputs.append(helper.make_tensor_value_info(roi, onnx.TensorProto.FLOAT, [None]))
    model = inner.model("resize", inputs, [output])
    model.model.graph.initializer.extend(model.tensors())
    return invalid(model.model)
