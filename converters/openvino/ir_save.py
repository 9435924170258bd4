"""Write IR files: OpenVINO models, and a single resize.

Weights may stay in files: a frontend reads a model whose larger weights are inputs, which constants replace. The
frontends of TensorFlow, TFLite and Paddle parse weights and copy them, up to five times their bytes.

A single resize is one that is not part of a model, or an Interpolate with the attributes of its file. Last, IRs with
other resizes: as a user wants them, or so that today's OpenVINO computes what an earlier release did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from lxml import etree
from openvino._offline_transformations import apply_moc_transformations
from openvino.frontend import FrontEndManager

from ir_interp.errors import InexactError, ShapeError, UnsupportedLayerError, VerificationError
from ir_interp.files import memory
from ir_interp.files.memory import StoredArray, allow_files, bound, created
from ir_interp.files.snapshots import snapshot
from ir_interp.files.writing import is_file, scratch
from ir_interp.ir.interpolates import load
from ir_interp.ir.ir_files import binary_of, nets
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Crop, Scales, Sizes
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.translate import Grade

from ..reports import Form, FormPolicy, Row, expressed
from ..runtimes.execution import reason, save_model
from .interpolate_form import Resized, RunTime, at_run_time, resize
from .openvino_primitives import element_name, node_names, nodes_of, number_anew

_MOVES = ("Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""Operations on weights that frontends compute when they read a model."""


def with_weights(model: ov.Model, weights: Mapping[str, StoredArray], folder: Path) -> None:
    """Put constants in place of the inputs that bear the names of ``weights``; moved ones are written to ``folder``."""
    allow_files(*{stored.path for stored in weights.values()})  # together: each may be in a file of its own
    replace_inputs(model, {name: stored_constant(stored, name) for name, stored in weights.items()})
    fold_moves(model, folder)  # before ``mark_halves``, which knows constants alone


def stored_constant(stored: StoredArray, name: str | None = None) -> ov.Output:
    """Return an array as a constant, of this name if it has one, whose bytes stay in their file."""
    allow_files(stored.path)  # a limit counts what is mapped to be written
    node = ops.constant(stored.mapped(), shared_memory=True, name=name)
    node.output(0).set_names({name} if name else set())
    return node.output(0)


def replace_inputs(model: ov.Model, values: Mapping[str, ov.Output]) -> None:
    """Put values in place of the inputs that bear their names, and remove these."""
    for node in model.get_parameters():
        for name in node.output(0).get_names() & values.keys():
            node.output(0).replace(values[name])
            model.remove_parameter(node)


def fold_moves(model: ov.Model, folder: Path) -> None:
    """Compute the moves of large constants; constants of new files in ``folder`` replace the results.

    Large matrices that are second factors are transposed: OpenVINO does that in memory when it simplifies a model.
    """
    for number, node in enumerate(model.get_ordered_ops()):
        if _is_product_of_matrix(node):
            node = _transposed(node)
        sources = [value.get_node() for value in node.input_values()]
        if node.get_type_name() in _MOVES and _is_movable(sources[0]) and all(map(_is_constant, sources)):
            data = created(folder / f"moved{number}", sources[0].data.dtype, tuple(node.get_output_shape(0)))
            views = [source.get_tensor_view() for source in sources]
            node.evaluate([ov.Tensor(data, shared_memory=True)], views)
            node.output(0).replace(ops.constant(data, shared_memory=True).output(0))


def _is_product_of_matrix(node: ov.Node) -> bool:
    """Return whether a node multiplies by a large constant of a single matrix that is not transposed."""
    if node.get_type_name() != "MatMul" or node.get_attributes()["transpose_b"]:
        return False
    second = node.input_value(1)
    return _is_movable(second.get_node()) and len(second.get_shape()) > 1 and set(second.get_shape()[:-2]) <= {1}


