"""Random resizes, translated whole and run where they arrive.

Every result that is called exact must reproduce its source in the source's own runtime; the rest must be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from ir_interp import resize
from tests.support.configurations import (
    ONNX_TYPES,
    OnnxCase,
    known_onnxruntime_bug,
    random_onnx_case,
    run_in_onnxruntime,
)
from tests.support.runtimes import Child
from tests.support.translations import OPEN, Outcome, onnx_to_ir
from tests.support.verdicts import magnitude, spec_of
from tests.sweeps import ir_to_onnx, onnx_to_ir as any_onnx_to_ir

CASES = 3  # of each; `python -m tests.sweeps.onnx_to_ir` and `ir_to_onnx` run thousands
EXACT = ("exact", "exact for this shape", "exact, in several operations")
TOLERANCE = {"float32": 2e-5, "float16": 1e-3}  # relative to the largest value, or to 1


def _draw(draw: Callable[[Any], Any], bug: Callable[[Any], str | None], seed: int, dtypes: Sequence[str]) -> list[Any]:
    rng = np.random.default_rng(seed)
    cases = (draw(rng) for _ in range(10 * CASES))
    return [case for case in cases if not bug(case) and case.dtype in dtypes][:CASES]


def _check(case: OnnxCase, wanted: Any, outcome: Any) -> None:
    assert isinstance(wanted, np.ndarray), f"{case}: {wanted}"
    assert isinstance(outcome, Outcome), f"{case}: {outcome}"
    if outcome.output is None:
        return
    said = f"{case}: {outcome.form}"
    if case.mode == "nearest" and outcome.grade != "exact but for float32 ties":
        np.testing.assert_array_equal(outcome.output, wanted, said, strict=True)
    elif case.mode != "nearest":
        limit = TOLERANCE.get(case.dtype, 1) * max(1.0, magnitude(wanted))
        np.testing.assert_allclose(
            outcome.output.astype(np.float64), wanted.astype(np.float64), rtol=0, atol=limit, err_msg=said
        )


@pytest.fixture(scope="module")
def runtimes() -> Iterator[tuple[Child, Child]]:
    """Return processes for onnxruntime and OpenVINO, which take seconds to start."""
    with Child() as source, Child() as target:
        yield source, target


@pytest.mark.parametrize("left_open", OPEN)
def test_onnx_to_ir(left_open: str, runtimes: tuple[Child, Child]) -> None:
    """Weighted integers are compared with this program's executor: onnxruntime rounds them otherwise (O10)."""
    cases = _draw(random_onnx_case, known_onnxruntime_bug, 1 + OPEN.index(left_open), ONNX_TYPES)
    source, target = runtimes
    answers = source.map(run_in_onnxruntime, [(case,) for case in cases])
    outcomes = target.map(partial(onnx_to_ir, left_open=left_open), [(case,) for case in cases])
    for case, answer, outcome in zip(cases, answers, outcomes, strict=True):
        copied = case.mode == "nearest" or "float" in case.dtype
        _check(case, answer if copied else resize(case.array(), spec_of(case)), outcome)
        assert isinstance(outcome, Outcome)
        assert outcome.grade in (EXACT if copied else (*EXACT, "integers within 1 per axis")), case


def test_any_onnx_to_ir() -> None:
    """Any axes and element types too, whether onnxruntime runs them or not."""
    differing = [str(each) for each in any_onnx_to_ir.sweep(CASES, seed=1) if each.difference]
    assert not differing, "\n".join(differing)


def test_ir_to_onnx() -> None:
    """Lengths, sizes and scales of run time too; as OpenVINO's CPU plugin computes even where it is wrong."""
    differing = [str(each) for each in ir_to_onnx.sweep(CASES, seed=2) if each.difference]
    assert not differing, "\n".join(differing)
