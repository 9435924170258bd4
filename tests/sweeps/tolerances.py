"""Find whether a changed resize is ever called equal, and a right conversion ever refused, however small values are.

``python -m tests.sweeps.tolerances --cases 60 --seed 1`` writes random models of each kind: their outputs times 10^-6
to 10^6, a softmax of 10 to 10,000 classes, or a difference that cancels to nearly zero. Each is compared with its IR,
which must not differ, and with the IR of the same model after one resize has lost its antialiasing or moved by half a
pixel, which must. Half of the IRs have other names for all inner tensors, so that no segment can be compared. The table
has both rates by kind; the exit code is 1 if one is not 0.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

import ir_interp
from tests.support.sweeps import aligned, options

_LEAST_CHANGE = 1e-3  # of the output's spread: what changes it by less is no error that anyone could see
Parts = tuple[list[str], dict[str, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Case:
    """A model, the same with another resize, and what was changed."""

    kind: str
    change: str
    model: onnx.ModelProto
    changed: onnx.ModelProto
    has_other_names: bool


@dataclass(slots=True)
class Body:
    """Nodes as text and weights, from the input ``x`` to the tensor ``a`` behind the last resize."""

    nodes: list[str]
    weights: dict[str, np.ndarray]
    channels: int
    size: tuple[int, int]


def _body(rng: np.random.Generator, resize: str, *, shrinks: bool) -> Body:
    """Return a convolution, an activation and a resize, and two more convolutions half of the time."""
    height, width = (int(n) for n in rng.integers(24, 72, 2))
    factor = rng.uniform(0.2, 0.6) if shrinks else rng.uniform(1.3, 2.5)
    size = max(2, int(height * factor)), max(2, int(width * factor))
    channels = int(rng.integers(2, 9))
    weights = {"w": _normal(rng, channels, 3, 3, 3), "s": np.array([1, channels, *size], np.int64)}
    nodes = [
        "c = Conv <pads = [1, 1, 1, 1]> (x, w)",
        f"r = {rng.choice(['Relu', 'Sigmoid', 'Tanh', 'Identity'])} (c)",
        f'[changed] z = Resize <{resize}> (r, "", "", s)',
    ]
    if rng.random() < 0.5:
        weights |= {"v": _normal(rng, channels, channels, 3, 3), "u": _normal(rng, channels, channels, 1, 1)}
        nodes += ["d = Conv <pads = [1, 1, 1, 1]> (z, v)", "e = Tanh (d)", "a = Conv (e, u)"]
    else:
        nodes.append("a = Identity (z)")
    return Body(nodes=nodes, weights=weights | {"x": np.empty((1, 3, height, width))}, channels=channels, size=size)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.normal(size=shape) / np.sqrt(np.prod(shape[1:])), np.float32)


def _scaled(rng: np.random.Generator, body: Body) -> Parts:
    factor = np.float32(10 ** rng.uniform(-6, 6))
    return ["y = Mul (a, k)"], {"k": np.array(factor)}


def _softmax(rng: np.random.Generator, body: Body) -> Parts:
    """Return a classifier; the spread of its scores decides whether one class has all, or all have as much."""
    classes, features = int(10 ** rng.uniform(1, 4)), body.channels * 16
    spread = np.float32(10 ** rng.uniform(-1, 1))
    pool = 'p = Resize <mode = "linear", antialias = 1> (a, "", "", four) f = Flatten (p)'
    weights = {
        "four": np.array([1, body.channels, 4, 4], np.int64),
        "m": (rng.normal(size=(features, classes)) / np.sqrt(features)).astype(np.float32) * spread,
    }
    return [pool, "l = MatMul (f, m)", "y = Softmax <axis = -1> (l)"], weights


def _cancelled(rng: np.random.Generator, body: Body) -> Parts:
    """Return a small share of what the model computes, as the difference of two numbers that are nearly the same."""
    share = np.float32(10 ** rng.uniform(-5, -1))
    factor = np.float32(10 ** rng.uniform(-6, 3))
    nodes = ["b = Mul (a, share)", "plus = Add (b, one)", "g = Sub (plus, one)", "y = Mul (g, k)"]
    return nodes, {"share": np.array(share), "one": np.array(np.float32(1)), "k": np.array(factor)}


_KINDS: dict[str, Callable[[np.random.Generator, Body], Parts]] = {
    "scaled": _scaled,
    "softmax": _softmax,
    "cancelled": _cancelled,
}
_CUBIC = 'mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = 1'
_CHANGES = {
    "antialias dropped": ('mode = "linear", antialias = 1', 'mode = "linear"', True),
    "antialias of cubic dropped": (f"{_CUBIC}, antialias = 1", _CUBIC, True),
    "half a pixel": ('mode = "linear"', 'mode = "linear", coordinate_transformation_mode = "asymmetric"', False),
    "half a pixel of cubic": ('mode = "cubic"', 'mode = "cubic", coordinate_transformation_mode = "asymmetric"', False),
}


def cases(kind: str, count: int, seed: int) -> Iterator[Case]:
    """Yield random models of a kind, each with one change."""
    for number in range(count):
        rng = np.random.default_rng([seed, number, list(_KINDS).index(kind)])
        change = str(rng.choice(list(_CHANGES)))
        right, wrong, shrinks = _CHANGES[change]
        body = _body(rng, right, shrinks=shrinks)
        nodes, weights = _KINDS[kind](rng, body)
        shape = body.weights.pop("x").shape
        text = "\n".join([*body.nodes, *nodes])
        yield Case(
            kind=kind,
            change=change,
            model=_model(text, shape, body.weights | weights),
            changed=_model(text.replace(f"<{right}> (r,", f"<{wrong}> (r,"), shape, body.weights | weights),
            has_other_names=bool(number % 2),
        )


def _model(text: str, shape: Sequence[int], weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    header = f'<ir_version: 8, opset_import: ["": 18]> net (float{list(shape)} x) => (float[...] y)'
    model = onnx.parser.parse_model(f"{header} {{\n{text}\n}}".replace("float[...]", "float"))
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return onnx.shape_inference.infer_shapes(model)


def _renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with other names for its inner tensors."""
    renamed = onnx.ModelProto()
    renamed.CopyFrom(model)
    inner = {name for node in model.graph.node for name in node.output} - {"y"}
    for node in renamed.graph.node:
        for names in (node.input, node.output):
            names[:] = [f"other_{name}" if name in inner else name for name in names]
    del renamed.graph.value_info[:]
    return renamed


