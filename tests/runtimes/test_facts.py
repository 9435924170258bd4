"""What stands in ``runtimes/`` is what runtimes do, and writers and predictions say the same of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset1 as opset1
import openvino.opset13 as ops
import pytest

import ir_interp
from ir_interp import InexactError, ResizeOp
from ir_interp.converters.audit.auditing import audit
from ir_interp.converters.onnx import resize_form
from ir_interp.converters.onnx.resize_nodes import nodes_in
from ir_interp.converters.openvino import interpolate_form
from ir_interp.converters.openvino.ir_save import interpolate_model
from ir_interp.converters.reports import Form, FormPolicy
from ir_interp.converters.runtimes import onnxruntime, openvino_layers
from ir_interp.converters.runtimes.outcome import Kind, Outcome
from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.translation.dialect import Context
from tests.support.configurations import IrCase, OnnxCase, random_ir_case, random_node, run_in_openvino
from tests.support.runtimes import Array, Child, Crashed
from tests.support.verdicts import spec_of

NODES = int(os.environ.get("IR_INTERP_LAW_NODES", "60"))  # 2,000 take three minutes each


def _nodes() -> Iterator[ResizeOp]:
    """Yield random nodes and layers of all ranks and element types."""
    rng = np.random.default_rng(20)
    for place in range(NODES):
        case = random_node(rng) if place % 2 else random_ir_case(rng)
        yield _op(case)


def _op(case: OnnxCase | IrCase) -> ResizeOp:
    dialect, version = ("onnx", case.opset) if isinstance(case, OnnxCase) else ("openvino", case.version)
    spec = spec_of(case)
    return ResizeOp(
        name="up", where="up", spec=spec, dialect=dialect, version=version, shape=case.shape, dtype=case.dtype
    )


def _model(op: ResizeOp) -> ov.Model:
    return interpolate_model(op, FormPolicy(form=Form.NATIVE))[0]


def _refusal(op: ResizeOp) -> str:
    try:
        _model(op)
    except InexactError as refusal:
        return refusal.reason
    return ""


def test_what_is_written_for_openvino_is_predicted_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer is written where the plugin is predicted to compute it, and only there: both by the same facts."""
    written, refused = 0, 0
    for op in _nodes():
        reason = _refusal(op)
        if not reason:
            assert not _first(_model(op), op.dtype)
            written += 1
        elif (
            reason.startswith("OpenVINO: ")
            and op.dtype in openvino_layers.TYPES
            and not openvino_layers.lost_digits(op)
        ):
            with monkeypatch.context() as unasked:
                unasked.setattr(interpolate_form, "_problem", lambda *_: "")
                assert f"OpenVINO: {_first(_model(op), op.dtype)}" == reason
            refused += 1
    assert written > NODES / 4
    assert refused > NODES / 100


def _first(model: ov.Model, dtype: str | None) -> str:
    """Return what is the matter with the first Interpolate of a model that the plugin is not prediction to compute."""
    found = (_prediction(node, dtype) for node in model.get_ordered_ops() if node.get_type_name() == "Interpolate")
    return next((each.reason for each in found if each.spec is None), "")


def _prediction(node: ov.Node, dtype: str | None) -> Outcome:
    attributes = {
        name: value for name, value in node.get_attributes().items() if name in (*DIALECT.vocabulary, "cube_coeff")
    }
    target, axes = (np.array(node.input_value(place).get_node().data).tolist() for place in (1, 2))
    attributes |= {attributes["shape_calculation_mode"]: tuple(target), "axes": tuple(axes)}
    shape = tuple(node.get_input_shape(0))
    spec = DIALECT.parse(attributes, Context(version=11, shape=shape))
    layer = ResizeOp(name="", where="", spec=spec, dialect="openvino", version=11, shape=shape, dtype=dtype)
    return openvino_layers.layer(replace(layer, attributes=attributes))


