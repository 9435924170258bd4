"""Configurations of popular models on photos: the library's own output, in NumPy, onnxruntime and OpenVINO.

``python -m tests.sweeps.pipelines_on_photos READER [FOLDER]`` takes at least 20 configurations of a reader
(huggingface, timm, torchvision, transforms, ultralytics) and 10 photos of odd sizes, from a folder or made up. NumPy
must have the bits of the library. The pixels before the first float must be equal in onnxruntime and in OpenVINO with
its default precision, for images of any size, else (a rule that needs it) for the size of each of two photos.
``resizes`` takes every .jpg of the folder through single resizes in IRs of any size. ``openvino`` reads 20 heads of a
PrePostProcessor, which NumPy and onnxruntime must compute as OpenVINO does, within the bound of their sums. ``logits``
compares a torchvision classifier with random weights behind its own transforms and behind ``preprocess``. ``--seed``
draws other sizes.
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
from ir_interp.pipelines.pipeline_source import of_mapping, of_object
from ir_interp.pipelines.rules import Exactly
from ir_interp.pipelines.steps import Interpolate, Normalise, Rescale, Resize, Scale
from ir_interp.pipelines.torchvision_transforms import read_text
from ir_interp.plan.taps import axis_taps, plan
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


def photos(folder: Path | None, seed: int | None = None) -> list[Array]:
    """Return photos cut to odd sizes, or to sizes of a seed; without a folder, smooth colours with noise and edges."""
    files = (
        sorted(path for path in folder.iterdir() if path.suffix.lower() in (".jpg", ".jpeg", ".png")) if folder else []
    )
    images = []
    for place, (height, width) in enumerate(drawn(seed)):
        if files:
            with Image.open(files[place % len(files)]) as opened:
                image = opened.convert("RGB")
            scale = max(height / image.height, width / image.width, 1.0)
            image = image.resize((int(image.width * scale + 1), int(image.height * scale + 1)))
            images.append(np.asarray(image)[:height, :width].copy())
            continue
        rng, (rows, columns) = np.random.default_rng([place, seed or 0]), np.mgrid[0:height, 0:width]
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
_STRETCHED = (("rtdetr-resnet50", (160, 160)), ("rtdetr-l", (192, 320)))


def ultralytics() -> Iterator[Case]:
    """Yield models of random weights as Ultralytics exports them, with what its predictor feeds them."""
    os.environ |= {"YOLO_OFFLINE": "true", "YOLO_AUTOINSTALL": "false"}
    package = module("ultralytics")
    assert package is not None
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, size in (*_EXPORTS, *_STRETCHED):
            kind = package.RTDETR if name.startswith("rtdetr") else package.YOLO
            trained = kind(f"{name}.yaml")
            path = Path(trained.export(format="onnx", imgsz=size, simplify=False, opset=17))
            model = kind(path) if kind is package.RTDETR else kind(path, task=trained.task)
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


_MEANS = (-300.0, -310.5, -320.0)
_WEIGHTS = {"linear": 2 * 3, "bilinear_pillow": 2 * 3, "cubic": 4 * 41, "bicubic_pillow": 4 * 41, "nearest": 0}
"""The error of all weights of an output by mode, in u = 2**-24, before they are normalised.

