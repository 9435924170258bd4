"""A conformance kit: small models with inputs and expectations, and a runner that needs only NumPy and a runtime.

Reproductions use the first two parts as well: Python files made from the functions by which this program runs a
runtime, and single nodes and layers as files, from their attributes.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ir_interp.files.writing import making
from ir_interp.plain_text import quote_docstring, quote_python
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.specs import Linear, Nearest, ResizeSpec, Scales, Sizes
from ir_interp.version import VERSION

from ..audit.probe import RUNNERS
from ..onnx.resize_nodes import given_names, load
from ..openvino.ir_save import write_layer
from ..runtimes.runtime import Run
from ..verify import tolerances
from . import kit_runner


class _Plain(ast.NodeTransformer):
    """Removes the parts that only type checkers read."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Return an assignment without its annotation."""
        assert node.value is not None
        return ast.Assign([node.target], node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Return a function without annotations."""
        self.generic_visit(node)
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        return node


def function(run: Run, name: str) -> str:
    """Return the source of a function that runs models, under another name."""
    (definition,) = ast.parse(inspect.getsource(run)).body
    assert isinstance(definition, ast.FunctionDef)
    definition.name = name
    return ast.unparse(ast.fix_missing_locations(_Plain().visit(definition)))


def script(text: str, run: Run, model: str) -> str:
    """Return a script that runs a model as ``run`` does, and prints how far the result is from the expected one."""
    return f"""{quote_docstring(text)}

import numpy as np


{function(run, "run")}


expected = np.load("expected.npy")
actual = run({quote_python(model)}, np.load("input.npy"))
print("expected", expected.shape, expected.ravel()[:8])
print("actual", actual.shape, actual.ravel()[:8])
same_shape = actual.shape == expected.shape
print("largest difference", np.abs(actual - expected.astype(float)).max() if same_shape else "in shape")
"""


_IR_VERSION = 8
_UPSAMPLE_ENDS = 10  # the operator set that renamed it to Resize
_DTYPES = {"sizes": np.int64, "scales": np.float32, "roi": np.float32}


def operator(version: int) -> str:
    """Return the name of the operator in an operator set: Upsample, or Resize."""
    return "Upsample" if version < _UPSAMPLE_ENDS else "Resize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Resize or Upsample of ONNX: ``version`` of the operator set, ``given`` inputs after the data by name."""

    version: int = 19
    shape: tuple[int, ...] = (1, 1, 5, 6)
    dtype: str = "float32"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, tuple[float, ...]]

    suffix = ".onnx"

    def save(self, path: Path) -> None:
        """Write it as a model of nothing else."""
        values = {name: np.array(value, _DTYPES[name]) for name, value in self.given.items()}
        if self.version in (11, 12):  # required as long as a name cannot be omitted
            values = {name: np.zeros(0, np.float32) for name in ("roi", "scales")} | values
        input_names = given_names(self.version)
        scales: dict[str, Any] = {name: value.tolist() for name, value in values.items() if name not in input_names}
        values = {name: value for name, value in values.items() if name in input_names}
        names = [name if name in values else "" for name in input_names]
        names = names[: max((place for place, name in enumerate(names) if name), default=-1) + 1]
        node = helper.make_node(
            operator(self.version),
            ["x", *names],
            ["y"],
            name="resize",
            **self.attributes,
            **scales,  # for Upsample-7, where they are an attribute
        )
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        x = helper.make_tensor_value_info("x", element, self.shape)
        y = helper.make_tensor_value_info("y", element, [None] * len(self.shape))
        constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
        graph = helper.make_graph([node], "fault", [x], [y], constants)
        opset = helper.make_opsetid("", self.version)
        onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """An Interpolate of an IR, of a ``version``; ``given`` are its sizes or scales, and axes."""

    version: int = 11
    shape: tuple[int, ...] = (1, 1, 5, 6)
    dtype: str = "float32"
    attributes: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, tuple[float, ...]]

    suffix = ".xml"

    def save(self, path: Path) -> None:
        """Write it as an IR of nothing else."""
        stated = {"shape_calculation_mode": "sizes" if "sizes" in self.given else "scales"} if self.version > 1 else {}
        axes = self.given.get("axes")
        spec = ResizeSpec(
            kernel=Linear(),
            axes=None if axes is None else tuple(map(int, axes)),
            target=Sizes(tuple(map(int, self.given["sizes"])))
            if "sizes" in self.given
            else Scales(self.given["scales"]),
        )
        op = ResizeOp(
            name="resize",
            where="fault",
            spec=spec,
            dialect="openvino",
            version=self.version,
            shape=self.shape,
            dtype=self.dtype,
        )
        write_layer(op, {**stated, **self.attributes}, path)


