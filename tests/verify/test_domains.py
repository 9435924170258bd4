"""Models that are not defined on the usual random inputs run on others, and the report names these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_interp
from ir_interp import VerificationError
from tests.support.graphs import save_model


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def resize_after(nodes: str, inputs: str = "", size: str = "8") -> Path:
    """Write a model that computes r from x, [1, 1, size, 8], and resizes it."""
    text = f"""g (float[1,1,{size},8] x{inputs}) => (float[1,1,h,w] y) <float[4] s = {{1,1,2,2}}, float most = {{0.2}},
        float five = {{5}}, float top = {{25}}, float fifty = {{50}}, float minus = {{-1}}, float nought = {{0}}> {{
        {nodes}
        y = Resize <mode: string = "linear"> (r, "", s)
    }}"""
    return save_model(Path("a.onnx"), text)


def note(source: Path, *, more_shapes: bool = False, **options: object) -> str:
    verification = ir_interp.convert(source, "a.xml", **options).verification  # type: ignore[arg-type]
    assert verification is not None
    assert verification.is_conclusive
    assert bool(verification.more_shapes) == more_shapes
    return verification.note


_BETWEEN = """a = Sub ({low}, five) b = Sqrt (a) c = Sub (top, {low}) d = Sqrt (c)
    e = Sub ({high}, {low}) f = Sub (e, fifty) g = Sqrt (f) h = Add (b, d) i = Add (h, g) r = Mul (x, i)"""


@pytest.mark.parametrize(
    ("nodes", "inputs", "values"),
    [
        ("a = Sub (most, x) r = Sqrt (a)", "", "small positive"),
        (_BETWEEN.format(low="p", high="q"), ", float p, float[1] q", "ascending scalar"),
        (_BETWEEN.format(low="q", high="p"), ", float p, float[1] q", "descending scalar"),
    ],
)
@pytest.mark.parametrize("size", ["8", "n"])
def test_a_model_runs_where_it_is_defined(nodes: str, inputs: str, values: str, size: str) -> None:
    source = resize_after(nodes, inputs, size)
    reported = note(source, more_shapes=size == "n")
    assert "NaN on uniform" in reported
    assert f"both models ran on {values} values" in reported
    compared = ir_interp.compare(source, "a.xml")
    assert compared.passes
    assert any(values in text for text in compared.notes)


def test_a_defined_model_has_no_such_note() -> None:
    assert "NaN" not in note(resize_after("r = Sqrt (x)"))


def test_a_default_of_an_input_is_what_both_models_run_with() -> None:
    """It is both an input and an initialiser, which runtimes take unless they are given another."""
    source = resize_after("a = Sub (x, low) r = Sqrt (a)", ", float low = {-3}")
    assert "NaN" not in note(source)


_NOWHERE = "a = Mul (x, x) b = Sub (minus, a) c = Sqrt (b) d = Max (c, nought) r = Mul (d, x)"


def test_a_model_that_is_defined_nowhere_asks_for_inputs() -> None:
    """A NaN is no number to OpenVINO's maximum, and stays one in onnxruntime's."""
    with pytest.raises(
        VerificationError, match=r"NaN on all random inputs .*uniform.*small positive.*inputs="
    ) as caught:
        ir_interp.convert(resize_after(_NOWHERE), "a.xml")
    assert "nan" not in str(caught.value)
    assert not Path("a.xml").exists()


def test_inputs_of_the_user_are_never_replaced() -> None:
    x = np.full((1, 1, 8, 8), 0.5, np.float32)
    np.save("x.npy", x)
    with pytest.raises(VerificationError, match="is NaN in one model only"):
        ir_interp.convert(resize_after(_NOWHERE), "a.xml", inputs={"x": "x.npy"})