def _transposed(product: ov.Node) -> ov.Node:
    """Let a product transpose its second factor; return the node that transposes this factor before."""
    first, second = product.input_values()
    *others, rows, columns = range(len(second.get_shape()))
    moved = ops.transpose(second, np.array([*others, columns, rows]))
    another = ops.matmul(first, moved, product.get_attributes()["transpose_a"], True)
    another.set_friendly_name(product.get_friendly_name())
    product.output(0).replace(another.output(0))
    return moved


def mark_halves(model: ov.Model, frontend: str) -> None:
    """Mark conversions of weights in half precision as a frontend does, which takes inputs for something else."""
    ends = [
        ops.result(node)
        for node in model.get_ops()
        if node.get_type_name() == "Convert" and _is_half(node.input_value(0).get_node())
    ]
    if ends:
        FrontEndManager().load_by_framework(frontend).normalize(ov.Model(ends, [], "weights in half precision"))


def _is_half(node: ov.Node) -> bool:
    return _is_constant(node) and bool(node.get_element_type() == ov.Type.f16)


def _is_movable(node: ov.Node) -> bool:
    """Return whether a node is a large constant of a type that NumPy has; bfloat16 is none."""
    return is_large(node) and bool(ov.Type(node.data.dtype) == node.get_element_type())


def is_large(node: ov.Node) -> bool:
    """Return whether a node is a constant that should stay in its file."""
    return _is_constant(node) and bool(node.get_byte_size() >= memory.LARGE)


def _is_constant(node: ov.Node) -> bool:
    return bool(node.get_type_name() == "Constant")


_EXACT = "exact constant"


def save(model: ov.Model, output: Path) -> None:
    """Write an IR, .xml and .bin, with every constant unchanged.

    It is simplified by the transformations of ``ovc``, except the folding of shapes, which would prevent reshaping.
    """
    with _simplified(model, output.parent):
        _write(model, output, half=False)


def save_half(model: ov.Model, output: Path, exact: AbstractSet[str]) -> None:
    """Write an IR whose constants are in half precision, except those of the nodes named in ``exact``."""
    with _simplified(model, output.parent):  # first: it merges constants, and loses marks
        _write_half(model, output, _constants(model, exact))


def save_halves(model: ov.Model, output: Path) -> None:
    """Write an IR whose constants are in half precision if that holds them exactly."""
    with _simplified(model, output.parent):
        constants = (node for node in nodes_of(model) if node.get_type_name() == "Constant")
        _write_half(model, output, [node for node in constants if not _fits_half(node)])


@contextmanager
def _simplified(model: ov.Model, place: Path) -> Iterator[None]:
    """Simplify a model, with moved weights in a folder in ``place`` until it is written."""
    number_anew(model)
    # The transformations rename nodes; the names of the file are given back to those that remain.
    names = node_names(model)
    with scratch(place) as folder:
        fold_moves(model, folder)
        with _hidden_weights(model):
            apply_moc_transformations(model, cf=False)
        number_anew(model, names)
        yield


@contextmanager
def _hidden_weights(model: ov.Model) -> Iterator[None]:
    """Put inputs in the place of weights that together exceed the memory limit: transformations would copy them."""
    large = [node for node in nodes_of(model) if is_large(node)]
    if sum(node.get_byte_size() for node in large) <= bound():
        large = []  # also because a copied weight stays in memory while something refers to it
    inputs = [ops.parameter(node.shape, node.get_element_type()) for node in large]
    for constant, stand_in in zip(large, inputs, strict=True):
        constant.output(0).replace(stand_in.output(0))
    model.add_parameters(inputs)
    yield
    for constant, stand_in in zip(large, inputs, strict=True):
        stand_in.output(0).replace(constant.output(0))
        model.remove_parameter(stand_in)


def _fits_half(constant: ov.Node) -> bool:
    """Return whether half precision holds a constant exactly."""
    if constant.get_element_type() != ov.Type.f32:
        return False
    values = constant.data
    with np.errstate(over="ignore"):
        return bool(np.array_equal(values, values.astype(np.float16), equal_nan=True))


