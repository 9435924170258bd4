"""Change the attributes of drawn layers until each changes OpenVINO's result; the ONNX written then has to follow.

``python -m tests.sweeps.attributes`` exits with 1 where what is written differs from OpenVINO, and lists the attributes
that change nothing. With ``--rows FILE`` it writes the changes as JSON, which tests/ir/test_attribute_effects.py
repeats; with ``--keep`` it searches only for those that the file has not.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openvino as ov
from lxml import etree

from ir_interp import IrInterpError
from ir_interp.converters.ir_to_onnx import onnx_model
from ir_interp.converters.ir_to_onnx.layers import Op
from ir_interp.converters.ir_to_onnx.onnx_model import EMITTERS
from ir_interp.translation.dialect import Semantics
from tests.support.layer_types import drawn, saved
from tests.support.layers import Draw, assert_equal, in_onnxruntime, in_openvino
from tests.support.runtimes import Array
from tests.support.sweeps import options

_SEEDS = 4
_NOT_OF_LAYERS = frozenset(("const", "parameter", "result", "tensoriterator", "loop", "if"))
_FLAGS = {"true": "false", "false": "true"}
_NEAR: tuple[Callable[[float], float], ...] = (
    lambda number: number + 1,
    lambda number: 2 * number,
    lambda number: number - 1,
    lambda number: 0 * number,
    lambda number: number / 2,
    lambda number: -number,
)
_UNWRITTEN = {
    ("proposal", "min_size"): "-1",
    ("matrixnms", "score_threshold"): "1",
    ("matrixnms", "post_threshold"): "1",
}
"""How values begin with which OpenVINO outputs memory that nothing has written."""
_HIDDEN_BY = {
    ("mvn", "across_channels"): ("reduction_axes",),
    ("roipooling", "output_roi"): ("output_size", "pooled_h", "pooled_w"),
    ("roipooling", "output_size"): ("output_roi", "pooled_h", "pooled_w"),
}
"""Attributes that OpenVINO writes beside another and reads first; without them, the other counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An attribute of a drawn layer, and a value with which OpenVINO computes something else."""

    type: str
    version: str
    attribute: str
    value: str
    module: str
    configuration: str
    seed: int

    @property
    def key(self) -> tuple[str, str, str]:
        """What is changed: the layer type, its version, and the name of the attribute."""
        return self.type, self.version, self.attribute


def effective(kind: str, name: str) -> bool:
    """Say whether an attribute has to have an effect: unless it never has one, or is of the model's frame."""
    return kind not in _NOT_OF_LAYERS and kind in EMITTERS and name not in onnx_model.without_effect(kind)


def apply(change: Change, path: Path) -> tuple[Draw, list[Array], list[Array]]:
    """Save a drawn model as it is and changed, the latter at ``path``; return the draw and what OpenVINO makes of both.

    Raises RuntimeError where OpenVINO does not take the value.
    """
    draw = saved(drawn()[change.module, change.configuration], change.seed, path)
    tree = etree.parse(path)
    for data in _data(change, tree):
        for name in _HIDDEN_BY.get((change.type, change.attribute), ()):
            data.attrib.pop(name, None)
    tree.write(str(path))
    before = in_openvino(ov.Core().read_model(path), draw.feeds)
    return draw, before, _changed(change, draw, path)


def _kind(layer: Any) -> str:
    return str(layer.get("type")).lower()


def _data(change: Change, tree: Any) -> Iterator[Any]:
    """Yield the attributes of the layers that are changed."""
    for layer in tree.getroot().iter("layer"):
        data = layer.find("data")
        if (_kind(layer), layer.get("version")) == change.key[:2] and data is not None:
            yield data


def _changed(change: Change, draw: Draw, path: Path) -> list[Array]:
    tree = etree.parse(path)
    for data in _data(change, tree):
        data.set(change.attribute, change.value)
    changed = path.with_name("changed.xml")
    tree.write(str(changed))
    path.with_suffix(".bin").replace(changed.with_suffix(".bin"))
    model = ov.Core().read_model(changed)
    ov.save_model(model, path, compress_to_fp16=False)  # with the shapes that follow
    results = in_openvino(ov.Core().read_model(path), draw.feeds)
    if _ports(changed) == _ports(path):  # then the file itself is converted, since OpenVINO may drop what it ignores
        changed.replace(path)
        changed.with_suffix(".bin").replace(path.with_suffix(".bin"))
    return results


