"""Compare pipelines with the libraries that define them, and with their own nodes in onnxruntime.

``python -m tests.sweeps.pipelines --cases 200 --seed 5`` draws configurations of every supported class of transformers
(both backends), of timm, torchvision (v1, v2, presets, printed text) and Ultralytics, and images of 4 to 90 pixels a
side. The array of each pipeline must have the library's bits, and its nodes the pipeline's values within a bound. A
library that is not installed is left out. ``--golden`` writes the digests of tests/pipelines/golden.json anew. Exits
with 1 where any differ.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

import ir_interp
from ir_interp import Backend, IrInterpError, Pipeline
from ir_interp.pipelines import source_code, torchvision_transforms
from ir_interp.pipelines.huggingface_classes import PROCESSORS
from ir_interp.pipelines.pipeline_source import of_mapping, of_object
from ir_interp.pipelines.torchvision_transforms import read_text
from tests.pipelines.key_effects import title
from tests.pipelines.test_golden_pipelines import ROWS, drawn
from tests.preprocess.test_preprocess import identity

Array = NDArray[Any]
_GOLDEN = Path(__file__).parents[1] / "pipelines" / "golden.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A configuration: the pipeline that is read from it, and what its library makes of an image."""

    kind: str
    text: str
    read: Callable[[], Pipeline]
    run: Callable[[Array], Any]


