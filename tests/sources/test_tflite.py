"""TFLite files: their resizes read, written, and computed as LiteRT does, to the last bit of integers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import openvino.opset13 as ops
import pytest

import ir_interp
from ir_interp import IrInterpError, VerificationError
from ir_interp.converters.audit.probe import Job, run
from tests.support.commands import command

pytest.importorskip("ai_edge_litert", reason="pip install ai-edge-litert")

from ir_interp.converters.dialects.tflite import DIALECT
from ir_interp.converters.frameworks.tflite import conversion, frontend, litert_proof, reading, tflite_files
from ir_interp.converters.frameworks.tflite.tflite_files import packed, schema, unpacked
from ir_interp.converters.runtimes import litert
from ir_interp.converters.runtimes.outcome import Kind
from ir_interp.converters.verify.graphs import read as read_graph
from ir_interp.resize_op import ResizeOp, read
from ir_interp.specs import Linear, Sizes
from ir_interp.translation.dialect import Context
from tests.support.tflite_nets import Net

KINDS = ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
TYPES = ("float32", "int8", "uint8", "int16")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def operator(shape: tuple[int | None, ...] = (1, 5, 6, 2), dtype: str = "float32", **attributes: Any) -> ResizeOp:
    given = {"op": KINDS[0], "align_corners": False, "half_pixel_centers": False, "size": (8, 9)} | attributes
    return read(DIALECT, given, Context(version=1, shape=shape, dtype=dtype), name="y", where="here")


def random_operator(rng: np.random.Generator) -> ResizeOp:
    kind, corners, half = str(rng.choice(KINDS)), bool(rng.integers(2)), bool(rng.integers(2))
    return operator(
        shape=tuple(map(int, (rng.integers(1, 3), *rng.integers(1, 24, 2), rng.choice([1, 2, 3, 8])))),
        dtype=str(rng.choice(TYPES)),
        op=kind,
        align_corners=corners,
        half_pixel_centers=half and not (corners and kind == KINDS[0]),
        size=tuple(map(int, rng.integers(1, 48 if rng.random() < 0.9 else 2000, 2))),
    )


def values(op: ResizeOp, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    shape = tuple(length or 1 for length in op.shape or ())
    if op.dtype == "float32":
        return rng.standard_normal(shape).astype(np.float32)
    ends = np.iinfo(str(op.dtype))
    return rng.integers(ends.min, ends.max, shape, dtype=str(op.dtype), endpoint=True)


def different(count: int, seed: int) -> list[str]:
    """Return the random operators of which LiteRT makes something else than is predicted."""
    rng = np.random.default_rng(seed)
    ops, jobs = [], []
    for number in range(count):
        op, path = random_operator(rng), Path(f"{number}.tflite")
        conversion.write_resize(op, path)
        (back,) = tflite_files.load(path)
        assert (back.spec, back.shape, back.dtype) == (op.spec, op.shape, op.dtype)
        np.save(path.with_suffix(".npy"), values(op, rng))
        ops.append(op)
        jobs.append(Job(runtime="litert", model=str(path), array=str(path.with_suffix(".npy"))))
    found = []
    for op, job, answer in zip(ops, jobs, run(jobs), strict=True):
        wanted = op.run(np.load(job.array))
        assert answer.output is not None, answer.refusal
        off = np.abs(answer.output.astype(np.float64) - wanted.astype(np.float64)).max()
        is_same = answer.output.dtype == wanted.dtype and off <= (1e-4 if op.dtype == "float32" else 0)
        if is_same != (litert.outcome(op).spec is not None):
            found.append(f"{op.spec} of {op.dtype} {op.shape}: {off}")
    return found


def test_litert_computes_the_same() -> None:
    assert different(80, 3) == []


@pytest.mark.long
def test_litert_computes_the_same_of_more() -> None:
    assert different(500, 4) == []


def test_another_rounding_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10 bits instead of 11 nearly every 8-bit operator differs."""
    monkeypatch.setattr("ir_interp.plan.library_weights._OF_XNNPACK", 10)
    assert different(20, 8)


def write_for_any_size(op: ResizeOp, path: Path) -> None:
    """Write an operator whose size is an input."""
    conversion.write_resize(op, path)
    model = unpacked(path)
    (graph,) = model.subgraphs
    _, size, result = graph.tensors
    size.buffer, graph.inputs = 0, [0, 1]
    result.shapeSignature = [result.shape[0], -1, -1, result.shape[3]]
    path.write_bytes(packed(model))


