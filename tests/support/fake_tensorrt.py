"""A stand-in for TensorRT's Python API: the documented names of networks, layers and tensors, and no others.

As there, a network hands out its layers as plain ILayers until their class is set, and nothing computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from types import SimpleNamespace
from typing import Any


class InterpolationMode(Enum):
    NEAREST = 0
    LINEAR = 1
    CUBIC = 2


class ResizeCoordinateTransformation(Enum):
    ALIGN_CORNERS = 0
    ASYMMETRIC = 1
    HALF_PIXEL = 2


class ResizeSelector(Enum):
    FORMULA = 0
    UPPER = 1


class ResizeRoundMode(Enum):
    HALF_UP = 0
    HALF_DOWN = 1
    FLOOR = 2
    CEIL = 3


class LayerType(Enum):
    ACTIVATION = 1
    RESIZE = 25


class DataType(Enum):
    FLOAT = 0
    HALF = 1
    INT8 = 2
    INT32 = 3
    BOOL = 4
    UINT8 = 5
    FP8 = 6
    BF16 = 7
    INT64 = 8


class ITensor:
    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name: str, dtype: DataType, shape: Sequence[int]) -> None:
        self.name, self.dtype, self.shape = name, dtype, tuple(shape)


class ILayer:
    """The attributes of every layer; ``_state`` is the layer itself, of which this is one sight."""

    __slots__ = ("_state",)

    def __init__(self, state: SimpleNamespace) -> None:
        object.__setattr__(self, "_state", state)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "__class__":
            object.__setattr__(self, name, value)
        elif name in ("name", *(self._settings())):
            self._check(name, value)
            setattr(self._state, name, value)
        else:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} that can be set")

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "type", *self._settings()):
            return getattr(self._state, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @classmethod
    def _settings(cls) -> Sequence[str]:
        return ()

    def _check(self, name: str, value: object) -> None:
        known = getattr(self._state, name)
        if isinstance(known, bool | Enum) and not isinstance(value, type(known)):
            raise TypeError(f"{name}: {value!r} is no {type(known).__name__}")

    @property
    def num_inputs(self) -> int:
        return len(self._state.inputs)

    def get_input(self, index: int) -> ITensor:
        tensor: ITensor = self._state.inputs[index]
        return tensor

    def get_output(self, index: int) -> ITensor:
        assert index == 0
        output: ITensor = self._state.output
        return output

    def set_input(self, index: int, tensor: ITensor) -> None:
        assert index <= self.num_inputs
        self._state.inputs[index:] = [tensor]


class IResizeLayer(ILayer):
    __slots__ = ()

    @classmethod
    def _settings(cls) -> Sequence[str]:
        return tuple(_NEW)


_NEW: dict[str, Any] = {
    "resize_mode": InterpolationMode.NEAREST,
    "coordinate_transformation": ResizeCoordinateTransformation.ASYMMETRIC,
    "selector_for_single_pixel": ResizeSelector.FORMULA,
    "nearest_rounding": ResizeRoundMode.FLOOR,
    "exclude_outside": False,
    "cubic_coeff": -0.75,
    "scales": [],
    "shape": (),
}


class INetworkDefinition:
    __slots__ = ("_layers",)

    def __init__(self) -> None:
        self._layers: list[SimpleNamespace] = []

    @property
    def num_layers(self) -> int:
        return len(self._layers)

    def get_layer(self, index: int) -> ILayer:
        return ILayer(self._layers[index])

    def __getitem__(self, index: int) -> ILayer:
        return self.get_layer(index)

    def __iter__(self) -> Iterator[ILayer]:
        return map(ILayer, self._layers)

    def add_input(self, name: str, dtype: DataType, shape: Sequence[int]) -> ITensor:
        return ITensor(name, dtype, shape)

    def add_activation(self, x: ITensor) -> ILayer:
        return ILayer(self._added(x, LayerType.ACTIVATION))

    def add_resize(self, x: ITensor) -> IResizeLayer:
        return IResizeLayer(self._added(x, LayerType.RESIZE, **_NEW))

    def _added(self, x: ITensor, kind: LayerType, **settings: Any) -> SimpleNamespace:
        name = f"(Unnamed Layer* {self.num_layers})"
        output = ITensor(f"{name}_output", x.dtype, ())
        self._layers.append(SimpleNamespace(name=name, type=kind, inputs=[x], output=output, **settings))
        return self._layers[-1]
