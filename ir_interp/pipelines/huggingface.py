"""Pipelines of Hugging Face's ``preprocessor_config.json``, as its class reads it.

Sources: transformers 5.23, ``image_processing_backends`` (the order of the steps and their arithmetic, for either
backend), ``image_transforms`` (rules of sizes) and the classes in ``huggingface_classes``. An unlisted key is refused,
since it may change the image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.arguments import natural, positive, real, reals
from ir_interp.errors import ReadError, SpecError, likely
from ir_interp.pipelines.huggingface_classes import PROCESSORS, REASONS, Family
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import (
    AlphaRule,
    Backend,
    Exactly,
    Inside,
    Multiple,
    NearestMultiple,
    RoundedUp,
    ShareOfShorterSide,
    ShorterSide,
    SidesWithin,
    SizeRounding,
    SizeRule,
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


def named_sides(config: Configuration) -> dict[str, object]:
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


def _rule(sides: Mapping[str, Any], family: Family) -> SizeRule:
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


def _divided(sides: Mapping[str, object], share: float) -> SizeRule:
    """Return PoolFormer's rule: sides divided by ``crop_pct``; a square is a shorter side."""
    if "shortest_edge" in sides:
        return ShorterSide(size=int(_edge(sides) / share))
    both = _sides(sides, "size")
    if both["height"] == both["width"]:
        return ShorterSide(size=int(both["height"] / share))
    return Exactly(height=int(both["height"] / share), width=int(both["width"] / share))


def _near(config: Configuration, sides: Mapping[str, int]) -> SizeRule:
    multiple = positive(config.key("ensure_multiple_of"), "ensure_multiple_of")
    keeps, halfway = (
        config.is_on("keep_aspect_ratio"),
        [side * 2 % (2 * multiple) == multiple for side in sides.values()],
    )
    if keeps or any(halfway):  # halfway between two multiples, the last bit of a quotient decides
        return NearestMultiple(**sides, of_size=multiple, keeps_ratio=keeps)
    height, width = (round(sides[key] / multiple) * multiple for key in ("height", "width"))
    return Exactly(height=height, width=width)


def _crop(config: Configuration, size: SizeRule) -> CentreCrop:
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


_WITHOUT_EFFECT = {
    "image_processor_type", "feature_extractor_type", "processor_class", "auto_map", "_valid_processor_keys",
    "do_convert_rgb", "return_tensors", "input_data_format", "device", "disable_grouping", "image_seq_length",
    "do_reduce_labels", "reduce_labels", "do_convert_annotations", "format", "num_labels", "ignore_index",
    "apply_ocr", "ocr_lang", "tesseract_config", "mask_size", "mask_pad_size", "use_fast",
}  # fmt: skip
"""Keys that do not change an RGB image: about files, labels, texts and masks."""
_WITHOUT_EFFECT_AT: Mapping[str, tuple[object, ...]] = {
    "data_format": ("channels_first", "ChannelDimension.FIRST"),
    "do_resize_and_center_crop": (True,),  # of older PoolFormers, whose other value no release since reads
}
"""Keys that do not change it at these values."""
_COMMON = {
    "do_resize", "size", "resample", "do_center_crop", "crop_size", "do_rescale", "rescale_factor", "do_normalize",
    "image_mean", "image_std", "do_pad", "pad_size", "default_to_square",
}  # fmt: skip
_TITLES = ("image_processor_type", "feature_extractor_type")
_OWN_CODE = {"AutoImageProcessor", "AutoFeatureExtractor"}
_CLASS = re.compile(r"[A-Za-z0-9]+(ImageProcessor(Fast|Pil)?|FeatureExtractor)")
_REQUIRED = ("do_resize", "do_rescale", "do_normalize")


def is_class(name: str) -> bool:
    """Return whether a name is that of an image processor's class, whether supported or not."""
    return _CLASS.fullmatch(name) is not None


def class_hint(name: str) -> str:
    """Return a hint at the supported class that an unknown name is close to; an empty text if none is."""
    stem = likely(re.split("Image|Feature", name)[0], PROCESSORS)
    return f"; did you mean '{stem}ImageProcessor'?" if stem else ""


