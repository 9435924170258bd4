"""TensorRT-RTX's shared libraries under the names of TensorRT's Python API: its builder, networks and ONNX parser.

NVIDIA's provider for onnxruntime (the package ``PACKAGE``) contains both libraries, but no Python API. Building a
network and parsing a model need no GPU; only engines do. This module has only what resizes need.

The libraries return C++ objects. Their virtual functions are called by their place in the table of the class. The
places follow the headers NvInferImpl.h and NvOnnxParser.h (github.com/NVIDIA/TensorRT, include/), and were checked in
the releases ``RELEASES``. A library of another release is refused, since a wrong place would call another function.

A crash of the libraries ends the process, so callers run this module in a worker.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError

PACKAGE = "onnxruntime_ep_nv_tensorrt_rtx"
"""The package that holds the libraries."""
DISTRIBUTION = "onnxruntime-ep-nv-tensorrt-rtx-cu13"
"""The distribution of that package for pip."""
RELEASES = ("1.5.0", "1.6.1", "1.7.1")
"""The releases of TensorRT-RTX whose tables were checked: those of provider 0.3.0, 0.4.0 and 0.5.0."""

_LIBRARY, _PARSER = "libtensorrt_rtx.so.", "libtensorrt_onnxparser_rtx.so."


def folder() -> Path | None:
    """Return the folder of the libraries without importing the package; None if it is not installed."""
    known = find_spec(PACKAGE) if sys.platform == "linux" else None
    places = (known.submodule_search_locations or ()) if known else ()
    return next((Path(place) for place in places if _release(Path(place))), None)


def _release(place: Path) -> str:
    """Return the release of the libraries in a folder, by their names; empty if there are none."""
    # The provider adds links with fewer numbers when it is first loaded.
    files = (path for path in sorted(place.glob(f"{_LIBRARY}*")) if not path.is_symlink())
    return next((path.name.removeprefix(_LIBRARY) for path in files), "")


class InterpolationMode(Enum):
    """A resize's mode."""

    NEAREST = 0
    LINEAR = 1
    CUBIC = 2


class ResizeCoordinateTransformation(Enum):
    """How an output's index becomes a coordinate."""

    ALIGN_CORNERS = 0
    ASYMMETRIC = 1
    HALF_PIXEL = 2


class ResizeSelector(Enum):
    """The coordinate of a single output."""

    FORMULA = 0
    UPPER = 1


class ResizeRoundMode(Enum):
    """How nearest rounds a coordinate."""

    HALF_UP = 0
    HALF_DOWN = 1
    FLOOR = 2
    CEIL = 3


class DataType(Enum):
    """An element type."""

    FLOAT = 0
    HALF = 1
    INT8 = 2
    INT32 = 3
    BOOL = 4
    UINT8 = 5
    FP8 = 6
    BF16 = 7
    INT64 = 8
    INT4 = 9
    FP4 = 10
    E8M0 = 11


class LayerType(Enum):
    """A layer's type: a resize, or any other."""

    OTHER = -1
    RESIZE = 25

    @classmethod
    def _missing_(cls, value: object) -> LayerType:
        return cls.OTHER


class _Dims(ctypes.Structure):
    """The sizes of a tensor: -1 for a dynamic one, and a negative rank if they are invalid."""

    _fields_ = (("rank", ctypes.c_int32), ("sizes", ctypes.c_int64 * 8))


def _dims(sizes: Iterable[int]) -> _Dims:
    listed = [*sizes]
    if len(listed) > len(_Dims().sizes):
        raise IrInterpError(f"TensorRT takes up to {len(_Dims().sizes)} dimensions, not {len(listed)}")
    return _Dims(len(listed), (ctypes.c_int64 * 8)(*listed))


def _sizes(dims: _Dims) -> tuple[int, ...]:
    return tuple(dims.sizes[: max(dims.rank, 0)])


def _called(this: int, place: int, result: Any, *arguments: tuple[Any, Any]) -> Any:
    """Call the virtual function of an object at a place of its table; arguments are types and values."""
    table = ctypes.cast(this, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
    kind = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *(each for each, _ in arguments))
    return kind(table[place])(this, *(value for _, value in arguments))


def _part(this: int, index: int) -> int:
    """Return the pointer at an index of an object; the pointer at 0 is that to its table."""
    return int(ctypes.cast(this, ctypes.POINTER(ctypes.c_void_p))[index] or 0)


