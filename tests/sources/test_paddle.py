"""Paddle programs: operations read as resizes, refusals, and programs proven in Paddle."""

from __future__ import annotations

import importlib.util
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.frameworks.paddle.conversion import intermediate
from ir_interp.converters.frameworks.paddle.reading import described, resize, write_skeleton
from ir_interp.converters.reports import FormPolicy
from ir_interp.converters.sources.model_description import Resize
from ir_interp.converters.verify.graphs import read as read_graph
from ir_interp.converters.verify.input_shapes import deciding_images
from ir_interp.errors import ReadError, VerificationError
from ir_interp.files import memory
from ir_interp.options.model_options import ConvertOptions
from ir_interp.plan.float_arithmetic import deciding_sizes
from ir_interp.resize_op import summary
from ir_interp.specs import AtRunTime, Scales, Sizes
from tests.support.commands import command
from tests.support.places import ROOT

STEP = "step = in / out"
HALF_PIXEL = "(i + 1/2) * step - 1/2, "
IMAGE = (1, 2, 9, 7)
SIZES: dict[str, Any] = {"out_h": 5, "out_w": 4}
DYNAMIC = (None, 2, None, None)
STATED: dict[str, Any] = {
    "align_corners": False, "align_mode": 0, "data_layout": "NCHW", "scale": [], "out_d": -1, "out_h": -1, "out_w": -1,
    "input": "x", "connected": [], "block": 0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def operation(kind: str, shape: Any = IMAGE, dtype: str = "float32", **attributes: Any) -> Resize:
    return Resize(type=kind, name="up", dtype=dtype, shape=shape, inputs=(), attributes=STATED | attributes)


@pytest.mark.parametrize(
    ("read", "described"),
    [
        (operation("nearest_interp_v2", **SIZES), "sizes 5, 4 on axes 2, 3: nearest at floor(i * step), step = in / "),
        (
            operation("bilinear_interp_v2", **SIZES),
            f"sizes 5, 4 on axes 2, 3: linear at {HALF_PIXEL}but 0 for a single output, ",
        ),
        (
            operation("bilinear_interp_v2", **SIZES, align_mode=1),
            "sizes 5, 4 on axes 2, 3: linear at i * step, step = in / out",
        ),
        (
            operation("bilinear_interp_v2", **SIZES, align_corners=True, data_layout="NHWC"),
            "sizes 5, 4 on axes 1, 2: linear at i * (in - 1) / (out - 1)",
        ),
        (
            operation("bicubic_interp_v2", **SIZES),
            "sizes 5, 4 on axes 2, 3: cubic a=-0.75 at (i + 1/2) * step - 1/2, step = in / out",
        ),
        (operation("linear_interp_v2", (1, 2, 7), out_w=4), f"sizes 4 on axes 2: linear at {HALF_PIXEL}{STEP}"),
        (
            operation("trilinear_interp_v2", (1, 2, 3, 9, 7), **SIZES, out_d=6),
            f"sizes 6, 5, 4 on axes 2, 3, 4: linear at {HALF_PIXEL}{STEP}",
        ),
    ],
)
def test_operations_are_resizes(read: Resize, described: str) -> None:
    op = resize(read, "net.pdmodel")
    assert (op.name, op.where) == ("up", "net.pdmodel:up")
    assert summary(op.spec).startswith(described)


def test_targets_at_run_time() -> None:
    sized, scaled = (operation("bilinear_interp_v2", connected=[name]) for name in ("SizeTensor", "Scale"))
    assert resize(sized, "net.pdmodel").spec.target is AtRunTime.SIZES
    assert resize(sized, "net.pdmodel", target=[5, 4]).spec.target == Sizes((5, 4))
    assert resize(scaled, "net.pdmodel").spec.target is AtRunTime.SCALES
    assert resize(scaled, "net.pdmodel", target=[2, 3]).spec.target == Scales((2.0, 3.0))


SINGLE = "bicubic_interp_v2 whose output may have a size of 1, where Paddle samples at -1/2"


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (operation("bicubic_interp_v2", out_h=1, out_w=4), SINGLE),
        (operation("bicubic_interp_v2", connected=["OutSize"]), SINGLE),
        (operation("bicubic_interp_v2", DYNAMIC, scale=[0.5, 0.5]), SINGLE),
        (operation("bicubic_interp_v2", (1, 2, 3, 9), scale=[0.5, 0.5]), SINGLE),
        (
            operation("bilinear_interp_v2", DYNAMIC, scale=[1.25, 1.0]),
            "scale [1.25, 1.0] of dynamic sizes, which Paddle may keep; expected static ones",
        ),
        (
            operation("bilinear_interp_v2", scale=[2.0, 2.0], connected=["OutSize"]),
            "several sizes or scales are connected; expected one",
        ),
        (
            operation("bilinear_interp_v2", dtype="uint8", **SIZES),
            "bilinear_interp_v2 takes tensors of float16, bfloat16, float32, float64, not of uint8",
        ),
        (operation("nearest_interp_v2", (1, 2, 7), out_w=4), "nearest_interp_v2 takes 4 or 5 axes, not 3"),
        (operation("bilinear_interp", **SIZES), "operation bilinear_interp is not supported; expected its version 2"),
        (operation("bilinear_interp_v2", **SIZES, block=1), "a resize in a branch or loop is not supported"),
    ],
)
def test_operations_without_a_meaning(read: Resize, problem: str) -> None:
    with pytest.raises(ReadError) as error:
        resize(read, "net.pdmodel")
    assert (error.value.problem, error.value.where) == (problem, "net.pdmodel:up")


