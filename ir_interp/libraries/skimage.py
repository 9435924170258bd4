"""scikit-image's ``skimage.transform.resize`` without its Gaussian filter.

Source: ``transform/_warps.py``, run as scikit-image 0.26 with SciPy 1.17. Images are [height, width] or [height, width,
channels], with ``preserve_range``. ``mode`` is edge or symmetric, which are one for these orders: the default,
reflect, mirrors pixels at the border where an axis grows. With ``anti_aliasing``, the default where an axis shrinks,
the image is smoothed first; that is no resize, and is not known here. The version here is the number behind the point:
26 of 0.26.
"""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.libraries import scipy
from ir_interp.spec import ResizeSpec
from ir_interp.translation.dialect import Attributes, Context, Dialect, since
from ir_interp.translation.library import Library


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``output_shape``, whose first two lengths are the ``sizes``."""
    order = str(attributes["order"])
    if order != "0" and context.dtype is not None and "int" in context.dtype:
        raise SpecError(f"order {order} makes float64 of {context.dtype}; give floating point images")
    call = scipy.LIBRARY.dialect.complete(
        {"order": order, "grid_mode": True, **{name: each for name, each in attributes.items() if name == "sizes"}}, 17
    )
    return scipy.read(call, Context(version=17, dtype=context.dtype))


LIBRARY = Library(
    dialect=Dialect(
        name="skimage",
        versions=(26,),
        vocabulary={"order": dict.fromkeys(("1", "0"), since(26))},
        numbers={"sizes": ("sizes", since(26))},
        defaults={"order": ("1", since(26))},
        omitted={},
        read=read,
    ),
    packages=("scikit-image",),
    counted=1,
)
