"""Calls of image libraries as translations: read back from what is written, and refused where bytes would differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

import ir_interp
from ir_interp import Alpha, Arithmetic, InexactError, Sizes
from ir_interp.converters import dialects
from ir_interp.converters.onnx.resize_form import resize_model, write_resize
from ir_interp.libraries import get, names
from ir_interp.plan.taps import axis_taps, plan
from ir_interp.translation.dialect import Context
from ir_interp.translation.meaning import differences, meaning
from ir_interp.translation.translate import Grade, bound_within, write

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


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("call", "onnx", "openvino"),
    [
        ("pillow@12:bicubic", 2, 2),
        ("pillow@13:bicubic", 59, 59),  # which filters the height first here
        ("opencv:linear", 2, 1),
        ("opencv:cubic,ipp=false", 1, 1),
        ("torch:bilinear,antialias=true", 2, 2),
        ("torch:bicubic", 52, 52),  # rounds between its axes, and cuts there
    ],
)
def test_eight_bit_sums_are_within_a_bound(call: str, onnx: int, openvino: int) -> None:
    for target, wanted in (("onnx", onnx), ("openvino", openvino)):
        made = write(of_nchw(call), dialects.get(target), shape=SHAPE, dtype="uint8")
        assert (made.grade, made.within) == (Grade.INTEGERS_WITHIN, wanted)
        assert made.exactness == f"integers within {wanted}"
        with pytest.raises(InexactError):
            write(of_nchw(call), dialects.get(target), shape=(1, 3, None, None), dtype="uint8")


@pytest.mark.parametrize("target", ["onnx", "openvino", "tensorrt", "tflite"])
@pytest.mark.parametrize("call", ["opencv:area", "pillow:lanczos"])
def test_other_pixels_are_refused(call: str, target: str) -> None:
    with pytest.raises(InexactError):
        write(of_nchw(call), dialects.get(target), shape=SHAPE, dtype="uint8")


def test_of_floats_they_are_the_runtimes_own() -> None:
    made = write(of_nchw("pillow:bicubic"), dialects.get("onnx"), shape=SHAPE, dtype="float32")
    assert made.attributes["antialias"]
    assert made.attributes["cubic_coeff_a"] == -0.5
    with pytest.raises(InexactError) as refusal:
        write(of_nchw("pillow:lanczos"), dialects.get("onnx"), shape=SHAPE, dtype="float32")
    assert "kernel linear (needed: lanczos)" in str(refusal.value)


def test_what_differs_is_named() -> None:
    spec = of_nchw("pillow@12:bilinear")
    assert {each.part for each in differences(spec, replace(spec, integers=None), SHAPE)} == {"integers"}
    assert {each.part for each in differences(of_nchw("pillow@12:box"), of_nchw("pillow@13:box"))} == {"integers"}
    lanczos = of_nchw("pillow@12:lanczos")
    wider = replace(lanczos, kernel=ir_interp.Lanczos(radius=4, antialias="shrinking"))  # type: ignore[arg-type]
    assert "radius" in {each.part for each in differences(lanczos, wider)}


def test_nearest_of_a_library_is_not_that_of_a_runtime_for_every_shape() -> None:
    spec = of_nchw("pillow:nearest")
    exact = replace(spec, arithmetic=Arithmetic.EXACT)
    made = write(spec, dialects.get("tflite"), dtype="uint8") if spec.axes == (1, 2) else None
    assert made is None
    assert meaning(spec) == meaning(exact)
    translated = write(spec, dialects.get("onnx"), shape=(1, 3, None, None), dtype="uint8")
    assert translated.grade is Grade.EXACT_BUT_TIES


def test_models_of_one_call(tmp_path: Path) -> None:
    """In onnxruntime, a Resize or a subgraph lies as near to the library's bytes as its grade says."""
    for name, grade in (
        ("pillow@13:bicubic", "integers within 59"),
        ("pillow@13:lanczos", "exact for this shape"),
        ("opencv:linear", "integers within 2"),
        ("opencv:lanczos4", "exact for this shape"),
    ):
        (op,) = ir_interp.load(name)
        shaped = replace(op, spec=of_nchw(name), shape=SHAPE, dtype="uint8")
        row = write_resize(shaped, tmp_path / "a.onnx")
        assert row.exactness == grade
        session = onnxruntime.InferenceSession(tmp_path / "a.onnx", providers=["CPUExecutionProvider"])
        for x in extremes(np.random.default_rng(0), SHAPE):
            apart = np.abs(session.run(None, {"x": x})[0].astype(int) - ir_interp.resize(x, shaped.spec))
            assert apart.max() <= row.within
        resize_model(replace(shaped, dtype="float32"))
    with pytest.raises(InexactError, match="integers are summed as weights of 22 bits"):
        resize_model(replace(shaped, spec=replace(of_nchw("pillow@13:bicubic"), before=ir_interp.Reduce(gap=1))))


