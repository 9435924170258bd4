"""A runtime as one record, and the table of all runtimes.

A module of this folder that is about a runtime has its record, ``RUNTIME``; one about several has ``RUNTIMES``. What
needs a graph, a dialect or a writer is added above: ``converters/predictions.py`` for predictions,
``converters/portable/targets.py`` for targets of portable ONNX.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from types import MappingProxyType
from typing import Any, Protocol

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array

from . import __path__ as _folders
from .outcome import Levels, Outcome, Rounded, Surroundings

_OF_NODE = ("/usr/lib/node_modules", "/usr/local/lib/node_modules")  # packages that npm install -g installs
OfResize = Callable[[ResizeOp], Outcome]
"""Returns the outcome of a resize alone. ``op.attributes`` are those of its node, layer or operator."""
Rule = Callable[[ResizeOp], Outcome | None]
OfRounded = Callable[[ResizeOp, tuple[Rounded, ...]], Outcome | None]
"""Returns the outcome of a layer of an IR behind FakeQuantize layers; None if these make no difference."""
Run = Callable[[str, Array], Array]
"""Returns the output of a model for an array. It uses only ``np`` and its own imports, so that scripts can hold it."""


class OfNode(Protocol):
    """Returns the outcome of a node, whose input may be resized along the axes ``may_change``.

    ``stated`` is the node as in the file, whose dimensions may be dynamic if those of ``op`` were chosen.
    """

    def __call__(self, op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
        """Return the outcome. ``op.attributes`` are those of the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """How to run a runtime: ``run`` needs the module ``package``, which pip installs as ``distribution``.

    ``also`` are further distributions that it needs. If ``in_node``, ``package`` is one of Node.js, which npm installs.
    An error with ``lacks`` in its text is about the machine, not the model; empty if there is none.
    """

    package: str
    distribution: str
    run: Run
    also: tuple[str, ...] = ()
    in_node: bool = False
    lacks: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether it can be run here."""
        if self.in_node:
            return which("node") is not None and self._folder is not None
        try:
            return find_spec(self.package) is not None and all(map(metadata.version, self.also))
        except ModuleNotFoundError:  # its parent, or a distribution
            return False

    @property
    def _folder(self) -> Path | None:
        """The folder of a package of Node.js; None if it is not installed."""
        places = [*os.environ.get("NODE_PATH", "").split(os.pathsep), *_OF_NODE]
        folders = (Path(place, self.package) for place in places if place)
        return next(filter(Path.is_dir, folders), None)

    def releases(self) -> dict[str, str]:
        """Return the installed release of each distribution that it needs, by name: its own one comes first."""
        if self.in_node and self._folder:
            return {self.distribution: json.loads((self._folder / "package.json").read_bytes())["version"]}
        own = next(iter(metadata.packages_distributions().get(self.package, [])), self.distribution)
        return {name: metadata.version(name) for name in (own, *self.also)}

    def installation(self) -> str:
        """Return the commands that install the releases that are installed here."""
        if self.in_node:
            names = (f"{name}@{release}" for name, release in self.releases().items())
            return f"npm install --ignore-scripts {' '.join(names)}"
        return f"pip install {' '.join(f'{name}=={release}' for name, release in self.releases().items())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Releases up to ``version``, or one by its ``source``: the first rule that applies decides, or else ``otherwise``.

    ``of_rounded`` is for a layer that the release computes if it is alone. ``takes_functions`` is that of ``Runtime``.
    """

    version: str
    otherwise: OfResize
    rules: tuple[Rule, ...] = ()
    of_rounded: OfRounded = lambda op, rounded: None
    source: str = ""
    takes_functions: bool | None = None

    def outcome(self, op: ResizeOp) -> Outcome:
        """Return the outcome of a resize. ``op.attributes`` are those of its node or layer."""
        outcomes = (rule(op) for rule in self.rules)
        return next((outcome for outcome in outcomes if outcome is not None), None) or self.otherwise(op)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What a target accepts of a resize that is written in primitive operations.

    ``primitives`` is whether it computes MatMul and the like at all, ``gathers`` whether Gather and Where, which copy
    pixels and fill windows, ``measures`` whether it slices at sizes of run time, ``least_opset`` the operator set from
    which it has all common nodes. ``left`` is how its reasons for leaving a node to another runtime begin, if it
    leaves any; such a node is rewritten.
    """

    primitives: bool = True
    measures: bool = True
    least_opset: int = 1
    left: str = ""
    gathers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A runtime: the version that its rules were observed in, or their source, and the outcome of a resize there.

    ``reader`` is a pattern of the title of what reads its ONNX models. Only runtimes that are ``is_asked`` are in every
    report; others must be selected by name, as installed packages must not change a report.

    ``of_node`` is for nodes of ONNX, ``alone`` for those whose graph is unknown; each also serves for the other.
    ``of_layer`` is for layers of an IR, ``of_operator`` for operators of TFLite. A missing one is not supported.

    For a Resize of the versions ``counts_inputs`` it finds inputs by their place among those that are not left out.
    ``with_computed_scales`` is for nodes whose scales are computed by nodes from constants, ``of_levels`` for those
    behind a DequantizeLinear: it takes the outcome of the node alone. ``takes_functions`` is whether it takes models
    that call local functions; None if unknown. ``among`` returns an outcome that depends on the graph around a node
    otherwise; None if it makes no difference.

    ``accepts`` makes it a target of portable ONNX. ``releases`` are earlier ones, by the last release that each
    applies to: for nodes, and for layers.
    """

    name: str
    title: str
    version: str = ""
    source: str = ""
    reader: str = "{}"
    is_asked: bool = False
    of_node: OfNode | None = None
    alone: OfResize | None = None
    of_layer: OfResize | None = None
    of_operator: OfResize | None = None
    counts_inputs: range = range(0)
    with_computed_scales: OfNode | None = None
    of_levels: Callable[[Outcome, ResizeOp, Levels], Outcome] | None = None
    takes_functions: bool | None = None
    among: Callable[[ResizeOp, Surroundings], Outcome | None] = lambda op, around: None
    accepts: Accepted | None = None
    runner: Runner | None = None
    releases: Mapping[str, Release] = field(default_factory=dict)
    layer_releases: Mapping[str, Release] = field(default_factory=dict)

    @property
    def reads_onnx(self) -> bool:
        """Whether it has outcomes of nodes."""
        return bool(self.of_node or self.alone)

    @property
    def is_installed(self) -> bool:
        """Whether it can be run here."""
        return self.runner is not None and self.runner.is_installed


_FIRST = ("onnxruntime", "openvino", "tensorrt", "reference")
"""Those that reports name first, each with its execution providers; others follow by name."""


@cache
def runtimes() -> Mapping[str, Runtime]:
    """Return the runtimes of this folder by name, in the order of reports."""
    modules = (importlib.import_module(f"{__package__}.{module.name}") for module in pkgutil.iter_modules(_folders))
    found = (runtime for module in modules for runtime in _of_module(vars(module)))
    return MappingProxyType({runtime.name: runtime for runtime in sorted(found, key=_place)})


def _of_module(names: Mapping[str, Any]) -> Iterator[Runtime]:
    yield from names.get("RUNTIMES", ())
    if "RUNTIME" in names:
        yield names["RUNTIME"]


def _place(runtime: Runtime) -> tuple[int, str]:
    family = runtime.name.partition("-")[0]
    return _FIRST.index(family) if family in _FIRST else len(_FIRST), runtime.name
