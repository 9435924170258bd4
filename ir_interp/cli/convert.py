"""``ir-interp convert``: translate a file, and say how exact every resize came out."""

from __future__ import annotations

import json
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

import ir_interp
from ir_interp.cli import fleet, options, progress
from ir_interp.cli.conversion_text import show
from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import OutputError, check_outputs
from ir_interp.files.kinds import FileKind
from ir_interp.files.paths import is_folder
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from ir_interp.converters.fleet.work import Conversion
    from ir_interp.converters.pages.made import Made
    from ir_interp.converters.report import ConversionReport

EXAMPLES = """
Examples:

  ir-interp convert model.onnx model.xml

  ir-interp convert model.onnx model.xml --shape image:1,3,640,640 --report report.json

  ir-interp convert model.xml model.onnx --opset 17 --html report.html

  ir-interp convert layer.xml resize.onnx

  ir-interp convert model.onnx portable.onnx --target tensorrt

  ir-interp convert model.onnx resizes.json --dialect tensorrt

  ir-interp convert zoo/ converted/ --to .xml --jobs 4
"""


class Only(Enum):
    """A form that every resize must take."""

    NATIVE = "native"
    DECOMPOSED = "decomposed"


class StateChoice(Enum):
    """What becomes of a state; a copy of the converters' own, which take a while to import."""

    INPUTS = "inputs"
    REFUSE = "refuse"


