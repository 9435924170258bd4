"""A resize that was read from a file, its diagnostics, and its computation in a line of text."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ir_interp.arguments import checked
from ir_interp.containers import Request, resized
from ir_interp.diagnostic_codes import RULES
from ir_interp.errors import Difference, ReadError, ShapeError, SpecError, closest, spelled
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import as_array
from ir_interp.plain_text import notebook_table
from ir_interp.plan.taps import check_rank
from ir_interp.records import Record
from ir_interp.shapes import PartialShape, static_shape
from ir_interp.specs import Area, Arithmetic, ResizeSpec
from ir_interp.translation.dialect import Attributes, Context, Dialect, Semantics
from ir_interp.translation.meaning import difference_of_floats, differences, listed_axes


def count(number: int, thing: str) -> str:
    """Return how many there are of a thing: "1 resize", "2 resizes"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def summary(spec: ResizeSpec) -> str:
    """Return what is resized to what, and how, in one line."""
    return f"{spec.resized_to}: {formula(spec)}"


def formula(spec: ResizeSpec) -> str:
    """Return kernel and source coordinate of output index ``i``, as in ``linear at (i + 1/2) * step - 1/2``."""
    sums = f"; integers: {spec.sums_of_integers}" if spec.sums_of_integers else ""
    return f"{spec.kernel} at {spec.formula}{sums}"


