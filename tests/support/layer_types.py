"""Every configuration that the tests of IR to ONNX draw, and every layer type that OpenVINO has."""

from __future__ import annotations

import importlib
from collections import defaultdict
from pathlib import Path

import openvino as ov
from openvino.utils.node_factory import NodeFactory

from ir_interp.converters.ir_to_onnx import emitters
from ir_interp.converters.ir_to_onnx.layers import NEWEST
from ir_interp.converters.ir_to_onnx.onnx_model import EMITTERS
from tests.support.layers import Configuration, Draw
from tests.support.places import ROOT

_ALIASES = {"absolute": "abs", "ceil": "ceiling", "constant": "const", "ifop": "if"}
_ENDS = ("parameter", "result")
_FACTORY_NAMES = {"PReLU": "PRelu", "ReLU": "Relu", "SoftMax": "Softmax"}  # of types that an IR spells otherwise


def drawn() -> dict[tuple[str, str], Configuration]:
    """Return all configurations by module and name."""
    names = sorted(path.stem for path in (ROOT / "tests/ir_to_onnx").glob("test_*.py") if "torch" not in path.stem)
    found: dict[tuple[str, str], Configuration] = {}
    for name in names:
        for variable, table in sorted(vars(importlib.import_module(f"tests.ir_to_onnx.{name}")).items()):
            if variable.isupper() and isinstance(table, dict) and table is not EMITTERS:
                found |= {(name, key): each for key, each in table.items() if callable(each)}
    return found


def saved(configuration: Configuration, seed: int, path: Path) -> Draw:
    """Save a configuration as OpenVINO writes it."""
    draw = Draw(seed)
    made = configuration(draw)
    outputs = list(made) if isinstance(made, list | tuple) else made.outputs()
    parameters = draw.parameters
    ov.save_model(ov.Model([ov.opset13.result(each) for each in outputs], parameters), path, compress_to_fp16=False)
    return draw


def attributes_of_openvino() -> dict[tuple[str, int], frozenset[str]]:
    """Return the attributes of each layer type in lower case that is converted, and of each version."""
    names = {path.stem for path in Path(emitters.__path__[0]).glob("*.py")} - {"__init__", "refused"}
    tables = [importlib.import_module(f"{emitters.__name__}.{name}").TABLE for name in sorted(names)]
    stated = {}
    for kind in {kind for table in tables for kind in table} - {"Const"}:
        for number in range(1, NEWEST + 1):
            try:
                made = NodeFactory(f"opset{number}").create(_FACTORY_NAMES.get(kind, kind))
            except RuntimeError:  # this set has no such type
                continue
            version = int(made.get_type_info().version_id.removeprefix("opset"))
            stated[kind.lower(), version] = frozenset(made.get_attributes())
    return stated


def listed() -> dict[str, list[int]]:
    """Return the layer types of OpenVINO's operation sets, in lower case, each with the sets that have it."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number in range(1, NEWEST + 1):
        module = importlib.import_module(f"openvino.opset{number}")
        names = {name.replace("_", "") for name, each in vars(module).items() if callable(each) and name[0] != "_"}
        for name in {_ALIASES.get(name, name) for name in names} - set(_ENDS):
            found[name].append(number)
    return dict(found)
