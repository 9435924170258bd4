"""Write models as exporters write them, for README.md and docs/: ``python samples/exports.py road-mask roads.onnx``.

Only what matters to a resize is there: its attributes and inputs, and what exporters put around it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

_SHRINK = """
    <ir_version: 8, opset_import: ["": 18], producer_name: "pytorch">
    {name} (float[1,{channels},240,320] {data}) => (float[1,{channels},60,80] small)
    <int64[4] size = {{1, {channels}, 60, 80}}> {{
        [shrink] small = Resize <mode = "cubic", antialias = 1, cubic_coeff_a = {a}, exclude_outside = {exclude},
                                 coordinate_transformation_mode = "pytorch_half_pixel"> ({data}, "", "", size)
    }}
"""
_THUMBNAIL = {"name": "thumbnail", "data": "image", "channels": 3}
_ROADS = {"name": "roads", "data": "mask", "channels": 1}
_MASK = """
    <ir_version: 6, opset_import: ["": 12], producer_name: "tf2onnx">
    mask (float[1,26,26,1] mask) => (float[1,64,64,1] large)
    <float[0] roi = {}, float[0] scales = {}, int64[4] size = {1, 1, 64, 64}> {
        nchw = Transpose <perm = [0, 3, 1, 2]> (mask)
        [resize] resized = Resize <mode = "nearest", coordinate_transformation_mode = "tf_half_pixel_for_nn",
                                   nearest_mode = "floor"> (nchw, roi, scales, size)
        large = Transpose <perm = [0, 2, 3, 1]> (resized)
    }
"""
_YOLO = """
    <ir_version: 7, opset_import: ["": 12], producer_name: "pytorch">
    yolo (float[1,3,256,256] images) => (float[1,16,32,32] p3, float[1,16,16,16] p4, float[1,16,8,8] p5)
    <float[4] scales = {1, 1, 2, 2}, float[0] none = {}> {
        c3 = Conv <strides = [8, 8]> (images, stem_weight)
        c4 = Conv <strides = [2, 2]> (c3, down4_weight)
        p5 = Conv <strides = [2, 2]> (c4, down5_weight)
        [up4] up4 = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric",
                            nearest_mode = "floor", cubic_coeff_a = -0.75> (p5, none, scales)
        cat4 = Concat <axis = 1> (up4, c4)
        p4 = Conv (cat4, head4_weight)
        [up3] up3 = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric",
                            nearest_mode = "floor", cubic_coeff_a = -0.75> (p4, none, scales)
        cat3 = Concat <axis = 1> (up3, c3)
        p3 = Conv (cat3, head3_weight)
    }
"""
_YOLO_WEIGHTS = {
    "stem": (16, 3, 8, 8),
    "down4": (16, 16, 2, 2),
    "down5": (16, 16, 2, 2),
    "head4": (16, 32, 1, 1),
    "head3": (16, 32, 1, 1),
}
_YOLO_NAMES = {"up4": "/model.10/Resize", "up3": "/model.13/Resize"}
_IR_OF_2020 = """\
<?xml version="1.0"?>
<net name="segmentation" version="10">
  <layers>
    <layer id="0" name="logits" type="Parameter" version="opset1">
      <data element_type="f32" shape="1,4,32,48"/>
      <output><port id="0" precision="FP32"><dim>1</dim><dim>4</dim><dim>32</dim><dim>48</dim></port></output>
    </layer>
    <layer id="1" name="size" type="Const" version="opset1">
      <data element_type="i64" offset="0" shape="2" size="16"/>
      <output><port id="0" precision="I64"><dim>2</dim></port></output>
    </layer>
    <layer id="2" name="up" type="Interpolate" version="opset1">
      <data align_corners="0" antialias="0" axes="2,3" mode="linear" pads_begin="0" pads_end="0"/>
      <input>
        <port id="0"><dim>1</dim><dim>4</dim><dim>32</dim><dim>48</dim></port>
        <port id="1"><dim>2</dim></port>
      </input>
      <output><port id="2" precision="FP32"><dim>1</dim><dim>4</dim><dim>128</dim><dim>192</dim></port></output>
    </layer>
    <layer id="3" name="classes" type="SoftMax" version="opset1">
      <data axis="1"/>
      <input><port id="0"><dim>1</dim><dim>4</dim><dim>128</dim><dim>192</dim></port></input>
      <output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim><dim>128</dim><dim>192</dim></port></output>
    </layer>
    <layer id="4" name="result" type="Result" version="opset1">
      <input><port id="0"><dim>1</dim><dim>4</dim><dim>128</dim><dim>192</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
    <edge from-layer="3" from-port="1" to-layer="4" to-port="0"/>
  </edges>
