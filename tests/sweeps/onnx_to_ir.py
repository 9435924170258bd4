"""Convert random ONNX resizes of every kind to IR, and compare what OpenVINO computes with what they mean.

The judge is onnxruntime where it runs the node and is not known to be wrong there; else this program's executor.
``python -m tests.sweeps.onnx_to_ir --cases 5000`` exits with 1 where anything differs. With ``--verified`` conversions
are verified, every dimension is dynamic, and a refusal counts as a difference.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from tests.support.configurations import OnnxCase, run_in_onnxruntime
from tests.support.conversions import (
    BATCH,
    FEW,
    SECONDS,
    VERIFIED,
    Converted,
    batches,
    judged,
    random_conversion,
    report,
    table,
)
from tests.support.runtimes import Child
from tests.support.translations import OPEN, Outcome, onnx_to_ir


def sweep(cases: int, seed: int, verified: bool = False) -> Iterator[Converted]:
    """Convert random nodes and run them."""
    rng = np.random.default_rng(seed)
    drawn = [random_conversion(rng, VERIFIED if verified else OPEN) for _ in range(cases)]
    with Child() as source, Child(timeout=SECONDS) as target:
        for batch in batches(drawn, FEW if verified else BATCH):
            answers = source.map(run_in_onnxruntime, [(case,) for case, _ in batch])
            outcomes = target.map(_convert, [(*each, verified) for each in batch])
            for (case, left_open), answer, outcome in zip(batch, answers, outcomes, strict=True):
                yield judged(Converted(case=case, left_open=left_open, outcome=outcome), answer)


def _convert(case: OnnxCase, left_open: str, verified: bool) -> Outcome:
    return onnx_to_ir(case, left_open=left_open, verify=verified)


def _kind(converted: Converted) -> tuple[str, str, str]:
    outcome = converted.outcome
    if not isinstance(outcome, Outcome):
        return type(outcome).__name__, converted.left_open, "none"
    return _form(outcome.form), converted.left_open, outcome.grade


def _form(form: str) -> str:
    if form.startswith("openvino"):
        return "Interpolate"
    return form.partition(" along")[0] + (" at run time" if form.endswith("at run time") else "")


def _table(conversions: Sequence[Converted]) -> str:
    return table(conversions, ("form", "left open", "grade"), _kind)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print every difference, and a table."""
    return report(__doc__, sweep, _table, arguments, can_verify=True)


if __name__ == "__main__":
    sys.exit(main())
