"""TensorRT's own importer and builder: their recorded answers, and the same where they are installed.

The answers are those of TensorRT-RTX 1.7.1; 1.5.0 and 1.6.1 gave the same. ``tests.sweeps.tensorrt`` asks about
thousands of nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

import ir_interp
from ir_interp.converters import tensorrt_importer
from ir_interp.converters.onnx.resize_nodes import ResizeNode, nodes
from ir_interp.converters.predictions import RUNTIMES, importer
from ir_interp.converters.runtimes import tensorrt_rtx
from ir_interp.converters.runtimes.outcome import Kind, Outcome
from ir_interp.converters.runtimes.tensorrt import layer_settings
from ir_interp.converters.tensorrt import LayerSettings
from ir_interp.converters.tensorrt_importer import Answer, Layer, Refusal
from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.plan.taps import plan
from ir_interp.translation.dialect import Context
from tests.support.graphs import save_model
from tests.support.image_nodes import loosen
from tests.support.runtimes import onnx_model

SHAPE = (1, 2, 5, 6)
NEW = {
    "coordinate_transformation": "HALF_PIXEL",
    "selector_for_single_pixel": "FORMULA",
    "nearest_rounding": "HALF_DOWN",
    "exclude_outside": False,
}
"""The settings of a Resize by its defaults."""


def node(mode: str, *dynamic: int, **more: Any) -> dict[str, Any]:
    """Return what a model of one node is made of."""
    names = ("sizes", "scales", "shape", "dtype", "opset", "constant")
    stated = {name: more.pop(name) for name in names if name in more}
    return {
        "opset": 19,
        "shape": SHAPE,
        "dtype": "float32",
        **stated,
        "attributes": {"mode": mode, **more},
        "dynamic": dynamic,
    }


def model(stated: dict[str, Any]) -> onnx.ModelProto:
    """Return the model of a row."""
    arguments = {name: value for name, value in stated.items() if name != "dynamic"}
    built = onnx_model("Resize" if stated["opset"] > 9 else "Upsample", **arguments)
    loosen(built, stated["dynamic"])
    return built


ACCEPTED: tuple[tuple[dict[str, Any], dict[str, Any], tuple[int, ...]], ...] = (
    # a node, the settings of its layer, and its output sizes
    (node("linear", sizes=(1, 2, 8, 9)), NEW | {"resize_mode": "LINEAR"}, (1, 2, 8, 9)),
    (
        node("linear", scales=(1, 1, 2.6, 1), shape=(1, 2, 25, 6)),  # 65 by float32, 64 by the exact product
        NEW | {"resize_mode": "LINEAR"},
        (1, 2, 65, 6),
    ),
    (
        node("nearest", scales=(1, 1, 0.6, 1.4), shape=(1, 2, 35, 10), opset=10),
        {"resize_mode": "NEAREST", "coordinate_transformation": "ASYMMETRIC", "nearest_rounding": "FLOOR"},
        (1, 2, 21, 14),
    ),
    (
        node("nearest", scales=(1.5, 2, 1, 1), opset=9),
        {"resize_mode": "NEAREST", "coordinate_transformation": "ASYMMETRIC", "nearest_rounding": "FLOOR"},
        (1, 4, 5, 6),
    ),
    (
        node("cubic", sizes=(1, 2, 8, 9), coordinate_transformation_mode="pytorch_half_pixel", cubic_coeff_a=-0.5,
             exclude_outside=1),
        NEW | {"resize_mode": "CUBIC", "selector_for_single_pixel": "UPPER", "cubic_coeff": -0.5}
        | {"exclude_outside": True},
        (1, 2, 8, 9),
    ),
    (
        node("nearest", scales=(1, 1, 2, 2), coordinate_transformation_mode="tf_half_pixel_for_nn", opset=12),
        {"resize_mode": "NEAREST", "coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "CEIL"},
        (1, 2, 10, 12),
    ),
    (
        node("nearest", sizes=(8, 9), axes=[-2, -1], nearest_mode="ceil",
             coordinate_transformation_mode="align_corners"),
        NEW | {"resize_mode": "NEAREST", "coordinate_transformation": "ALIGN_CORNERS", "nearest_rounding": "CEIL"},
        (1, 2, 8, 9),
    ),
    (node("linear", 0, scales=(2, 2), axes=[2, 3]), NEW | {"resize_mode": "LINEAR"}, (-1, 2, 10, 12)),
    (node("linear", 2, 3, sizes=(8, 9), axes=[2, 3]), NEW | {"resize_mode": "LINEAR"}, (1, 2, 8, 9)),
    (node("nearest", sizes=(2, 4, 8, 9), dtype="float16"), NEW | {"resize_mode": "NEAREST"}, (2, 4, 8, 9)),
    (node("nearest", sizes=(1, 2, 8, 9), dtype="float64"), NEW | {"resize_mode": "NEAREST"}, (1, 2, 8, 9)),
    (node("nearest", sizes=(1, 2, 8, 9), dtype="int8"), NEW | {"resize_mode": "NEAREST"}, (1, 2, 8, 9)),
)  # fmt: skip
REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    # a node, and a part of TensorRT's words
    (node("linear", sizes=(1, 2, 3, 3), antialias=1), "Antialiasing is not supported currently"),
    (node("linear", sizes=(1, 2, 8, 8), keep_aspect_ratio_policy="not_larger"), "Only `stretch` is supported"),
    (
        node("linear", sizes=(1, 2, 8, 9), coordinate_transformation_mode="half_pixel_symmetric"),
        "transformationMode ==",
    ),
    (
        node(
            "nearest", scales=(1, 1, 2, 2), coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor"
        ),
        'transformationMode != "tf_half_pixel_for_nn"',
    ),
    (node("linear", 0, sizes=(8, 9), axes=[2, 3]), "has axis 0 with inherently negative length"),
    (node("linear", scales=(2, 2), axes=[2, 3], constant=False), "axesInterlacingNeeded"),
    (node("linear", scales=(2, 2, 2, 2)), "only supports linear resizing on the outermost 3 dimensions"),
    (node("linear", sizes=(2, 4, 8, 9)), "Linear resize mode only supports resize up to last 3 dimensions"),
    (node("cubic", scales=(1, 2, 2, 2)), "only supports cubic resizing on the outermost 2 dimensions"),
    (node("nearest", sizes=(1, 2, 8, 9), dtype="uint8"), "unsupported input type of UINT8"),
    (node("nearest", sizes=(1, 2, 8, 9), dtype="int32"), "first input has type Int32"),
)
OPEN: tuple[dict[str, Any], ...] = (
    # nodes that the builder takes, and whose result no page states
    node("cubic", sizes=(1, 4, 8, 9)),
    node("cubic", sizes=(9,), shape=(5,)),
    node("cubic", scales=(1.5, 1, 1), axes=[1, 2, 3]),
    node("linear", sizes=(1, 2, 8, 9), dtype="int8"),
)


def tensorrt_outcome(found: ResizeNode) -> Outcome:
    """Return the prediction for a node of a model."""
    runtime = RUNTIMES["tensorrt"]
    assert runtime.of_node
    return runtime.of_node(found)


@pytest.mark.parametrize(("stated", "settings", "sizes"), ACCEPTED, ids=str)
def test_what_it_accepts(
    stated: dict[str, Any], settings: dict[str, Any], sizes: tuple[int, ...], tmp_path: Path
) -> None:
    onnx.save(model(stated), tmp_path / "a.onnx")
    (found,) = nodes(tmp_path / "a.onnx")
    outcome = tensorrt_outcome(found)
    assert outcome.spec is not None
    predicted = layer_settings(found.op)
    assert {name: settings[name] for name in settings if name in predicted} == {
        name: predicted[name] for name in predicted if name in settings
    }
    if -1 not in sizes and not stated["dynamic"]:
        assert plan(outcome.spec, stated["shape"]).out_shape == sizes


@pytest.mark.parametrize(("stated", "words"), REFUSED, ids=str)
def test_what_it_refuses(stated: dict[str, Any], words: str, tmp_path: Path) -> None:
    onnx.save(model(stated), tmp_path / "a.onnx")
    (found,) = nodes(tmp_path / "a.onnx")
    assert tensorrt_outcome(found).kind is Kind.REFUSED


@pytest.mark.parametrize("stated", OPEN, ids=str)
def test_what_only_an_engine_decides(stated: dict[str, Any]) -> None:
    (row,) = ir_interp.audit(model(stated), runtimes=["tensorrt"]).rows
    assert row.predictions["tensorrt"].kind is Kind.UNKNOWN


ROWS = (*((row[0], "") for row in ACCEPTED), *REFUSED, *((row, "") for row in OPEN))


@pytest.mark.skipif(not tensorrt_importer.is_installed(), reason=f"{tensorrt_rtx.DISTRIBUTION} is not installed")
def test_the_records_are_its_answers(tmp_path: Path) -> None:
    layers = {str(stated): (settings, sizes) for stated, settings, sizes in ACCEPTED}
    for stated, words in ROWS:
        onnx.save(model(stated), tmp_path / "a.onnx")
        answer = tensorrt_importer.imported(tmp_path / "a.onnx")
        assert (words in answer.refusal, bool(words)) == (True, bool(answer.refusals)), (stated, answer.refusal)
        if str(stated) in layers:
            settings, sizes = layers[str(stated)]
            (layer,) = answer.resizes
            assert layer.sizes == sizes
            assert {name: layer.settings.attributes[name] for name in settings} == settings


LAYERS: tuple[tuple[dict[str, Any], str, tuple[int, ...]], ...] = (
    # settings of a layer of a 4x5 image, why the builder refuses it, and its sizes
    ({}, "", (1, 1, 4, 5)),
    ({"shape": (1, 1, 8, 9), "scales": (1.0, 1.0, 3.0, 3.0)}, "", (1, 1, 12, 15)),  # scales win
    ({"scales": (2.0, 3.0)}, "Number of scale factors must equal to the number of input dimensions", (2, 3, 0, 0)),
    ({"shape": (2, 3)}, "has 4 dimensions but IResizeLayer::setOutputDimensions specified 2", (2, 3)),
    ({"shape": (1, 1, -2, 3)}, "computes no output sizes", ()),
    ({"shape": (1, 1, 0, 3)}, "", (1, 1, 0, 3)),
    ({"shape": None}, "", (-1, -1, -1, -1)),
    ({"shape": (1, 1, 8, 9), "resize_mode": "CUBIC", "cubic_coeff": -3.0, "exclude_outside": True}, "", (1, 1, 8, 9)),
)  # fmt: skip


@pytest.mark.skipif(not tensorrt_importer.is_installed(), reason=f"{tensorrt_rtx.DISTRIBUTION} is not installed")
@pytest.mark.parametrize(("attributes", "words", "sizes"), LAYERS, ids=str)
def test_real_layers(attributes: dict[str, Any], words: str, sizes: tuple[int, ...]) -> None:
    """Settings keep their values; those of the page are the defaults."""
    context = Context(version=10, shape=(1, 1, 4, 5), dtype="float32")
    answer = tensorrt_importer.built(LayerSettings(name="up", attributes=attributes, context=context))
    (layer,) = answer.resizes
    assert (layer.sizes, words in answer.refusal, bool(words)) == (sizes, True, bool(answer.refusals))
    defaults = {
        "resize_mode": "NEAREST",
        "coordinate_transformation": "ASYMMETRIC",
        "selector_for_single_pixel": "FORMULA",
        "nearest_rounding": "FLOOR",
        "exclude_outside": False,
        "cubic_coeff": -0.75,
    }
    set_here = {name: attributes.get(name, value) for name, value in defaults.items()}
    assert {name: layer.settings.attributes[name] for name in defaults} == set_here


# Where an answer goes, whether it is installed or not

BY = "TensorRT-RTX 0.0"


def answering(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    """Let an importer with this answer be installed."""
    monkeypatch.setattr(tensorrt_importer, "is_installed", lambda: True)
    monkeypatch.setattr(tensorrt_importer, "imported", lambda path: answer)
    monkeypatch.setattr(tensorrt_importer, "built", lambda layer: answer)


def saved(folder: Path) -> Path:
    constants, nodes_of = (
        "<float[4] s = {1, 1, 2, 2}>",
        '[up] y = Resize <mode = "linear"> (x, "", s) [det] u = Unique (x)',
    )
    ends = "(float[1,2,5,6] x) => (float[1,2,10,12] y, float[n] u)"
    return save_model(folder / "a.onnx", f"g {ends} {constants} {{ {nodes_of} }}")


def up(**attributes: Any) -> Layer:
    """Return a layer named ``up``, and doubled sizes."""
    context = Context(version=10, shape=SHAPE, dtype="float32")
    settings = NEW | {"resize_mode": "LINEAR", "scales": (1.0, 1.0, 2.0, 2.0)} | attributes
    return Layer(settings=LayerSettings(name="up", attributes=settings, context=context), sizes=(1, 2, 10, 12))


@pytest.mark.parametrize(("settings", "kind"), [({}, "same"), ({"coordinate_transformation": "ASYMMETRIC"}, "differs")])
def test_a_layer_is_a_verdict(
    settings: dict[str, Any], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, Answer(by=BY, resizes=(up(**settings),)))
    audit = ir_interp.audit(saved(tmp_path), run=True, runtimes=["tensorrt"])
    (row,) = audit.rows
    assert (row.seen["tensorrt"].kind.value, row.ran) == (kind, f"imported by {BY}")
    assert [each.code for each in audit.findings if each.code == "IRI024"] == ([] if kind == "same" else ["IRI024"])


def test_a_model_that_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = (
        Refusal(problem="too large", name="up", operator="Resize"),
        Refusal(problem="no", name="det", operator="Unique"),
    )
    answering(monkeypatch, Answer(by=BY, refusals=refusals))
    audit = ir_interp.audit(saved(tmp_path), run=True, runtimes=["tensorrt"])
    (row,) = audit.rows
    assert str(row.seen["tensorrt"]) == "refused: too large"
    (finding,) = [each for each in audit.findings if each.code == "IRI028"]
    assert (finding.message, finding.severity.value) == (f'{BY} refuses the model: Unique "det": no', "note")


def test_without_it_an_audit_only_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorrt_importer, "is_installed", lambda: False)
    (row,) = ir_interp.audit(saved(tmp_path), run=True, runtimes=["tensorrt"]).rows
    assert row.seen == {}


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (Answer(by=BY, resizes=(up(),)), f"b.onnx: {BY} takes it; 1 resize layer of static shape as written"),
        (Answer(by=BY, refusals=(Refusal(problem="no", node=1, name="det", operator="Unique"),)),
         f'b.onnx: {BY} refuses another node: Unique "det": no'),
    ],
)  # fmt: skip
def test_a_result_that_it_takes(answer: Answer, note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, answer)
    report = ir_interp.convert(saved(tmp_path), tmp_path / "b.onnx", target="tensorrt")
    assert note in report.notes


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(by=BY, refusals=(Refusal(problem="too large", name="up", operator="Resize"),)),
         f'b.onnx: {BY} refuses what was written: Resize "up": too large; please report it'),
        (Answer(by=BY, resizes=(up(coordinate_transformation="ASYMMETRIC"),)),
         f"b.onnx: up: {BY} would compute another resize: output 1 of axis 2 (5 -> 10) takes other source pixels"),
    ],
)  # fmt: skip
def test_a_result_that_it_does_not_take(
    answer: Answer, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, answer)
    with pytest.raises(VerificationError) as caught:
        ir_interp.convert(saved(tmp_path), tmp_path / "b.onnx", target="tensorrt")
    assert str(caught.value) == problem
    assert not (tmp_path / "b.onnx").exists()


def test_layers_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Answer(by=BY, resizes=(up(),)))
    assert ir_interp.convert(saved(tmp_path), tmp_path / "a.json").notes == (f"a.json: {BY} builds 1 resize layer",)
    answering(monkeypatch, Answer(by=BY, refusals=(Refusal(problem="bad scales"),)))
    with pytest.raises(VerificationError, match=f"a.json: up: {BY} refuses the layer: bad scales"):
        ir_interp.convert(saved(tmp_path), tmp_path / "a.json")


def test_an_unknown_release_is_not_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The places of its functions are unknown, so nothing of it is loaded."""
    place = tmp_path / tensorrt_rtx.PACKAGE
    place.mkdir()
    (place / "__init__.py").write_text("raise AssertionError('it is not imported')")
    (place / "libtensorrt_rtx.so.9.9.9").write_bytes(b"no library")
    (place / "libtensorrt_rtx.so.9").symlink_to("libtensorrt_rtx.so.9.9.9")  # as the provider makes it
    monkeypatch.syspath_prepend(tmp_path)
    assert tensorrt_rtx.version() == "9.9.9"
    with pytest.raises(
        IrInterpError, match=r"TensorRT-RTX 9\.9\.9 is not supported; expected 1\.5\.0, 1\.6\.1, 1\.7\.1"
    ):
        tensorrt_rtx.Builder(tensorrt_rtx.Logger())


@pytest.mark.parametrize(("attributes", "left_out"), [({"exclude_outside": 1}, 0), ({"cubic_coeff_a": -0.5}, -0.75)])
def test_attributes_that_tensorrt_leaves_out(attributes: dict[str, Any], left_out: float) -> None:
    """Under tf_half_pixel_for_nn its importer reads neither exclude_outside nor cubic_coeff_a."""
    words = {"mode": "cubic", "coordinate_transformation_mode": "tf_half_pixel_for_nn", **attributes}
    (op,) = ir_interp.load(onnx_model("Resize", 11, (1, 2, 8, 9), "float32", words, scales=(1, 1, 2, 2)))
    spec = importer(op).spec
    assert spec is not None
    assert isinstance(spec.kernel, ir_interp.Cubic)
    assert (spec.kernel.exclude_outside if "exclude_outside" in attributes else spec.kernel.a) == left_out
