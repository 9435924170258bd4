"""``ir-interp run``, ``identify`` and ``preprocess``: a resize of an array, image or store; its library."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import ir_interp
from ir_interp.cli import printed_results
from ir_interp.cli.command_line import with_options
from ir_interp.cli.printed_results import PreprocessRecord, RunRecord, print_result, printed_form, report_written
from ir_interp.errors import IrInterpError
from ir_interp.executor.missing_pixels import Missing
from ir_interp.files.kinds import FileKind, is_image, is_in_store, is_raster, is_tiff
from ir_interp.files.memory import check_bytes
from ir_interp.files.writing import check_outputs, is_folder, replacing
from ir_interp.libraries import caveat, is_call, load
from ir_interp.options.declaration import check_place, keywords
from ir_interp.options.resize_options import (
    CALL,
    CALL_ON_STORE,
    IN_MEMORY,
    IdentifyOptions,
    PreprocessOptions,
    RunOptions,
)
from ir_interp.plain_text import printable, quote_shell
from ir_interp.resize_op import ResizeOp, choose
from ir_interp.shapes import Array
from ir_interp.views import image_arrays, likeness

if TYPE_CHECKING:
    from ir_interp.large.stores import Request

RUN_EXAMPLES = """
ir-interp run layer.xml --input x.npy --output y.npy
ir-interp run model.onnx --layer up2 --input x.npy --sizes 50,60 --output y.npy
ir-interp run layer.xml --input photo.png --output small.png
ir-interp run photo.png --like pillow:bicubic --sizes 224,224 --output small.png
ir-interp run layer.xml --input big.zarr --output small.zarr --memory 1GiB
ir-interp run big.zarr --like pillow:bicubic --scales 0.25 --dims y,x --output small.zarr
"""


@with_options(RunOptions)
def run(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The file with the resize, as inspect takes it; with --like, the image."),
    ],
    extra: Annotated[Path | None, typer.Argument(metavar="INPUT", hidden=True)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="PATH", help="Array (.npy), image or .zarr to write. Required.")
    ] = None,
    *,
    options: RunOptions,
) -> None:
    """Resize an array, image or Zarr store.

    FILE holds the resize. With --like, FILE is an image, and is resized as by a library.

    A .zarr array may be larger than memory: it is processed chunk by chunk, and an interrupted call continues where it
    stopped.
    """
    printed_form(options)  # which refuses options that exclude each other
    if extra is not None:
        named = output or Path("resized.npy")
        call = quote_shell("ir-interp", "run", str(file), "--input", str(extra), "--output", str(named))
        raise IrInterpError(f"{extra}: a second FILE; expected the array or image that is resized as --input: {call}")
    if output is None:
        raise IrInterpError("--output is missing: the array (.npy), image or .zarr to write")
    # Both orders of a call and an image are one case from here on.
    file, options = _as_call(file, options)
    if options.like is not None and is_on_disk(file, output):
        _check_stored("FILE", file, output)
        check_place(options, CALL_ON_STORE, f"with --like, which resizes {file.name}")
        _run_call_on_store(options.like, file, output, options)
        return
    if options.like is not None:
        check_place(options, CALL, f"with --like, which resizes {file.name}", _elsewhere(file, output))
        _run_call(options.like, file, output, options)
        return
    source = options.source
    if source is None:
        raise IrInterpError("--input is missing: the array or image that is resized; or --like, as in pillow:bicubic")
    if is_on_disk(source, output):
        _check_stored("--input", source, output)
        _run_store(_resize(file, options), source, output, options)
        return
    check_place(options, IN_MEMORY, f"on {source.name}, which is not a .zarr store")
    check_outputs([output], [file, source])
    op = _resize(file, options)
    x = image_arrays.array_or_image(source, op)
    _check_format(output, x.dtype)
    with printed_results.progress_bar(options.quiet, "resizing"):
        y = op.run(
            x,
            sizes=options.sizes,
            scales=_each(options.scales),
            arithmetic=options.arithmetic,
            nodata=options.nodata,
            valid=options.valid,
        )
    with replacing(output) as (temporary,):
        _write(temporary, y, op)
    _report(op.name or op.where, source, x, output, y, options)


def is_on_disk(source: Path, output: Path) -> bool:
    """Return whether an image is read and written chunk by chunk: Zarr, or TIFF that Pillow would not preserve."""
    if is_in_store(source) or is_in_store(output):
        return True
    return is_tiff(source) and is_tiff(output) and is_raster(source)


def _elsewhere(file: Path, output: Path) -> tuple[str, str]:
    """Return where else options have an effect, and why they have none on files that are read as a whole."""
    return CALL_ON_STORE, f"on {file.name} to {output.name}; it goes with .zarr to .zarr and TIFF to TIFF or .zarr"


def _check_stored(place: str, source: Path, output: Path) -> None:
    """Raise IrInterpError unless both files are read and written chunk by chunk: Zarr, or TIFF as the source."""
    if not (is_tiff(source) or (is_in_store(source) and FileKind.of(output) is FileKind.STORE)):
        if is_in_store(source):
            raise IrInterpError(f"{place} {source.name!r} is a Zarr array; --output {output.name!r} must end in .zarr")
        problem = f"{place} {source.name!r} is neither a .zarr store nor a TIFF file"
        raise IrInterpError(f"{problem}; expected one of them for --output {output.name!r}")


def _as_call(file: Path, options: RunOptions) -> tuple[Path, RunOptions]:
    """Return ``run CALL --input FILE`` on an image or store as ``run FILE --like CALL``."""
    source = options.source
    if options.like or source is None or not is_call(file) or not (is_image(source) or is_in_store(source)):
        return file, options
    return source, replace(options, like=str(file), source=None)


def _resize(file: Path, options: RunOptions) -> ResizeOp:
    return choose(ir_interp.load(file, semantics=options.semantics), options.layer, file.name)


def _run_store(op: ResizeOp, source: Path, output: Path, options: RunOptions) -> None:
    from ir_interp.large.stores import Request

    target = {"sizes": options.sizes, "scales": _each(options.scales), "arithmetic": options.arithmetic}
    check = partial(op.check_input, has_target=options.sizes is not None or options.scales is not None)
    request = Request(source=source, destination=output, spec=op.spec, target=target, check=check)
    _write_store(request, op.name or op.where, options)


def _run_call_on_store(like: str, source: Path, output: Path, options: RunOptions) -> None:
    """Resize a store as a call of an image library."""
    from ir_interp.containers import Request as Call
    from ir_interp.large.stores import Request, spec_for
    from ir_interp.public.images import call_of

    _check_sizes(options)
    call = Call(like=call_of(like), sizes=options.sizes, scales=_each(options.scales), axes=options.dims)
    spec, dtype = spec_for(source, output, call)
    request = Request(source=source, destination=output, spec=spec)
    _write_store(request, like, options, caveat(load(like, dtype=dtype)))


def _write_store(request: Request, name: str, options: RunOptions, caveat: str = "") -> None:
    from ir_interp.large import stores
    from ir_interp.large.stores import resize_store

    request = replace(request, missing=Missing.of(options.nodata, options.valid), levels=options.levels)
    if options.memory is not None:
        check_bytes(options.memory, f"--memory {options.memory / 2**30:.3g}GiB")
        _check_memory(options.memory, stores.bytes_of_program())
        request = replace(request, memory=options.memory)
    with printed_results.progress_bar(options.quiet) as report_progress:
        before, after = resize_store(request, report_progress)
    record = RunRecord(
        resize=name,
        source=str(request.source),
        source_shape=before,
        destination=str(request.destination),
        shape=after,
        caveat=caveat,
    )
    report_written(record, options)


def _check_memory(memory: int, floor: int) -> None:
    """Raise IrInterpError for a limit that the program exceeds by itself, without any block of an image."""
    if memory <= floor:
        problem = f"--memory {memory / 2**20:.4g}MiB is too little: the program itself takes {floor >> 20}MiB"
        raise IrInterpError(f"{problem}; give more, as in --memory 512MiB")


def _check_sizes(options: RunOptions) -> None:
    """Raise IrInterpError for one size of an image, which has two; a single scale is that of both."""
    if options.sizes is not None and len(options.sizes) == 1 and options.dims is None:
        size = options.sizes[0]
        raise IrInterpError(f"--sizes {size}: one size for two axes; expected height and width, as in {size},{size}")


def _each(scales: tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    """Return scales; a single one is that of each resized axis."""
    return scales[0] if scales is not None and len(scales) == 1 else scales


def _run_call(like: str, file: Path, output: Path, options: RunOptions) -> None:
    """Resize an image as a call of an image library."""
    _check_sizes(options)
    check_outputs([output], [file])
    x, mode = likeness.read(file)
    likeness.check_format(output, x)
    op = likeness.call(like, x, mode)
    with printed_results.progress_bar(options.quiet, "resizing"):
        y = likeness.resized(op, x, options.sizes, options.scales)
    with replacing(output) as (temporary,):
        likeness.write(temporary, y)
    _report(f"{op.dialect} {op.version}, {like}", file, x, output, y, options, caveat(op))


def _report(name: str, source: Path, x: Array, output: Path, y: Array, options: RunOptions, caveat: str = "") -> None:
    record = RunRecord(
        resize=name,
        source=str(source),
        source_shape=x.shape,
        destination=str(output),
        shape=y.shape,
        dtype=y.dtype.name,
        caveat=caveat,
    )
    report_written(record, options)


def _write(path: Path, y: Array, op: ResizeOp) -> None:
    if FileKind.of(path) is FileKind.ARRAY:
        with path.open("wb") as file:  # to a path whose extension is in upper case NumPy would add its own
            np.save(file, y, allow_pickle=False)
    else:
        image_arrays.write(path, y, op)


def _check_format(path: Path, dtype: np.dtype[Any]) -> None:
    """Raise IrInterpError where values of a type cannot be written under a name, before they are computed."""
    if FileKind.of(path) is FileKind.ARRAY:
        return
    if not path.suffix:
        raise IrInterpError(f"--output {path.name!r} has no extension; expected .npy or that of an image")
    if dtype != np.uint8:
        raise IrInterpError(f"--output {path.name!r}: images hold uint8, and the input is {dtype}; expected .npy")
    image_arrays.check_format(path, np.zeros((1, 1, 3), dtype))


IDENTIFY_EXAMPLES = """
ir-interp identify photo.png small.png
ir-interp identify originals/ resized/
"""


@with_options(IdentifyOptions)
def identify(
    before: Annotated[
        Path, typer.Argument(metavar="BEFORE", help="The original: an image or array (.npy), or a folder of them.")
    ],
    after: Annotated[
        Path, typer.Argument(metavar="AFTER", help="The resized image or array, or a folder with the same file names.")
    ],
    options: IdentifyOptions,
) -> int:
    """Find which library call resized an image.

    Exit code 1 unless the call is certain.
    """
    from ir_interp.origins import search
    from ir_interp.origins.candidates import read_pair

    form = printed_form(options)
    with printed_results.progress_bar(options.quiet, "searching") as report:
        pairs = [read_pair(first, second) for first, second in _pairs(before, after)]
        identified = search.identified(pairs, report)
    print_result(form, identified, lambda: print("\n".join(map(printable, identified.text.splitlines()))))
    return 0 if identified.is_sure else 1


def _pairs(before: Path, after: Path) -> list[tuple[Path, Path]]:
    """Return the files that belong together. Raises IrInterpError if no name is in both folders, or one is a file."""
    folders = [path for path in (before, after) if is_folder(path)]
    if not folders:
        return [(before, after)]
    if len(folders) == 1:
        other = after if folders == [before] else before
        raise IrInterpError(f"{folders[0]} is a folder, and {other} is not; expected two files or two folders")
    common = sorted({path.name for path in before.iterdir()} & {path.name for path in after.iterdir()})
    if not common:
        problem = f"no file name occurs in both {before} and {after}"
        raise IrInterpError(f"{problem}; give each resized image the name of its original")
    return [(before / name, after / name) for name in common]


PREPROCESS_EXAMPLES = """
ir-interp preprocess model.onnx ready.onnx --like pillow:bicubic --size 224,224 --mean 123.7,116.3,103.5 --std 58.4
ir-interp preprocess yolo.onnx ready.onnx --like opencv:linear --size 640,640 --letterbox 114 --std 255
ir-interp preprocess model.onnx ready.onnx --config preprocessor_config.json
"""


@with_options(PreprocessOptions)
def preprocess(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A model whose input is an image, as convert takes it."),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The .onnx or .xml file to write; its input is the raw image.")
    ],
    options: PreprocessOptions,
) -> None:
    """Move preprocessing into a model, exactly as in training.

    The model then takes raw uint8 images, and its resize matches the library byte for byte.
    """
    printed_form(options)  # which refuses options that exclude each other
    with printed_results.progress_bar(options.quiet, "writing"):
        image = ir_interp.preprocess(model, output, **keywords(options))
    batch = [] if options.batch is None else [options.batch or "batch"]
    shape = (*batch, *(options.image_size or ("height", "width")), options.channels)
    record = PreprocessRecord(source=str(model), destination=str(output), input=image, dtype="uint8", shape=shape)
    report_written(record, options)


COMMANDS = {
    "preprocess": (preprocess, PREPROCESS_EXAMPLES),
    "run": (run, RUN_EXAMPLES),
    "identify": (identify, IDENTIFY_EXAMPLES),
}
"""The functions of the commands and their examples, by name."""
