"""Elements taken and replaced by index, chosen, ordered and counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.layers import SEEDS, Configuration, Draw, check, configurations, constant, layer
from tests.support.runtimes import Child, Crashed

INDEX = (np.int32, np.int64)


def places(draw: Draw, shape: Any, length: int, *, negative: bool = False) -> Any:
    return draw.values(shape, draw.among(*INDEX), -length if negative else 0, length - 1)


def gather(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape, picked = draw.shape(), draw.shape(0, 3, 4)
        axis = draw.between(0, len(shape) - 1)
        indices = draw.either(places(draw, picked, shape[axis], negative=version == 8))
        return layer("Gather", version, draw.numbers(shape), indices, constant(draw.among(axis, axis - len(shape))))

    return draw_layer


def gather_in_batches(draw: Draw) -> Any:
    shape = draw.shape(2, 4, 4)
    batch = draw.between(1, len(shape) - 1)
    axis = draw.between(batch, len(shape) - 1)
    indices = places(draw, [*shape[:batch], *draw.shape(0, 2, 3)], shape[axis])
    version = draw.among(7, 8)
    return layer("Gather", version, draw.numbers(shape), draw.either(indices), constant(axis), batch_dims=batch)


def gather_elements(draw: Draw) -> Any:
    shape = draw.shape()
    axis = draw.between(0, len(shape) - 1)
    picked = [draw.between(1, 4) if i == axis else length for i, length in enumerate(shape)]
    indices = draw.either(places(draw, picked, shape[axis]))
    return layer("GatherElements", 6, draw.numbers(shape), indices, axis=draw.among(axis, axis - len(shape)))


def elements_of_squares(draw: Draw) -> Any:
    """Any axis will do."""
    shape = [draw.between(2, 4)] * 2
    indices = draw.either(places(draw, shape, shape[0]))
    return layer("GatherElements", 6, draw.numbers(shape), indices, axis=draw.between(0, 1))


def tuples(draw: Draw, shape: Any, lengths: Any, *, distinct: bool = False) -> Any:
    """Return index tuples into ``lengths``."""
    count = int(np.prod(shape))
    flat = (
        draw.random.permutation(int(np.prod(lengths)))[:count]
        if distinct
        else draw.values([count], np.int64, 0, int(np.prod(lengths)) - 1)
    )
    return np.stack(np.unravel_index(flat, lengths), axis=-1).reshape(*shape, len(lengths)).astype(draw.among(*INDEX))


def gather_nd(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape = draw.shape(1, 4, 4)
        batch = draw.between(0, len(shape) - 1)
        depth = draw.between(1, len(shape) - batch)
        indices = tuples(draw, [*shape[:batch], *draw.shape(0, 2, 3)], shape[batch : batch + depth])
        return layer("GatherND", version, draw.numbers(shape), draw.either(indices), batch_dims=batch)

    return draw_layer


GATHERS: dict[str, Configuration] = {
    "Gather-1": gather(1),
    "Gather-7": gather(7),
    "Gather-8": gather(8),
    "GatherElements": gather_elements,
    "GatherElements of squares": elements_of_squares,
    "GatherND-5": gather_nd(5),
    "GatherND-8": gather_nd(8),
}


def scatter_elements(draw: Draw) -> Any:
    shape = draw.shape()
    axis = draw.between(0, len(shape) - 1)
    picked = [draw.between(1, length) for length in shape]
    indices = np.argsort(draw.random.random(picked), axis=axis)  # distinct, for the order is open
    indices = indices.astype(draw.among(*INDEX))
    updates = draw.either(draw.values(picked))
    return layer("ScatterElementsUpdate", 3, draw.numbers(shape), draw.either(indices), updates, constant(axis))


def scatter_elements_reduced(draw: Draw) -> Any:
    shape, dtype = draw.shape(), draw.among(np.float32, np.int32)
    axis, word = draw.between(0, len(shape) - 1), draw.among("sum", "prod", "min", "max", "mean", "none")
    dtype = np.float32 if word == "mean" else dtype
    picked = [draw.between(1, length) for length in shape]
    indices = places(draw, picked, shape[axis]) if word != "none" else np.argsort(draw.random.random(picked), axis=axis)
    inputs = draw.numbers(shape, dtype), draw.either(indices), draw.either(draw.values(picked, dtype))
    attributes = {"reduction": word, "use_init_val": draw.chance()}
    return layer("ScatterElementsUpdate", 12, *inputs, constant(axis), **attributes)


def scatter_nd(draw: Draw) -> Any:
    shape = draw.shape(1, 4, 4)
    depth = draw.between(1, len(shape))
    count = draw.between(1, int(np.prod(shape[:depth])))
    indices = tuples(draw, [count], shape[:depth], distinct=True)
    updates = draw.either(draw.values([count, *shape[depth:]]))
    return layer("ScatterNDUpdate", 4, draw.numbers(shape), draw.either(indices), updates)


def scatter_nd_reduced(draw: Draw) -> Any:
    shape, word = draw.shape(1, 4, 4), draw.among("none", "sum", "sub", "prod", "min", "max")
    depth = draw.between(1, len(shape))
    count = draw.between(1, int(np.prod(shape[:depth])))
    indices = tuples(draw, [count], shape[:depth], distinct=word == "none")
    updates = draw.either(draw.values([count, *shape[depth:]]))
    return layer("ScatterNDUpdate", 15, draw.numbers(shape), draw.either(indices), updates, reduction=word)


def scatter_update(draw: Draw) -> Any:
    shape = draw.shape()
    axis = draw.between(0, len(shape) - 1)
    count = draw.between(1, shape[axis])
    indices = draw.random.permutation(shape[axis])[:count].astype(draw.among(*INDEX))
    indices = indices.reshape(draw.among([count], [1, count], [count, 1]))
    updates = draw.either(draw.values([*shape[:axis], *indices.shape, *shape[axis + 1 :]]))
    return layer("ScatterUpdate", 3, draw.numbers(shape), draw.either(indices), updates, constant(axis))


SCATTERS: dict[str, Configuration] = {
    "ScatterElementsUpdate-3": scatter_elements,
    "ScatterElementsUpdate-12": scatter_elements_reduced,
    "ScatterNDUpdate-3": scatter_nd,
    "ScatterNDUpdate-15": scatter_nd_reduced,
    "ScatterUpdate": scatter_update,
}


def select(draw: Draw) -> Any:
    """Choose between tensors of fewer axes; pdpd gives the result the shape of the first, and -1 the last axes."""
    shape = draw.shape()
    shapes = [shape[draw.between(0, len(shape)) :] for _ in range(2)]
    condition = draw.values(shape, np.bool_)
    broadcast: dict[str, Any] = {}
    if draw.chance(0.3):
        shapes[0] = shape
        broadcast = {"auto_broadcast": "pdpd", "auto_broadcast.auto_broadcast_axis": -1}
    operands = [draw.either(draw.values(each)) for each in shapes]
    return layer("Select", 1, draw.input(condition), *operands, **broadcast)


def topk(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape = draw.shape()
        axis = draw.between(0, len(shape) - 1)
        count = draw.either(np.array(draw.between(1, shape[axis]), np.int64))
        attributes = {"mode": draw.among("max", "min"), "sort": draw.among("value", "index")}
        attributes |= {"index_element_type": draw.among("i32", "i64")} if version > 1 else {}
        x = draw.input(draw.distinct(shape, draw.among(np.float32, np.int32)))
        return layer("TopK", version, x, count, axis=draw.among(axis, axis - len(shape)), **attributes)

    return draw_layer


def topk_of_equals(draw: Draw) -> Any:
    """Of equal values the first come first, where the order is to be stable."""
    shape = draw.shape()
    axis = draw.between(0, len(shape) - 1)
    x, count = draw.numbers(shape, np.int32, 0, 2), constant(draw.between(1, shape[axis]), np.int64)
    return layer("TopK", 11, x, count, axis=axis, mode=draw.among("max", "min"), sort="value", stable=True)


def one_hot(draw: Draw) -> Any:
    shape, depth = draw.shape(0, 3), draw.between(1, 5)
    indices = draw.values(shape, draw.among(*INDEX), 0, depth + 1)
    numbers = [constant(each, np.float32) for each in draw.among((1, 0), (2.5, -1))]
    return layer(
        "OneHot", 1, draw.input(indices), constant(depth, np.int64), *numbers, axis=draw.between(-1, len(shape))
    )


def one_hot_of_negatives(draw: Draw) -> Any:
    shape, depth = draw.shape(0, 3), draw.between(1, 5)
    indices = draw.input(draw.values(shape, draw.among(np.int32, np.int64), -depth - 1, depth + 1))
    axis, mode = draw.between(-1, len(shape)), draw.among("normalize", "ignore_negative")
    numbers = [constant(each, np.float32) for each in (1, 0)]
    return layer("OneHot", 16, indices, constant(depth, np.int64), *numbers, axis=axis, negative_indices_mode=mode)


def non_zero(draw: Draw) -> Any:
    values = draw.values(draw.shape(), draw.among(np.int32, np.float32), -1, 1).round()
    return layer("NonZero", 3, draw.input(values), output_type=draw.among("i32", "i64"))


def cumsum(draw: Draw) -> Any:
    shape = draw.shape()
    axis = draw.either(np.array(draw.between(-len(shape), len(shape) - 1), draw.among(*INDEX)))
    x = draw.numbers(shape, draw.among(np.float32, np.int32, np.int64))
    return layer("CumSum", 3, x, axis, exclusive=draw.chance(), reverse=draw.chance())


def bucketize(draw: Draw) -> Any:
    boundaries = np.sort(draw.values([draw.between(1, 5)], np.float32)).round()
    x = draw.input(draw.values(draw.shape()).round())
    attributes = {"output_type": draw.among("i32", "i64"), "with_right_bound": draw.chance()}
    return layer("Bucketize", 3, x, constant(boundaries), **attributes)


SELECTIONS: dict[str, Configuration] = {
    "Select": select,
    "TopK-1": topk(1),
    "TopK-3": topk(3),
    "TopK-11": topk(11),
    "TopK of equals": topk_of_equals,
    "OneHot": one_hot,
    "OneHot-16": one_hot_of_negatives,
    "NonZero": non_zero,
    "CumSum": cumsum,
    "Bucketize": bucketize,
}


@pytest.mark.sampled(33)
@pytest.mark.parametrize(("configuration", "seed"), configurations(GATHERS | SCATTERS | SELECTIONS))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_gather_in_batches(seed: int, child: Child) -> None:
    """OpenVINO's CPU plugin dies of some of these."""
    answer = child.call(check, gather_in_batches, seed)
    if isinstance(answer, Crashed):
        pytest.skip("OpenVINO's CPU plugin died")
    assert answer is None


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as process:
        yield process
