"""Convert random ONNX resizes of every kind to IR, and compare what OpenVINO computes with what they mean.

The judge is onnxruntime where it runs the node and is not known to be wrong there; else this program's executor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np

from ir_interp import resize
from tests.support.configurations import (
    OnnxCase,
    Rng,
    known_onnxruntime_bug,
    random_node,
    random_onnx_case,
    run_in_onnxruntime,
)
from tests.support.runtimes import Array, Child, Crashed, Refused
from tests.support.translations import OPEN, Outcome, onnx_to_ir
from tests.support.verdicts import LAST_PLACE, TOLERANCE, Answer, left_out, magnifies, magnitude, spec_of

SAME_OPSETS = {7: (7, 8), 11: (11, 12), 13: (13, 14, 15, 16, 17), 19: (19, 20, 21)}
"""Operator sets between which Resize and Upsample do not change."""

BATCH = 250  # conversions whose results are held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """One conversion: what was left open, what it became, who judged it, and in what it differs if it does."""

    case: OnnxCase
    left_open: str
    outcome: Outcome | Refused | Crashed
    judge: str = ""
    difference: str = ""

    @property
    def form(self) -> str:
        """The kind of nodes, in two words."""
        if not isinstance(self.outcome, Outcome):
            return type(self.outcome).__name__
        form = self.outcome.form
        if form.startswith("openvino"):
            return "Interpolate"
        kind = form.partition(" along")[0]
        return f"{kind} at run time" if form.endswith("at run time") else kind

    @property
    def grade(self) -> str:
        """How exact the conversion says it is."""
        return self.outcome.grade if isinstance(self.outcome, Outcome) else "none"

    def __str__(self) -> str:
        return f"{self.form}, {self.left_open} left open, {self.judge}: {self.case}: {self.difference}"


def random_conversion(rng: Rng) -> tuple[OnnxCase, str]:
    """Return a node, half of the time one that onnxruntime runs, and what the model leaves to run time."""
    case = random_onnx_case(rng) if rng.random() < 0.5 else random_node(rng)
    opsets = SAME_OPSETS.get(case.opset, (case.opset,))
    return replace(case, opset=int(rng.choice(opsets))), str(rng.choice(OPEN))


def sweep_conversions(cases: int, seed: int) -> Iterator[Converted]:
    """Convert random nodes and run them."""
    rng = np.random.default_rng(seed)
    drawn = [random_conversion(rng) for _ in range(cases)]
    with Child() as source, Child() as target:
        for start in range(0, cases, BATCH):
            batch = drawn[start : start + BATCH]
            answers = source.map(run_in_onnxruntime, [(case,) for case, _ in batch])
            outcomes = target.map(_convert, batch)
            for (case, left_open), answer, outcome in zip(batch, answers, outcomes, strict=True):
                yield judged(Converted(case=case, left_open=left_open, outcome=outcome), answer)


def _convert(case: OnnxCase, left_open: str) -> Outcome:
    return onnx_to_ir(case, left_open=left_open)


def judged(converted: Converted, answer: Answer) -> Converted:
    """Return the conversion with what onnxruntime's answer, or the executor, says of it."""
    case, outcome = converted.case, converted.outcome
    if not isinstance(outcome, Outcome):
        return replace(converted, judge="nobody", difference=outcome.text)
    if outcome.output is None:
        return replace(converted, judge="nobody", difference=f"refused: {outcome.form}")
    if isinstance(answer, np.ndarray) and not known_onnxruntime_bug(case) and not left_out(case):
        found = difference(case, answer, outcome.output)
        if not found or not _sums_integers(case):
            return replace(converted, judge="onnxruntime", difference=found)
    wanted = resize(case.array(), spec_of(case))
    slack = 1.0 if _sums_integers(case) else 0.0
    return replace(converted, judge="executor", difference=difference(case, wanted, outcome.output, slack))


def _sums_integers(case: OnnxCase) -> bool:
    """Say whether integers are made of weighted sums, which onnxruntime rounds in several ways (O10)."""
    return "int" in case.dtype and case.mode != "nearest"


def difference(case: OnnxCase, wanted: Array, output: Array, slack: float = 0.0) -> str:
    """Return in words how ``output`` differs: by any bit where it was copied, else by more than float32 sums do."""
    if (wanted.dtype, wanted.shape) != (output.dtype, output.shape):
        return f"{output.dtype} {list(output.shape)}, not {wanted.dtype} {list(wanted.shape)}"
    ours, theirs = output.astype(np.float64), wanted.astype(np.float64)
    limit = np.full(theirs.shape, slack)
    if "float" in case.dtype and case.mode != "nearest":
        tolerance = TOLERANCE * max(1.0, magnitude(wanted)) * (20 if magnifies(spec_of(case)) else 1)
        limit = tolerance + LAST_PLACE.get(case.dtype, 0.0) * np.abs(theirs)
    differing = np.argwhere(np.abs(ours - theirs) > limit)
    if not len(differing):
        return ""
    index = tuple(differing[0])
    largest = np.abs(ours - theirs).max()
    return f"{len(differing)} of {ours.size}, by up to {largest:.3g}, first {ours[index]}, not {theirs[index]}"


def conversions_table(conversions: Sequence[Converted]) -> str:
    """Return how many conversions became what, and who found them equal."""
    rows = [("form", "left open", "grade", "conversions", "as onnxruntime", "as executor", "differing")]
    kinds = Counter((each.form, each.left_open, each.grade) for each in conversions)
    for kind in sorted(kinds):
        those = [each for each in conversions if (each.form, each.left_open, each.grade) == kind]
        rows.append((*kind, *_counts(those)))
    rows.append(("all", "", "", *_counts(conversions)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _counts(conversions: Sequence[Converted]) -> tuple[str, str, str, str]:
    judges = Counter(each.judge for each in conversions if not each.difference)
    differing = sum(bool(each.difference) for each in conversions)
    return str(len(conversions)), str(judges["onnxruntime"]), str(judges["executor"]), str(differing)
