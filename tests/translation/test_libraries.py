"""Calls of image libraries as translations: read back from what is written, and refused where bytes would differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ir_interp
from ir_interp import Arithmetic, InexactError, Sizes
from ir_interp.converters import registry
from ir_interp.library import get, names
from ir_interp.translation.dialect import Context
from ir_interp.translation.meaning import differences, meaning
from ir_interp.translation.translate import Grade, write

SHAPE = (1, 3, 20, 30)


@pytest.mark.parametrize("name", names())
def test_every_call_is_written_back(name: str) -> None:
    dialect = get(name).dialect
    for version in dialect.versions:
        shape = {"torch": SHAPE}.get(name, (20, 30, 3))
        number = dialect.numbers["sizes"][0]
        offers = dialect.offers({number: (9, 40)}, Context(version=version, shape=shape))
        assert len(offers) >= 2
        for spec in offers:
            if len(spec.axes or ()) == 2:
                made = write(spec, dialect, version=version, shape=shape)
                assert made.grade is Grade.EXACT
                assert meaning(made.spec, shape) == meaning(spec, shape)


def of_nchw(text: str) -> ir_interp.ResizeSpec:
    (op,) = ir_interp.load(text)
    return replace(op.spec, axes=(2, 3), target=Sizes((9, 40)))


@pytest.mark.parametrize("target", ["onnx", "openvino", "tensorrt", "tflite"])
@pytest.mark.parametrize("call", ["pillow:bicubic", "opencv:linear", "opencv:area", "torch:bilinear,antialias=true"])
def test_eight_bit_sums_are_refused(call: str, target: str) -> None:
    with pytest.raises(InexactError):
        write(of_nchw(call), registry.get(target), shape=SHAPE, dtype="uint8")


def test_of_floats_they_are_the_runtimes_own() -> None:
    made = write(of_nchw("pillow:bicubic"), registry.get("onnx"), shape=SHAPE, dtype="float32")
    assert made.attributes["antialias"]
    assert made.attributes["cubic_coeff_a"] == -0.5
    with pytest.raises(InexactError) as refusal:
        write(of_nchw("pillow:lanczos"), registry.get("onnx"), shape=SHAPE, dtype="float32")
    assert "kernel (lanczos" in str(refusal.value)


def test_what_differs_is_named() -> None:
    spec = of_nchw("pillow@12:bilinear")
    assert {each.part for each in differences(spec, replace(spec, integers=None), SHAPE)} == {"integers"}
    assert {each.part for each in differences(of_nchw("pillow@12:box"), of_nchw("pillow@13:box"))} == {"integers"}
    lanczos = of_nchw("opencv:lanczos4")
    wider = replace(lanczos, kernel=ir_interp.Lanczos(radius=3))
    assert "radius" in {each.part for each in differences(lanczos, wider)}


def test_nearest_of_a_library_is_not_that_of_a_runtime_for_every_shape() -> None:
    spec = of_nchw("pillow:nearest")
    exact = replace(spec, arithmetic=Arithmetic.EXACT)
    made = write(spec, registry.get("tflite"), dtype="uint8") if spec.axes == (1, 2) else None
    assert made is None
    assert meaning(spec) == meaning(exact)
    translated = write(spec, registry.get("onnx"), shape=(1, 3, None, None), dtype="uint8")
    assert translated.grade is Grade.EXACT_BUT_TIES


def test_decomposed_integers_are_refused(tmp_path: object) -> None:
    from ir_interp.converters.onnx.one_resize import one_op_model

    (op,) = ir_interp.load("pillow:bicubic")
    shaped = replace(op, spec=of_nchw("pillow:bicubic"), shape=SHAPE, dtype="uint8")
    with pytest.raises(InexactError, match="integers are summed as weights of 22 bits"):
        one_op_model(shaped)
    one_op_model(replace(shaped, dtype="float32"))
