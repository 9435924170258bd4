"""Keras models with random weights, as TFLite in every kind of quantisation and as Keras and TensorFlow files.

    python -m tests.sweeps.tensorflow_models FOLDER [--only TEXT]

writes the models into FOLDER, converts each to .onnx and .xml, and counts the proven, the refused and the wrong. Needs
tensorflow and ai-edge-litert. Every model is written by a process of its own, for TensorFlow keeps what it has made.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
IN_EVERY_FORM = ("transposed", "pyramid", "keras_bilinear")
RESIZES = "resizes"
QUANTISED = ("float", "float16", "dynamic", "integer", "integers_at_ends", "int16")
"""The ways in which a model becomes a TFLite file."""


def up(keras: Any, interpolation: str) -> Any:
    """A small decoder around ``UpSampling2D``."""
    x = image = keras.Input((16, 20, 3), batch_size=1, name="image")
    x = keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(x)
    x = keras.layers.UpSampling2D(3, interpolation=interpolation)(x)
    return keras.Model(image, keras.layers.Conv2D(8, 3, padding="same", name="mask")(x))


def resized(keras: Any, method: str, **options: Any) -> Any:
    """An image resized by ``tf.image.resize``, between convolutions."""
    import tensorflow as tf

    x = image = keras.Input((12, 14, 3), batch_size=1, name="image")
    x = keras.layers.Conv2D(16, 3, padding="same", activation="relu6")(x)
    x = _layer(keras, lambda x: tf.image.resize(x, (19, 9), method, **options))(x)
    return keras.Model(image, keras.layers.Conv2D(8, 3, name="out")(x))


def resized_v1(keras: Any, name: str, *, corners: bool, centres: bool) -> Any:
    """An image resized by an operation of version 1, which has both flags."""
    import tensorflow as tf

    operation = getattr(tf.raw_ops, name)
    x = image = keras.Input((9, 13, 4), batch_size=1, name="image")
    x = keras.layers.DepthwiseConv2D(3, padding="same")(x)
    options = {"align_corners": corners} | ({} if name == "ResizeArea" else {"half_pixel_centers": centres})
    x = _layer(keras, lambda x: operation(images=x, size=(21, 8), **options))(x)
    return keras.Model(image, keras.layers.AveragePooling2D(2)(x))


def transposed(keras: Any) -> Any:
    """Transposed convolutions, pools and a skip connection."""
    x = image = keras.Input((16, 16, 3), batch_size=1, name="image")
    first = x = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2DTranspose(16, 3, strides=2, padding="same")(x)
    x = keras.layers.Concatenate()([x, first])
    x = keras.layers.UpSampling2D(2, interpolation="bilinear")(x)
    return keras.Model(image, keras.layers.Conv2D(2, 1, activation="sigmoid", name="mask")(x))


def pyramid(keras: Any) -> Any:
    """Two inputs, two outputs, sums of a feature pyramid, and a classifier."""
    image = keras.Input((16, 24, 3), batch_size=1, name="image")
    prior = keras.Input((8, 12, 8), batch_size=1, name="prior")
    fine = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    coarse = keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(fine)
    coarse = keras.layers.Add()([coarse, prior])
    fine = keras.layers.Add()([keras.layers.UpSampling2D(2, interpolation="bilinear")(coarse), fine])
    score = keras.layers.Dense(4, activation="softmax", name="score")(keras.layers.GlobalAveragePooling2D()(coarse))
    return keras.Model([image, prior], [score, keras.layers.Conv2D(3, 3, name="map")(fine)])


def separable(keras: Any) -> Any:
    """Normalised separable convolutions with a hard swish, as MobileNet has them."""
    x = image = keras.Input((20, 20, 3), batch_size=1, name="image")
    for filters, strides in ((16, 2), (32, 1)):
        x = keras.layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Conv2D(filters, 1)(x)
        x = keras.layers.Activation("hard_swish")(x)
    x = keras.layers.UpSampling2D(2, interpolation="nearest")(x)
    return keras.Model(image, keras.layers.AveragePooling2D(2, name="pooled")(x))


def dynamic(keras: Any) -> Any:
    """Any batch and size; resized to the size of the input."""
    import tensorflow as tf

    x = image = keras.Input((None, None, 3), name="image")
    x = keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    x = _layer(keras, lambda x, like: tf.image.resize(x, tf.shape(like)[1:3]))(x, image)
    return keras.Model(image, keras.layers.Conv2D(2, 1, name="mask")(x))


def keras_resized(keras: Any, interpolation: str, *, antialias: bool = False) -> Any:
    """An image resized by a layer and by an operation of Keras, which its files hold without code."""
    x = image = keras.Input((12, 14, 3), batch_size=1, name="image")
    x = keras.layers.Conv2D(4, 3, padding="same", activation="elu")(x)
    x = keras.layers.Resizing(19, 9, interpolation=interpolation)(x)
    x = keras.ops.image.resize(x, (11, 13), interpolation=interpolation, antialias=antialias)
    return keras.Model(image, keras.layers.Conv2D(2, 3, name="out")(x))


def segmenter(keras: Any, application: str, **options: Any) -> Any:
    """A network of ``keras.applications``, its features resized to the size of the image in two steps."""
    net = getattr(keras.applications, application)(input_shape=(64, 96, 3), weights=None, include_top=False, **options)
    x = keras.layers.Conv2D(8, 1, activation="relu")(net.output)
    x = keras.layers.Resizing(16, 24, interpolation="bicubic")(x)
    x = keras.layers.UpSampling2D(4, interpolation="bilinear")(x)
    return keras.Model(net.input, keras.layers.Conv2D(3, 1, activation="softmax", name="mask")(x))


def framed(keras: Any, **frame: Any) -> Any:
    """Layers that normalise, crop and pad an image around a resize."""
    x = image = keras.Input((18, 14, 3), batch_size=1, name="image")
    x = keras.layers.Rescaling(1 / 127.5, -1)(x)
    x = keras.layers.Resizing(12, 16, **frame)(x)
    x = keras.layers.CenterCrop(10, 12)(x)
    x = keras.layers.ZeroPadding2D(1)(keras.layers.Cropping2D(2)(x))
    return keras.Model(image, keras.layers.UpSampling2D((3, 2), interpolation="nearest", name="out")(x))


def repeated(keras: Any, rank: int) -> Any:
    """Copies along one axis, or along three."""
    x = image = keras.Input((6, 5, 4, 2) if rank == 3 else (9, 2), batch_size=1, name="image")
    layers = keras.layers
    x = layers.Conv3D(3, 2, padding="same")(x) if rank == 3 else layers.Conv1D(3, 2, padding="same")(x)
    x = layers.UpSampling3D((2, 3, 1))(x) if rank == 3 else layers.UpSampling1D(3)(x)
    return keras.Model(image, x)


def nested(keras: Any) -> Any:
    """One model used twice inside another."""
    part = keras.Sequential(
        [keras.Input((None, None, 4)), keras.layers.Conv2D(4, 3, padding="same"), keras.layers.UpSampling2D(2)]
    )
    image = keras.Input((8, 6, 4), batch_size=1, name="image")
    return keras.Model(
        image, keras.layers.Maximum(name="out")([part(part(image)), keras.layers.UpSampling2D(4)(image)])
    )


def boxes(keras: Any) -> Any:
    """Regions of an image, cropped and resized."""
    import tensorflow as tf

    image = keras.Input((16, 16, 3), batch_size=1, name="image")
    windows = np.array([[0.1, 0.2, 0.7, 0.9], [0.0, 0.0, 1.0, 1.0]], np.float32)
    return keras.Model(
        image, _layer(keras, lambda x: tf.image.crop_and_resize(x, windows, [0, 0], (7, 5)), "crops")(image)
    )


def _layer(keras: Any, function: Callable[..., Any], name: str | None = None) -> Any:
    """Return a function as a layer of a class; those of ``Lambda`` hold code."""

    class Resized(keras.layers.Layer):
        def call(self, *inputs: Any) -> Any:
            return function(*inputs)

    return Resized(name=name)


NETS: dict[str, Callable[[Any], Any]] = {
    "up_bilinear": partial(up, interpolation="bilinear"),
    "up_nearest": partial(up, interpolation="nearest"),
    "up_bicubic": partial(up, interpolation="bicubic"),
    "up_lanczos3": partial(up, interpolation="lanczos3"),
    **{
        f"resize_{method}": partial(resized, method=method)
        for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
    },
    "resize_antialias": partial(resized, method="bilinear", antialias=True),
    **{
        f"{name}_{flags}": partial(resized_v1, name=name, corners=flags == "corners", centres=flags == "centres")
        for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
        for flags in ("corners", "centres", "legacy")
        if (name, flags) != ("ResizeArea", "centres")
    },
    **{
        f"keras_{interpolation}": partial(keras_resized, interpolation=interpolation)
        for interpolation in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")
    },
    "keras_antialias": partial(keras_resized, interpolation="bilinear", antialias=True),
    "keras_antialias_cubic": partial(keras_resized, interpolation="bicubic", antialias=True),
    "transposed": transposed,
    "pyramid": pyramid,
    "separable": separable,
    "dynamic": dynamic,
    "boxes": boxes,
    "mobilenet": partial(segmenter, application="MobileNetV2", alpha=0.35),
    "mobilenet_v3": partial(segmenter, application="MobileNetV3Small", minimalistic=True),
    "efficientnet": partial(segmenter, application="EfficientNetV2B0"),
    "densenet": partial(segmenter, application="DenseNet121"),
    "cropped": partial(framed, crop_to_aspect_ratio=True),
    "padded": partial(framed, pad_to_aspect_ratio=True, interpolation="bicubic"),
    "sequence": partial(repeated, rank=1),
    "volume": partial(repeated, rank=3),
    "nested": nested,
}


def model(name: str) -> Any:
    """Return a model with random weights, normalisation and biases included."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(sum(map(ord, name)))
    net, rng = NETS[name](tf.keras), np.random.default_rng(0)
    for weights in net.weights:
        if weights.path.split("/")[-1] in ("bias", "beta", "moving_mean"):
            weights.assign(rng.normal(0, 0.1, weights.shape))
        elif weights.path.split("/")[-1] in ("gamma", "moving_variance"):
            weights.assign(rng.uniform(0.5, 1.5, weights.shape))
    return net