@pytest.mark.parametrize("seed", range(30))
def test_sizes_of_run_time(seed: int) -> None:
    """XNNPACK does not take them, so that int8 is summed by LiteRT's own kernel. Its sums of uint8 are unknown."""
    rng, path = np.random.default_rng(seed), Path("a.tflite")
    op = random_operator(rng)
    assert isinstance(op.spec.target, Sizes)
    write_for_any_size(op, path)
    if op.dtype == "uint8" and isinstance(op.spec.kernel, Linear):
        with pytest.raises(IrInterpError, match="the sums of LiteRT for uint8 and a size of run time are unknown"):
            ir_interp.load(path)
        return
    (back,) = tflite_files.load(path)
    outcome = litert.outcome(replace(back, spec=replace(back.spec, target=op.spec.target)))
    x = values(op, rng)
    (y,) = reading.outputs(path, [x, np.array(op.spec.target.values, np.int32)])
    differences = np.abs(y.astype(np.float64) - back.run(x, sizes=op.spec.target.values))
    assert outcome.spec is None or differences.max() <= (1e-4 if op.dtype == "float32" else 0)
    for target in ("a.onnx", "a.xml"):
        ir_interp.convert(path, target)


def test_long_copies_of_bytes(tmp_path: Path) -> None:
    """Nearest of 8 bits multiplies by a step that is rounded up to 16 bits."""
    path = tmp_path / "a.tflite"
    for dtype, size, kind in (
        ("uint8", (8, 9), Kind.SAME),
        ("uint8", (8, 5000), Kind.DIFFERS),
        ("int8", (8, 46), Kind.DIFFERS),
        ("int16", (8, 5000), Kind.SAME),
        ("float32", (8, 5000), Kind.SAME),
    ):
        conversion.write_resize(operator(shape=(1, 3, 14, 1), dtype=dtype, op=KINDS[1], size=size), path)
        (row,) = ir_interp.audit(path, runtimes=["litert"], run=True).rows
        assert (row.predictions["litert"].kind, row.seen["litert"].kind) == (kind, kind), (dtype, size)


def test_long_bilinear_int16_reads_beyond_the_image() -> None:
    """Its step is rounded to 10 bits, and what lies behind the image is no fixed number: only the rule is tested."""
    for shape, size, kind in (((1, 14, 2, 1), (20, 1364), Kind.DIFFERS), ((1, 14, 2, 1), (20, 40), Kind.SAME)):
        attributes = {"op": KINDS[0], "half_pixel_centers": True, "size": size}
        found = litert.outcome(operator(shape=shape, dtype="int16", **attributes))
        assert (found.kind, found.spec is None) == (kind, kind is Kind.DIFFERS)


def test_dynamic_lengths_and_sizes(tmp_path: Path) -> None:
    conversion.write_resize(operator(shape=(None, 5, 6, 2)), Path("a.tflite"))
    (op,) = ir_interp.load("a.tflite")
    assert (op.shape, op.name, op.where) == ((None, 5, 6, 2), "y", "a.tflite:operator[0]")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_layers_become_others(kind: str, dtype: str, capsys: pytest.CaptureFixture[str]) -> None:
    conversion.write_resize(operator(dtype=dtype, op=kind, half_pixel_centers=True), Path("a.tflite"))
    assert command(capsys, "convert", "a.tflite", "a.json", "--dialect", "tflite", "-q")[0] == 0
    assert command(capsys, "convert", "a.json", "b.tflite", "-q")[0] == 0
    assert Path("a.tflite").read_bytes() == Path("b.tflite").read_bytes()
    assert command(capsys, "convert", "a.tflite", "c.onnx", "-q")[0] == 0
    assert command(capsys, "convert", "a.tflite", "c.xml", "-q")[0] == 0


@pytest.mark.parametrize("name", ["c.onnx", "c.xml"])
def test_integers_with_dynamic_dimensions_are_converted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    conversion.write_resize(operator(dtype="int8", shape=(1, None, 6, 2)), Path("a.tflite"))
    assert command(capsys, "convert", "a.tflite", name, "-q")[0] == 0


