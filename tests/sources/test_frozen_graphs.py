"""Frozen graphs of TensorFlow, whose large variables are inputs with values in files."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

from ir_interp import IrInterpError
from ir_interp.converters.frameworks.tensorflow import frozen_graph, reading, tensorflow_child
from ir_interp.converters.frameworks.tensorflow.conversion import build
from ir_interp.converters.openvino.ir_save import save
from ir_interp.files import memory
from ir_interp.shapes import Array

tensorflow: Any = pytest.importorskip("tensorflow", reason="pip install 'ir-interp[tensorflow]'")
keras = tensorflow.keras
pytestmark = pytest.mark.filterwarnings("ignore")  # of TensorFlow and Keras, about themselves

ALL, NONE = 1, 2**40  # bytes of the smallest variable in a file
VALUES = 33  # the same for a graph whose smaller constants are sizes, axes and the like
SHAPE = (1, 6, 6, 4)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Net(tensorflow.Module):
    """Variables of several types and ranks; some are read in a branch, a loop, or row by row."""

    def __init__(self, short: str = "bfloat16") -> None:
        super().__init__()
        generator = tensorflow.random.Generator.from_seed(1)
        self.matrix = tensorflow.Variable(generator.normal((4, 4)), name="matrix")
        self.half = tensorflow.Variable(tensorflow.cast(generator.normal((4,)), "float16"), name="half")
        self.short = tensorflow.Variable(tensorflow.cast(generator.normal((4,)), short), name="short")
        self.bits = tensorflow.Variable([True, False, True, True], name="bits")
        self.numbers = tensorflow.Variable([5, -6, 7, 2**40], dtype="int64", name="numbers")
        self.scalar = tensorflow.Variable(2.5, name="scalar")
        self.table = tensorflow.Variable(generator.normal((9, 4)), name="table")
        self.constant = tensorflow.constant([1.0, 2.0, 3.0, 5.0])

    @tensorflow.function(input_signature=[tensorflow.TensorSpec(SHAPE, name="x")])  # type: ignore[untyped-decorator]
    def call(self, x: Any) -> dict[str, Any]:
        y = tensorflow.matmul(x, self.matrix) + tensorflow.cast(self.half, "float32") * self.scalar
        y += tensorflow.cast(self.short, "float32") + self.constant
        y = tensorflow.where(self.bits, y, tensorflow.cast(self.numbers, "float32"))
        y += tensorflow.nn.embedding_lookup(self.table, tensorflow.cast(x[..., 0] * 9, "int32"))
        y = tensorflow.cond(tensorflow.reduce_sum(x) > 0, lambda: y + self.matrix[0], lambda: y)
        turn = tensorflow.while_loop(
            lambda i, _: i < 3, lambda i, z: (i + 1, tensorflow.matmul(z, self.matrix)), (0, y)
        )
        return {"y": tensorflow.image.resize(turn[1], (9, 12))}


def module() -> Path:
    net = Net()
    tensorflow.saved_model.save(net, "module", signatures=net.call)
    return Path("module/saved_model.pb")


def version_1() -> Path:
    """Write a SavedModel of TensorFlow 1, whose checkpoint holds no objects."""
    v1 = tensorflow.compat.v1
    with tensorflow.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tensorflow.float32, SHAPE, name="x")
        matrix = v1.get_variable("matrix", [4, 4], use_resource=True)
        y = tensorflow.image.resize(tensorflow.matmul(x, matrix), (9, 12))
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, "version_1", {"x": x}, {"y": y})
    return Path("version_1/saved_model.pb")


def graph() -> Path:
    """Write a frozen graph, some of whose constants are large."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    net = Net("float16")  # OpenVINO refuses some constants of bfloat16
    function = convert_variables_to_constants_v2(net.call.get_concrete_function(), lower_control_flow=False)
    Path("graph.pb").write_bytes(function.graph.as_graph_def().SerializeToString())
    return Path("graph.pb")


