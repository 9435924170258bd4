"""Diagnosis of models: audits, fixes, and reproductions of faults of runtimes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.converters.sources import readers
from ir_interp.converters.sources.readers import Source
from ir_interp.options.audit_options import AuditOptions
from ir_interp.options.declaration import settled
from ir_interp.options.fix_options import FixOptions
from ir_interp.options.image_options import Images
from ir_interp.options.reproduce_options import ReproduceOptions
from ir_interp.options.shared_options import Files, Progress

if TYPE_CHECKING:
    from ir_interp.converters.audit.audit_report import Audit
    from ir_interp.converters.fix.fixed_files import Fixed
    from ir_interp.converters.reproduce.conformance_kit import Kit
    from ir_interp.converters.reproduce.folder import Reproduced


@checked
def audit(
    models: Source | Iterable[Source],
    *,
    run: bool = False,
    shapes: Mapping[str, Sequence[int]] | None = None,
    runtimes: Iterable[str] | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    jobs: int = 1,
    preprocess: str | None = None,
    trained: str | None = None,
    image: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Return the verdict of each runtime on each resize of some models, and likely mistakes of exporters.

    ``models`` are .onnx and .xml files, folders of them, or models in memory; one or several. ``run`` also runs the
    installed runtimes, in a child process, if the shape of a resize is static; ``shapes`` are the shapes of dynamic
    inputs by name. ``runtimes`` chooses some ("onnxruntime", "openvino",
    "openvino-converted", "tensorrt", "reference"; for nodes of ONNX also "iree", "mnn", "ncnn", "opencv-dnn",
    "tract", "tvm", and by their sources "onnxruntime-cuda", "-directml", "-qnn" and "-webgpu"; "installed" for the
    first five and the installed ones of the others). ``select`` and ``ignore`` choose the codes of findings, or
    prefixes of codes. ``jobs`` processes share the files; with more than one, the calling script must be importable,
    as with ``multiprocessing``.

    ``preprocess`` is the resize in front of the models ("opencv:linear"), ``trained`` that of their training
    ("pillow:bilinear"). Both may be pipelines instead: a path that ``pipeline`` reads or a class of Hugging Face,
    followed by ":pil" or ":torchvision" if it needs a backend. ``preprocessing`` of the result is the difference of
    both at each input, for ``image`` or for random images of usual shapes, and for pipelines the cost of each step.

    Models that cannot be read are ``errors`` of the result. Raises ReadError for a missing path.

    Examples:
        >>> [row] = ir_interp.audit("model.onnx", runtimes=["openvino", "tensorrt"]).rows
        >>> for name, verdict in row.verdicts.items():
        ...     print(f"{name}: {verdict}")
        openvino: differs by 0.165: antialias dropped
        tensorrt: refused: the importer does not support antialias

    """
    options = settled(AuditOptions, locals())
    from ir_interp.converters.audit import audit_report

    return audit_report.audited(readers.several(models), options)


@checked
def fix(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    layers: Iterable[str] = (),
    verify: bool = True,
    shapes: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, Files] | None = None,
    images: Images | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fixed:
    """Write an ONNX model without the likely exporter mistakes that an audit finds (IRI011 to IRI016 and IRI018).

    ``select`` and ``ignore`` choose codes, or prefixes of codes, ``layers`` resizes by name; by default all. Only the
    nodes of these resizes, and new constants for them, change: the result is read back, and undoing the intended
    changes must give the bytes of the source. If there is nothing to fix, the file is copied.

    ``verify`` runs the model before and after in onnxruntime, on ``inputs``, ``images``, ``seed`` and ``shapes`` as for
    ``convert``, and the result contains the difference.

    Raises ReadError for an unreadable file, an ExceptionGroup of InexactError for mistakes that cannot be fixed, and
    VerificationError if the result does not run. Nothing is written then.

    Examples:
        >>> [fixed] = ir_interp.fix("model.onnx", "fixed.onnx").repaired
        >>> [remedy.text for remedy in fixed.remedies]
        ['exclude_outside=0 -> 1']

    """
    options = settled(FixOptions, locals())
    from ir_interp.converters.fix import fixed_files

    with readers.as_file(source) as path:
        fixed = fixed_files.fix(path, arguments.path(destination, "destination"), options)
    return replace(fixed, source=readers.shown_path(source, path))


@checked
def reproduce(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    runtime: str | None = None,
    layer: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    progress: Progress | None = None,
) -> Reproduced:
    """Write a folder that reproduces the fault of an installed runtime in a resize, for the runtime's developers.

    ``source`` is a model (.onnx; .xml for openvino), or a known fault of docs/faults.md ("mnn:nearest-ceil"), which
    determines its ``runtime``. For a model it is the resize ``layer``, or the first that the runtime computes
    otherwise, with inputs of the ``shapes``. The folder, which must be missing or empty, receives that node alone in
    the smallest shape that shows the fault, an input, the expected output, the runtime's output, a script that needs
    only NumPy and the runtime, and a README.md with formula, source and versions.

    Raises IrInterpError if the runtime is not installed, or if there is no fault.

    Examples:
        >>> fault = ir_interp.reproduce("openvino:antialias", "fault")
        >>> print(fault.verdict)
        differs by 0.333: antialias dropped

    """
    options = settled(ReproduceOptions, locals())
    from ir_interp.converters.reproduce import reproduction

    return reproduction.reproduce(arguments.path(source, "source"), arguments.path(folder, "folder"), options)


@checked
def kit(folder: str | os.PathLike[str]) -> Kit:
    """Write a conformance kit: a few hundred models of one Resize or Upsample, with inputs and expected outputs.

    Its runner needs Python, NumPy and a runtime, but not this project, for machines with nothing else (NPUs, phones).
    Raises IrInterpError for a folder that is neither missing nor empty.

    Examples:
        >>> ir_interp.kit("resizes").count
        287

    """
    from ir_interp.converters.reproduce import conformance_kit as inner

    return inner.write(arguments.path(folder, "folder"))
