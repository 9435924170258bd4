"""TensorFlow and Keras models: operations read as resizes, files that hold code refused, and models proven."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ir_interp
from ir_interp import IrInterpError, VerificationError
from ir_interp.converters.frameworks.tensorflow import reading
from ir_interp.converters.frameworks.tensorflow.operations import LOADED, RUN, first_other
from ir_interp.converters.frameworks.tensorflow.reading import RESIZES, resize
from ir_interp.converters.openvino import openvino_primitives
from ir_interp.converters.sources.model_description import Resize
from ir_interp.converters.sources.readers import model_file
from ir_interp.converters.verify.graphs import read as read_graph
from ir_interp.converters.verify.input_shapes import SizeHints, deciding_images
from ir_interp.errors import UnsupportedLayerError
from ir_interp.plan import float_arithmetic
from ir_interp.plan.float_arithmetic import deciding_sizes
from ir_interp.resize_op import summary
from ir_interp.specs import AtRunTime, Sizes
from tests.support.commands import command

V1 = {"align_corners": False, "half_pixel_centers": True}
KERNEL = {"kernel_type": "lanczos3", "antialias": True}
HALF_PIXEL = " at (i + 1/2) * step - 1/2, step = in / out"
NONE_OUTSIDE = f" (weights renormalised at borders){HALF_PIXEL}"
EXPECTED = "expected the quotient of sizes, and 0"
HALVED = ([8, 6], [0.5, 0.5], [0.0, 0.0])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def operation(kind: str, inputs: Any = ([8, 6],), shape: Any = (None, 16, 12, 3), **attributes: Any) -> Resize:
    stated = (KERNEL if kind == "ScaleAndTranslate" else V1) | attributes
    return Resize(
        type=kind,
        name="net/up",
        dtype="float32",
        shape=shape,
        inputs=inputs,
        attributes={name: stated[name] for name in RESIZES[kind]},
    )


@pytest.mark.parametrize(
    ("read", "described"),
    [
        (operation("ResizeBilinear"), f"linear{HALF_PIXEL}"),
        (
            operation("ResizeBilinear", align_corners=True, half_pixel_centers=False),
            "linear at i * (in - 1) / (out - 1)",
        ),
        (operation("ResizeNearestNeighbor"), "nearest at floor((i + 1/2) * step), step = in / out"),
        (operation("ResizeBicubic"), f"cubic a=-0.5{NONE_OUTSIDE}"),
        (operation("ResizeArea"), "area at i * step, averaged over what a pixel covers, step = in / out"),
        (operation("ScaleAndTranslate", HALVED), f"lanczos radius=3, antialiased{NONE_OUTSIDE}"),
        (operation("ScaleAndTranslate", HALVED, kernel_type="triangle"), f"linear, antialiased{NONE_OUTSIDE}"),
    ],
)
def test_operations_are_resizes_of_height_and_width(read: Resize, described: str) -> None:
    op = resize(read, "net.keras")
    assert (op.name, op.where, op.spec.axes, op.spec.target) == ("net/up", "net.keras:net/up", (1, 2), Sizes((8, 6)))
    assert summary(op.spec) == f"sizes 8, 6 on axes 1, 2: {described}"


def test_sizes_of_run_time() -> None:
    assert resize(operation("ResizeBilinear", (None,)), "net.keras").spec.target is AtRunTime.SIZES


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (
            operation("ScaleAndTranslate", ([8, 6], [0.5, 0.25], [0.0, 0.0])),
            f"ScaleAndTranslate with scale [0.5, 0.25] and translation [0.0, 0.0]; {EXPECTED}",
        ),
        (
            operation("ScaleAndTranslate", ([8, 6], [0.5, 0.5], [1.0, 0.0])),
            f"ScaleAndTranslate with scale [0.5, 0.5] and translation [1.0, 0.0]; {EXPECTED}",
        ),
        (
            operation("ScaleAndTranslate", ([8, 6], None, [0.0, 0.0])),
            "ScaleAndTranslate with a size or scale that is known only at run time",
        ),
        (
            operation("ScaleAndTranslate", HALVED, kernel_type="box"),
            "ScaleAndTranslate with kernel_type box and antialias True",
        ),
        (
            operation("ScaleAndTranslate", HALVED, kernel_type="keyscubic", antialias=False),
            "ScaleAndTranslate with kernel_type keyscubic and antialias False",
        ),
    ],
)
def test_operations_that_are_no_resize(read: Resize, problem: str) -> None:
    with pytest.raises(UnsupportedLayerError) as error:
        resize(read, "net.keras")
    assert (error.value.problem, error.value.where) == (problem, "net.keras:net/up")


def part(class_name: str, module: str | None, registered: str | None = None, **config: Any) -> dict[str, Any]:
    """Return a part of a Keras model as its file names it."""
    return {"class_name": class_name, "module": module, "registered_name": registered, "config": config}


def model_of(*layers: Any) -> dict[str, Any]:
    return part("Functional", "keras.src.models.functional", "Functional", name="net", layers=list(layers))


@pytest.mark.parametrize(
    ("layer", "problem"),
    [
        (part("Lambda", "keras.layers", name="twice"), "a Lambda layer holds code, which is not loaded"),
        (
            part("Mine", None, "Mine", name="twice"),
            "Mine is not a part of Keras that computes, and its code is not loaded",
        ),
        (part("Mine", "keras.layers", "lib>Mine", name="twice"), "lib>Mine is not a part of Keras that computes, "),
        (part("TFSMLayer", "keras.layers", name="twice"), "a TFSMLayer loads another model, which is not loaded"),
        (part("TorchModuleWrapper", "keras.layers", name="twice"), "a TorchModuleWrapper holds pickled code, which "),
        (
            part("function", "keras.utils", name="twice"),
            "keras.utils.function is not a part of Keras that computes, and its code is not loaded",
        ),
        (part("get_file", "keras.src.utils.file_utils", name="twice"), "keras.src.utils.file_utils.get_file is not a "),
        (
            part("StringLookup", "keras.layers", name="twice", vocabulary="/etc/passwd"),
            "vocabulary is the path of a file, which is not loaded",
        ),
        (
            part("run", "os.system", name="twice"),
            "os.system.run is not a part of Keras that computes, and its code is not loaded",
        ),
        (
            part("Dense", "keras.layers", name="twice", activation=part("function", "builtins", "function")),
            "builtins.function is not a part of Keras that computes, and its code is not loaded",
        ),
        (
            part("Dense", "keras.layers", name="twice", activation={"class_name": "__lambda__", "config": {}}),
            "a Lambda layer holds code, which is not loaded",
        ),
    ],
)
def test_files_that_hold_code_are_refused(layer: Any, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile("net.keras", "w") as file:
        file.writestr("config.json", json.dumps(model_of(part("InputLayer", "keras.layers", name="x"), layer)))
    code, printed, errors = command(capsys, "convert", "net.keras", "net.xml")
    assert (code, printed) == (2, "")
    assert errors.startswith(f"error: net.keras:layer[twice]: {problem}")


def test_parts_of_keras_are_loaded() -> None:
    size = {"class_name": "__tuple__", "items": [2, 2]}
    policy = part("DTypePolicy", "keras", name="float32")
    reading.check(model_of(part("UpSampling2D", "keras.layers", name="up", size=size, dtype=policy)), "net.keras")


@pytest.mark.parametrize(
    ("types", "outside"),
    [
        (("Conv2D", "ResizeBilinear", "RestoreV2", "StatefulPartitionedCall"), None),
        (("Conv2D", "WriteFile"), "WriteFile"),
        (("EagerPyFunc",), "EagerPyFunc"),
        (("MatMul", "GenerateVocabRemapping"), "GenerateVocabRemapping"),
        (("AnOperationOfALaterRelease",), "AnOperationOfALaterRelease"),
        (("TFRecordDatasetV2",), "TFRecordDatasetV2"),
    ],
)
def test_operations_that_reach_outside_a_graph(types: tuple[str, ...], outside: str | None) -> None:
    assert first_other(types, LOADED) == outside
    assert first_other(types, RUN) == ("RestoreV2" if outside is None else outside)


def test_files_that_are_no_models(capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.keras").write_text("text", encoding="utf-8")
    for name, problem in (
        ("text.keras", "not a Keras file, which is a ZIP archive: File is not a zip file"),
        ("none.keras", "cannot be read: No such file or directory"),
    ):
        assert command(capsys, "inspect", name) == (2, "", f"error: {name}: {problem}\n")


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras, in saving
@pytest.mark.parametrize("name", ["net.keras", "net.h5"])
@pytest.mark.parametrize("place", ["a link", "its data"])
def test_weights_in_another_file_are_not_read(name: str, place: str) -> None:
    tensorflow = pytest.importorskip("tensorflow", reason="pip install 'ir-interp[tensorflow]'")
    h5py = importlib.import_module("h5py")
    x = tensorflow.keras.Input((4, 4, 1), batch_size=1)
    tensorflow.keras.Model(x, tensorflow.keras.layers.Conv2D(2, 3)(x)).save(name)
    weights = Path(name)
    if name.endswith(".keras"):
        zipfile.ZipFile(name).extractall("parts")
        weights = Path("parts/model.weights.h5")
    with h5py.File("outside.h5", "w") as other:
        other["weights"] = np.ones((3, 3, 1, 2), np.float32)
    Path("outside.bin").write_bytes(bytes(72))
    with h5py.File(weights, "a") as file:
        found = file.visititems(lambda known, item: known if getattr(item, "shape", ()) == (3, 3, 1, 2) else None)
        del file[found]
        if place == "a link":
            file[found] = h5py.ExternalLink(str(Path("outside.h5").absolute()), "/weights")
        else:
            outside = [(str(Path("outside.bin").absolute()), 0, 72)]
            file.create_dataset(found, (3, 3, 1, 2), "f4", external=outside)
    if name.endswith(".keras"):
        with zipfile.ZipFile(name, "w") as whole:
            for part in Path("parts").iterdir():
                whole.write(part, part.name)
    with pytest.raises(ir_interp.ReadError) as error:
        ir_interp.convert(name, "result.xml")
    problem = f"{found!r} lies in another file, which is not read; expected all weights inside"
    assert str(error.value) == f"{name}: {problem}"
    assert not Path("result.xml").exists()


@pytest.mark.parametrize(("name", "shown"), [("net.pb", "net.pb"), ("net.h5", "net.h5"), ("saved", "saved")])
def test_without_the_package(name: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(name) if Path(name).suffix else Path(name, "saved_model.pb")
    path.parent.mkdir(exist_ok=True)
    path.touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for function in (ir_interp.load, lambda source: ir_interp.convert(source, "net.onnx")):
        with pytest.raises(IrInterpError, match=rf"^{shown}: needs TensorFlow: pip install 'ir-interp\[tensorflow\]'$"):
            function(name)


def test_a_folder_stands_for_its_saved_model() -> None:
    Path("saved").mkdir()
    assert model_file(Path("saved")) == Path("saved")
    Path("saved/saved_model.pb").touch()
    assert model_file(Path("saved")) == Path("saved/saved_model.pb")


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    return pytest.importorskip("tensorflow", reason="pip install 'ir-interp[tensorflow]'")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Keras, about NumPy
@pytest.mark.parametrize("name", ["net.keras", "saved"])
@pytest.mark.parametrize("target", ["net.onnx", "net.xml"])
def test_models_equal_tensorflow(tensorflow: Any, name: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    keras = tensorflow.keras
    keras.utils.set_random_seed(5)
    first, second = keras.Input((9, 7, 2), name="z"), keras.Input((5, 4, 2), name="a")
    x = keras.layers.Resizing(5, 4, interpolation="bicubic")(keras.layers.Conv2D(2, 3, padding="same")(first))
    up = keras.layers.UpSampling2D(2, interpolation="bilinear", name="up")(x + second)
    net = keras.Model([first, second], [up, keras.layers.GlobalAveragePooling2D(name="mean")(x)])
    net.save(name) if name.endswith(".keras") else net.export(name, verbose=False)
    inputs = ["z", "a"] if name.endswith(".keras") else ["a", "z"]
    assert len(ir_interp.load(name)) == 2
    report = ir_interp.convert(name, target)
    assert report.verification is not None
    assert report.verification.note.startswith(f"before conversion the model is equal to {name} within ")
    assert [row.grade.value.startswith("exact") for row in report.rows] == [True, True]
    assert ir_interp.compare(name, target, seed=4).passes
    code, printed, _ = command(capsys, "inspect", target)
    assert code == 0
    assert [line.split()[1].rstrip(":") for line in printed.splitlines() if line.startswith("input")] == inputs[:1]
    assert len(ir_interp.audit(name).rows) == 2


@pytest.mark.parametrize("target", ["net.onnx", "net.xml"])
@pytest.mark.parametrize("scales", [0.7, [1.3, 0.7]])
def test_sizes_that_a_rounding_decides(tensorflow: Any, scales: Any, target: str) -> None:
    with tensorflow.Graph().as_default() as graph:
        x = tensorflow.compat.v1.placeholder(tensorflow.float32, [None, None, None, 2], name="x")
        sizes = tensorflow.cast(
            tensorflow.cast(tensorflow.shape(x)[1:3], tensorflow.float32) * scales, tensorflow.int32
        )
        tensorflow.raw_ops.ResizeBilinear(images=x, size=sizes, half_pixel_centers=True, name="up")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    report = ir_interp.convert("net.pb", target)
    assert report.verification is not None
    deciding = deciding_sizes(float(np.float32(0.7)), 200)
    tried = {size for image in deciding_images(read_graph(Path(target)), SizeHints()) for size in image}
    assert tried >= set(deciding)
    for size in deciding:
        assert ir_interp.compare("net.pb", target, shapes={"x": (1, size, size, 2)}).passes, size


_ROUNDED = {"floor": np.floor, "ceil": np.ceil, "round": np.rint}


def write_sized(tensorflow: Any, scale: Any, rounding: str) -> None:
    """Write a graph that resizes to a size in float64: the size of the image times a scale, rounded."""
    with tensorflow.Graph().as_default() as graph:
        x = tensorflow.compat.v1.placeholder(tensorflow.float32, [1, None, None, 2], name="x")
        sizes = tensorflow.cast(tensorflow.shape(x)[1:3], tensorflow.float64) * tensorflow.constant(
            scale, tensorflow.float64
        )
        sizes = tensorflow.cast(getattr(tensorflow.math, rounding)(sizes), tensorflow.int32)
        tensorflow.raw_ops.ResizeBilinear(images=x, size=sizes, half_pixel_centers=True, name="up")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())


@pytest.mark.sampled(5)
@pytest.mark.parametrize("rounding", _ROUNDED)
@pytest.mark.parametrize("scale", [1.1, 0.7, 120 / 88, [0.7, 1.3], 0.75])
def test_sizes_in_float64_are_right_or_refused(tensorflow: Any, scale: Any, rounding: str) -> None:
    """OpenVINO computes them in float32, which rounds 50 * 1.1 to 55, not just above it."""
    write_sized(tensorflow, scale, rounding)
    try:
        ir_interp.convert("net.pb", "net.xml")
    except (VerificationError, UnsupportedLayerError):
        assert scale != 0.75  # its products are exact in float32
        return
    compiled = ov.Core().compile_model("net.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for size in range(2, 400):
        height, width = _ROUNDED[rounding](size * np.broadcast_to(np.array(scale), 2)).astype(int)
        assert compiled([np.zeros((1, size, size, 2), np.float32)])[0].shape == (1, height, width, 2), size


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("divisor", "rounding"),
    [(24 / 31, "ceil"), ([2.0, 24 / 31], "ceil"), (24 / 31, "floor"), (3.0, "floor"), (0.5, "ceil")],
)
def test_sizes_that_a_quotient_decides(tensorflow: Any, divisor: Any, rounding: str, dtype: str) -> None:
    """TensorFlow's optimiser multiplies by the reciprocal: it makes 32 of ceil(24 / (24 / 31)), and eager mode 31."""
    with tensorflow.Graph().as_default() as graph:
        x = tensorflow.compat.v1.placeholder(tensorflow.float32, [1, None, None, 2], name="x")
        quotient = tensorflow.cast(tensorflow.shape(x)[1:3], dtype) / tensorflow.constant(divisor, dtype)
        sizes = tensorflow.cast(getattr(tensorflow.math, rounding)(quotient), tensorflow.int32)
        tensorflow.raw_ops.ResizeBilinear(images=x, size=sizes, half_pixel_centers=True, name="up")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    lengths, numbers = np.arange(1, 65537)[:, None].astype(dtype), np.array(divisor, dtype)
    quotients, products = (_ROUNDED[rounding](every) for every in (lengths / numbers, lengths * (1 / numbers)))
    if (quotients != products).any():
        with pytest.raises(UnsupportedLayerError, match="TensorFlow's optimiser multiplies by reciprocals"):
            ir_interp.convert("net.pb", "net.xml")
        return
    ir_interp.convert("net.pb", "net.xml")
    compiled = ov.Core().compile_model("net.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for size in range(3, 200):
        height, width = np.broadcast_to(quotients[size - 1], 2).astype(int)
        assert compiled([np.zeros((1, size, size, 2), np.float32)])[0].shape == (1, height, width, 2), size


@pytest.mark.parametrize(
    ("steps", "rounding", "merged"),
    [
        # (13 + 0.5) / 0.9 - 2 is 13, and (13 + 0.5) * (1 / 0.9) - 2 rounded up is 14
        ([("add", 0.5), ("divide", 0.9), ("subtract", 2)], "ceil", [("add", 0.5), ("multiply", 1 / 0.9), ("add", -2)]),
        ([("multiply", 1.3), ("multiply", 1.3)], "floor", [("multiply", np.float32(1.3) ** 2)]),
        ([("multiply", 0.1), ("divide", 0.3)], "floor", [("multiply", np.float32(0.1) * (1 / np.float32(0.3)))]),
        ([("add", 0.1), ("subtract", 0.1)], "floor", [("add", 0)]),
        ([("multiply", 1.5), ("add", 0.5), ("add", 0.5)], "floor", [("multiply", 1.5), ("add", 1)]),
        ([("subtract", 2), ("multiply", 0.5)], "round", [("subtract", 2), ("multiply", 0.5)]),
        (
            [("multiply", 1.3), ("multiply", 1.3), ("maximum", 4)],
            "floor",
            [("multiply", np.float32(1.3) ** 2), ("maximum", 4)],
        ),
        (
            [("maximum", 4), ("divide", 0.9), ("minimum", 99)],
            "floor",
            [("maximum", 4), ("multiply", 1 / np.float32(0.9)), ("minimum", 99)],
        ),
        ([("multiply", 1.5), ("minimum", 300)], "ceil", [("multiply", 1.5), ("minimum", 300)]),
        ([("maximum", 4), ("maximum", 50)], "ceil", [("maximum", 50)]),
    ],
)
def test_sizes_that_steps_decide(tensorflow: Any, steps: Any, rounding: str, merged: Any) -> None:
    """TensorFlow's optimiser merges constants of adjacent sums and products; eager mode computes each step."""

    def made(size: Any, by: Any, namespace: Any) -> Any:
        for step, number in by:
            size = getattr(namespace, step)(size, np.float32(number))
        return size

    with tensorflow.Graph().as_default() as graph:
        x = tensorflow.compat.v1.placeholder(tensorflow.float32, [1, None, None, 2], name="x")
        size = made(tensorflow.cast(tensorflow.shape(x)[1:3], "float32"), steps, tensorflow.math)
        sizes = tensorflow.cast(getattr(tensorflow.math, rounding)(size), tensorflow.int32)
        tensorflow.raw_ops.ResizeBilinear(images=x, size=sizes, half_pixel_centers=True, name="up")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    written, optimised = (_ROUNDED[rounding](made(np.arange(1, 65537, dtype="f"), by, np)) for by in (steps, merged))
    if (written != optimised).any():
        with pytest.raises(UnsupportedLayerError, match="TensorFlow's optimiser multiplies by reciprocals"):
            ir_interp.convert("net.pb", "net.xml")
        return
    ir_interp.convert("net.pb", "net.xml")
    compiled = ov.Core().compile_model("net.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for size in range(5, 200):
        lengths = compiled([np.zeros((1, size, size, 2), np.float32)])[0].shape
        assert lengths == (1, *[int(written[size - 1])] * 2, 2), size


def test_steps_of_other_numbers_of_sizes(tensorflow: Any) -> None:
    """Four sizes are multiplied, then two of them."""
    with tensorflow.Graph().as_default() as graph:
        x = tensorflow.compat.v1.placeholder(tensorflow.float32, [1, None, None, 2], name="x")
        every = tensorflow.cast(tensorflow.shape(x), "float32") * np.array([1, 1.5, 2, 1], np.float32)
        sizes = tensorflow.cast(tensorflow.floor(every[1:3] * np.array([2, 1.5], np.float32)), tensorflow.int32)
        tensorflow.raw_ops.ResizeBilinear(images=x, size=sizes, half_pixel_centers=True, name="up")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    ir_interp.convert("net.pb", "net.xml")
    compiled = ov.Core().compile_model("net.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    assert compiled([np.zeros((1, 7, 9, 2), np.float32)])[0].shape == (1, 21, 27, 2)


def test_the_proof_tries_sizes_in_float64_that_a_rounding_decides(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes of an IR no longer show the scale: here they compute those of another."""
    write_sized(tensorflow, 1.3, "floor")
    steps = float_arithmetic.formula_steps
    other = float(np.float32(1.3))

    def of_another(factors: Any, *rounding: Any) -> Any:
        return steps((("multiply", other),), *rounding)

    monkeypatch.setattr(openvino_primitives, "formula_steps", of_another)
    with pytest.raises(VerificationError, match="it has shape"):
        ir_interp.convert("net.pb", "net.xml")


def test_a_graph_whose_outputs_are_resizes(tensorflow: Any) -> None:
    """They have no tensor names in OpenVINO, once they are replaced."""
    with tensorflow.Graph().as_default() as graph:
        x = tensorflow.compat.v1.placeholder(tensorflow.float32, [None, 9, 11, 2], name="x")
        flags = {"align_corners": True, "half_pixel_centers": False}
        tensorflow.raw_ops.ResizeNearestNeighbor(images=x, size=[7, 5], **flags, name="b")
        tensorflow.raw_ops.ResizeBicubic(images=x, size=[30, 31], **flags, name="a")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    report = ir_interp.convert("net.pb", "net.xml")
    assert report.verification is not None
    assert [row.name for row in report.rows] == ["b", "a"]


def test_a_graph_of_several_outputs(tensorflow: Any) -> None:
    """Only the first output of an operation was written, and an unused input became an output."""
    with tensorflow.Graph().as_default() as graph:
        x, _ = (tensorflow.compat.v1.placeholder(tensorflow.float32, [1, 4, 6, 4], name=name) for name in "xz")
        up = tensorflow.raw_ops.ResizeArea(images=x, size=[8, 9], align_corners=False)
        tensorflow.split(up, 2, 3, name="part")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    ir_interp.convert("net.pb", "net.xml")
    net = read_graph(Path("net.xml"))
    assert ([end.name for end in net.inputs], list(net.outputs)) == (["x", "z"], ["part_0", "part_1"])
    assert ir_interp.compare("net.xml", "net.pb", seed=4).passes


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("target", ["net.onnx", "net.xml"])
def test_a_tensor_that_is_an_output_twice(tensorflow: Any, target: str) -> None:
    image = tensorflow.keras.Input((4, 5, 2), batch_size=1, name="image")
    up = tensorflow.keras.layers.UpSampling2D(2, interpolation="bilinear")(image)
    tensorflow.keras.Model(image, [up, up, image]).save("net.keras")
    ir_interp.convert("net.keras", target)
    assert len(read_graph(Path(target)).outputs) == 3
    assert ir_interp.compare(target, "net.keras", seed=4).passes


def variable(tensorflow: Any) -> None:
    with tensorflow.Graph().as_default() as graph:
        tensorflow.raw_ops.VariableV2(shape=[2], dtype=tensorflow.float32, name="w")
    Path("net.pb").write_bytes(graph.as_graph_def().SerializeToString())


def text(tensorflow: Any) -> None:
    keras = tensorflow.keras
    words, image = keras.Input((1,), dtype="string", name="words"), keras.Input((4, 5, 2), name="image")
    keras.Model([words, image], keras.layers.UpSampling2D(2)(image)).save("net.keras")


def any_size(tensorflow: Any) -> None:
    image = tensorflow.keras.Input((None, None, 2), name="image")
    up = tensorflow.keras.layers.UpSampling2D(2, interpolation="bilinear")(image)
    tensorflow.keras.Model(image, up).save("net.keras")


def in_8_bits(tensorflow: Any) -> None:
    net = tensorflow.keras.Sequential([tensorflow.keras.Input((8,)), tensorflow.keras.layers.Dense(12, name="dense")])
    net.layers[0].quantize("int8")
    net.save("net.keras")


def in_halves(tensorflow: Any) -> None:
    tensorflow.keras.utils.set_random_seed(5)
    image = tensorflow.keras.Input((12, 10, 3), name="image")
    x = tensorflow.keras.layers.Conv2D(4, 3, dtype="mixed_float16")(image)
    tensorflow.keras.Model(image, tensorflow.keras.layers.Conv2D(2, 3)(x)).save("net.keras")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("write", "message"),
    [
        (variable, r"net.pb: variable 'w' has no value; expected a frozen graph, or a SavedModel"),
        (text, r"net.keras: 'words', an input or output, is of type string; expected numbers"),
        (
            any_size,
            r"net.keras: Keras cannot trace UpSampling2D for any size; "
            r"save the model with inputs of a static height and width",
        ),
        (
            in_8_bits,
            r"net.keras:.*/dense.*/MatMul: OpenVINO's TensorFlow frontend sums products of integers in 8 bits; "
            r"save the model unquantised",
        ),
        (
            in_halves,
            r".*; Convolution '.+' computes in float16, which runtimes round differently; save the model in float32",
        ),
    ],
)
def test_models_that_are_refused(tensorflow: Any, write: Any, message: str) -> None:
    write(tensorflow)
    [source] = Path().glob("net.*")
    with pytest.raises(IrInterpError) as error:
        ir_interp.convert(source, "net.xml")
    assert re.fullmatch(message, str(error.value)), str(error.value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_conversion_that_differs_is_refused(tensorflow: Any) -> None:
    keras = tensorflow.keras
    image = keras.Input((9, 7, 2), name="image")
    keras.Model(image, keras.layers.UpSampling2D(2, interpolation="bilinear")(image)).save("a.keras")
    keras.Model(image, keras.layers.UpSampling2D(2, interpolation="nearest")(image)).save("b.keras")
    with pytest.raises(IrInterpError, match="nothing was written"):
        ir_interp.convert("a.keras", "net.xml", reference="b.keras")
    assert not Path("net.xml").exists()


def test_an_operation_with_an_effect_is_not_run(tensorflow: Any) -> None:
    signature = [tensorflow.TensorSpec([1, 4, 4, 1], tensorflow.float32, name="x")]

    @tensorflow.function(input_signature=signature)  # type: ignore[untyped-decorator]
    def saves(x: Any) -> dict[str, Any]:
        tensorflow.raw_ops.SaveV2(prefix="written", tensor_names=["x"], shape_and_slices=[""], tensors=[x])
        return {"y": tensorflow.image.resize(x, (8, 8))}

    module = tensorflow.Module()
    module.saves = saves
    tensorflow.saved_model.save(module, "saved", signatures=saves)
    for function in (ir_interp.load, lambda path: ir_interp.convert(path, "net.onnx")):
        with pytest.raises(IrInterpError, match="operation SaveV2 may have effects outside the graph; it is not run"):
            function("saved")
    assert not list(Path().glob("written*"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("content", [b"garbage \0\1\2", b"node { name: 'x' op: 'Y' }", b"\x0a\x05ab"])
@pytest.mark.parametrize("name", ["net.pb", "saved/saved_model.pb"])
def test_a_broken_graph_is_one_error(tensorflow: Any, name: str, content: bytes) -> None:
    """TensorFlow and OpenVINO write of such files to the standard error of C++."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(content)
    source = Path(name).parts[0]
    for arguments in (["convert", source, "net.xml"], ["audit", source]):
        call = [sys.executable, "-P", "-m", "ir_interp", *arguments]
        ended = subprocess.run(call, capture_output=True, text=True, check=False, timeout=120)
        assert ended.returncode == 2
        assert ended.stderr.startswith(f"error: {source}: TensorFlow cannot load it: ")
        assert ended.stderr.count("\n") == 1


def saved_model_type() -> Any:
    from tensorflow.core.protobuf import saved_model_pb2

    return saved_model_pb2.SavedModel


def saved_in_1(tensorflow: Any, folder: str) -> Path:
    """Write a SavedModel of TensorFlow 1 that writes a file when it is initialised; return its graph."""
    v1 = tensorflow.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x, scale = v1.placeholder(tensorflow.float32, [1, 4, 4, 1]), v1.get_variable("scale", [], use_resource=True)
        y = v1.image.resize_bilinear(x, (8, 8)) * scale
        session.run(scale.initializer)
        raw = tensorflow.raw_ops
        save = raw.SaveV2(prefix="written", tensor_names=["a"], shape_and_slices=[""], tensors=[scale.read_value()])
        with tensorflow.control_dependencies([save]):
            merge = raw.MergeV2Checkpoints(
                checkpoint_prefixes=["written"], destination_prefix="written", delete_old_dirs=True
            )
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder = v1.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=merge)
        builder.save()
    return Path(folder, "saved_model.pb")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_saved_model_writes_nothing_when_it_is_loaded(tensorflow: Any) -> None:
    """TensorFlow runs the operations that a SavedModel names as its initialisation and its restore."""
    graph = saved_in_1(tensorflow, "saved")
    assert ir_interp.convert("saved", "net.onnx").verification
    saved_model = saved_model_type().FromString(graph.read_bytes())
    saved_model.meta_graphs[0].saver_def.restore_op_name = "SaveV2"
    graph.write_bytes(saved_model.SerializeToString())
    with pytest.raises(IrInterpError):  # its variables have no values
        ir_interp.convert("saved", "net.onnx")
    assert not list(Path().glob("written*"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_saved_model_reads_no_checkpoint_but_its_own(tensorflow: Any) -> None:
    graph = saved_in_1(tensorflow, "saved")
    saved_model = saved_model_type().FromString(graph.read_bytes())
    nodes = saved_model.meta_graphs[0].graph_def.node
    other = nodes.add(name="other", op="Const")
    other.attr["dtype"].type, other.attr["value"].tensor.dtype = 7, 7
    other.attr["value"].tensor.string_val.append(b"elsewhere")
    next(node for node in nodes if node.op == "RestoreV2").input[0] = "other"
    graph.write_bytes(saved_model.SerializeToString())
    with pytest.raises(IrInterpError, match="type RestoreV2 may read a file outside the model; it is not run"):
        ir_interp.convert("saved", "net.onnx")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["net.keras", "saved"])
@pytest.mark.parametrize("target", ["ready.onnx", "ready.xml"])
def test_preprocessing_in_front(tensorflow: Any, name: str, target: str) -> None:
    """One command makes a model that takes photos, channels last as in TensorFlow."""
    keras = tensorflow.keras
    keras.utils.set_random_seed(5)
    image = keras.Input((12, 10, 3), name="x")
    net = keras.Model(image, keras.layers.UpSampling2D(2, interpolation="bilinear")(keras.layers.Conv2D(2, 3)(image)))
    net.save(name) if name.endswith(".keras") else net.export(name, verbose=False)
    ir_interp.preprocess(name, target, like="pillow:bicubic", size=(12, 10), image_size=(40, 50))
    np.save("x.npy", np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8))

    def meant(x: Any) -> Any:
        return net(ir_interp.resize(x, (12, 10), "pillow:bicubic")[None].astype(np.float32)).numpy()

    assert ir_interp.compare(target, reference=meant, inputs={"image": "x.npy"}).passes


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_exporters_make_of_a_resize(tensorflow: Any) -> None:
    """They are asked, not predicted, so the answers are those of the installed releases."""
    image = tensorflow.keras.Input((9, 7, 2), name="image")
    up = tensorflow.keras.layers.UpSampling2D(2, interpolation="bilinear")(image)
    area = tensorflow.keras.ops.image.resize(up, (5, 4), interpolation="bicubic")
    tensorflow.keras.Model(image, area).save("net.keras")
    bilinear, cubic = ir_interp.audit("net.keras").rows
    assert str(bilinear.predictions["openvino-tensorflow"]) == "same"
    assert str(cubic.predictions["openvino-tensorflow"]).startswith(
        "refused: No conversion rule found for operations: "
    )
    assert ir_interp.audit("net.keras", runtimes=["tensorrt"]).rows[0].predictions == {}
    if importlib.util.find_spec("tf2onnx"):
        assert str(bilinear.predictions["tf2onnx"]) == "same"
    if importlib.util.find_spec("ai_edge_litert"):
        assert str(bilinear.predictions["tflite-converter"]) == "same"
