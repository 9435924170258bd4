"""torchvision's ``resize`` on CPU: of ``transforms.v2.functional``, and of ``transforms.functional`` (v1).

Source: ``transforms/v2/functional/_geometry.py`` and ``transforms/_functional_tensor.py``, run as torchvision 0.29 and
0.16 with torch 2.14. Tensors go to ``torch.nn.functional.interpolate``; v1 converts integers to floats first, and
rounds the result. PIL images are resized by the installed version of Pillow, whatever the value of antialias. Before
0.17 antialias was off by default. The version here is the minor version: 17 is 0.17 and later.
"""

from __future__ import annotations

from dataclasses import replace

from ir_interp.errors import SpecError
from ir_interp.libraries import Library, pillow, torch
from ir_interp.specs import IntegerRounding, Nearest, ResizeSpec, Step
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

_FILTERED = ("bilinear", "bicubic", "lanczos")
_OF_PIL = ("box", "hamming")
_BY_DEFAULT = 17  # first version with antialias by default


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``size``; antialias has no effect where pixels are copied."""
    mode, of_images = attributes["interpolation"], attributes["backend"] == "pil"
    size = {name: value for name, value in attributes.items() if name == "size"}
    if of_images:
        return _of_pil(mode, size, context)
    if mode in _OF_PIL or (mode == "lanczos" and context.version < _BY_DEFAULT):
        raise SpecError(f"{mode} requires PIL images; use backend=pil")
    if mode == "lanczos" and attributes["transforms"] == "v1":
        raise SpecError("lanczos of tensors requires antialias, which v1 leaves out; use transforms=v2 or backend=pil")
    antialias = attributes["antialias"]
    on = antialias == "true" or (antialias == "default" and context.version >= _BY_DEFAULT)
    call = {"mode": mode, "antialias": mode in _FILTERED and on, **size}
    of_torch = torch.read(torch.LIBRARY.dialect.complete(call, 2), Context(version=2, dtype=context.dtype))
    spec = replace(of_torch, step=Step.RATIO)
    if attributes["transforms"] == "v2" or isinstance(spec.kernel, Nearest):
        return spec
    return replace(spec, integers=IntegerRounding.HALF_EVEN)


def _of_pil(mode: str, size: Attributes, context: Context) -> ResizeSpec:
    call = {"resample": "NEAREST" if mode == "nearest-exact" else mode.upper(), "mode": "RGB"}
    version = pillow.LIBRARY.version()
    attributes = pillow.LIBRARY.dialect.complete(call | ({"sizes": size["size"]} if size else {}), version)
    return pillow.read(attributes, Context(version=version, dtype=context.dtype))


def approximate(attributes: Attributes, context: Context) -> str:
    """Return why some values differ by 1; an empty text if none do."""
    if context.dtype not in (None, "uint8") or attributes["backend"] == "pil":
        return ""
    if "nearest" in attributes["interpolation"]:
        return ""
    if attributes["transforms"] == "v1":
        return "values near a half depend on the processor: with AVX2, torch fuses the float sums of v1"
    is_old = context.version < _BY_DEFAULT and attributes["interpolation"] == "bilinear"
    return "processors with AVX-512 sum floats instead" if is_old else ""


LIBRARY = Library(
    dialect=Dialect(
        name="torchvision",
        versions=(17, 16),  # 17 changed the default of antialias
        vocabulary={
            "interpolation": dict.fromkeys((*_FILTERED, "nearest", "nearest-exact", *_OF_PIL), since(16)),
            "antialias": dict.fromkeys(("default", "true", "false"), since(16)),
            "transforms": dict.fromkeys(("v2", "v1"), since(16)),
            "backend": dict.fromkeys(("tensor", "pil"), since(16)),
        },
        numbers={"sizes": ("size", since(16))},
        defaults={
            "interpolation": ("bilinear", since(16)),
            "antialias": ("default", since(16)),
            "transforms": ("v2", since(16)),
            "backend": ("tensor", since(16)),
        },
        omitted={},
        read=read,
    ),
    packages=("torchvision",),
    measured=((0, 16), (0, 29)),
    approximate=approximate,
    counted=1,
)
