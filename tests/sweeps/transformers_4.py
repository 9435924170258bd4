"""Files that transformers 4 writes: the pipeline has the bits of the class that wrote one, or the file is refused.

``python -m tests.sweeps.transformers_4`` runs in an environment with a transformers 4 (4.16.0 is the oldest that
installs on Python 3.11). It saves the defaults of each class and other filters and statistics, and compares both on
images that no crop exceeds, two of them so long that a limit of the longer side applies. Exits with 1 where any differ.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from PIL import Image

from ir_interp import Backend, IrInterpError
from ir_interp.pipelines.huggingface_classes import PROCESSORS
from ir_interp.pipelines.pipeline_source import of_mapping

SHAPES = ((600, 701), (301, 901), (901, 301))
SUFFIXES = ("ImageProcessor", "FeatureExtractor")
CHANGES: tuple[dict[str, Any], ...] = (
    {}, {"resample": 0}, {"resample": 2}, {"resample": 3}, {"do_normalize": False}, {"rescale_factor": 1 / 127.5},
    {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}, {"do_center_crop": True}, {"do_center_crop": False},
    {"keep_aspect_ratio": True}, {"ensure_multiple_of": 32}, {"rescale_offset": True}, {"include_top": False},
    {"size": {"height": 240, "width": 320}}, {"do_flip_channel_order": False}, {"size_divisor": 16},
)  # fmt: skip


def outcome(cls: Any, changes: dict[str, Any], x: Any) -> str:
    """Return a word for what came of a file of a class on an image."""
    try:
        if not changes.keys() <= cls().to_dict().keys():
            return "without this key"
        processor = cls(**changes)
        expected = np.asarray(processor(Image.fromarray(x), return_tensors=None)["pixel_values"][0])
    except Exception:  # text recognition without its program, a size of another form
        return "refused by the library"
    try:
        y = of_mapping(json.loads(processor.to_json_string()), Backend.PIL)(x)
    except IrInterpError:
        return "refused"
    return "equal" if np.array_equal(expected.astype(np.float32), y) else f"WRONG on {x.shape[:2]}"


def main() -> int:
    """Run the sweep."""
    transformers = importlib.import_module("transformers")
    warnings.simplefilter("ignore")
    rng, counts = np.random.default_rng(0), Counter[str]()
    images = [rng.integers(0, 256, (*shape, 3), np.uint8) for shape in SHAPES]
    for name in PROCESSORS:
        for suffix in SUFFIXES:
            cls = getattr(transformers, name + suffix, None)
            for changes, x in product(CHANGES if cls else (), images):
                word = outcome(cls, changes, x)
                counts[word] += 1
                if word.startswith(("WRONG", "refused")) and word != "refused by the library":
                    print(f"{word}: {name}{suffix}: {json.dumps(changes)}", flush=True)
    print(dict(counts))
    return int(any(word.startswith("WRONG") for word in counts))


if __name__ == "__main__":
    sys.exit(main())
