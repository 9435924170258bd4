"""scikit-image's ``skimage.transform.resize``.

Source: ``transform/_warps.py``, run as scikit-image 0.26 with SciPy 1.17. Images are [height, width] or [height, width,
channels], with ``preserve_range``. Splines of order 2 to 5, which filter the image first, and the border modes constant
and wrap are not supported here. The version here is the minor version: 26 for 0.26.
"""

from __future__ import annotations

from dataclasses import replace

from ir_interp.errors import SpecError
from ir_interp.libraries import Library, scipy
from ir_interp.specs import Border, Images, Linear, ResizeSpec, Smooth
from ir_interp.specs.resize_spec import FLOATS
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

_INTEGERS = tuple(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("u", ""))
_BORDERS = {"reflect": Border.MIRRORED, "edge": Border.EDGE, "symmetric": Border.SYMMETRIC}


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``output_shape``, whose first two entries are the ``sizes``.

    By default ``anti_aliasing`` smooths shrinking axes first, except for integers of order 0.
    """
    order, border = str(attributes["order"]), _BORDERS[attributes["mode"]]
    is_integer = context.dtype is not None and "int" in context.dtype
    if order != "0" and is_integer:
        raise SpecError(f"order {order} converts {context.dtype} to float64; use floating-point images")
    called = {"order": order, "grid_mode": True}
    called |= {name: value for name, value in attributes.items() if name == "sizes"}
    spec = scipy.read(scipy.LIBRARY.dialect.complete(called, 17), Context(version=17, dtype=context.dtype))
    if order == "0":
        if attributes["anti_aliasing"] == "true" or not (is_integer or attributes["anti_aliasing"] == "false"):
            raise SpecError("the result of order 0 with anti_aliasing is unknown; use anti_aliasing=False")
        # Floats are smoothed by default, so integers alone are copied unless the call says otherwise.
        copied = (*_INTEGERS, "bool", *FLOATS) if attributes["anti_aliasing"] == "false" else _INTEGERS
        return replace(spec, images=Images(elements=copied, call="order 0"))
    beyond = Border.MIRRORED if border is Border.MIRRORED else Border.EDGE  # symmetric equals edge within a pixel
    return replace(
        spec,
        kernel=Linear(border=beyond),
        before=None if attributes["anti_aliasing"] == "false" else Smooth(border=border),
        images=Images(elements=FLOATS, call=f"order {order}"),
    )


LIBRARY = Library(
    dialect=Dialect(
        name="skimage",
        versions=(26,),
        vocabulary={
            "order": dict.fromkeys(("1", "0", "2", "3", "4", "5"), since(26)),
            "mode": dict.fromkeys(_BORDERS, since(26)),
            "anti_aliasing": dict.fromkeys(("none", "false", "true"), since(26)),
        },
        numbers={"sizes": ("sizes", since(26))},
        defaults={"order": ("1", since(26)), "mode": ("reflect", since(26)), "anti_aliasing": ("none", since(26))},
        omitted={},
        read=read,
    ),
    packages=("scikit-image",),
    measured=((0, 26), (0, 26)),
    makes_floats="float64",
    counted=1,
)
