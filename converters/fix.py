"""Fix an exporter's likely mistakes in an ONNX model, and change nothing else.

A remedy is other attributes, or other scales. In the fixed model, every other byte is as before. The report shows the
effect on the model's own input.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ir_interp.diagnostic_codes import BYTE_PRODUCTS, CONSTANT_SIZES, UNREAD, check_codes, is_chosen
from ir_interp.errors import InexactError, IrInterpError, ReadError, VerificationError, closest
from ir_interp.files.kinds import FileKind, expect
from ir_interp.files.snapshots import copy_file
from ir_interp.files.writing import check_outputs, replacing
from ir_interp.options.model_options import FixOptions
from ir_interp.options.shared_options import check_needs
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp
from ir_interp.specs import Nearest, Scales
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import compared

from .audit import constant_sizes, mistakes
from .audit.constant_sizes import ConstantSizes
from .audit.invalid_nodes import valid_node
from .audit.mistakes import in_float32, missed_sizes, quantised_scales, rounded_scales, scaled_lengths, unrounded
from .dialects.onnx import DIALECT
from .onnx.byte_products import make_factors_unsigned
from .onnx.onnx_files import default_opset, graphs, invalid, read_file, weights_beside
from .onnx.onnx_graph import Graph
from .onnx.resize_nodes import OPS, ResizeNode, UnreadNode, given_names, known_nodes
from .portable.portable_model import edit, taken_names, with_resizes_in_sight
from .portable.portable_resize import Edit
from .runtimes.outcome import PLAIN_COEFFICIENT
from .sources.model_summary import parts
from .verify.inputs import Inputs
from .verify.model_pairs import ModelComparison, compare_models

_COEFFICIENT = -0.5  # of Pillow and PyTorch, where they antialias
_BEFORE = 10  # the version of Resize that ONNX's version converter raises


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """New attributes of a node, and new scales if they change; ``text`` describes the change."""

    code: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    scales: tuple[float, ...] | None = None
    text: str = ""


def remedies(node: ResizeNode, codes: Collection[str]) -> list[Remedy]:
    """Return the remedies for the mistakes of these codes in a node that has them, each on top of those before.

    Raises InexactError for a mistake without a remedy.
    """
    chosen: list[Remedy] = []
    target = node.op.spec.target
    scales = target.values if isinstance(target, Scales) else ()
    for code, remedy in _REMEDIES.items():
        if code in codes:
            chosen.append(remedy(node, scales))
            scales = chosen[-1].scales or scales
    return chosen


def _converted(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    """Return the coordinates of Resize-10, which were meant."""
    op = node.op
    context = Context(version=_BEFORE, shape=op.shape, dtype=op.dtype)
    meant = DIALECT.parse({"mode": op.attributes.get("mode", "nearest"), "scales": list(scales)}, context)
    defaults: dict[str, object] = {"coordinate_transformation_mode": "asymmetric"}
    tried = [{"nearest_mode": name} for name in ("floor", "ceil")] if isinstance(meant.kernel, Nearest) else [{}]
    for attributes in tried:
        changed = defaults | attributes
        now = DIALECT.parse(dict(op.attributes) | changed, Context(version=op.version, shape=op.shape, dtype=op.dtype))
        if compared(meant, now, op.shape):
            return Remedy(code="IRI015", attributes=changed, text=_changes(op, changed))
    problem = "one axis grows and another shrinks, and Resize-10 rounds down for one and up for the other"
    raise InexactError(op.name, "IRI015", reason=f"{problem}; export it again, in the newer operator set")


def _coefficient(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    changed = {"cubic_coeff_a": _COEFFICIENT}
    return Remedy(code="IRI011", attributes=changed, text=_changes(node.op, changed))


def _edges(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    changed = {"exclude_outside": 1}
    return Remedy(code="IRI012", attributes=changed, text=_changes(node.op, changed))


def _middle(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    changed = {"coordinate_transformation_mode": "half_pixel"}
    return Remedy(code="IRI016", attributes=changed, text=_changes(node.op, changed))


def _unrounded(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    op, after = node.op, list(scales)
    in_sizes = scaled_lengths(op)
    for place in rounded_scales(node):
        after[place] = unrounded(scales[place], in_sizes[place], op.spec.arithmetic)
    return _rescaled("IRI014", scales, tuple(after))


def _before_quantisation(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    op, after = node.op, list(scales)
    in_sizes = scaled_lengths(op)
    for place, (_, fraction) in quantised_scales(node).items():
        after[place] = in_float32(fraction, in_sizes[place], op.spec.arithmetic)
    return _rescaled("IRI018", scales, tuple(after))


def _long_enough(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    """Return scales that give the size that they just missed: that size / the input's, in float32."""
    repaired = list(scales)
    for axis in missed_sizes(replace(node.op, spec=replace(node.op.spec, target=Scales(scales)))):
        # The quotient may be rounded down, below the size again.
        scale = np.float32(axis.intended / axis.in_size)
        while float(scale) * axis.in_size < axis.intended:  # float64 holds the product
            scale = np.nextafter(scale, np.float32(np.inf))
        repaired[axis.place] = float(scale)
    return _rescaled("IRI013", scales, tuple(repaired))


