"""In which order axes are summed."""

from __future__ import annotations

import pytest

from ir_interp import Linear, Nearest, ResizeSpec, Rounding, Sizes
from ir_interp.executor.definition import axes_in_order
from ir_interp.plan.taps import plan
from ir_interp.specs import Kernel

FLOOR = Nearest(rounding=Rounding.FLOOR)


@pytest.mark.parametrize(
    ("kernel", "shape", "axes", "sizes", "wanted"),
    [
        pytest.param(
            Linear(), (480, 640, 3), (0, 1), (224, 224), [0, 1], id="a photo shrinks: rows, then fewer columns"
        ),
        pytest.param(Linear(), (480, 640, 3), (1, 0), (224, 224), [0, 1], id="in whatever order they are listed"),
        pytest.param(Linear(), (48, 64, 3), (0, 1), (96, 128), [1, 0], id="a photo grows: columns, then more rows"),
        pytest.param(Linear(), (1, 8, 20, 20), (2, 3), (40, 40), [3, 2], id="a map grows"),
        pytest.param(Linear(), (100, 4000, 3), (0, 1), (90, 40), [1, 0], id="columns shrink much more than rows"),
        pytest.param(Linear(), (100, 100, 3), (0, 1), (50, 200), [0, 1], id="what shrinks goes before what grows"),
        pytest.param(Linear(), (8, 8, 8), (0, 1, 2), (4, 16, 2), [2, 0, 1], id="three axes: by how much they shrink"),
        pytest.param(FLOOR, (8, 8, 3), (0, 1), (4, 4), [0, 1], id="copies of rows are long"),
        pytest.param(FLOOR, (8, 8, 3), (0, 1), (16, 16), [1, 0], id="copies that grow: rows last"),
    ],
)
def test_the_order(
    kernel: Kernel, shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...], wanted: list[int]
) -> None:
    bound = plan(ResizeSpec(kernel=kernel, axes=axes, target=Sizes(sizes)), shape)
    assert [axis.axis for axis in axes_in_order(bound)] == wanted
