"""The steps of a configuration of Hugging Face, in the order of its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.arguments import natural, positive, real, reals
from ir_interp.errors import SpecError
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.huggingface_classes import Family
from ir_interp.pipelines.output_size import (
    Exactly,
    Inside,
    Multiple,
    NearestMultiple,
    OutputSize,
    RoundedUp,
    ShareOfShorterSide,
    ShorterSide,
    SidesWithin,
    SizeRounding,
)
from ir_interp.pipelines.steps import (
    CentreCrop,
    ImageStep,
    Normalise,
    PadTo,
    Place,
    Product,
    Rescale,
    Resize,
    ReverseChannels,
    check_single,
)

_PILLOW = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by Pillow's numbers
_TORCHVISION = ("nearest-exact", "lanczos", "bilinear", "bicubic")  # the filters that torchvision has for tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The keys of a class, including defaults."""

    title: str
    family: Family
    backend: Backend
    keys: Mapping[str, Any]

    def key(self, name: str) -> Any:
        """Return the value of a key. Raises SpecError if neither the file nor the class has it."""
        if self.keys.get(name) is None:
            raise SpecError(f"{name} is missing")
        return self.keys[name]

    def is_on(self, name: str) -> bool:
        """Return a boolean. Raises SpecError for another value."""
        value = self.keys.get(name)
        if value not in (True, False, None):
            raise SpecError(f"{name} is {value!r}; expected true or false")
        return bool(value)

    @property
    def share(self) -> float:
        """``crop_pct``. Raises SpecError unless it is positive."""
        share = real(self.key("crop_pct"), "crop_pct")
        if not share > 0:
            raise SpecError(f"crop_pct is {share:g}; expected a number above 0")
        return share

    @property
    def factor(self) -> float:
        """``rescale_factor``. Raises SpecError for integers above 1, by which transformers multiplies uint8."""
        value = self.key("rescale_factor")
        if isinstance(value, int) and value not in (0, 1):
            raise SpecError(f"rescale_factor is {value}; expected a fraction, as in 0.00392156862745098")
        return real(value, "rescale_factor")

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return one number, or three."""
        value = self.key(name)
        return (real(value, name),) if isinstance(value, int | float) else reals(value, name)


def steps_of(config: Configuration) -> Iterator[ImageStep]:
    """Yield the steps of a configuration. Raises SpecError for a value that is not supported."""
    if config.is_on("do_center_crop") and config.family is Family.CROPPED_FIRST:
        yield _share_crop(config)
    if config.is_on("do_resize"):
        yield from _resizes(config)
    if config.is_on("do_center_crop") and config.family is not Family.CROPPED_FIRST:
        yield _crop(config, Exactly(**_sides(config.key("crop_size"), "crop_size")))
    yield from _floats(config)
    if config.is_on("do_pad"):
        yield from _padding(config)


def _sides(size: Any, name: str) -> dict[str, int]:
    """Return height and width; one number sets both."""
    if not isinstance(size, Mapping):
        size = {"height": size, "width": size}
    if size.keys() != {"height", "width"}:
        raise SpecError(f"{name} has {', '.join(map(str, size)) or 'no keys'}; expected height and width")
    return {key: natural(value, f"the {key} of {name}") for key, value in size.items()}


def _resizes(config: Configuration) -> Iterator[ImageStep]:
    like = _like(config)
    sides = named_sides(config)
    if config.family is Family.MULTIPLE:
        divisor = positive(config.key("size_divisor"), "size_divisor")
        yield Resize(like=like, size=Multiple(of_size=divisor, rounding=SizeRounding.DOWN))
    elif config.family is Family.UP_TO_MULTIPLE:
        divisor = positive(config.key("size_divisor"), "size_divisor")
        rule = _rule(sides, config.family)
        yield Resize(like=like, size=RoundedUp(size=rule, of_size=divisor))
    elif config.family is Family.SHARE:
        yield from _share(config, like, _edge(sides))
    elif config.family is Family.ENLARGED and "shortest_edge" in sides:
        # LeViT: the usual margin of ImageNet's crops, truncated as there.
        yield Resize(like=like, size=ShorterSide(size=int(256 / 224 * _edge(sides))))
    elif config.family is Family.CROPPED_SHARE:
        yield Resize(like=like, size=_divided(sides, config.share))
    elif config.family is Family.LONGER_SIDE:
        longest = _edge(sides, "longest_edge")
        yield Resize(like=like, size=Inside(height=longest, width=longest, rounding=SizeRounding.HALF_UP))
    elif config.family is Family.NEAREST_MULTIPLE:
        yield Resize(like=like, size=_near(config, _sides(sides, "size")))
    else:
        yield Resize(like=like, size=_rule(sides, config.family))


def named_sides(config: Configuration) -> dict[str, Any]:
    """Return ``size`` by its keys; one number is a square, or the shorter side for classes that define it so."""
    size = config.key("size")
    if isinstance(size, Mapping):
        return dict(size)
    if isinstance(size, list | tuple):
        raise SpecError(f"size is {list(size)}, whose order depends on the release; expected height and width by name")
    if config.keys.get("default_to_square", True):
        return {"height": size, "width": size}
    longest = config.keys.get("max_size")
    return {"shortest_edge": size} | ({} if longest is None else {"longest_edge": longest})


def _like(config: Configuration) -> str:
    names = _PILLOW if config.backend is Backend.PIL else _TORCHVISION
    number = natural(config.key("resample"), "resample")
    if number >= len(names):
        raise SpecError(f"resample is {number}; expected a number from 0 to {len(names) - 1}")
    return f"{'pillow' if config.backend is Backend.PIL else 'torchvision'}:{names[number]}"


def _edge(sides: Mapping[str, Any], name: str = "shortest_edge") -> int:
    if set(sides) != {name}:
        raise SpecError(f"size has {', '.join(sides) or 'no keys'}; expected {name}")
    return natural(sides[name], f"the {name} of size")


def _rule(sides: Mapping[str, Any], family: Family) -> OutputSize:
    """Return the rule of a ``size``."""
    keys = set(sides)
    if keys == {"shortest_edge", "longest_edge"}:
        shortest, longest = (natural(sides[key], f"the {key} of size") for key in ("shortest_edge", "longest_edge"))
        return SidesWithin(shortest=shortest, longest=longest)
    if keys == {"shortest_edge"} and family is not Family.DETECTION:
        return ShorterSide(size=_edge(sides))
    if keys == {"max_height", "max_width"}:
        height, width = (natural(sides[key], f"the {key} of size") for key in ("max_height", "max_width"))
        return Inside(height=height, width=width, rounding=SizeRounding.DOWN)
    return Exactly(**_sides(sides, "size"))


def _share(config: Configuration, like: str, shortest: int) -> Iterator[ImageStep]:
    """Yield ConvNeXT's steps: below 384 pixels a share is cropped, from 384 on the aspect ratio changes."""
    if shortest >= 384:
        yield Resize(like=like, size=Exactly(height=shortest, width=shortest))
        return
    yield Resize(like=like, size=ShorterSide(size=int(shortest / config.share)))
    yield _crop(config, Exactly(height=shortest, width=shortest))


