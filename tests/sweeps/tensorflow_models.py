"""Keras models with random weights, as TFLite in every kind of quantisation and as Keras and TensorFlow files.

    python -m tests.sweeps.tensorflow_models FOLDER [--only TEXT]

writes the models into FOLDER, converts each to .onnx and .xml, and counts the proven, the refused and the wrong. Needs
tensorflow and ai-edge-litert. Every model is written by a process of its own, since TensorFlow keeps its graphs.

Plain calls of TensorFlow and LiteRT compute outputs from inputs that no proof has seen. A proven result counts as
wrong if it differs from them in plain calls of onnxruntime or OpenVINO, or has other names or another order.
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

from tests.support.plain_runs import apart, inputs, outputs
from tests.support.plain_tensorflow import Reference, reference

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
IN_EVERY_FORM = ("transposed", "pyramid", "keras_bilinear")
RESIZES = "resizes"
TOLERANCE = 1e-4
"""The largest difference from the source in plain calls, relative to the largest value."""
HALVES = {"float16": 2**-10, "bfloat16": 2**-7}
DYNAMIC = 2e-2
"""The same for weights in levels between floats, which LiteRT rounds to 8 bits as well."""
NAMED = (" does not run: ", "save the model in float32")
"""Parts of messages that name the reason of a refusal."""
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


def heads(keras: Any) -> Any:
    """Two inputs and three outputs, in dictionaries."""
    ends = {"right": keras.Input((8, 10, 2), name="right"), "left": keras.Input((4, 5, 2), name="left")}
    x = keras.layers.Add()([keras.layers.UpSampling2D(2, interpolation="bilinear")(ends["left"]), ends["right"]])
    x = keras.layers.Conv2D(4, 3, padding="same")(x)
    small = keras.layers.Resizing(5, 7, interpolation="bicubic", name="small")(x)
    return keras.Model(ends, {"wide": x, "small": small, "again": small})


def channels_first(keras: Any) -> Any:
    """Resizes of images whose channels come first."""
    image = keras.Input((3, 8, 10), batch_size=1, name="image")
    x = keras.layers.UpSampling2D(2, interpolation="bilinear", data_format="channels_first")(image)
    return keras.Model(image, keras.layers.Resizing(7, 5, interpolation="bicubic", data_format="channels_first")(x))


def unet(keras: Any) -> Any:
    """Any batch and size; normalised, and doubled by a layer that asks for the size."""
    image = keras.Input((None, None, 3), name="image")
    fine = keras.layers.Conv2D(4, 3, padding="same", activation="relu")(image)
    x = keras.layers.SeparableConv2D(8, 3, padding="same", activation="gelu")(keras.layers.MaxPooling2D()(fine))
    x = keras.layers.UpSampling2D(2, interpolation="bilinear")(keras.layers.LayerNormalization()(x))
    x = keras.layers.Concatenate()([fine, x])
    return keras.Model(image, keras.layers.Conv2DTranspose(2, 3, strides=2, padding="same", output_padding=1)(x))


def recurrent(keras: Any) -> Any:
    """Sequences of images, each resized, and a recurrent convolution."""
    image = keras.Input((3, 6, 5, 2), batch_size=1, name="image")
    x = keras.layers.TimeDistributed(keras.layers.UpSampling2D(2, interpolation="bilinear"))(image)
    x = keras.layers.ConvLSTM2D(2, 3, padding="same")(x)
    return keras.Model(image, keras.layers.UpSampling2D(2, interpolation="bicubic")(x))


def attention(keras: Any) -> Any:
    """Tokens of an image that attend to one another, and become an image again."""
    image = keras.Input((16, 20, 3), batch_size=1, name="image")
    x = keras.layers.Reshape((-1, 8))(keras.layers.Conv2D(8, 4, strides=4)(image))
    x = keras.layers.Reshape((4, 5, 8))(keras.layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(image, keras.layers.Resizing(16, 20, interpolation="bicubic")(x))


def augmented(keras: Any) -> Any:
    """Layers that augment images in training, and pass them on elsewhere."""
    x = image = keras.Input((12, 10, 3), batch_size=1, name="image")
    for layer in (keras.layers.RandomFlip(), keras.layers.RandomZoom(0.2), keras.layers.RandomRotation(0.1)):
        x = layer(x)
    x = keras.layers.RandomCrop(8, 6)(keras.layers.Dropout(0.3)(keras.layers.GaussianNoise(0.1)(x)))
    return keras.Model(image, keras.layers.UpSampling2D(2, interpolation="bilinear")(x))


def any_size(keras: Any, frame: str, interpolation: str) -> Any:
    """Images of any size, cropped or padded to the shape of the result and resized."""
    image = keras.Input((None, None, 3), name="image")
    options: dict[str, Any] = {f"{frame}_to_aspect_ratio": True, "interpolation": interpolation}
    return keras.Model(image, keras.layers.Resizing(12, 9, **options)(image))


def of_integers(keras: Any, interpolation: str) -> Any:
    """An image of bytes, resized before it is divided."""
    image = keras.Input((20, 11, 3), batch_size=1, name="image", dtype="uint8")
    return keras.Model(image, keras.layers.Resizing(12, 9, interpolation=interpolation)(image))


def of_type(keras: Any, policy: str) -> Any:
    """A net whose layers compute in another type of floats, but for the last."""
    image = keras.Input((12, 10, 3), batch_size=1, name="image")
    x = keras.layers.Conv2D(4, 3, dtype=policy)(image)
    x = keras.layers.UpSampling2D(2, interpolation="bilinear", dtype=policy)(x)
    return keras.Model(image, keras.layers.Conv2D(2, 3, dtype="float32")(x))


def quantised(keras: Any) -> Any:
    """A net whose layers Keras itself has quantised."""
    net = keras.Sequential([keras.Input((8,), name="x"), keras.layers.Dense(12), keras.layers.Reshape((2, 3, 2))])
    net.add(keras.layers.UpSampling2D(2, interpolation="bilinear"))
    net.quantize("int8")
    return net


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
    "heads": heads,
    "channels_first": channels_first,
    "unet": unet,
    "recurrent": recurrent,
    "attention": attention,
    "augmented": augmented,
    **{f"bytes_{name}": partial(of_integers, interpolation=name) for name in ("bilinear", "nearest", "lanczos3")},
    **{
        f"floats_{policy}": partial(of_type, policy=policy) for policy in ("mixed_float16", "mixed_bfloat16", "float64")
    },
    "quantised": quantised,
    **{
        f"any_size_{frame}_{interpolation}": partial(any_size, frame=frame, interpolation=interpolation)
        for frame in ("crop", "pad")
        for interpolation in ("bilinear", "nearest")
    },
}
WITHOUT_TFLITE = list(NETS)[list(NETS).index("heads") :]


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


def write_functions(folder: Path) -> None:
    """Write functions as SavedModels: resizes of every element type, sizes of run time, branches, loops, tables."""
    import tensorflow as tf

    image, k = tf.TensorSpec((None, 6, 5, 2), name="x"), tf.TensorSpec((), tf.int32, name="k")
    size, any_image = tf.TensorSpec((2,), tf.int32, name="size"), tf.TensorSpec((None, None, None, 2), name="x")
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0, 1], [5, 9]), -1)
    resize = tf.image.resize
    functions: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "branches": (
            lambda x: tf.cond(tf.reduce_mean(x) > 0.5, lambda: resize(x, (8, 8)), lambda: x[:, :1, :1]),
            (image,),
        ),
        "cases": (
            lambda x, k: tf.switch_case(k, [lambda: resize(x, (8, 8)), lambda: resize(x, (8, 8), "area")]),
            (image, k),
        ),
        "loop": (lambda x: _loop(tf, x, lambda x: resize(x, tf.shape(x)[1:3]) * 0.5 + x), (any_image,)),
        "growing": (lambda x: _loop(tf, x, lambda x: resize(x, tf.shape(x)[1:3] * 2)), (any_image,)),
        "mapped": (lambda x: tf.map_fn(lambda one: resize(one, (7, 5), "bicubic"), x), (image,)),
        "table": (lambda x, k: resize(x, tf.stack([table.lookup(k)] * 2)), (image, k)),
        "framed": (lambda x: tf.image.resize_with_pad(x, 12, 20), (image,)),
        "framed_any": (lambda x: tf.image.resize_with_pad(x, 12, 20), (any_image,)),
        "ratio_kept": (lambda x: resize(x, (12, 20), preserve_aspect_ratio=True), (any_image,)),
        "scaled": (lambda x: resize(x, tf.cast(tf.cast(tf.shape(x)[1:3], tf.float32) * 1.7, tf.int32)), (any_image,)),
        "single": (lambda x: resize(x, (12, 5), "bicubic", antialias=True), (tf.TensorSpec((10, 7, 2), name="x"),)),
        "random": (lambda x: resize(x, (4, 6)) + tf.random.normal((4, 6, 2)), (image,)),
        "text": (lambda x: resize(tf.io.decode_png(x, 3), (8, 8)), (tf.TensorSpec((), tf.string, name="x"),)),
        "labelled": (lambda x: {"y": resize(x, (8, 8)), "label": tf.constant(["a"])}, (image,)),
        "compiled": (tf.function(lambda x: resize(x, (8, 8)), jit_compile=True), (image,)),
        "moved": (lambda x, t: _moved(tf, x, t), (image, tf.TensorSpec((2,), name="t"))),
    }
    for kind in ("Bilinear", "Bicubic", "NearestNeighbor", "Area"):
        for flags in ({"align_corners": True}, {"half_pixel_centers": True}, {}):
            if kind != "Area" or "half_pixel_centers" not in flags:
                call = partial(_called, getattr(tf.raw_ops, f"Resize{kind}"), flags)
                functions[f"run_time_{kind}_{'_'.join(flags)}"] = call, (any_image, size)
    for dtype in ("uint8", "int16", "int32", "int64", "float16", "bfloat16", "float64"):
        for method in ("bilinear", "nearest", "bicubic", "lanczos3"):
            ends = (tf.TensorSpec((1, 5, 6, 2), dtype, name="x"),)
            functions[f"{method}_of_{dtype}"] = partial(_resized, tf, method), ends
    for name, (function, ends) in functions.items():
        module = tf.Module()
        module.table = table
        module.f = tf.function(_as_dictionary(function), input_signature=ends, autograph=False)
        tf.saved_model.save(module, str(folder / f"{name}.saved"), signatures=module.f)


def _as_dictionary(function: Callable[..., Any]) -> Callable[..., Any]:
    def named(*arrays: Any) -> Any:
        results = function(*arrays)
        return results if isinstance(results, dict) else {"y": results}

    return named


def _called(operation: Any, flags: dict[str, bool], x: Any, size: Any) -> Any:
    return operation(images=x, size=size, **flags)


def _resized(tf: Any, method: str, x: Any) -> Any:
    return tf.cast(tf.image.resize(x, (7, 9), method), tf.float32)


def _loop(tf: Any, x: Any, step: Callable[[Any], Any]) -> Any:
    shapes = [tf.TensorShape([]), tf.TensorShape([None, None, None, 2])]
    return tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, step(x)), [tf.constant(0), x], shapes)[1]


def _moved(tf: Any, x: Any, translation: Any) -> Any:
    options = {"kernel_type": "triangle", "antialias": True, "size": [4, 6], "scale": [1.0, 1.0]}
    return tf.raw_ops.ScaleAndTranslate(images=x, translation=translation, **options)


def write_graphs(folder: Path) -> None:
    """Write graphs as programs of TensorFlow 1 do: branches of Switch, unused inputs, several outputs, variables."""
    import tensorflow as tf

    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    graphs: dict[str, Callable[[Any], Any]] = {
        "defaults": lambda x: v1.image.resize_bilinear(x, v1.placeholder_with_default(tf.constant([7, 9]), [2])),
        "switch": lambda x: v1.cond(
            tf.reduce_mean(x) > 0.4, lambda: v1.image.resize_bilinear(x, [7, 8]), lambda: tf.zeros((1, 7, 8, 2))
        ),
        "while": lambda x: v1.while_loop(
            lambda i, _: i < 3,
            lambda i, x: (i + 1, v1.image.resize_bilinear(x, [6, 5], align_corners=True) + x),
            [tf.constant(0), x],
        ),
        "split": lambda x: tf.split(v1.image.resize_area(x, [8, 6]), 2, 3),
        "unused": lambda x: (v1.placeholder(tf.float32, [1, 2], "none"), v1.image.resize_bicubic(x, [8, 8])),
        "variable": lambda x: v1.image.resize_bilinear(x * v1.get_variable("w", [2]), [8, 8]),
    }
    for name, function in graphs.items():
        with tf.Graph().as_default() as graph:
            function(v1.placeholder(tf.float32, [1, 6, 5, 2], "x"))
        (folder / f"{name}.pb").write_bytes(graph.as_graph_def().SerializeToString())


FUNCTIONS: dict[str, Callable[[Path], None]] = {
    RESIZES: lambda folder: write_resizes(folder / f"{RESIZES}.pb"),
    "functions": write_functions,
    "graphs": write_graphs,
}
"""What writes files of other models than those of Keras."""


def write(name: str, folder: Path) -> None:
    """Write one model in every form that its converters accept, and its reference beside each."""
    before = set(_sources(folder))
    FUNCTIONS[name](folder) if name in FUNCTIONS else write_net(name, folder)
    for path in sorted(set(_sources(folder)) - before):
        try:
            reference(path).save(path)
        except Exception as error:  # whatever TensorFlow raises for code of a file, text and ragged tensors
            print(f"{path.name}: no reference: {str(error).strip().splitlines()[0][:100]}", file=sys.stderr)


def write_net(name: str, folder: Path) -> None:
    """Write one model of Keras in every form that its converters accept."""
    net = model(name)
    for kind in QUANTISED if name not in WITHOUT_TFLITE else ():
        try:
            (folder / f"{name}.{kind}.tflite").write_bytes(tflite(net, kind))
        except Exception as error:  # whatever the converter raises for an operation that TFLite lacks
            print(f"{name}.{kind}.tflite: not written: {str(error).strip().splitlines()[0][:100]}", file=sys.stderr)
    net.save(folder / f"{name}.keras")
    if name in IN_EVERY_FORM:
        net.save(folder / f"{name}.h5")
    try:
        net.export(str(folder / f"{name}.saved"), verbose=False)
    except Exception as error:  # Keras 3.15 does not trace UpSampling2D of any size
        print(f"{name}.saved: not written: {str(error).strip().splitlines()[0][:100]}", file=sys.stderr)
    if name in IN_EVERY_FORM:
        freeze(folder / f"{name}.saved", folder / f"{name}.pb")


def freeze(saved: Path, output: Path) -> None:
    """Write the graph of a SavedModel with its variables as constants."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    loaded = tf.saved_model.load(str(saved))  # it owns the variables
    graph = convert_variables_to_constants_v2(loaded.signatures["serving_default"]).graph.as_graph_def()
    output.write_bytes(graph.SerializeToString())


