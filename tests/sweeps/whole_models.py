"""Run whole models with random weights in every runtime that is installed: as they are, and made portable for it.

``python -m tests.sweeps.whole_models --seed 1`` builds heads, necks and decoders as exporters write them, asks the
audit about them, converts them with ``--target NAME`` and runs them three times each, with weights and images of other
seeds. It exits with 1 where a converted one differs, or a model differs of which all resizes were predicted the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import InexactError
from ir_interp.converters.audit.probe import RUNNERS, Job, Ran, run
from tests.support.graphs import onnxruntime_outputs
from tests.support.runtimes import IR_VERSION, OTHERS, Array

RUNS = 3
TOLERANCE = 1e-3  # of the largest value: convolutions add up in orders of their own
OF_EMPTY_INPUTS = 12  # up to this operator set an input of Resize is not left out, but empty
TORCH = {"coordinate_transformation_mode": "pytorch_half_pixel"}
CORNERS = {"coordinate_transformation_mode": "align_corners"}
REPEATED = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


@dataclass(slots=True, kw_only=True)
class Network:
    """A graph under construction, with random weights."""

    opset: int
    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; return its output."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def held(self, value: Any, dtype: type) -> str:
        """Add a constant; return its name."""
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def conv(self, x: str, inner: int, outer: int, *, size: int = 3, stride: int = 1, dilation: int = 1) -> str:
        """Add a convolution and its activation."""
        weights = self.rng.standard_normal((outer, inner, size, size)) / (size * inner**0.5)
        pad, spread = dilation * (size // 2), {"strides": [stride] * 2, "dilations": [dilation] * 2}
        kernel = self.held(weights, np.float32)
        return self.node("Relu", self.node("Conv", x, kernel, kernel_shape=[size] * 2, pads=[pad] * 4, **spread))

    def resize(self, x: str, *, sizes: Any = None, scales: Any = None, **attributes: Any) -> str:
        """Add a Resize, or an Upsample, as the operator set has it."""
        if self.opset < 11:
            return self.node(
                "Resize" if self.opset == 10 else "Upsample", x, self.held(scales, np.float32), **attributes
            )
        empty = self.held([], np.float32) if self.opset <= OF_EMPTY_INPUTS else ""
        if sizes is None:
            return self.node("Resize", x, empty, self.held(scales, np.float32), **attributes)
        return self.node("Resize", x, empty, empty, self.held(sizes, np.int64), **attributes)

    def model(self, x: str, shape: tuple[int, ...], dynamic: Mapping[int, str]) -> onnx.ModelProto:
        """Return the model whose output is ``x``; some lengths of its input are names."""
        self.node("Identity", x)
        self.nodes[-1].output[0] = "y"
        named = [dynamic.get(axis, n) for axis, n in enumerate(shape)]
        ends = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, each)
            for name, each in (("x", named), ("y", [None] * len(shape)))
        ]
        graph = helper.make_graph(self.nodes, "network", ends[:1], ends[1:], self.weights)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def deeplab(net: Network) -> str:
    """Return a segmentation head of parallel dilations and a pooled row, under align_corners."""
    linear = {"mode": "linear", **CORNERS}
    x = net.conv(net.conv("x", 3, 8, stride=2), 8, 8, stride=2)
    pooled = net.conv(net.node("GlobalAveragePool", x), 8, 8, size=1)
    branches = [net.resize(pooled, sizes=(1, 8, 9, 11), **linear), net.conv(x, 8, 8), net.conv(x, 8, 8, dilation=2)]
    joined = net.conv(net.node("Concat", *branches, axis=1), 24, 4)
    return net.resize(joined, sizes=(1, 4, 33, 41), **linear)


def unet(net: Network, **attributes: Any) -> str:
    """Return two levels of a decoder that doubles lengths, beside what it passes on."""
    first = net.conv("x", 3, 6)
    second = net.conv(first, 6, 8, stride=2)
    third = net.conv(second, 8, 8, stride=2)
    up = net.conv(net.node("Concat", net.resize(third, scales=(1, 1, 2, 2), **attributes), second, axis=1), 16, 8)
    return net.conv(net.node("Concat", net.resize(up, scales=(1, 1, 2, 2), **attributes), first, axis=1), 14, 3)


def antialiased(net: Network) -> str:
    """Return a segmentation of an image that is made smaller with antialias first."""
    kept = {"mode": "linear", "antialias": 1, "exclude_outside": 1, **TORCH}
    x = net.conv(net.resize("x", sizes=(1, 3, 20, 15), **kept), 3, 6)
    return net.resize(net.conv(x, 6, 2), sizes=(1, 2, 40, 36), mode="linear", **TORCH)


def pyramid(net: Network) -> str:
    """Return the sum of levels of a pyramid, which are doubled by copies."""
    first = net.conv("x", 3, 8, stride=2)
    second = net.conv(first, 8, 8, stride=2)
    return net.conv(net.node("Add", first, net.resize(second, scales=(1, 1, 2, 2), **REPEATED)), 8, 4)


def neck(net: Network) -> str:
    """Return a detector's neck of two levels: what is doubled is joined."""
    first = net.conv("x", 3, 8, stride=2)
    second = net.conv(net.conv(first, 8, 8, stride=2), 8, 8, size=1)
    up = net.resize(second, scales=(1, 1, 2, 2), mode="nearest", nearest_mode="floor")
    return net.conv(net.node("Concat", up, first, axis=1), 16, 4)


