"""The first line of code: sizes alone, a call of a library, names of axes; whatever holds the pixels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray
from numpy.typing import NDArray
from PIL import Image

import ir_interp
from ir_interp import Antialias, IrInterpError, Linear, ResizeSpec, spec

resize: Any = ir_interp.resize  # whose result is of the kind of its argument
RNG = np.random.default_rng(3)
HWC = RNG.integers(0, 256, (48, 64, 3), np.uint8)
CHW = np.ascontiguousarray(np.moveaxis(HWC, -1, 0))
GREY = RNG.random((48, 64)).astype(np.float32)
SCENE = xarray.DataArray(RNG.random((2, 6, 8)), dims=("band", "y", "x"))
PILLOW = spec("pillow", resample="BICUBIC")
LINEAR = ResizeSpec(kernel=Linear(), axes=(0, 1))
ANTIALIASED = replace(LINEAR, kernel=Linear(antialias=Antialias.SHRINKING, exclude_outside=True))

SAME: list[tuple[str, Any, Any]] = [
    ("sizes", resize(GREY, (24, 32)), resize(GREY, LINEAR, sizes=(24, 32))),
    ("a list", resize(GREY.tolist(), (24, 32)), resize(GREY.astype(float), LINEAR, sizes=(24, 32))),
    ("one factor", resize(GREY, scales=0.5), resize(GREY, LINEAR, sizes=(24, 32))),
    (
        "antialiased",
        resize(GREY, (24, 32), antialias=True),
        resize(GREY, ANTIALIASED, sizes=(24, 32)),
    ),
    ("a library", resize(HWC, (24, 32), "pillow:bicubic"), resize(HWC, PILLOW, sizes=(24, 32))),
    ("its constant", resize(HWC, (24, 32), Image.Resampling.BICUBIC), resize(HWC, PILLOW, sizes=(24, 32))),
    ("a spec", resize(HWC, (24, 32), PILLOW), resize(HWC, PILLOW, sizes=(24, 32))),
    (
        "channels first",
        np.moveaxis(resize(CHW, (24, 32), "pillow:bicubic"), 0, -1),
        resize(HWC, PILLOW, sizes=(24, 32)),
    ),
    (
        "of torch, channels last",
        np.moveaxis(resize(HWC, (24, 32), "torch:bilinear"), -1, 0),
        resize(CHW, spec("torch"), sizes=(24, 32)),
    ),
    ("a batch", resize(CHW[None], (24, 32), "torch:bilinear")[0], resize(CHW, (24, 32), "torch:bilinear")),
    ("axes", resize(HWC, (24, 32), axes=(0, 1)), resize(HWC, LINEAR, sizes=(24, 32))),
    ("names", resize(SCENE, {"x": 4, "y": 3}).values, resize(SCENE.values, (3, 4), axes=(1, 2))),
    ("names of axes", resize(SCENE, (3, 4), axes=("y", "x")).values, resize(SCENE.values, (3, 4), axes=(1, 2))),
    ("factors by name", resize(SCENE, scales={"y": 2}).values, resize(SCENE.values, scales=(2,), axes=(1,))),
]


@pytest.mark.parametrize(("ours", "theirs"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_it_is_what_the_long_form_computes(ours: NDArray[Any], theirs: NDArray[Any]) -> None:
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_a_spec_is_written_as_on_the_command_line() -> None:
    assert spec("pillow:bicubic") == PILLOW
    assert spec("pillow@12:box") == spec("pillow", version=12, resample="BOX")
    with pytest.raises(IrInterpError, match=r"^'pillow:box' is a complete call; write its version and arguments in it"):
        spec("pillow:box", version=12)


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "F", "I"])
@pytest.mark.parametrize("like", ["BICUBIC", "NEAREST"])
def test_an_image_of_pillow_becomes_one(mode: str, like: str) -> None:
    image = Image.fromarray(HWC).convert("RGBA" if mode in ("LA", "RGBA") else "RGB").convert(mode)
    made = resize(image, (20, 30), f"pillow:{like}")
    assert (made.mode, made.size) == (mode, (30, 20))
    theirs = np.asarray(image.resize((30, 20), getattr(Image.Resampling, like)))
    np.testing.assert_allclose(np.asarray(made), theirs, rtol=1e-6 if mode == "F" else 0)


class Standard:
    """An array that follows the array API standard, and is none of NumPy's."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def __array_namespace__(self) -> Any:
        return type("Namespace", (), {"asarray": staticmethod(Standard)})

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def test_an_array_of_another_library_becomes_one() -> None:
    y = resize(Standard(GREY), (24, 32))
    assert isinstance(y, Standard)
    np.testing.assert_array_equal(y.values, resize(GREY, (24, 32)))


DATASET = xarray.Dataset({"a": SCENE, "b": SCENE.isel(band=0) * 2, "epsg": ((), 32633)}, attrs={"made": "by hand"})


