"""Random resizes, translated whole and run where they arrive.

Every result that is called exact must reproduce its source in the source's own runtime; the rest must be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from configurations import (
    IrCase,
    OnnxCase,
    known_onnxruntime_bug,
    known_openvino_bug,
    random_ir_case,
    random_onnx_case,
    run_in_onnxruntime,
    run_in_openvino,
)
from runtimes import Array, Child, Crashed, Refused
from translations import Outcome, ir_to_onnx, onnx_to_ir

CASES = 150
_TOLERANCE = {"float32": 1e-4, "float16": 1e-2}  # of float32 coordinates and of rounding to half precision


def _draw(draw: Callable[[Any], Any], bug: Callable[[Any], str | None], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    cases = (draw(rng) for _ in range(10 * CASES))
    return [case for case in cases if not bug(case) and case.dtype in ("float32", "float16")][:CASES]


def _check(case: OnnxCase | IrCase, wanted: Any, outcome: Any) -> None:
    """Floats alone are compared here: integers the two runtimes round differently (test_onnxruntime)."""
    assert not isinstance(outcome, Crashed | Refused), f"{case}: {outcome}"
    assert not isinstance(wanted, Crashed | Refused), f"{case}: {wanted}"
    assert isinstance(outcome, Outcome)
    if outcome.output is None:
        return
    assert outcome.output.shape == wanted.shape, f"{case}: {outcome.form}"
    if case.mode == "nearest" and outcome.grade != "exact but for float32 ties":
        np.testing.assert_array_equal(outcome.output, wanted, err_msg=f"{case}: {outcome.form}")
    elif case.mode != "nearest":
        limit = _TOLERANCE[case.dtype] * max(1.0, _largest(wanted))
        np.testing.assert_allclose(outcome.output, wanted, rtol=0, atol=limit, err_msg=f"{case}: {outcome.form}")


def _largest(array: Array) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))


@pytest.mark.parametrize("constant", [True, False], ids=["known shape", "open shape"])
def test_onnx_to_ir(constant: bool) -> None:
    cases = _draw(random_onnx_case, known_onnxruntime_bug, seed=1)
    with Child() as source, Child() as target:
        wanted = source.map(run_in_onnxruntime, [(case,) for case in cases])
        outcomes = target.map(partial(onnx_to_ir, constant=constant), [(case,) for case in cases])
    for case, expected, outcome in zip(cases, wanted, outcomes, strict=True):
        _check(case, expected, outcome)
    translated = [outcome for outcome in outcomes if isinstance(outcome, Outcome) and outcome.output is not None]
    assert len(translated) > CASES / 3


def test_ir_to_onnx() -> None:
    cases = _draw(random_ir_case, known_openvino_bug, seed=2)
    with Child() as source, Child() as target:
        wanted = source.map(run_in_openvino, [(case,) for case in cases])
        outcomes = target.map(ir_to_onnx, [(case,) for case in cases])
    ran = 0
    for case, expected, outcome in zip(cases, wanted, outcomes, strict=True):
        if isinstance(outcome, Outcome) and outcome.note and outcome.output is None:
            continue  # valid ONNX that onnxruntime does not run, and said so
        _check(case, expected, outcome)
        ran += isinstance(outcome, Outcome) and outcome.output is not None
    assert ran > CASES / 3
