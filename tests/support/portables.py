"""Make random ONNX resizes portable, and compare what the targets compute with what onnxruntime did."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np
import onnx

import ir_interp
from ir_interp import AtRunTime, InexactError, resize
from ir_interp.converters.forecasts.tensorrt import importer
from ir_interp.converters.onnx.resizes import nodes
from tests.support.configurations import OnnxCase, run_in_onnxruntime
from tests.support.conversions import Converted, difference, judged, random_conversion
from tests.support.runtimes import Array, Child, Crashed, Refused, onnxruntime_resize, openvino_resize
from tests.support.translations import Outcome, save_onnx
from tests.support.verdicts import Answer

TARGETS = ("tensorrt", "onnx:11", "openvino")
BATCH = 250  # conversions whose results are held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Port(Outcome):
    """``layer`` is what TensorRT's layer makes of a node that is still a resize, by its operator page."""

    layer: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ported:
    """A node made portable: refused with a reason, or computed, and in what it differs if it does."""

    case: OnnxCase
    left_open: str
    target: str
    outcome: Port | Refused | Crashed
    judge: str = ""
    difference: str = ""

    @property
    def form(self) -> str:
        """What became of it, in a word or two."""
        if not isinstance(self.outcome, Port):
            return type(self.outcome).__name__
        if self.outcome.output is None:
            return "refused"
        if self.outcome.form.endswith("kept"):
            return "kept"
        return "Resize or Upsample" if ": " in self.outcome.form else "operations"

    def __str__(self) -> str:
        said = self.outcome.form if isinstance(self.outcome, Port) else self.outcome.text
        return f"{self.target}, {self.left_open} left open, {self.judge}: {said}: {self.case}: {self.difference}"


def sweep_portables(cases: int, seed: int, targets: Sequence[str] = TARGETS) -> Iterator[Ported]:
    """Make random nodes portable for each target and run them."""
    rng = np.random.default_rng(seed)
    drawn = [random_conversion(rng) for _ in range(cases)]
    with Child() as source, Child(timeout=300) as result:  # a cubic of six axes takes OpenVINO a minute
        for start in range(0, cases, BATCH):
            batch = drawn[start : start + BATCH]
            answers = source.map(run_in_onnxruntime, [(case,) for case, _ in batch])
            for target in targets:
                ports = result.map(port, [(case, left_open, target) for case, left_open in batch])
                for (case, left_open), answer, outcome in zip(batch, answers, ports, strict=True):
                    ported = Ported(case=case, left_open=left_open, target=target, outcome=outcome)
                    yield _judged(ported, answer)


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


def _judged(ported: Ported, answer: Answer) -> Ported:
    outcome = ported.outcome
    if not isinstance(outcome, Port):
        if isinstance(answer, Refused) and isinstance(outcome, Refused) and ported.target != "openvino":
            text = f"neither runs, and a verification refuses: {outcome.text}"
            return replace(ported, outcome=Port(grade="refused", form=text))
        return replace(ported, judge="nobody", difference=outcome.text)
    if outcome.output is None:
        return ported
    outputs = [outcome.output] if outcome.layer is None else [outcome.output, outcome.layer]
    for output in outputs:
        if isinstance(answer, np.ndarray) and not difference(ported.case, answer, output):
            ported = replace(ported, judge="onnxruntime")
            continue
        seen = Outcome(grade=outcome.grade, form=outcome.form, output=output)
        found = judged(Converted(case=ported.case, left_open=ported.left_open, outcome=seen), answer)
        ported = replace(ported, judge=found.judge, difference=ported.difference or found.difference)
    return ported


def portables_table(ports: Sequence[Ported]) -> str:
    """Return how many nodes became what for each target, and who found them equal."""
    rows = [("target", "left open", "became", "nodes", "as onnxruntime", "as executor", "differing")]
    kinds = Counter((each.target, each.left_open, each.form) for each in ports)
    for kind in sorted(kinds):
        rows.append((*kind, *_counts([p for p in ports if (p.target, p.left_open, p.form) == kind])))
    for target in dict.fromkeys(each.target for each in ports):
        rows.append((target, "", "all", *_counts([each for each in ports if each.target == target])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _counts(ports: Sequence[Ported]) -> tuple[str, str, str, str]:
    judges = Counter(each.judge for each in ports if each.judge and not each.difference)
    differing = sum(bool(each.difference) for each in ports)
    return str(len(ports)), str(judges["onnxruntime"]), str(judges["executor"]), str(differing)