def _rescaled(code: str, before: tuple[float, ...], after: tuple[float, ...]) -> Remedy:
    pairs = ", ".join(
        f"{np.float32(old)!s} -> {np.float32(new)!s}" for old, new in zip(before, after, strict=True) if old != new
    )
    return Remedy(code=code, scales=after, text=f"scales {pairs or 'stay, as already fixed'}")


def _changes(op: ResizeOp, changed: Mapping[str, object]) -> str:
    left_out = {name: default for name, (default, _) in DIALECT.defaults.items()} | {"cubic_coeff_a": PLAIN_COEFFICIENT}
    before = left_out | dict(op.attributes)
    return ", ".join(f"{name}={before[name]} -> {value}" for name, value in changed.items())


_REMEDIES: Mapping[str, Callable[[ResizeNode, tuple[float, ...]], Remedy]] = {
    "IRI015": _converted,
    "IRI011": _coefficient,
    "IRI012": _edges,
    "IRI016": _middle,
    "IRI014": _unrounded,
    "IRI018": _before_quantisation,
    "IRI013": _long_enough,
}
"""In the order of application: a scale that half precision rounded may have missed a size for that reason."""
CODES = (*sorted(_REMEDIES), CONSTANT_SIZES, UNREAD)
"""The codes that can be fixed."""
REPAIRED = (*CODES, BYTE_PRODUCTS)
"""These, and the one on request."""


Wanted = Callable[[str], bool]
"""Returns whether mistakes of a code are to be fixed."""
_ATTRIBUTE = 7  # the version whose scales are an attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedResize:
    """A resize and its changes; ``output`` is the tensor that it produces."""

    op: ResizeOp
    output: str
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedModel:
    """The repaired resizes of a model, and the errors of resizes that cannot be read, which stay as they are.

    ``shapes`` are those of the inputs at which constant sizes were shown to be a mistake; only at the first does the
    source work.
    """

    repaired: tuple[RepairedResize, ...]
    unread: tuple[ReadError, ...]
    shapes: tuple[Mapping[str, tuple[int, ...]], ...] = ()


