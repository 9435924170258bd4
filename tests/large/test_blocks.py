"""Arrays of Dask: the bits of ``resize``, whatever the chunks, each of them read once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import dask
import dask.array
import numpy as np
import pytest
from dask.callbacks import Callback
from numpy.typing import NDArray

import ir_interp
from ir_interp import (
    Antialias,
    Arithmetic,
    Cubic,
    Linear,
    Nearest,
    Pad,
    ResizeSpec,
    Rounding,
    Scales,
    ShapeError,
    Sizes,
    SpecError,
)

Array = NDArray[Any]
SOFT = Linear(antialias=Antialias.SHRINKING)


def _spec(*sizes: int, kernel: Any = SOFT, **more: Any) -> ResizeSpec:
    return ResizeSpec(kernel=kernel, axes=(0, 1), target=Sizes(sizes), arithmetic=Arithmetic.ONNXRUNTIME, **more)


CASES = {
    "shrinks": _spec(61, 40),
    "grows": _spec(500, 333, kernel=Cubic(a=-0.75)),
    "nearest": _spec(61, 333, kernel=Nearest(rounding=Rounding.FLOOR)),
    "pads": _spec(100, 70, pads=(Pad(axis=0, begin=30, end=2), Pad(axis=2, begin=1, end=0))),
    "one row": _spec(1, 50),
    "scales": ResizeSpec(kernel=SOFT, axes=(0, 1), target=Scales((0.3, 1.7)), arithmetic=Arithmetic.OPENVINO),
    "library": ir_interp.spec("pillow", resample="lanczos"),
}


@pytest.mark.parametrize("chunks", [(50, 60, 3), ((100, 7, 130), (149, 1), 2)])
@pytest.mark.parametrize("case", CASES)
def test_blocks_have_the_bits_of_the_whole(case: str, chunks: Any) -> None:
    dtype = {"shrinks": "float32", "one row": "float16"}.get(case, "uint8")
    x = (np.random.default_rng(1).random((237, 150, 3)) * 255).astype(dtype)
    more: Any = {"sizes": (40, 170)} if case == "library" else {}
    wanted = ir_interp.resize(x, CASES[case], **more)
    lazy: Any = ir_interp.resize(dask.array.from_array(x, chunks), CASES[case], **more)
    assert (lazy.shape, lazy.dtype, type(lazy._meta)) == (wanted.shape, wanted.dtype, np.ndarray)
    each: Any
    for each in (lazy, ir_interp.resize(dask.array.from_array(x, chunks), CASES[case], chunks=(33, 64, 2), **more)):
        made = each.compute(scheduler="threads")
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)


class _Once:
    """An array that counts how often its parts are read."""

    shape, dtype, ndim = (400, 600), np.dtype(np.uint8), 2

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()

    def __getitem__(self, piece: Any) -> Array:
        self.read[str(piece)] += 1
        return np.ones([len(range(*each.indices(n))) for each, n in zip(piece, self.shape, strict=True)], np.uint8)


def test_each_chunk_is_read_once() -> None:
    store = _Once()
    x = dask.array.from_array(store, (100, 100), asarray=False, meta=np.empty((0, 0), np.uint8))
    y: Any = ir_interp.resize(x, _spec(133, 151))
    y.compute(scheduler="threads")
    assert len(store.read) == 24
    assert set(store.read.values()) == {1}


def test_the_graph_is_of_blocks() -> None:
    x = dask.array.zeros((16_000, 16_000), chunks=(1000, 1000), dtype=np.uint8)
    y: Any = ir_interp.resize(x, _spec(4000, 4000))
    assert y.chunksize == (250, 250)
    assert len(y.dask.layers[y.name]) < 10 * 16**2  # a block, and what it takes of nine chunks
    again: Any = ir_interp.resize(x, _spec(4000, 4000))
    other: Any = ir_interp.resize(x, _spec(4000, 4001))
    assert again.name == y.name != other.name


class _Held(Callback):
    """Counts how many bytes of arrays Dask keeps at a time."""

    def __init__(self) -> None:
        self.most = 0

    def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
        self.most = max(self.most, sum(each.nbytes for each in state["cache"].values() if isinstance(each, np.ndarray)))


def test_memory_is_bounded() -> None:
    x = dask.array.ones((8192, 8192), chunks=(512, 512), dtype=np.uint8)
    lazy: Any = ir_interp.resize(x, _spec(2048, 2048))
    y = lazy.sum()
    with _Held() as held:
        assert y.compute(scheduler="threads") == 2048**2
    assert held.most < x.nbytes / 4


def test_chunks_are_chosen() -> None:
    for chunks, sizes, chosen in (
        (((100, 100, 50), (4,)), (125, 4), ((50, 50, 25), (4,))),
        (((100, 100), (4,)), (500, 4), ((83,) * 6 + (2,), (4,))),
        (((7, 3), (2, 2)), (10, 1), ((7, 3), (1,))),
        (((0,), (4,)), (0, 4), ((0,), (4,))),
    ):
        lazy: Any = ir_interp.resize(dask.array.zeros([sum(each) for each in chunks], chunks=chunks), _spec(*sizes))
        assert lazy.chunks == chosen


def test_what_has_no_effect_is_refused() -> None:
    x = dask.array.ones((10, 10), chunks=5)
    with pytest.raises(SpecError, match=r"^out has no effect on a Dask array$"):
        ir_interp.resize(x, _spec(5, 5), out=np.empty((5, 5)))
    with pytest.raises(SpecError, match=r"^chunks has no effect: x is not a Dask array$"):
        ir_interp.resize(np.ones((10, 10)), _spec(5, 5), chunks=3)
    with pytest.raises(ShapeError, match=r"^chunks \(3, 4, 5\) do not fit the output, \[5, 5\]: "):
        ir_interp.resize(x, _spec(5, 5), chunks=(3, 4, 5))
    with pytest.raises(ShapeError, match=r"^the shape of x is unknown"):
        ir_interp.resize(x[x[:, 0] > 0], _spec(5, 5))


def test_a_resize_of_a_file_takes_lazy_arrays() -> None:
    (op,) = ir_interp.load("samples/interpolate1_corners/layer.xml")
    x = np.load("samples/interpolate1_corners/input.npy")
    np.testing.assert_array_equal(op.run(dask.array.from_array(x, 3)), op.run(x))


def test_nothing_is_imported_before_it_is_needed() -> None:
    code = "import sys, ir_interp; print({'dask', 'xarray', 'zarr', 'distributed'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "set()\n"
