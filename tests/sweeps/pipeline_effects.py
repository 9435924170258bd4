"""Every key of every image processor of Hugging Face: it changes the image as transformers does, or it is refused.

``python -m tests.sweeps.pipeline_effects`` gives each class, for both backends, other values of each key, beside none,
a crop and padding, and images with alpha. The pipeline must have the bits of transformers, or refuse the configuration.
Every class of transformers must be read, or refused with a reason.
timm's configurations must have no key that is refused. What each key does goes to tests/pipelines/effects.json with
``--write``, which tests/pipelines/test_key_effects.py checks. ``--classes 0:10`` takes some of the classes. Exits with
1 where a pipeline differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ir_interp import Backend, IrInterpError
from ir_interp.pipelines import torchvision_transforms
from ir_interp.pipelines.huggingface_classes import PROCESSORS, REASONS
from tests.pipelines.key_effects import Config, Trial, base, effects, keys_of, read, trials
from tests.sweeps.pipelines import module, processor_class

Array = NDArray[Any]
OF_CALLS = {
    "return_tensors", "input_data_format", "device", "format", "ocr_lang", "tesseract_config", "image_seq_length",
    "ignore_index", "num_labels",
}  # fmt: skip
"""Keys that are not about pixels: they stand in no configuration, or are about texts and labels."""
PATH = Path(__file__).parents[1] / "pipelines" / "effects.json"


def by_library(name: str, config: Config, backend: Backend, x: Array) -> Array | None:
    """Return what transformers makes of an image, None where it refuses."""
    cls = processor_class(name, backend)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(cls(**config)(Image.fromarray(x), return_tensors=None)["pixel_values"][0])
    except Exception:
        return None


def outcome(trial: Trial, backend: Backend, x: Array, expected: Array | None) -> str:
    """Return a word for what came of a trial."""
    pipeline = read(trial.name, trial.after, backend)
    try:
        y = pipeline(x) if pipeline else None
    except IrInterpError:
        y = None
    if y is None:
        return "refused" if expected is not None else "refused by both"
    if expected is None:
        return "refused by the library only"
    return "equal" if y.shape == expected.shape and np.array_equal(y, expected) else "WRONG"


def unlisted(name: str, backend: Backend) -> list[str]:
    """Return the keys of a class of transformers that are not tried, and that a configuration may hold unrefused."""
    cls = processor_class(name, backend)
    valid = cls.valid_kwargs.__annotations__ if cls else {}
    untried = sorted(valid.keys() - set(keys_of(name)) - OF_CALLS)
    return [key for key in untried if read(name, {key: 1}, backend) is not None]


def of_alpha(name: str) -> Iterator[tuple[str, Config]]:
    """Yield what came of an image with alpha for configurations of a class."""
    x = np.random.default_rng(0).integers(0, 256, (37, 52, 4), np.uint8)
    x[:9, :, 3], x[9:18, :, 3] = 0, 255
    for changed in ({}, {"do_convert_rgb": True}, {"do_convert_rgb": False}, {"do_normalize": False}):
        trial = Trial(name=name, key="do_convert_rgb", before={}, after={**base(name), **changed})
        for backend in Backend:
            expected = by_library(name, trial.after, backend, x)
            word = outcome(trial, backend, x, expected)
            is_wrong = word == "refused by the library only" or (word == "equal" and expected is None)
            yield "WRONG" if is_wrong else word, trial.after


def unsorted_classes() -> list[str]:
    """Return the image processors of transformers that are neither read nor refused with a reason."""
    transformers = module("transformers")
    titles = (name.removesuffix("ImageProcessor") for name in dir(transformers) if name.endswith("ImageProcessor"))
    others = {"", "Auto", "Base", "Glm"}  # GlmImage's processor of texts and images ends so
    return [name for name in titles if name not in {*PROCESSORS, *REASONS, *others}]


def untried_of_timm() -> list[str]:
    """Return the keys of timm's configurations that are refused."""
    pretrained = module("timm.models._pretrained")
    if pretrained is None:
        return []
    names = [field.name for field in fields(pretrained.PretrainedCfg)]
    return [name for name in names if name not in torchvision_transforms.KEYS]


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", default=":", help="a slice of the classes")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    first, last = (int(bound) if bound else None for bound in asked.classes.split(":"))
    x = np.random.default_rng(0).integers(0, 256, (37, 52, 3), np.uint8)
    counts: Counter[str] = Counter()
    for name in list(PROCESSORS)[first:last]:
        for trial in trials(name):
            for backend in Backend:
                word = outcome(trial, backend, x, by_library(name, trial.after, backend, x))
                counts[word] += 1
                if word == "WRONG":
                    print(f"{word}: {name}, {backend.value}, {trial.key}: {json.dumps(trial.after)}", flush=True)
        for key in dict.fromkeys(key for backend in Backend for key in unlisted(name, backend)):
            counts["WRONG"] += 1
            print(f"WRONG: {name}: {key} is neither tried nor refused", flush=True)
        for word, config in of_alpha(name):
            counts[word] += 1
            if word == "WRONG":
                print(f"{word}: {name} with alpha: {json.dumps(config)}", flush=True)
    problems = [f"timm: {key} is refused" for key in untried_of_timm()]
    problems += [f"{name} is neither read nor refused with a reason" for name in unsorted_classes()]
    counts["WRONG"] += len(problems)
    print(*(f"WRONG: {problem}" for problem in problems), dict(counts), sep="\n")
    if asked.write:
        table = {name: effects(name) for name in PROCESSORS}
        PATH.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return int(bool(counts["WRONG"]))


if __name__ == "__main__":
    sys.exit(main())