def super_resolution(net: Network) -> str:
    """Return a bicubic image three times as large, and what a network adds to it."""
    up = net.resize("x", scales=(1, 1, 3, 3), mode="cubic", cubic_coeff_a=-0.75, **TORCH)
    return net.node("Add", up, net.conv(net.conv(up, 3, 6), 6, 3))


def matting(net: Network) -> str:
    """Return a refinement at a fraction of the size, with the given scale in the coordinates."""
    small = net.resize("x", scales=(1, 1, 0.7, 0.7), mode="linear", **TORCH)
    return net.resize(net.conv(small, 3, 4), sizes=(1, 4, 37, 41), mode="linear", **TORCH)


def of_channels_last(net: Network) -> str:
    """Return a resize between Transposes, as converters from TensorFlow leave it."""
    first = net.node("Transpose", net.conv("x", 3, 4), perm=[0, 2, 3, 1])
    inner = net.node("Transpose", net.node("Softplus", first), perm=[0, 3, 1, 2])
    up = net.resize(inner, sizes=(1, 4, 50, 31), mode="linear", coordinate_transformation_mode="half_pixel")
    return net.conv(net.node("Transpose", net.node("Transpose", up, perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2]), 4, 3)


def heat_maps(net: Network) -> str:
    """Return heat maps by a cubic with another coefficient."""
    x = net.conv(net.conv("x", 3, 8, stride=2), 8, 5)
    return net.resize(x, sizes=(1, 5, 61, 53), mode="cubic", cubic_coeff_a=-0.5, **CORNERS)


def depth(net: Network) -> str:
    """Return a map that is doubled under align_corners, and copied to a mask by rounding up."""
    x = net.resize(net.conv("x", 3, 4, stride=2), scales=(1, 1, 2, 2), mode="linear", **CORNERS)
    return net.resize(x, sizes=(1, 4, 45, 50), mode="nearest", nearest_mode="round_prefer_ceil", **TORCH)


