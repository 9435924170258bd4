"""Hold the audit's verdicts against the installed runtimes on random nodes, and name every kind of disagreement.

``python -m tests.sweeps.audit --cases 1000 --seed 1`` exits with 1 where a disagreement has no explanation;
``--runtime tract`` runs the nodes in another runtime.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import openvino

from ir_interp import Arithmetic, Coordinates, Length, ResizeOp
from ir_interp.converters.audit.audited_resizes import Audited
from ir_interp.converters.audit.auditing import audit
from ir_interp.converters.audit.verdicts import Verdict
from ir_interp.converters.runtimes.outcome import Kind
from ir_interp.plan.formulas import positions
from ir_interp.plan.taps import plan
from tests.support.configurations import IrCase, OnnxCase, Rng, model_of, random_ir_case, random_node, random_onnx_case
from tests.support.sweeps import options

BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One node in one runtime: what was prediction, what was seen, and what explains it where these are two things."""

    case: OnnxCase | IrCase
    runtime: str
    prediction: Verdict
    seen: Verdict
    explanation: str

    @property
    def agrees(self) -> bool:
        return self.prediction.kind is self.seen.kind


def random_case(rng: Rng) -> OnnxCase:
    """Return a node, half of the time one that onnxruntime runs; NumPy itself has no bfloat16 to store."""
    while True:
        case = random_onnx_case(rng) if rng.random() < 0.5 else random_node(rng)
        if case.dtype != "bfloat16":
            return case


def sweep_layers(cases: int, seed: int) -> Iterator[Compared]:
    """Audit random layers of IRs, of those that OpenVINO's CPU plugin runs safely, and run them."""
    rng = np.random.default_rng(seed)
    drawn = [random_ir_case(rng) for _ in range(cases)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{place:04}.xml") for place in range(len(drawn))]
        for path, case in zip(paths, drawn, strict=True):
            openvino.save_model(model_of(case), path, compress_to_fp16=False)
        rows, errors = audit(paths, run=True)
    assert not errors, errors
    for case, row in zip(drawn, rows, strict=True):
        yield from _compared(case, row)


def sweep(cases: int, seed: int, runtimes: Sequence[str] | None = None) -> Iterator[Compared]:
    """Audit random nodes, and run them; ``runtimes`` are those of a plain audit where none are named."""
    rng = np.random.default_rng(seed)
    for start in range(0, cases, BATCH):
        drawn = [random_case(rng) for _ in range(min(BATCH, cases - start))]
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"{place:04}.onnx") for place in range(len(drawn))]
            for path, case in zip(paths, drawn, strict=True):
                onnx.save(model_of(case), path)
            rows, errors = audit(paths, run=True, runtimes=runtimes)
        assert not errors, errors
        for case, row in zip(drawn, rows, strict=True):
            yield from _compared(case, row)


def _compared(case: OnnxCase | IrCase, row: Audited) -> Iterator[Compared]:
    for runtime, seen in row.seen.items():
        prediction = row.predictions[runtime]
        yield Compared(
            case=case, runtime=runtime, prediction=prediction, seen=seen, explanation=explanation(case, runtime, row)
        )


def explanation(case: OnnxCase | IrCase, runtime: str, row: Audited) -> str:
    """Return why prediction and sight may differ; nothing where they should not."""
    prediction, seen = row.predictions[runtime], row.seen[runtime]
    if prediction.kind is Kind.UNKNOWN:
        return "no rule covers it"
    if prediction.kind is Kind.CRASHES:
        return "corrupted memory shows as garbage, as a refusal, as death, or not at all"
    if seen.kind is Kind.CRASHES and runtime == "openvino":
        return "corrupted memory of an earlier node"
    ran = {prediction.kind, seen.kind} <= {Kind.SAME, Kind.DIFFERS}
    largest = max(prediction.difference or 0, seen.difference or 0)
    clips = case.mode == "cubic" and case.attributes.get("antialias") and case.dtype in ("int8", "uint8")
    if runtime == "onnxruntime" and clips and largest < 0.15:  # by about so much a cubic goes beyond its values
        return "cubic antialias rounds and clips 8-bit values after each axis (O13)"
    # inputs go up to 100: 0.031 are three whole numbers, after as many roundings
    if ran and "int" in case.dtype and case.mode != "nearest" and largest < 0.031:
        return "integers: so small a difference is one of rounding, which runtimes do in several ways (O10)"
    pytorch = case.attributes.get("coordinate_transformation_mode") == "pytorch_half_pixel"
    if runtime == "reference" and pytorch and 1 in plan(row.op.spec, case.shape).out_shape:
        return "the reference notices a single output on some axes, and on others not (R3)"
    if runtime == "reference" and {prediction.kind, seen.kind} == {Kind.SAME, Kind.DIFFERS} and _on_the_edge(row.op):
        return "float64 rounds a coordinate off a whole number or a half, where rationals do not (R4, R5)"
    return ""


def _on_the_edge(op: ResizeOp) -> bool:
    """Say whether the exact coordinate of some output is a whole number or a half."""
    shape = tuple(length or 1 for length in op.shape or ())
    specs = [replace(op.spec, arithmetic=Arithmetic.EXACT, length=length) for length in Length]  # both readings
    axes = [axis for spec in specs for axis in plan(spec, shape).axes]
    centred = op.spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC  # by a quotient, which float64 rounds
    at = [positions(axis) for axis in axes if centred or axis.step.denominator > 1 or axis.offset.denominator > 1]
    return any(((each.fraction == 0) | (each.half == 0)).any() for each in at)


def table(compared: Sequence[Compared]) -> str:
    """Return the share of agreement for each runtime."""
    lines = []
    for runtime in dict.fromkeys(each.runtime for each in compared):
        those = [each for each in compared if each.runtime == runtime]
        agree = sum(each.agrees for each in those)
        kinds = Counter(each.seen.kind.value for each in those)
        counts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        lines.append(f"{runtime:20} {agree} of {len(those)} agree ({agree / len(those):.2%}); seen: {counts}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print the classes of disagreement with an example, and the shares of agreement."""
    parser = options(__doc__)
    parser.add_argument("--layers", action="store_true", help="layers of IRs instead of ONNX nodes")
    parser.add_argument("--runtime", action="append", help="a runtime, in place of those of a plain audit")
    parser.add_argument("--examples", type=int, default=1, help="of each class of disagreement")
    chosen = parser.parse_args(arguments)
    of_nodes = partial(sweep, runtimes=chosen.runtime)
    compared = list((sweep_layers if chosen.layers else of_nodes)(chosen.cases, chosen.seed))
    classes: dict[tuple[str, str, str, str], list[Compared]] = {}
    for each in compared:
        if not each.agrees:
            key = (each.runtime, each.explanation, each.prediction.kind.value, each.seen.kind.value)
            classes.setdefault(key, []).append(each)
    for (runtime, why, prediction, seen), those in sorted(classes.items()):
        print(f"{runtime}: prediction {prediction}, seen {seen}: {len(those)} times: {why or 'UNEXPLAINED'}")
        for each in those[: chosen.examples]:
            print(f"    {each.case}\n    prediction {each.prediction}; seen {each.seen}")
    print(table(compared))
    unexplained = sum(not each.agrees and not each.explanation for each in compared)
    print(f"{unexplained} unexplained" if unexplained else "every disagreement is explained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