_BASE = 2  # places of the destructor, with which most tables begin
_CREATE_CONFIG, _CREATE_NETWORK, _IS_SUPPORTED = _BASE + 3, _BASE + 4, _BASE + 10  # of VBuilder
_ADD_INPUT, _MARK_OUTPUT, _ADD_RESIZE = _BASE, _BASE + 1, _BASE + 37  # of VNetworkDefinition
_COUNT_LAYERS, _GET_LAYER, _COUNT_NETWORK_INPUTS, _GET_NETWORK_INPUT = range(_BASE + 10, _BASE + 14)
_GET_TYPE, _SET_NAME, _GET_NAME, _COUNT_INPUTS, _GET_INPUT = range(_BASE, _BASE + 5)  # of VLayer
_GET_OUTPUT, _SET_INPUT = _BASE + 6, _BASE + 7
_GET_TENSOR_NAME, _GET_DIMENSIONS, _GET_DATA_TYPE = _BASE + 1, _BASE + 3, _BASE + 4  # of VTensor
_SET_SIZES, _GET_SIZES, _SET_SCALES, _GET_SCALES = range(_BASE, _BASE + 4)  # of VResizeLayer
_SETTINGS: dict[str, tuple[int, type[Enum] | type[float] | type[bool]]] = {
    "resize_mode": (_BASE + 4, InterpolationMode),
    "coordinate_transformation": (_BASE + 6, ResizeCoordinateTransformation),
    "selector_for_single_pixel": (_BASE + 8, ResizeSelector),
    "nearest_rounding": (_BASE + 10, ResizeRoundMode),
    "cubic_coeff": (_BASE + 12, float),
    "exclude_outside": (_BASE + 14, bool),
}  # the place of each setter, which its getter follows
_PARSE_FILE, _COUNT_ERRORS, _GET_ERROR = 1, 3, 4  # of IParser, whose table ends with its destructor
_ERROR_TEXT, _ERROR_NODE, _ERROR_NODE_NAME, _ERROR_OPERATOR = 1, 5, 6, 7  # of IParserError, likewise


def _c_type(kind: type[Enum] | type[float] | type[bool]) -> Any:
    if kind is float:
        return ctypes.c_float
    return ctypes.c_bool if kind is bool else ctypes.c_int32


class Logger:
    """A logger that keeps errors; it must live as long as the objects that use it."""

    ERROR = 1  # the severity of errors; that of internal errors is 0

    def __init__(self) -> None:
        self.messages: list[str] = []
        plain = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        # Language, information about the interface, two destructors, log. The information is a structure of 16 bytes,
        # which a callback cannot return; none of the releases asks for it.
        functions = (
            *(plain(lambda this: None) for _ in range(4)),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)(self._log),
        )
        self._functions = functions
        self._table = (ctypes.c_void_p * len(functions))(*(ctypes.cast(each, ctypes.c_void_p) for each in functions))
        self._object = (ctypes.c_void_p * 1)(ctypes.addressof(self._table))
        self.address = ctypes.addressof(self._object)

    def _log(self, this: int, severity: int, text: bytes) -> None:
        if severity <= self.ERROR:
            self.messages.append(text.decode(errors="replace"))


