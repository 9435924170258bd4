"""A conformance kit: small models with inputs and expectations, and a runner that needs only NumPy and a runtime."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.files.atomic import making
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.spec import Nearest
from ir_interp.version import VERSION

from ..onnx.resize_nodes import load
from ..runtimes.running import RUNNERS
from ..verify.compare import tolerances
from . import kit_runner
from .scripts import function
from .single_nodes import Node, operator

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
class Kit:
    """A written kit: its folder, and the number of cases in each group."""

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


def _written(folder: Path, name: str, group: str, node: Node) -> dict[str, Any]:
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


def _node(attributes: Mapping[str, Any], target: Mapping[str, tuple[float, ...]], **others: Any) -> Node:
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