def tflite(net: Any, kind: str) -> bytes:
    """Return a model as a TFLite file, calibrated on random images."""
    import tensorflow as tf

    lite = tf.lite
    converter = lite.TFLiteConverter.from_keras_model(net)
    if kind != "float":
        converter.optimizations = [lite.Optimize.DEFAULT]
    if kind == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if kind in ("integer", "integers_at_ends", "int16"):
        rng = np.random.default_rng(1)
        shapes = {tensor.name: [each or 16 for each in tensor.shape] for tensor in net.inputs}
        converter.representative_dataset = lambda: (
            {name: rng.random(shape, np.float32) for name, shape in shapes.items()} for _ in range(20)
        )
        both = lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.target_spec.supported_ops = [both if kind == "int16" else lite.OpsSet.TFLITE_BUILTINS_INT8]
    if kind == "integers_at_ends":
        converter.inference_input_type = converter.inference_output_type = tf.uint8 if "near" in net.name else tf.int8
    return bytes(converter.convert())


def write_resizes(path: Path) -> None:
    """Write a graph whose outputs are resizes with the flags of TensorFlow 1, one of a size of run time."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 9, 11, 2], name="x")
        sizes: tuple[Any, ...] = ([18, 22], [7, 5], [30, 31], tf.shape(x)[1:3] * 2)
        for place, size in enumerate(sizes):
            for corners, centres in ((True, False), (False, True), (False, False)):
                options = {"images": x, "size": size, "align_corners": corners, "half_pixel_centers": centres}
                for kind in ("Bilinear", "Bicubic", "NearestNeighbor"):
                    getattr(tf.raw_ops, f"Resize{kind}")(**options, name=f"{kind}{place}{corners}{centres}")
    path.write_bytes(graph.as_graph_def().SerializeToString())


def write(name: str, folder: Path) -> None:
    """Write one model in every form that its converters accept."""
    if name == RESIZES:
        write_resizes(folder / f"{name}.pb")
        return
    net = model(name)
    for kind in QUANTISED:
        try:
            (folder / f"{name}.{kind}.tflite").write_bytes(tflite(net, kind))
        except Exception as error:  # whatever the converter raises for an operation that TFLite lacks
            print(f"{name}.{kind}.tflite: not written: {str(error).strip().splitlines()[0][:100]}", file=sys.stderr)
    net.save(folder / f"{name}.keras")
    if name in IN_EVERY_FORM:
        net.save(folder / f"{name}.h5")
    net.export(str(folder / f"{name}.saved"), verbose=False)
    if name in IN_EVERY_FORM:
        freeze(folder / f"{name}.saved", folder / f"{name}.pb")


def freeze(saved: Path, output: Path) -> None:
    """Write the graph of a SavedModel with its variables as constants."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    loaded = tf.saved_model.load(str(saved))  # it owns the variables
    graph = convert_variables_to_constants_v2(loaded.signatures["serving_default"]).graph.as_graph_def()
    output.write_bytes(graph.SerializeToString())


