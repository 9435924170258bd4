"""Fix a file, and show the effect on the model's own input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypedDict

from ir_interp.errors import IrInterpError, ReadError, VerificationError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import FileKind, expect
from ir_interp.options.finding_codes import BYTE_PRODUCTS, check_codes, is_chosen
from ir_interp.options.fix_options import FixOptions
from ir_interp.options.shared_options import check_needs

from ..onnx.byte_products import make_factors_unsigned
from ..onnx.external_weights import weights_beside
from ..onnx.onnx_files import read_file
from ..sources.model_summary import parts
from ..verify.compare import tolerances
from ..verify.comparison import ComparisonRecord, ModelComparison
from ..verify.model_pairs import compare_models
from ..verify.run.inputs import Inputs
from .fixed_model import RepairedResize, write_fixed
from .remedies import CODES


class RepairRecord(TypedDict):
    """A repaired mistake in JSON."""

    resize: str
    where: str
    code: str
    change: str


class FixedRecord(TypedDict):
    """The repairs in JSON."""

    source: str
    destination: str
    repaired: list[RepairRecord]
    unsigned_products: int
    unread: list[str]
    comparison: ComparisonRecord | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """The fixed resizes, and the effect on the model's own input: ``comparison`` of before and after.

    ``unsigned_products`` is the number of 8-bit products whose weights became unsigned.

    ``unread`` are the errors of resizes that cannot be read; they are as before.

    There is no comparison if nothing was fixed, none was requested, or ``note`` states a reason.
    """

    source: Path
    destination: Path
    repaired: tuple[RepairedResize, ...]
    unsigned_products: int = 0
    unread: tuple[ReadError, ...] = ()
    comparison: ModelComparison | None = None
    note: str = ""

    def changed(self, repaired: RepairedResize) -> str:
        """Return the difference of a resize's output from its output before the fix, as text."""
        resizes = (self.comparison.resizes if self.comparison else None) or ()
        compared = next((resize.output for resize in resizes if resize.name == repaired.op.name), None)
        return compared.apart if compared else "not shown"

    def record(self) -> FixedRecord:
        """Return it as plain values, for JSON."""
        return {
            "source": str(self.source),
            "destination": str(self.destination),
            "repaired": [
                {"resize": repair.op.name, "where": repair.op.where, "code": remedy.code, "change": remedy.text}
                for repair in self.repaired
                for remedy in repair.remedies
            ],
            "unsigned_products": self.unsigned_products,
            "unread": [str(error) for error in self.unread],
            "comparison": self.comparison.record() if self.comparison else None,
            "note": self.note,
        }


def fix(source: Path, destination: Path, options: FixOptions) -> Fixed:
    """Write a model without an exporter's likely mistakes; see ``ir_interp.fix``."""
    check_codes((*options.select, *options.ignore), (*CODES, BYTE_PRODUCTS))
    check_needs(options)
    if FileKind.of(source) is FileKind.IR:
        raise ReadError("only ONNX models are repaired; repair the ONNX model, then convert it again", source.name)
    expect(source, FileKind.ONNX)
    if FileKind.of(destination) is FileKind.IR:
        raise ReadError(
            "a repaired model is ONNX; expected a name that ends in .onnx; convert it later", destination.name
        )
    expect(destination, FileKind.ONNX, folders="")
    check_outputs([destination], [*parts(source), *Inputs.of(options).paths])
    with replacing(destination) as (temporary,), weights_beside(source, destination, temporary):
        is_wanted = partial(is_chosen, select=options.select, ignore=options.ignore)
        model = write_fixed(source, temporary, is_wanted, options.layers)
        repaired = model.repaired
        products = _with_unsigned_weights(temporary) if BYTE_PRODUCTS in options.select else 0
        done = Fixed(
            source=source,
            destination=destination,
            repaired=repaired,
            unsigned_products=products,
            unread=model.unread,
        )
        if (repaired or products) and options.verify:
            comparison, note = _compared(source, temporary, options, must_run=not model.unread)
            done = replace(done, comparison=comparison, note=note)
            if comparison is not None and not repaired and not comparison.is_proven:  # by default its source saturates
                raise VerificationError(
                    f"{source.name}: {comparison.summary} with unsigned weights; nothing was written"
                )
    return done


def _with_unsigned_weights(path: Path) -> int:
    """Make the weights of 8-bit products unsigned where sums may saturate; return the number of these products."""
    model = read_file(path)
    count = make_factors_unsigned(model, str(path.parent))
    if count:
        path.write_bytes(model.SerializeToString(deterministic=True))
    return count


def _compared(source: Path, result: Path, options: FixOptions, *, must_run: bool) -> tuple[ModelComparison | None, str]:
    """Return how a fixed model compares with its source, and why not if the source did not run.

    Raises VerificationError if the result does not run, unless a resize that nothing can read is in it.
    """
    over = partial(
        compare_models,
        inputs=Inputs.of(options),
        tolerance=tolerances.OUTPUT,
        per_resize=True,
        progress=options.progress,
    )
    try:
        comparison = over(source, result)
    except ReadError:
        raise
    except IrInterpError as problem:
        # The mistake may be what keeps the source from running, so the result is tried alone.
        try:
            over(result, result)
        except IrInterpError as own:
            if not must_run:
                return None, f"not compared, because neither model runs: {own}"
            raise VerificationError(f"{own}; nothing was written; --no-verify writes it unverified") from None
        return None, f"before: {problem}; after: it runs"
    return replace(comparison, first=source, second=result), ""
