"""``ir-interp compare``: run two models on the same inputs, and say how far they differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ir_interp.cli import options, progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from converters.locate import Located
    from converters.model_comparison import Bin, ModelComparison, OutputComparison
    from converters.report import Compared

EXAMPLES = """
Examples:

  ir-interp compare model.onnx model.xml

  ir-interp compare model.onnx model.xml --per-resize --input x=image.npy

  ir-interp compare fp32.xml fp16.xml --shape x:1,3,640,640 --tolerance 0.01 --json
"""
_WIDTH = 40  # of the longest bar


def compare(
    first: Annotated[Path, typer.Argument(help="An .onnx model or an IR (.xml).")],
    second: Annotated[Path, typer.Argument(help="Another, of the same inputs and outputs.")],
    shape: Annotated[list[str] | None, typer.Option(help="Lengths of an input: x:1,3,640,640.")] = None,
    array: Annotated[list[str] | None, typer.Option("--input", help="An input: x=image.npy; else random.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Allowed, relative to the largest value. Default 1e-4, of float16 1e-2.")
    ] = None,
    per_resize: Annotated[bool, typer.Option("--per-resize", help="Walk the resizes, and name the first one.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> int:
    """Run two models, each in its own runtime, and compare their outputs."""
    from converters.child import Inputs
    from converters.model_comparison import compare_models

    inputs = Inputs(shapes=options.shapes(shape or []), files=options.files(array or []))
    with progress.bar() as told:
        found = compare_models(first, second, inputs, tolerance=tolerance, per_resize=per_resize, progress=told)
    if as_json:
        print(json.dumps(found.record(), indent=2))
    else:
        _show(found)
    return 0 if found.passes else 1


def _show(found: ModelComparison) -> None:
    from rich.console import Console

    console = Console()
    for output in found.outputs:
        _show_output(console, output, found)
    if found.resizes is not None:
        console.print(_resizes_table(found.resizes))
        console.print(_first(found), markup=False, highlight=False, soft_wrap=True)
    passed = sum(each.compared.passes for each in found.outputs)
    console.print(f"{passed} of {len(found.outputs)} outputs equal within the tolerance", highlight=False)


def _show_output(console: Console, output: OutputComparison, found: ModelComparison) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(f"output {output.name}"), title_justify="left")
    for column in ("", "shape", "min", "mean", "max"):
        table.add_column(column, overflow="fold")
    for path, values in ((found.first, output.first), (found.second, output.second)):
        shape = "x".join(map(str, values.shape)) + f" {values.dtype}"
        numbers = ("none" if n is None else f"{n:.6g}" for n in (values.smallest, values.mean, values.largest))
        table.add_row(escape(path.name), shape, *numbers)
    console.print(table)
    for line in _lines(output):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _lines(output: OutputComparison) -> list[str]:
    compared, least = output.compared, output.least_tolerance
    verdict = "equal" if compared.passes else "DIFFERS"
    if compared.shapes:
        return [f"{verdict}: it {compared.difference}"]
    if least is None:
        return [f"{verdict}: NaN or infinity in one alone; no tolerance would pass", *_bars(output.histogram)]
    largest = f"largest difference {compared.absolute:.3g}, relative {compared.relative:.3g}"
    allowed = f"(allowed {compared.limit:.3g}); a tolerance of {least:.3g} would pass"
    return [f"{verdict}: {largest} {allowed}", *_bars(output.histogram)]


def _bars(histogram: tuple[Bin, ...]) -> list[str]:
    """Return one line a bin, the longest bar for the largest."""
    most = max((each.count for each in histogram), default=0)
    return [
        f"  {_label(each):>16} {'#' * math.ceil(_WIDTH * each.count / most) if most else '':<{_WIDTH}} {each.count}"
        for each in histogram
    ]


def _label(each: Bin) -> str:
    if each.upper == 0:
        return "equal"
    if math.isinf(each.upper):
        return "NaN or infinite"
    return f"< {each.upper:.0e}" if each.lower == 0 else f"{each.lower:.0e} to {each.upper:.0e}"


def _resizes_table(resizes: tuple[Located, ...]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{len(resizes)} resizes, in order", title_justify="left")
    for column in ("resize", "its data", "its output"):
        table.add_column(column, overflow="fold")
    for each in resizes:
        table.add_row(escape(each.name), _seen(each.data), _seen(each.output))
    return table


def _seen(compared: Compared | None) -> str:
    if compared is None:
        return "not shown by both"
    return compared.difference if not compared.passes else f"equal within {compared.absolute:.3g}"


def _first(found: ModelComparison) -> str:
    first = found.first_resize
    if first is None:
        return "no resize differs that both models show"
    source = "; its data differ already" if first.is_fed_otherwise else ""
    return f"the first resize that differs is {first.name!r}{source}"
