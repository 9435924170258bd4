"""Inputs to verify on: what numbers mean, lengths, images, several files; and outputs of which they tell nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset13 as ops
from openvino.preprocess import PrePostProcessor
from PIL import Image

import ir_interp
from ir_interp import Images, IrInterpError, SpecError
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.plain_runs import inputs
from tests.support.runtimes import Array


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def given(model: Path, **options: Any) -> dict[str, Array]:
    """Return what a model is first run on: what a reference is asked for."""
    drawn: list[tuple[Array, ...]] = []

    def reference(*arrays: Array) -> Array:
        drawn.append(arrays)
        raise EndError

    with pytest.raises((EndError, IrInterpError)) as caught:
        ir_interp.compare(model, reference=reference, **options)
    if not drawn:
        raise caught.value
    return dict(zip(inputs(model), drawn[0], strict=True))


class EndError(Exception):
    """Nothing more is to be run."""


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ('(float[1,2,8,6] x, int64[4] z) => (float[k,l,m,n] y) { y = Resize (x, "", "", z) }', "z", [1, 2, 12, 9]),
        ('(float[1,2,8,6] x, float[4] s) => (float[k,l,m,n] y) { y = Resize (x, "", s) }', "s", [1, 1, 1.5, 1.5]),
        (
            """(float[1,2,8,6] x, int32[2] z) => (float[k,l,m,n] y) <int64[2] first = {1, 2}> {
                 w = Cast <to = 7> (z) all = Concat <axis = 0> (first, w) y = Resize (x, "", "", all) }""",
            "z",
            [12, 9],
        ),
        ("(int64[2] i, float[3,2] x) => (float[k,l] y) { y = Reshape (x, i) }", "i", [3, 2]),
        ("(float[9] x, int64[1] k) => (float[n] y, int64[n] i) { y, i = TopK (x, k) }", "k", [3]),
        ("(float[1,3,32,48] x, float[1,2] im_shape) => (float[n,m] y) { y = Mul (im_shape, im_shape) }", None, None),
    ],
)
def test_what_numbers_are(text: str, name: str | None, wanted: list[float] | None) -> None:
    found = given(save_model(Path("a.onnx"), f"g {text}"))
    if name is None:
        assert found["im_shape"].tolist() == [[32, 48]]
    else:
        assert found[name].tolist() == wanted


def test_indices_lie_in_what_they_index() -> None:
    text = "g (int64[1,40] tokens) => (float[1,40,2] y) <float[9,2] w = {" + ",".join("0" * 18) + "}> "
    save_model(Path("a.onnx"), text + "{ y = Gather (w, tokens) }")
    tokens = given(Path("a.onnx"))["tokens"]
    assert (tokens.min(), tokens.max()) == (0, 8)


def _with_sizes(path: Path, *, by_scales: bool = False) -> Path:
    x = ops.parameter([1, 2, 8, 6], np.float32, name="x")
    z = ops.parameter([2], np.float32 if by_scales else np.int64, name="z")
    mode = "scales" if by_scales else "sizes"
    y = ops.interpolate(x, z, "linear_onnx", mode, axes=ops.constant(np.array([2, 3])))
    ov.save_model(ov.Model([y], [x, z], "net"), path)
    return path


@pytest.mark.parametrize("by_scales", [False, True])
def test_sizes_and_scales_of_an_ir(by_scales: bool) -> None:
    model = _with_sizes(Path("a.xml"), by_scales=by_scales)
    assert given(model)["z"].tolist() == ([1.5, 1.5] if by_scales else [12, 9])
    verification = ir_interp.convert(model, "a.onnx").verification
    assert verification is not None
    assert (verification.note, verification.is_conclusive) == ("", True)


def test_sizes_of_a_padded_axis_take_in_the_pads() -> None:
    """A single row of a padded axis may be a pad, and then the output is constant."""
    x, z = ops.parameter([-1, -1, -1], np.float32, name="x"), ops.parameter([3], np.int64, name="z")
    axes = ops.constant(np.array([0, 1, 2]))
    stated = {"coordinate_transformation_mode": "align_corners", "pads_begin": [1, 2, 1], "pads_end": [2, 3, 1]}
    y = ops.interpolate(x, z, "linear_onnx", "sizes", axes=axes, **stated)
    ov.save_model(ov.Model([y], [x, z], "net"), "a.xml")
    assert given(Path("a.xml"))["z"].tolist()[:2] == [1 + 3, 64 + 5]
    verification = ir_interp.convert("a.xml", "a.onnx").verification
    assert verification is not None
    assert verification.is_conclusive


def _picture(name: str, *, seed: int = 0, size: tuple[int, int] = (8, 6)) -> Array:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3)).astype(np.uint8)
    Image.fromarray(pixels).save(name)
    return pixels


def _taking(shape: str, path: str = "a.onnx") -> Path:
    return save_model(Path(path), f"g (float[{shape}] x) => (float[{shape}] y) {{ y = Identity (x) }}")


def test_an_image_as_an_input() -> None:
    pixels = _picture("x.png").astype(np.float32)
    files = {"x": Path("x.png")}
    assert np.array_equal(given(_taking("1,3,6,8"), inputs=files)["x"], pixels.transpose(2, 0, 1)[None])
    assert np.array_equal(given(_taking("1,6,8,3"), inputs=files)["x"], pixels[None])
    images = Images(mean=(1, 2, 3), scale=(2,), bgr=True, layout="nhwc")
    assert np.array_equal(
        given(_taking("1,6,8,c"), inputs=files, images=images)["x"][0], (pixels[:, :, ::-1] - [1, 2, 3]) / 2
    )
    grey = given(_taking("1,1,6,8"), inputs=files)["x"]
    assert np.array_equal(grey[0, 0], np.asarray(Image.open("x.png").convert("L")))
    assert np.array_equal(given(_taking("1,3,h,w"), inputs=files)["x"][0], pixels.transpose(2, 0, 1))
    assert given(_taking("1,3,h,w"), inputs=files, shapes={"x": (1, 3, 12, 9)})["x"].shape == (1, 3, 12, 9)


@pytest.mark.parametrize(
    ("shape", "problem"),
    [("1,4,6,8", "an image has 1 or 3 channels, not 4"), ("6,8", "an image does not fit this input; input 'x' is")],
)
def test_an_image_that_is_no_input(shape: str, problem: str) -> None:
    _picture("x.png")
    with pytest.raises(IrInterpError, match=problem):
        given(_taking(shape), inputs={"x": Path("x.png")})


def test_what_images_cannot_be() -> None:
    for wrong in ({"layout": "chw"}, {"mean": (1, 2)}, {"scale": (0,)}):
        with pytest.raises(SpecError):
            Images(**wrong)


SHRINKING = """g (float[1,3,h,w] x) => (float[1,3,k,l] y) <float[4] s = {1,1,2,2}> {
    p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) u = Resize <mode = "linear"> (p, "", s) y = Add (u, x) }"""


def test_sizes_of_images(capsys: pytest.CaptureFixture[str]) -> None:
    """An image is fed at its own size, is resized to a size that is asked for, and is refused at any other."""
    pixels = np.random.default_rng(0).integers(0, 256, (46, 71, 3), np.uint8)
    Image.fromarray(pixels).save("x.png")
    fixed, dynamic, even = "a.onnx", "b.onnx", "c.onnx"
    _taking("1,3,6,8", fixed)
    _taking("1,3,h,w", dynamic)
    save_model(Path(even), SHRINKING)
    for first, arguments, line in (
        (dynamic, (), "input 'x': x.png, at its own size, 46x71"),
        (dynamic, ("--shape", "1,3,32,64"), "input 'x': x.png, resized by Pillow (bilinear) from 46x71 to 32x64"),
        (fixed, (), "input 'x': x.png, resized by Pillow (bilinear) from 46x71 to 6x8"),
        (even, ("--shape", "1,3,32,64"), "input 'x': x.png, resized by Pillow (bilinear) from 46x71 to 32x64"),
    ):
        code, printed, errors = command(capsys, "compare", first, first, "--input", "x.png", *arguments)
        assert (code, printed.splitlines()[0], errors) == (0, line, "")
    code, printed, errors = command(capsys, "compare", even, even, "--input", "x.png")
    assert (code, printed) == (2, "")
    assert errors.endswith(
        "; tried on 'x' of [1, 3, 46, 71]; choose sizes that suit the model, as in --shape x:1,3,32,64\n"
    )


def test_a_folder_of_images_and_several_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    """Every file is run on: only the second shows the difference."""
    save_model(Path("a.onnx"), "g (float[1,3,6,8] x) => (float[1,3,6,8] y) { y = Identity (x) }")
    save_model(Path("b.onnx"), "g (float[1,3,6,8] x) => (float[1,3,6,8] y) <float m = {200}> { y = Min (x, m) }")
    Path("in").mkdir()
    Image.fromarray(np.arange(144, dtype=np.uint8).reshape(6, 8, 3)).save("in/1.png")
    np.save("2.npy", np.full((1, 3, 6, 8), 250, np.float32) - np.arange(8, dtype=np.float32))
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--input", "x=in")[0] == 0
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx", "--input", "x=in", "--input", "x=2.npy")
    assert code == 1
    assert "DIFFERS: largest difference 50" in printed
    Path("empty").mkdir()
    code, _, errors = command(capsys, "compare", "a.onnx", "b.onnx", "--input", "x=empty")
    said = "error: empty: no array (.npy) and no image in this folder, for input 'x'\n"
    assert (code, errors) == (2, said)


def test_the_seed() -> None:
    model = _taking("1,3,6,8")
    first, again, other = (given(model, seed=seed)["x"] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_constant_or_empty_output_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    """Other numbers are tried first: this output tells something for negative ones alone."""
    save_model(Path("a.onnx"), "g (float[9] x) => (float[9] y) <float m = {-1}> { s = Mul (x, m) y = Relu (s) }")
    save_model(Path("b.onnx"), "g (float[9] x) => (float[9] y) <float m = {-2}> { s = Mul (x, m) y = Relu (s) }")
    assert "DIFFERS" in command(capsys, "compare", "a.onnx", "b.onnx")[1]
    save_model(Path("c.onnx"), "g (float[9] x) => (float[9] y) <float m = {0}> { y = Mul (x, m) }")
    code, printed, _ = command(capsys, "compare", "c.onnx", "c.onnx")
    assert code == 1
    assert "INCONCLUSIVE: largest difference 0" in printed
    assert printed.endswith("0 of 1 outputs equal within the tolerance, 1 inconclusive\n")
    verification = ir_interp.convert("c.onnx", "c.xml").verification
    assert verification is not None
    assert verification.outputs[0].doubt == "INCONCLUSIVE: its values span 0, try other inputs"


def _with_preprocessing(path: Path) -> None:
    x = ops.parameter([1, 3, 6, 8], np.float32, name="x")
    y = ops.relu(ops.subtract(x, ops.constant(np.float32(0.1))))
    model = ov.Model([y], [x], "net")
    ov.save_model(model, "plain.xml")
    builder = PrePostProcessor(model)
    builder.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    builder.input().preprocess().convert_element_type(ov.Type.f32).mean([100.0, 110.0, 120.0]).scale(50.0)
    builder.input().model().set_layout(ov.Layout("NCHW"))
    ov.save_model(builder.build(), path)


def test_preprocessing_inside_one_of_two_models(capsys: pytest.CaptureFixture[str]) -> None:
    _with_preprocessing(Path("pre.xml"))
    _picture("x.png")
    numbers = ("--mean", "100,110,120", "--std", "50")
    for pair in (("pre.xml", "plain.xml"), ("plain.xml", "pre.xml")):
        assert command(capsys, "compare", *pair, *numbers)[::2] == (0, "")
        assert command(capsys, "compare", *pair, *numbers, "--input", "x=x.png")[::2] == (0, "")
        assert command(capsys, "compare", *pair)[::2] == (1, "")
    other = save_model(Path("o.onnx"), "g (float[1,5,6,8] x) => (float[1,5,6,8] y) { y = Identity (x) }")
    code, _, errors = command(capsys, "compare", str(other), "pre.xml")
    assert (code, errors) == (
        2,
        "error: incompatible inputs: input 'x' is float32 of shape [1, 5, 6, 8]; "
        "input 'x' is uint8 of shape [1, 6, 8, 3]\n",
    )


def test_a_dynamic_model_against_a_static_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'g (float[SHAPE] x) => (float[n,m,k,l] y) <float[4] s = {1,1,2,2}> { y = Resize (x, "", s) }'
    save_model(Path("a.onnx"), text.replace("SHAPE", "b,c,h,w"))
    save_model(Path("b.onnx"), text.replace("SHAPE", "2,3,5,7"))
    ir_interp.convert("b.onnx", "b.xml", verify=False)
    for pair in (("a.onnx", "b.xml"), ("b.xml", "a.onnx")):
        code, printed, errors = command(capsys, "compare", *pair)
        assert (code, errors) == (0, "")
        assert "2x3x10x14" in printed


def _pooled(path: Path, kernel: int) -> Path:
    """Write a model that leaves its own domain where its input is shorter than a pool that the exporter baked in."""
    pool = f"p = AveragePool <kernel_shape = [{kernel}, {kernel}], strides = [{kernel}, {kernel}]> (x)"
    text = f"g (float[b,3,h,w] x) => (float[b,c,k,l] y) <float[4] s = {{1,1,2,2}}> {{ {pool} y = Resize (p, , s) }}"
    return save_model(path, text)


def test_the_batch_of_a_state_is_that_of_other_inputs() -> None:
    outputs = "float[a,b,c] y, float[d,e,f] z, float[o,p,q] v"
    nodes = "y = Identity (x) z = Identity (h) v = Identity (w)"
    text = f"g (float[n,t,4] x, float[2,n,3] h, float[5,n,k] w) => ({outputs}) {{ {nodes} }}"
    found = given(save_model(Path("a.onnx"), text))
    assert [found[name].shape for name in "xhw"] == [(1, 64, 4), (2, 1, 3), (5, 1, 64)]


def test_lengths_that_the_source_can_run_are_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """The pool is longer than 64, of which onnxruntime says nothing; OpenVINO cannot run that."""
    _pooled(Path("a.onnx"), 100)
    assert command(capsys, "compare", "a.onnx", "a.onnx")[0] == 0
    verification = ir_interp.convert("a.onnx", "a.xml").verification
    assert verification is not None
    assert verification.note.startswith("a.xml does not run: ")
    assert verification.note.endswith(", on x [1, 3, 64, 64] (uniform values)")


def test_lengths_that_all_fail_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    text = "g (float[b,3,h,w] x) => (float[c,k] y) <int64[2] z = {3, 7}> { y = Reshape (x, z) }"
    save_model(Path("a.onnx"), text)
    code, _, errors = command(capsys, "compare", "a.onnx", "a.onnx")
    assert code == 2
    assert errors.startswith("error: a.onnx does not run: ")
    assert "; tried on 'x' of [1, 3, 64, 64], [1, 3, 112, 112], " in errors
    assert errors.endswith("; choose sizes that suit the model\n")
    assert command(capsys, "compare", "a.onnx", "a.onnx", "--shape", "x:1,3,1,7")[0] == 0


def test_a_hint_in_the_file_is_taken() -> None:
    model = onnx.load(_taking("b,3,h,w"))
    model.metadata_props.append(onnx.StringStringEntryProto(key="imgsz", value="[96, 160]"))
    onnx.save(model, "hint.onnx")
    assert given(Path("hint.onnx"))["x"].shape == (1, 3, 96, 160)
    assert given(_taking("b,c,h,w"))["x"].shape == (1, 3, 64, 64)


def test_channels_are_those_that_a_convolution_takes() -> None:
    text = "g (float[b,c,h,w] x) => (float[b,d,k,l] y) <float[1,5,1,1] k1 = {1,2,3,4,5}> { y = Conv (x, k1) }"
    assert given(save_model(Path("a.onnx"), text))["x"].shape == (1, 5, 64, 64)