def _divided(sides: Mapping[str, Any], share: float) -> OutputSize:
    """Return PoolFormer's rule: sides divided by ``crop_pct``; a square is a shorter side."""
    if "shortest_edge" in sides:
        return ShorterSide(size=int(_edge(sides) / share))
    both = _sides(sides, "size")
    if both["height"] == both["width"]:
        return ShorterSide(size=int(both["height"] / share))
    return Exactly(height=int(both["height"] / share), width=int(both["width"] / share))


def _near(config: Configuration, sides: Mapping[str, int]) -> OutputSize:
    multiple = positive(config.key("ensure_multiple_of"), "ensure_multiple_of")
    keeps, halfway = (
        config.is_on("keep_aspect_ratio"),
        [side * 2 % (2 * multiple) == multiple for side in sides.values()],
    )
    if keeps or any(halfway):  # halfway between two multiples, the last bit of a quotient decides
        return NearestMultiple(**sides, of_size=multiple, keeps_ratio=keeps)
    height, width = (round(sides[key] / multiple) * multiple for key in ("height", "width"))
    return Exactly(height=height, width=width)


def _crop(config: Configuration, size: OutputSize) -> CentreCrop:
    padding = SizeRounding.UP if config.backend is Backend.PIL else SizeRounding.DOWN
    return CentreCrop(size=size, start=SizeRounding.DOWN, padding=padding)


def _share_crop(config: Configuration) -> CentreCrop:
    sides, crop = (_sides(config.key(key), key) for key in ("size", "crop_size"))
    return _crop(config, ShareOfShorterSide(**{key: sides[key] / crop[key] for key in sides}))


def _floats(config: Configuration) -> Iterator[ImageStep]:
    """Yield the steps on values: rescaled, then normalised; torchvision's backend does both at once."""
    factor = config.factor if config.is_on("do_rescale") else None
    if config.family is Family.REVERSED:
        if factor is not None:
            yield Rescale(factor=factor, product=_product(config))
        if config.is_on("do_flip_channel_order"):
            yield ReverseChannels()
        return
    if config.family is Family.FLIPPED:
        yield ReverseChannels()
        return
    offset = -1.0 if factor is not None and config.family is Family.OFFSET and config.is_on("rescale_offset") else 0.0
    normalises = config.is_on("do_normalize")
    if factor is not None and normalises and not offset and config.backend is Backend.TORCHVISION:
        yield _fused(config, factor)
    else:
        if factor is not None:
            yield Rescale(factor=factor, offset=offset, product=_product(config))
        if normalises:
            yield Normalise(mean=config.numbers("image_mean"), deviation=config.numbers("image_std"))
    if config.family is Family.OFFSET and config.is_on("include_top"):
        yield Normalise(mean=(0.0,), deviation=config.numbers("image_std"))


def _product(config: Configuration) -> Product:
    return Product.FLOAT64 if config.backend is Backend.PIL else Product.FLOAT32


def _fused(config: Configuration, factor: float) -> Normalise:
    """Return both steps as one: mean and deviation times 1 / factor in float32, as torch multiplies a tensor."""
    check_single((1 / Rescale(factor=factor).factor,))
    inverse = np.float32(1 / factor)
    with np.errstate(over="ignore", under="ignore"):  # Normalise refuses infinities and zeros
        mean, deviation = (
            tuple(float(np.float32(number) * inverse) for number in config.numbers(name))
            for name in ("image_mean", "image_std")
        )
    return Normalise(mean=mean, deviation=deviation)


def _padding(config: Configuration) -> Iterator[ImageStep]:
    """Yield the padding of one image; without ``pad_size`` images are padded to the largest, here the image itself."""
    if config.keys.get("pad_size") is not None:
        yield PadTo(size=Exactly(**_sides(config.key("pad_size"), "pad_size")), place=Place.TOP_LEFT)
