"""A resize that no single TensorRT layer computes, as several: Python that adds them to a network.

Names, ranks and arguments are those of the Python API's ``INetworkDefinition`` (add_constant, add_gather,
add_matrix_multiply, add_elementwise, add_reduce, add_select, add_shuffle); TensorRT itself was not run. Layers of two
inputs require them to have one rank, and arrays must live as long as the network: they stand in the module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import InexactError, SpecError
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape

from ..decompose.decomposed_resize import Decomposed, decompose
from ..runtimes.openvino_sizes import ANY_SIZE, LargestGather
from ..runtimes.tensorrt import volume_refusal

_ELEMENTWISE = {"add": "SUM", "subtract": "SUB", "multiply": "PROD", "minimum": "MIN", "maximum": "MAX"}
_TYPE = "float32"  # of the summands; no page specifies how other types are rounded


@dataclass(frozen=True, slots=True)
class _Array:
    """A constant, which becomes a layer where it is used: by then its rank is known."""

    value: NDArray[Any]


@dataclass(slots=True)
class _Layers:
    """Lines of Python that add layers; ``ranks`` are those of the tensors by the names of variables."""

    prefix: str
    ranks: dict[str, int]
    lines: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)

    def constant(self, array: Any) -> _Array:
        """Return a constant."""
        return _Array(np.asarray(array))

    def elementwise(self, name: str, *values: Any) -> str:
        """Return an elementwise operation."""
        rank = max(self._rank(value) for value in values)
        operands = ", ".join(self._tensor(value, rank) for value in values)
        if name == "select":
            return self._added(f"add_select({operands})", rank)
        if name not in _ELEMENTWISE:
            raise SpecError(f"TensorRT layers for {name} are not supported")
        return self._added(f"add_elementwise({operands}, trt.ElementWiseOperation.{_ELEMENTWISE[name]})", rank)

    def gather(self, x: Any, indices: Any, axis: int) -> str:
        """Return the entries of an axis at ``indices``."""
        assert isinstance(indices, _Array)
        places = self._tensor(_Array(indices.value.astype(np.int32)), indices.value.ndim)
        return self._added(f"add_gather({x}, {places}, {axis})", self.ranks[x] + indices.value.ndim - 1)

    def matmul(self, left: Any, right: Any) -> str:
        """Return a matrix product over the last two axes."""
        rank = max(self._rank(left), self._rank(right))
        plain = "trt.MatrixOperation.NONE"
        operands = f"{self._tensor(left, rank)}, {plain}, {self._tensor(right, rank)}, {plain}"
        return self._added(f"add_matrix_multiply({operands})", rank)

    def transpose(self, x: Any, order: Sequence[int]) -> str:
        """Return ``x`` with its axes in another order."""
        shuffle = self._name()
        self.lines += [f"{shuffle} = network.add_shuffle({x})", f"{shuffle}.first_transpose = {tuple(order)}"]
        return self._output(shuffle, self.ranks[x])

    def total(self, x: Any, axis: int, *, keep: bool) -> str:
        """Return the sum along an axis."""
        operands = f"{x}, trt.ReduceOperation.SUM, axes={1 << axis}, keep_dims={keep}"  # axes are a mask of bits
        return self._added(f"add_reduce({operands})", self.ranks[x] - (not keep))

    @property
    def largest_gather(self) -> LargestGather:
        """Return how many elements a gather may take from, or return."""
        return ANY_SIZE

    def __getattr__(self, name: str) -> Any:
        raise SpecError(f"TensorRT layers for {name} are not supported")

    def _rank(self, value: Any) -> int:
        return value.value.ndim if isinstance(value, _Array) else self.ranks[value]

    def _tensor(self, value: Any, rank: int) -> str:
        """Return a variable with a tensor of a rank; a constant gets axes of size 1 in front."""
        if not isinstance(value, _Array):
            return str(value)
        array = value.value.reshape((1,) * (rank - value.value.ndim) + value.value.shape)
        name = f"ADD_{self.prefix.upper()}_{len(self.arrays)}"  # a function's name may begin with a digit
        # "unique" writes the shortest text that reads back as the same float.
        text = np.array2string(array, separator=", ", threshold=array.size + 1, floatmode="unique", max_line_width=100)
        self.arrays.append(f"{name} = np.array({text}, np.{array.dtype.name})")
        return self._added(f"add_constant({array.shape}, {name})", rank)

    def _added(self, call: str, rank: int) -> str:
        layer = self._name()
        self.lines.append(f"{layer} = network.{call}")
        return self._output(layer, rank)

    def _name(self) -> str:
        return f"layer_{len(self.ranks)}"

    def _output(self, layer: str, rank: int) -> str:
        tensor = layer.replace("layer", "tensor")
        self.lines.append(f"{tensor} = {layer}.get_output(0)")
        self.ranks[tensor] = rank
        return tensor


def function(op: ResizeOp, identifier: str, refusal: InexactError) -> tuple[str, Decomposed]:
    """Return Python with a function that adds layers, and these layers. Raises InexactError if there are none."""
    known = static_shape(op.shape)
    if known is None or op.spec.waits:
        raise _refused(refusal, "several layers need a static shape")
    if (op.dtype or _TYPE) != _TYPE:
        raise _refused(refusal, f"several layers support {_TYPE} only, not {op.dtype}")
    ends = {"input": known, "output": plan(op.spec, known).out_shape}
    large = next(filter(None, (volume_refusal(shape, what) for what, shape in ends.items())), "")
    if large:
        raise refusal if refusal.reason == large else _refused(refusal, large)
    layers = _Layers(identifier, {"x": len(known)})
    try:
        decomposed = decompose(layers, "x", op)
    except SpecError as error:
        raise _refused(refusal, str(error)) from None
    head = f"def add_{identifier}(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:"
    body = [head, *(f"    {line}" for line in layers.lines), f"    return {decomposed.output}"]
    return "\n".join([*layers.arrays, "", "", *body] if layers.arrays else body), decomposed


def _refused(refusal: InexactError, reason: str) -> InexactError:
    return InexactError(refusal.name, refusal.target, reason=f"{refusal.reason}; and {reason}")
