"""IRs of version 10, for OpenVINO up to 2021.4: layers of the operation sets that it has, named as it names them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import openvino as ov
from lxml import etree
from openvino import opset7 as ops
from openvino.passes import ConstantFolding, Manager
from openvino.utils.node_factory import NodeFactory

from ir_interp.errors import UnsupportedLayerError
from ir_interp.files.snapshots import copy_file
from ir_interp.files.writing import scratch
from ir_interp.shapes import Array

from ..runtimes.execution import save_model

_NEWEST = 7
"""The last operation set of OpenVINO 2021.4."""
_AT_ENDS = {"Parameter": ("f32", "i32", "u8", "i8", "i16", "u16", "boolean", "i64"), "Result": ("f32", "i32")}
"""Types that an end of such an IR has; OpenVINO changes others to float32 or int32 when it reads one."""


def rewrite(path: Path) -> None:
    """Write an IR anew as one of version 10. Raises an ExceptionGroup of all layers without an older form."""
    model = ov.Core().read_model(path)
    refusals = [*_refused_ends(model, path.name), *_refused(model, path.name)]
    if refusals:
        raise ExceptionGroup(f"{len(refusals)} parts of it have no form in an IR of version 10", refusals)
    _name(model)
    with scratch() as folder:
        renewed = folder / "model.xml"
        passes = Manager()
        passes.register_pass(ConstantFolding())
        passes.run_passes(model)
        save_model(model, renewed)
        del model, passes  # they map the weights of the file that is replaced
        tree = etree.parse(renewed)
        # IRs of version 11 added these, and older releases refuse them.
        tree.getroot().set("version", "10")
        for port in tree.iter("port"):
            port.attrib.pop("names", None)
        for layer in tree.iter("layer"):
            layer.attrib.pop("output_names", None)
        etree.strip_elements(tree, "rt_info")
        tree.write(path)
        copy_file(renewed.with_suffix(".bin"), path.with_suffix(".bin"))


def _refused_ends(model: ov.Model, file: str) -> Iterator[UnsupportedLayerError]:
    for end in (*model.get_parameters(), *model.get_results()):
        kinds, element = _AT_ENDS[end.get_type_name()], end.get_output_element_type(0).get_type_name()
        if element not in kinds:
            name = next(iter(sorted(end.output(0).get_names() or end.input_value(0).get_names())), "")
            problem = f"{element} is not kept at the ends of an old IR; expected one of {', '.join(kinds)}"
            yield UnsupportedLayerError(problem, f"{file}:{end.get_type_name()} {name!r}")


def _refused(model: ov.Model, file: str) -> Iterator[UnsupportedLayerError]:
    """Replace newer layers by older ones, and yield a refusal for each without an older form."""
    for node in model.get_ordered_ops():
        version = node.get_type_info().version_id
        if not version.startswith("opset") or int(version.removeprefix("opset")) <= _NEWEST:
            continue
        older = _OLDER.get(node.get_type_name())
        renewed = older(node) if older else None
        if renewed is None:
            problem = f"{node.get_type_name()} of {version} has no form in the operation sets up to {_NEWEST}"
            yield UnsupportedLayerError(problem, f"{file}:layer {node.get_friendly_name()!r}")
            continue
        renewed.set_friendly_name(node.get_friendly_name())
        for output, replaced in zip(renewed.outputs(), node.outputs(), strict=False):  # an older one may lack some
            output.set_names(replaced.get_names())
            for reader in replaced.get_target_inputs():
                reader.replace_source_output(output)


def _name(model: ov.Model) -> None:
    """Name the producer of an output after it: an old IR has no other place for the name."""
    for result in model.get_results():
        source = result.input_value(0)
        node, names = source.get_node(), sorted(source.get_names())
        if names and len(node.outputs()) == 1 and node.get_type_name() != "Parameter":
            node.set_friendly_name(names[0])
    for parameter in model.get_parameters():
        names = sorted(parameter.output(0).get_names())
        parameter.set_friendly_name(names[0] if names else parameter.get_friendly_name())


_Older = Callable[[ov.Node], ov.Node | None]


def _max_pool(node: ov.Node) -> ov.Node | None:
    stated = node.get_attributes()
    dilated = any(dilation != 1 for dilation in stated["dilations"])
    if dilated or stated["rounding_type"] == "ceil_torch" or node.output(1).get_target_inputs():
        return None
    return _made(node, "MaxPool", 1, _kept(stated, *_WINDOWS))


def _avg_pool(node: ov.Node) -> ov.Node | None:
    stated = node.get_attributes()
    if stated["rounding_type"] == "ceil_torch" or any(dilation != 1 for dilation in stated.get("dilations", ())):
        return None
    return _made(node, "AvgPool", 1, _kept(stated, *_WINDOWS, "exclude-pad"))


_WINDOWS = ("strides", "pads_begin", "pads_end", "kernel", "rounding_type", "auto_pad")


def _gather(node: ov.Node) -> ov.Node | None:
    """Gather by non-negative indices: counting from behind came with operation set 8."""
    x, places, axis = node.input_values()
    constant = _constant(node, 1)
    if constant is None or (constant < 0).any():
        element = places.get_element_type().get_type_name()
        # A negative index plus the size of the axis is the same entry.
        whole = ops.shape_of(x, element).output(0)
        length = _factory(7).create("Gather", [whole, axis, _zero()], {"batch_dims": 0}).output(0)
        zero = ops.constant(np.zeros((), places.get_element_type().to_dtype()))
        behind = ops.convert(ops.less(places, zero), element)
        places = ops.add(places, ops.multiply(behind, length)).output(0)
    stated = {"batch_dims": node.get_attributes()["batch_dims"]}
    return _factory(7).create("Gather", [x, places, axis], stated)


def _zero() -> ov.Output:
    return ops.constant(np.int64(0)).output(0)


def _softmax(node: ov.Node) -> ov.Node | None:
    rank = node.get_input_partial_shape(0).rank
    if rank.is_dynamic:
        return None
    return _made(node, "Softmax", 1, {"axis": node.get_attributes()["axis"] % rank.get_length()})


def _slice(node: ov.Node) -> ov.Node | None:
    """Cut all axes up to the last that is cut, some of them not at all."""
    rank, steps = node.get_input_partial_shape(0).rank, _constant(node, 3)
    axes = _constant(node, 4) if len(node.inputs()) > 4 else np.arange(0 if steps is None else len(steps))
    ends = _constant(node, 2)
    if rank.is_dynamic or steps is None or axes is None or (ends is None and (steps < 0).any()):
        return None
    chosen = {int(axis) % rank.get_length(): place for place, axis in enumerate(axes)}
    # StridedSlice counts its entries from the first axis; those behind the last need none.
    count = max(chosen) + 1
    # With a negative step, a stop below every index includes the first entry: only a mask expresses that.
    stops = {} if ends is None else {axis: ends[place] for axis, place in chosen.items() if steps[place] < 0}
    beyond = [axis for axis, stop in stops.items() if stop < -(2**31)]
    free = [int(axis not in chosen) for axis in range(count)]
    inputs = [node.input_value(0), *(_spread(node.input_value(index), chosen, int(index == 3)) for index in (1, 2, 3))]
    none: list[int] = []
    stated = {"begin_mask": free, "end_mask": [max(mask, axis in beyond) for axis, mask in enumerate(free)]}
    stated |= {"new_axis_mask": none, "shrink_axis_mask": none, "ellipsis_mask": none}
    return _factory(1).create("StridedSlice", inputs, stated)


def _spread(values: ov.Output, chosen: dict[int, int], other: int) -> ov.Output:
    """Return values with one for each axis up to the last that is selected."""
    fill = ops.constant(np.full(1, other, values.get_element_type().to_dtype())).output(0)
    parts = []
    for axis in range(max(chosen) + 1):
        place = ops.constant(np.array([chosen.get(axis, 0)], np.int64)).output(0)
        piece = _factory(7).create("Gather", [values, place, _zero()], {"batch_dims": 0}).output(0)
        parts.append(piece if axis in chosen else fill)
    return ops.concat(parts, 0).output(0)


def _pad(node: ov.Node) -> ov.Node | None:
    pads = [_constant(node, index) for index in (1, 2)]
    if any(pad is None or (pad < 0).any() for pad in pads):
        return None
    return _made(node, "Pad", 1, node.get_attributes())


def _attention(node: ov.Node) -> ov.Node | None:
    """Multiply, apply Softplus or the like, multiply."""
    query, key, value, *more = node.input_values()
    shape = query.get_partial_shape()
    masked = bool(more) and (len(more) > 1 or node.input_value(3).get_partial_shape() != ov.PartialShape([]))
    boolean = masked and more[0].get_element_type() == ov.Type.boolean
    if node.get_attributes()["causal"] or boolean or shape.rank.is_dynamic or shape[-1].is_dynamic:
        return None
    scale = more[1] if len(more) > 1 else ops.constant(np.float32(shape[-1].get_length() ** -0.5)).output(0)
    alike = ops.matmul(ops.multiply(query, scale), key, False, True)
    alike = ops.add(alike, more[0]) if masked else alike
    rank = alike.get_output_partial_shape(0).rank
    if rank.is_dynamic:
        return None
    return ops.matmul(ops.softmax(alike, rank.get_length() - 1), value, False, False)


def _same(version: int, *changed: tuple[str, object]) -> _Older:
    """Return a writer for a layer of an older version with the same attributes, except those that are ``changed``."""

    def older(node: ov.Node) -> ov.Node | None:
        stated = dict(node.get_attributes())
        if any(stated.pop(name, value) != value for name, value in changed):
            return None
        return _made(node, node.get_type_name(), version, stated)

    return older


_SORTED = ("axis", "mode", "sort", "index_element_type")  # older sets leave the order of equal values open
_OLDER: dict[str, _Older] = {
    "MaxPool": _max_pool,
    "AvgPool": _avg_pool,
    "Gather": _gather,
    "Softmax": _softmax,
    "Slice": _slice,
    "Pad": _pad,
    "ScaledDotProductAttention": _attention,
    "TopK": lambda node: _made(node, "TopK", 3, _kept(node.get_attributes(), *_SORTED)),
    "GatherND": _same(5),
    "Squeeze": _same(1, ("allow_axis_skip", False)),
    "ScatterNDUpdate": _same(3, ("reduction", "none")),
    "ScatterElementsUpdate": _same(3, ("reduction", "none"), ("use_init_val", True)),
    "NonMaxSuppression": _same(5),
    "FakeQuantize": _same(1),
    "DetectionOutput": _same(1),
}
"""Writers of layers in an operation set up to the seventh, by type."""


def _made(node: ov.Node, kind: str, version: int, attributes: dict[str, object]) -> ov.Node:
    return _factory(version).create(kind, node.input_values(), attributes)


def _kept(stated: dict[str, object], *names: str) -> dict[str, object]:
    return {name: stated[name] for name in names}


def _constant(node: ov.Node, index: int) -> Array | None:
    source = node.input_value(index).get_node()
    return source.data if source.get_type_name() == "Constant" else None


@functools.cache
def _factory(version: int) -> NodeFactory:
    return NodeFactory(f"opset{version}")
