"""Nets inside layers: branches and loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

import ir_interp
from tests.support.layers import Configuration, Draw, check, configurations, constant, layer, loaded


def inside(shape: Any, dtype: Any = np.float32) -> Any:
    return ops.parameter(ov.PartialShape(shape), dtype)


def branches(draw: Draw) -> Any:
    """Choose between a sum with a constant and a product; a tensor is passed on as it is, or changed."""
    shape = draw.shape(2, 3)
    node = ops.if_op(draw.input(draw.values(draw.among([], [1]), np.bool_)))
    parameters = [[inside(shape), inside(shape)] for _ in range(2)]
    (a, b), (c, d) = parameters
    bodies = [[ops.add(a, constant(draw.values(shape))), b], [ops.multiply(c, d), ops.relu(d)]]
    results = [[ops.result(each) for each in body] for body in bodies]
    node.set_then_body(ov.Model(results[0], parameters[0]))
    node.set_else_body(ov.Model(results[1], parameters[1]))
    for pair in zip(*parameters, strict=True):
        node.set_input(draw.numbers(shape).output(0), *pair)
    return [node.set_output(*pair) for pair in zip(*results, strict=True)]


def parts(*, backward: bool, part: int) -> dict[str, int]:
    step = -part if backward else part
    return {"start": -1 if backward else 0, "stride": step, "part_size": part, "end": 0 if backward else -1}


def iterator(draw: Draw) -> Any:
    """Run a recurrence over parts of a tensor, forward or backward, on any axis; its length may be open."""
    shape, part = draw.shape(2, 3), draw.between(1, 2)
    axis = draw.between(0, len(shape) - 1)
    shape[axis] *= part
    backward = draw.chance()
    held = [part if i == axis else length for i, length in enumerate(shape)]
    is_open = part == 1 and draw.chance()
    x = draw.input(draw.values(shape), open_axes=[axis] if is_open else None)
    once, state, weights = inside(held), inside(held), inside(held)
    changed = ops.add(ops.multiply(state, weights), once)
    node, out = ops.tensor_iterator(), ops.multiply(changed, once)
    node.set_body(ov.Model([ops.result(changed), ops.result(out)], [once, state, weights]))
    node.set_sliced_input(once, x.output(0), axis=axis, **parts(backward=backward, part=part))
    node.set_merged_input(state, draw.numbers(held).output(0), changed.output(0))
    node.set_invariant_input(weights, draw.numbers(held).output(0))
    return [  # all of them, for the CPU plugin does not compile a layer with an output that nothing takes
        node.get_concatenated_slices(out.output(0), axis=axis, **parts(backward=draw.chance(), part=part)),
        node.get_iter_value(changed.output(0), -1),
        node.get_iter_value(out.output(0), -1),
    ]


def loop(draw: Draw) -> Any:
    """Run up to a number of times, or as long as a sum is small."""
    shape, most = draw.shape(2, 3), draw.between(1, 5)
    trips = draw.either(np.array(draw.among(most, -1), draw.among(np.int32, np.int64)).reshape(draw.among([], [1])))
    node = ops.loop(trips, draw.either(np.array(True).reshape(draw.among([], [1]))))
    step, state = inside([], np.int64), inside(shape)
    changed = ops.add(ops.multiply(state, constant(draw.values([1] * len(shape)))), ops.convert(step, "f32"))
    going = ops.less(step, constant(draw.between(0, 5), np.int64))
    axis = draw.between(0, len(shape) - 1)
    total = ops.reduce_sum(changed, constant(axis), keep_dims=True)
    node.set_function(ov.Model([ops.result(each) for each in (going, changed, total)], [step, state]))
    node.set_special_body_ports([0, 0])
    node.set_merged_input(state, draw.numbers(shape).output(0), changed.output(0))
    stacked = node.get_concatenated_slices(total.output(0), 0, 1, 1, -1, axis)
    return [stacked, node.get_iter_value(changed.output(0), -1), node.get_iter_value(total.output(0), -1)]


def nested(draw: Draw) -> Any:
    """Run a loop inside of a branch inside of a loop."""
    count = draw.between(1, 3)
    x, weights = inside([1, 2]), constant(draw.values([1, 2]))
    deepest = ops.loop(constant(count, np.int64), constant(True))
    y = inside([1, 2])
    more = ops.add(ops.multiply(y, weights), weights)
    deepest.set_function(ov.Model([ops.result(constant(True)), ops.result(more)], [y]))
    deepest.set_special_body_ports([-1, 0])
    deepest.set_merged_input(y, x.output(0), more.output(0))
    results = [ops.result(deepest.get_iter_value(more.output(0), -1))]
    other = inside([1, 2])
    results.append(ops.result(ops.negative(other)))
    z, step = inside([1, 2]), inside([1], np.int64)
    branch = ops.if_op(ops.less(step, constant([1], np.int64)).output(0))
    branch.set_then_body(ov.Model(results[:1], [x]))
    branch.set_else_body(ov.Model(results[1:], [other]))
    branch.set_input(z.output(0), x, other)
    chosen = branch.set_output(*results)
    outermost = ops.loop(constant(3, np.int64), constant(True))
    outermost.set_function(ov.Model([ops.result(constant(True)), ops.result(chosen)], [step, z]))
    outermost.set_special_body_ports([0, 0])
    outermost.set_merged_input(z, draw.numbers([1, 2]).output(0), chosen)
    return [outermost.get_iter_value(chosen, -1), outermost.get_concatenated_slices(chosen, 0, 1, 1, -1, 0)]


def growing(draw: Draw) -> Any:
    """Resize a tensor to other sizes in every iteration, which it counts or reads from a shape."""
    x, step, like = inside([1, 2, -1, -1]), inside([], np.int64), inside([1, 1, -1, -1])
    sizes = ops.add(ops.unsqueeze(step, constant([0], np.int64)), constant(draw.integers(2, 3, 6), np.int64))
    if draw.chance():
        shape = layer("ShapeOf", 3, like, output_type="i64")
        sizes = ops.add(sizes, layer("Gather", 8, shape, constant([2, 3], np.int64), constant(0, np.int64)))
    attributes: dict[str, Any] = {"mode": draw.among("nearest", "linear_onnx"), "nearest_mode": "floor"}
    attributes |= {"coordinate_transformation_mode": "asymmetric", "shape_calculation_mode": "sizes"}
    attributes |= {"pads_begin": [0], "pads_end": [0]}
    resized = layer("Interpolate", 11, x, sizes, constant([2, 3], np.int64), **attributes)
    node = ops.loop(constant(draw.between(1, 3), np.int64), constant(True))
    node.set_function(ov.Model([ops.result(constant(True)), ops.result(resized)], [step, x, like]))
    node.set_special_body_ports([0, 0])
    given = [draw.input(draw.values([1, count, *draw.integers(2, 2, 5)]), open_axes=[2, 3]) for count in (2, 1)]
    node.set_merged_input(x, given[0].output(0), resized.output(0))
    node.set_invariant_input(like, given[1].output(0))
    return [node.get_iter_value(resized.output(0), -1)]


TABLE: dict[str, Configuration] = {
    "If": branches,
    "TensorIterator": iterator,
    "Loop": loop,
    "nested": nested,
    "growing": growing,
}


@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


def test_what_a_branch_makes_it_returns(tmp_path: Path) -> None:
    """A tensor from outside, or one that is returned already, goes through an Identity."""
    node, x = ops.if_op(ops.parameter([1], np.bool_)), ops.parameter([2], np.float32)
    taken, other = inside([2]), inside([2])
    kept, changed = ops.relu(taken), ops.relu(other)
    results = [[ops.result(each) for each in outs] for outs in ((kept, kept, taken), (changed, other, other))]
    node.set_then_body(ov.Model(results[0], [taken]))
    node.set_else_body(ov.Model(results[1], [other]))
    node.set_input(x.output(0), taken, other)
    outputs = [node.set_output(*pair) for pair in zip(*results, strict=True)]
    source = tmp_path / "net.xml"
    condition = node.input_value(0).get_node()
    ov.save_model(ov.Model([ops.result(each) for each in outputs], [condition, x]), source)
    ir_interp.convert(source, tmp_path / "net.onnx", verify=False)
    made = loaded(tmp_path / "net.onnx").graph.node[0]
    kinds = {each.name: [inner.op_type for inner in each.g.node] for each in made.attribute}
    assert kinds == {
        "then_branch": ["Relu", "Identity", "Identity"],
        "else_branch": ["Relu", "Identity", "Identity"],
    }


def test_refusals_inside_come_with_the_others(tmp_path: Path) -> None:
    x, y = ops.parameter([1, 2], np.float32), inside([1, 2])
    node = ops.loop(constant(2, np.int64), constant(True))
    random = layer("RandomUniform", 8, *map(constant, ([1, 2], np.float32(0), np.float32(1))), output_type="f32")
    changed = ops.add(y, random)
    node.set_function(ov.Model([ops.result(constant(True)), ops.result(changed)], [y]))
    node.set_special_body_ports([-1, 0])
    node.set_merged_input(y, x.output(0), changed.output(0))
    source = tmp_path / "net.xml"
    ov.save_model(ov.Model([node.get_iter_value(changed.output(0), -1)], [x]), source)
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, tmp_path / "net.onnx", verify=False)
    assert "RandomUniform cannot become ONNX: it draws random numbers" in str(refusals.value.exceptions[0])
    assert "/body/layer[" in str(refusals.value.exceptions[0])
