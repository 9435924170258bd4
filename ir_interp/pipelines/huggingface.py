"""Pipelines of Hugging Face's ``preprocessor_config.json``, as its class reads it.

Sources: transformers 5.23, ``image_processing_backends`` (the order of the steps and their arithmetic, for either
backend), ``image_transforms`` (rules of sizes) and the classes in ``huggingface_classes``. An unlisted key is refused,
since it may change the image.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ir_interp.errors import ReadError, SpecError, likely
from ir_interp.pipelines.alpha import AlphaRule
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.huggingface_classes import PROCESSORS, Family
from ir_interp.pipelines.huggingface_refusals import REASONS
from ir_interp.pipelines.huggingface_steps import Configuration, named_sides, steps_of
from ir_interp.pipelines.pipeline import Pipeline

_WITHOUT_EFFECT = {
    "image_processor_type", "feature_extractor_type", "processor_class", "auto_map", "_valid_processor_keys",
    "do_convert_rgb", "return_tensors", "input_data_format", "device", "disable_grouping", "image_seq_length",
    "do_reduce_labels", "reduce_labels", "do_convert_annotations", "format", "num_labels", "ignore_index",
    "apply_ocr", "ocr_lang", "tesseract_config", "mask_size", "mask_pad_size", "use_fast",
}  # fmt: skip
"""Keys that do not change an RGB image: about files, labels, texts and masks."""
_WITHOUT_EFFECT_AT: Mapping[str, tuple[Any, ...]] = {
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


def read(document: Mapping[str, Any], backend: Backend | None) -> Pipeline:
    """Return the pipeline of a configuration.

    ``backend`` is required if the class does not determine it: transformers 4 used Pillow unless ``use_fast`` was set,
    transformers 5 uses torchvision. Raises ReadError for an unknown class or key, and SpecError for a value.
    """
    config = _configuration(_of_images(document), backend)
    name = f"{config.title} ({config.backend.value} backend)"
    return Pipeline(steps=tuple(steps_of(config)), name=name, alpha=_alpha(config))


def _of_images(document: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _configuration(document: Mapping[str, Any], backend: Backend | None) -> Configuration:
    settings = {key: value for key, value in document.items() if value is not None}
    title = next((settings[key] for key in _TITLES if settings.get(key)), None)
    if title is None:
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
    if title.endswith("FeatureExtractor") and "do_rescale" not in settings:
        _check_oldest(config)
    if config.backend is Backend.PIL and not title.endswith("Pil"):
        _check_release(config, stem, processor.stable)
    return config


def _of_null(document: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, bool]:
    """Return the switches that null turns off, although they are on by default. Raises SpecError for other keys."""
    nulls = [key for key, value in document.items() if value is None and defaults.get(key) not in (None, False)]
    for key in nulls:
        if defaults[key] is not True:
            raise SpecError(f"{key} is null, which is not its default; expected a value, or no such key")
    return dict.fromkeys(nulls, False)


def _check_own_code(auto_map: Any) -> None:
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
        raise SpecError(f"{problem}; {remedy}, or choose --backend torchvision for the default of transformers 5")


def _check_release(config: Configuration, stem: str, stable: Mapping[str, Any]) -> None:
    """Raise SpecError for a value that transformers 4 and 5 treat differently: a file does not name its release."""
    sides = named_sides(config) if config.is_on("do_resize") else {}
    is_swapped = stem == "Blip" and len(set(map(repr, sides.values()))) > 1
    is_limited = sides.keys() == {"shortest_edge", "longest_edge"}  # older ones round the shorter side first
    sizes = ["size"] * (is_swapped or is_limited)
    for key in [*(key for key, value in stable.items() if config.keys.get(key) != value), *sizes]:
        problem = f"{key} of {config.title} is {config.keys[key]!r}, which transformers 4 and 5 treat differently"
        raise SpecError(f"{problem}; for transformers 5, name the class {stem}ImageProcessorPil")


def _without_class(settings: Mapping[str, Any], backend: Backend | None) -> Configuration:
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


def _check_keys(settings: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(settings.keys() - known - _COMMON - _WITHOUT_EFFECT)
    unknown = [key for key in unknown if settings[key] not in _WITHOUT_EFFECT_AT.get(key, ())]
    if unknown:
        raise ReadError(f"unknown key {unknown[0]!r}, which may change the image; remove it only if it does not")


def _backend_of(title: str, settings: Mapping[str, Any]) -> Backend | None:
    if title.endswith("Fast") or settings.get("use_fast") is True:
        return Backend.TORCHVISION
    return Backend.PIL if title.endswith(("Pil", "FeatureExtractor")) else None


def _chosen(backend: Backend | None) -> Backend:
    if backend is None:
        reason = "transformers 4 resized with Pillow unless use_fast was set, transformers 5 resizes with torchvision"
        raise SpecError(f"the backend is unknown: {reason}; choose --backend pil or torchvision")
    return backend
