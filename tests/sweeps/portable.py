"""Make random ONNX resizes portable, and compare what the targets compute with what onnxruntime did.

``python -m tests.sweeps.portable --cases 1500`` exits with 1 where anything differs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import ir_interp
from ir_interp import AtRunTime, InexactError, resize
from ir_interp.converters.onnx.resize_nodes import nodes
from ir_interp.converters.predictions import importer
from tests.support.configurations import OnnxCase, run_in_onnxruntime
from tests.support.conversions import Converted, batches, difference, judged, random_conversion, report, table
from tests.support.runtimes import Array, Child, Refused, onnxruntime_resize, openvino_resize
from tests.support.translations import Outcome, save_onnx
from tests.support.verdicts import Answer

TARGETS = ("tensorrt", "onnx:11", "openvino")


@dataclass(frozen=True, slots=True, kw_only=True)
class Port(Outcome):
    """``layer`` is what TensorRT's layer makes of a node that is still a resize, by its operator page."""

    layer: Array | None = None


def sweep(cases: int, seed: int, targets: Sequence[str] = TARGETS) -> Iterator[Converted]:
    """Make random nodes portable for each target and run them."""
    rng = np.random.default_rng(seed)
    drawn = [random_conversion(rng) for _ in range(cases)]
    with Child() as source, Child(timeout=300) as result:  # a cubic of six axes takes OpenVINO a minute
        for batch in batches(drawn):
            answers = source.map(run_in_onnxruntime, [(case,) for case, _ in batch])
            for target in targets:
                ports = result.map(port, [(case, left_open, target) for case, left_open in batch])
                for (case, left_open), answer, outcome in zip(batch, answers, ports, strict=True):
                    made = Converted(case=case, left_open=left_open, target=target, outcome=outcome)
                    yield _judged(made, answer)


def port(case: OnnxCase, left_open: str, target: str) -> Port:
    """Convert a one-node model and run what it became: in onnxruntime, or read by OpenVINO's own frontend."""
    with tempfile.TemporaryDirectory() as folder:
        source, destination = Path(folder, "x.onnx"), Path(folder, "portable.onnx")
        feeds = save_onnx(case, source, left_open)
        try:
            (row,) = ir_interp.convert(source, destination, target=target, verify=False).rows
        except ExceptionGroup as refusals:
            reasons = [each.reason for each in refusals.exceptions if isinstance(each, InexactError)]
            if len(reasons) < len(refusals.exceptions) or destination.exists():
                raise
            return Port(grade="refused", form="; ".join(reasons))
        if target == "openvino":
            output = openvino_resize(destination, feeds)
        else:
            output = onnxruntime_resize(onnx.load(destination), feeds)
        layer = _layer(destination, feeds) if target == "tensorrt" else None
        return Port(grade=row.grade.value, form=row.form, note=row.note, output=output, layer=layer)


def _layer(path: Path, feeds: dict[str, Array]) -> Array | None:
    """Return what the settings that TensorRT's importer makes of a node compute."""
    for node in nodes(path):
        spec = importer(node.op).spec
        assert spec is not None
        given: dict[str, Any] = {}
        if isinstance(spec.target, AtRunTime):
            given[spec.target.value] = tuple(feeds[spec.target.value].tolist())
        return resize(feeds["x"], spec, **given)
    return None


def _judged(made: Converted, answer: Answer) -> Converted:
    outcome, case = made.outcome, made.case
    assert isinstance(case, OnnxCase)
    if isinstance(answer, Refused) and isinstance(outcome, Refused) and made.target != "openvino":
        text = f"neither runs, and a verification refuses: {outcome.text}"
        return replace(made, outcome=Port(grade="refused", form=text))
    if not isinstance(outcome, Port):
        return judged(made, answer)
    if outcome.output is None:
        return made
    outputs = [outcome.output] if outcome.layer is None else [outcome.output, outcome.layer]
    for output in outputs:
        if isinstance(answer, np.ndarray) and not difference(case, answer, output):
            made = replace(made, judge="onnxruntime")
            continue
        found = judged(replace(made, outcome=replace(outcome, output=output)), answer)
        made = replace(made, judge=found.judge, difference=made.difference or found.difference)
    return made


def became(made: Converted) -> str:
    """Return what became of a node, in a word or two."""
    outcome = made.outcome
    if not isinstance(outcome, Port):
        return type(outcome).__name__
    if outcome.output is None:
        return "refused"
    if outcome.form.endswith("kept"):
        return "kept"
    return "Resize or Upsample" if ": " in outcome.form else "operations"


def _table(conversions: Sequence[Converted]) -> str:
    return table(
        conversions, ("target", "left open", "became"), lambda each: (each.target, each.left_open, became(each))
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print every difference, and a table."""
    return report(__doc__, sweep, _table, arguments)


if __name__ == "__main__":
    sys.exit(main())