class ITensor:
    """A tensor of a network."""

    def __init__(self, address: int) -> None:
        self.address = address
        self._tensor = _part(address, 1)

    @property
    def name(self) -> str:
        """Its name."""
        return str(_called(self._tensor, _GET_TENSOR_NAME, ctypes.c_char_p).decode(errors="replace"))

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes as the builder computes them, -1 for dynamic ones; empty if they are invalid."""
        return _sizes(_called(self._tensor, _GET_DIMENSIONS, _Dims))

    @property
    def dtype(self) -> DataType:
        """Its element type."""
        return DataType(_called(self._tensor, _GET_DATA_TYPE, ctypes.c_int32))


class ILayer:
    """A layer of a network."""

    _OWN = ("_layer", "_resize")

    def __init__(self, address: int) -> None:
        self._layer = _part(address, 1)
        self._resize = _part(address, 2)

    @property
    def type(self) -> LayerType:
        """Its type."""
        return LayerType(_called(self._layer, _GET_TYPE, ctypes.c_int32))

    @property
    def name(self) -> str:
        """Its name."""
        return str(_called(self._layer, _GET_NAME, ctypes.c_char_p).decode(errors="replace"))

    @name.setter
    def name(self, name: str) -> None:
        _called(self._layer, _SET_NAME, None, (ctypes.c_char_p, name.encode()))

    @property
    def num_inputs(self) -> int:
        """The number of its inputs."""
        return int(_called(self._layer, _COUNT_INPUTS, ctypes.c_int32))

    def get_input(self, index: int) -> ITensor:
        """Return an input."""
        return ITensor(_called(self._layer, _GET_INPUT, ctypes.c_void_p, (ctypes.c_int32, index)))

    def get_output(self, index: int) -> ITensor:
        """Return an output."""
        return ITensor(_called(self._layer, _GET_OUTPUT, ctypes.c_void_p, (ctypes.c_int32, index)))

    def set_input(self, index: int, tensor: ITensor) -> None:
        """Set an input; the second one of a resize holds its sizes."""
        _called(self._layer, _SET_INPUT, None, (ctypes.c_int32, index), (ctypes.c_void_p, tensor.address))


class IResizeLayer(ILayer):
    """A resize of a network, with the settings of ``_SETTINGS``, ``scales`` and ``shape``."""

    def __getattr__(self, name: str) -> Any:
        if name not in _SETTINGS:
            raise AttributeError(f"IResizeLayer has no attribute {name!r}")
        place, kind = _SETTINGS[name]
        return kind(_called(self._resize, place + 1, _c_type(kind)))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _SETTINGS:
            place, kind = _SETTINGS[name]
            argument = value.value if isinstance(value, Enum) else kind(value)
            _called(self._resize, place, None, (_c_type(kind), argument))
        else:
            super().__setattr__(name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes that were set; empty if none were."""
        return _sizes(_called(self._resize, _GET_SIZES, _Dims))

    @shape.setter
    def shape(self, sizes: Sequence[int]) -> None:
        dims = _dims(sizes)
        _called(self._resize, _SET_SIZES, None, (ctypes.c_void_p, ctypes.addressof(dims)))

    @property
    def scales(self) -> list[float]:
        """The scales that were set; empty if none were."""
        count = int(self._copied(0, None))
        values = (ctypes.c_float * max(count, 0))()
        if count > 0:
            self._copied(count, ctypes.addressof(values))
        return [float(value) for value in values]

    @scales.setter
    def scales(self, scales: Sequence[float]) -> None:
        values = (ctypes.c_float * len(scales))(*scales)
        arguments = ((ctypes.c_void_p, ctypes.addressof(values)), (ctypes.c_int32, len(scales)))
        _called(self._resize, _SET_SCALES, None, *arguments)

    def _copied(self, count: int, values: int | None) -> Any:
        arguments = ((ctypes.c_int32, count), (ctypes.c_void_p, values))
        return _called(self._resize, _GET_SCALES, ctypes.c_int32, *arguments)


class INetworkDefinition:
    """A network; its builder must live as long."""

    def __init__(self, address: int) -> None:
        self.address = address
        self._network = _part(address, 1)

    @property
    def num_layers(self) -> int:
        """The number of its layers."""
        return int(_called(self._network, _COUNT_LAYERS, ctypes.c_int32))

    def get_layer(self, index: int) -> ILayer:
        """Return a layer."""
        address = _called(self._network, _GET_LAYER, ctypes.c_void_p, (ctypes.c_int32, index))
        layer = ILayer(address)
        return IResizeLayer(address) if layer.type is LayerType.RESIZE else layer

    @property
    def num_inputs(self) -> int:
        """The number of its inputs."""
        return int(_called(self._network, _COUNT_NETWORK_INPUTS, ctypes.c_int32))

    def get_input(self, index: int) -> ITensor:
        """Return an input."""
        return ITensor(_called(self._network, _GET_NETWORK_INPUT, ctypes.c_void_p, (ctypes.c_int32, index)))

    def add_input(self, name: str, dtype: DataType, shape: Sequence[int]) -> ITensor:
        """Add an input, -1 for dynamic dimensions."""
        dims = _dims(shape)
        arguments = ((ctypes.c_int32, dtype.value), (ctypes.c_void_p, ctypes.addressof(dims)))
        address = _called(self._network, _ADD_INPUT, ctypes.c_void_p, (ctypes.c_char_p, name.encode()), *arguments)
        if not address:
            raise IrInterpError(f"TensorRT refuses the input {name!r} of {dtype.name} {[*shape]}")
        return ITensor(address)

    def add_resize(self, tensor: ITensor) -> IResizeLayer:
        """Add a resize."""
        address = _called(self._network, _ADD_RESIZE, ctypes.c_void_p, (ctypes.c_void_p, tensor.address))
        if not address:
            raise IrInterpError(f"TensorRT refuses to resize {tensor.name!r}")
        layer = IResizeLayer(address)
        assert layer.type is LayerType.RESIZE, layer.type
        return layer

    def mark_output(self, tensor: ITensor) -> None:
        """Make a tensor an output."""
        _called(self._network, _MARK_OUTPUT, None, (ctypes.c_void_p, tensor.address))