def _ports(path: Path) -> list[tuple[str | None, tuple[str | None, ...]]]:
    """Return the types and shapes of all output ports, in any order."""
    ports: Iterator[Any] = etree.parse(path).getroot().iter("port")
    return sorted(
        (port.get("precision"), tuple(dim.text for dim in port.iter("dim")))
        for port in ports
        if port.getparent().tag == "output"
    )


def differ(first: Sequence[Array], second: Sequence[Array]) -> bool:
    """Say whether results differ, in type, shape or value."""
    return any(
        (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape)
        or not np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
        for mine, theirs in zip(first, second, strict=True)
    )


def candidates(text: str, others: Sequence[str]) -> Iterator[str]:
    """Yield values to try in place of an attribute's: those of other layers first, then such as lie near."""
    yield from (other for other in others if other != text)
    yield from (other for other in _near(text) if other != text)


def _near(text: str) -> Iterator[str]:
    if text in _FLAGS:
        yield _FLAGS[text]
    for change in _NEAR:
        try:
            numbers = [change(float(each)) for each in text.split(",")]
        except ValueError:
            return
        if not re.search(r"[.e]", text):
            yield ", ".join(str(int(number)) for number in numbers)
        if not all(number.is_integer() for number in numbers):  # a real attribute of value 1 looks like an integer
            yield ", ".join(map(repr, numbers))


def _models(seeds: int, path: Path) -> Iterator[tuple[tuple[str, str], int, list[tuple[str, str, str, str]]]]:
    """Yield configurations with seeds, and all types, versions, names and values of attributes there."""
    for key, configuration in drawn().items():
        for seed in range(seeds):
            saved(configuration, seed, path)
            layers: list[Any] = list(etree.parse(path).getroot().iter("layer"))
            yield (
                key,
                seed,
                [
                    (_kind(layer), layer.get("version"), name, value)
                    for layer in layers
                    if layer.find("data") is not None
                    for name, value in layer.find("data").attrib.items()
                    if effective(_kind(layer), name)
                ],
            )


def _known_words(path: Path) -> dict[tuple[str, str], list[str]]:
    """Return the values that emitters know of attributes that are words."""
    words: dict[tuple[str, str], list[str]] = {}
    word = Op.word

    def watch(op: Op, name: str, known: Sequence[str], default: str | None = None) -> str:
        words[op.layer.type.lower(), name] = list(known)
        return word(op, name, known, default)

    Op.word = watch  # type: ignore[assignment,method-assign]
    try:
        for configuration in drawn().values():
            saved(configuration, 0, path)
            onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME)
    finally:
        Op.word = word  # type: ignore[method-assign]
    return words


def _search(
    folder: Path, seeds: int, shown: Sequence[Change] = ()
) -> tuple[dict[tuple[str, str, str], Change], dict[tuple[str, str, str], bool], int]:
    """Return a change with an effect for each attribute, those without, and how many are written wrongly.

    Those without are mapped to whether OpenVINO takes any other value that was tried.

    Attributes of which a change is ``shown`` are not searched for.
    """
    path = folder / "x.xml"
    others: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for _, _, found in _models(seeds, path):
        for kind, _, name, value in found:
            others[kind, name].add(value)
    for place, known in _known_words(path).items():
        others[place] |= set(known)
    changes = {change.key: change for change in shown}
    every, taken, wrong = set(), set(), 0
    for (module, configuration), seed, found in _models(seeds, path):
        every |= {each[:3] for each in found}
        tries = [
            Change(
                type=kind,
                version=version,
                attribute=name,
                value=candidate,
                module=module,
                configuration=configuration,
                seed=seed,
            )
            for kind, version, name, value in found
            if (kind, version, name) not in changes
            for candidate in candidates(value, sorted(others[kind, name]))
            if not candidate.startswith(_UNWRITTEN.get((kind, name), " "))
        ]
        for change, (has_effect, problem) in _tried(tries, folder):
            taken.add(change.key)
            if has_effect:
                changes[change.key] = change
            if problem:
                wrong += 1
                print(f"{change}: {problem}", flush=True)
    return changes, {key: key in taken for key in every - changes.keys()}, wrong


