"""The public functions: models in memory, and mistakes in a call, each one SpecError or ReadError."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

import ir_interp
from ir_interp import IrInterpError, ReadError, ResizeSpec, SpecError
from ir_interp.errors import closest
from tests.support.commands import completed
from tests.support.graphs import save_model
from tests.support.runtimes import OTHERS

FUNCTIONS: list[Callable[..., Any]] = [
    ir_interp.load,
    ir_interp.resize,
    ir_interp.prepare,
    ir_interp.convert,
    ir_interp.audit,
    ir_interp.compare,
]
FUNCTIONS += [ir_interp.explain, ir_interp.plot]
TEXT = """g (float[1,1,4,4] x) => (float[1,1,8,7] y) <int64[2] z = {8, 7}> {
    [up] y = Resize <mode = "linear", axes = [2, 3]> (x, , , z) }"""
X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(Path("a.onnx"), TEXT, 18)


def onnx_model() -> onnx.ModelProto:
    """Return a model of one resize that has never been a file."""
    return onnx.load("a.onnx")


def openvino_model() -> ov.Model:
    """Return the same as OpenVINO's, under a name that no file could bear."""
    model = ov.Core().read_model("a.onnx")
    model.set_friendly_name("up/down scaler")
    return model


def spec() -> ResizeSpec:
    return ir_interp.load("a.onnx")[0].spec


IN_MEMORY = [
    pytest.param(onnx_model, 'g.onnx:node[0 "up"]', id="ONNX"),
    pytest.param(openvino_model, 'up_down_scaler.xml:layer[3 "y"]', id="OpenVINO"),
]


@pytest.mark.parametrize(("model", "where"), IN_MEMORY)
def test_models_in_memory(model: Callable[[], Any], where: str) -> None:
    (op,) = ir_interp.load(model())
    assert op.where == where
    np.testing.assert_allclose(op.run(X), ir_interp.resize(X, spec()), rtol=0, atol=1e-5)
    report = ir_interp.convert(model(), "b.onnx", target="onnx:13" if "onnx:" in where else None)
    assert (str(report.source), report.rows[0].source.where) == (where.partition(":")[0], where)
    (row,) = ir_interp.audit([model()]).rows
    assert (row.file, row.op.where) == (where.partition(":")[0], where)
    found = ir_interp.compare(model(), "b.onnx")
    assert (found.passes, str(found.first)) == (True, where.partition(":")[0])
    assert [table.axis for table in ir_interp.explain(model()).axes] == [2, 3]
    assert ir_interp.plot(model(), "p.png", what="image", against=model()).axes
    assert sorted(path.name for path in Path().iterdir()) == ["a.onnx", "b.onnx", "p.png"]


def test_a_model_in_memory_with_its_preprocessing() -> None:
    """Colours, lengths known at run time alone, mean and scale; layouts become metadata."""
    pre = PrePostProcessor(openvino_model())
    given = pre.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    given.set_color_format(ColorFormat.GRAY).set_spatial_dynamic_shape()
    steps = pre.input().preprocess().convert_element_type(ov.Type.f32)
    steps.resize(ResizeAlgorithm.RESIZE_LINEAR).mean([1.0]).scale([4.0])
    pre.input().model().set_layout(ov.Layout("NCHW"))
    model = pre.build()
    assert len(ir_interp.load(model)) == 2
    ir_interp.convert(model, "b.onnx", shapes={"x": (1, 9, 7, 1)})
    written = onnx.load("b.onnx")
    assert {each.key: json.loads(each.value) for each in written.metadata_props} == {"layouts": {"x": "[N,H,W,C]"}}
    assert [each.dim_value for each in written.graph.input[0].type.tensor_type.shape.dim] == [1, 0, 0, 1]


def test_a_model_in_memory_stays_as_it_is() -> None:
    model = onnx_model()
    before = model.SerializeToString(deterministic=True)
    ir_interp.load(model, semantics="document")
    ir_interp.audit(model)
    assert model.SerializeToString(deterministic=True) == before


