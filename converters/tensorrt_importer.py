"""The answers of TensorRT's own importer and builder, if they are installed; no GPU is needed.

They belong to NVIDIA's Python packages ``tensorrt`` and ``tensorrt_rtx`` or, without these, to the libraries that
``runtimes/tensorrt_rtx.py`` calls. They are native code and models may be untrusted, so they run in a worker only:
``imported`` and ``built`` ask it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import IrInterpError
from ir_interp.shapes import Array

from . import tensorrt
from .runtimes import tensorrt_rtx
from .tensorrt import LayerSettings
from .workers import Died, Late, Question, lasting

_PACKAGES = ("tensorrt", "tensorrt_rtx")  # with NVIDIA's Python API
_TITLES = {"tensorrt": "TensorRT"}
_RTX = "TensorRT-RTX"
_SECONDS = 120.0  # for a model, and for loading the libraries
_IDLE = 60.0  # seconds without a question, after which the process ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error of the importer: what is wrong, and the node's index, name and operator."""

    problem: str
    node: int = -1
    name: str = ""
    operator: str = ""

    def __str__(self) -> str:
        place = " ".join(filter(None, (self.operator, self.name and f'"{self.name}"')))
        return f"{place}: {self.problem}" if place else self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A resize of a network: its settings, and the output sizes that the builder computes, -1 for dynamic ones."""

    settings: LayerSettings
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a release, ``by``, to a model or a layer: the resizes of its network, or why it is refused."""

    by: str
    resizes: tuple[Layer, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def refusal(self) -> str:
        """Why it is refused, in TensorRT's words; empty if it is accepted."""
        return "; ".join(map(str, self.refusals))


def is_installed() -> bool:
    """Return whether an importer can be asked here; nothing is imported."""
    return _package() is not None or tensorrt_rtx.version() in tensorrt_rtx.RELEASES


def imported(path: Path) -> Answer:
    """Return the answer of importer and builder to an ONNX model. Raises IrInterpError if there is none."""
    return _asked("read", str(path.absolute()), path.name)


def built(layer: LayerSettings) -> Answer:
    """Return the builder's answer to a layer with these settings. Raises IrInterpError if there is none."""
    return _asked("build", layer, layer.name)


def _asked(function: str, item: object, where: str) -> Answer:
    question = Question(function=f"{__name__}:{function}", limit=_SECONDS)
    answer = lasting("TensorRT", _IDLE).answer(question, item)
    if isinstance(answer, Died | Late):
        raise IrInterpError(f"{where}: TensorRT gave no answer: {answer}")
    if isinstance(answer, IrInterpError):
        raise answer
    assert isinstance(answer, Answer)
    return answer


# In the worker


def _package() -> str | None:
    return next(filter(_is_present, _PACKAGES), None)


def _is_present(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module in memory that was not found by import
        return False


class _TensorRT:
    """TensorRT's Python API, a builder, and what it logs as errors."""

    def __init__(self) -> None:
        name = _package()
        self.api: Any = importlib.import_module(name) if name else tensorrt_rtx
        release = self.api.__version__ if name else tensorrt_rtx.version()
        self.release = f"{_TITLES.get(name or '', _RTX)} {release}"
        self.logger = _errors(self.api) if name else self.api.Logger()
        self.builder = self.api.Builder(self.logger)

    def answer(self, network: Any) -> Answer:
        """Return the resizes of a network, and why the builder refuses it, if it does."""
        layers = [network.get_layer(index) for index in range(network.num_layers)]
        resizes = tuple(
            Layer(settings=tensorrt.layer_settings(layer), sizes=_sizes(layer.get_output(0)))
            for layer in layers
            if layer.type.name == "RESIZE"
        )
        return Answer(by=self.release, resizes=resizes, refusals=tuple(self._refusals(network, resizes)))

    def _refusals(self, network: Any, resizes: tuple[Layer, ...]) -> Iterator[Refusal]:
        """Yield why the builder refuses a network; that dynamic inputs have no ranges of sizes is no reason."""
        ranks = ((layer, layer.settings.context.shape or ()) for layer in resizes)
        unsized = [layer for layer, shape in ranks if shape and not layer.sizes]
        is_taken = self.builder.is_network_supported(network, self.builder.create_builder_config())
        problems = [each for each in self.messages if _NO_GPU not in each]
        if unsized:
            yield Refusal(problem="the builder computes no output sizes", name=unsized[0].settings.name)
        elif not is_taken and not any(_NO_RANGES in each for each in problems):
            names = {layer.settings.name for layer in resizes}
            for problem in problems or ["the builder refuses the network without a reason"]:
                yield _refusal_of_builder(_plain(problem), names)

    @property
    def messages(self) -> list[str]:
        """The logged errors."""
        return list(self.logger.messages)


def _sizes(output: Any) -> tuple[int, ...]:
    """Return the sizes of a tensor; none if the builder cannot compute them, for which NVIDIA's packages raise."""
    try:
        return tuple(map(int, output.shape))
    except (RuntimeError, ValueError):
        return ()


def _errors(api: Any) -> Any:
    """Return a logger that keeps errors; NVIDIA's own prints them."""

    class Errors(api.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            api.ILogger.__init__(self)
            self.messages: list[str] = []

        def log(self, severity: Any, message: str) -> None:
            if severity in (self.ERROR, self.INTERNAL_ERROR):
                self.messages.append(message)

    return Errors()


def read(path: str, _: object = None) -> Answer:
    """Return the answer of importer and builder to an ONNX model."""
    tensorrt_here = _TensorRT()
    network = tensorrt_here.builder.create_network(0)
    parser = tensorrt_here.api.OnnxParser(network, tensorrt_here.logger)
    if parser.parse_from_file(path):
        return tensorrt_here.answer(network)
    refusals = tuple(_refusal(parser.get_error(index)) for index in range(parser.num_errors))
    unnamed = (Refusal(problem="its importer refuses the model without a reason"),)
    return Answer(by=tensorrt_here.release, refusals=refusals or unnamed)


def _refusal(error: Any) -> Refusal:
    return Refusal(
        problem=_plain(error.desc()),
        node=int(error.node()),
        name=str(error.node_name()),
        operator=str(error.node_operator()),
    )


def _refusal_of_builder(text: str, resizes: Set[str]) -> Refusal:
    """Return a refusal; it is about a resize if the text begins with the name of its layer."""
    name, _, problem = text.strip("()").partition(": ")
    return Refusal(problem=problem, name=name, operator="Resize") if name in resizes else Refusal(problem=text)


def _plain(text: str) -> str:
    """Return an error's text in one line, without places in TensorRT's source."""
    return " ".join(_PLACES.sub("", text).split())


_NO_GPU = "catchCudaError"  # in the message that there is no GPU
_NO_RANGES = "no optimization profile"  # in the message that dynamic inputs have no ranges of sizes
_PLACES = re.compile(r"( In \w+)? at /?_src/\S+:\d+|\w+::\w+: Error Code \d+: API Usage Error ")


def build(layer: LayerSettings, _: object = None) -> Answer | IrInterpError:
    """Return the builder's answer to a layer with these settings; a second input holds sizes of run time."""
    try:
        return _built(layer)
    except IrInterpError as error:
        return error


def _built(layer: LayerSettings) -> Answer:
    tensorrt_here = _TensorRT()
    api, network = tensorrt_here.api, tensorrt_here.builder.create_network(0)
    types = {name: code for code, name in tensorrt.DTYPES.items()}
    shape = [-1 if size is None else size for size in layer.context.shape or ()]
    x = network.add_input("x", getattr(api.DataType, types[layer.context.dtype or "float32"]), shape)
    resize = network.add_resize(x)
    resize.name = layer.name
    tensorrt.set_attributes(resize, layer.attributes)
    if layer.attributes.get("shape", ()) is None:
        resize.set_input(1, network.add_input("sizes", api.DataType.INT64, [len(shape)]))
    network.mark_output(resize.get_output(0))
    return tensorrt_here.answer(network)


def as_imported(path: str, x: Array) -> Array:
    """Import a model of one resize, and return the output of its layers, computed by this program's executor.

    Raises IrInterpError if TensorRT refuses the model.
    """
    answer = read(path)
    if answer.refusals:
        raise IrInterpError(answer.refusal)
    for layer in answer.resizes:
        x = layer.settings.op.run(x)
    return np.asarray(x)
