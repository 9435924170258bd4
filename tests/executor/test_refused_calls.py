"""Calls that a library refuses are refused here, by the same element types and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import IrInterpError
from tests.support import libraries

RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
FLOATS = ("float16", "float32", "float64")
TYPES = (*FLOATS, "uint8", "int8", "int16", "int32", "int64")


def _is_accepted_by_torch(mode: str, dtype: str) -> bool:
    """Return whether torch 2.13 takes tensors of a type on CPU, as it was run."""
    return dtype in FLOATS or (dtype == "uint8" and mode in ("bilinear", "bicubic", "nearest", "nearest-exact"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", [*RANKS, "nearest", "nearest-exact", "area"])
@pytest.mark.parametrize("dtype", TYPES)
def test_element_types_of_torch(mode: str, dtype: str) -> None:
    for rank in [RANKS[mode]] if mode in RANKS else [3, 4, 5]:
        x, sizes = np.zeros((1, 2, 4, 5, 6)[:rank], dtype), (3, 3, 3)[: rank - 2]
        if _is_accepted_by_torch(mode, dtype):
            call = ir_interp.spec("torch", mode=mode, rank=rank, dtype=dtype)
            assert ir_interp.resize(x, call, sizes=sizes).dtype == x.dtype
            continue
        with pytest.raises(IrInterpError, match=f"{mode} takes tensors of .*, not of {dtype}"):
            ir_interp.spec("torch", mode=mode, rank=rank, dtype=dtype)
        with pytest.raises(IrInterpError, match=f"the image is {dtype}"):
            ir_interp.resize(x, ir_interp.spec("torch", mode=mode, rank=rank), sizes=sizes)


@pytest.mark.parametrize("mode", [*RANKS, "nearest", "nearest-exact", "area"])
@pytest.mark.parametrize("dtype", TYPES)
def test_torch_itself_takes_these_types(mode: str, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="pip install torch")
    rank = RANKS.get(mode, 4)
    x = torch.from_numpy(np.zeros((1, 2, 4, 5, 6)[:rank], dtype))
    if _is_accepted_by_torch(mode, dtype):
        torch.nn.functional.interpolate(x, size=(3, 3, 3)[: rank - 2], mode=mode)
    else:
        with pytest.raises((RuntimeError, NotImplementedError)):
            torch.nn.functional.interpolate(x, size=(3, 3, 3)[: rank - 2], mode=mode)


@pytest.mark.parametrize("transforms", ["v1", "v2"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", None])
def test_lanczos_of_torchvision_requires_antialias(transforms: str, dtype: str | None) -> None:
    call: dict[str, Any] = {"interpolation": "lanczos", "antialias": "false", "transforms": transforms}
    with pytest.raises(IrInterpError, match="requires antialias"):
        ir_interp.spec("torchvision", version=29, dtype=dtype, **call)
    if transforms == "v1":  # which turns antialias off for all but bilinear and bicubic
        for antialias in ("true", "default"):
            with pytest.raises(IrInterpError, match="use transforms=v2 or backend=pil"):
                ir_interp.spec("torchvision", version=29, dtype=dtype, **call | {"antialias": antialias})
    with pytest.raises(IrInterpError, match="lanczos requires PIL images"):
        ir_interp.spec("torchvision", version=16, dtype=dtype, **call | {"antialias": "default"})


GREY = np.random.default_rng(0).random((1, 7)).astype(np.float32)
REFUSING = ("opencv:linear", "opencv:nearest", "opencv:nearest_exact", "opencv:area", "opencv:cubic,ipp=false",
            "torch:bilinear", "torch:nearest", "torch:bicubic,antialias=true", "tensorflow:bilinear",
            "tensorflow:nearest", "pillow:box,mode=F", "pillow:nearest,mode=F", "torchvision:bilinear",
            "skimage:1", "skimage:1,mode=edge,anti_aliasing=true")  # fmt: skip
EMPTY_OUTPUTS = ("torch:area", "skimage:0,anti_aliasing=false", "skimage:1,anti_aliasing=false")
EMPTY_IMAGES = ("scipy:1", "scipy:0", "scipy:0,grid_mode=true", "jax:linear", "jax:nearest")


@pytest.mark.parametrize("like", REFUSING)
@pytest.mark.parametrize("target", [{"scales": (0.25, 1.44)}, {"sizes": (0, 4)}, {"sizes": (0, 7)}])
def test_outputs_of_size_0_are_refused(like: str, target: dict[str, Any]) -> None:
    if like.startswith("skimage:1"):
        target = {"sizes": (0, 4)}  # its calls take no scales
    with pytest.raises(IrInterpError, match="refuses outputs of size 0, as axis 0 of size 1 would have; use a larger"):
        ir_interp.resize(GREY, like=like, axes=(0, 1), **target)


@pytest.mark.parametrize("like", [*REFUSING, *EMPTY_OUTPUTS])
@pytest.mark.parametrize("sizes", [(0, 7), (0, 4), (3, 4)])
def test_images_of_size_0_are_refused(like: str, sizes: tuple[int, int]) -> None:
    with pytest.raises(IrInterpError, match=r"refuses images of size 0, as axis 0|axis 0 has size 0 and cannot be"):
        ir_interp.resize(GREY[:0], sizes=sizes, like=like, axes=(0, 1))


@pytest.mark.parametrize("like", [*EMPTY_OUTPUTS, *EMPTY_IMAGES])
def test_other_calls_return_empty_arrays(like: str) -> None:
    assert ir_interp.resize(GREY, sizes=(0, 4), like=like, axes=(0, 1)).shape == (0, 4)
    if like in EMPTY_IMAGES:
        assert ir_interp.resize(GREY[:0], sizes=(0, 4), like=like, axes=(0, 1)).shape == (0, 4)


CALLS_OF_LIBRARIES = (
    ("opencv", {"interpolation": "AREA"}), ("torch", {"mode": "bilinear"}), ("torch", {"mode": "area"}),
    ("torchvision", {"interpolation": "bilinear", "transforms": "v1"}),
    ("torchvision", {"interpolation": "nearest", "transforms": "v1"}),
    ("tensorflow", {"method": "bilinear"}), ("tensorflow", {"method": "lanczos3"}), ("jax", {"method": "linear"}),
    ("scipy", {"order": 1}), ("scipy", {"order": 0}), ("pillow", {"resample": "BOX", "mode": "F"}),
    ("skimage", {"order": 1}), ("skimage", {"order": 1, "anti_aliasing": False}),
    ("skimage", {"order": 0, "anti_aliasing": False}),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # of scikit-image, which returns an array
@pytest.mark.parametrize(("library", "arguments"), CALLS_OF_LIBRARIES, ids=str)
@pytest.mark.parametrize(("shape", "sizes"), [((5, 6), (0, 3)), ((5, 6), (3, 0)), ((0, 6), (0, 3)), ((5, 6), (2, 3))])
def test_size_0_in_the_libraries_themselves(
    library: str, arguments: dict[str, Any], shape: tuple[int, int], sizes: tuple[int, int]
) -> None:
    """The library returns an empty array exactly where one is returned here."""
    if library == "scipy" and 0 in shape:
        pytest.skip("SciPy takes factors, and no factor makes 3 columns and no row of an image without rows")
    _ = pytest.importorskip({"opencv": "cv2", "pillow": "PIL"}.get(library, library), reason=f"pip install {library}")
    call = libraries.Call(library=library, arguments=arguments, dtype="float32", channels=1)
    x = call.image(np.random.default_rng(0), *shape)
    own = _shape_or_none(lambda: call.run(x, *sizes))
    assert _shape_or_none(lambda: call.ours(x, *sizes)) == own


def _shape_or_none(run: Callable[[], Any]) -> tuple[int, ...] | None:
    """Return the shape of a result; None if the call is refused, by whatever error the library raises."""
    try:
        return tuple(run().shape)
    except Exception:
        return None


def test_a_call_of_scikit_image_applies_to_the_images_that_it_was_read_for() -> None:
    with pytest.raises(IrInterpError, match=r"order 1 here takes float16, .*; the image is uint8: specify its dtype"):
        ir_interp.resize(np.zeros((5, 6), np.uint8), ir_interp.spec("skimage"), sizes=(3, 3))
    with pytest.raises(IrInterpError, match=r"order 0 here takes uint8, .*; the image is float32: specify its dtype"):
        ir_interp.resize(GREY, ir_interp.spec("skimage", order=0, dtype="uint8"), sizes=(1, 3))
    copied = ir_interp.resize(GREY, ir_interp.spec("skimage", order=0, anti_aliasing=False), sizes=(1, 3))
    np.testing.assert_array_equal(copied, GREY[:, 1::2])