</net>
"""


def torch_antialias(path: Path) -> None:
    """Write interpolate(mode="bicubic", antialias=True) as torch.onnx did for years: with the constants of neither."""
    onnx.save(onnx.parser.parse_model(_SHRINK.format(**_THUMBNAIL, a=-0.75, exclude=0)), path)


def torch_antialias_fixed(path: Path) -> None:
    """Write the same as torch.onnx does since 2026: what PyTorch computes."""
    onnx.save(onnx.parser.parse_model(_SHRINK.format(**_THUMBNAIL, a=-0.5, exclude=1)), path)


def road_mask(path: Path) -> None:
    """Write the last step of a segmentation model, which shrinks a mask with antialias, as torch.onnx does."""
    onnx.save(onnx.parser.parse_model(_SHRINK.format(**_ROADS, a=-0.5, exclude=1)), path)


def old_road_mask(path: Path) -> None:
    """Write the same as torch.onnx did for years, with onnxscript up to 0.7.0: another cubic, with other borders."""
    onnx.save(onnx.parser.parse_model(_SHRINK.format(**_ROADS, a=-0.75, exclude=0)), path)


def tf2onnx_nearest(path: Path) -> None:
    """Write tf.image.resize(method="nearest") of a mask, NHWC, as tf2onnx does."""
    onnx.save(onnx.parser.parse_model(_MASK), path)


def yolo(path: Path) -> None:
    """Write the neck of a YOLO as torch.onnx does: nn.Upsample(scale_factor=2) twice. Weights are random."""
    model = onnx.parser.parse_model(_YOLO)
    rng = np.random.default_rng(0)
    for name, shape in _YOLO_WEIGHTS.items():
        weights = (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, f"{name}_weight"))
    for node in model.graph.node:
        node.name = _YOLO_NAMES.get(node.name, node.name)  # the text takes no slashes
    onnx.save(model, path)


def interpolate_1(path: Path) -> None:
    """Write an IR as OpenVINO's Model Optimizer of 2020 did: version 10, Interpolate of opset1, sizes in the .bin."""
    path.write_text(_IR_OF_2020, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(np.array([128, 192], np.int64).tobytes())


def float32_tie(path: Path) -> None:
    """Write samples/float32_tie as a model: a coordinate that float32 puts on either side of a tie."""
    text = Path(__file__).with_name("float32_tie").joinpath("model.onnxtxt").read_text(encoding="utf-8")
    onnx.save(onnx.parser.parse_model(text), path)


def photo(path: Path) -> None:
    """Write a picture of rings that get finer outwards, which shrinking without antialias turns into others."""
    try:
        from PIL import Image
    except ImportError:
        sys.exit("the photo needs Pillow: pip install '.[images]'")
    y, x = np.mgrid[-1:1:240j, -1:1:320j]
    rings = 0.5 + 0.5 * np.cos(120 * (x**2 + y**2))
    picture = np.stack([rings, rings**2, 1 - rings], axis=-1)
    Image.fromarray(np.round(picture * 255).astype(np.uint8)).save(path)


def scene(path: Path) -> None:
    """Write a Zarr array of 2,000 x 3,000 pixels of uint8 in chunks of 500 x 500, with names of its dimensions."""
    import zarr

    y, x = np.mgrid[:2000, :3000]
    array = zarr.create_array(path, shape=y.shape, dtype="uint8", chunks=(500, 500), dimension_names=("y", "x"))
    array[:] = (x + y) % 256


def vit_config(path: Path) -> None:
    """Write the configuration of an image processor as transformers does: the class, and what is not its default."""
    path.write_text('{"image_processor_type": "ViTImageProcessor", "size": {"height": 64, "width": 96}}\n')


def face_training(path: Path) -> None:
    """Write the preprocessing of YuNet: OpenCV resizes; blue first, from 0 to 255."""
    resize = {"kind": "Resize", "like": "opencv:linear", "size": {"kind": "Exactly", "height": 640, "width": 640}}
    steps = [resize, {"kind": "ReverseChannels"}]
    path.write_text(json.dumps({"version": 1, "name": "YuNet's training", "steps": steps}, indent=2) + "\n")


def face_production(path: Path) -> None:
    """Write a common mistake as torchvision prints it: the numbers of ImageNet, and red first."""
    path.write_text(
        "Compose(\n"
        "    Resize(size=(640, 640), interpolation=bilinear, max_size=None, antialias=True)\n"
        "    ToTensor()\n"
        "    Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])\n"
        ")\n"
    )


MODELS: dict[str, Callable[[Path], None]] = {
    "torch-antialias": torch_antialias,
    "torch-antialias-fixed": torch_antialias_fixed,
    "road-mask": road_mask,
    "old-road-mask": old_road_mask,
    "tf2onnx-nearest": tf2onnx_nearest,
    "interpolate-1": interpolate_1,
    "yolo": yolo,
    "float32-tie": float32_tie,
    "photo": photo,
    "scene": scene,
    "vit-config": vit_config,
    "face-training": face_training,
    "face-production": face_production,
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(f"usage: python samples/exports.py {'|'.join(MODELS)} FILE")
    try:
        MODELS[sys.argv[1]](Path(sys.argv[2]))
    except (OSError, ValueError) as error:  # of a folder that does not exist, or an extension without a format
        sys.exit(f"error: {sys.argv[2]} cannot be written: {error}")
    print(f"wrote {sys.argv[2]}")