def module(name: str) -> ModuleType | None:
    """Return a package, None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def processor_class(name: str, backend: Backend) -> Any:
    """Return the class of transformers that a name and a backend stand for, None where there is none."""
    return getattr(module("transformers"), title(name, backend), None)


def _run_processor(cls: Any, config: dict[str, Any]) -> Callable[[Array], Any]:
    def run(x: Array) -> Any:
        return cls(**config)(Image.fromarray(x), return_tensors=None)["pixel_values"][0]

    return run


_SIZES: dict[tuple[str, ...], Callable[[random.Random], Any]] = {
    ("height", "width"): lambda draw: {"height": draw.randint(5, 60), "width": draw.randint(5, 60)},
    ("shortest_edge",): lambda draw: {"shortest_edge": draw.randint(5, 60)},
    ("shortest_edge", "longest_edge"): lambda draw: {
        "shortest_edge": (side := draw.randint(5, 60)),
        "longest_edge": side + draw.randint(1, 60),
    },
    ("max_height", "max_width"): lambda draw: {"max_height": draw.randint(5, 60), "max_width": draw.randint(5, 60)},
    ("longest_edge",): lambda draw: {"longest_edge": draw.randint(5, 60)},
    (): lambda draw: draw.randint(5, 60),
}
_OPTIONAL: dict[str, Callable[[random.Random], Any]] = {
    "do_resize": lambda draw: draw.random() < 0.8,
    "do_center_crop": lambda draw: draw.random() < 0.6,
    "do_rescale": lambda draw: draw.random() < 0.6,
    "do_normalize": lambda draw: draw.random() < 0.6,
    "resample": lambda draw: draw.randint(0, 5),
    "rescale_factor": lambda draw: draw.choice([1 / 255, 1 / 127.5, 1 / 128]),
    "image_mean": lambda draw: [draw.random() for _ in range(3)],
    "image_std": lambda draw: [draw.random() + 0.1 for _ in range(3)],
    "crop_size": lambda draw: draw.choice([draw.randint(5, 60), {"height": draw.randint(5, 60), "width": 20}]),
}
_OF_CLASS: dict[str, Callable[[random.Random], Any]] = {
    "crop_pct": lambda draw: draw.choice([0.5, 0.875, 0.9, 0.95]),
    "include_top": lambda draw: draw.random() < 0.5,
    "rescale_offset": lambda draw: draw.random() < 0.5,
    "max_size": lambda draw: draw.randint(20, 90),
    "size_divisor": lambda draw: draw.choice([4, 8, 32]),
    "keep_aspect_ratio": lambda draw: draw.random() < 0.5,
    "ensure_multiple_of": lambda draw: draw.choice([1, 2, 4, 8]),
    "do_flip_channel_order": lambda draw: draw.random() < 0.5,
}


def processors(draw: random.Random) -> Iterator[Case]:
    """Yield a configuration of each class of transformers, for both backends."""
    for name, processor in PROCESSORS.items():
        for backend in Backend:
            cls = processor_class(name, backend)
            if cls is None:
                continue
            own = processor.defaults
            keys = draw.choice(list(_SIZES)) if draw.random() < 0.3 else tuple(own["size"])
            config: dict[str, Any] = {"size": _SIZES[keys](draw)}
            config |= {key: make(draw) for key, make in _OPTIONAL.items() if draw.random() < 0.3}
            config |= {key: make(draw) for key, make in _OF_CLASS.items() if key in own and draw.random() < 0.7}
            if "crop_size" in own and "crop_size" not in config:
                config["crop_size"] = draw.randint(5, 60)
            if "pad_size" in own or draw.random() < 0.1:
                config |= {"do_pad": True, "pad_size": {"height": 130, "width": draw.randint(90, 130)}}
            ocr = {"apply_ocr": False} if name.startswith("LayoutLM") else {}
            document = {"image_processor_type": title(name, backend), **config}
            yield Case(
                kind=f"transformers, {backend.value}",
                text=json.dumps(document),
                read=lambda document=document, backend=backend: of_mapping(document, backend),  # type: ignore[misc]
                run=_run_processor(cls, config | ocr),
            )


def timm_models(draw: random.Random) -> Iterator[Case]:
    """Yield configurations of timm."""
    data = module("timm.data")
    if data is None:
        return
    height, square = draw.randint(5, 60), draw.random() < 0.6
    config: dict[str, Any] = {
        "input_size": [3, height, height if square else draw.randint(5, 60)],
        "interpolation": draw.choice(torchvision_transforms.FILTERS),
        "crop_pct": draw.choice([0.7, 0.875, 0.9, 0.95, 1.0, 1.2]),
        "crop_mode": draw.choice(torchvision_transforms.MODES),
        "mean": [draw.random() for _ in range(3)],
        "std": [draw.random() + 0.1 for _ in range(3)],
    }

    def run(x: Array) -> Any:
        transform = data.create_transform(**data.resolve_data_config(pretrained_cfg=config))
        return transform(Image.fromarray(x)).numpy()

    yield Case(kind="timm", text=json.dumps(config), read=lambda: of_mapping(config, None), run=run)


def transforms(draw: random.Random) -> Iterator[Case]:
    """Yield transforms of torchvision: objects and their text, v1 and v2, on images of Pillow and on tensors."""
    torch, v1, v2 = module("torch"), module("torchvision.transforms"), module("torchvision.transforms.v2")
    if torch is None or v1 is None or v2 is None:
        return
    own = draw.choice([v1, v2])
    side = draw.randint(5, 60)
    size = draw.choice([side, [side], (side, draw.randint(5, 60))])
    longest = None if isinstance(size, tuple) or draw.random() < 0.7 else side + draw.randint(1, 40)
    modes = [mode for mode in v1.InterpolationMode if mode.value not in ("box", "hamming")]
    antialias = draw.choice([True, False, None])
    resize = own.Resize(size, interpolation=draw.choice(modes), antialias=antialias, max_size=longest)
    crop = [own.CenterCrop(draw.choice([side, (side, 20)]))] if draw.random() < 0.7 else []
    normalize = own.Normalize([draw.random()] * 3, [draw.random() + 0.1] * 3)
    steps = draw.choice(
        [
            [resize, *crop, own.ToTensor(), normalize],
            [v2.ToImage(), resize, *crop, v2.ToDtype(torch.float32, scale=True), normalize],
            [own.PILToTensor(), resize, *crop, own.ConvertImageDtype(torch.float32), normalize],
        ]
    )
    if draw.random() < 0.2:  # a conversion or Normalize too many, or at another place
        extra = [v2.ToImage(), own.ToTensor(), v2.ToDtype(torch.float32, scale=True), normalize]
        steps.insert(draw.randint(0, len(steps)), draw.choice(extra))
    composed = own.Compose(steps)

    def run(x: Array) -> Any:
        return composed(Image.fromarray(x)).numpy()

    yield Case(kind="torchvision", text=repr(composed), read=lambda: of_object(composed, None), run=run)
    typed = repr(composed).replace("ToDtype(", "ToDtype(dtype=torch.float32, ")
    yield Case(kind="torchvision, text", text=typed, read=lambda: read_text(typed), run=run)
    if not antialias:  # the default of 0.15 and 0.16
        warned = typed.replace(f"antialias={antialias}", "antialias=warn")
        yield Case(kind="torchvision 0.16, text", text=warned, read=lambda: read_text(warned), run=run)


def ultralytics_models(draw: random.Random) -> Iterator[Case]:
    """Yield models of Ultralytics."""
    augment, torch = module("ultralytics.data.augment"), module("torch")
    if augment is None or torch is None:
        return
    from ir_interp.pipelines import pipeline_source

    height, width = draw.randint(5, 60), draw.randint(5, 60)
    task = draw.choice(["detect", "classify"])
    size = [height, draw.choice([height, width])]
    head = draw.choice(["Detect", "RTDETRDecoder"])
    metadata = {"task": task, "imgsz": str(size), "stride": "32", "head": head}

    def run(x: Array) -> Any:
        if task == "classify":
            return augment.classify_transforms(size)(Image.fromarray(x)).numpy()
        box = augment.LetterBox(tuple(size), auto=False, stride=32, scale_fill=head == "RTDETRDecoder")
        y = box(image=np.ascontiguousarray(x[..., ::-1]))
        return (torch.from_numpy(np.ascontiguousarray(y[..., ::-1].transpose(2, 0, 1))).float() / 255).numpy()

    yield Case(
        kind="ultralytics", text=json.dumps(metadata), read=lambda: pipeline_source.read_ultralytics(metadata), run=run
    )


def outcome(case: Case, x: Array, source: Path) -> tuple[str, str]:
    """Return a word for what came of a case, and more about it where it is wrong."""
    expected: Any
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.asarray(case.run(x))
    except Exception as error:
        expected = error
    try:
        pipeline = case.read()
        y = pipeline(x)
    except IrInterpError as error:
        return ("refused by both", "") if isinstance(expected, Exception) else ("refused", str(error))
    if isinstance(expected, Exception):
        return "refused by the library only", str(expected)
    if y.shape != expected.shape or not np.array_equal(y, expected):
        return "WRONG", f"{y.shape} and {expected.shape}"
    names: dict[str, Any] = {}
    exec(source_code.numpy(pipeline), names)
    if not np.array_equal(names["preprocess"](x), y):
        return "WRONG in source code", source_code.numpy(pipeline)
    if not of_torch(pipeline, x, y):
        return "WRONG in torch", source_code.torch(pipeline)
    return of_nodes(pipeline, x, y, source)


def of_torch(pipeline: Pipeline, x: Array, y: Array) -> bool:
    """Say whether the source code of torch has the same bits, where there is one."""
    torch = module("torch")
    if torch is None or not all(call.like.startswith("torchvision") for call in pipeline.calls):
        return True
    names: dict[str, Any] = {}
    exec(source_code.torch(pipeline), names)
    result = names["preprocess"](torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))).numpy()
    return np.array_equal(result, y)


def of_nodes(pipeline: Pipeline, x: Array, y: Array, source: Path) -> tuple[str, str]:
    """Return how the nodes of a pipeline compare with it, for any size and for the size of the image."""
    whole, words = source.with_name("whole.onnx"), []
    for size in (None, (x.shape[0], x.shape[1])):
        try:
            ir_interp.preprocess(source, whole, pipeline=pipeline, image_size=size)
        except IrInterpError as error:
            words.append(f"no nodes ({str(error)[:40]})")
            continue
        try:
            session = onnxruntime.InferenceSession(whole, providers=["CPUExecutionProvider"])
            (result,) = session.run(None, {"image": x})
        except Exception as error:
            return "WRONG in nodes", f"size {size}: {error}"
        largest = 255 * max(1.0, float(np.abs(y).max()))
        if result[0].shape != y.shape or np.abs(result[0] - y.astype(np.float32)).max() > 8 * 2.0**-24 * largest:
            return "WRONG in nodes", f"size {size}, {result[0].shape}"
    return "equal" if not words else "equal, not all as nodes", "; ".join(words)


def golden() -> None:
    """Write the digests of the libraries anew, for the configurations that are there."""
    lines = []
    for row in ROWS:
        config, x = dict(row["config"]), drawn(*row["shape"])
        name = config.pop("image_processor_type", "").removesuffix("Pil").removesuffix("ImageProcessor")
        if name:
            y = _run_processor(processor_class(name, Backend(row["backend"])), config)(x)
        else:
            data = importlib.import_module("timm.data")
            y = data.create_transform(**data.resolve_data_config(pretrained_cfg=config))(Image.fromarray(x)).numpy()
        values = np.ascontiguousarray(y, np.float32)
        digest = hashlib.sha256(values.tobytes()).hexdigest()[:16]
        lines.append("  " + json.dumps(row | {"output": list(values.shape), "sha256": digest}))
    _GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50, help="of each class and library")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--golden", action="store_true")
    asked = parser.parse_args()
    if asked.golden:
        golden()
        return 0
    draw, rng = random.Random(asked.seed), np.random.default_rng(asked.seed)
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        source = identity(Path(folder) / "a.onnx", "n", 3, "h", "w")
        for _ in range(asked.cases):
            for make in (processors, timm_models, *[transforms] * 5, ultralytics_models):
                for case in make(draw):
                    height, width = (int(length) for length in rng.integers(4, 90, 2))
                    word, more = outcome(case, rng.integers(0, 256, (height, width, 3), np.uint8), source)
                    counts[case.kind, word] += 1
                    if word.startswith("WRONG"):
                        print(f"{word}: {case.kind}, {height}x{width}: {case.text}: {more}", flush=True)
    for (kind, word), count in sorted(counts.items()):
        print(f"{kind}: {word}: {count}")
    return int(any(word.startswith("WRONG") for _, word in counts))


if __name__ == "__main__":
    sys.exit(main())