def _tried(tries: Sequence[Change], folder: Path) -> Iterator[tuple[Change, tuple[bool, str]]]:
    """Yield the changes that OpenVINO takes: whether each has an effect, and what is wrong with its ONNX.

    After a change with an effect, others of the same attribute are left out.

    Some values end OpenVINO's process, so a child tries them, and another one those behind.
    """
    answers = folder / "answers"
    answers.write_text("")
    lines: list[tuple[bool, str] | None] = []
    while len(lines) < len(tries):
        child = os.fork()
        if not child:
            try:
                _answer(tries[len(lines) :], folder, answers)
            finally:
                os._exit(0)  # whatever happens: what is the parent's is left alone
        os.waitpid(child, 0)
        lines = [json.loads(line) for line in answers.read_text().splitlines()]
        if len(lines) < len(tries):
            lines.append(None)  # of the one that ended it
            answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    yield from ((change, line) for change, line in zip(tries, lines, strict=True) if line is not None)


def _answer(tries: Sequence[Change], folder: Path, answers: Path) -> None:
    """Try changes, and write a line for each, null for a value that OpenVINO does not take; then end."""
    effective_keys = set()
    with answers.open("a") as file:
        for change in tries:
            line = None if change.key in effective_keys else _try(change, folder / "child.xml")
            if line and line[0]:
                effective_keys.add(change.key)
            print(json.dumps(line), file=file, flush=True)


def _try(change: Change, path: Path) -> tuple[bool, str] | None:
    """Return whether a change has an effect, and what is wrong with its ONNX; None if OpenVINO refuses the value.

    A value that has an effect, but no ONNX that onnxruntime runs, counts as refused: no layer may have it.
    """
    try:
        draw, before, after = apply(change, path)
    except (RuntimeError, ValueError):
        return None
    has_effect = differ(before, after)
    try:
        return has_effect, _follows(path, draw, after)
    except (RuntimeError, ValueError, IrInterpError) as error:
        return None if has_effect else (False, "" if isinstance(error, IrInterpError) else f"does not run: {error}")


def _follows(path: Path, draw: Draw, expected: Sequence[Array]) -> str:
    """Return how the ONNX of a changed layer differs; nothing where it is refused by name.

    Raises RuntimeError where onnxruntime does not run it, as where a value is outside what the layer is for.
    """
    try:
        onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME)
    except ExceptionGroup:
        return ""
    try:
        results = in_onnxruntime(path.with_suffix(".onnx"), draw.feeds)
    except Exception as error:  # whatever a runtime throws
        raise RuntimeError(str(error)) from None
    try:
        for mine, theirs in zip(expected, results, strict=True):
            assert_equal(theirs, mine, 1e-4)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""


def read_rows(file: Path) -> list[Change]:
    """Return the changes of a file."""
    return [Change(**dict(zip(Change.__slots__, row, strict=True))) for row in json.loads(file.read_text())["changes"]]


def check(file: Path, every: int) -> int:
    """Repeat each so many-th change of a file; print and count those that change nothing, or end OpenVINO's process."""
    changes, shown = read_rows(file)[::every], set()
    with TemporaryDirectory() as folder:
        for kind in sorted({change.type for change in changes}):
            tried = _tried([each for each in changes if each.type == kind], Path(folder))
            shown |= {change.key for change, (has_effect, _) in tried if has_effect}
    idle = [change for change in changes if change.key not in shown]
    for change in idle:
        print(f"no effect: {change}")
    return len(idle)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print each attribute without an effect."""
    parser = options(__doc__)
    parser.add_argument("--rows", type=Path, help="write the changes as JSON")
    parser.add_argument("--keep", action="store_true", help="search only for changes that this file has not")
    parser.add_argument("--seeds", type=int, default=_SEEDS, help="how often each layer is drawn")
    parser.add_argument("--check", type=Path, help="repeat the changes of a JSON file instead")
    parser.add_argument("--every", type=int, default=1, help="of these only each so many-th")
    chosen: Any = parser.parse_args(arguments)
    if chosen.check:
        return int(bool(check(chosen.check, chosen.every)))
    with TemporaryDirectory() as folder:
        changes, idle, wrong = _search(Path(folder), chosen.seeds, read_rows(chosen.rows) if chosen.keep else ())
    for key in sorted(idle):
        print(f"no effect: {key}; {'other values are taken' if idle[key] else 'no other value is taken'}")
    if chosen.rows:
        lists = {
            "changes": [list(asdict(changes[key]).values()) for key in sorted(changes)],
            "without effect here": [[*key, idle[key]] for key in sorted(idle)],
        }
        texts = (f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in lists.items())
        chosen.rows.write_text("{\n" + ",\n".join(texts) + "\n}\n")
    print(f"{len(changes)} attributes change results, {len(idle)} do not, {wrong} are written wrongly")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
