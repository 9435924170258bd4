"""``ir-interp run``, ``identify`` and ``preprocess``: a resize of an array, image or store; its library."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import ir_interp
from ir_interp.cli import printed_results
from ir_interp.cli.command_line import with_options
from ir_interp.cli.printed_results import (
    FolderRecord,
    PreprocessRecord,
    RunRecord,
    print_result,
    printed_form,
    report_written,
)
from ir_interp.containers import resized
from ir_interp.errors import IrInterpError
from ir_interp.executor.missing_pixels import Missing
from ir_interp.files.kinds import IMAGES, WITH_RESIZES, FileKind, is_deep, is_image, is_in_store, is_raster, is_tiff
from ir_interp.files.memory import check_bytes
from ir_interp.files.writing import check_outputs, exists, is_file, is_folder, real, replacing
from ir_interp.libraries import caveat, is_call, load
from ir_interp.options.declaration import check_place, keywords
from ir_interp.options.resize_options import (
    CALL,
    CALL_OF_FOLDER,
    CALL_ON_STORE,
    IN_MEMORY,
    OWN_OF_ARRAY,
    OWN_OF_FOLDER,
    OWN_OF_IMAGE,
    OWN_ON_STORE,
    IdentifyOptions,
    PreprocessOptions,
    RunOptions,
)
from ir_interp.plain_text import printable, quote_shell
from ir_interp.resize_op import ResizeOp, choose
from ir_interp.shapes import Array, Shape
from ir_interp.specs import OwnKernel
from ir_interp.views import image_arrays, likeness
from ir_interp.views.image_arrays import Orientation
from ir_interp.views.likeness import Pairs, Pictures

if TYPE_CHECKING:
    from ir_interp.large.stores import Request

RUN_EXAMPLES = """
ir-interp run photo.jpg --scales 0.5 --output half.jpg
ir-interp run dem.tif --scales 0.25 --kernel area --output quarter.tif
ir-interp run photos/ --size 224,224 --to .jpg --jobs 2 --output small/
ir-interp run layer.xml --input x.npy --output y.npy
ir-interp run model.onnx --layer up2 --input x.npy --sizes 50,60 --output y.npy
ir-interp run layer.xml --input photo.png --output small.png
ir-interp run photo.png --like pillow:bicubic --sizes 224,224 --output small.png
ir-interp run layer.xml --input big.zarr --output small.zarr --memory 1GiB
ir-interp run big.zarr --like pillow:bicubic --scales 0.25 --dims y,x --output small.zarr
"""


@with_options(RunOptions)
def run(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES", help="The image, array or store; images, or a folder of them; or a file with a resize."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", metavar="PATH", help="Array (.npy), image, .zarr or folder to write. Required."),
    ],
    options: RunOptions,
) -> int:
    """Resize an array, image or Zarr store.

    An image, array or store is resized by --kernel, or with --like as by a library. A layer or model holds the resize
    of --input. Images of a folder, or several, become images of the folder --output.

    A .zarr array may be larger than memory: it is processed chunk by chunk, and an interrupted call continues where it
    stopped.
    """
    printed_form(options)  # which refuses options that exclude each other
    if is_of_many(files):
        _check_are_images(files, output)
        return _run_folder(files, output, options)
    # Both orders of a call and an image are one case from here on.
    file, options = _as_call(files[0], options)
    if options.like is None and options.source is None and _holds_pixels(file):
        _run_own(file, output, options)
        return 0
    if options.like is not None and is_on_disk(file, output):
        _check_stored("FILE", file, output)
        check_place(options, CALL_ON_STORE, f"with --like, which resizes {file.name}")
        _run_call_on_store(options.like, file, output, options)
        return 0
    if options.like is not None:
        check_place(options, CALL, f"with --like, which resizes {file.name}", _elsewhere(file, output))
        _run_call(options.like, file, output, options)
        return 0
    source = options.source
    if source is None:
        raise IrInterpError("--input is missing: the array or image that is resized; or --like, as in pillow:bicubic")
    if is_on_disk(source, output):
        _check_stored("--input", source, output)
        _run_store(_resize(file, options), source, output, options)
        return 0
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
    _report(op.name or op.where, source, x.shape, output, y.shape, y.dtype.name, options)
    return 0


def _holds_pixels(path: Path) -> bool:
    """Return whether a path names an image, an array or a store, not a file with a resize."""
    return is_image(path) or is_in_store(path) or FileKind.of(path) is FileKind.ARRAY


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


def _run_call_on_store(like: str | None, source: Path, output: Path, options: RunOptions) -> None:
    """Resize a store as a call of an image library, or by a kernel of this program."""
    from ir_interp.containers import Request as Call
    from ir_interp.large.stores import Request, spec_for
    from ir_interp.public.images import call_of

    _check_sizes(options)
    call = likeness.own_request(options.kernel, options.sizes, options.scales, options.dims)
    if like is not None:
        call = Call(like=call_of(like), sizes=options.sizes, scales=_each(options.scales), axes=options.dims)
    spec, dtype = spec_for(source, output, call)
    request = Request(source=source, destination=output, spec=spec)
    name = like or _own_name(options.kernel)
    _write_store(request, name, options, caveat(load(like, dtype=dtype)) if like else "")


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


def _run_own(file: Path, output: Path, options: RunOptions) -> None:
    """Resize an image, an array or a store by a kernel of this program."""
    why = f"on {file.name}, which is resized without --like"
    if is_on_disk(file, output) or (is_tiff(file) and is_tiff(output) and is_deep(file)):
        _check_stored("FILE", file, output)
        check_place(options, OWN_ON_STORE, why)
        _run_call_on_store(None, file, output, options)
        return
    is_array = FileKind.of(file) is FileKind.ARRAY
    elsewhere = _elsewhere(file, output)
    check_place(options, OWN_OF_ARRAY if is_array else OWN_OF_IMAGE, why, (OWN_ON_STORE, elsewhere[1]))
    if is_array:
        _run_own_on_array(file, output, options)
    else:
        _run_picture(file, output, options)


def _own_name(kernel: OwnKernel | None) -> str:
    return f"own:{kernel or OwnKernel.LINEAR}"


def _run_own_on_array(file: Path, output: Path, options: RunOptions) -> None:
    check_outputs([output], [file])
    x = image_arrays.array(file)
    _check_format(output, x.dtype)
    request = likeness.own_request(options.kernel, options.sizes, options.scales, options.dims)
    with printed_results.progress_bar(options.quiet, "resizing"):
        y = resized(np.asarray(x), request, Missing.of(options.nodata, options.valid))
    with replacing(output) as (temporary,):
        likeness.write(temporary, y)
    _report(_own_name(options.kernel), file, x.shape, output, y.shape, y.dtype.name, options)


def _pictures(options: RunOptions) -> Pictures:
    _check_sizes(options)
    if options.like is None and options.sizes is None and options.scales is None:
        raise IrInterpError("the output size is missing; give --sizes 224,224 or --scales 0.5")
    return Pictures(
        like=options.like,
        kernel=options.kernel,
        sizes=options.sizes,
        scales=options.scales,
        orientation=options.orientation or Orientation.KEEP,
        quality=options.quality,
    )


def _run_picture(file: Path, output: Path, options: RunOptions) -> None:
    """Resize an image file."""
    pictures = _pictures(options)
    check_outputs([output], [file])
    with printed_results.progress_bar(options.quiet, "resizing"):
        made = pictures.resize(file, output)
    name = _own_name(options.kernel) if made.op is None else f"{made.op.dialect} {made.op.version}, {options.like}"
    told = "" if made.op is None else caveat(made.op)
    _report(name, file, made.before, output, made.after, made.dtype, options, told)


def _check_are_images(files: Sequence[Path], output: Path) -> None:
    """Raise IrInterpError for a file with a resize and the array for it, which has an option of its own."""
    if len(files) == 2 and FileKind.of(files[0]) in WITH_RESIZES:
        call = quote_shell("ir-interp", "run", str(files[0]), "--input", str(files[1]), "--output", str(output))
        raise IrInterpError(
            f"{files[1]}: a second FILE; expected the array or image that is resized as --input: {call}"
        )


def is_of_many(files: Sequence[Path]) -> bool:
    """Return whether arguments stand for many images: several, a folder that is no store, or a pattern."""
    if len(files) > 1:
        return True
    (path,) = files
    return (is_folder(path) and not is_in_store(path)) or (is_pattern(path) and not exists(path))


def is_pattern(path: Path) -> bool:
    """Return whether a path is a pattern of names, as in ``photos/*.jpg``."""
    return glob.has_magic(str(path))


def _run_folder(files: Sequence[Path], output: Path, options: RunOptions) -> int:
    """Resize many images into a folder; name those that cannot be, after all others are done."""
    from ir_interp.converters import workers

    place = CALL_OF_FOLDER if options.like else OWN_OF_FOLDER
    check_place(options, place, "on several images")
    pictures, items = _pictures(options), _destinations(files, output, options.to)
    errors: dict[Path, str] = {}
    question = workers.Question(function="ir_interp.views.likeness:resized_files", setting=pictures)
    waiting, done = _batches(items), 0
    with printed_results.progress_bar(options.quiet, "resizing") as report_progress:
        while waiting:
            alone: list[Pairs] = []
            for number, answer in workers.each(question, waiting, options.jobs or 1):
                batch = waiting[number]
                if not isinstance(answer, list) and len(batch) > 1:  # one of them ended the process
                    alone += [(pair,) for pair in batch]
                    continue
                answers = answer if isinstance(answer, list) else [f"{batch[0][0]}: {answer}"]
                errors |= {source: text for (source, _), text in zip(batch, answers, strict=True) if text}
                report_progress("images", done := done + len(batch), len(items))
            waiting = alone
    record = FolderRecord(
        resize=options.like or _own_name(options.kernel),
        destination=str(output),
        images=len(items) - len(errors),
        errors=tuple(errors[path] for path in sorted(errors)),
    )
    report_written(record, options)
    for error in record.errors:
        print(f"error: {printable(error)}", file=sys.stderr)
    return 2 if errors else 0


_BATCH = 8  # files of a folder that a process resizes before it reports


def _batches(items: Mapping[Path, Path]) -> list[Pairs]:
    """Return images and their destinations in batches of one folder each."""
    folders: dict[Path, list[tuple[Path, Path]]] = {}
    for source, made in items.items():
        folders.setdefault(made.parent, []).append((source, made))
    return [
        tuple(pairs[start : start + _BATCH]) for pairs in folders.values() for start in range(0, len(pairs), _BATCH)
    ]


def _destinations(files: Sequence[Path], output: Path, to: str | None) -> dict[Path, Path]:
    """Return the file to write for each image: its name below the folder, pattern or argument that holds it.

    Raises IrInterpError if there are no images, for two of one name, and where an input would be overwritten.
    """
    suffix = None if to is None else f".{to.lstrip('.')}".lower()
    if suffix is not None and suffix not in IMAGES and suffix != FileKind.ARRAY.value:
        raise IrInterpError(f"--to {to!r}: expected one of {', '.join(sorted((*IMAGES, FileKind.ARRAY.value)))}")
    if output.suffix and not is_folder(output):
        raise IrInterpError(f"--output {output.name!r} is the name of a file; expected that of a folder")
    found = [pair for path in files for pair in _images_of(path)]
    if not found:
        names = ", ".join(map(str, files))
        raise IrInterpError(f"{names}: no image; expected files that end in {', '.join(sorted(IMAGES))}")
    named: dict[Path, Path] = {}
    for source, relative in found:
        made = output / (relative if suffix is None else relative.with_suffix(suffix))
        if made in named and named[made] != source:
            raise IrInterpError(f"{source} and {named[made]} would both become {made}; resize them to two folders")
        named[made] = source
    sources = {real(source) for source in named.values()}
    for made in named:
        if real(made) in sources:
            raise IrInterpError(f"{made} is an input and would be overwritten; choose another folder")
    return {source: made for made, source in named.items()}


def _images_of(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the images that an argument stands for, each with its name below the folder of the output."""
    if is_folder(path):
        yield from ((file, file.relative_to(path)) for file in sorted(path.rglob("*")) if _is_listed(file))
    elif is_pattern(path) and not exists(path):
        yield from ((file, Path(file.name)) for file in map(Path, _matches(path)) if _is_listed(file))
    else:
        yield path, Path(path.name)


def _matches(pattern: Path) -> list[str]:
    return sorted(glob.glob(str(pattern)))  # noqa: PTH207 (a pattern may also be of folders)


def _is_listed(path: Path) -> bool:
    return is_image(path) and is_file(path)


def _run_call(like: str, file: Path, output: Path, options: RunOptions) -> None:
    """Resize an image as a call of an image library."""
    if FileKind.of(file) is not FileKind.ARRAY:
        _run_picture(file, output, options)
        return
    _check_sizes(options)
    check_outputs([output], [file])
    x, mode = likeness.read(file)
    likeness.check_format(output, x)
    op = likeness.call(like, x, mode)
    with printed_results.progress_bar(options.quiet, "resizing"):
        y = likeness.resized(op, x, options.sizes, options.scales)
    with replacing(output) as (temporary,):
        likeness.write(temporary, y)
    _report(f"{op.dialect} {op.version}, {like}", file, x.shape, output, y.shape, y.dtype.name, options, caveat(op))


def _report(
    name: str,
    source: Path,
    before: Shape,
    output: Path,
    after: Shape,
    dtype: str,
    options: RunOptions,
    caveat: str = "",
) -> None:
    record = RunRecord(
        resize=name,
        source=str(source),
        source_shape=before,
        destination=str(output),
        shape=after,
        dtype=dtype,
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