def test_an_image_that_keeps_its_size_is_copied() -> None:
    op = resize(operation("bilinear_interp_v2", scale=[1.1, 1.1]), "net.pdmodel")
    x = np.random.default_rng(0).random(IMAGE, np.float32)
    assert np.array_equal(op.run(x), x)


def test_the_new_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.json").write_text('{"base_code": {"magic": "pir"}, "program": {}}', encoding="utf-8")
    problem = "a program of Paddle's PIR format; expected a .pdmodel; save the model again with the environment"
    assert command(capsys, "inspect", "net.json") == (
        2, "", f"error: net.json: {problem} variable FLAGS_enable_pir_api=0\n",
    )  # fmt: skip


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("net.pdmodel").touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for function in (ir_interp.load, lambda source: ir_interp.convert(source, "net.onnx")):
        with pytest.raises(
            IrInterpError, match=r"^net.pdmodel: needs PaddlePaddle: pip install 'ir-interp\[paddle\]'$"
        ):
            function("net.pdmodel")


MODELS = """
import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = paddle.nn.Conv2D(2, 2, 3, padding=1)

    def forward(self, z, a):
        x = self.conv(z)
        return (
            F.interpolate(x, size=paddle.shape(a)[2:] * 2, mode="bilinear"),
            F.interpolate(x, scale_factor=[1.0, 2.0], mode="nearest"),
            F.interpolate(a, scale_factor=[1.5, 0.7], mode="bilinear", align_mode=1),
            F.interpolate(x, size=[1, 13], mode="bilinear"),
            F.interpolate(x[:, :, 0], size=[1], mode="linear", data_format="NCW"),
            F.interpolate(x, size=[paddle.shape(a)[3], 5], mode="bicubic", align_corners=True),
            F.interpolate(paddle.transpose(x, [0, 2, 3, 1]), size=[7, 9], mode="bilinear", data_format="NHWC"),
        )


class Layers(paddle.nn.Layer):
    # Weights of many operations and types, one that is resized, and one that a loop reads.
    def __init__(self):
        super().__init__()
        self.conv = paddle.nn.Conv2D(2, 4, 3, padding=1)
        self.up = paddle.nn.Conv2DTranspose(4, 4, 2, stride=2, groups=2)
        self.norms = paddle.nn.Sequential(paddle.nn.BatchNorm2D(4), paddle.nn.GroupNorm(2, 4))
        self.linear = paddle.nn.Linear(14, 5)
        self.words = paddle.nn.Embedding(9, 5)
        self.position = self.create_parameter([1, 4, 3, 3])
        self.looped = self.create_parameter([5, 5])
        for kind in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64"):
            self.register_buffer(f"of_{kind}", paddle.arange(70).reshape([14, 5]).astype(kind))
        self.register_buffer("rows", paddle.to_tensor([7, 2, 5]))

    def forward(self, z):
        x = self.norms(self.up(self.conv(z))) + F.interpolate(self.position, size=[18, 14], mode="bicubic")
        x = self.linear(x) + self.words(self.rows)[1]
        step = paddle.zeros([1], "int64")
        while step < 3:
            x = F.linear(x, self.looped)
            step += 1
        for name, array in self.named_buffers():
            if name.startswith("of_"):
                x = x + array.astype("float32")[3]
        return paddle.where(x > 9, x, 3 * x)


class Scaled(paddle.nn.Layer):
    def forward(self, x):
        return F.interpolate(x, scale_factor=[1.3, 0.7], mode="nearest")


class Computed(paddle.nn.Layer):
    def forward(self, x):
        sizes = paddle.shape(x)[2:].astype("float32") * 0.7
        return F.interpolate(x, size=sizes.astype("int32"), mode="nearest")


class Printing(paddle.nn.Layer):
    def forward(self, x):
        return F.interpolate(paddle.static.Print(x), scale_factor=2)


paddle.seed(5)
inputs = [InputSpec([1, 2, 9, 7], "float32", "z"), InputSpec([1, 2, 5, 10], "float32", "a")]
paddle.jit.save(Net(), "net", input_spec=inputs)
paddle.jit.save(Layers(), "layers", input_spec=inputs[:1])
paddle.jit.save(Printing(), "printing", input_spec=inputs[:1])
for name, net in (("scaled", Scaled()), ("computed", Computed())):
    paddle.jit.save(net, name, input_spec=[InputSpec([None, 2, None, None], "float32", "x")])
"""
QUANTISED = """
import numpy as np
import paddle

paddle.enable_static()
place, scope, program = paddle.CPUPlace(), paddle.static.global_scope(), paddle.static.Program()
block = program.global_block()


def weight(name, shape, value):
    scope.var(name).get_tensor().set(value, place)
    return block.create_var(name=name, shape=shape, dtype="float32", persistable=True)


def computed(kind, name, shape, inputs, result="Y", **attributes):
    output = block.create_var(name=name, shape=shape, dtype="float32")
    block.append_op(type=kind, inputs=inputs, outputs={result: output}, attrs=attributes)
    return output


def quantised(x, name, scale, kinds=("quantize_linear", "dequantize_linear"), **attributes):
    # As PostTrainingQuantization saves it: a scale that is a vector in the program is a scalar in the file.
    scales = weight(f"{name}.scale", [scale.size], scale)
    zeros = weight(f"{name}.zero", [scale.size], np.zeros(scale.size, np.int32))
    for kind in kinds:
        inputs = {"X": x, "Scale": scales, "ZeroPoint": zeros}
        x = computed(kind, f"{name}.{kind}", x.shape, inputs, bit_length=8, **attributes)
    return x


with paddle.static.program_guard(program, paddle.static.Program()):
    image = paddle.static.data("x", [1, 3, 9, 7], "float32")
    x = quantised(image, "levels", np.float32(0.9), quant_axis=-1)
    filters = weight("filters", [4, 3, 3, 3], np.random.default_rng(0).integers(-127, 128, (4, 3, 3, 3), np.int8))
    filters = quantised(filters, "weights", np.float32([[0.5, 0.25, 1, 2]]), ["dequantize_linear"], quant_axis=0)
    y = computed("conv2d", "y", [1, 4, 7, 5], {"Input": x, "Filter": filters}, "Output", groups=1)
    y = quantised(y, "observed", np.float32(0), quant_axis=-1, only_observer=True)
    y = paddle.nn.functional.interpolate(y, size=[14, 11], mode="bilinear")
paddle.static.save_inference_model("quantised", [image], [y], paddle.static.Executor(place), program=program)
"""
OLD_FORMAT = {"FLAGS_enable_pir_api": "0", "CUDA_VISIBLE_DEVICES": "", "GLOG_minloglevel": "3"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of programs, which a process with Paddle saves."""
    if importlib.util.find_spec("paddle") is None:
        pytest.skip("pip install 'ir-interp[paddle]'")
    folder = tmp_path_factory.mktemp("paddle")
    for name, text in (("models.py", MODELS), ("quantised.py", QUANTISED)):
        Path(folder, name).write_text(text, encoding="utf-8")  # Paddle reads the source of a forward method
        subprocess.run([sys.executable, name], cwd=folder, env=os.environ | OLD_FORMAT, check=True)
    return folder


@pytest.mark.parametrize("target", ["result.onnx", "result.xml"])
@pytest.mark.parametrize("name", ["net", "layers"])
def test_models_equal_paddle(models: Path, name: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = models / f"{name}.pdmodel"
    report = ir_interp.convert(source, target)
    assert report.verification is not None
    assert report.verification.note.startswith(f"before conversion the model is equal to {name}.pdmodel within ")
    assert [row.grade.value.startswith("exact") for row in report.rows] == [True] * len(ir_interp.load(source))
    assert ir_interp.compare(source, target, seed=4).passes
    inspected = [command(capsys, "inspect", str(each))[1].split("operations")[0] for each in (source, target)]
    names = [
        [line.split(":")[0].split()[-1] for line in text.splitlines() if ": float32" in line] for text in inspected
    ]
    assert names[0] == names[1]
    assert names[0][:2] == (["z", "a"] if name == "net" else ["z", "where_0.tmp_0"])


@pytest.mark.parametrize("target", ["net.onnx", "net.xml"])
@pytest.mark.parametrize("name", ["scaled", "computed"])
def test_sizes_that_a_rounding_decides(models: Path, name: str, target: str) -> None:
    source = models / f"{name}.pdmodel"
    report = ir_interp.convert(source, target)
    assert report.verification is not None
    for size in deciding_sizes(0.7, 200) + deciding_sizes(1.3, 200):
        for shape in ((1, 2, size, 7), (1, 2, 7, size)):
            assert ir_interp.compare(source, target, shapes={"x": shape}).passes, shape


def test_a_proof_is_at_sizes_that_a_scale_decides(models: Path) -> None:
    options = ConvertOptions()
    with intermediate(models / "scaled.pdmodel", Path("net.xml"), FormPolicy(), options) as between:
        sizes = {size for image in deciding_images(read_graph(between.model), between.hints) for size in image}
    assert sizes >= {*deciding_sizes(float(np.float32(0.7)), 200), *deciding_sizes(float(np.float32(1.3)), 200)}


def test_quantised_programs_equal_paddle(models: Path) -> None:
    """A scale is a scalar in the file, and the last quantisation observes alone; OpenVINO's frontend misreads both."""
    for target in ("net.onnx", "net.xml"):
        report = ir_interp.convert(models / "quantised.pdmodel", target)
        assert report.verification is not None
        assert "before conversion the model is equal to quantised.pdmodel within " in report.verification.note
        assert ir_interp.compare(models / "quantised.pdmodel", target, seed=4).passes


def test_levels_may_be_why_a_verification_fails(models: Path) -> None:
    problem = "'levels.dequantize_linear' rounds to levels, of which one that rounds the other way changes others; "
    with pytest.raises(VerificationError) as error:
        ir_interp.convert(models / "quantised.pdmodel", "net.onnx", reference=lambda x: np.zeros((1, 4, 14, 11)))
    assert str(error.value).endswith(f"{problem}convert the model unquantised")


@pytest.mark.parametrize("name", ["net", "layers", "quantised"])
def test_weights_in_files_change_nothing(models: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO's frontend reads a program whose larger weights are inputs; with 2^40 bytes none is."""
    for least in (16, 2**40):
        monkeypatch.setattr(memory, "LARGE", least)
        ir_interp.convert(models / f"{name}.pdmodel", f"{least}.xml")
    named = re.compile(r'name="(.*?)(?:_\d+)?" type="(\w+)"')  # OpenVINO numbers the nodes that have no name
    layers = [sorted(named.findall(Path(f"{least}.xml").read_text())) for least in (16, 2**40)]
    assert layers[0] == layers[1]
    comparison = ir_interp.compare("16.xml", f"{2**40}.xml", seed=2)
    assert [output.seen.absolute for output in comparison.outputs] == [0.0] * len(comparison.outputs)


def test_which_weights_stay_in_files(models: Path) -> None:
    stored = write_skeleton(models / "layers.pdmodel", Path("layers.pdmodel"), 80)
    assert {(array.dtype, array.shape) for array in stored.values()} == {
        *((kind, (14, 5)) for kind in ("int16", "int32", "int64", "float16", "float32", "float64")),
        *(("float32", shape) for shape in [(4, 2, 3, 3), (4, 2, 2, 2), (9, 5), (1, 4, 3, 3)]),
    }  # not of 8 bits, which have 70 bytes, of bfloat16, or in the loop
    whole = sum(weight for weight in described(models / "layers.pdmodel").constants if weight >= 80)
    assert whole - sum(array.mapped().nbytes for array in stored.values()) == 140 + 100
    integers = next(array for array in stored.values() if array.dtype == "int16")
    np.testing.assert_array_equal(integers.mapped(), np.arange(70).reshape(14, 5))
    assert Path("layers.pdiparams").stat().st_size < (models / "layers.pdiparams").stat().st_size


def stored(sizes: bytes, element: int = 5) -> bytes:
    """Return a tensor of a .pdiparams up to its elements, which are of float32 and 2x2 by default."""
    description = bytes([8, element]) + sizes
    return bytes(16) + struct.pack("<i", len(description)) + description


FIRST = stored(b"\x10\x02\x10\x02")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "'conv2d_0.b_0' does not start at byte 0"),
        (b"\1" + FIRST[1:], "'conv2d_0.b_0' does not start at byte 0"),
        (FIRST, "'conv2d_0.b_0' ends at byte 42 of 26"),
        (stored(b"\x10\x02\x10" + b"\xff" * 9 + b"\1"), "'conv2d_0.b_0' has the shape [2, -1]"),
        (stored(b"\x10\x02", 17), "data type 'raw' not understood"),
        (stored(b"\x10"), "Error parsing message"),
        (FIRST + bytes(16), "'conv2d_0.w_0' does not start at byte 42"),
        (FIRST + bytes(16) + FIRST + bytes(17), "they end at byte 84 of 85"),
    ],
)
def test_weights_of_another_program(models: Path, content: bytes, problem: str) -> None:
    Path("net.pdmodel").write_bytes((models / "net.pdmodel").read_bytes())
    Path("net.pdiparams").write_bytes(content)
    with pytest.raises(ReadError) as error:
        ir_interp.load("net.pdmodel")
    assert str(error.value).startswith(f"net.pdiparams: not the weights of net.pdmodel, or damaged: {problem}")