class NamingDialects(TyperCommand):
    """A command whose help names the dialects that there are; found late, as that takes a while."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from ir_interp.converters.sources import registry

        for option in self.params:
            if isinstance(option, TyperOption) and option.name == "dialect":
                option.help = f"{option.help} One of: {', '.join(registry.names())}."
        super().format_help(ctx, formatter)


def convert(
    source: Annotated[Path, typer.Argument(help="An .onnx model, an IR or pasted layer (.xml), or layers as .json.")],
    destination: Annotated[Path, typer.Argument(help="An .xml (with its .bin), .onnx, .json or .py file.")],
    opset: Annotated[
        int | None,
        typer.Option(
            parser=options.whole, metavar="INTEGER", help="ONNX operator set: 11 to 24, of a single layer from 7."
        ),
    ] = None,
    ir: Annotated[
        int | None,
        typer.Option(parser=options.whole, metavar="INTEGER", help="Version of an .xml: 11, or 10 (up to 2021.4)."),
    ] = None,
    interpolate: Annotated[
        int | None,
        typer.Option(
            parser=options.whole, metavar="INTEGER", help="Version of Interpolate in an .xml: 11, 4 (in IR v10) or 1."
        ),
    ] = None,
    dialect: Annotated[str | None, typer.Option(help="Dialect of a .json file to write. Default: tensorrt.")] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Of .json to .tflite: a .tflite whose resizes of these names become as the layers say.",
        ),
    ] = None,
    semantics: Annotated[
        Semantics,
        typer.Option(
            metavar="READING",
            help="Which to take where several exist, types at the ends of an IR v10 included: runtime, document or "
            "reference.",
        ),
    ] = Semantics.RUNTIME,
    target: Annotated[
        str | None,
        typer.Option(
            help="Of .onnx to .onnx, who is to run it: onnx:11 and the like, tensorrt, openvino, opencv-dnn, ..., any."
        ),
    ] = None,
    only: Annotated[
        Only | None,
        typer.Option(
            metavar="FORM", help="One form for all resizes of an .xml, or for a target: native or decomposed."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse what is not exact for every shape.")] = False,
    fp16: Annotated[bool, typer.Option("--fp16", help="Store weights of an .xml or .onnx in half precision.")] = False,
    state: Annotated[
        StateChoice,
        typer.Option(
            metavar="FORM", help="What an IR keeps between inferences: inputs (and outputs) of an .onnx, or refuse."
        ),
    ] = StateChoice.INPUTS,
    verify: Annotated[bool, typer.Option(help="Run both in their own runtimes before writing.")] = True,
    shape: options.InputShapes = None,
    array: options.Arrays = None,
    seed: options.Seed = 0,
    mean: options.Mean = None,
    scale: options.Scale = None,
    layout: options.Layout = None,
    bgr: options.Bgr = False,
    style: options.Style = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    report: options.Json = None,
    html: options.Html = None,
    image: options.Image = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help="SOURCE is a folder or @list.txt, DESTINATION a folder: what to write, as .xml."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(parser=options.positive, metavar="INTEGER", help="With --to, processes that share the files.")
    ] = 1,
    results: options.Results = None,
    scheduler: options.Scheduler = None,
    time_limit: options.TimeLimit = None,
) -> int:
    """Translate a file, and prove it; refuse what has no exact form, and write nothing then.

    What has the name of a result is replaced, but nothing that is read. The page of --html tells of a refusal, too.
    Of a folder every model becomes one in the folder DESTINATION, and results.jsonl there tells what came of each.
    """
    form = options.style(style, as_json, quiet)
    if to is not None:
        alone = {"--html": html, "--report": report, "--image": image, "--input": array, "--into": into}
        fleet.refuse(alone, "with --to")
        settings = {"opset": opset, "dialect": dialect, "semantics": semantics, "target": target, "strict": strict}
        settings |= {"only": only and only.value, "fp16": fp16, "state": state.value, "verify": verify, "seed": seed}
        setting = _setting(source, destination, to, options.shapes(shape or []), **settings)
        place = results or destination / "results.jsonl"
        crew = {"jobs": jobs, "scheduler": scheduler, "limit": time_limit}
        _, is_read = fleet.run([source], setting, place, crew, form=form, quiet=quiet)
        return 0 if is_read else 1
    fleets = {"--jobs": jobs > 1, "--results": results, "--scheduler": scheduler, "--time-limit": time_limit}
    fleet.refuse(fleets, "without --to")
    shapes, inputs = options.shapes(shape or []), options.files(array or [])
    options.check_image(image, html)
    check_outputs([path for path in (destination, report, html) if path], [image] if image else [])
    made = partial(_made, models=(source,), inputs=inputs, seed=seed if verify else None, image=image)

    def save_page(report: ConversionReport, path: Path) -> None:
        from ir_interp.converters.pages import conversion_page, frame

        ran = report.verification.shapes if report.verification else shapes
        frame.save(conversion_page.conversion_page(report, made(shapes=ran)), path)

    wanted = {report: _save_json, html: save_page}
    try:
        with progress.bar(quiet) as report_progress:
            done = ir_interp.convert(
                source,
                destination,
                opset=opset,
                ir=ir,
                interpolate=interpolate,
                dialect=dialect,
                into=into,
                semantics=semantics,
                target=target,
                only=only and only.value,
                strict=strict,
                fp16=fp16,
                state=state.value,
                verify=verify,
                shapes=shapes,
                inputs=inputs,
                images=options.images(mean, scale, layout, bgr=bgr),
                seed=seed,
                progress=report_progress,
                reports={path: save for path, save in wanted.items() if path},
            )
    except OutputError:
        raise
    except (IrInterpError, ExceptionGroup) as error:
        if html:
            _save_refusal(html, source, destination, semantics, error, made(shapes=shapes))
        raise
    if form == "json":
        print(_json(done))
    elif form == "text":
        show(done)
    return 0


def _setting(source: Path, destination: Path, to: str, shapes: dict[str, tuple[int, ...]], **given: Any) -> Conversion:
    """Return what becomes of every model. Raises OutputError where the folder cannot be made."""
    from ir_interp.converters.conversion.options import Options
    from ir_interp.converters.fleet.work import Conversion
    from ir_interp.converters.report import Form, StateForm
    from ir_interp.converters.verify.run.image_inputs import Images
    from ir_interp.converters.verify.run.inputs import Inputs

    try:
        destination.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{destination} cannot be made: {error.strerror or error}") from None
    suffix = to if to.startswith(".") else f".{to}"
    if FileKind.of(f"x{suffix}") is None:
        raise IrInterpError(f"--to {to!r}: expected .xml, .onnx, .json or .py")
    given["only"] = Form(given["only"]) if given["only"] else Form.ANY
    given["state"] = StateForm(given["state"])
    inputs = Inputs(shapes=shapes, files={}, seed=given.pop("seed"), images=Images())
    root = source if is_folder(source) else Path()
    return Conversion(root=root, destination=destination, suffix=suffix, options=Options(inputs=inputs, **given))


def _json(report: ConversionReport) -> str:
    return json.dumps(report.record(), indent=2)


def _save_json(report: ConversionReport, path: Path) -> None:
    path.write_text(_json(report) + "\n", encoding="utf-8")


def _made(**facts: Any) -> Made:
    from ir_interp.converters.pages.made import Made

    return Made(command=options.command(), **facts)


def _save_refusal(
    path: Path, source: Path, destination: Path, semantics: Semantics, error: Exception, made: Made
) -> None:
    from ir_interp.converters.pages import conversion_page, frame

    check_outputs([path], [source, destination])
    frame.save(conversion_page.refusal_page(source, destination, semantics, error, made), path)
