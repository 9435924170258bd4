"""What a picture of a resize can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import ARRAY, CONFIGURATION, WHOLE, LayerShape, member
from ir_interp.views.figures import Picture

_AXIS = tuple(each.value for each in Picture if each is not Picture.IMAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """What to draw; ``ir_interp.plot`` says what each option means."""

    what: Picture = option(
        member(Picture, "Picture | str", "PICTURE"),
        "positions, weights, kernel or image.",
        "--what",
        default=Picture.POSITIONS,
    )
    layer: str | None = shared.layer(shared.LAYER, "--layer")
    axis: int | None = option(WHOLE, "Axis to show, if not the first that changes.", "--axis", places=_AXIS)
    shape: LayerShape | None = shared.layer_shape()
    sizes: tuple[int, ...] | None = shared.sizes()
    scales: tuple[float, ...] | None = shared.scales()
    x: Any = option(ARRAY, "For image: an array (.npy) or an image.", "--input", places=(Picture.IMAGE.value,))
    against: Any = option(
        CONFIGURATION,
        "For image: a reading, an arithmetic, or a file with another resize. Default: a runtime that differs.",
        "--against",
        places=(Picture.IMAGE.value,),
    )
    quiet: bool = shared.quiet()
