"""What an IR keeps between inferences: inputs and outputs of its ONNX model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from openvino import op, opset13 as ops
from openvino.op.util import Variable, VariableInfo

import ir_interp
from tests.support.layers import constant

HEADS, WIDTH, WORDS = 2, 4, 30
SIZE = HEADS * WIDTH


def variable(name: str, shape: Any, dtype: Any = ov.Type.f32) -> Variable:
    info = VariableInfo()
    info.variable_id, info.data_shape, info.data_type = name, ov.PartialShape(shape), dtype
    return Variable(info)


def named(shape: Any, dtype: Any, name: str) -> Any:
    made = ops.parameter(ov.PartialShape(shape), dtype, name=name)
    made.output(0).set_names({name})
    return made


def decoder(path: Path, layers: int = 2) -> None:
    """Save a small language model as optimum-intel exports one: keys and values of the past are its states."""
    random = np.random.default_rng(5)
    ids, mask = named([-1, -1], np.int64, "input_ids"), named([-1, -1], np.int64, "attention_mask")
    beams = named([-1], np.int32, "beam_idx")
    batch = ops.gather(ops.shape_of(ids), constant([0]), constant(0))
    empty = ops.broadcast(constant(np.float32(0)), ops.concat([batch, constant([HEADS, 0, WIDTH], np.int64)], 0))
    hidden = ops.subtract(constant(np.float32(1)), ops.convert(mask, "f32"))
    bias = ops.multiply(ops.unsqueeze(hidden, constant([1, 2])), constant(np.float32(-1e9)))

    def product(x: Any, columns: int) -> Any:
        return ops.matmul(x, constant(random.normal(0, 0.7, [SIZE, columns]), np.float32), False, False)

    def by_head(x: Any) -> Any:
        return ops.transpose(ops.reshape(x, constant([0, 0, HEADS, WIDTH]), True), constant([0, 2, 1, 3]))

    x: Any = ops.gather(constant(random.normal(0, 1, [WORDS, SIZE]), np.float32), ids, constant(0))
    sinks = []
    for layer in range(layers):
        held = []
        for kind in ("key", "value"):
            name = f"past_key_values.{layer}.{kind}present.{layer}.{kind}"
            state = variable(name, [-1, HEADS, -1, WIDTH])
            past = ops.gather(op.read_value(empty, state), beams, constant(0))
            held.append(ops.concat([past, by_head(product(x, SIZE))], 2))
            sinks.append(op.assign(held[-1], state))
        seen = ops.scaled_dot_product_attention(by_head(product(x, SIZE)), *held, bias)
        merged = ops.reshape(ops.transpose(seen, constant([0, 2, 1, 3])), constant([0, 0, SIZE]), True)
        x = ops.add(x, merged)
    scores = product(x, WORDS)
    scores.output(0).set_names({"logits"})
    ov.save_model(ov.Model([ops.result(scores)], sinks, [ids, mask, beams], "decoder"), path, compress_to_fp16=False)


def spoken(step: Any, count: int) -> list[list[int]]:
    """Return what a model says after three words: each time the likeliest, of two beams that change places."""
    tokens, said = np.array([[3, 1, 4], [1, 5, 9]]), []
    length = 0
    for _ in range(count):
        length += tokens.shape[1]
        scores = step(tokens, np.ones([2, length], np.int64), np.array([1, 0] if length > 3 else [0, 1], np.int32))
        tokens = scores[:, -1:].argmax(-1)
        said.append(tokens.ravel().tolist())
    return said


def test_a_language_model_says_the_same_word_by_word(tmp_path: Path) -> None:
    source, made = tmp_path / "decoder.xml", tmp_path / "decoder.onnx"
    decoder(source)
    report = ir_interp.convert(source, made)
    assert report.verification is not None
    assert [each.name for each in report.verification.outputs][1:] == [each.output for each in report.states]
    settings = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}  # else states are held in 8 bits
    request = ov.Core().compile_model(source, "CPU", settings).create_infer_request()
    session = onnxruntime.InferenceSession(str(made))
    past = {each.input: np.zeros([2, HEADS, 0, WIDTH], np.float32) for each in report.states}

    def in_openvino(tokens: Any, mask: Any, beams: Any) -> Any:
        return request.infer({"input_ids": tokens, "attention_mask": mask, "beam_idx": beams})[0].copy()

    def in_onnxruntime(tokens: Any, mask: Any, beams: Any) -> Any:
        given = {"input_ids": tokens, "attention_mask": mask, "beam_idx": beams}
        scores, *states = session.run(None, given | past)
        past.update(zip(past, states, strict=True))
        return scores

    wanted = spoken(in_openvino, 64)
    assert spoken(in_onnxruntime, 64) == wanted
    assert len({tuple(each) for each in wanted}) > 5


def test_names_shapes_types_and_initial_values(tmp_path: Path) -> None:
    """Sorted by their numbers, behind inputs and outputs of the model itself, and in the metadata."""
    x = named([1, 2], np.float32, "x")
    total, steps, fixed = variable("s10", [1, 2]), variable("s9", [1], ov.Type.i64), variable("fixed", [2])
    added = ops.add(op.read_value(total), x)
    counted = ops.add(op.read_value(constant([7], np.int64), steps), constant([1], np.int64))
    scaled = ops.multiply(added, op.read_value(constant([1.5, 2.5], np.float32), fixed))
    scaled.output(0).set_names({"y"})
    sinks = [op.assign(added, total), op.assign(counted, steps)]
    source, made = tmp_path / "sums.xml", tmp_path / "sums.onnx"
    model = ov.Model([ops.result(scaled)], sinks, [x], "sums")
    model.set_rt_info("mine", ["model_info", "name"])
    ov.save_model(model, source)
    report = ir_interp.convert(source, made)
    assert [each.text for each in report.states] == [
        "state 'fixed': input 'fixed', nothing changes it; at first [2] of its own values",
        "state 's9': input 's9', output 's9.next'; at first [1] of 7",
        "state 's10': input 's10', output 's10.next'; at first [1, 2] of zeros",
    ]
    held = onnx.load(made)
    assert [each.name for each in held.graph.input] == ["x", "fixed", "s9", "s10"]
    assert [each.name for each in held.graph.output] == ["y", "s9.next", "s10.next"]
    assert held.graph.input[2].type.tensor_type.elem_type == onnx.TensorProto.INT64
    metadata = {each.key: each.value for each in held.metadata_props}
    assert metadata.keys() == {"model_info.name", "states"}
    assert json.loads(metadata["states"])[0]["initial"] == [1.5, 2.5]
    assert json.loads(json.dumps(report.record()))["states"] == json.loads(metadata["states"])


def keeping(initial: Any, path: Path) -> None:
    x = named([-1, 2], np.float32, "x")
    state = variable("sum", [-1, 2])
    added = ops.add(op.read_value(initial(x), state), x)
    ov.save_model(ov.Model([ops.result(added)], [op.assign(added, state)], [x], "sum"), path)


def test_an_initial_value_of_an_input(tmp_path: Path) -> None:
    """It is computed where an input says that this is the first inference, whatever is given as the state."""
    source, made = tmp_path / "sum.xml", tmp_path / "sum.onnx"
    keeping(ops.relu, source)
    (state,) = ir_interp.convert(source, made).states
    assert state.text == "state 'sum': input 'sum', output 'sum.next'; at first computed, where 'states.first' is true"
    assert json.loads({each.key: each.value for each in onnx.load(made).metadata_props}["states"])[0]["initial"] is None
    request = ov.Core().compile_model(source, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    session = onnxruntime.InferenceSession(str(made))
    assert [each.name for each in session.get_inputs()] == ["x", "sum", "states.first"]
    rng, kept = np.random.default_rng(0), np.full([1, 2], 9, np.float32)
    for index in range(6):
        x = rng.uniform(-1, 1, [3, 2]).astype(np.float32)
        first = index in (0, 4)
        if first:
            request.reset_state()
        wanted = request.infer({"x": x})[0]
        got, kept = session.run(None, {"x": x, "sum": kept, "states.first": np.array(first)})
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_a_value_that_two_layers_read_is_chosen_once(tmp_path: Path) -> None:
    x = named([2], np.float32, "x")
    state = variable("s", [2])
    first, second = op.read_value(ops.exp(x), state), op.read_value(ops.exp(x), state)
    y = ops.add(ops.multiply(first, x), second)
    y.output(0).set_names({"y"})
    ov.save_model(ov.Model([ops.result(y)], [op.assign(y, state)], [x], "net"), tmp_path / "a.xml")
    assert ir_interp.convert(tmp_path / "a.xml", tmp_path / "a.onnx").verification is not None
    assert [node.op_type for node in onnx.load(tmp_path / "a.onnx").graph.node].count("If") == 1


def test_a_state_is_refused_on_request(tmp_path: Path) -> None:
    keeping(lambda x: constant(np.zeros([1, 2], np.float32)), tmp_path / "sum.xml")
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(tmp_path / "sum.xml", tmp_path / "sum.onnx", state="refuse")
    assert "ReadValue cannot become ONNX: it keeps a state between inferences" in str(refusals.value.exceptions[0])
    assert ir_interp.convert(tmp_path / "sum.xml", tmp_path / "sum.onnx").states[0].initial == (0,)
    with pytest.raises(ir_interp.SpecError, match=r"state has no effect on \.onnx to \.xml"):
        ir_interp.convert(tmp_path / "sum.onnx", tmp_path / "again.xml", state="refuse")


def test_a_state_whose_shape_its_port_alone_says(tmp_path: Path) -> None:
    """As that of a Whisper's cross attention, which OpenVINO finds where a branch was taken in the first inference."""
    keeping(ops.relu, tmp_path / "sum.xml")
    text = (tmp_path / "sum.xml").read_text(encoding="utf-8")
    plain = 'variable_type="f32" variable_shape="?,2"'
    assert plain in text
    vague = text.replace(plain, 'variable_type="dynamic" variable_shape="..."')
    (tmp_path / "sum.xml").write_text(vague, encoding="utf-8")
    (state,) = ir_interp.convert(tmp_path / "sum.xml", tmp_path / "sum.onnx").states
    assert (state.dtype, state.shape) == ("float32", (None, 2))