def write_fixed(source: Path, output: Path, is_wanted: Wanted, layers: Sequence[str] = ()) -> RepairedModel:
    """Write a model without the selected mistakes; if it has none, the file is copied.

    ``layers`` are the names of the resizes to fix, all if empty. Raises ReadError for a name that no resize has, an
    ExceptionGroup of InexactError if some mistakes cannot be fixed.
    """
    model = with_resizes_in_sight(read_file(source), source.name)
    original = model.SerializeToString(deterministic=True)
    graph = taken_names(model, default_opset(model, source.name))
    edits, repaired, refusals = [], [], []
    before = _nodes(model)
    valid = _made_valid(model, source, graph, lambda name: is_wanted(UNREAD) and (not layers or name in layers))
    resizes, others = known_nodes(model, source)
    constants = constant_sizes.of_nodes(model, source, resizes) if is_wanted(CONSTANT_SIZES) else {}
    if layers:
        _check_names(layers, [resize.op.name for resize in resizes], others, source.name)
    graph = taken_names(model, graph.opset)
    for resize in resizes:
        if layers and resize.op.name not in layers:
            continue
        codes = {code for code, _ in mistakes.of_node(resize) if code in CODES and is_wanted(code)}
        try:
            chosen = remedies(resize, codes)
        except InexactError as refusal:
            refusals.append(refusal)
            continue
        if resize.op.where in constants:
            chosen.append(_of_dynamic_size(constants[resize.op.where]))
        if chosen:
            edits.append(_edit(resize, chosen, graph))
        if chosen or resize.op.where in valid.changes:
            made_valid = [Remedy(code=UNREAD, text=text) for text in valid.changes.get(resize.op.where, ())]
            output_name, done = resize.node.output[0], (*made_valid, *chosen)
            repaired.append(RepairedResize(op=resize.op, output=output_name, remedies=done))
    if refusals:
        raise ExceptionGroup(f"{source.name} has mistakes that cannot be fixed", refusals)
    unread = tuple(valid.refused.get(node.where, node.error) for node in others)
    if not repaired:
        copy_file(source, output)
        return RepairedModel(repaired=(), unread=unread)
    edit(model, graph, edits)
    output.write_bytes(model.SerializeToString(deterministic=True))
    changed = {place: before[place] for place in before if place[1] in {resize.output for resize in repaired}}
    _check(source, output, original, changed, valid.constants | graph.initialisers.keys())
    works_at = next((constant.shapes for constant in constants.values()), ())
    return RepairedModel(repaired=tuple(repaired), unread=unread, shapes=works_at)


def _of_dynamic_size(constant: ConstantSizes) -> Remedy:
    scales = ", ".join(str(np.float32(scale)) for scale in constant.scales)
    text = f"sizes {', '.join(map(str, constant.sizes))} -> scales {scales}"
    return Remedy(code=CONSTANT_SIZES, scales=constant.scales, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Valid:
    """The changes that made nodes valid, by place; the errors of the others, and the names of new constants."""

    changes: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, ReadError]
    constants: Collection[str]


def _made_valid(model: onnx.ModelProto, source: Path, graph: Graph, is_chosen_name: Callable[[str], bool]) -> _Valid:
    """Replace the invalid nodes of a model that have one possible meaning, in place; ``graph`` takes new constants."""
    _, unread = known_nodes(model, source)
    edits: list[Edit] = []
    changes: dict[str, tuple[str, ...]] = {}
    refused: dict[str, ReadError] = {}
    for node in unread:
        if not is_chosen_name(node.name):
            continue
        try:
            valid = valid_node(node, model, unread, graph)
        except InexactError as refusal:
            refused[node.where] = ReadError(refusal.reason, node.where)
            continue
        edits.append(
            Edit(
                graph=node.values.graph,
                depth=node.values.depth,
                output=valid.node.output[0],
                nodes=[valid.node],
            )
        )
        changes[node.where] = valid.changes
    edit(model, graph, edits)
    return _Valid(changes=changes, refused=refused, constants=graph.initialisers.keys())


def _check_names(layers: Sequence[str], names: Sequence[str], unread: Sequence[UnreadNode], where: str) -> None:
    """Raise ReadError for a name that no resize has, or one that cannot be read."""
    for name in layers:
        if name not in names:
            for node in unread:
                if node.name == name:
                    raise node.error
            raise ReadError(f"no resize {name!r}; {closest(name, names)}", where)