def test_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    conversion.write_resize(operator(), Path("a.tflite"))
    code, printed, _ = command(capsys, "inspect", "a.tflite")
    assert code == 0
    assert "TFLite, version 3" in printed
    code, printed, _ = command(capsys, "audit", "a.tflite", "--run", "--json")
    assert code == 0
    np.save("x.npy", np.ones((1, 5, 6, 2), np.float32))
    assert command(capsys, "run", "a.tflite", "--input", "x.npy", "--output", "y.npy")[0] == 0
    assert np.load("y.npy").shape == (1, 8, 9, 2)
    (row,) = ir_interp.audit("a.tflite", run=True).rows
    assert {name: each.kind.value for name, each in row.seen.items()} == {
        "litert": "same",
        "onnxruntime": "same",
        "openvino": "same",
    }


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_tensorrt_makes_of_it(kind: str, dtype: str) -> None:
    """Nobody knows how its int8 is rounded; copies are copies."""
    conversion.write_resize(operator(dtype=dtype, op=kind, half_pixel_centers=True), Path("a.tflite"))
    (row,) = ir_interp.audit("a.tflite", runtimes=["tensorrt"]).rows
    assert (row.predictions["tensorrt"].kind.value == "refused") == (kind == KINDS[0] and dtype == "int8")


def test_what_has_no_form(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.json").write_text(
        '{"dialect": "onnx", "layers": [{"input": {"shape": [1, 2, 5, 6]}, "mode": "cubic", "sizes": [1, 2, 8, 9]}]}'
    )
    code, _, errors = command(capsys, "convert", "a.json", "a.tflite")
    assert code == 1
    remedy = "TFLite resizes axes 1 and 2 of rank 4 only; move the channels of the model to the last axis"
    assert errors.endswith(f": no exact form in tflite; {remedy}\n")
    assert not Path("a.tflite").exists()


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (b"", "not a TFLite file: its header is not that of TFLite"),
        (b"\x1c\0\0\0TFL2" + b"\0" * 64, "not a TFLite file: its header is not that of TFLite"),
        (b"\xff\xff\xff\x7fTFL3" + b"\0" * 64, "not a TFLite file, or truncated"),
    ],
)
def test_what_is_no_file_of_it(held: bytes, message: str) -> None:
    Path("a.tflite").write_bytes(held)
    with pytest.raises(IrInterpError, match=message):
        ir_interp.load("a.tflite")