def test_what_is_written_for_onnxruntime_is_predicted_to_run() -> None:
    """The same of nodes: one that is written is predicted to compute what it means; one that is not, is not."""
    written, refused = 0, 0
    for op in _nodes():
        made, why = resize_form.native(op)
        if made is not None:
            assert [onnxruntime.outcome(each.op).reason for each in nodes_in(made.model, Path("x"))] in ([], [""])
            written += 1
        elif why.startswith("onnxruntime: ") and not why.startswith("onnxruntime: it"):
            (node,) = nodes_in(resize_form.native_model(op).model, Path("x"))
            assert onnxruntime.outcome(node.op).kind is Kind.REFUSED
            refused += 1
    assert written > NODES / 4
    assert refused > NODES / 100


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("mode", "rank"), [("cubic", 5), ("cubic", 6), ("nearest", 6), ("linear", 6), ("linear", 7)])
def test_ranks_that_the_plugin_takes(mode: str, rank: int, dtype: str) -> None:
    case = IrCase(
        version=11,
        shape=(1,) * (rank - 2) + (5, 4),
        dtype=dtype,
        attributes={"mode": mode, "nearest_mode": "floor"},
        axes=(rank - 2, rank - 1),
        sizes=(7, 9),
    )
    node = openvino_layers.Interpolate(
        mode=mode, rank=rank, dtype=dtype, resized=frozenset(case.axes or ()), listed=frozenset(case.axes or ())
    )
    assert openvino_layers.plugin(node) is None
    wanted = ir_interp.resize(case.array(), spec_of(case))
    np.testing.assert_allclose(run_in_openvino(case), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear_pillow", "bicubic_pillow"])
@pytest.mark.parametrize(
    ("rank", "axes"), [(r, a) for r, sets in openvino_layers.PILLOW_AXES.items() for a in map(tuple, sets)]
)
def test_axes_that_pillow_modes_take(mode: str, rank: int, axes: tuple[int, ...]) -> None:
    shape = tuple(6 if axis in axes else 3 for axis in range(rank))
    case = IrCase(version=11, shape=shape, attributes={"mode": mode}, axes=axes, sizes=(9, 4)[: len(axes)])
    np.testing.assert_allclose(run_in_openvino(case), ir_interp.resize(case.array(), spec_of(case)), rtol=0, atol=1e-5)


def test_other_axes_of_pillow_modes_are_never_written() -> None:
    """Of two axes, the first alone may kill the plugin; of four, one of channels gives garbage."""
    alone = IrCase(version=11, shape=(6, 3), attributes={"mode": "bilinear_pillow"}, axes=(0,), sizes=(9,))
    mixed = IrCase(version=11, shape=(3, 6, 3, 6), attributes={"mode": "bilinear_pillow"}, axes=(1, 3), sizes=(4, 4))
    others = [replace(mixed, axes=axes, sizes=(4,) * len(axes)) for axes in ((1,), (1, 2, 3))]
    for case in (alone, mixed, *others):
        _, made = interpolate_model(_op(case))
        assert made.form.startswith("weighted sums")
        assert "corrupts memory" in made.note
    with Child() as child:
        seen = child.call(run_in_openvino, mixed)
    wanted = ir_interp.resize(mixed.array(), spec_of(mixed))
    assert isinstance(seen, Crashed) or (isinstance(seen, np.ndarray) and not np.allclose(seen, wanted))


def test_a_float64_cubic_of_rank_5_is_written_as_it_is() -> None:
    case = OnnxCase(
        op="Resize",
        opset=19,
        shape=(1, 1, 2, 5, 6),
        dtype="float64",
        attributes={"mode": "cubic", "axes": [3, 4]},
        sizes=(7, 9),
    )
    op = _op(case)
    model, made = interpolate_model(op, FormPolicy(form=Form.NATIVE))
    assert made.form.startswith("openvino 11: mode=cubic")
    x = case.array()
    ours: Array = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]
    np.testing.assert_allclose(ours, op.run(x), rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [[1, 2, 8, 6], [1, 2, -1, 6]])
def test_an_area_layer_is_audited_as_it_is_converted(shape: list[int], tmp_path: Path) -> None:
    """Mode area becomes operations; the audit says so."""
    x = ops.parameter(ov.PartialShape(shape), np.float32, name="x")
    y = opset1.interpolate(x, np.array([5, 4]), {"axes": [2, 3], "mode": "nearest", "align_corners": False})
    x.output(0).set_names({"x"})
    y.output(0).set_names({"y"})
    source = tmp_path / "area.xml"
    ov.save_model(ov.Model([y], [x], "area"), source)
    source.write_text(source.read_text(encoding="utf-8").replace('mode="nearest"', 'mode="area"'), encoding="utf-8")
    (row,), errors = audit([source])
    assert not errors
    assert row.predictions["onnxruntime"].kind is Kind.SAME
    form = ir_interp.convert(source, tmp_path / "area.onnx").rows[0].form or ""
    assert form.startswith("weighted sums along axes 2, 3")