def test_weights_in_another_folder(models: Path) -> None:
    Path("inner").mkdir()
    Path("inner/net.pdmodel").write_bytes((models / "net.pdmodel").read_bytes())
    Path("inner/net.pdiparams").symlink_to(models / "net.pdiparams")
    with pytest.raises(ReadError) as error:
        ir_interp.load("inner/net.pdmodel")
    outside = (models / "net.pdiparams").resolve()
    assert str(error.value) == f"net.pdmodel: its weights lie outside its folder: {outside}"


def test_what_the_frontend_makes_of_a_resize(models: Path) -> None:
    verdicts = [str(row.predictions["openvino-paddle"]) for row in ir_interp.audit(models / "net.pdmodel").rows]
    assert verdicts[0].startswith("unknown: not tried")
    assert verdicts[1] == "same"
    assert verdicts[3].startswith("differs")  # one row, which OpenVINO takes from the middle


def test_programs_that_do_not_run(models: Path) -> None:
    Path("net.pdmodel").write_bytes((models / "net.pdmodel").read_bytes())
    for name in ("text.pdmodel", "text.pdiparams"):
        Path(name).write_text("text", encoding="utf-8")
    for path, problem in (
        (
            models / "printing.pdmodel",
            "printing.pdmodel: OpenVINO's Paddle frontend does not convert operation print",
        ),
        (Path("net.pdmodel"), "net.pdmodel: its weights are missing; expected net.pdiparams beside it"),
        (Path("text.pdmodel"), "text.pdmodel: PaddlePaddle cannot load it: "),
    ):
        with pytest.raises(IrInterpError) as error:
            ir_interp.convert(path, "net.xml")
        assert str(error.value).startswith(problem)


