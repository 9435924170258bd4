"""Every axis that a call lists is resized, or the call is refused: through every door, by every library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
import xarray
import zarr

import ir_interp
from ir_interp import IrInterpError, Linear, ResizeSpec, Scales, Sizes
from ir_interp.cli.main import main
from tests.support.graphs import save_model

resize: Any = ir_interp.resize  # whose result is of the kind of its argument
SHAPE = (20, 48, 64)
VOLUME = np.random.default_rng(0).random(SHAPE).astype(np.float32)
CALLS = (
    None, "scipy", "scipy:0", "jax:linear", "jax:nearest", "torch:trilinear", "torch:nearest", "torch:area",
    "tensorflow:bilinear", "skimage:1,anti_aliasing=false", "opencv:area", "opencv:nearest", "pillow:bilinear,mode=F",
)  # fmt: skip
AXES = ((0, 1, 2), (0,), (2,), (0, 2), (2, 0), (-3, -2), (1, 2))


def halved(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the volume with some axes halved."""
    return tuple(size // 2 if axis in axes or axis - 3 in axes else size for axis, size in enumerate(SHAPE))


@pytest.mark.parametrize("like", CALLS)
@pytest.mark.parametrize("axes", AXES)
def test_one_scale_is_that_of_every_listed_axis(like: str | None, axes: tuple[int, ...]) -> None:
    assert resize(VOLUME, scales=0.5, like=like, axes=axes).shape == halved(axes)
    assert resize(VOLUME, scales=np.float32(0.5), like=like, axes=axes).shape == halved(axes)
    assert resize(VOLUME, scales=[0.5] * len(axes), like=like, axes=axes).shape == halved(axes)
    small = resize(dask.array.from_array(VOLUME), scales=0.5, like=like, axes=axes)
    assert small.shape == halved(axes)
    names = tuple("zyx"[axis] for axis in axes)
    scene = xarray.DataArray(VOLUME, dims=tuple("zyx"))
    assert resize(scene, scales=0.5, like=like, axes=names).shape == halved(axes)
    assert resize(scene, scales=dict.fromkeys(names, 0.5), like=like).shape == halved(axes)
    assert resize(scene.to_dataset(name="v"), scales=0.5, like=like, axes=names).v.shape == halved(axes)


@pytest.mark.parametrize("like", CALLS)
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_another_number_of_values_than_of_listed_axes_is_refused(
    like: str | None, axes: tuple[int, ...], count: int
) -> None:
    values = [10, 24, 32, 5][:count]
    if count == len(axes):
        shape = resize(VOLUME, values, like, axes=axes).shape
        assert [shape[axis] for axis in axes] == values
        return
    for target in ({"sizes": values}, {"scales": [0.5] * count}):
        with pytest.raises(IrInterpError, match=r"expected one for each axis|differ in length"):
            resize(VOLUME, like=like, axes=axes, **target)
        with pytest.raises(IrInterpError, match=r"expected one for each axis|differ in length"):
            resize(VOLUME, ResizeSpec(kernel=Linear(), axes=axes), **target)


def test_an_image_has_two_sizes() -> None:
    """A library's call resizes height and width, so one value for both is one too few."""
    for target in ({"sizes": (24,)}, {"scales": (0.5,)}):
        with pytest.raises(IrInterpError, match="1 of 2; expected one for each axis"):
            resize(VOLUME[0], like="pillow:bilinear,mode=F", **target)


def test_a_new_target_is_one_for_every_axis_that_a_spec_resizes() -> None:
    spec = ResizeSpec(kernel=Linear(), target=Scales((0.5, 0.5, 0.5)))
    assert resize(VOLUME, spec, scales=0.25).shape == (5, 12, 16)
    with pytest.raises(IrInterpError, match="axes 0, 1, 2: 2 of 3; expected one for each axis"):
        resize(VOLUME, spec, scales=(0.25, 0.25))
    image = ResizeSpec(kernel=Linear(), axes=(0, 1, 2), target=Sizes((20, 24, 32)))  # as models list them
    assert resize(VOLUME, image, scales=0.25).shape == (20, 12, 16)
    assert resize(VOLUME, image, sizes=(6, 8)).shape == (20, 6, 8)
    with pytest.raises(IrInterpError, match="axes 1, 2: 1 of 2; expected one for each axis"):
        resize(VOLUME, image, sizes=(6,))


@pytest.mark.parametrize("levels", [None, 1, 2])
def test_dims_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], levels: int | None) -> None:
    source, small = tmp_path / "v.zarr", tmp_path / "small.zarr"
    zarr.create_array(source, data=VOLUME, chunks=(10, 24, 32), dimension_names=("z", "y", "x"))
    more = [] if levels is None else ["--levels", str(levels)]
    line = ["run", str(source), "--like", "scipy", "--dims", "z,y,x", "--output", str(small), "--quiet"]
    assert main([*line, "--scales", "0.5", *more]) == 0
    last = tuple(size >> (levels or 1) for size in SHAPE)
    assert zarr.open_array(small if levels is None else small / str(levels), mode="r").shape == last
    assert main([*line[:-2], str(tmp_path / "none.zarr"), "--quiet", "--scales", "0.5,0.5", *more]) == 2
    assert "axes 0, 1, 2: 2 of 3; expected one for each axis" in capsys.readouterr().err
    assert not (tmp_path / "none.zarr").exists()


def test_one_scale_of_a_model_on_the_command_line(tmp_path: Path) -> None:
    model = """g (float[1,3,h,w] x, float[4] s) => (float[1,3,k,l] y) {
        [up] y = Resize <mode = "linear"> (x, , s) }"""
    save_model(tmp_path / "m.onnx", model)
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 6), np.float32))
    line = ["run", "m.onnx", "--input", "x.npy", "--scales", "0.5", "--output", "y.npy"]
    assert main([str(tmp_path / word) if "." in word and word[0] in "mxy" else word for word in line]) == 0
    assert np.load(tmp_path / "y.npy").shape == (1, 3, 4, 3)