def _write_half(model: ov.Model, output: Path, exact: Iterable[ov.Node]) -> None:
    """Write an IR whose constants are in half precision, with exceptions.

    OpenVINO keeps constants with a mark that its Python interface cannot set, but that it reads from a file.
    """
    for index, constant in enumerate(exact):
        constant.set_friendly_name(f"{_EXACT} {index}")
    with scratch() as folder:
        marked = folder / "model.xml"
        _write(model, marked, half=False)
        tree = etree.parse(marked)
        for layer in tree.iterfind(".//layer"):
            if str(layer.get("name")).startswith(_EXACT):
                notes = etree.Element("rt_info")
                etree.SubElement(notes, "attribute", name="precise", version="0")
                layer.insert(1, notes)
        tree.write(marked)
        _write(ov.Core().read_model(marked), output, half=True)


def _write(model: ov.Model, output: Path, *, half: bool) -> None:
    path = output.with_suffix(".xml")  # OpenVINO accepts no other case
    save_model(model, path, half=half)
    path.replace(output)
    output.with_suffix(".bin").touch()  # a model without constants leaves none


def _constants(model: ov.Model, names: AbstractSet[str]) -> list[ov.Node]:
    """Return the constants that are among the nodes of these names, or inputs of them."""
    constants = (node for node in nodes_of(model) if node.get_type_name() == "Constant")
    return [node for node in constants if not names.isdisjoint((node.get_friendly_name(), *_readers(node)))]


def _readers(node: ov.Node) -> list[str]:
    return [port.get_node().get_friendly_name() for output in node.outputs() for port in output.get_target_inputs()]


def write_resize(op: ResizeOp, output: Path, policy: FormPolicy | None = None) -> Row:
    """Write an IR of only ``op``. Raises InexactError if there is no exact form."""
    model, resized = interpolate_model(op, policy)
    save(model, output)
    return _row(op, resized)


def interpolate_model(op: ResizeOp, policy: FormPolicy | None = None) -> tuple[ov.Model, Resized]:
    """Return a model of only ``op``: input x, sizes or scales and roi if they are inputs; output y."""
    if op.shape is None:
        raise ShapeError(f"{op.where}: the rank of its input is unknown, and a model needs it")
    shape = ov.PartialShape([-1 if length is None else length for length in op.shape])
    element = getattr(ov.Type, element_name(op.dtype or "float32"), None)
    if element is None:
        raise InexactError(op.name or op.where, "openvino", reason=f"it has no element type {op.dtype}")
    x = ops.parameter(shape, element, name="x")
    parameters, target, roi = [x], None, None
    count = len(op.shape) if op.spec.axes is None else len(op.spec.axes)
    if not isinstance(op.spec.target, Sizes | Scales):
        kind = op.spec.target.value if op.spec.target else "sizes"
        parameters.append(ops.parameter([count], np.float32 if kind == "scales" else np.int64, name=kind))
        target = parameters[1].output(0)
    if isinstance(op.spec.coordinates, Crop) and op.spec.coordinates.roi is None:
        parameters.append(ops.parameter([2 * count], np.float32, name="roi"))
        roi = parameters[-1].output(0)
    op = replace(op, dtype=op.dtype or "float32")
    resized = resize(x.output(0), op, RunTime(target=target, roi=roi), policy, alone=True)
    for parameter in parameters:
        parameter.output(0).set_names({parameter.get_friendly_name()})
    resized.output.get_node().set_friendly_name(op.name or "resize")
    resized.output.set_names({"y"})
    return ov.Model([ops.result(resized.output)], parameters, op.name or "resize"), resized


_ELEMENT = {"float32": ("f32", "FP32"), "int64": ("i64", "I64")}
_KNOWN = {
    **_ELEMENT,
    "float16": ("f16", "FP16"),
    "float64": ("f64", "FP64"),
    "int8": ("i8", "I8"),
    "uint8": ("u8", "U8"),
    "int32": ("i32", "I32"),
}