_IMAGE = (1, 2, 5, 6)
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_TARGETS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "grow": {"sizes": (1, 2, 8, 9)},
    "shrink": {"sizes": (1, 2, 3, 4)},
    "double": {"scales": (1, 1, 2, 2)},
    "fraction": {"scales": (1, 1, 1.3, 0.7)},
}
_SHRINKING = {"shrink": _TARGETS["shrink"], "third": {"scales": (1, 1, 0.34, 0.7)}}
_ROI = (0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9)
_BRIGHTEST = 100
_PLACE = "# How runtimes are run\n"  # in the runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit(Record):
    """A written kit: its folder, and the number of cases in each group."""

    KEYS = ("folder", "count as cases", "groups")

    folder: Path
    groups: Mapping[str, int]

    @property
    def count(self) -> int:
        """The number of its cases."""
        return sum(self.groups.values())


def write(folder: Path) -> Kit:
    """Write a kit; see ``ir_interp.kit``."""
    records: list[dict[str, Any]] = []
    with making(folder) as new:
        (new / "cases").mkdir()
        for name, group, node in cases():
            records.append(_written(new / "cases", f"{len(records):03}-{name}", group, node))
        (new / "cases.json").write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
        (new / "run.py").write_text(runner(), encoding="utf-8")
        (new / "README.md").write_text(_readme(len(records)), encoding="utf-8")
    return Kit(folder=folder, groups=dict(Counter(record["group"] for record in records)))


def runner() -> str:
    """Return the runner: a separate file, with the functions by which this program runs runtimes."""
    functions = {name: f"in_{name.replace('-', '_')}" for name in RUNNERS}
    written = "\n\n\n".join(function(RUNNERS[name].run, called) for name, called in functions.items())
    table = ", ".join(f'"{name}": {called}' for name, called in functions.items())
    # The runner is one file without this program, so functions are copied into it.
    start, end = inspect.getsource(kit_runner).split(_PLACE)
    settings = f"COPY = {tolerances.COPY}\nRUNTIMES.update({{{table}}})"
    return f"{start}{_PLACE}\n{written}\n\n\n{settings}{end}"


def _written(folder: Path, name: str, group: str, node: Node) -> dict[str, object]:
    """Write a case, and return its record."""
    path = folder / f"{name}.onnx"
    node.save(path)
    (op,) = load(path)
    x = _values(op)
    np.save(folder / f"{name}.x.npy", x)
    np.save(folder / f"{name}.y.npy", op.run(x))
    return {
        "name": name,
        "group": group,
        "operator": operator(op.version),
        "version": op.version,
        "input": list(node.shape),
        "dtype": node.dtype,
        "attributes": dict(node.attributes),
        "given": {key: list(value) for key, value in node.given.items()},
        "formula": str(op.spec),
        "tolerance": _tolerance(op),
    }


def _values(op: ResizeOp) -> np.ndarray[Any, Any]:
    rng, shape, dtype = np.random.default_rng(0), static_shape(op.shape), np.dtype(op.dtype or "float32")
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(-_BRIGHTEST if dtype.kind == "i" else 0, _BRIGHTEST, shape).astype(dtype)


def _tolerance(op: ResizeOp) -> float:
    is_copy = isinstance(op.spec.kernel, Nearest)
    return 0.0 if is_copy else tolerances.KIT.get(op.dtype or "float32", tolerances.INTEGERS)


# The cases


def cases() -> Iterator[tuple[str, str, Node]]:
    """Yield names, groups and nodes: every mode with every coordinate transformation, and rarer attributes."""
    yield from _nearest()
    yield from _weighted()
    yield from _antialias()
    yield from _regions()
    yield from _old()
    yield from _shapes_and_types()


def _node(attributes: Mapping[str, object], target: Mapping[str, tuple[float, ...]], **others: Any) -> Node:
    return Node(**{"shape": _IMAGE, "attributes": attributes, "given": target, **others})


def _nearest() -> Iterator[tuple[str, str, Node]]:
    for coordinates, rounding, (name, target) in product(_COORDINATES, _ROUNDINGS, _TARGETS.items()):
        attributes = {"mode": "nearest", "nearest_mode": rounding, "coordinate_transformation_mode": coordinates}
        yield f"nearest-{coordinates}-{rounding}-{name}", "nearest", _node(attributes, target)
    for rounding, (name, target) in product(_ROUNDINGS, _TARGETS.items()):
        attributes = {
            "mode": "nearest",
            "nearest_mode": rounding,
            "coordinate_transformation_mode": "tf_half_pixel_for_nn",  # removed in Resize-13
        }
        yield f"nearest-tf-{rounding}-{name}", "nearest", _node(attributes, target, version=11)