def judged(case: Case, folder: Path) -> tuple[str, str]:
    """Return the results for the model's own IR, and for that of the changed one."""
    model, changed = folder / "model.onnx", folder / "changed.onnx"
    onnx.save(case.model, model)
    source = folder / "source.onnx"
    onnx.save(_renamed(case.model) if case.has_other_names else case.model, source)
    onnx.save(_renamed(case.changed) if case.has_other_names else case.changed, changed)
    right = ir_interp.convert(source, folder / "model.xml", verify=False).destination
    wrong = ir_interp.convert(changed, folder / "changed.xml", verify=False).destination
    one, other = ir_interp.compare(model, right), ir_interp.compare(model, wrong)
    output = other.outputs[0]
    spread = (output.first.largest or 0.0) - (output.first.smallest or 0.0)
    is_nothing = output.seen.absolute < _LEAST_CHANGE * spread
    verdicts = [comparison.outputs[0].compared.verdict for comparison in (one, other)]
    return verdicts[0], "no change" if verdicts[1] == "equal" and is_nothing else verdicts[1]


def sweep(kind: str, count: int, seed: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """Return the verdicts of right and of changed models, and the cases that are wrong."""
    right, changed, wrong = Counter[str](), Counter[str](), []
    for number, case in enumerate(cases(kind, count, seed)):
        with tempfile.TemporaryDirectory() as folder:
            one, other = judged(case, Path(folder))
        right[one] += 1
        changed[other] += 1
        if one == "DIFFERS" or other == "equal":
            wrong.append(f"{kind} {number} of seed {seed} ({case.change}): {one}, changed {other}")
    return right, changed, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts by kind."""
    chosen = options(__doc__).parse_args(arguments)
    wrong: list[str] = []
    rows: list[tuple[str, ...]] = [
        ("models", "right: equal", "refused", "inconclusive", "changed: found", "equal", "other")
    ]
    for kind in _KINDS:
        right, changed, problems = sweep(kind, chosen.cases, chosen.seed)
        counts = (right["equal"], right["DIFFERS"], right["INCONCLUSIVE"], changed["DIFFERS"], changed["equal"])
        rest = changed.total() - changed["DIFFERS"] - changed["equal"]
        rows.append((kind, *map(str, counts), str(rest)))
        wrong += problems
    print(aligned(rows))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
