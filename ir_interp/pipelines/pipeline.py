"""A pipeline: an ordered list of steps between an image and the input of a model, and its form as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from ir_interp import plain_text
from ir_interp.errors import ReadError, ShapeError, SpecError, closest
from ir_interp.executor.resize import as_array
from ir_interp.options.shared_options import LAYOUTS
from ir_interp.pipelines.rules import CHANNELS, RULES, AlphaRule, SizeRule, without_alpha
from ir_interp.pipelines.steps import STEPS, ImageStep, Resize
from ir_interp.shapes import Array

_VERSION = 1
_KINDS_OF: dict[Any, dict[str, type]] = {
    hint: {kind.__name__: kind for kind in kinds} for hint, kinds in ((ImageStep, STEPS), (SizeRule, RULES))
}
_KIND = "kind"  # the key for the name of a step or rule


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pipeline:
    """The preprocessing of an image in training: ``steps`` in order, then the ``layout`` "nchw" or "nhwc".

    ``name`` is its origin: "CLIPImageProcessor (torchvision backend)". ``alpha`` is what happens to a fourth channel
    first. Called with an image, uint8 [height, width, 3 or 4], it returns the result of the library's own pipeline,
    without the batch axis.

    Raises SpecError for another layout.

    Examples:
        >>> import numpy as np
        >>> from ir_interp import Pipeline
        >>> pipeline = Pipeline.of_json('{"version": 1, "steps": [{"kind": "Rescale", "factor": 0.5}]}')
        >>> pipeline(np.full((1, 1, 3), 3, np.uint8)).ravel()
        array([1.5, 1.5, 1.5], dtype=float32)

    """

    steps: tuple[ImageStep, ...]
    name: str = ""
    layout: str = "nchw"
    alpha: AlphaRule = AlphaRule.REFUSED

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise SpecError(f"layout is {self.layout!r}; expected {' or '.join(LAYOUTS)}")

    def __call__(self, image: ArrayLike) -> Array:
        """Return an image after all steps: [3, height, width], or [height, width, 3] in the layout "nhwc".

        Raises ShapeError for an array other than uint8 [height, width, 3], for a fourth channel if the library refuses
        it, and for a size without pixels.
        """
        x = as_array(image, "image")
        if x.dtype == np.uint8 and x.ndim == 3 and x.shape[-1] == CHANNELS:
            x = without_alpha(x, self.alpha, self.name)
        if x.dtype != np.uint8 or x.ndim != 3 or x.shape[-1] != 3 or not x.size:
            raise ShapeError(f"an array of {x.dtype} {list(x.shape)}; expected an image, uint8 [height, width, 3]")
        for step in self.steps:
            x = step.run(x)
        return np.ascontiguousarray(x.transpose(2, 0, 1)) if self.layout == "nchw" else x

    def __repr__(self) -> str:
        steps = self.text.replace("\n", "; ")
        return plain_text.notebook_line("Pipeline", f"{self.name}: {steps}" if self.name else steps)

    def _repr_html_(self) -> str:
        """Return a table for notebooks: a row for each step."""
        steps = ((str(place), text) for place, text in enumerate(self.text.splitlines(), 1))
        return plain_text.notebook_columns(self.name or "Pipeline", ("", "step"), steps)

    @property
    def size(self) -> tuple[int, int] | None:
        """The height and width after all steps if they are the same for every image; otherwise None."""
        sized = [step.size for step in self.steps if hasattr(step, "size")]
        fixed: tuple[int, int] | None = sized[-1].fixed if sized else None
        return fixed

    @property
    def calls(self) -> tuple[Resize, ...]:
        """The resizes among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Resize))

    @property
    def text(self) -> str:
        """The steps, one per line."""
        order = "channels first" if self.layout == "nchw" else "channels last"
        return "\n".join([*(step.text for step in self.steps), order])

    def json(self) -> str:
        """Return the pipeline as JSON, which ``of_json`` reads."""
        steps = [_record(step) for step in self.steps]
        described = {"name": self.name, "layout": self.layout, "alpha": self.alpha.value}
        document = {"version": _VERSION, **described, "steps": steps}
        return json.dumps(document, indent=2)

    @staticmethod
    def of_json(text: str | Mapping[str, Any]) -> Pipeline:
        """Return the pipeline that ``json`` wrote.

        Raises ReadError for other text, and for an unknown version, step or key; the message names it.
        """
        document = _decoded(text) if isinstance(text, str) else dict(text)
        if document.pop("version", None) != _VERSION:
            raise ReadError(f"unsupported pipeline version; expected {_VERSION}")
        steps = document.pop("steps", None)
        if not isinstance(steps, list):
            raise ReadError("steps is not a list")
        strings = {name: document.pop(name) for name in ("name", "layout") if name in document}
        alpha = document.pop("alpha", AlphaRule.REFUSED.value)
        if document:
            raise ReadError(f"unknown key {min(document)!r}; expected version, name, layout, alpha or steps")
        if not all(isinstance(value, str) for value in strings.values()):
            raise ReadError("name and layout must be strings")
        try:
            settled = tuple(_value(step, ImageStep) for step in steps)
            return Pipeline(steps=settled, alpha=_value(alpha, AlphaRule), **strings)
        except SpecError as error:
            raise ReadError(f"not a pipeline: {error}") from None


def _decoded(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ReadError("not a pipeline; expected an object with version and steps")
    return document


def _record(value: object) -> object:
    """Return a step, a rule or a field as data for JSON."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _record(getattr(value, field.name)) for field in fields(value)}
        return {_KIND: type(value).__name__} | named
    return list(value) if isinstance(value, tuple) else value


def _value(value: Any, hint: Any) -> Any:
    """Return a JSON value as a field of a type. Raises SpecError for a value of another type."""
    if hint in _KINDS_OF:
        return _object(value, _KINDS_OF[hint])
    if get_origin(hint) is UnionType:  # a number or none
        return None if value is None else _value(value, get_args(hint)[0])
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise SpecError(f"{value!r} where a list is expected")
        return tuple(_value(item, get_args(hint)[0]) for item in value)
    if issubclass(hint, Enum):
        choices = [member.value for member in hint]
        if not isinstance(value, str) or value not in choices:
            raise SpecError(f"{value!r}; {closest(str(value), choices)}")
        return hint(value)
    return _plain(value, hint)


def _plain(value: Any, hint: type) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is float and is_number:
        return float(value)
    if type(value) is not hint:
        raise SpecError(f"{value!r} where {hint.__name__} is expected")
    return value


def _object(value: object, kinds: Mapping[str, type]) -> Any:
    kind = value.get(_KIND) if isinstance(value, dict) else value
    if not isinstance(value, dict) or not isinstance(kind, str) or kind not in kinds:
        raise SpecError(f"kind {kind!r}; {closest(str(kind), kinds)}")
    cls = kinds[kind]
    hints = get_type_hints(cls)
    names = {field.name for field in fields(cls)}
    unknown = value.keys() - names - {_KIND}
    if unknown:
        raise SpecError(f"{cls.__name__} has no {min(unknown)!r}; {closest(min(unknown), names)}")
    try:
        return cls(**{name: _value(value[name], hints[name]) for name in names & value.keys()})
    except TypeError as error:  # a field is missing
        raise SpecError(f"{cls.__name__}: {str(error).partition(') ')[2] or error}") from None