def test_broken_files_are_refused() -> None:
    """Whatever bytes are changed or truncated: the file is read, or refused in words."""
    conversion.write_resize(operator(), Path("a.tflite"))
    whole, rng = Path("a.tflite").read_bytes(), Random(5)
    refused = 0
    for _ in range(600):
        broken = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.2 else whole)
        for _ in range(rng.randrange(1, 5)):
            if broken:
                broken[rng.randrange(len(broken))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        Path("b.tflite").write_bytes(broken)
        try:
            ir_interp.load("b.tflite")
        except IrInterpError:
            refused += 1
    assert 100 < refused < 600


def whole_model(path: Path, dtype: str, resize: ResizeOp | None = None) -> None:
    """Write a model of a Relu and a resize behind it."""
    import flatbuffers

    of = schema()
    conversion.write_resize(resize or operator(dtype=dtype), path)
    model = of.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    (graph,) = model.subgraphs
    again = of.ModelT.InitFromPackedBuf(path.read_bytes(), 0).subgraphs[0].tensors[0]
    again.name = "front"
    graph.tensors.append(again)
    relu, code = of.OperatorT(), of.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = of.BuiltinOperator.RELU
    code.version = 2
    model.operatorCodes.append(code)
    relu.opcodeIndex, relu.inputs, relu.outputs = 1, [3], [0]
    graph.operators.insert(0, relu)
    graph.inputs = [3]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    path.write_bytes(builder.Output())


@pytest.mark.parametrize("target", ["a.onnx", "a.xml"])
@pytest.mark.parametrize(
    ("dtype", "note"),
    [
        ("float32", "before conversion the model is equal to a.tflite within "),
        (
            "int8",
            "each of 2 values of operators equals that of LiteRT's float kernels: "
            "0 of 816 levels round the other way in its integer kernels; ",  # 204 on random pixels, and on each extreme
        ),
    ],
)
def test_a_whole_model_equals_litert(dtype: str, note: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole_model(Path("a.tflite"), dtype)
    report = ir_interp.convert("a.tflite", target)
    assert [(row.name, row.source.where) for row in report.rows] == [("y", "a.tflite:operator[1]")]
    assert report.verification is not None
    assert note in report.verification.note
    assert ir_interp.compare(target, "a.tflite", seed=2).passes
    code, printed, _ = command(capsys, "inspect", target)
    assert (code, f"input       front: {dtype} 1x5x6x2\noutput      y: {dtype} 1x8x9x2" in printed) == (0, True)


def change(path: Path, changed: Callable[[Any], None]) -> None:
    """Change the model of a file."""
    model = unpacked(path)
    changed(model)
    path.write_bytes(packed(model))


def test_an_operator_that_cannot_be_read_is_a_row_with_its_error() -> None:
    """The others of the file are audited; the file itself was unread."""
    conversion.write_resize(operator(), Path("a.tflite"))

    def requantise_another(model: Any) -> None:
        of, (graph,) = schema(), model.subgraphs
        wrong, end = deepcopy(graph.operators[0]), deepcopy(graph.tensors[graph.operators[0].outputs[0]])
        end.name, end.quantization = b"wrong", of.QuantizationParametersT()
        end.quantization.scale, end.quantization.zeroPoint = [0.5], [1]
        graph.tensors.append(end)
        wrong.outputs = [len(graph.tensors) - 1]
        graph.operators.insert(0, wrong)

    change(Path("a.tflite"), requantise_another)
    report = ir_interp.audit("a.tflite")
    assert ([row.op.where for row in report.rows], report.errors) == (["a.tflite:operator[1]"], ())
    (row,) = report.unread
    assert (row.resize, row.where) == ("wrong", "a.tflite:operator[0]")
    assert row.problem == ("its output is quantised differently from its input; expected the same scale and zero point")
    assert {verdict.kind for verdict in row.verdicts.values()} == {Kind.UNKNOWN}
    assert "litert" in row.verdicts
    assert row.verdicts.keys() <= report.rows[0].verdicts.keys()
    assert [finding.where for finding in report.findings if finding.code == "IRI027"] == [row.where]


@pytest.mark.parametrize("target", ["a.onnx", "a.xml"])
def test_outputs_beside_a_single_resize(target: str) -> None:
    """They were dropped, since the file was read as one layer."""
    conversion.write_resize(operator(), Path("a.tflite"))
    change(Path("a.tflite"), lambda model: setattr(model.subgraphs[0], "outputs", [0, 2]))
    ir_interp.convert("a.tflite", target)
    assert len(read_graph(Path(target)).outputs) == 2
    assert ir_interp.compare(target, "a.tflite", seed=2).passes


def test_operators_without_a_reference_kernel() -> None:
    """How far LiteRT's kernels differ was asked of both; it has one."""
    leaky(Path("a.tflite"))

    def elu(model: Any) -> None:
        code = model.operatorCodes[0]
        code.builtinCode = code.deprecatedBuiltinCode = schema().BuiltinOperator.ELU
        code.version = 1
        model.subgraphs[0].operators[0].builtinOptionsType = 0
        model.subgraphs[0].operators[0].builtinOptions = None

    change(Path("a.tflite"), elu)
    ir_interp.convert("a.tflite", "a.xml")
    assert ir_interp.compare("a.xml", "a.tflite", seed=2).passes


def unknown_ranks(model: Any) -> None:
    """Leave out the shapes that only run time knows, as older converters do."""
    graph = model.subgraphs[0]
    for place in {place for each in graph.operators for place in each.outputs}:
        graph.tensors[place].shape, graph.tensors[place].shapeSignature = [], None
        graph.tensors[place].hasRank = False


@pytest.mark.parametrize("target", ["a.onnx", "a.xml"])
def test_shapes_of_run_time(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A tensor without a shape is a scalar only if the file says so; what a resize reads has 4 axes."""
    whole_model(Path("a.tflite"), "float32")
    change(Path("a.tflite"), unknown_ranks)
    (resize,) = ir_interp.load("a.tflite")
    assert resize.shape == (None,) * 4
    assert not [finding for finding in ir_interp.audit("a.tflite").findings if finding.code == "IRI027"]
    assert ir_interp.convert("a.tflite", target).verification is not None
    code, printed, _ = command(capsys, "inspect", "a.tflite")
    assert (code, "output      y: float32 of any rank" in printed) == (0, True)


def test_a_size_of_run_time_is_audited(capsys: pytest.CaptureFixture[str]) -> None:
    """An exporter is asked about a constant size in its place."""
    write_for_any_size(operator(), Path("a.tflite"))
    assert command(capsys, "audit", "a.tflite")[0] in (0, 1)
    assert len(ir_interp.audit("a.tflite").rows) == 1


def custom_operators(model: Any) -> None:
    """Put three operators behind the resize that OpenVINO does not know."""
    of, graph = schema(), model.subgraphs[0]
    for number, kind in ((of.BuiltinOperator.CUSTOM, b"MaxPoolingWithArgmax2D"), (of.BuiltinOperator.RFFT2D, None)):
        code = of.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        code.customCode, code.version = kind, 1
        model.operatorCodes.append(code)
    for opcode in (2, 3, 2):
        last = graph.tensors[graph.outputs[0]]
        behind = deepcopy(last)
        behind.name = b"behind " + str(len(graph.tensors)).encode()
        graph.tensors.append(behind)
        added = of.OperatorT()
        added.opcodeIndex, added.inputs, added.outputs = opcode, [graph.outputs[0]], [len(graph.tensors) - 1]
        graph.operators.append(added)
        graph.outputs = [len(graph.tensors) - 1]


def test_all_operators_without_a_translation_are_named() -> None:
    whole_model(Path("a.tflite"), "float32")
    change(Path("a.tflite"), custom_operators)
    with pytest.raises(IrInterpError) as error:
        ir_interp.convert("a.tflite", "a.xml")
    assert str(error.value) == (
        "a.tflite: OpenVINO's TFLite frontend has no translation of 3 of 5 operators: "
        "CUSTOM MaxPoolingWithArgmax2D (2), RFFT2D (1)"
    )


def outputs_twice(model: Any) -> None:
    model.subgraphs[0].outputs = [2, 2]


def text_input(model: Any) -> None:
    model.subgraphs[0].tensors.append(schema().TensorT())
    model.subgraphs[0].tensors[-1].name, model.subgraphs[0].tensors[-1].type = "text", schema().TensorType.STRING
    model.subgraphs[0].inputs = [3, 4]


def shared_bias(model: Any) -> None:
    """Write a convolution whose weights, bias and inputs are levels, the bias those of another one."""
    of, graph = schema(), model.subgraphs[0]
    for scale in (0.5, 0.1):
        graph.tensors.append(of.TensorT())
        tensor = graph.tensors[-1]
        tensor.name, tensor.type, tensor.shape, tensor.buffer = f"w{scale}", of.TensorType.INT8, [2], 0
        tensor.quantization = of.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = [scale], [0]
    graph.tensors[3].quantization = graph.tensors[4].quantization
    code = of.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = of.BuiltinOperator.FULLY_CONNECTED
    model.operatorCodes.append(code)
    graph.operators[0].opcodeIndex, graph.operators[0].inputs = len(model.operatorCodes) - 1, [3, 4, 5]


def second_signature(model: Any) -> None:
    model.subgraphs.append(model.subgraphs[0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (outputs_twice, "a.tflite: 'y' is an output twice; expected outputs of different names"),
        (text_input, "a.tflite: 'text', an input or output, is of type string; expected numbers"),
        (
            second_signature,
            "a.tflite:graph[1]/operator[1]: a resize in a branch, a loop or a second signature is not supported",
        ),
        (
            shared_bias,
            "a.tflite:operator[0]: its bias has the scale of another operator, which LiteRT ignores; "
            "convert the model again with a bias of its own",
        ),
    ],
)
def test_models_that_are_refused(changed: Callable[[Any], None], message: str) -> None:
    whole_model(Path("a.tflite"), "float32")
    change(Path("a.tflite"), changed)
    with pytest.raises(IrInterpError) as error:
        ir_interp.convert("a.tflite", "a.xml")
    assert str(error.value) == message


@pytest.mark.parametrize("target", ["a.onnx", "a.xml"])
def test_levels_of_16_bits(target: str) -> None:
    """OpenVINO's plugin strips their FakeQuantize, so that they are rounded by primitives."""
    leaky(Path("a.tflite"), "int16", 0)
    verification = ir_interp.convert("a.tflite", target).verification
    assert verification is not None
    assert "each of 1 values of operators equals that of LiteRT's float kernels: " in verification.note


@pytest.mark.parametrize(("dtype", "target"), [("float32", "a.onnx"), ("int8", "a.xml")])
def test_channels_become_the_second_axis(dtype: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole_model(Path("a.tflite"), dtype)
    assert command(capsys, "convert", "a.tflite", target, "--layout", "nchw", "-q") == (0, "", "")
    code, printed, _ = command(capsys, "inspect", target)
    assert (code, f"input       front: {dtype} 1x2x5x6\noutput      y: {dtype} 1x2x8x9" in printed) == (0, True)

    def litert(x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        return [reading.outputs(Path("a.tflite"), [x.transpose(0, 2, 3, 1)])[0].transpose(0, 3, 1, 2)]

    assert ir_interp.compare(target, reference=litert, seed=2).passes


SCALES = (0.02, 0.0173)


def leaky(path: Path, dtype: str = "int8", zero: int = -3, scales: tuple[float, float] = SCALES) -> None:
    """Write a model of one LeakyRelu between tensors of levels of two scales."""
    of = schema()
    conversion.write_resize(operator(shape=(1, 32, 32, 3), dtype=dtype), path)
    model = unpacked(path)
    (graph,), (code,) = model.subgraphs, model.operatorCodes
    code.builtinCode = code.deprecatedBuiltinCode = of.BuiltinOperator.LEAKY_RELU
    code.version = 2
    (node,), options = graph.operators or (), of.LeakyReluOptionsT()
    node.builtinOptionsType, node.builtinOptions, options.alpha = of.BuiltinOptions.LeakyReluOptions, options, 0.3
    node.inputs = node.inputs[:1]
    ends = [graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]]
    for tensor, scale in zip(ends, scales, strict=True):
        tensor.shape, tensor.shapeSignature = [1, 32, 32, 3], None
        tensor.quantization = of.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = [scale], [zero]
    path.write_bytes(packed(model))


def test_levels_that_integer_kernels_round_otherwise() -> None:
    """XNNPACK multiplies by a factor of 8 bits; OpenVINO's value is that of LiteRT's float kernel."""
    leaky(Path("a.tflite"))
    verification = ir_interp.convert("a.tflite", "a.xml").verification
    assert verification is not None
    # 3,072 on random pixels, and on each of three extremes.
    flips = re.search(r"(\d+) of 12288 levels round .* up to (0\.\d+) levels from an edge", verification.note)
    assert flips
    assert int(flips[1]) > 0
    assert 2**-6 < float(flips[2]) < 0.5


def test_levels_that_a_convolution_and_a_reshape_read() -> None:
    """OpenVINO 2026.4 overwrites them if the Reshape is an output, and 8-bit products are off."""
    at: dict[str, Any] = {"scale": [0.02], "zeroPoint": [-3]}
    net, rng = Net("int8", **at), np.random.default_rng(0)
    shape = net.tensor("shape", "int32", (5,), np.array([1, 6, 1, 5, 4], np.int32))
    w = net.tensor(
        "w", "int8", (4, 3, 3, 4), rng.integers(-127, 127, (4, 3, 3, 4), "int8"), scale=[0.005], zeroPoint=[0]
    )
    bias = net.tensor("bias", "int32", (4,), np.zeros(4, np.int32), scale=[0.02 * 0.005], zeroPoint=[0])
    z = net.operator("RESHAPE", [0, shape], "z", levels=at)
    y = net.operator("RELU", [z], "y", levels=at)
    options = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    net.graph.outputs = [y, net.operator("CONV_2D", [0, w, bias], "c", "Conv2DOptions", levels=at, **options)]
    net.save(Path("a.tflite"))
    verification = ir_interp.convert("a.tflite", "a.xml").verification
    assert verification is not None
    assert "each of 3 values of operators equals that of LiteRT's float kernels: " in verification.note


def test_a_constant_of_a_single_level() -> None:
    at: dict[str, Any] = {"scale": [0.02], "zeroPoint": [-3]}
    net = Net("int8", **at)
    half = net.tensor("half", "int8", (), np.array(25, np.int8), scale=[0.02], zeroPoint=[0])
    net.operator("MUL", [0, half], "y", "MulOptions", levels=at)
    net.save(Path("a.tflite"))
    verification = ir_interp.convert("a.tflite", "a.xml").verification
    assert verification is not None
    assert "each of 1 values of operators equals that of LiteRT's float kernels: " in verification.note


def test_a_whole_model_that_differs_is_refused() -> None:
    leaky(Path("a.tflite"))
    x = np.zeros((1, 32, 32, 3), np.int8)
    expected = reading.outputs(Path("a.tflite"), [x])
    others = [expected[0] + 9]
    proof = litert_proof.Proof(operators=1, levels=1, flipped=0, furthest=0.0)
    note = litert_proof.compared_whole(Path("a.tflite"), [x], others, proof, lambda: expected)
    assert str(note) == "as a whole it differs by 0 where OpenVINO works in 8 bits, else by 9"
    with pytest.raises(VerificationError, match=r"^as a whole it differs from a.tflite in LiteRT by 9$"):
        litert_proof.compared_whole(Path("a.tflite"), [x], others, proof, lambda: others)


def convolutions(depth: int) -> Net:
    """Return a model of random convolutions between tensors of levels, all of one scale."""
    at: dict[str, Any] = {"scale": [0.02], "zeroPoint": [-3]}
    net, rng, y = Net("int8", **at), np.random.default_rng(depth), 0
    options = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    for number in range(depth):
        values = rng.integers(-127, 127, (4, 3, 3, 4), "int8")
        w = net.tensor(f"w{number}", "int8", values.shape, values, scale=[0.0087], zeroPoint=[0])
        offsets = rng.integers(-500, 500, 4).astype(np.int32)
        bias = net.tensor(f"bias{number}", "int32", (4,), offsets, scale=[0.02 * 0.0087], zeroPoint=[0])
        y = net.operator("CONV_2D", [y, w, bias], f"y{number}", "Conv2DOptions", levels=at, **options)
    return net


def test_levels_that_round_the_other_way_explain_the_whole() -> None:
    """They change all levels behind them, but each operator computes the same of the changed ones."""
    convolutions(8).save(Path("a.tflite"))
    verification = ir_interp.convert("a.tflite", "a.xml").verification
    assert verification is not None
    whole = re.search(r"as a whole it differs by (\S+), which (\d+) levels explain", verification.note)
    assert whole is not None
    assert float(whole[1]) > 1


def test_a_whole_that_flipped_levels_do_not_explain_is_refused() -> None:
    """As a whole it computes something that no operator computes by itself."""
    leaky(Path("a.tflite"))
    x = np.zeros((1, 32, 32, 3), np.int8)
    others = [reading.outputs(Path("a.tflite"), [x])[0] + 9]
    proof = litert_proof.Proof(operators=1, levels=1, flipped=1, furthest=0.01)
    with pytest.raises(VerificationError, match=r"output 'y' does not follow from OpenVINO's own values$"):
        litert_proof.compared_whole(Path("a.tflite"), [x], others, proof, lambda: others)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x: ops.multiply(x, np.float32(1.001)), "differs from LiteRT's float kernel by "),
        (lambda x: ops.add(x, np.float32(SCALES[1] / 20)), "differs from LiteRT's float kernel by 0.05"),
    ],
)
def test_a_wrong_operator_is_refused(spoil: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    leaky(Path("a.tflite"))
    change_rounding(monkeypatch, lambda node: node.input(0).replace_source_output(spoil(node.input_value(0)).output(0)))
    with pytest.raises(VerificationError, match=rf"^a.tflite: LEAKY_RELU that computes 'y' {re.escape(message)}"):
        ir_interp.convert("a.tflite", "a.xml")


@pytest.mark.parametrize(("dtype", "zero", "coarser"), [("int8", -3, 200), ("int16", 0, 2000)])
def test_a_wrong_operator_of_few_levels_is_refused(
    dtype: str, zero: int, coarser: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its values span few of the levels that the type has: 1 % of them is less than the last bits of a full range."""
    leaky(Path("a.tflite"), dtype, zero, scales=(SCALES[0], SCALES[1] * coarser))
    ir_interp.convert("a.tflite", "right.xml")
    build = frontend.build

    def spoilt(path: Path, folder: Path) -> Any:
        built = build(path, folder)
        for node in built.model.get_ordered_ops():
            if node.get_type_name() == "PRelu":
                for reader in node.output(0).get_target_inputs():
                    reader.replace_source_output(ops.multiply(node, np.float32(1.01)).output(0))
        return built

    monkeypatch.setattr(litert_proof, "build", spoilt)
    with pytest.raises(VerificationError, match="LEAKY_RELU that computes 'y' differs from LiteRT's float kernel by"):
        ir_interp.convert("a.tflite", "wrong.xml")


@pytest.mark.parametrize("place", range(1, 5))
def test_other_levels_are_refused(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound of FakeQuantize is off by a tenth of a level."""

    def moved(node: Any) -> None:
        bound = ops.add(node.input_value(place), np.float32(SCALES[1] / 10))
        node.input(place).replace_source_output(bound.output(0))

    leaky(Path("a.tflite"))
    change_rounding(monkeypatch, moved)
    message = "^a.tflite: LEAKY_RELU that computes 'y' is rounded to other levels than those of the file; "
    with pytest.raises(VerificationError, match=message):
        ir_interp.convert("a.tflite", "a.xml")


def change_rounding(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None]) -> None:
    """Let the conversion of an operator change the last FakeQuantize."""
    build = frontend.build

    def changed(path: Path, folder: Path) -> Any:
        built = build(path, folder)
        change([node for node in built.model.get_ordered_ops() if node.get_type_name() == "FakeQuantize"][-1])
        return built

    monkeypatch.setattr(litert_proof, "build", changed)


def test_a_resize_that_litert_computes_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10 bits instead of 11, weights make other levels."""
    whole_model(Path("a.tflite"), "int8", operator(shape=(1, 9, 11, 4), dtype="int8", size=(31, 29)))
    monkeypatch.setattr("ir_interp.plan.library_weights._OF_XNNPACK", 10)
    with pytest.raises(
        VerificationError, match=r"^a.tflite: RESIZE_BILINEAR that computes 'y' differs from LiteRT by "
    ):
        ir_interp.convert("a.tflite", "a.xml")
    assert not Path("a.xml").exists()


def test_copies_at_rounded_steps() -> None:
    """LiteRT takes other pixels than the attributes mean, and so does the result."""
    whole_model(Path("a.tflite"), "int8", operator(shape=(1, 3, 14, 1), dtype="int8", op=KINDS[1], size=(8, 46)))
    (row,) = ir_interp.convert("a.tflite", "a.onnx").rows
    assert row.form == "copies of the pixels that LiteRT takes"


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    ("kind", "corners", "half"), [(KINDS[0], True, False), (KINDS[0], False, True), (KINDS[1], False, True)]
)
def test_a_resize_of_a_whole_model_is_rewritten(
    kind: str, corners: bool, half: bool, dtype: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole_model(Path("a.tflite"), dtype)
    assert command(capsys, "convert", "a.tflite", "a.json", "--dialect", "tflite", "-q")[0] == 0
    layers = json.loads(Path("a.json").read_text())
    layers["layers"][0] |= {"op": kind, "align_corners": corners, "half_pixel_centers": half}
    Path("a.json").write_text(json.dumps(layers))
    assert command(capsys, "convert", "a.json", "b.tflite", "--into", "a.tflite", "-q")[0] == 0
    (op,) = ir_interp.load("b.tflite")
    assert op.attributes["op"] == kind
    x = values(op, np.random.default_rng(6))
    np.save("x.npy", x)
    (answer,) = run([Job(runtime="litert", model="b.tflite", array="x.npy")])
    assert answer.output is not None, answer.refusal
    np.testing.assert_allclose(answer.output, op.run(np.maximum(x, 0)), atol=1e-5 if dtype == "float32" else 0)


def test_what_is_not_rewritten(capsys: pytest.CaptureFixture[str]) -> None:
    whole_model(Path("a.tflite"), "float32")
    assert command(capsys, "convert", "a.tflite", "a.json", "--dialect", "tflite", "-q")[0] == 0
    layers = json.loads(Path("a.json").read_text())
    for change, code, message in (
        ({"size": [8, 10]}, 1, "y: no exact form in tflite; it gives another size, on which other operators depend"),
        ({"name": "z"}, 2, "a.tflite: no resize named 'z'; expected y"),
    ):
        held = {**layers, "layers": [layers["layers"][0] | change]}
        Path("b.json").write_text(json.dumps(held))
        assert command(capsys, "convert", "b.json", "b.tflite", "--into", "a.tflite", "-q")[0] == code
        assert message in command(capsys, "convert", "b.json", "b.tflite", "--into", "a.tflite")[2]
        assert not Path("b.tflite").exists()
    code, _, told = command(capsys, "convert", "a.tflite", "c.json", "--into", "a.tflite")
    assert code == 2
    assert "into" in told