def converted(folder: Path, only: str) -> Iterator[tuple[str, str, str]]:
    """Convert each model to both targets; yield its file with the suffix, the verdict, and the reason."""
    import ir_interp
    from ir_interp import IrInterpError, VerificationError

    sources = sorted(path for suffix in ("tflite", "keras", "h5", "pb", "saved") for path in folder.glob(f"*.{suffix}"))
    for source in sources:
        for suffix in (".onnx", ".xml"):
            if only not in f"{source.name}{suffix}":
                continue
            name = f"{source.name} to {suffix}"
            try:
                report = ir_interp.convert(source, folder / f"{source.name}{suffix}")
                note = report.verification.note if report.verification else "no verification"
                yield name, "proven" if report.verification else "wrong", note
            except VerificationError as error:
                yield name, "refused" if " does not run: " in str(error) else "differs", str(error)
            except (IrInterpError, ExceptionGroup) as error:
                reasons = getattr(error, "exceptions", (error,))
                yield name, "refused", "; ".join(map(str, reasons))
            except Exception as error:
                yield name, "wrong", f"{type(error).__name__}: {error}"


def main() -> None:
    """Write the models that are missing, and convert all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="only files whose name and target contain this text")
    parser.add_argument("--write", help="write only this model")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    if arguments.write:
        write(arguments.write, arguments.folder)
        return
    for name in (*NETS, RESIZES):
        made = arguments.folder / f"{name}.{'pb' if name == RESIZES else 'saved'}"
        if not made.exists() and arguments.only.split(".")[0] in name:
            command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, str(arguments.folder)]
            with (arguments.folder / f"{name}.log").open("w") as log:
                subprocess.run([*command, "--write", name], check=False, stdout=log, stderr=log)
    counts: Counter[str] = Counter()
    for name, verdict, reason in converted(arguments.folder, arguments.only):
        counts[f"{verdict} {name.split(' to ')[0].split('.')[-1]}"] += 1
        print(f"{verdict:8} {name}: {reason}", flush=True)
    print("\n".join(f"{count:4} {verdict}" for verdict, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