def extremes(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[NDArray[np.uint8]]:
    """Yield random images, such of the least and the largest values, and such whose axes change sign one by one."""
    rows, columns = rng.integers(0, 2, (*shape[:-1], 1)), rng.integers(0, 2, (*shape[:-2], 1, shape[-1]))
    for values in (rng.integers(0, 256, shape), rng.integers(0, 2, shape) * 255, (rows ^ columns) * 255):
        yield np.broadcast_to(values, shape).astype(np.uint8)


BOUNDED = (
    "pillow@12:bilinear", "pillow@13:bicubic", "pillow:lanczos", "pillow@13:mks2021", "opencv:linear",
    "opencv:linear_exact", "opencv:lanczos4", "opencv:area", "torch:bicubic", "torch:bilinear,antialias=true",
)  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("call", BOUNDED)
def test_bounds_hold(call: str) -> None:
    """Against sums that are rounded once, and against those of runtimes, on images at their worst for one output."""
    rng = np.random.default_rng(len(call))
    spec, largest = of_nchw(call), 0
    for arithmetic in (Arithmetic.EXACT, Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO):
        for _ in range(6):
            height, width, rows, columns = map(int, rng.integers(2, 40, 4))
            shape = (1, 1, height, width)
            mine = replace(spec, target=Sizes((rows, columns)))
            once = replace(mine, integers=None, arithmetic=arithmetic)
            bound = bound_within(mine, once, shape, "uint8")
            if bound is None:
                assert call in (
                    "opencv:area",
                    "pillow@13:mks2021",
                )  # whose pixels are others as the library weighs them
                continue
            for x in (*extremes(rng, shape), worst(mine, shape, rng)):
                apart = np.abs(ir_interp.resize(x, mine).astype(int) - ir_interp.resize(x, once)).max()
                largest = max(largest, int(apart))
                assert apart <= bound, (arithmetic, shape, mine.target)
    assert largest  # else nothing was shown


def worst(spec: ir_interp.ResizeSpec, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return the largest value where one output weighs a pixel by more than 0, and the least elsewhere."""
    bound = plan(spec, shape)
    signs = {2: np.ones(shape[2]), 3: np.ones(shape[3])}
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        assert taps.weights is not None
        row = rng.integers(axis.out_size)
        signs[axis.axis] = np.zeros(axis.in_size)
        np.add.at(signs[axis.axis], taps.indices[row], taps.weights[row])
    return np.where(np.outer(np.sign(signs[2]), signs[3]) > 0, 255, 0).astype(np.uint8).reshape(shape)


@pytest.mark.parametrize(("mode", "channels", "gap"), [("RGBA", 4, None), ("RGB", 3, 2.0)])
def test_bounds_of_alpha_and_after_blocks(mode: str, channels: int, gap: float | None) -> None:
    """Two versions of Pillow: of colours that are divided by their alpha, and of blocks that both average."""
    rng, largest = np.random.default_rng(0), 0
    pair = [ir_interp.spec("pillow", version=v, mode=mode, reducing_gap=gap) for v in (12, 13)]
    for height, width, rows, columns in ((90, 70, 7, 60), (100, 70, 9, 68), (70, 80, 9, 9)):
        old, new = (replace(each, target=Sizes((rows, columns))) for each in pair)
        bound = bound_within(old, new, (height, width, channels), "uint8")
        x = rng.integers(0, 256, (height, width, channels)).astype(np.uint8)
        apart = int(np.abs(ir_interp.resize(x, old).astype(int) - ir_interp.resize(x, new)).max())
        assert bound is not None
        assert apart <= bound
        largest = max(largest, apart)
    assert largest  # else nothing was shown


def test_what_bounds_are_not_known_of() -> None:
    spec = replace(of_nchw("pillow:bicubic"), target=Sizes((9, 40)))
    assert bound_within(spec, spec, SHAPE, "float32") is None
    assert bound_within(spec, replace(spec, kernel=ir_interp.Linear()), SHAPE, "uint8") is None
    reduced = replace(spec, target=Sizes((3, 4)), before=ir_interp.Reduce(gap=1))
    assert bound_within(reduced, replace(reduced, before=None), SHAPE, "uint8") is None
    assert bound_within(reduced, replace(reduced, before=ir_interp.Reduce(gap=2)), SHAPE, "uint8") is None
    assert bound_within(replace(spec, alpha=Alpha.PREMULTIPLIED, axes=(1, 2)), spec, SHAPE, "uint8") is None
    assert bound_within(of_nchw("opencv:nearest"), of_nchw("opencv:nearest"), SHAPE, "uint8") == 0
