"""Ask TensorRT's own importer and builder about random nodes, layers and whole models, and compare their answers.

``python -m tests.sweeps.tensorrt --cases 2000 --models 8 --seed 1`` needs no GPU, but one of NVIDIA's packages: ``pip
install --no-deps onnxruntime-ep-nv-tensorrt-rtx-cu13`` (0.3.0, 0.4.0 or 0.5.0), ``tensorrt_rtx`` or ``tensorrt``. For
every node it compares what is accepted, each setting of the IResizeLayer and its output sizes; for layers, which the
builder takes, and their sizes; for models, whether ``--target tensorrt`` is accepted. ``--gpu`` runs nodes on a GPU,
by the provider of that package and onnxruntime, and compares the outputs.

It exits with 1 for any disagreement.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import ir_interp
from ir_interp import AtRunTime, InexactError, SpecError
from ir_interp.converters import tensorrt_importer
from ir_interp.converters.dialects.tensorrt import DIALECT
from ir_interp.converters.onnx.resize_nodes import ResizeNode, nodes
from ir_interp.converters.predictions import RUNTIMES
from ir_interp.converters.runtimes import tensorrt_rtx
from ir_interp.converters.runtimes.outcome import Kind, Outcome
from ir_interp.converters.runtimes.tensorrt import layer_settings
from ir_interp.converters.tensorrt import LayerSettings
from ir_interp.converters.tensorrt_importer import Answer, Layer
from ir_interp.plan.taps import plan
from ir_interp.shapes import static_shape
from ir_interp.translation.dialect import Context
from tests.support.configurations import model_of
from tests.support.image_nodes import random_image_node
from tests.sweeps.audit import random_case
from tests.sweeps.whole_models import MODELS, built

Rng = np.random.Generator
_CLOSE = 1e-6  # of coefficients and scales, which TensorRT holds in float32
_TOLERANCE = 1e-2  # of outputs: a GPU may compute in TF32


def random_model(rng: Rng) -> onnx.ModelProto:
    """Return a model of one Resize or Upsample: an image among other nodes, or any node alone."""
    return random_image_node(rng).model if rng.random() < 0.5 else model_of(random_case(rng))


def predicted(node: ResizeNode) -> Outcome:
    """Return what is predicted of a node in its model."""
    runtime = RUNTIMES["tensorrt"]
    assert runtime.of_node is not None
    return runtime.among_others(node) or runtime.of_node(node)


def compared(path: Path, answer: Answer) -> str:
    """Return how an answer disagrees with the prediction of the one resize in a model; empty if it agrees."""
    (node,) = nodes(path)
    outcome = predicted(node)
    if outcome.kind is Kind.UNKNOWN and outcome.spec is None:
        return ""
    if outcome.spec is None:
        return "" if answer.refusals else f"predicted {outcome}, accepted"
    if answer.refusals:
        return f"predicted accepted, refused: {answer.refusal}"
    if len(answer.resizes) != 1:
        return f"{len(answer.resizes)} resize layers"
    return _of_layer(node, outcome, answer.resizes[0])


def _of_layer(node: ResizeNode, outcome: Outcome, layer: Layer) -> str:
    """Return how a layer differs from the predicted one."""
    found, op = layer.settings.attributes, node.op
    for name, value in layer_settings(op).items():
        if not _are_equal(value, found[name]):
            return f"{name} is {found[name]}, predicted {value}"
    shape = static_shape(node.stated.shape)
    if outcome.spec is None or shape is None or outcome.spec.waits:
        return ""
    sizes = plan(outcome.spec, shape).out_shape
    return "" if sizes == layer.sizes else f"sizes {layer.sizes}, predicted {sizes}"


def _are_equal(value: object, found: object) -> bool:
    if isinstance(value, float) and isinstance(found, float):
        return abs(value - found) < _CLOSE
    return value == found


def of_nodes(cases: int, rng: Rng, folder: Path) -> int:
    """Print how many answers about nodes there were; return how many disagree."""
    counts, wrong, path = Counter[str](), 0, folder / "node.onnx"
    for _ in range(cases):
        onnx.save(random_model(rng), path)
        answer = tensorrt_importer.imported(path)
        problem, (node,) = compared(path, answer), nodes(path)
        kind = predicted(node).kind.value if predicted(node).spec is None else "accepted"
        counts[f"predicted {kind}, {'refused' if answer.refusals else 'accepted'}"] += 1
        if problem:
            wrong += 1
            print(
                f"{problem}: {node.op.dialect} {node.op.version} {node.op.dtype} {node.op.shape} {node.op.attributes}"
            )
    print(f"nodes: {dict(sorted(counts.items()))}; wrong {wrong} of {cases}", flush=True)
    return wrong


def random_layer(rng: Rng) -> LayerSettings:
    """Return any settings of an IResizeLayer, for any input that a network may have."""
    rank = int(rng.integers(1, 9))
    shape = tuple(int(rng.integers(1, 7)) for _ in range(rank))
    resized = [bool(rng.random() < 0.5) for _ in range(rank)]
    if rng.random() < 0.6:
        resized = [bool(chosen and axis >= rank - 2) for axis, chosen in enumerate(resized)]
    attributes: dict[str, Any] = {
        name: rng.choice(list(DIALECT.choices(10)[name]))
        for name in ("resize_mode", "coordinate_transformation", "selector_for_single_pixel", "nearest_rounding")
    }
    attributes = {name: str(value) for name, value in attributes.items()}
    attributes |= {"exclude_outside": bool(rng.random() < 0.3), "cubic_coeff": float(rng.choice([-0.75, -0.5, -0.6]))}
    kind = rng.random()
    if kind < 0.45:
        scales = (float(rng.choice([0.5, 0.7, 1.3, 1.5, 2.0, 2.6, 3.1])) if each else 1.0 for each in resized)
        attributes["scales"] = tuple(float(np.float32(scale)) for scale in scales)
    elif kind < 0.9:
        pairs = zip(shape, resized, strict=True)
        attributes["shape"] = tuple(int(rng.integers(1, 14)) if each else size for size, each in pairs)
    else:
        attributes["shape"] = None
    dtype = str(
        rng.choice(["float32", "float16", "int8", "bfloat16", "int32", "uint8"], p=(0.5, 0.2, 0.1, 0.1, 0.05, 0.05))
    )
    dynamic = tuple(None if rng.random() < 0.1 else size for size in shape)
    return LayerSettings(name="up", attributes=attributes, context=Context(version=10, shape=dynamic, dtype=dtype))


def of_layers(cases: int, rng: Rng) -> int:
    """Print how many layers the builder took; return how many answers disagree with the rules of the dialect."""
    counts, wrong = Counter[str](), 0
    for _ in range(cases):
        layer = random_layer(rng)
        answer = tensorrt_importer.built(layer)
        problem, kind = _of_settings(layer, answer)
        counts[kind] += 1
        if problem:
            wrong += 1
            print(f"{problem}: {layer}")
    print(f"layers: {dict(sorted(counts.items()))}; wrong {wrong} of {cases}", flush=True)
    return wrong


def _of_settings(layer: LayerSettings, answer: Answer) -> tuple[str, str]:
    """Return how the builder's answer disagrees, and what it is."""
    try:
        spec = layer.op.spec
    except ir_interp.ReadError as error:
        # A cubic of other axes is taken, though no page has it; ranges of dynamic sizes are tested with an engine.
        is_open = layer.attributes["resize_mode"] == "CUBIC" or None in (layer.context.shape or ())
        taken = not answer.refusals
        return (
            f"refused here ({error}), taken" if taken and not is_open else "",
            "taken, open" if taken else "refused",
        )
    if answer.refusals:
        return f"read here, refused: {answer.refusal}", "refused"
    (built_layer,) = answer.resizes
    for name, value in layer.attributes.items():
        found = built_layer.settings.attributes.get(name)
        if name not in ("shape", "scales") and not _are_equal(value, found):
            return f"{name} is {found}, set to {value}", "taken"
    shape = static_shape(layer.context.shape)
    if shape is None or spec.target is AtRunTime.SIZES:
        return "", "taken"
    sizes = plan(spec, shape).out_shape
    return ("" if sizes == built_layer.sizes else f"sizes {built_layer.sizes}, expected {sizes}"), "taken"


