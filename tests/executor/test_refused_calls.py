"""Calls that a library refuses are refused here, by the same element types and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import IrInterpError

RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
FLOATS = ("float16", "float32", "float64")
TYPES = (*FLOATS, "uint8", "int8", "int16", "int32", "int64")


def _is_accepted_by_torch(mode: str, dtype: str) -> bool:
    """Return whether torch 2.13 takes tensors of a type on CPU, as it was run."""
    return dtype in FLOATS or (dtype == "uint8" and mode in ("bilinear", "bicubic", "nearest", "nearest-exact"))


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
    with pytest.raises(IrInterpError, match="lanczos requires PIL images"):
        ir_interp.spec("torchvision", version=16, dtype=dtype, **call | {"antialias": "default"})


GREY = np.random.default_rng(0).random((1, 7)).astype(np.float32)
REFUSING = ("opencv:linear", "opencv:nearest", "opencv:nearest_exact", "opencv:area", "opencv:cubic,ipp=false",
            "torch:bilinear", "torch:nearest", "torch:bicubic,antialias=true", "tensorflow:bilinear",
            "tensorflow:nearest", "pillow:box,mode=F", "pillow:nearest,mode=F")  # fmt: skip


@pytest.mark.parametrize("like", REFUSING)
@pytest.mark.parametrize("target", [{"scales": (0.25, 1.44)}, {"sizes": (0, 4)}, {"sizes": (0, 7)}])
def test_outputs_of_size_0_are_refused(like: str, target: dict[str, Any]) -> None:
    with pytest.raises(IrInterpError, match="refuses outputs of size 0, as axis 0 of size 1 would have; use a larger"):
        ir_interp.resize(GREY, like=like, axes=(0, 1), **target)


@pytest.mark.parametrize("like", ["scipy:1", "scipy:0", "jax:linear", "jax:nearest", "torch:area"])
def test_other_calls_return_empty_arrays(like: str) -> None:
    assert ir_interp.resize(GREY, sizes=(0, 4), like=like, axes=(0, 1)).shape == (0, 4)