def _edit(resize: ResizeNode, chosen: Sequence[Remedy], graph: Graph) -> Edit:
    """Return a node with other attributes, and another constant of scales."""
    node = onnx.NodeProto()
    node.CopyFrom(resize.node)
    for remedy in chosen:
        for name, value in remedy.attributes.items():
            _set(node, name, value)
    scales = [remedy.scales for remedy in chosen if remedy.scales is not None][-1:]
    for values in scales:
        if resize.op.version == _ATTRIBUTE:
            _set(node, "scales", list(values))
        else:
            place = 1 + given_names(resize.op.version).index("scales")
            name = graph.constant(values, np.float32, name=f"{resize.op.name}/scales")
            node.input[place:] = [name]  # sizes are the last input, and exclude scales
    return Edit(graph=resize.values.graph, depth=resize.values.depth, output=node.output[0], nodes=[node])


def _set(node: onnx.NodeProto, name: str, value: object) -> None:
    """Set an attribute in its place, or append it."""
    copy = helper.make_attribute(name, value)
    for attribute in node.attribute:
        if attribute.name == name:
            attribute.CopyFrom(copy)
            return
    node.attribute.append(copy)


_Place = tuple[int, str]
"""A graph, by its number among those of a model, and the output tensor of a node in it."""


def _nodes(model: onnx.ModelProto) -> dict[_Place, onnx.NodeProto]:
    """Return copies of the resizes of a model, which edits may replace."""
    return {
        (number, output): onnx.NodeProto.FromString(node.SerializeToString())
        for number, graph in enumerate(graphs(model.graph))
        for node in graph.node
        if node.op_type in OPS
        for output in node.output
    }


# Checks of the result


def _check(
    source: Path, output: Path, original: bytes, before: dict[_Place, onnx.NodeProto], added: Collection[str]
) -> None:
    """Undo the intended changes in the written file, and require the model that was read, byte for byte.

    Raises VerificationError if anything else has changed, or the result is not valid and its source was.
    """
    model = read_file(output)
    for number, graph in enumerate(graphs(model.graph)):
        others = [node for node in graph.node if not (node.op_type == "Constant" and set(node.output) <= set(added))]
        nodes = [before.get((number, next(iter(node.output), "")), node) for node in others]
        _replace(graph.node, nodes)
        _replace(graph.initializer, [tensor for tensor in graph.initializer if tensor.name not in added])
    if model.SerializeToString(deterministic=True) != original:
        raise VerificationError(f"{source.name}: the result would differ in more than its resizes; nothing was written")
    problem = invalid(output)
    if problem and not invalid(source):
        raise VerificationError(f"{source.name}: the result would not be valid ONNX: {problem}; nothing was written")