def of_models(runs: int, seed: int, folder: Path) -> int:
    """Print TensorRT's answers to whole models, and to them after ``--target tensorrt``; return how many disagree."""
    wrong, counts = 0, Counter[str]()
    for name in MODELS:
        for number in range(runs):
            path, _, _ = built(name, seed + number, folder)
            before, problem = tensorrt_importer.imported(path), ""
            rows = ir_interp.audit(path, runtimes=["tensorrt"]).rows
            is_refused = any(row.predictions["tensorrt"].kind is Kind.REFUSED for row in rows)
            if is_refused != bool(before.refusals):
                problem = f"predicted {'refused' if is_refused else 'accepted'}: {before.refusal or 'accepted'}"
            made, after = path.with_suffix(".made.onnx"), "no form"
            with contextlib.suppress(ExceptionGroup):
                ir_interp.convert(path, made, target="tensorrt", verify=False)
                answer = tensorrt_importer.imported(made)
                after = "accepted"
                if answer.refusals:
                    problem, after = f"--target tensorrt: {answer.refusal}", "refused"
            counts[f"{'refused' if before.refusals else 'accepted'}, after --target tensorrt {after}"] += 1
            if problem:
                wrong += 1
                print(f"{name}: {problem}")
    print(f"models: {dict(sorted(counts.items()))}; wrong {wrong} of {runs * len(MODELS)}", flush=True)
    return wrong