def read(document: Mapping[str, object], backend: Backend | None, *, is_of_5: bool = True) -> Pipeline:
    """Return the pipeline of a configuration.

    ``backend`` is required if the class does not determine it: transformers 4 used Pillow unless ``use_fast`` was set,
    transformers 5 uses torchvision. Where releases differ, a backend by name means transformers 5, whose option it is,
    unless ``is_of_5`` is False. Raises ReadError for an unknown class or key, and SpecError for a value.
    """
    config = _configuration(_of_images(document), backend, is_of_5=is_of_5)
    name = f"{config.title} ({config.backend.value} backend)"
    return Pipeline(steps=tuple(steps_of(config)), name=name, alpha=_alpha(config))


def _of_images(document: Mapping[str, object]) -> Mapping[str, object]:
    """Return the part about images of a ``processor_config.json``, whose other keys are about texts."""
    about_images = sorted(document.keys() & {*_COMMON, *_TITLES})
    nested = document.get("image_processor")
    if nested is None and not about_images and "processor_class" in document:
        raise ReadError("has no image_processor; expected the preprocessor_config.json of the same model")
    if nested is None:
        return document
    if not isinstance(nested, Mapping):
        raise ReadError(f"image_processor is {str(nested)[:40]!r}; expected an object")
    if about_images:
        raise ReadError(f"{about_images[0]} stands beside image_processor; expected one place for all keys")
    return nested


def _alpha(config: Configuration) -> AlphaRule:
    """Return what ``do_convert_rgb`` does with alpha; without it, four channels do not fit mean and deviation.

    Feature extractors are of transformers 4, and Chameleon blends in floats.
    """
    is_known = not config.title.endswith("FeatureExtractor") and not config.title.startswith("Chameleon")
    return AlphaRule.OVER_WHITE if config.is_on("do_convert_rgb") and is_known else AlphaRule.REFUSED


def _configuration(document: Mapping[str, object], backend: Backend | None, *, is_of_5: bool) -> Configuration:
    settings = {key: value for key, value in document.items() if value is not None}
    title = next((settings[key] for key in _TITLES if settings.get(key)), None)
    if title is None:
        _check_is_of_images(settings)
        return _without_class(settings, backend)
    if not isinstance(title, str):
        raise ReadError(f"image_processor_type is {title!r}; expected the name of a class")
    stem = (
        title.removesuffix("Fast").removesuffix("Pil").removesuffix("ImageProcessor").removesuffix("FeatureExtractor")
    )
    if stem not in PROCESSORS:
        reason = f": it {REASONS[stem]}" if stem in REASONS else ""
        known = f"expected one of {len(PROCESSORS)} (docs/pipelines.md of the repository)"
        raise ReadError(f"the class {title} is not supported{reason}; {known}{'' if reason else class_hint(title)}")
    _check_own_code(settings.get("auto_map"))
    processor = PROCESSORS[stem]
    _check_keys(settings, processor.defaults.keys() | processor.ignores | processor.refuses)
    settings |= _of_null(document, processor.defaults)
    for switch in sorted(processor.refuses & settings.keys()):
        if settings[switch]:
            raise ReadError(f"{switch} is not supported for {title}")
    if backend is Backend.TORCHVISION and title.endswith("FeatureExtractor"):
        title = f"{stem}ImageProcessor"  # what transformers 5 loads for it; transformers 4 has no such backend
    named = _backend_of(title, settings) if processor.has_pillow else Backend.TORCHVISION
    if named and backend and backend is not named:
        raise SpecError(f"backend is {backend.value}; the class {title} has {named.value}")
    config = Configuration(
        title=title,
        family=processor.family,
        backend=_chosen(named or backend),
        keys={**processor.defaults, **settings, **dict.fromkeys(processor.ignores, False)},
    )
    if config.backend is Backend.PIL and not title.endswith("Pil") and not (backend is Backend.PIL and is_of_5):
        if title.endswith("FeatureExtractor") and "do_rescale" not in settings:
            _check_oldest(config)
        _check_release(config, stem, processor.stable)
    return config


def _check_is_of_images(settings: Mapping[str, object]) -> None:
    """Raise ReadError for the configuration of a model, which is often taken for that of its images."""
    if {"architectures", "model_type"} & settings.keys() and not settings.keys() & _COMMON:
        problem = "is the configuration of a model (config.json), which says nothing about its images"
        raise ReadError(f"{problem}; expected the preprocessor_config.json beside it")


def _of_null(document: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, bool]:
    """Return the switches that null turns off, although they are on by default. Raises SpecError for other keys."""
    nulls = [key for key, value in document.items() if value is None and defaults.get(key) not in (None, False)]
    for key in nulls:
        if defaults[key] is not True:
            raise SpecError(f"{key} is null, which is not its default; expected a value, or no such key")
    return dict.fromkeys(nulls, False)