def write_layer(op: ResizeOp, attributes: Mapping[str, str], path: Path) -> bool:
    """Write a layer with its sizes or scales, and axes, as constants; return False if run time decides some."""
    if op.shape is None or None in op.shape or (op.dtype or "float32") not in _KNOWN:
        return False
    if not isinstance(op.spec.target, Sizes | Scales):
        return False
    net = etree.Element("net", name="resize", version="11")
    layers, edges = etree.SubElement(net, "layers"), etree.SubElement(net, "edges")
    shape = ",".join(map(str, op.shape))
    element, precision = _KNOWN[op.dtype or "float32"]
    x = _layer(layers, "x", "Parameter", "opset1", {"shape": shape, "element_type": element})
    _dims(_port(x, "output", 0, precision), op.shape)
    constants = _constant_inputs(op)
    offset = 0
    for place, constant in enumerate(constants):
        offset = _constant(layers, f"constant{place}", constant, offset)
    resize = _layer(layers, op.name or "resize", "Interpolate", f"opset{op.version}", attributes)
    last = len(constants) + 1
    for place in range(last):
        _port(resize, "input", place, None)
        etree.SubElement(edges, "edge", _edge(place, 0, last, place))
    _port(resize, "output", last, precision)
    _port(_layer(layers, "y", "Result", "opset1", {}), "input", 0, None)
    etree.SubElement(edges, "edge", _edge(last, last, last + 1, 0))
    etree.ElementTree(net).write(path)
    path.with_suffix(".bin").write_bytes(b"".join(constant.tobytes() for constant in constants))
    return True


def _constant_inputs(op: ResizeOp) -> Sequence[Array]:
    """Return the inputs after the data; Interpolate-4 has both sizes and scales, one of which is ignored."""
    target = op.spec.target
    assert isinstance(target, Sizes | Scales)
    sizes = np.array(target.values if isinstance(target, Sizes) else [1] * len(target), np.int64)
    scales = np.array(target.values if isinstance(target, Scales) else [1] * len(target), np.float32)
    if op.version == 1:
        return [sizes]
    inputs: list[Array] = [sizes, scales] if op.version == 4 else [scales if op.spec.gives_scales else sizes]
    return inputs if op.spec.axes is None else [*inputs, np.array(op.spec.axes, np.int64)]


def _layer(layers: etree._Element, name: str, kind: str, version: str, attributes: Mapping[str, str]) -> etree._Element:
    layer: etree._Element = etree.SubElement(
        layers, "layer", id=str(len(layers)), name=name, type=kind, version=version
    )
    etree.SubElement(layer, "data", dict(attributes))
    return layer


def _constant(layers: etree._Element, name: str, value: Array, offset: int) -> int:
    element, precision = _ELEMENT[value.dtype.name]
    data = {"element_type": element, "shape": str(value.size), "offset": str(offset), "size": str(value.nbytes)}
    port = _port(_layer(layers, name, "Const", "opset1", data), "output", 0, precision)
    _dims(port, [value.size])
    return offset + value.nbytes


def _port(layer: etree._Element, side: str, number: int, precision: str | None) -> etree._Element:
    parent = layer.find(side)
    if parent is None:
        parent = etree.SubElement(layer, side)
    port: etree._Element = etree.SubElement(parent, "port", id=str(number))
    if precision is not None:
        port.set("precision", precision)
    return port


def _dims(port: etree._Element, shape: Iterable[int | None]) -> None:
    for length in shape:
        etree.SubElement(port, "dim").text = str(length)


def _edge(source: int, source_port: int, target: int, target_port: int) -> dict[str, str]:
    ends = {"from-layer": source, "from-port": source_port, "to-layer": target, "to-port": target_port}
    return {name: str(number) for name, number in ends.items()}