def _replace(field: Any, messages: Sequence[Any]) -> None:
    """Replace the messages of a repeated field."""
    copies = [type(message).FromString(message.SerializeToString()) for message in messages]
    del field[:]
    field.extend(copies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(Record):
    """A repaired mistake of a resize."""

    KEYS = ("op.name as resize", "op.where", "remedy.code", "remedy.text as change")

    op: ResizeOp
    remedy: Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(Record):
    """The fixed resizes, and the effect on the model's own input: ``comparison`` of before and after.

    ``unsigned_products`` is the number of 8-bit products whose weights became unsigned.

    ``unread`` are the errors of resizes that cannot be read; they are as before.

    There is no comparison if nothing was fixed, none was requested, or ``note`` states a reason.
    """

    KEYS = (
        "source",
        "destination",
        "repairs as repaired",
        "unsigned_products",
        "problems as unread",
        "comparison",
        "note",
    )

    source: Path
    destination: Path
    repaired: tuple[RepairedResize, ...]
    unsigned_products: int = 0
    unread: tuple[ReadError, ...] = ()
    comparison: ModelComparison | None = None
    note: str = ""

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Every repaired mistake."""
        return tuple(Repair(op=fixed.op, remedy=remedy) for fixed in self.repaired for remedy in fixed.remedies)

    @property
    def problems(self) -> tuple[str, ...]:
        """The errors of resizes that cannot be read, as text."""
        return tuple(map(str, self.unread))

    def changed(self, repaired: RepairedResize) -> str:
        """Return the difference of a resize's output from its output before the fix, as text."""
        resizes = (self.comparison.resizes if self.comparison else None) or ()
        compared = next((resize.output for resize in resizes if resize.name == repaired.op.name), None)
        return compared.apart if compared else "not shown"


def fix(source: Path, destination: Path, options: FixOptions) -> Fixed:
    """Write a model without an exporter's likely mistakes; see ``ir_interp.fix``."""
    check_codes((*options.select, *options.ignore), REPAIRED)
    check_needs(options)
    if FileKind.of(source) is FileKind.IR:
        raise ReadError("only ONNX models are repaired; repair the ONNX model, then convert it again", source.name)
    expect(source, FileKind.ONNX)
    if FileKind.of(destination) is FileKind.IR:
        raise ReadError(
            "a repaired model is ONNX; expected a name that ends in .onnx; convert it later", destination.name
        )
    expect(destination, FileKind.ONNX, folders="")
    check_outputs([destination], [*parts(source), *Inputs.of(options).paths])
    with replacing(destination) as (temporary,), weights_beside(source, destination, temporary):
        is_wanted = partial(is_chosen, select=options.select, ignore=options.ignore)
        model = write_fixed(source, temporary, is_wanted, options.layers)
        repaired = model.repaired
        products = _with_unsigned_weights(temporary) if BYTE_PRODUCTS in options.select else 0
        done = Fixed(
            source=source,
            destination=destination,
            repaired=repaired,
            unsigned_products=products,
            unread=model.unread,
        )
        if (repaired or products) and options.verify:
            comparison, note = _compared(source, temporary, options, model)
            done = replace(done, comparison=comparison, note=note)
            is_same_there = all(repair.remedy.code == CONSTANT_SIZES for repair in done.repairs)
            if comparison is not None and repaired and is_same_there and not comparison.is_proven:
                raise VerificationError(f"{source.name}: {comparison.summary} with scales; nothing was written")
            if comparison is not None and not repaired and not comparison.is_proven:  # by default its source saturates
                raise VerificationError(
                    f"{source.name}: {comparison.summary} with unsigned weights; nothing was written"
                )
    return done


def _with_unsigned_weights(path: Path) -> int:
    """Make the weights of 8-bit products unsigned where sums may saturate; return the number of these products."""
    model = read_file(path)
    count = make_factors_unsigned(model, str(path.parent))
    if count:
        path.write_bytes(model.SerializeToString(deterministic=True))
    return count


def _compared(
    source: Path, result: Path, options: FixOptions, model: RepairedModel
) -> tuple[ModelComparison | None, str]:
    """Return how a fixed model compares with its source, and why not if the source did not run.

    Raises VerificationError if the result does not run, unless a resize that nothing can read is in it.
    """
    inputs = Inputs.of(options)
    if model.shapes and not (inputs.shapes or inputs.files):
        _check_other_sizes(result, inputs, model.shapes[1:], options)
        inputs = replace(inputs, shapes=model.shapes[0])
    over = partial(compare_models, inputs=inputs, per_resize=True, progress=options.progress)
    try:
        comparison = over(source, result)
    except ReadError:
        raise
    except IrInterpError as problem:
        # The mistake may be what keeps the source from running, so the result is tried alone.
        try:
            over(result, result)
        except IrInterpError as own:
            if model.unread:
                return None, f"not compared, because neither model runs: {own}"
            raise VerificationError(f"{own}; nothing was written; --no-verify writes it unverified") from None
        return None, f"before: {problem}; after: it runs"
    return replace(comparison, first=source, second=result), ""


def _check_other_sizes(
    result: Path, inputs: Inputs, others: Sequence[Mapping[str, tuple[int, ...]]], options: FixOptions
) -> None:
    """Raise VerificationError if a repaired model does not run at the sizes at which its source did not."""
    for shapes in others:
        try:
            compare_models(result, result, replace(inputs, shapes=shapes), progress=options.progress)
        except IrInterpError as problem:
            listed = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
            advice = "nothing was written; --ignore IRI019 keeps the sizes, --no-verify writes it unverified"
            raise VerificationError(f"it does not run with {listed}: {problem}; {advice}") from None
