"""Configurations of popular models on photos: the library's own output, in NumPy, onnxruntime and OpenVINO.

``python -m tests.sweeps.pipelines_on_photos READER [FOLDER]`` takes at least 20 configurations of a reader
(huggingface, timm, torchvision, transforms, ultralytics) and 10 photos of odd sizes, from a folder or made up. NumPy
must have the bits of the library. The pixels before the first float must be equal in onnxruntime and in OpenVINO with
its default precision, for images of any size, else (a rule that needs it) for the size of each of two photos.
``resizes`` takes every .jpg of the folder through single resizes in IRs of any size. ``openvino`` reads 20 heads of a
PrePostProcessor, which NumPy and, where there are nodes, onnxruntime must compute as OpenVINO does. ``logits`` compares
a torchvision classifier with random weights behind its own transforms and behind ``preprocess``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import openvino as ov
from numpy.typing import NDArray
from openvino.preprocess import ResizeAlgorithm
from PIL import Image

import ir_interp
from ir_interp import Backend, InexactError, Pipeline
from ir_interp.pipelines.openvino_steps import Scale
from ir_interp.pipelines.output_size import Exactly
from ir_interp.pipelines.pipeline_source import of_mapping, of_object
from ir_interp.pipelines.steps import Normalise, Rescale, Resize
from ir_interp.pipelines.torchvision_transforms import read_text
from tests.pipelines.key_effects import title
from tests.pipelines.test_openvino_preprocessor import SIZE, by, saved
from tests.preprocess.test_preprocess import identity
from tests.sweeps.pipelines import module, processor_class

Array = NDArray[Any]
Config = dict[str, Any]
Case = tuple[str, Pipeline, Callable[[Array], Any]]
"""A name, the pipeline that is read, and the library's own."""
preprocess = partial(ir_interp.preprocess, verify=False)
SHAPES = (
    (481, 641), (333, 500), (500, 333), (1023, 767), (241, 1281), (1281, 241), (97, 131), (719, 1279), (427, 640),
    (640, 427),
)  # fmt: skip
_IMAGENET: Config = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
HUGGING_FACE: tuple[tuple[str, Config], ...] = (
    ("ViT", {"size": {"height": 224, "width": 224}, "resample": 2}),  # ViT-Base
    ("ViT", {"size": {"height": 384, "width": 384}, "resample": 2}),
    ("ViT", {"size": {"height": 256, "width": 256}, "resample": 3, **_IMAGENET}),  # Swin V2
    ("CLIP", {"size": {"shortest_edge": 224}, "crop_size": 224}),
    ("CLIP", {"size": {"shortest_edge": 336}, "crop_size": {"height": 336, "width": 336}}),
    ("Bit", {"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}, **_IMAGENET}),  # DINOv2
    ("ConvNext", {"size": {"shortest_edge": 224}, "crop_pct": 0.875, **_IMAGENET}),
    ("ConvNext", {"size": {"shortest_edge": 384}, **_IMAGENET}),
    ("DeiT", {**_IMAGENET}),
    ("Beit", {}),
    ("Siglip", {"size": {"height": 224, "width": 224}}),
    ("Segformer", {"size": {"height": 512, "width": 512}}),
    ("Levit", {}),
    ("MobileNetV2", {}),
    ("MobileViT", {"size": {"shortest_edge": 288}, "crop_size": {"height": 256, "width": 256}}),
    ("PoolFormer", {}),
    ("EfficientNet", {"size": {"height": 224, "width": 224}, "resample": 0, "include_top": True}),
    ("Detr", {"size": {"shortest_edge": 800, "longest_edge": 1333}}),
    ("RTDetr", {}),
    ("GLPN", {}),
    ("MaskFormer", {"size": {"shortest_edge": 480, "longest_edge": 640}}),
    ("TextNet", {}),
    ("Mask2Former", {"size": {"shortest_edge": 384, "longest_edge": 512}, "size_divisor": 16}),
    ("DPT", {"size": {"height": 240, "width": 368}, "ensure_multiple_of": 32}),
)
TIMM: tuple[Config, ...] = tuple(
    {
        "input_size": [3, size, size], "crop_pct": share, "interpolation": filter_, "crop_mode": mode,
        "mean": _IMAGENET["image_mean"], "std": _IMAGENET["image_std"],
    }
    for size, share, filter_, mode in (
        (224, 0.875, "bilinear", "center"), (224, 0.95, "bicubic", "center"), (288, 1.0, "bicubic", "center"),
        (224, 0.9, "bicubic", "center"), (384, 1.0, "bicubic", "squash"), (448, 1.0, "bicubic", "squash"),
        (256, 0.94, "bicubic", "center"), (240, 0.882, "bicubic", "center"), (300, 0.904, "bicubic", "center"),
        (336, 1.0, "bicubic", "center"), (518, 1.0, "bicubic", "center"), (192, 0.9, "bilinear", "border"),
        (224, 0.96, "bicubic", "border"), (299, 0.875, "bicubic", "center"), (331, 0.911, "bicubic", "center"),
        (160, 0.875, "lanczos", "center"), (224, 0.875, "nearest", "center"), (256, 1.0, "bicubic", "center"),
        (380, 0.922, "bicubic", "center"), (600, 0.949, "bicubic", "center"),
    )
)  # fmt: skip


def photos(folder: Path | None) -> list[Array]:
    """Return photos cut to odd sizes; without a folder, smooth colours with noise and edges."""
    files = (
        sorted(path for path in folder.iterdir() if path.suffix.lower() in (".jpg", ".jpeg", ".png")) if folder else []
    )
    images = []
    for place, (height, width) in enumerate(SHAPES):
        if files:
            with Image.open(files[place % len(files)]) as opened:
                image = opened.convert("RGB")
            scale = max(height / image.height, width / image.width, 1.0)
            image = image.resize((int(image.width * scale + 1), int(image.height * scale + 1)))
            images.append(np.asarray(image)[:height, :width].copy())
            continue
        rng, (rows, columns) = np.random.default_rng(place), np.mgrid[0:height, 0:width]
        waves = [127 + 110 * np.sin(rows / (7 + 9 * c) + columns / (31 - 8 * c)) for c in range(3)]
        image = (
            np.stack(waves, 2)
            + rng.normal(0, 12, (height, width, 3))
            + 60 * ((rows // 40 + columns // 50) % 2)[..., None]
        )
        images.append(np.clip(image, 0, 255).astype(np.uint8))
    return images


def huggingface() -> Iterator[Case]:
    """Yield image processors, their backends in turn."""
    for place, (name, config) in enumerate(HUGGING_FACE):
        backend = list(Backend)[place % 2]
        cls = processor_class(name, backend)
        pipeline = of_mapping({"image_processor_type": title(name, backend), **config}, backend)
        processor = cls(**config)
        run = lambda x, processor=processor: processor(Image.fromarray(x), return_tensors=None)["pixel_values"][0]  # noqa: E731
        yield f"{name} {backend.value}", pipeline, run


def timm() -> Iterator[Case]:
    """Yield evaluations of timm."""
    data = module("timm.data")
    assert data is not None
    for config in TIMM:
        transform = data.create_transform(**data.resolve_data_config(pretrained_cfg=config))
        run = lambda x, transform=transform: transform(Image.fromarray(x)).numpy()  # noqa: E731
        yield f"timm {config['input_size'][1]} {config['crop_pct']}", of_mapping(config, None), run


def torchvision() -> Iterator[Case]:
    """Yield the transforms of classifiers and of segmentation models, on images of Pillow."""
    presets, v1 = module("torchvision.transforms._presets"), module("torchvision.transforms")
    assert presets is not None
    assert v1 is not None
    modes = v1.InterpolationMode
    made = [
        presets.ImageClassification(crop_size=crop, resize_size=resize, interpolation=mode)
        for crop, resize, mode in (
            (224, 256, modes.BILINEAR), (224, 232, modes.BILINEAR), (299, 342, modes.BILINEAR),
            (224, 256, modes.BICUBIC),
            (240, 255, modes.BICUBIC), (288, 288, modes.BICUBIC), (300, 320, modes.BICUBIC), (380, 384, modes.BICUBIC),
            (456, 456, modes.BICUBIC), (528, 528, modes.BICUBIC), (600, 600, modes.BICUBIC), (480, 480, modes.BILINEAR),
            (384, 384, modes.BICUBIC), (512, 512, modes.BICUBIC), (518, 518, modes.BICUBIC), (224, 236, modes.BICUBIC),
            (224, 246, modes.BICUBIC), (256, 260, modes.BICUBIC),
        )
    ] + [presets.SemanticSegmentation(resize_size=520), presets.SemanticSegmentation(resize_size=256)]  # fmt: skip
    for transform in made:
        run = lambda x, transform=transform: transform(Image.fromarray(x)).numpy()  # noqa: E731
        yield f"torchvision {' '.join(str(transform).split())[:60]}", of_object(transform, Backend.PIL), run


def transforms() -> Iterator[Case]:
    """Yield transforms of torchvision: objects of v2 on tensors, and printed ones of v1 and v2 on images."""
    torch, v1, v2 = module("torch"), module("torchvision.transforms"), module("torchvision.transforms.v2")
    assert torch is not None
    assert v1 is not None
    assert v2 is not None
    modes = v1.InterpolationMode
    for place, (resize, crop, mode) in enumerate(
        (
            (256, 224, modes.BILINEAR), (232, 224, modes.BICUBIC), ([224, 224], 224, modes.BICUBIC),
            (342, 299, modes.BILINEAR), ([384, 320], (300, 310), modes.NEAREST), (518, 518, modes.BICUBIC),
            (64, 96, modes.BILINEAR), (320, 288, modes.NEAREST_EXACT), (246, 224, modes.BICUBIC),
            (472, 448, modes.BILINEAR),
        )
    ):  # fmt: skip
        of_place = (v1, v2)[place % 2]
        (resized, cropped, normalised), steps = (
            (
                kind.Resize(resize, interpolation=mode, antialias=place % 3 > 0),
                kind.CenterCrop(crop),
                kind.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            )
            for kind in (v2, of_place)
        )
        of_tensors = v2.Compose([v2.ToImage(), resized, cropped, v2.ToDtype(torch.float32, scale=True), normalised])
        of_images = of_place.Compose([*steps[:2], of_place.ToTensor(), steps[2]])
        for composed, pipeline in (
            (of_tensors, of_object(of_tensors, None)), (of_images, read_text(repr(of_images))),
        ):  # fmt: skip
            run = lambda x, composed=composed: composed(Image.fromarray(x)).numpy()  # noqa: E731
            yield " ".join(repr(composed).split()), pipeline, run


_EXPORTS = tuple(
    (f"yolo{version}n{task}", size)
    for version in ("v8", "11")
    for task, sizes in (
        ("", [(320, 320), (352, 288), (160, 480), (640, 640)]), ("-seg", [(192, 320), (320, 320)]),
        ("-pose", [(256, 256)]),
        ("-obb", [(288, 320)]), ("-cls", [(224, 224), (192, 320)]),
    )
    for size in sizes
)  # fmt: skip


def ultralytics() -> Iterator[Case]:
    """Yield models of random weights as Ultralytics exports them, with what its predictor feeds them."""
    os.environ |= {"YOLO_OFFLINE": "true", "YOLO_AUTOINSTALL": "false"}
    package = module("ultralytics")
    assert package is not None
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, size in _EXPORTS:
            trained = package.YOLO(f"{name}.yaml")
            path = Path(trained.export(format="onnx", imgsz=size, simplify=False, opset=17))
            model = package.YOLO(path, task=trained.task)
            model.predict(np.zeros((8, 8, 3), np.uint8), verbose=False)

            def run(x: Array, model: Any = model) -> Any:
                return model.predictor.preprocess([np.ascontiguousarray(x[..., ::-1])]).numpy()[0]

            yield f"Ultralytics {name} {size}", ir_interp.pipeline(path), run


def of_pixels(pipeline: Pipeline) -> Pipeline:
    """Return the steps before the first float."""
    floats = [place for place, step in enumerate(pipeline.steps) if isinstance(step, Rescale | Normalise | Scale)]
    return Pipeline(steps=pipeline.steps[: floats[0]] if floats else pipeline.steps)


def opened(path: Path, settings: dict[str, str] | None = None) -> Callable[[Array], Array]:
    """Return what runs a model on an image: OpenVINO with its default precision unless ``settings`` name another."""
    if path.suffix == ".xml":
        compiled = ov.Core().compile_model(path, "CPU", settings or {})
        return lambda x: compiled(x)[0][0]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"image": x})[0][0]


def by_nodes(pipeline: Pipeline, images: list[Array], folder: Path, suffix: str, counts: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with the pixels of a pipeline's nodes, for any size where there are such nodes."""
    source, whole = identity(folder / "a.onnx", "n", 3, "h", "w"), folder / f"whole{suffix}"
    runtime = {".onnx": "onnxruntime", ".xml": "OpenVINO"}[suffix]
    try:
        preprocess(source, whole, pipeline=pipeline)
        run, sized = opened(whole), [(x, False) for x in images]
    except InexactError:
        sized = [(x, True) for x in images[:2]]
    for x, is_static in sized:
        if is_static:
            preprocess(source, whole, pipeline=pipeline, image_size=x.shape[:2])
            run = opened(whole)
        counts[f"{runtime}, {'static' if is_static else 'any'} size"] += 1
        if not np.array_equal(run(x), pipeline(x)):
            yield f"WRONG in {runtime}: {x.shape[:2]}"


def checked(case: Case, images: list[Array], folder: Path, counts: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with a configuration."""
    _, pipeline, run = case
    pixels = of_pixels(pipeline)
    for x in images:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.asarray(run(x))
        counts["NumPy"] += 1
        if not np.array_equal(pipeline(x), expected):
            yield f"WRONG in NumPy: {x.shape[:2]}"
    for suffix in (".onnx", ".xml"):
        yield from by_nodes(pixels, images, folder, suffix, counts)


def logits(images: list[Array], folder: Path) -> float:
    """Return how far the logits of a classifier differ, at most."""
    torch, models, presets = module("torch"), module("torchvision.models"), module("torchvision.transforms._presets")
    assert torch is not None
    assert models is not None
    assert presets is not None
    torch.manual_seed(0)
    model, transform = models.resnet18(weights=None).eval(), presets.ImageClassification(crop_size=224)
    source = folder / "resnet18.onnx"
    torch.onnx.export(model, torch.zeros(1, 3, 224, 224), source, dynamo=False, input_names=["x"])
    pipeline, worst = of_object(transform, Backend.PIL), 0.0
    for suffix in (".onnx", ".xml"):
        whole = folder / f"whole{suffix}"
        preprocess(source, whole, pipeline=pipeline)
        run = opened(whole, {"INFERENCE_PRECISION_HINT": "f32"})
        for x in images:
            with torch.no_grad():
                expected = model(transform(Image.fromarray(x))[None]).numpy()[0]
            worst = max(worst, float(np.abs(run(x) - expected).max()))
        print(f"logits of ResNet-18, random weights, {suffix}: differ by at most {worst:.3g}", flush=True)
    return worst


def bound(x: Array) -> float:
    """Return how far sums in another order may differ: taps of a bicubic of both axes, and 8 for mean and scale."""
    taps: float = sum(4 * max(1.0, length / size) + 1 for length, size in zip(x.shape, SIZE, strict=False))
    return float(2.0**-24 * 255 * 1.6**2 * (taps + 8))  # a cubic's weights add up to at most 1.6 on an axis


def heads(images: list[Array], folder: Path, counts: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with the heads that a PrePostProcessor writes."""
    algorithms = ("LINEAR", "CUBIC", "NEAREST", "BILINEAR_PILLOW", "BICUBIC_PILLOW")
    source = identity(folder / "a.onnx", 1, 3, *SIZE)
    for word, layout, scale in product(algorithms, ("NHWC", "NCHW"), (1.0, 57.5)):
        resized = by(getattr(ResizeAlgorithm, f"RESIZE_{word}"), layout)

        def asked(processor: Any, resized: Any = resized, scale: float = scale) -> None:
            resized(processor)
            processor.input().preprocess().mean([-300.0, -310.5, -320.0]).scale(scale)

        path = saved(folder / "head.xml", asked)
        pipeline, whole = ir_interp.pipeline(path), folder / "whole.onnx"
        compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        try:
            preprocess(source, whole, pipeline=pipeline)
            runs: dict[str, Callable[[Array], Array]] = {"NumPy": pipeline, "onnxruntime": opened(whole)}
        except InexactError:
            runs = {"NumPy": pipeline}
        for x, (name, run) in product(images, runs.items()):
            expected = compiled((x.transpose(2, 0, 1) if layout == "NCHW" else x)[None])[0][0]
            counts[f"{name}, as OpenVINO"] += 1
            apart = float(np.abs(run(x) - expected).max())
            if apart > bound(x) / scale:
                yield f"WRONG in {name}: {word}, {layout}, scale {scale}, {x.shape[:2]}: {apart:.3g}"


RESIZES = ("pillow@12:bicubic", "pillow@13:bilinear", "torchvision:bilinear", "torchvision:bicubic", "opencv:linear")


def resizes(paths: list[Path], folder: Path) -> int:
    """Return how many photos an IR of any size resizes to other bytes than the library, at either precision."""
    source, whole, unequal = identity(folder / "a.onnx", 1, 3, 224, 224), folder / "whole.xml", 0
    for like in RESIZES:
        pipeline = Pipeline(steps=(Resize(like=like, size=Exactly(height=224, width=224)),))
        preprocess(source, whole, pipeline=pipeline)
        for settings in ({}, {"INFERENCE_PRECISION_HINT": "f32"}):
            run = opened(whole, settings)
            for path in paths:
                with Image.open(path) as photo:
                    x = np.asarray(photo.convert("RGB"))
                unequal += not np.array_equal(run(x), pipeline(x))
        print(f"{like}: {len(paths)} photos, default precision and f32: {unequal} unequal so far", flush=True)
    return unequal


READERS: dict[str, Callable[[], Iterator[Case]]] = {
    "huggingface": huggingface, "timm": timm, "torchvision": torchvision, "transforms": transforms,
    "ultralytics": ultralytics,
}  # fmt: skip


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=[*READERS, "logits", "resizes", "openvino"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--cases", default=":", help="a slice of the configurations")
    asked = parser.parse_args()
    first, last = (int(bound) if bound else None for bound in asked.cases.split(":"))

    images, counts, wrong = photos(asked.folder), Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        if asked.reader == "logits":
            return int(logits(images, Path(name)) > 1e-5)
        if asked.reader == "resizes":
            return int(resizes(sorted(asked.folder.glob("*.jpg")), Path(name)) > 0)
        for problem in heads(images, Path(name), counts) if asked.reader == "openvino" else ():
            wrong += 1
            print(problem, flush=True)
        for case in list(READERS[asked.reader]())[first:last] if asked.reader in READERS else ():
            for problem in checked(case, images, Path(name), counts):
                wrong += 1
                print(f"{case[0]}: {problem}", flush=True)
            counts["configurations"] += 1
    print({**counts, "wrong": wrong})
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