def rewrite(
    source: Path, output: Path, semantics: Semantics, policies: Callable[[ResizeOp], FormPolicy], *, half: bool = False
) -> tuple[Row, ...]:
    """Write an IR whose resizes have the forms of their policies, and all else as it was; return their rows.

    An Interpolate that computes its meaning in today's OpenVINO, in the version and form of its policy, is kept.
    ``half`` stores weights in half precision, except those of resizes.

    Raises ReadError for an invalid source, an ExceptionGroup of InexactError if resizes have no such form.
    """
    model = read_ir(source)
    nodes, rows, refusals = _interpolates(model), [], []
    exact = set[str]()
    for op, today in zip(load(source, semantics), load(source), strict=True):
        policy = policies(op)
        if policy.form is not Form.DECOMPOSED and policy.interpolate == op.version and op.spec == today.spec:
            rows.append(Row(name=op.name, source=op, form=expressed(op), grade=Grade.EXACT))
            exact.add(op.name)
            continue
        try:
            resized = _replace(nodes, op, policy)
        except InexactError as refusal:
            refusals.append(refusal)
            continue
        rows.append(_row(op, resized))
        number_anew(model)  # names that stay
        exact.update(node.get_friendly_name() for node in resized.nodes)
    if refusals:
        raise ExceptionGroup(f"{source.name} has no such form", refusals)
    number_anew(model)
    if half:
        _write_half(model, output, _constants(model, exact))
    else:
        _write(model, output, half=False)
    return tuple(rows)


def read_ir(source: Path) -> ov.Model:
    """Return the model of an IR. Raises ReadError if a file of it is not regular, UnsupportedLayerError if refused."""
    binary = binary_of(source)
    try:
        with scratch() as folder:
            return ov.Core().read_model(snapshot(folder, source, *([binary] if is_file(binary) else [])))
    except RuntimeError as error:
        raise UnsupportedLayerError(f"OpenVINO does not read it: {reason(error)}", source.name) from None


def _row(op: ResizeOp, resized: Resized) -> Row:
    name = op.name or op.where
    return Row(name=name, source=op, form=resized.form, grade=resized.grade, note=resized.note, within=resized.within)


@contextmanager
def as_in_release(source: Path, semantics: Semantics) -> Iterator[Path]:
    """Yield an IR whose layers mean today what those of ``source`` meant in a release: itself if these agree.

    Raises VerificationError for a layer that cannot be replaced.
    """
    pairs = zip(load(source, semantics), load(source), strict=True) if semantics.dialect else ()
    changed = [read for read, today in pairs if read.spec != today.spec]
    if not changed:
        yield source
        return
    remedy = "--no-verify writes the result unverified"
    if next(nets(source)).is_snippet:
        raise VerificationError(
            f"{source.name}: a layer without a network cannot be run as in {semantics.value}; {remedy}"
        )
    try:
        model = read_ir(source)
        nodes = _interpolates(model)
        for op in changed:
            _replace(nodes, op)
    except (UnsupportedLayerError, InexactError) as error:
        raise VerificationError(f"it cannot be run as in {semantics.value}: {error}; {remedy}") from None
    with scratch() as folder:
        save(model, folder / source.name)
        yield folder / source.name


def _interpolates(model: ov.Model) -> dict[str, list[ov.Node]]:
    """Return the Interpolates of a model and its bodies, by name; bodies may have the same names."""
    by_name: dict[str, list[ov.Node]] = {}
    for node in nodes_of(model):
        if node.get_type_name() == "Interpolate":
            by_name.setdefault(node.get_friendly_name(), []).append(node)
    return by_name


def _replace(nodes: Mapping[str, Sequence[ov.Node]], op: ResizeOp, policy: FormPolicy | None = None) -> Resized:
    """Redirect the readers of a layer to a resize as in ``op``, under the same names."""
    found = nodes.get(op.name, ())
    if len(found) != 1:
        raise InexactError(op.name, "openvino", reason=f"{len(found)} layers have its name; expected 1")
    (node,) = found
    x, output = node.input_value(0), node.output(0)
    names, takers = output.get_names(), output.get_target_inputs()
    # Interpolate-4 has both sizes and scales, of which it reads one.
    given = node.input_value(2 if op.version == 4 and op.spec.gives_scales else 1)
    op, run_time = at_run_time(op, x, lambda: given)
    resized = resize(x, op, run_time, policy)
    output.set_names(set())
    node.set_friendly_name(f"{op.name}/before")
    for taker in takers:
        taker.replace_source_output(resized.output)
    resized.output.set_names(names)
    resized.output.get_node().set_friendly_name(op.name)
    return resized