def _sources(folder: Path) -> list[Path]:
    return sorted(path for suffix in ("tflite", "keras", "h5", "pb", "saved") for path in folder.glob(f"*.{suffix}"))


def converted(folder: Path, only: str) -> Iterator[tuple[str, str, str]]:
    """Convert each model to both targets; yield its file with the suffix, the verdict, and the reason."""
    for source in _sources(folder):
        for suffix in (".onnx", ".xml"):
            if only in f"{source.name}{suffix}":
                output = folder / f"{source.name}{suffix}"
                verdict, reason = _converted(source, output)
                if verdict == "proven" and (problem := _problem(source, output)):
                    verdict, reason = "wrong", problem
                yield f"{source.name} to {suffix}", verdict, reason


def _converted(source: Path, output: Path) -> tuple[str, str]:
    """Return the verdict of a conversion, and the note of its proof or the reason of its refusal."""
    import ir_interp
    from ir_interp import IrInterpError, VerificationError

    try:
        report = ir_interp.convert(source, output)
    except VerificationError as error:
        return "refused" if any(text in str(error) for text in NAMED) else "differs", str(error)
    except (IrInterpError, ExceptionGroup) as error:
        return "refused", "; ".join(map(str, getattr(error, "exceptions", (error,))))
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"
    return ("proven", report.verification.note) if report.verification else ("wrong", "no verification")