A distance t is rounded (1 u below 1, 2 u below 2), which a slope of at most 1.25 passes on: 5 u cover it. 1 - t adds
1 u. By Horner's rule, Keys' polynomial has intermediate values of up to 2.25 below 1, and of up to 6 below 2, where its
roundings add up to 1.5, 4.5, 13.5, 16.5 and 36 u. So a weight of a triangle is off by 3 u at most, one of a cubic by
41 u. Two weights of a triangle, or four of a cubic, share a distance of 1; a widened kernel has more, in proportion to
their sum, by which they are divided.
"""


def bound(step: Interpolate, x: Array, scale: float) -> float:
    """Return how far two float32 results of a head may lie apart: ``x`` resized, less ``_MEANS``, divided by ``scale``.

    Both sides compute the same float32 coordinates, and so weight the same pixels. For an axis of T taps, whose
    weights have magnitudes that add up to A, let W be the error above. One side, in u:

    - a sum of v weights is off by W + T * A, so normalised weights by E = W + A * (W + T * A) + A
    - T products and T sums, of which the partial sums have magnitudes below A: T * A
    - an axis adds e = T * A + E, which the other axis passes on times its A: M * sum(e / A) * product(A), with M = 255
    - the difference and the quotient: 2 roundings of at most M * product(A) + |mean| in OpenVINO and in NumPy; nodes
      round mean and scale, too: 4 (``step_nodes._scaled``)

    Both sides together: u / scale * (2 * M * sum(e / A) * product(A) + 6 * (M * product(A) + |mean|)). 1.01 covers
    errors of errors, since T * u < 0.001.
    """
    shape = (1, *x.shape) if step.layout == "nhwc" else (1, 3, *x.shape[:2])
    weights = [each.weights for each in axis_taps(plan(step.op(shape, "float32").spec, shape))]
    largest, errors, w = 255.0, 0.0, _WEIGHTS[step.mode]
    for each in (those for those in weights if those is not None):
        count, total = each.shape[1], float(np.abs(each).sum(axis=1).max())
        largest *= total
        errors += (count * total + w + total * (w + count * total) + total) / total
    return 2.0**-24 / scale * 1.01 * (2 * largest * errors + 6 * (largest + max(map(abs, _MEANS))))


def drawn(seed: int | None) -> list[tuple[int, int]]:
    """Return heights and widths of images: odd ones, or drawn with a seed."""
    rng = np.random.default_rng(seed)
    return list(SHAPES) if seed is None else [(int(a), int(b)) for a, b in rng.integers(5, 1300, (len(SHAPES), 2))]


def heads(images: list[Array], folder: Path, counts: Counter[str], seed: int | None) -> Iterator[str]:
    """Yield what is wrong with the heads that a PrePostProcessor writes: to one size, or to sizes of a seed."""
    algorithms = ("LINEAR", "CUBIC", "NEAREST", "BILINEAR_PILLOW", "BICUBIC_PILLOW")
    rng, closest = np.random.default_rng(seed), 0.0
    for word, layout, scale in product(algorithms, ("NHWC", "NCHW"), (1.0, 57.5)):
        height, width = SIZE if seed is None else map(int, rng.integers(8, 320, 2))
        size = height, width
        source = identity(folder / "a.onnx", 1, 3, *size)
        resized = by(getattr(ResizeAlgorithm, f"RESIZE_{word}"), layout)

        def asked(processor: Any, resized: Any = resized, scale: float = scale) -> None:
            resized(processor)
            processor.input().preprocess().mean(list(_MEANS)).scale(scale)

        path = saved(folder / "head.xml", asked, size=size)
        pipeline, whole = ir_interp.pipeline(path), folder / "whole.onnx"
        step = next(step for step in pipeline.steps if isinstance(step, Interpolate))
        compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        preprocess(source, whole, pipeline=pipeline)
        runs: dict[str, Callable[[Array], Array]] = {"NumPy": pipeline, "onnxruntime": opened(whole)}
        for x, (name, run) in product(images, runs.items()):
            expected = compiled((x.transpose(2, 0, 1) if layout == "NCHW" else x)[None])[0][0]
            counts[f"{name}, as OpenVINO"] += 1
            apart = float(np.abs(run(x) - expected).max())
            closest = max(closest, apart / bound(step, x, scale))
            if apart > bound(step, x, scale):
                yield f"WRONG in {name}: {word}, {layout}, scale {scale}, {x.shape[:2]} to {size}: {apart:.3g}"
    print(f"largest difference: {closest:.2f} of its bound", flush=True)


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
    parser.add_argument("--seed", type=int, help="of the sizes of images, and of what heads resize to")
    asked = parser.parse_args()
    first, last = (int(bound) if bound else None for bound in asked.cases.split(":"))

    images, counts, wrong = photos(asked.folder, asked.seed), Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        if asked.reader == "logits":
            return int(logits(images, Path(name)) > 1e-5)
        if asked.reader == "resizes":
            return int(resizes(sorted(asked.folder.glob("*.jpg")), Path(name)) > 0)
        for problem in heads(images, Path(name), counts, asked.seed) if asked.reader == "openvino" else ():
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