Build = Callable[[Network], str]
MODELS: dict[str, tuple[Build, int, tuple[int, ...], dict[int, str]]] = {
    "DeepLab head, align_corners": (deeplab, 11, (1, 3, 33, 41), {}),
    "UNet, opset 9": (lambda net: unet(net, mode="linear"), 9, (1, 3, 24, 32), {}),
    "UNet, opset 10": (lambda net: unet(net, mode="linear"), 10, (1, 3, 24, 32), {}),
    "UNet, opset 13": (lambda net: unet(net, mode="linear", **TORCH), 13, (1, 3, 24, 32), {}),
    "antialiased segmentation": (antialiased, 18, (1, 3, 40, 36), {}),
    "FPN": (pyramid, 11, (1, 3, 24, 32), {}),
    "detector neck, dynamic batch": (neck, 13, (1, 3, 24, 32), {0: "n"}),
    "super-resolution": (super_resolution, 16, (1, 3, 14, 17), {}),
    "matting": (matting, 11, (1, 3, 37, 41), {}),
    "Transposes": (of_channels_last, 13, (1, 3, 25, 17), {}),
    "heat maps": (heat_maps, 17, (1, 3, 40, 36), {}),
    "depth": (depth, 12, (1, 3, 24, 26), {}),
}


def built(name: str, seed: int, folder: Path) -> tuple[Path, Path, Array]:
    """Write a model and an image for it; return both, and what the model means."""
    build, opset, shape, dynamic = MODELS[name]
    rng = np.random.default_rng(seed)
    net = Network(opset=opset, rng=rng)
    path, image = folder / f"{list(MODELS).index(name)}-{seed}.onnx", rng.standard_normal(shape).astype(np.float32)
    onnx.save(net.model(build(net), shape, dynamic), path)
    np.save(path.with_suffix(".npy"), image)
    return path, path.with_suffix(".npy"), onnxruntime_outputs(path, {"x": image})[0]


def judged(answer: Ran, wanted: Array) -> str:
    """Return what a run came to."""
    if answer.output is None:
        return "dies" if answer.crash else "refused"
    if answer.output.shape != wanted.shape:
        return f"shape {list(answer.output.shape)}"
    apart = float(np.abs(answer.output - wanted).max() / np.abs(wanted).max())
    return "same" if apart <= TOLERANCE else f"{apart:.2g} apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A model as it stands and as it is converted, None where that has no form; and what is predicted of both."""

    name: str
    paths: tuple[Path, Path | None]
    image: Path
    wanted: Array
    predicted: str

    def jobs(self, runtime: str) -> list[Job]:
        """Return what to run."""
        return [Job(runtime=runtime, model=str(path), array=str(self.image)) for path in self.paths if path]


def prepared(runtime: str, name: str, seed: int, folder: Path) -> Prepared:
    """Build a model, ask the audit about its resizes, and convert it for a runtime."""
    path, image, wanted = built(name, seed, folder)
    rows = ir_interp.audit(path, runtimes=[runtime]).rows
    predicted = " ".join(sorted({row.predictions[runtime].kind.value for row in rows}))
    target = runtime if runtime in OTHERS or runtime == "openvino" else "any"
    made: Path | None = path.with_name(f"{path.stem}-{target}.onnx")
    try:
        ir_interp.convert(path, path.with_name(f"{path.stem}-{target}.onnx"), target=target, verify=False)
    except ExceptionGroup as refusals:
        if refusals.split(InexactError)[1]:
            raise
        made = None
    return Prepared(name=name, paths=(path, made), image=image, wanted=wanted, predicted=predicted)


def of_runtime(runtime: str, seed: int, folder: Path) -> int:
    """Print what every model comes to in a runtime, each time it is run; return how many are not as predicted."""
    models = [prepared(runtime, name, seed + number, folder) for name in MODELS for number in range(RUNS)]
    answers = iter(run([job for each in models for job in each.jobs(runtime)]))
    bad = 0
    for model in models:
        came = [judged(next(answers), model.wanted) if path else "no form" for path in model.paths]
        bad += came[1] not in ("same", "refused", "no form") or (model.predicted == "same" and came[0] != "same")
        print(f"{runtime}: {model.name}: predicted {model.predicted}; {came[0]}; after --target {came[1]}", flush=True)
    return bad


def main(arguments: list[str]) -> int:
    """Print what every model comes to in every runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="a runtime")
    options = parser.parse_args(arguments)
    installed = [name for name, each in RUNNERS.items() if each.is_installed]
    with tempfile.TemporaryDirectory() as folder:
        bad = sum(of_runtime(each, options.seed, Path(folder)) for each in options.only or installed)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