def _check_own_code(auto_map: object) -> None:
    """Raise ReadError if ``auto_map`` names code beside the model, which may process images in any way."""
    if not isinstance(auto_map, Mapping | None):
        raise ReadError(f"auto_map is {str(auto_map)[:40]!r}; expected an object")
    names = sorted(_OWN_CODE & set(auto_map or ()))
    if names:
        problem = f"auto_map names {names[0]}, code of the model's own, which may differ from the class"
        raise ReadError(f"{problem}; remove it if you load the class of transformers")


def _check_oldest(config: Configuration) -> None:
    """Raise SpecError for values of files before ``do_rescale``.

    CLIP rounded the start of its crop up, and pixels that were not normalised were not rescaled either. Sources:
    transformers 4.16.0, ``image_utils`` and ``feature_extraction_clip``; 4.27.4 and 5.23.0 rescale, and round down.
    """
    is_cropped = config.title.startswith("CLIP") and config.is_on("do_center_crop")
    switch = "do_center_crop" if is_cropped else "do_normalize"
    if is_cropped or not config.is_on(switch):
        stem = config.title.removesuffix("FeatureExtractor")
        problem = f"{switch} of {config.title} without do_rescale, which transformers 4.16 treats differently from 4.27"
        remedy = f"set image_processor_type to {stem}ImageProcessorPil for 4.27 and later"
        raise SpecError(f"{problem}; {remedy}; or, for transformers 5, {_CHOICE}")


def _check_release(config: Configuration, stem: str, stable: Mapping[str, object]) -> None:
    """Raise SpecError for a value that transformers 4 and 5 treat differently: a file does not name its release."""
    sides = named_sides(config) if config.is_on("do_resize") else {}
    is_swapped = stem == "Blip" and len(set(map(repr, sides.values()))) > 1
    is_limited = sides.keys() == {"shortest_edge", "longest_edge"}  # older ones round the shorter side first
    sizes = ["size"] * (is_swapped or is_limited)
    for key in [*(key for key, value in stable.items() if config.keys.get(key) != value), *sizes]:
        problem = f"{key} of {config.title} is {config.keys[key]!r}, which transformers 4 and 5 treat differently"
        raise SpecError(f"{problem}; for transformers 5, {_CHOICE}")


def _without_class(settings: Mapping[str, object], backend: Backend | None) -> Configuration:
    """Return a configuration without a class, for which no defaults are known."""
    _check_own_code(settings.get("auto_map"))
    _check_keys(settings, _COMMON)
    missing = [key for key in _REQUIRED if key not in settings]
    needs = {"do_resize": ("size", "resample"), "do_rescale": ("rescale_factor",), "do_center_crop": ("crop_size",)}
    for switch, keys in (*needs.items(), ("do_normalize", ("image_mean", "image_std"))):
        missing += [key for key in keys if settings.get(switch) and key not in settings]
    if missing:
        problem = f"neither image_processor_type nor {', '.join(missing)}"
        raise ReadError(f"{problem}: defaults depend on the class; add the missing keys")
    return Configuration(
        title="image processor",
        family=Family.PLAIN,
        backend=_chosen(backend),
        keys={"do_center_crop": False, **settings},
    )


def _check_keys(settings: Mapping[str, object], known: set[str]) -> None:
    unknown = sorted(settings.keys() - known - _COMMON - _WITHOUT_EFFECT)
    unknown = [key for key in unknown if settings[key] not in _WITHOUT_EFFECT_AT.get(key, ())]
    if unknown:
        raise ReadError(f"unknown key {unknown[0]!r}, which may change the image; remove it only if it does not")


def _backend_of(title: str, settings: Mapping[str, object]) -> Backend | None:
    if title.endswith("Fast") or settings.get("use_fast") is True:
        return Backend.TORCHVISION
    return Backend.PIL if title.endswith(("Pil", "FeatureExtractor")) else None


_CHOICE = "choose --backend pil or torchvision, or end the name in :pil or :torchvision"  # where no option has it


def _chosen(backend: Backend | None) -> Backend:
    if backend is None:
        reason = "transformers 4 resized with Pillow unless use_fast was set, transformers 5 resizes with torchvision"
        raise SpecError(f"the backend is unknown: {reason}; {_CHOICE}")
    return backend
