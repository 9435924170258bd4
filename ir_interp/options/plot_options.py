"""Options for a picture of a resize."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import ARRAY, CONFIGURATION, WHOLE, member
from ir_interp.options.value_texts import LayerShape
from ir_interp.views.figures import Picture

_AXIS = tuple(picture.value for picture in Picture if picture is not Picture.IMAGE)
_IMAGE = "With --what image"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """The picture to draw; ``ir_interp.plot`` documents the options."""

    what: Picture = option(
        member(Picture, "Picture | str", "PICTURE"),
        "Picture to draw: positions, weights, kernel or image.",
        "--what",
        default=Picture.POSITIONS,
    )
    layer: str | None = shared.layer(shared.LAYER, "--layer")
    axis: int | None = option(WHOLE, "Axis to show. Default: the first that changes.", "--axis", places=_AXIS)
    shape: LayerShape | None = shared.layer_shape()
    sizes: tuple[int, ...] | None = shared.sizes()
    scales: tuple[float, ...] | None = shared.scales()
    x: Any = option(ARRAY, "Array (.npy) or image to resize.", "--input", places=(Picture.IMAGE.value,), panel=_IMAGE)
    against: Any = option(
        CONFIGURATION,
        "Semantics, arithmetic or file to compare with. Default: a runtime that differs.",
        "--against",
        complete="semantics",
        places=(Picture.IMAGE.value,),
        panel=_IMAGE,
    )
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