def layers() -> Any:
    keras.utils.set_random_seed(5)
    x = image = keras.Input(SHAPE[1:], batch_size=1, name="x")
    x = keras.layers.Conv2D(6, 3, padding="same", activation="relu")(x)
    x = keras.layers.BatchNormalization()(keras.layers.DepthwiseConv2D(3, padding="same")(x))
    x = keras.layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = keras.layers.PReLU()(keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")(x))
    rows = keras.layers.Reshape((24, 96))(x)
    rows = keras.layers.MultiHeadAttention(2, 4)(rows, rows)
    rows = keras.layers.LSTM(5)(keras.layers.Conv1D(3, 2, padding="same")(rows))
    return keras.Model(image, keras.layers.Dense(7)(rows))


def saved(name: str) -> Callable[[], Path]:
    """Return a function that writes layers of Keras in the format of a name."""

    def write() -> Path:
        net, path = layers(), Path(name)
        net.save(path) if path.suffix else net.export(path, verbose=False)
        return path if path.suffix else path / "saved_model.pb"

    write.__name__ = name
    return write


MODELS = [module, version_1, graph, saved("net.keras"), saved("net.h5"), saved("net")]


def built(path: Path, large: int, monkeypatch: pytest.MonkeyPatch) -> tuple[ov.Model, int, list[Array]]:
    """Return a model as it is saved, the number of its variables in files, and its outputs in TensorFlow."""
    monkeypatch.setattr(memory, "LARGE", large)
    monkeypatch.setattr(tensorflow_child, "_LOADED", {})
    keras.backend.clear_session()  # which counts names
    folder = Path(f"{path.stem} {large}")
    folder.mkdir()
    description = tensorflow_child.describe(str(path), str(folder))
    save(build(folder, description, path.name).model, folder / "net.xml")
    outputs = tensorflow_child.run([image()], str(path))
    return ov.Core().read_model(folder / "net.xml"), len(description.weights), list(outputs.values())


def image() -> Array:
    return np.random.default_rng(0).random(SHAPE, np.float32)


def content(model: ov.Model) -> tuple[Counter[str], Counter[Any]]:
    """Return the types of a model's nodes, and its constants."""
    nodes = model.get_ordered_ops()
    constants = (node for node in nodes if node.get_type_name() == "Constant")
    return Counter(node.get_type_name() for node in nodes), Counter(
        (str(node.get_element_type()), tuple(node.shape), node.data.tobytes()) for node in constants
    )


def ends(model: ov.Model) -> list[set[str]]:
    return [port.get_names() for port in (*model.inputs, *model.outputs)]


@pytest.mark.parametrize("write", MODELS)
def test_the_same_model_whether_variables_are_in_files(
    write: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, least = write(), VALUES if write is graph else ALL
    (first, some, expected), (second, none, outputs) = (built(path, large, monkeypatch) for large in (least, NONE))
    assert some > none == 0
    assert content(first) == content(second)
    assert ends(first) == ends(second)
    for model in (first, second):
        results = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(image())
        for mine, theirs, same in zip(results.values(), expected, outputs, strict=True):
            np.testing.assert_array_equal(theirs, same)
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


def test_variables_that_are_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second folder gets their values, too, and the first may be gone."""
    monkeypatch.setattr(memory, "LARGE", ALL)
    path, values = saved("net.keras")(), []
    for folder in map(Path, ("first", "second")):
        folder.mkdir()
        stored = tensorflow_child.describe(str(path), str(folder)).weights
        values.append({name: array.mapped().copy() for name, array in stored.items()})
        assert {array.path.parent.name for array in stored.values()} == {folder.name}
        for file in folder.iterdir():
            file.unlink()
    first, second = values
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])


@pytest.mark.parametrize("value", [np.zeros(3, np.float32), np.zeros(4)])
def test_a_value_that_does_not_fit(value: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LARGE", ALL)
    with pytest.raises(ValueError, match=r"shape|dtype"):
        frozen_graph.store(tensorflow.Variable(np.zeros(4, np.float32)), value, Path())


def test_a_keras_file_that_unpacks_to_much_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_INTERP_MAX_GIB", "0.0001")
    layers().save("net.keras")
    with zipfile.ZipFile("net.keras", "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("assets/zeros", bytes(2**20))
    Path("folder").mkdir()
    with pytest.raises(IrInterpError) as error:
        reading.unpack(Path("net.keras"), Path("folder"))
    assert re.fullmatch(r"net\.keras would need 0\.000\d+ GiB; the limit is .*", str(error.value)), str(error.value)
    assert not list(Path("folder").iterdir())