def test_unknown_operations_are_read_but_not_run(models: Path) -> None:
    source = models / "printing.pdmodel"
    assert len(ir_interp.load(source)) == 1
    ir_interp.convert(models / "net.pdmodel", "net.onnx")
    with pytest.raises(IrInterpError, match="operation print is not run: only those are that OpenVINO converts"):
        ir_interp.compare("net.onnx", reference=source)


RELEASED = """
import gc, sys
import numpy as np
from ir_interp.converters.frameworks.paddle import paddle_child as child

arrays = [np.zeros(shape, np.float32) for shape in [(1, 2, 9, 7), (1, 2, 5, 10)]]
scopes = []
for limit in (2**30, 0):
    child.bound = lambda: limit
    child.run(arrays, sys.argv[1])
    loaded = [entry for entry in gc.get_objects() if type(entry).__name__ == "_Loaded"]
    assert len(loaded) == (limit > 0), limit
    scopes += [entry._scope for entry in loaded]
    loaded.clear()
assert scopes[0].find_var("conv2d_0.w_0") is None
"""


def test_weights_above_the_limit_are_released(models: Path) -> None:
    """Between runs, other models need the memory; Paddle's executor alone would hold them until the process ends."""
    environment = os.environ | OLD_FORMAT | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", RELEASED, models / "net.pdmodel"], env=environment, check=True)
