"""Models run in TensorFlow and LiteRT by plain calls, without this program, on inputs that no proof has seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
_BATCH, _LENGTH = 2, 20  # of dynamic dimensions
_SEED = 770011
_LEVELS = 2
"""How many levels an output may be off as a whole, where every operator rounds some levels the other way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The inputs and outputs of a model by name, in the order that docs/conversions.md describes.

    ``slack`` is how far each output may differ, for models in levels of 8 bits.
    """

    inputs: Arrays
    outputs: Arrays
    slack: tuple[float, ...]

    def save(self, path: Path) -> None:
        """Write the reference beside its model."""
        arrays: dict[str, Any] = {f"input {name}": array for name, array in self.inputs.items()}
        arrays |= {f"output {name}": array for name, array in self.outputs.items()}
        np.savez(f"{path}.npz", slack=np.array(self.slack), **arrays)

    @classmethod
    def load(cls, path: Path) -> Reference | None:
        """Return the reference of a model; None if it has none."""
        if not Path(f"{path}.npz").exists():
            return None
        with np.load(f"{path}.npz") as file:
            ends = [
                {name.removeprefix(kind): file[name] for name in file.files if name.startswith(kind)}
                for kind in ("input ", "output ")
            ]
            return cls(inputs=ends[0], outputs=ends[1], slack=tuple(file["slack"].tolist()))


def reference(path: Path) -> Reference:
    """Return what TensorFlow or LiteRT computes from unseen inputs."""
    if path.suffix == ".tflite":
        return _of_tflite(path)
    shapes, run = {".pb": _of_graph, ".saved": _of_saved_model}.get(path.suffix, _of_keras)(path)
    inputs = _random(shapes)
    return Reference(inputs=inputs, outputs=run(inputs), slack=())


def _random(ends: Mapping[str, tuple[Any, Any]]) -> Arrays:
    """Return random arrays of the shapes and types of inputs; vectors of integers are sizes, scalars indices."""
    rng = np.random.default_rng(_SEED)
    arrays = {}
    for name, (shape, dtype) in ends.items():
        lengths = [length if length else (_LENGTH if axis else _BATCH) for axis, length in enumerate(shape)]
        element = np.dtype(dtype)
        if element.kind in "iu":
            low, high = {0: (0, 2), 1: (3, 12)}.get(len(lengths), (0, 100))
            arrays[name] = rng.integers(low, high, lengths).astype(element)
        else:
            arrays[name] = rng.random(lengths).astype(element)
    return arrays


_Call = Callable[[Arrays], Arrays]


def _of_keras(path: Path) -> tuple[dict[str, tuple[Any, Any]], _Call]:
    import tensorflow as tf

    net = tf.keras.models.load_model(str(path), compile=False)
    names = list(net.output_names)
    if len(set(names)) < len(names):  # of a tensor that is an output twice; those of the operations are used
        names = ["Identity", *(f"Identity_{place}" for place in range(1, len(names)))]

    def run(inputs: Arrays) -> Arrays:
        # Called directly, some layers return other types than the saved model does.
        results = tf.nest.flatten(net.predict(tf.nest.pack_sequence_as(net.input, list(inputs.values())), verbose=0))
        return dict(zip(names, map(np.asarray, results), strict=True))

    return {end.name: (end.shape, end.dtype) for end in net.inputs}, run


def _of_saved_model(path: Path) -> tuple[dict[str, tuple[Any, Any]], _Call]:
    import tensorflow as tf

    model = tf.saved_model.load(str(path))
    signature = model.signatures["serving_default"]
    ends = dict(sorted(signature.structured_input_signature[1].items()))

    def run(inputs: Arrays) -> Arrays:
        results = signature(**{name: tf.constant(array) for name, array in inputs.items()})
        return {name: np.asarray(results[name]) for name in sorted(results)}

    run.model = model  # type: ignore[attr-defined]  # its variables live as long as the model
    return {name: (end.shape, end.dtype.as_numpy_dtype) for name, end in ends.items()}, run


def _of_graph(path: Path) -> tuple[dict[str, tuple[Any, Any]], _Call]:
    import tensorflow as tf

    definition = tf.compat.v1.GraphDef()
    definition.ParseFromString(path.read_bytes())
    read = {name.removeprefix("^").split(":")[0] for node in definition.node for name in node.input}
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    ends = [graph.get_operation_by_name(node.name) for node in definition.node if node.op == "Placeholder"]
    last = [
        node.name
        for node in definition.node
        if node.name not in read and node.op not in ("Const", "NoOp", "Placeholder")
    ]
    operations = [graph.get_operation_by_name(name) for name in last]
    tensors = {
        f"{operation.name}_{place}" if len(operation.outputs) > 1 else operation.name: tensor
        for operation in operations
        for place, tensor in enumerate(operation.outputs)
    }

    def run(inputs: Arrays) -> Arrays:
        with tf.compat.v1.Session(graph=graph) as session:
            results = session.run(tensors, {f"{name}:0": array for name, array in inputs.items()})
        return dict(results)

    return {end.name: (end.outputs[0].shape, end.outputs[0].dtype.as_numpy_dtype) for end in ends}, run


def _of_tflite(path: Path) -> Reference:
    """Return LiteRT's outputs, and how far off they may be: some levels, and as far as its reference kernels are."""
    from ai_edge_litert.interpreter import OpResolverType

    inputs, outputs = _run_tflite(path, OpResolverType.AUTO)
    try:
        _, others = _run_tflite(path, OpResolverType.BUILTIN_REF)
    except (RuntimeError, ValueError):  # for operators without a reference kernel
        others = outputs
    slack = (
        _LEVELS * _level(mine) + np.abs(mine.astype(float) - others[name]).max(initial=0)
        for name, mine in outputs.items()
    )
    return Reference(inputs=inputs, outputs=outputs, slack=tuple(map(float, slack)))


def _level(output: NDArray[Any]) -> float:
    """Return the least distance of two values, which of values in levels is one level."""
    return 1.0 if output.dtype.kind in "iu" else float(np.diff(np.unique(output.astype(float))).min(initial=np.inf))


def _run_tflite(path: Path, kernels: Any) -> tuple[Arrays, Arrays]:
    from ai_edge_litert.interpreter import Interpreter

    net = Interpreter(model_path=str(path), num_threads=1, experimental_op_resolver_type=kernels)
    ends = net.get_input_details()
    inputs = _random({end["name"]: (end["shape_signature"].clip(0), end["dtype"]) for end in ends})
    for end in ends:
        net.resize_tensor_input(end["index"], inputs[end["name"]].shape)
    net.allocate_tensors()
    for end in ends:
        net.set_tensor(end["index"], inputs[end["name"]])
    net.invoke()
    return inputs, {end["name"]: np.array(net.get_tensor(end["index"])) for end in net.get_output_details()}