def test_a_model_in_memory_with_local_functions() -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "own": 1]>
        g (float[1,1,4,4] x) => (float[1,1,8,7] y) { y = own.twice (x) }
        <domain: "own", opset_import: ["": 18]>
        twice (x) => (y) { z = Constant <value = int64[2] {8, 7}> ()
            y = Resize <mode = "linear", axes = [2, 3]> (x, , , z) }""")
    (op,) = ir_interp.load(model)
    assert op.where.startswith("g.onnx:node[")
    assert len(model.functions) == 1


def test_an_empty_model_is_none() -> None:
    with pytest.raises(
        ReadError, match=r"^model.onnx: not an ONNX model: it has no graph or specifies no operator set"
    ):
        ir_interp.load(onnx.ModelProto())


PIPELINE = ir_interp.pipeline({"image_processor_type": "ViTImageProcessor"}, backend="pil")
TARGETS = f"{', '.join(('tensorrt', 'openvino', *(name for name in OTHERS if OTHERS[name].accepts)))} or any"
MISTAKES: list[tuple[Callable[..., Any], str]] = [
    # a name of an argument
    (
        lambda: ir_interp.convert("a.onnx", "b.xml", onyl="native"),  # type: ignore[call-arg]
        "convert() has no argument 'onyl'; expected one of 26, such as only; did you mean 'only'?",
    ),
    (
        lambda: ir_interp.resize(X, spec(), size=(2, 2)),  # type: ignore[call-arg]
        "resize() has no argument 'size'; expected one of antialias, arithmetic, axes, chunks, kernel, like, nodata, "
        "out, region, scales, sizes, spec, valid, whole, x; did you mean 'sizes'?",
    ),
    (
        lambda: ir_interp.load("a.onnx")[0].run(X, scale=(2, 2)),  # type: ignore[call-arg]
        "ResizeOp.run() has no argument 'scale'; expected one of arithmetic, nodata, scales, sizes, valid, x; "
        "did you mean 'scales'?",
    ),
    (lambda: ir_interp.load(), "load(): missing a required argument: 'source'; expected load(source, ...)"),  # type: ignore[call-arg]
    (lambda: ir_interp.load("a", "b"), "load(): too many positional arguments; expected load(source, ...)"),  # type: ignore[call-arg]
    (lambda: ir_interp.identify(X, X), "identify(): too many positional arguments; expected identify(pairs, ...)"),  # type: ignore[call-arg, arg-type]
    # a word
    (
        lambda: ir_interp.convert("a.onnx", "b.xml", only="nativ"),
        "only is 'nativ'; expected one of any, decomposed, native; did you mean 'native'?",
    ),
    (
        lambda: ir_interp.convert("a.onnx", "b.xml", semantics="runtim"),
        "semantics is 'runtim'; expected one of document, observed, openvino-2021.2, openvino-2021.3, reference, "
        "runtime; did you mean 'runtime'?",
    ),
    (
        lambda: ir_interp.load("a.onnx", semantics=ir_interp.Arithmetic.EXACT),  # type: ignore[arg-type]
        "semantics is <Arithmetic.EXACT: 'exact'>; expected one of document, observed, openvino-2021.2, "
        "openvino-2021.3, reference, runtime",
    ),
    (
        lambda: ir_interp.convert("a.onnx", "b.xml", dialect="tensort"),
        "unknown dialect 'tensort'; expected one of onnx, openvino, tensorrt, tflite; did you mean 'tensorrt'?",
    ),
    (
        lambda: ir_interp.convert("a.onnx", "b.onnx", target="openvin"),
        f"unknown target 'openvin'; expected onnx:7 to onnx:24, {TARGETS}; did you mean 'openvino'?",
    ),
    (
        lambda: ir_interp.resize(X, spec(), arithmetic="exat"),
        "arithmetic: unknown 'exat'; expected one of exact, ipp, jax, litert, onnxruntime, opencv, opencv_added, "
        "opencv_exact, openvino, pillow, scipy, tensorflow, tensorrt, torch, torch_double, torch_fused; "
        "did you mean 'exact'?",
    ),
    (
        lambda: ir_interp.audit("a.onnx", runtimes=["openvno"]),
        f"unknown runtime 'openvno'; {closest('openvno', completed('audit', '--runtime')[:-1])}",
    ),
    (
        lambda: ir_interp.plot("a.onnx", what="weight"),
        "what is 'weight'; expected one of image, kernel, positions, weights; did you mean 'weights'?",
    ),
    (
        lambda: ir_interp.plot("a.onnx", what="image", against="documnt"),
        "against 'documnt' is neither a file nor a known name; expected one of 22, such as document, onnxruntime, "
        "runtime; did you mean 'document'?",
    ),
    (
        lambda: ir_interp.explain("a.onnx", "upp"),
        "a.onnx: no resize named 'upp'; expected up; did you mean 'up'?",
    ),
    # the name of a file
    (
        lambda: ir_interp.load("model.onxn"),
        "model.onxn: unknown file type '.onxn'; expected one of .h5, .json, .keras, .onnx, .pb, .pdmodel, .pt2, "
        ".tflite, .xml; did you mean '.onnx'?",
    ),
    (lambda: ir_interp.plot("a.onnx", "p.jpg"), "'p.jpg' is not the name of a picture; expected .png or .svg"),
    (lambda: ir_interp.load("a\0.onnx"), r"source is 'a\x00.onnx'; expected a path"),
    # a type
    (
        lambda: ir_interp.identify("photo.png"),  # type: ignore[arg-type]
        "pairs is 'photo.png'; expected a list of pairs, [(before, after)]",
    ),
    (
        lambda: ir_interp.identify([("photo.png",)]),  # type: ignore[list-item]
        "pairs is [('photo.png',)]; expected a list of pairs, [(before, after)]",
    ),
    (lambda: ir_interp.identify([(X, "photo.png")]), "after is 'photo.png', a path; open it first"),
    (lambda: PIPELINE("photo.png"), "image is 'photo.png', a path; open it first"),
    (
        lambda: ir_interp.convert("a.onnx", "b.xml", shapes={"": (1, -3)}),
        "shapes is [1, -3]; expected non-negative integers",
    ),
    (
        lambda: ir_interp.load(5),
        "source is 5; expected a path, an onnx.ModelProto, an openvino.Model, a torch.export.ExportedProgram, a "
        "torch.onnx.ONNXProgram or a module with its inputs",
    ),
]


@pytest.mark.parametrize(("call", "said"), MISTAKES, ids=[said[:40] for _, said in MISTAKES])
def test_a_mistake_names_what_was_meant(call: Callable[[], object], said: str) -> None:
    with pytest.raises((SpecError, ReadError)) as caught:
        call()
    assert str(caught.value) == said
    assert [path.name for path in Path().iterdir()] == ["a.onnx"]


WRONG = (5, -1.5, "?", "", b"?", None, True, object(), [5], ["?"], [[1], [1, 2]], {"a": 5}, {5: "a"}, (), np.eye(2))
GIVEN: dict[Callable[..., Any], dict[str, Any]] = {
    ir_interp.load: {"source": "a.onnx"},
    ir_interp.resize: {"x": X, "spec": None},
    ir_interp.prepare: {"spec": None, "shape": X.shape},
    ir_interp.convert: {"source": "a.onnx", "destination": "b.onnx", "target": "onnx:13", "verify": False},
    ir_interp.audit: {"models": "a.onnx"},
    ir_interp.compare: {"first": "a.onnx", "second": "a.onnx"},
    ir_interp.explain: {"source": "a.onnx"},
    ir_interp.plot: {"source": "a.onnx", "what": "image"},
}
RUNS = ("run", "verify")  # what starts processes where it is True


@pytest.mark.sampled(45)
@pytest.mark.parametrize(
    ("function", "argument"),
    [
        pytest.param(each, name, id=f"{each.__name__}-{name}")
        for each in FUNCTIONS
        for name in inspect.signature(each).parameters
    ],
)
def test_any_value_of_any_argument_is_taken_or_refused(function: Callable[..., Any], argument: str) -> None:
    given = {name: spec() if name == "spec" else each for name, each in GIVEN[function].items()}
    if function is ir_interp.compare and argument not in ("first", "second"):
        given["second"] = "gone.onnx"  # runs nothing
    for value in WRONG:
        if value is not True or argument not in RUNS:
            with contextlib.suppress(IrInterpError):
                function(**{**given, argument: value})


def test_any_other_value_than_pairs_is_refused() -> None:
    for value in WRONG:
        with pytest.raises(IrInterpError):
            ir_interp.identify(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: str(each.__name__))
def test_signatures_spell_every_argument_out(function: Callable[..., Any]) -> None:
    kinds = {each.kind for each in inspect.signature(function).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert all(each.annotation != inspect.Parameter.empty for each in inspect.signature(function).parameters.values())
    documented = inspect.getdoc(function) or ""
    assert all(f"``{name}``" in documented for name in inspect.signature(function).parameters if name not in TOLD)


TOLD = ("x", "spec", "source", "destination", "first", "second", "out", "progress", "arithmetic")


def test_results_are_importable() -> None:
    for function in FUNCTIONS:
        result = function.__annotations__["return"]
        assert result in ("NDArray[Any]", "Figure") or result.removeprefix("list[").removesuffix("]") in dir(ir_interp)
    with pytest.raises(AttributeError, match="no attribute 'ConversionRaport'"):
        ir_interp.ConversionRaport  # type: ignore[attr-defined]  # noqa: B018
