"""Every rung of the ladder alone: what it proves, and when it leaves the decision to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from ir_interp import VerificationError
from ir_interp.converters.verify import ladder, model_outputs, tolerances
from ir_interp.converters.verify.ladder import over_inputs
from ir_interp.converters.verify.model_outputs import ModelOutputs
from ir_interp.converters.verify.tolerances import compare


def outputs(expected: Any, actual: Any) -> ModelOutputs:
    """Return one output of two models that nothing runs."""
    expected, actual = ([("y", np.array(each, np.float32))] for each in (expected, actual))
    return ModelOutputs(
        run=cast("Any", None), source=Path("a.onnx"), result=Path("a.xml"), expected=expected, actual=actual
    )


def test_the_same_values_are_exact() -> None:
    proof = ladder.prove_exact(outputs([1, np.inf, np.nan], [1, np.inf, np.nan]))
    assert proof is not None
    assert proof.outputs[0].absolute == 0
    assert ladder.prove_exact(outputs([1, 2], [1, np.nextafter(np.float32(2), np.float32(3))])) is None


def test_sums_in_another_order_differ_by_the_tolerance_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "_quantises", lambda *_: False)
    monkeypatch.setattr(model_outputs, "without_rounded_states", lambda outputs: (outputs, ""))
    near = outputs([0, 1000], [0, 1000 * (1 + 0.9 * tolerances.OUTPUT)])
    assert ladder.prove_exact(near) is None
    assert ladder.prove_reordered_sums(near) == ladder.verified(near)
    assert ladder.prove_reordered_sums(outputs([0, 1000], [0, 1000 * (1 + 1.1 * tolerances.OUTPUT)])) is None


def test_models_have_as_many_outputs() -> None:
    with pytest.raises(VerificationError, match=r"^a\.xml has 0 outputs, its source 1$"):
        ModelOutputs(
            run=cast("Any", None), source=Path("a.onnx"), result=Path("a.xml"), expected=[("y", np.ones(1))], actual=[]
        )


def test_one_conclusive_input_is_enough() -> None:
    constant, varied = np.full(3, 5, np.float32), np.array([0, 1, 2], np.float32)
    merged = over_inputs([compare("y", constant, constant), compare("y", varied, varied)])
    assert not compare("y", constant, constant).is_conclusive
    assert merged.is_conclusive
