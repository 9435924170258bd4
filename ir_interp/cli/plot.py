"""``ir-interp plot``: pictures of what a resize does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ir_interp.atomic import check_outputs, replacing
from ir_interp.cli import options
from ir_interp.cli.layers import array_or_image, choose
from ir_interp.converters.files import EXTENSIONS, load, readings
from ir_interp.errors import IrInterpError, ReadError, closest
from ir_interp.executor.resize import bind, resize
from ir_interp.names import shown
from ir_interp.op import ResizeOp
from ir_interp.plan.geometry import plan
from ir_interp.spec import Arithmetic, ResizeSpec
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.meaning import differences
from ir_interp.views import describe, pictures
from ir_interp.views.explain import AxisTable, tables

EXAMPLES = """
Examples:

  ir-interp plot model.onnx up.png --layer up2

  ir-interp plot layer.xml matrix.png --what weights --axis 2

  ir-interp plot layer.xml changed.png --what image --against document --input photo.png
"""
_OPEN = 48  # what open lengths are in a picture of an image


class What(Enum):
    """What a picture shows."""

    POSITIONS = "positions"
    WEIGHTS = "weights"
    KERNEL = "kernel"
    IMAGE = "image"


def plot(
    file: Annotated[Path, typer.Argument(help="Where the resize stands: .onnx, .xml or .json.")],
    output: Annotated[Path, typer.Argument(help="A .png to write.")],
    what: Annotated[What, typer.Option(help="What to show.")] = What.POSITIONS,
    layer: Annotated[str | None, typer.Option(help="Name of the resize, if the file has several.")] = None,
    axis: Annotated[int | None, typer.Option(help="Axis to show, if not the first that changes.")] = None,
    shape: Annotated[str | None, typer.Option(help="Lengths of its input, where open: 1,3,20,30.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Output lengths instead of the layer's: 50,60.")] = None,
    scales: Annotated[str | None, typer.Option(help="Output / input instead of the layer's: 2,1.5.")] = None,
    source: Annotated[Path | None, typer.Option("--input", help="For image: an array (.npy) or an image.")] = None,
    against: Annotated[
        str | None, typer.Option(help="For image: a reading, an arithmetic, or a file with another resize.")
    ] = None,
) -> None:
    """Show where a resize samples, what it weighs by how much, or an image under two configurations."""
    if output.suffix.lower() != ".png":
        raise IrInterpError(f"{output.name!r} is no name of a picture; expected .png")
    check_outputs([output], [file, *([source] if source else []), *([Path(against)] if against else [])])
    op = choose(load(file), layer, file)
    target = {"sizes": options.integers(sizes, "--sizes"), "scales": options.reals(scales, "--scales")}
    lengths = options.integers(shape, "--shape")
    if what is What.IMAGE:
        figure = _image(op, file, target, lengths, source, against)
    else:
        figure = _axis(op, file, what, target, lengths, axis)
    with replacing(output) as (temporary,):
        pictures.save(figure, temporary)
    print(shown(f"wrote {output}"))


def _axis(
    op: ResizeOp, file: Path, what: What, target: dict[str, Any], lengths: tuple[int, ...] | None, axis: int | None
) -> Any:
    """Return a picture of one axis."""
    known = lengths or op.shape
    if known is None:
        raise IrInterpError(f"{op.where}: the rank of its input is unknown; give its lengths with --shape")
    found = readings(op, file)
    table = _chosen(tables(found, known, **target), axis)
    title = shown(op.name or op.where)
    match what:
        case What.POSITIONS:
            return pictures.positions(table, title)
        case What.WEIGHTS:
            return pictures.weights(table, title)
    kernels = {describe.kernel(spec): spec.kernel for spec in found.values()}
    return pictures.kernel(table, kernels, title)


def _chosen(found: Sequence[AxisTable], axis: int | None) -> AxisTable:
    chosen = [each for each in found if axis in (None, each.axis)]
    if chosen:
        return chosen[0]
    changing = ", ".join(str(each.axis) for each in found) or "none"
    raise IrInterpError(f"no axis {axis} changes; those that do: {changing}" if found else "no axis changes")


def _image(
    op: ResizeOp,
    file: Path,
    target: dict[str, Any],
    lengths: tuple[int, ...] | None,
    source: Path | None,
    against: str | None,
) -> Any:
    """Return a picture of an image under two configurations."""
    shape = lengths or tuple(n or _OPEN for n in op.shape or (1, 1, _OPEN, _OPEN))
    x = np.asarray(array_or_image(source, op)) if source else pictures.rings(shape)
    name, spec = _other(op, file, against)
    mine, second = bind(op.spec, **target), bind(spec, **target)
    axes = [each.axis for each in plan(mine, x.shape).axes]
    results = [pictures.plane(resize(x, each), axes) for each in (mine, second)]
    own = f"{op.spec.arithmetic.value} ({Semantics.RUNTIME.value})"
    first, other = (pictures.Resized(name=n, values=v) for n, v in zip((own, name), results, strict=True))
    return pictures.images(first, other, shown(op.name or op.where))


def _other(op: ResizeOp, file: Path, against: str | None) -> tuple[str, ResizeSpec]:
    """Return the other configuration, and its name."""
    found = readings(op, file)
    if against is None:
        other = next((reading for reading, spec in found.items() if differences(op.spec, spec, op.shape)), None)
        against = other.value if other else Arithmetic.EXACT.value
    if against in {each.value for each in Arithmetic}:
        return against, replace(op.spec, arithmetic=Arithmetic(against))
    if against in {each.value for each in Semantics}:
        return against, found.get(Semantics(against), op.spec)
    if Path(against).suffix.lower() in EXTENSIONS:
        path = Path(against)
        return path.name, choose(load(path), None, path).spec
    known = [each.value for kind in (Semantics, Arithmetic) for each in kind]
    raise ReadError(f"--against {against!r}: {closest(against, known)}, or a file")