class IBuilderConfig:
    """A configuration of a builder."""

    def __init__(self, address: int) -> None:
        self.address = address


class Builder:
    """A builder of networks."""

    def __init__(self, logger: Logger) -> None:
        library = _library(_LIBRARY)
        create = library.createInferBuilder_INTERNAL
        create.restype, create.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int32)
        address = create(logger.address, library.getInferLibVersion())
        if not address:
            raise IrInterpError("; ".join(["TensorRT creates no builder", *logger.messages]))
        self._builder = _part(address, 1)

    def create_network(self, flags: int = 0) -> INetworkDefinition:
        """Return a new network."""
        return INetworkDefinition(_called(self._builder, _CREATE_NETWORK, ctypes.c_void_p, (ctypes.c_uint32, flags)))

    def create_builder_config(self) -> IBuilderConfig:
        """Return a new configuration."""
        return IBuilderConfig(_called(self._builder, _CREATE_CONFIG, ctypes.c_void_p))

    def is_network_supported(self, network: INetworkDefinition, config: IBuilderConfig) -> bool:
        """Return whether the builder accepts the layers of a network with their settings; if not, it logs why."""
        arguments = ((ctypes.c_void_p, network.address), (ctypes.c_void_p, config.address))
        return bool(_called(self._builder, _IS_SUPPORTED, ctypes.c_bool, *arguments))


class ParserError:
    """An error of the parser."""

    def __init__(self, address: int) -> None:
        self._error = address

    def desc(self) -> str:
        """Return what is wrong."""
        return self._text(_ERROR_TEXT)

    def node(self) -> int:
        """Return the index of the node among those of the graph."""
        return int(_called(self._error, _ERROR_NODE, ctypes.c_int))

    def node_name(self) -> str:
        """Return the name of the node; the parser invents one for a node without a name."""
        return self._text(_ERROR_NODE_NAME)

    def node_operator(self) -> str:
        """Return the operator of the node."""
        return self._text(_ERROR_OPERATOR)

    def _text(self, place: int) -> str:
        return (_called(self._error, place, ctypes.c_char_p) or b"").decode(errors="replace")


class OnnxParser:
    """The importer of ONNX models into a network."""

    def __init__(self, network: INetworkDefinition, logger: Logger) -> None:
        library = _library(_PARSER)
        create = library.createNvOnnxParser_INTERNAL
        create.restype, create.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)
        self._parser = create(network.address, logger.address, library.getNvOnnxParserVersion())

    def parse_from_file(self, path: str) -> bool:
        """Add the model of a file to the network; return whether all of it was accepted."""
        severity = (ctypes.c_int32, Logger.ERROR)
        return bool(_called(self._parser, _PARSE_FILE, ctypes.c_bool, (ctypes.c_char_p, path.encode()), severity))

    @property
    def num_errors(self) -> int:
        """The number of errors."""
        return int(_called(self._parser, _COUNT_ERRORS, ctypes.c_int))

    def get_error(self, index: int) -> ParserError:
        """Return an error."""
        return ParserError(_called(self._parser, _GET_ERROR, ctypes.c_void_p, (ctypes.c_int, index)))


def version() -> str:
    """Return the release of the libraries; empty if they are not installed."""
    place = folder()
    return _release(place) if place else ""


def _library(name: str) -> ctypes.CDLL:
    """Return a library. Raises IrInterpError if it is missing, or of a release whose tables were not checked."""
    place, release = folder(), version()
    if place is None:
        raise IrInterpError(f"TensorRT-RTX is missing; pip install {DISTRIBUTION}")
    if release not in RELEASES:
        raise IrInterpError(f"TensorRT-RTX {release} is not supported; expected {', '.join(RELEASES)}")
    ctypes.CDLL(str(place / f"{_LIBRARY}{release}"), mode=ctypes.RTLD_GLOBAL)  # which the parser needs
    return ctypes.CDLL(str(place / f"{name}{release}"), mode=ctypes.RTLD_GLOBAL)