def _weighted() -> Iterator[tuple[str, str, Node]]:
    for coordinates, (name, target) in product(_COORDINATES, _TARGETS.items()):
        attributes = {"mode": "linear", "coordinate_transformation_mode": coordinates}
        yield f"linear-{coordinates}-{name}", "linear", _node(attributes, target)
        for coefficient, excludes in product((-0.75, -0.5), (0, 1)):
            cubic = {**attributes, "mode": "cubic", "cubic_coeff_a": coefficient, "exclude_outside": excludes}
            yield f"cubic{coefficient}-exclude{excludes}-{coordinates}-{name}", "cubic", _node(cubic, target)


def _antialias() -> Iterator[tuple[str, str, Node]]:
    for mode, excludes, (name, target) in product(("linear", "cubic"), (0, 1), _SHRINKING.items()):
        for coordinates in _COORDINATES[:4]:
            attributes = {"mode": mode, "antialias": 1, "exclude_outside": excludes}
            attributes |= {"coordinate_transformation_mode": coordinates}
            yield f"antialias-{mode}-exclude{excludes}-{coordinates}-{name}", "antialias", _node(attributes, target)


def _regions() -> Iterator[tuple[str, str, Node]]:
    for mode in ("nearest", "linear", "cubic"):
        crop = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 0.5}
        for name in ("grow", "shrink"):
            yield f"crop-{mode}-{name}", "crop", _node(crop, {"roi": _ROI, **_TARGETS[name]})
        for policy in ("not_larger", "not_smaller"):
            attributes = {"mode": mode, "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
            yield f"policy-{mode}-{policy}", "policy", _node(attributes, {"sizes": (8, 12)})
        yield f"axes-{mode}-sizes", "axes", _node({"mode": mode, "axes": [3, 2]}, {"sizes": (9, 8)})
        yield f"axes-{mode}-scales", "axes", _node({"mode": mode, "axes": [3]}, {"scales": (1.5,)})


def _old() -> Iterator[tuple[str, str, Node]]:
    for mode, version, scale in product(("nearest", "linear"), (9, 10), (2.0, 1.7)):
        yield (
            f"old-{version}-{mode}-{scale}",
            "old",
            _node({"mode": mode}, {"scales": (1, 1, scale, scale)}, version=version),
        )
    for mode, version in product(("nearest", "linear", "cubic"), (11, 13, 18)):
        yield f"old-{version}-{mode}", "old", _node({"mode": mode}, _TARGETS["grow"], version=version)


def _shapes_and_types() -> Iterator[tuple[str, str, Node]]:
    for mode, shape in product(("nearest", "linear"), ((5,), (5, 6), (2, 5, 6), (1, 2, 3, 5, 6))):
        sizes = (*shape[:-2], *(size + 3 for size in shape[-2:]))
        yield f"rank-{len(shape)}-{mode}", "ranks", _node({"mode": mode}, {"sizes": sizes}, shape=shape)
    for mode, axis in product(("nearest", "linear"), (0, 1)):
        scales = tuple(2.0 if place == axis else 1.0 for place in range(4))
        yield f"axis-{axis}-{mode}", "ranks", _node({"mode": mode}, {"scales": scales})
    for mode, dtype in product(("nearest", "linear", "cubic"), ("uint8", "int8", "int32", "float16")):
        yield f"{dtype}-{mode}", "types", _node({"mode": mode}, _TARGETS["grow"], dtype=dtype)


def _readme(count: int) -> str:
    return f"""# Conformance kit for resizes

{count} models of one Resize or Upsample (ONNX), each with an input and the expected output, by ir_interp {VERSION}.

    python run.py onnxruntime          # or {", ".join(name for name in RUNNERS if name != "onnxruntime")}
    python run.py my_module:run        # your own function: run(path of a model, array) -> array
    python run.py mnn --only nearest   # only these groups, or names with this prefix
    python run.py --outputs folder     # judges NAME.npy in a folder, computed elsewhere from NAME.x.npy

It needs Python, NumPy and the runtime. Each case runs in a child process, which it may crash. `results.json` has all
verdicts; the exit code is 1 if any case differs or crashes.

`cases.json` describes each case: operator, version, attributes, inputs, formula, and tolerance. `cases/NAME.onnx` is
the model, `cases/NAME.x.npy` its input, `cases/NAME.y.npy` the expected output.
"""