def _problem(source: Path, output: Path) -> str:
    """Return what a result has other than the source in plain calls; empty if it is the same."""
    known = Reference.load(source)
    if known is None:
        return "no reference"
    actual = outputs(output, list(known.inputs.values()))
    if (inputs(output), list(actual)) != (list(known.inputs), list(known.outputs)):
        return (
            f"named {inputs(output)} and {list(actual)}, in the source {list(known.inputs)} and {list(known.outputs)}"
        )
    pairs = zip(actual.values(), known.outputs.values(), known.slack or [0.0] * len(actual), strict=True)
    for mine, theirs, slack in pairs:
        difference = apart([mine], [theirs])
        least = DYNAMIC if ".dynamic." in source.name else HALVES.get(mine.dtype.name, TOLERANCE)
        if not difference <= max(least, slack / max(np.abs(theirs.astype(float)).max(), 1e-30)):
            return f"{difference:.2g} from the source in plain calls"
    return ""


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
    for name in (*NETS, *FUNCTIONS):
        log = arguments.folder / f"{name}.log"
        if not log.exists() and arguments.only.split(".")[0] in name:
            command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, str(arguments.folder)]
            with log.open("w") as file:
                subprocess.run([*command, "--write", name], check=False, stdout=file, stderr=file)
    counts: Counter[str] = Counter()
    for name, verdict, reason in converted(arguments.folder, arguments.only):
        counts[f"{verdict} {name.split(' to ')[0].split('.')[-1]}"] += 1
        print(f"{verdict:8} {name}: {reason}", flush=True)
    print("\n".join(f"{count:4} {verdict}" for verdict, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
