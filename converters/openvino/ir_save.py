"""Write OpenVINO models as IR files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from lxml import etree
from openvino._offline_transformations import apply_moc_transformations

from ir_interp.files.memory import bound
from ir_interp.files.scratch import scratch

from ..runtimes.openvino_saving import save_model
from .node_names import node_names, nodes_of, number_anew
from .stored_weights import fold_moves, is_large

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
        _write_half(model, output, [node for node in constants if not _is_half(node)])


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


def _is_half(constant: ov.Node) -> bool:
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
