"""torchvision's ``transforms.v2.functional.resize`` of tensors, on CPU.

Source: ``transforms/v2/functional/_geometry.py``, run as torchvision 0.29 with torch 2.14. It calls
``torch.nn.functional.interpolate``, antialiased unless forbidden. Images of PIL are resized by Pillow, whatever
antialias says: that is ``pillow``, in the version that is installed beside it. The version here is the number behind
the point: 29 of 0.29.
"""

from __future__ import annotations

from ir_interp.libraries import torch
from ir_interp.spec import ResizeSpec
from ir_interp.translation.dialect import Attributes, Context, Dialect, since
from ir_interp.translation.library import Library

_FILTERED = ("bilinear", "bicubic")


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``size``; antialias is of no effect where pixels are copied."""
    mode = attributes["interpolation"]
    call = torch.LIBRARY.dialect.complete(
        {
            "mode": mode,
            "antialias": mode in _FILTERED and attributes["antialias"],
            **{name: value for name, value in attributes.items() if name == "size"},
        },
        2,
    )
    return torch.read(call, Context(version=2, dtype=context.dtype))


LIBRARY = Library(
    dialect=Dialect(
        name="torchvision",
        versions=(29,),
        vocabulary={
            "interpolation": dict.fromkeys((*_FILTERED, "nearest", "nearest-exact"), since(29)),
            "antialias": {True: since(29), False: since(29)},
        },
        numbers={"sizes": ("size", since(29))},
        defaults={"interpolation": ("bilinear", since(29)), "antialias": (True, since(29))},
        omitted={},
        read=read,
    ),
    packages=("torchvision",),
    counted=1,
)