def test_variables_of_a_dataset_and_a_tree() -> None:
    half = resize(DATASET, {"y": 3, "x": 4})
    assert (dict(half.sizes), half.attrs, int(half.epsg)) == ({"band": 2, "y": 3, "x": 4}, {"made": "by hand"}, 32633)
    xarray.testing.assert_identical(half.a, resize(SCENE, {"y": 3, "x": 4}).rename("a"))
    np.testing.assert_array_equal(half.b.values, resize(DATASET.b, {"y": 3, "x": 4}).values)
    tree = xarray.DataTree.from_dict({"/": xarray.Dataset(attrs={"root": 1}), "/fine": DATASET})
    small = resize(tree, scales=0.5, axes=("y", "x"))
    assert small.attrs == {"root": 1}
    xarray.testing.assert_identical(small["fine"].to_dataset(), half)


AMBIGUOUS = "may have its channels first or last; specify the axes to resize: axes="
RGBA = np.zeros((8, 8, 4), np.uint8)
REFUSED: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (
        RGBA,
        ((4, 4), "pillow"),
        {},
        "mode RGB takes images of 1, 3 channels; this one has 4; name its mode, as in mode=RGBA",
    ),
    (HWC, ((24, 32),), {}, f"an array of shape [48, 64, 3] {AMBIGUOUS}(0, 1) or axes=(1, 2)"),
    (HWC, (ResizeSpec(kernel=Linear()),), {"sizes": (24, 32)}, f"[48, 64, 3] {AMBIGUOUS}(0, 1) or axes=(1, 2)"),
    (
        HWC[None].astype(np.float32),
        ((24, 32), "tensorflow:bilinear"),
        {},
        f"[1, 48, 64, 3] {AMBIGUOUS}(1, 2) or axes=(2, 3)",
    ),
    (GREY, (), {}, "the output size is missing; give sizes=(224, 224) or scales=0.5"),
    (GREY, (224,), {}, "sizes is 224; expected a list, as in (10, 10) for height and width"),
    (GREY, ("pillow:box",), {}, "spec is 'pillow:box'; expected a ResizeSpec or sizes; pass a library call as like="),
    (GREY, ((4, 4), "pilow:box"), {}, "unknown library 'pilow'"),
    (GREY, (LINEAR, "pillow:box"), {"sizes": (4, 4)}, "spec and like exclude each other; pass one of them"),
    (GREY, ((4, 4),), {"sizes": (4, 4)}, "sizes are passed twice: as the second argument and as sizes="),
    (GREY, ((4, 4),), {"axes": 1.5}, "axes is 1.5; expected a list of axes, as in (0, 1)"),
    (
        GREY,
        ((4, 4),),
        {"axes": ("y", "x")},
        "no axis 'y'; the axes of this array have no names; number them, as in 0,1",
    ),
    (SCENE, ({"y": 3, "z": 3},), {}, "no axis 'z'; expected one of band, y, x"),
    (SCENE, ({"y": 3},), {"axes": (1,)}, "axes are passed twice: by name and as axes="),
    (HWC, ((4, 4), "pillow:box"), {"antialias": True}, "antialias has no effect here: the spec or the library"),
    (DATASET, ((3, 4),), {}, "each variable has its own axes; name the dimensions, as in {'y': 512, 'x': 512}"),
    (DATASET, ({"y": 3, "z": 4},), {}, "no variable has the dimensions y, z"),
    (
        DATASET.assign(c=("y", range(6))),
        ({"y": 3, "x": 4},),
        {},
        "variable 'c' has some of the dimensions to resize, but not 'x'",
    ),
    (DATASET, ({"y": 3, "x": 4},), {"out": GREY}, "out has no effect on a Dataset"),
    (None, ((4, 4),), {}, "x is None; expected an array"),
    (
        GREY,
        ((4, 4), "bicubic"),
        {},
        "unknown library 'bicubic'; a call is LIBRARY:WORD, as in pillow:bicubic; ",
    ),
    (GREY, ((4, 4), "pillow:bicubc"), {}, "pillow: resample: unknown value 'bicubc'; expected one of BICUBIC, "),
    ("photo.png", ((4, 4),), {}, "x is 'photo.png', a path; open it first"),
    (Image.new("P", (8, 8)), ((4, 4),), {}, "pixels of mode 'P' are indices of a palette, which is not averaged; "),
    (
        Image.new("L", (8, 8)),
        ((4, 4),),
        {"nodata": 0},
        "nodata has no effect on a Pillow image; pass np.asarray(x)",
    ),
    (GREY, ((2, 2),), {"chunks": 2}, "chunks has no effect: x is not a Dask array"),
]


@pytest.mark.parametrize(("x", "words", "more", "said"), REFUSED)
def test_what_is_refused(x: Any, words: tuple[Any, ...], more: dict[str, Any], said: str) -> None:
    with pytest.raises(IrInterpError) as caught:
        ir_interp.resize(x, *words, **more)
    assert said in str(caught.value)