def shape_text(shape: PartialShape | None) -> str:
    """Return a shape as ``1x3x?x?``."""
    return "?" if shape is None else "x".join("?" if size is None else str(size) for size in shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic(Record):
    """A finding about a layer; ``diagnostic_codes`` documents each code."""

    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeOp(Record):
    """One resize of a file.

    ``where`` is its place, as in ``model.xml:layer[12 "up2"]``. ``shape`` is the shape of the input, with None for
    dynamic dimensions, or None for an unknown rank; ``dtype`` is the NumPy name of the element type, or None.
    ``attributes`` are the attributes and inputs that the spec was read from, None for inputs known only at run time.
    """

    KEYS = (
        "name",
        "where",
        "dialect",
        "version",
        "shape",
        "dtype",
        "spec.resized_to as target",
        "formula",
        "spec.arithmetic",
        "diagnostics",
    )

    name: str
    where: str
    spec: ResizeSpec
    dialect: str
    version: int
    shape: PartialShape | None = None
    dtype: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    attributes: Attributes = field(default_factory=dict, compare=False)

    @property
    def formula(self) -> str:
        """Kernel and source coordinate of output index ``i``, as in ``linear at (i + 1/2) * step - 1/2``."""
        return formula(self.spec)

    @checked
    def run(
        self,
        x: ArrayLike,
        *,
        sizes: Sequence[int] | None = None,
        scales: float | Sequence[float] | None = None,
        arithmetic: Arithmetic | str | None = None,
        nodata: float | None = None,
        valid: float = 0.0,
    ) -> NDArray[Any]:
        """Return ``x`` resized; see ``ir_interp.resize``. Also raises ShapeError if the layer declares other axes.

        Examples:
            >>> [op] = ir_interp.load("layer.xml")
            >>> op.run(np.zeros((1, 3, 5, 7), np.float32)).shape
            (1, 3, 10, 14)

        """
        array: Any = x if hasattr(x, "ndim") else as_array(x)
        self.check_input(array.shape, has_target=sizes is not None or scales is not None)
        request = Request(spec=self.spec, sizes=sizes, scales=scales, arithmetic=arithmetic)
        y: NDArray[Any] = resized(array, request, Missing.of(nodata, valid))
        return y

    def check_input(self, shape: tuple[int, ...], *, has_target: bool = False) -> None:
        """Raise ShapeError for an input that the declared shape excludes.

        ``has_target`` means that sizes or scales replace the layer's own. Axes that the layer resizes may then have
        any size.
        """
        if self.shape is None:
            return
        if len(shape) != len(self.shape):
            raise ShapeError(f"the input has rank {len(shape)}; {self.where} takes rank {len(self.shape)}")
        sizes = enumerate(zip(self.shape, shape, strict=True))
        excluded = {axis for axis, (declared, size) in sizes if declared not in (None, size)}
        resized = set(listed_axes(self.spec, self.shape).axes or ())
        if excluded - (resized if has_target else set()):
            taken = f"the input is {shape_text(shape)}; {self.where} takes {shape_text(self.shape)}"
            raise ShapeError(taken + ("" if excluded - resized else _OTHER_SIZES))

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = {"name": self.name, "where": self.where, "read as": f"{self.dialect} {self.version}"}
        rows |= {"input": f"{shape_text(self.shape)} {self.dtype or ''}"} | self.spec.summary()
        return notebook_table(rows | {diagnostic.code: diagnostic.message for diagnostic in self.diagnostics})


_OTHER_SIZES = "; to resize an image of another size, use --sizes or --scales"


def read(dialect: Dialect, attributes: Attributes, context: Context, *, name: str, where: str) -> ResizeOp:
    """Return the resize of a layer, with the differences of its other readings and the dialect's remarks.

    Raises ReadError, with ``where`` in front, for anything that the dialect does not allow.
    """
    try:
        is_observed = context.semantics is Semantics.OBSERVED  # which does not follow from attributes alone
        stated = replace(context, semantics=Semantics.RUNTIME) if is_observed else context
        spec = dialect.parse(attributes, stated)
        if context.shape is not None:
            check_rank(spec, len(context.shape))
        diagnostics = _diagnose(dialect, attributes, stated, spec)
        if stated is not context:
            spec = dialect.parse(attributes, context)
    except ReadError as error:
        raise error.under(where) from None
    except SpecError as error:
        raise ReadError(str(error), where) from error
    return ResizeOp(
        name=name,
        where=where,
        spec=spec,
        dialect=dialect.name,
        version=context.version,
        shape=context.shape,
        dtype=context.dtype,
        diagnostics=diagnostics,
        attributes=attributes,
    )


_WANTED = {"sizes": (("int", "uint"), "integers"), "scales": (("float", "bfloat"), "floats")}


def check_target(kind: str, shape: PartialShape | None, dtype: str | None, count: int | None) -> None:
    """Raise ReadError unless sizes or scales are a list of their type with an entry for each of ``count`` axes.

    ``shape`` is the shape of the tensor and ``dtype`` the NumPy name of its element type, None where unknown.
    """
    kinds, expected = _WANTED[kind]
    if dtype is not None and dtype.rstrip(string.digits) not in kinds:  # a file may name any type
        raise ReadError(f"{kind} are {dtype}; expected {expected}")
    if shape is not None and len(shape) != 1:
        sizes = ", ".join("?" if size is None else str(size) for size in shape)
        raise ReadError(f"{kind} have shape [{sizes}]; expected a list")
    if shape is not None and None not in (*shape, count) and shape[0] != count:
        raise ReadError(f"{kind} are a list of {shape[0]}; expected {count}, one for each axis")


def choose(ops: Sequence[ResizeOp], name: str | None, where: str) -> ResizeOp:
    """Return the resize named ``name``, or the only one. Raises ReadError if there is none, or several."""
    chosen = [op for op in ops if name is None or op.name == name]
    if len(chosen) == 1:
        return chosen[0]
    if not ops:
        raise ReadError("no resize in it", where)
    names = [op.name for op in ops]
    if name is None:
        raise ReadError(f"{len(ops)} resizes; choose one with --layer NAME: {', '.join(names)}", where)
    problem = f"no resize named {name!r}; {closest(name, names)}" if not chosen else f"{len(chosen)} named {name!r}"
    raise ReadError(problem, where)


_CODE_OF_PART = {
    "antialias": "IRI001",
    "exclude_outside": "IRI001",
    "axes": "IRI002",
    "pads": "IRI003",
    "cubic coefficient": "IRI004",
    "length": "IRI006",
    "step": "IRI006",
}


def _diagnose(dialect: Dialect, attributes: Attributes, context: Context, spec: ResizeSpec) -> tuple[Diagnostic, ...]:
    """Return the differences from the other readings, and the dialect's own remarks."""
    diagnostics: dict[str, Diagnostic] = {}
    if isinstance(spec.kernel, Area):
        diagnostics["IRI005"] = Diagnostic(code="IRI005", message=RULES["IRI005"].summary)
    readings = _other_readings(dialect, attributes, context)
    diagnostics |= _of_releases(spec, readings, context)
    for semantics, other in readings.items():
        parted = [] if _by_release(semantics, context) else differences(spec, other, context.shape)
        page = Semantics.DOCUMENT in (semantics, context.semantics)
        for difference in parted:
            code = _code(difference.part, {other.part for other in parted}, page)
            if code in ("IRI007", "IRI009") and (context.semantics.dialect or _are_alike(spec, other, context.shape)):
                continue  # a page leaves open how the releases of a runtime compute
            message = f"{RULES[code].summary} {_both(difference, context, semantics)}"
            diagnostics.setdefault(code, Diagnostic(code=code, message=message))
    for name, value in dialect.tolerated_of(attributes, context.version).items():
        message = f"{RULES['IRI010'].summary} {name}={spelled(value)}, version {context.version}"
        diagnostics["IRI010"] = Diagnostic(code="IRI010", message=message)
    for code, message in dialect.remarks(dialect.complete(attributes, context.version), context):
        diagnostics[code] = Diagnostic(code=code, message=message)
    return tuple(diagnostics[code] for code in sorted(diagnostics))


def _other_readings(dialect: Dialect, attributes: Attributes, context: Context) -> dict[Semantics, ResizeSpec]:
    """Return the other readings of a layer, except those that need more information or refuse the layer."""
    readings: dict[Semantics, ResizeSpec] = {}
    for semantics in Semantics:
        if semantics not in (context.semantics, Semantics.OBSERVED):  # which depends on more than attributes
            with suppress(ReadError, SpecError):
                readings[semantics] = dialect.parse(attributes, replace(context, semantics=semantics))
    return readings


def _by_release(other: Semantics, context: Context) -> bool:
    """Return whether two readings are releases of one runtime."""
    of_runtime = [reading is Semantics.RUNTIME or bool(reading.dialect) for reading in (other, context.semantics)]
    return bool(other.dialect) or all(of_runtime)


def _of_releases(spec: ResizeSpec, readings: Mapping[Semantics, ResizeSpec], context: Context) -> dict[str, Diagnostic]:
    """Return the note that names the releases of the dialect's runtime that compute a layer differently, if any."""
    if context.semantics in (Semantics.DOCUMENT, Semantics.REFERENCE):
        return {}  # differences from today's release have their own codes
    code, texts = "IRI017", []
    for semantics, other in readings.items():
        parted = differences(spec, other, context.shape) if _by_release(semantics, context) else []
        if parted and not _are_alike(spec, other, context.shape):
            texts.append(_both(parted[0], context, semantics))
    return {code: Diagnostic(code=code, message=f"{RULES[code].summary} {'; '.join(texts)}")} if texts else {}


def _code(part: str, parts: Set[str], page: bool) -> str:
    """Return the code for a part in which two readings differ; ``page`` means that one reading is the page's."""
    if page and (part == "output length" or (part == "step" and "length" not in parts)):
        return "IRI009"
    return _CODE_OF_PART.get(part, "IRI007")


def _are_alike(spec: ResizeSpec, other: ResizeSpec, shape: PartialShape | None) -> bool:
    """Return whether two readings compute the same for the shape, if it is static."""
    known = static_shape(shape)
    return known is not None and not spec.waits and difference_of_floats(spec, other, known) is None


def _both(difference: Difference, context: Context, other: Semantics) -> str:
    return f"{difference.part}: {spelled(difference.needed)} ({context.semantics.value}), " + (
        f"{spelled(difference.offered)} ({other.value})"
    )
