"""The request of a ``resize`` call: a spec, or sizes and a library call; and the axes that they apply to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from ir_interp import arguments
from ir_interp.arguments import misfit
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor.resize import bind, for_each_axis
from ir_interp.shapes import Shape
from ir_interp.spec import Antialias, Arithmetic, Linear, ResizeSpec

_CHANNELS = (1, 2, 3, 4)  # possible channel counts of an image; a last axis of one of these sizes may be the channels
_TWO = 2  # number of axes of an image


Like = Callable[[str, str | None], ResizeSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The arguments of ``ir_interp.resize`` that determine the result; see there.

    ``like`` returns the spec for an element type and, if there is one, an image mode.
    """

    spec: Any = None
    like: Like | None = None
    sizes: Any = None
    scales: Any = None
    axes: Any = None
    antialias: bool | None = None
    arithmetic: Arithmetic | str | None = None

    @property
    def names(self) -> tuple[Any, ...]:
        """The names of the resized axes; empty if the axes are numbers or not specified."""
        for values in (self.spec, self.sizes, self.scales):
            if isinstance(values, Mapping):
                return tuple(values)
        axes = (self.axes,) if isinstance(self.axes, str) else arguments.entries(self.axes) or ()
        return tuple(axis for axis in axes if isinstance(axis, str))

    def bound(
        self, shape: Shape, dtype: str, *, names: Sequence[Any] = (), mode: str | None = None, is_image: bool = False
    ) -> ResizeSpec:
        """Return a spec with its target, for arrays of a shape and an element type.

        ``names`` are the names of the array's axes; ``is_image`` means that these are height, width and channels, of a
        ``mode``. Raises SpecError for a call that contradicts itself, ShapeError if it leaves the axes ambiguous.
        """
        spec, sizes = self._spec(dtype, mode)
        scales: Any = self.scales
        axes = self._named(names, self.axes)
        for values in (sizes, scales):
            if isinstance(values, Mapping):
                axes = self._of_mapping(names, axes, values)
        sizes, scales = (list(target.values()) if isinstance(target, Mapping) else target for target in (sizes, scales))
        if isinstance(sizes, Real):
            raise misfit(sizes, "sizes", "a list, as in (10, 10) for height and width")
        if spec.target is None and sizes is None and scales is None:
            raise SpecError("the output size is missing; give --sizes 224,224 or --scales 0.5")
        if axes is not None:  # a new target replaces that of the spec, whose axes may be others
            spec = replace(spec, axes=tuple(axes), target=spec.target if sizes is scales is None else None)
        scales = for_each_axis(scales, spec, shape)
        if axes is None and spec.target is None:
            axes = self._axes(shape, spec, sizes if scales is None else scales, is_image=is_image)
            spec = spec if axes is None else replace(spec, axes=axes)
        return bind(spec, shape, sizes=sizes, scales=scales, arithmetic=self.arithmetic)

    def _spec(self, dtype: str, mode: str | None) -> tuple[ResizeSpec, Any]:
        """Return the spec of the call, and its sizes, which may be the second argument."""
        if isinstance(self.spec, ResizeSpec):
            if self.like is not None:
                raise SpecError("spec and like exclude each other; pass one of them")
            return self._antialiased(self.spec), self.sizes
        if self.spec is not None and self.sizes is not None:
            raise SpecError("sizes are passed twice: as the second argument and as sizes=")
        if isinstance(self.spec, str):
            raise misfit(self.spec, "spec", "a ResizeSpec or sizes; pass a library call as like=")
        spec = ResizeSpec(kernel=Linear()) if self.like is None else self.like(dtype, mode)
        return self._antialiased(spec), self.sizes if self.spec is None else self.spec

    def _antialiased(self, spec: ResizeSpec) -> ResizeSpec:
        if self.antialias is None:
            return spec
        if isinstance(self.spec, ResizeSpec) or self.like is not None:
            raise SpecError("antialias has no effect here: the spec or the library call determines it")
        is_on = arguments.flag(self.antialias, "antialias")
        return replace(spec, kernel=Linear(antialias=Antialias.SHRINKING if is_on else Antialias.OFF))

    def _named(self, names: Sequence[Any], axes: Any) -> tuple[int, ...] | None:
        """Return axes by number; some may be passed by name."""
        if axes is None:
            return None
        listed = arguments.entries((axes,) if isinstance(axes, str) else axes)
        if listed is None:
            raise misfit(axes, "axes", "a list of axes, as in (0, 1)")
        return tuple(self._number(names, axis) if isinstance(axis, str) else axis for axis in listed)

    def _number(self, names: Sequence[Any], name: Any) -> int:
        if name in names:
            return list(names).index(name)
        known = (
            f"expected one of {', '.join(map(str, names))}"
            if names
            else "the axes of this array have no names; number them, as in 0,1"
        )
        raise SpecError(f"no axis {name!r}; {known}")

    def _of_mapping(self, names: Sequence[Any], axes: Any, values: Mapping[Any, Any]) -> tuple[int, ...]:
        if axes is not None:
            raise SpecError("axes are passed twice: by name and as axes=")
        return tuple(self._number(names, name) for name in values)

    def _axes(self, shape: Shape, spec: ResizeSpec, target: Any, *, is_image: bool) -> tuple[int, ...] | None:
        """Return the axes for the target values if the call does not specify them; None for the axes of the spec.

        These are the last axes, or the first two of a library's image whose last axis is as small as a channel count.
        """
        values = arguments.entries(target)
        if not values or len(values) >= len(shape) or (self.like is None and spec.axes is not None):
            return None
        if spec.axes is not None and len(spec.axes) != len(values):
            return None
        if is_image:
            return tuple(range(len(values)))
        last = tuple(range(len(shape) - len(values), len(shape)))
        if len(values) != _TWO:
            return last
        is_last, is_first = shape[-1] in _CHANNELS, shape[-3] in _CHANNELS
        if self.like is not None and spec.arithmetic.is_library and len(shape) == _TWO + 1:
            if is_last == is_first:
                raise ShapeError(_ambiguous(shape))
            return (0, 1) if is_last else last
        # resize(x, (h, w)) without a library takes the last axes; if only the last looks like channels, that is
        # doubtful.
        if is_last and not is_first:
            raise ShapeError(_ambiguous(shape))
        return last


def _ambiguous(shape: Shape) -> str:
    rank = len(shape)
    problem = f"an array of shape {list(shape)} may have its channels first or last"
    return f"{problem}; specify the axes to resize: axes={(rank - 3, rank - 2)} or axes={(rank - 2, rank - 1)}"