def of_targets(cases: int, rng: Rng, folder: Path) -> int:
    """Print TensorRT's answers to random nodes after ``--target tensorrt``; return how many are refused."""
    wrong, counts = 0, Counter[str]()
    path, made = folder / "node.onnx", folder / "made.onnx"
    for _ in range(cases):
        onnx.save(random_model(rng), path)
        try:
            ir_interp.convert(path, made, target="tensorrt", verify=False)
        except ExceptionGroup as refusals:
            if refusals.split(InexactError)[1]:
                raise
            counts["no form"] += 1
            continue
        answer = tensorrt_importer.imported(made)
        counts["refused" if answer.refusals else "accepted"] += 1
        if answer.refusals:
            wrong += 1
            (node,) = nodes(path)
            where = f"{node.op.version} {node.op.dtype} {node.op.shape} {node.op.attributes}"
            print(f"--target tensorrt: {answer.refusal}: {where}")
    print(f"nodes after --target tensorrt: {dict(sorted(counts.items()))}", flush=True)
    return wrong


def on_gpu(cases: int, rng: Rng, folder: Path) -> int:
    """Run nodes on a GPU by the provider, and return how many outputs differ from those of the predicted layer."""
    import onnxruntime

    if tensorrt_rtx.folder() is None:
        print(f"--gpu: skipped, {tensorrt_rtx.DISTRIBUTION} is not installed")
        return 0
    try:
        library = importlib.import_module(tensorrt_rtx.PACKAGE).get_library_path()
        onnxruntime.register_execution_provider_library("tensorrt", library)
    except Exception as error:  # whatever onnxruntime raises where the driver of a GPU is missing
        print(f"--gpu: skipped, {error}")
        return 0
    devices = [each for each in onnxruntime.get_ep_devices() if each.ep_name == _PROVIDER_NAME]
    if not devices:
        print("--gpu: skipped, there is no GPU for TensorRT-RTX")
        return 0
    wrong, ran, path = 0, 0, folder / "node.onnx"
    for _ in range(cases):
        drawn = random_image_node(rng)
        onnx.save(drawn.model, path)
        (node,) = nodes(path)
        outcome = predicted(node)
        if outcome.spec is None:
            continue
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        options.add_provider_for_devices(devices[:1], {})
        output = onnxruntime.InferenceSession(str(path), options).run(None, {"x": drawn.x})[0]
        with contextlib.suppress(SpecError):
            expected = drawn.meaning(replace(node.op, spec=outcome.spec))
            ran += 1
            apart = np.abs(output.astype(float) - expected.astype(float)).max(initial=0)
            if output.shape != expected.shape or apart > _TOLERANCE:
                wrong += 1
                print(f"on the GPU: {apart:.2g} apart: {node.op.version} {node.op.shape} {node.op.attributes}")
    print(f"on the GPU: wrong {wrong} of {ran}", flush=True)
    return wrong


_PROVIDER_NAME = "NvTensorRTRTXExecutionProvider"


def main(arguments: list[str]) -> int:
    """Compare what the options choose; return 1 if anything disagrees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500, help="how many nodes, and as many layers")
    parser.add_argument("--models", type=int, default=1, help="how often each whole model is drawn")
    parser.add_argument("--targets", type=int, default=100, help="how many nodes to convert with --target tensorrt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gpu", action="store_true", help="run nodes on a GPU")
    options = parser.parse_args(arguments)
    if not tensorrt_importer.is_installed():
        print(f"skipped: TensorRT's importer is not installed; pip install --no-deps {tensorrt_rtx.DISTRIBUTION}")
        return 0
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        if options.gpu:
            return int(bool(on_gpu(options.cases, rng, Path(folder))))
        wrong = of_nodes(options.cases, rng, Path(folder))
        wrong += of_layers(options.cases, rng)
        wrong += of_targets(options.targets, rng, Path(folder))
        wrong += of_models(options.models, options.seed, Path(folder))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
